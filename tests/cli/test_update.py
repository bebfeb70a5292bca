"""`luce update`: what it prints, saves and refuses, and its exit codes."""

import json
from pathlib import Path

import pytest

import luce
from luce.cli import main
from luce.decide import Update

YESTERDAY = "winner,loser,count\nann,bo,4\nbo,cy,3\nann,cy,2\ncy,ann,1\n"
TODAY = "winner,loser\ncy,bo\ndee,cy\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A saved run, a file of today's games, and a place for the new run."""
    games = tmp_path / "today.csv"
    games.write_text(TODAY)
    old = tmp_path / "yesterday.csv"
    old.write_text(YESTERDAY)
    run = luce.Posterior(luce.read(old), 1.5).sample(1000, seed=1, progress=False)
    luce.save(run, tmp_path / "old.nc")
    return {"run": tmp_path / "old.nc", "games": games, "out": tmp_path / "new.nc"}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["update", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_update_says_what_it_did_and_saves(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, files["run"], files["games"], "--seed", 2, "--out", files["out"])
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "today.csv: pairs: 2 comparisons among 3 categories"
    assert lines[1].startswith("Reweighted by 2 new outcomes: Pareto k ")
    assert lines[1].endswith("New among the categories: 'dee'.")
    assert lines[-2:] == ["The draws can be trusted.", f"Saved: {files['out']}"]
    saved, here = luce.load(files["out"]), luce.load(files["run"])
    again = luce.update(here, luce.read(files["games"]), seed=2)
    assert saved.posterior["probabilities"].identical(again.posterior["probabilities"])
    assert str(Update.of(saved)) == lines[1]
    code, out, err = run(capsys, files["run"], files["games"], "--out", files["out"])
    assert (code, out) == (1, "")  # before any work is done
    assert "exists" in err


def test_json_is_one_object(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, files["run"], files["games"], "--seed", 2, "--json", "--method", "sample"
    )
    found = json.loads(out)
    assert code == 0
    assert "today.csv: pairs" in err
    assert found["verdict"] == "good"
    assert found["update"]["way"] == "sampled"
    assert found["update"]["new_categories"] == ["dee"]
    assert {row["category"] for row in found["summary"]} == {"ann", "bo", "cy", "dee"}
    assert found["saved"] is None


def test_draws_that_cannot_be_trusted_have_exit_code_3(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tied = luce.from_pairs([("ann", "bo"), ("bo", "cy"), ("cy", "ann")], ties="davidson")
    chains = luce.Posterior(tied).sample(1000, seed=1, progress=False).isel(draw=slice(0, 3))
    luce.save(chains, tmp_path / "tied.nc")
    code, out, err = run(
        capsys, tmp_path / "tied.nc", files["games"], "--ties", "davidson", "--seed", 1
    )
    assert code == 3
    assert "Sampled anew" in out
    assert "too few to judge" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "magic"], "choose one of auto, reweight, sample"),
        (["--out", "new.txt"], "'.txt'"),
        (["--ties", "davidson"], "same ties="),
        (["--most", "0"], "--most"),
    ],
)
def test_refusals(
    options: list[str], words: str, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, files["run"], files["games"], *options)
    assert code == 1
    assert words in err
