"""`luce leaderboard`: the words of luce.leaderboard, its options, and its refusals."""

import json
from pathlib import Path

import pytest
import xarray as xr

import luce
from luce.cli import main

GAMES = "winner,loser\n" + "a,b\n" * 9 + "b,a\n" * 5 + "b,c\n" * 6 + "c,b\n" * 2 + "c,7\n7,c\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "games.csv").write_text(GAMES)
    run = luce.Posterior(luce.read(folder / "games.csv")).sample(500, seed=2, progress=False)
    luce.save(run, folder / "games.zarr")
    return folder / "games.zarr"


def printed(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main([str(word) for word in words]) == code
    out, err = capsys.readouterr()
    return out or err


def test_it_prints_the_leaderboard(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = luce.leaderboard(luce.load(saved))
    assert printed(capsys, "leaderboard", saved) == f"{board.to_text()}\n"
    short = printed(capsys, "leaderboard", saved, "--most", 2)
    assert "... and 2 more\n" in short
    chosen = printed(capsys, "leaderboard", saved, "--exclude", "a", "--scale", "log-odds")
    few = luce.leaderboard(luce.load(saved), among=["b", "c", "7"], scale="log-odds")
    assert chosen == f"{few.to_text()}\n"


def test_it_fits_the_terminal(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "76")
    text = printed(capsys, "leaderboard", saved)
    assert max(map(len, text.splitlines())) <= 76
    assert "Left out, for want of room" in text


def test_json_has_all_numbers(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("leaderboard", saved, "--json", "--most", 1, "--reference", "7", "--ci-prob", 0.8)
    found = json.loads(printed(capsys, *args))
    board = luce.leaderboard(luce.load(saved), reference="7", ci_prob=0.8)
    assert found["headline"] == board.headline
    assert found["ci_prob"] == 0.8
    assert [row["category"] for row in found["rows"]] == board.categories
    for name in ("rank", "score", "games", "wins", "p_best"):
        assert [row[name] for row in found["rows"]] == board[name].tolist()
    assert [tuple(row["tied_with"]) for row in found["rows"]] == board["tied_with"].tolist()


def test_what_cannot_be_is_refused(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed(capsys, "leaderboard", saved, "--reference", "d", code=1)
    assert said.startswith("luce: --reference d: there is no such category; the categories are")
    said = printed(capsys, "leaderboard", saved, "--among", "d", code=1)
    assert said.startswith("luce: --among d: there is no such category")
    said = printed(capsys, "leaderboard", saved, "--most", "0", code=1)
    assert "--most" in said
    assert printed(capsys, "leaderboard", tmp_path / "none.nc", code=1).startswith("luce: ")


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_draws_that_cannot_be_trusted_have_an_exit_code(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    posterior = luce.posterior_of(luce.load(saved))
    run: xr.DataTree = posterior.sample(8, seed=1, method="waiting-times", progress=False)
    luce.save(run, tmp_path / "few.zarr")
    said = printed(capsys, "leaderboard", tmp_path / "few.zarr", code=3)
    assert "not trust these draws yet" in said


def test_fit_says_who_leads_in_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.csv").write_text(GAMES + "d,c\n" * 6)
    said = printed(capsys, "fit", tmp_path / "g.csv", "--seed", 1)
    assert "d is it with probability 0." in said
    assert "d won all of its 6 games: the data sets no upper limit to its strength" in said
    (tmp_path / "m.csv").write_text("source,target,n\nup,down,3\nup,left,1\ndown,up,2\nleft,up,1\n")
    assert "the best" not in printed(
        capsys, "fit", tmp_path / "m.csv", "--self-loops", "removed", "--seed", 1
    )
