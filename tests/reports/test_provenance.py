"""Provenance: the lines on a page give the same draws, bit for bit."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import duels, printouts, sampled, text_of

import luce
from luce.reports.findings import find
from luce.reports.provenance import page_options, python_lines, shell_lines

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.mark.parametrize(
    "how",
    [
        {"method": "metropolis", "proposal_concentration": 160.0},
        {"method": "metropolis"},
        {"log_probabilities": True, "seed": np.random.SeedSequence([3, 4]).spawn(3)[2]},
        {"method": "hidden-counts", "reduce": False},
        {"seed": np.random.SeedSequence(3).spawn(2)[1], "method": "waiting-times", "reduce": False},
    ],
    ids=["given proposal", "tuned proposal", "logarithms", "hidden counts", "all categories"],
)
def test_the_lines_give_the_same_draws(how: dict[str, Any]) -> None:
    run = sampled(duels(list("abcd")), 8, **{"warmup": 3, **how})
    lines = python_lines(find(run, 0.9), None)
    assert lines is not None
    space: dict[str, Any] = {"run": run}
    exec("\n".join(line for line in lines if "luce.load" not in line), space)
    assert space["again"].posterior.to_dataset().equals(run.posterior.to_dataset())


def test_the_lines_give_the_same_draws_with_a_drawn_concentration() -> None:
    run = sampled(duels(list("abcd")), 8, luce.Gamma(2, 1), warmup=3)
    lines = python_lines(find(run, 0.9), None)
    assert lines is not None
    space: dict[str, Any] = {"run": run}
    exec("\n".join(line for line in lines if "luce.load" not in line), space)
    assert space["again"].posterior.to_dataset().equals(run.posterior.to_dataset())


@pytest.mark.parametrize("how", [{}, {"method": "waiting-times"}], ids=["auto", "asked for"])
def test_the_lines_give_the_same_draws_of_contests(how: dict[str, Any]) -> None:
    games = luce.simulate.pairs(3, dict(zip("abcd", (4, 3, 2, 1), strict=True)), 40,
                                home=1.5, ties="rao-kupper", tie=1.6)  # fmt: skip
    counts = luce.from_pairs(games, ties="rao-kupper", home="first")
    posterior = luce.Posterior(counts, 2.0, home=1.25, tie=luce.Gamma(3, 4))
    run = posterior.sample(8, chains=2, seed=5, warmup=3, progress=False, **how)
    lines = python_lines(find(run, 0.9), None)
    assert lines is not None
    space: dict[str, Any] = {"run": run}
    exec("\n".join(line for line in lines if "luce.load" not in line), space)
    assert "tie" in run.posterior
    assert space["again"].posterior.to_dataset().equals(run.posterior.to_dataset())


def test_the_lines_begin_with_the_file(exact: xr.DataTree, tmp_path: Path) -> None:
    file = tmp_path / 'a "name".nc'
    luce.save(exact, file)
    lines = python_lines(find(exact, 0.9), str(file))
    assert lines is not None
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    assert space["again"].posterior.to_dataset().equals(exact.posterior.to_dataset())
    shell = shell_lines(lines, "a b.nc")
    assert shell[0] == "python - <<'END'"
    assert shell[-1] == "luce report 'a b.nc' --out 'a b.html'"


@pytest.mark.parametrize("seed", ["__import__('os').system('true')", "[]", "-1", "1.5"])
def test_a_seed_that_is_no_number_is_not_run(seed: str, exact: xr.DataTree, tmp_path: Path) -> None:
    run = exact.copy()
    run.attrs["seed"] = seed
    page = luce.report(run, tmp_path / "a.html", pictures=False)
    assert "so its draws cannot be made again" in text_of(page)
    assert not any("sample(" in text for text in printouts(page))


def test_a_run_in_memory_is_to_be_saved_first(chains: xr.DataTree, tmp_path: Path) -> None:
    page = luce.report(chains, tmp_path / "a.html", title="Mine", pictures=False)
    code = next(text for text in printouts(page) if text.startswith("import luce"))
    assert 'run = luce.load("run.nc")  # written by luce.save(run, "run.nc")' in code
    assert "if `initial` was given, give it again" in text_of(page)
    assert "<h1>Mine</h1>" in page.read_text()


def test_the_page_can_be_written_again_with_its_options(exact: xr.DataTree) -> None:
    assert page_options(find(exact, 0.9), None) == []
    given = page_options(find(exact, 0.8, among=["Zoë", "Bo"]), "Two of them")
    assert given == ["--title=Two of them", "--ci-prob=0.8", "--among=Bo", "--among=Zoë"]
    shell = shell_lines(["pass"], "a.nc", given)[-1]
    assert shlex.split(shell) == ["luce", "report", "a.nc", "--out", "a.html", *given]
