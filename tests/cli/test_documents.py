"""Output for programs: JSON of every command, and tables as CSV, Markdown and Parquet."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import luce
from luce.cli import main
from luce.cli.documents import plain
from luce.version import __version__

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

GAMES = "winner,loser\nann,bo\nbo,cy\ncy,ann\nann,bo\nann,cy\n"
FIT = ("--draws", 300, "--seed", 7)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("games.csv").write_text(GAMES)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def document(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    """Run a command with --json; check what all documents share."""
    code, out, err = run(capsys, *words, "--json")
    assert code in (0, 3), err

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    found: dict[str, Any] = json.loads(out, parse_constant=refuse)
    meaning = "done" if code == 0 else "done, but the draws should not be trusted yet"
    head = {"luce": __version__, "command": words[0], "exit_code": code, "exit_meaning": meaning}
    assert {name: found[name] for name in head} == head
    return found


@pytest.mark.usefixtures("folder")
def test_every_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = document(capsys, "fit", "games.csv", *FIT, "--out", "run.nc")
    saved = luce.load("run.nc")
    table = luce.summary(saved, counts=luce.read("games.csv"), sort=True)
    assert [row["category"] for row in fitted["summary"]] == table.categories
    known = saved.posterior["category"].values.tolist()
    assert [known[row["index"]] for row in fitted["summary"]] == table.categories
    for name, values in table.columns.items():
        assert [row[name] for row in fitted["summary"]] == values.tolist()
    told = (fitted["seed"], fitted["method"], fitted["chains"], fitted["draws"], fitted["saved"])
    assert told == ("7", saved.attrs["method"], 4, saved.posterior.sizes["draw"], "run.nc")
    assert fitted["verdict"] == luce.answers.diagnostics.verdict(saved).kind
    assert fitted["headline"].startswith("No competitor is likely") or "best" in fitted["headline"]
    data = fitted["data"]
    assert (data["kind"], data["observations"], data["categories"]) == ("pairs", 5, 3)
    looked = document(capsys, "inspect", "games.csv")
    (posterior,) = looked["posteriors"]
    assert (posterior["categories"], posterior["outcomes"]) == (["ann", "bo", "cy"], 5)
    assert document(capsys, "leaderboard", "run.nc")["rows"][0]["category"] == table.categories[0]
    page = document(capsys, "report", "run.nc", "--out", "run.html")
    assert Path(page["page"]).samefile("run.html")
    updated = document(capsys, "update", "run.nc", "games.csv", "--seed", 1)
    assert updated["verdict"] in ("good", "mixed")
    stream = ("--stream", "--out", "run.zarr", "--until", "none")
    document(capsys, "fit", "games.csv", *FIT, *stream)
    resumed = document(capsys, "resume", "run.zarr")
    assert (resumed["draws"], resumed["seed"], resumed["run"]) == (300, "7", "run.zarr")


@pytest.mark.usefixtures("folder")
def test_parameters_separate_rows_and_bad_draws_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ties.csv").write_text("white,black,result\na,b,1-0\nb,c,1/2-1/2\nc,a,0-1\n")
    read = ("--ties", "davidson", "--home", "first", "--draws", 30, "--until", "none")
    found = document(capsys, "fit", "ties.csv", *read, "--seed", 1)
    assert (found["verdict"], found["exit_code"]) == ("bad", 3)
    home = next(row for row in found["summary"] if row["category"] == "home")
    assert (home["role"], home["index"], home["rank"]) == ("parameter", None, None)
    assert home["mean"] > 0
    assert any(note.startswith("home: ") for note in found["notes"])
    Path("moves.csv").write_text("from,to,count\na,b,2\nb,a,2\nc,a,1\n")
    rows = document(capsys, "fit", "moves.csv", "--rows", "separate", *FIT)["summary"]
    assert {(row["source"], row["target"]) for row in rows} >= {("a", "b"), ("a", "c")}
    assert sum(row["mean"] for row in rows if row["source"] == "a") == pytest.approx(1)
    assert all(row["mean"] == 0 for row in rows if row["forbidden"])


@pytest.mark.usefixtures("folder")
def test_time_series_in_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.repeat([0.0, 6.0, 0.0], 20) + np.random.default_rng(1).normal(size=60)
    Path("walk.csv").write_text("x\n" + "\n".join(map(str, x)) + "\n")
    segment = ("segment", "walk.csv", "--states", 3, "--draws", 20, "--warmup", 20, "--seed", 1)
    found = document(capsys, *segment)
    assert found["rows"] == 60
    assert found["segments"][0]["start"] == 0
    assert found["seed"] == "1"
    code, out, _ = run(capsys, *segment, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == found["exit_code"]
    assert [int(row["start"]) for row in rows] == [row["start"] for row in found["segments"]]


@pytest.mark.usefixtures("folder")
def test_tables_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    polars = pytest.importorskip("polars")
    odd = 'a|b "c",\n*d*'
    rows = [
        {"winner": odd, "loser": "bo"},
        {"winner": "bo", "loser": 7},
        {"winner": 7, "loser": odd},
    ]
    Path("odd.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fit = ("fit", "odd.jsonl", *FIT)
    told = document(capsys, *fit)["summary"]
    code, out, err = run(capsys, *fit, "--format", "csv")
    found = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["category"] for row in found] == [row["category"] for row in told]
    assert odd in [row["category"] for row in found]
    assert [float(row["mean"]) for row in found] == [row["mean"] for row in told]
    assert "odd.jsonl: pairs" in err
    assert "method " in err
    _, out, _ = run(capsys, *fit, "--format", "md")
    lines = out.splitlines()
    assert len(lines) == 2 + len(told)
    assert any(line.startswith(r"| a\|b ") for line in lines)
    assert r"\*d\*" in out
    for name in ("t.parquet", "t.csv", "t.md", "t.txt"):
        code, text, err = run(capsys, *fit, "--table", name)
        assert (code, f"luce: the table is in {name}\n") == (0, err)
        assert "p_best" in text
        assert Path(name).stat().st_size > 100
    frame = polars.read_parquet("t.parquet")
    assert frame["mean"].to_list() == [row["mean"] for row in told]
    assert "p_best" in Path("t.txt").read_text()
    _, out, _ = run(capsys, *fit, "--json", "--table", "t.bin", "--format", "csv", "--overwrite")
    assert json.loads(out)["command"] == "fit"
    assert Path("t.bin").read_text() == Path("t.csv").read_text()


@pytest.mark.usefixtures("folder")
def test_tables_that_cannot_be_written_are_refused_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("t.csv").write_text("mine")
    for words, complaint in (
        ("--format parquet", "is no text; name a file with --table FILE"),
        ("--format csv --json", "both want standard output"),
        ("--table t.xlsx", "no format is known by the suffix '.xlsx'"),
        ("--table t.csv", "t.csv exists already; --overwrite replaces it"),
        ("--table no/t.csv", "there is no folder no"),
    ):
        code, out, err = run(capsys, "fit", "games.csv", *words.split())
        assert (code, out) == (1, "")
        assert complaint in err
    assert Path("t.csv").read_text() == "mine"


def test_values_that_json_lacks() -> None:
    given = {"a": np.array([1.5, np.nan]), 2: (np.bool_(True), -np.inf), "b": {3}, "c": None}
    assert plain(given) == {"a": [1.5, None], "2": [True, None], "b": "{3}", "c": None}
    assert json.loads(json.dumps(plain("\ud800"))) == "\ud800"
