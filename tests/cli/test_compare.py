"""`luce compare`: groups of one file or of several, in words and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

import luce
from luce.cli import main
from luce.cli.compare import add_compare
from luce.decide.group_comparison import CONTRASTS, SCALES

GAMES = """league,winner,loser,n
A,x,y,9
A,y,z,4
B,x,y,2
B,y,z,5
A,z,x,2
B,z,x,2
B,y,x,7
"""


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    path.write_text(GAMES)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["compare", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_groups_of_a_column(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by", "league", "--column", "count=n", "--seed", 4, "--draws", 300]
    code, out, err = run(capsys, games, *options, "--scale", "probabilities", "--most", 2)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:3] == [
        "games.csv: pairs, 2 groups",
        "A: 15 comparisons among 3 categories",
        "B: 16 comparisons among 3 categories",
    ]
    found = luce.compare_groups(games, "league", count="n", seed=4, draws=300, progress=False)
    assert found.to_text("probabilities", 2) in out
    assert lines[-1] == "Seed 4."
    code, out, err = run(capsys, games, *options, "--json", "--sensitivity")
    assert code == 0
    told = json.loads(out)
    assert "games.csv: pairs, 2 groups" in err
    assert told["finding"] == found.verdict
    assert told["log_bayes_factor"]["value"] == float(found.bayes_factor.log)
    assert [x["times"] for x in told["other_priors"]] == [0.5, 2.0]
    assert told["likelihood_ratio"] == found.likelihood_ratio._asdict()  # type: ignore[union-attr]
    assert set(told["differences"]) == set(SCALES)
    row = told["differences"]["log-odds"][1]
    assert (row["category"], row["first"], row["second"]) == ("y", "A", "B")
    assert row["mean"] == float(found.log_odds["mean"][0, 1])
    assert told["groups"] == [{"group": "A", "outcomes": 15}, {"group": "B", "outcomes": 16}]


def test_each_file_is_a_group(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "late.csv"
    other.write_text("winner,loser\nx,y\ny,z\nz,w\nw,x\n")
    options = ["--ignore", "league", "--column", "count=n", "--seed", 1, "--draws", 200]
    code, _, err = run(capsys, games, other, *options[4:])
    assert code == 1
    assert "ignored" in err or "lacks" in err
    other.write_text("league,winner,loser,n\nC,x,y,1\nC,y,z,1\nC,z,w,2\nC,w,x,1\n")
    code, _, err = run(capsys, games, other, *options)
    assert code == 1
    assert "luce: the groups have different categories: 'games' lacks 'w'" in err
    code, out, _ = run(capsys, games, other, *options, "--align", "--contrasts", "rest")
    assert code == 0
    assert "games - rest" in out
    assert "Not compared, since group games has no data on it: w." in out
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "games.csv").write_text(GAMES.replace("9", "3"))
    code, out, _ = run(capsys, games, folder / "games.csv", *options)
    assert code == 0
    assert f"{games} (31 outcomes), {folder / 'games.csv'} (25 outcomes)" in out
    kept = run(capsys, games, folder / "games.csv", *options, "--only", "x,y")
    assert kept[0] == 0
    assert kept[1].count("kept with --only: ") == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "one file is one group; give --by COLUMN"),
        (["--by", "leage"], "by = 'leage': there is no such column"),
        (["--by", "league", "--most", "0"], "--most"),
        (["--by", "league", "--ci-prob", "2"], "ci_prob = 2"),
        (["games.csv", "--by", "league"], "--by splits one file; 2 were given"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    games: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    code, _, err = run(capsys, games, *more, "--ignore", "n")
    assert code == 1
    assert words in err
    assert err.startswith("luce: ")


def test_a_file_twice_is_refused(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, games, games)
    assert (code, "a file is given twice" in err) == (1, True)


def test_draws_that_cannot_be_trusted_are_told_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "season.csv"
    rows = ["a,b,H", "b,c,D", "c,a,A", "a,c,H", "c,b,D", "b,a,H"]
    path.write_text("year,home,away,result\n" + "".join(f"{y},{r}\n" for y in (1, 2) for r in rows))
    options = ["--by", "year", "--ties", "davidson", "--home", "first", "--seed", 1]
    code, out, err = run(capsys, path, *options, "--draws", 6, "--chains", 2)
    assert code == 3
    assert "cannot be trusted yet" in err
    assert "Draws of group 1: Do not trust these draws" in out


def test_choices_are_those_of_the_library() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    commands: Any = parser.add_subparsers()
    add_compare(commands)
    options = {a.dest: a for a in commands.choices["compare"]._actions}
    assert options["contrasts"].choices == CONTRASTS
    assert options["scale"].choices == SCALES
