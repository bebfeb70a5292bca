"""`luce play`: its tables, files and JSON are those of the library; what it refuses."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.contest_runs import counts_of

import luce
from luce.cli import main
from luce.decide import Season

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

GAMES = "home,away,result\na,b,H\nb,c,D\nc,a,A\n"
REST = "home,away\nb,a\nc,b\na,c\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    posterior = luce.Posterior(counts_of("davidson", True))
    run = posterior.sample(20, chains=2, warmup=20, seed=1, progress=False)
    luce.save(run, "run.nc")
    Path("games.csv").write_text(GAMES)
    Path("rest.csv").write_text(REST)
    Path("season.csv").write_text(GAMES + "".join(f"{x},\n" for x in REST.split()[1:]))
    Path("points.csv").write_text("team,points,won\na,6,2\nb,1,0\nc,1,0\n")
    Path("cup.csv").write_text("club\na\nbye\nb\nc\n")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str, str]:
    code = main(words.split())
    out, err = capsys.readouterr()
    return code, out, err


def expected(**options: Any) -> Season:
    rest = [("b", "a"), ("c", "b"), ("a", "c")]
    played = {"home": list("abc"), "away": list("bca"), "result": list("HDA")}
    return luce.play(
        luce.load("run.nc"), rest, **{"played": played, "home": "first", "seed": 1, **options}
    )


@pytest.mark.usefixtures("folder")
def test_a_season_in_one_file_or_in_two(capsys: pytest.CaptureFixture[str]) -> None:
    season = expected()
    code, out, _ = said(
        capsys, "play run.nc season.csv --home first --seed 1 --top 2 --relegated 1"
    )
    assert code == 3  # 40 draws are too few
    assert out == f"{season.table(2, 1)}\n"
    _, out, _ = said(capsys, "play run.nc rest.csv --played games.csv --home first --seed 1")
    assert out == f"{season}\n"
    _, out, _ = said(capsys, "play run.nc rest.csv --played points.csv --home first --seed 1")
    assert "a table of points of 3 competitors stands" in out
    assert out.splitlines()[1:4] == str(season).splitlines()[1:4]


@pytest.mark.usefixtures("folder")
def test_rules_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    season = expected(
        points=(2, 1, 0), tiebreak=["head-to-head", "wins"], replicates=3, ci_prob=0.8
    )
    options = "--points 2,1,0 --tiebreak head-to-head,wins --replicates 3 --ci-prob 0.8"
    words = f"play run.nc season.csv --home first --seed 1 --most 2 {options}"
    assert said(capsys, words)[1] == season.table().to_text(2) + "\n"


@pytest.mark.usefixtures("folder")
def test_json_and_files_hold_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    season = expected()
    words = "play run.nc season.csv --home first --seed 1 --top 1 --json --out table.csv"
    _, out, err = said(capsys, words)
    assert "Written: table.csv" in err
    found = json.loads(out)
    table = season.table(top=1)
    for name in table:
        assert [row[name] for row in found["table"]] == table[name].tolist()
    assert found["notes"] == list(table.notes)
    assert found["places"] == season.places.values.tolist()
    np.testing.assert_allclose(found["champion_mcse"], season.champion["mcse"])
    assert found["remaining"] == [list(x) for x in season.remaining]
    assert found["seed"] == 1
    with Path("table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["champion"]) for row in rows] == table["champion"].tolist()
    code, _, err = said(capsys, words)
    assert code == 1
    assert "exists already; --overwrite" in err
    assert said(capsys, words + " --overwrite")[0] == 3


@pytest.mark.usefixtures("folder")
def test_a_bracket(capsys: pytest.CaptureFixture[str]) -> None:
    run = luce.load("run.nc")
    cup = luce.play_bracket(run, ["a", None, "b", "c"], home="first")
    assert said(capsys, "play run.nc cup.csv --bracket --home first")[1] == f"{cup}\n"
    homes = ["first", "second", "neutral"]
    cup = luce.play_bracket(run, ["a", None, "b", "c"], home=homes, best_of=3, ties="lot")
    words = (
        "play run.nc cup.csv --bracket --home first,second,neutral --best-of 3 --ties lot --json"
    )
    _, out, _ = said(capsys, words)
    found = json.loads(out)
    assert [row["champion"] for row in found["table"]] == cup.champion.values.tolist()
    Path("pairs.csv").write_text("home,away,day\na,bye,1\nb,c,2\n")
    code, out, err = said(capsys, "play run.nc pairs.csv --bracket --home first")
    assert "ignored: 'day'" in err
    assert out == f"{luce.play_bracket(run, ['a', None, 'b', 'c'], home='first')}\n"
    assert code == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("nowhere.nc rest.csv", "nowhere.nc"),
        ("run.nc nowhere.csv", "nowhere.csv: there is no such file"),
        ("run.nc rest.csv", "say who is at home"),
        ("run.nc rest.csv --home ground", "there is no such column"),
        ("run.nc cup.csv --home first", "two sides of a fixture cannot be told"),
        ("run.nc cup.csv --bracket --home first --top 2", "--top is for seasons"),
        ("run.nc rest.csv --home first --best-of 3", "--best-of is for brackets"),
        ("run.nc rest.csv --home first --top 9", "from 1 to 3"),
        ("run.nc rest.csv --home first --out nowhere/table.csv", "there is no folder"),
        ("run.nc rest.csv --home first --tiebreak goals", "goals are not modelled"),
        ("run.nc rest.csv --home first --played rest.csv", "played: "),
        ("run.nc season.csv --home first --played games.csv", "played= was given as well"),
        ("run.nc games.csv --bracket --home first", "6 entries in a row"),
    ],
)
def test_what_is_refused(words: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, f"play {words}")
    assert (code, out) == (1, "")
    assert complaint in err


def test_wrong_points_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["play", "run.nc", "rest.csv", "--points", "3,1"])
    assert ended.value.code == 2
    assert "three numbers are needed" in capsys.readouterr().err
