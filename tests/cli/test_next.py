"""`luce next`: its words, JSON, options, exit codes, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from lib.contest_runs import counts_of

import luce
from luce.cli import main

GAMES = [("ann", "bo"), ("bo", "ann"), ("ann", "cy"), ("ann", "cy"), ("bo", "cy"), ("bo", "cy")]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["next", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "votes.nc"
    posterior = luce.Posterior(luce.from_pairs(GAMES))
    luce.save(posterior.sample(500, seed=1, progress=False), path)
    return path


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "season.nc"
    posterior = luce.Posterior(counts_of("davidson", True))
    luce.save(posterior.sample(1000, seed=1, progress=False), path)
    return path


def test_it_prints_what_the_library_says(capsys: pytest.CaptureFixture[str], saved: Path) -> None:
    code, out, err = run(capsys, saved, "--goal", "best", "--more", 20)
    found = luce.next_comparison(luce.load(saved), goal="best", more=20)
    assert (code, out, err) == (0, f"{found}\n", "")
    assert out.startswith("Compare next: ann – bo, to learn most about who is best.")
    assert "20 more comparisons would change that by less than 0." in out


def test_json(capsys: pytest.CaptureFixture[str], saved: Path) -> None:
    code, out, _ = run(capsys, saved, "--json", "--batch", 3, "--seed", 4)
    found = luce.next_comparison(luce.load(saved), batch=3, seed=4)
    assert code == 0
    told, expected = json.loads(out), found.to_dict()
    assert {name: told[name] for name in expected} == expected


def test_candidates_and_costs(capsys: pytest.CaptureFixture[str], saved: Path) -> None:
    options = ("--candidate", "ann,bo", "--candidate", "ann, bo,cy", "--cost", "cy,bo,ann=50")
    _, out, _ = run(capsys, saved, *options, "--json")
    found = json.loads(out)
    assert found["n_candidates"] == 2
    assert [each["cost"] for each in found["candidates"]] == [1, 50]
    _, out, _ = run(capsys, saved, "--exclude", "ann", "--json")
    assert json.loads(out)["batch"] == [["bo", "cy"]]
    _, out, _ = run(capsys, saved, "--most", 1)
    assert "... of 3 candidates." in out


def test_labels_with_commas_stand_in_quotes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    counts = luce.ConditionalCounts(["ann", "cy, jr"]).observe({"ann": 2, "cy, jr": 3})
    luce.save(luce.Posterior(counts).sample(100, seed=1), tmp_path / "run.nc")
    options = ("--candidate", 'ann, "cy, jr"', "--cost", '"cy, jr",ann=2', "--json")
    code, out, _ = run(capsys, tmp_path / "run.nc", *options)
    assert code == 0
    assert json.loads(out)["candidates"][0]["cost"] == 2
    assert json.loads(out)["batch"] == [["ann", "cy, jr"]]


def test_who_is_at_home(capsys: pytest.CaptureFixture[str], season: Path) -> None:
    code, out, _ = run(capsys, season, "--candidate", "a,b,first", "--candidate", "a,b,second")
    assert code == 0
    assert "a at home – b" in out
    assert "a – b at home" in out


REFUSED: list[tuple[list[Any], str]] = [
    (["--candidate", "ann,bob"], "no category 'bob'"),
    (["--candidate", "ann"], "two different labels"),
    (["--cost", "ann,bo"], "A,B=COST is needed"),
    (["--cost", "ann,bo=much"], "A,B=COST is needed"),
    (["--cost", "ann,bo=-1"], "must be positive"),
    (["--cost", "ann,bo,cy=2"], "is not a candidate"),
    (["--goal", "worst"], "choose one of information, best, order"),
    (["--batch", 0], "batch = 0"),
    (["--more", -2], "more = -2"),
    (["--most", 0], "--most = 0"),
    (["--among", "dan"], "no such category"),
    (["--among", "ann"], "1 competitor"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_cannot_be_used_is_refused(
    capsys: pytest.CaptureFixture[str], saved: Path, options: list[Any], words: str
) -> None:
    code, out, err = run(capsys, saved, *options)
    assert (code, out) == (1, "")
    assert words in err


def test_labels_that_print_alike_are_not_guessed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    counts = luce.ConditionalCounts([1, "1", 2]).observe({1: 2, "1": 3, 2: 1})
    luce.save(luce.Posterior(counts).sample(100, seed=1), tmp_path / "run.nc")
    code, _, err = run(capsys, tmp_path / "run.nc", "--candidate", "1,2")
    assert code == 1
    assert "several categories print as '1'" in err
    assert run(capsys, tmp_path / "run.nc")[0] == 0


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_draws_not_to_be_trusted_end_with_code_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    posterior = luce.Posterior(luce.from_pairs(GAMES))
    few = posterior.sample(5, chains=2, method="waiting-times", seed=1, progress=False)
    luce.save(few, tmp_path / "few.nc")
    code, out, _ = run(capsys, tmp_path / "few.nc")
    assert code == 3
    assert "No word on when to stop: do not trust these draws yet" in out
