"""The reference set of posteriors: made as it says, of the size it says, by code of its own."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.reference_set import PLACE, reference_set, row_of
from reference import independent
from reference.problems import PROBLEMS, Problem, picks
from scipy.stats import norm
from scipy.stats import t as student

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference-posteriors.md"
EXACT = [name for name, one in PROBLEMS.items() if one.moments != "simulation"]
FAST = ("beta", "three", "tree")


def test_the_file_holds_the_problems() -> None:
    assert list(reference_set()) == list(PROBLEMS)
    for name, problem in PROBLEMS.items():
        one = reference_set()[name]
        assert one["prior"] == problem.prior
        assert [tuple(term) for term in one["terms"]] == problem.terms
        assert (one["categories"], one["moments_by"]) == (problem.categories, problem.moments)
    assert len(PROBLEMS) >= 25
    assert PLACE.stat().st_size < 300_000


def test_it_shares_no_code_with_luce() -> None:
    tests = ROOT / "tests"
    files = [*(tests / "reference").glob("*.py"), tests / "lib/oracles.py",
             tests / "lib/evidence_oracles.py"]  # fmt: skip
    for file in files:
        names: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                names.add((node.module or "").split(".")[0])
                local = (node.module or "").startswith("lib.")
                assert not local or node.module in ("lib.oracles", "lib.evidence_oracles")
        assert "luce" not in names, file


@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in EXACT]
)
def test_exact_values_are_found_again(name: str) -> None:
    one, found = reference_set()[name], independent.EXACT[PROBLEMS[name].moments](PROBLEMS[name])
    assert found.log_evidence is not None
    np.testing.assert_allclose(one["mean"]["value"], found.mean.value, rtol=1e-9)
    np.testing.assert_allclose(one["sd"]["value"], found.sd.value, rtol=1e-9)
    assert one["log_evidence"]["value"] == pytest.approx(float(found.log_evidence.value), rel=1e-9)


def largest_distance(problem: Problem, exact: independent.Answer) -> float:
    """Return the largest z-score of a short simulation, Student's tails turned into normal ones."""
    found = independent.simulate(problem, SEED, replicates=12, particles=300, draws=20)
    t = independent.distances(found, exact)
    return normal_score(t, found.freedom)


def normal_score(t: float, freedom: float) -> float:
    """Return the normal score that is as rare as t of Student's distribution."""
    return float(norm.isf(student.sf(t, freedom)))


@pytest.mark.parametrize(
    "name", ["three", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tree", "path-6"))]
)
def test_the_simulation_finds_exact_values(name: str) -> None:
    problem = PROBLEMS[name]
    exact = independent.EXACT[problem.moments](problem)
    limit = z_limit(3 * (2 * problem.categories + 1))
    assert largest_distance(problem, exact) < limit
    more = Problem("", problem.categories, problem.prior,
                   problem.terms + picks((1, 2.0, range(problem.categories))))  # fmt: skip
    assert largest_distance(more, exact) > limit  # control


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PROBLEMS if n not in EXACT])
def test_simulated_values_are_found_again_with_another_seed(name: str) -> None:
    one = reference_set()[name]
    found = independent.simulate(PROBLEMS[name], SEED + 17, 12, 300, 40)
    compared = [(found.mean, one["mean"]), (found.sd, one["sd"])]
    for values, known in compared:
        error = np.hypot(values.error, known["error"])
        t = np.abs(values.value - known["value"]) / error
        assert normal_score(t.max(), found.freedom) < z_limit(2 * 60 * len(PROBLEMS))


def test_the_page_lists_every_problem() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, one in reference_set().items():
        assert row_of(name, one) in page


@pytest.mark.compiled
def test_the_script_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    script, shown = re.findall(
        r"^```py\n(.*?)^```\n\n```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )[0]
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(script, {})
    assert printed.getvalue() == shown
