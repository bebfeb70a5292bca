"""Every method on every problem of the reference set, tests/reference/posteriors.json.

Means, variances and the posterior probabilities below stored quantiles are compared with reference
values that share no code with luce, in units of both errors together.  Runs have many short chains,
so that errors come from the spread between chains.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.reference_set import (
    assert_agrees,
    drawn_by,
    posterior_of,
    reference_of,
    reference_set,
    with_one_count_fewer,
)

from luce import ConvergenceWarning
from luce.errors import MethodError
from luce.sampling.settings import METHODS

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),  # chains are short
]

CHAINS, DRAWS = 40, 600
TREES = ("beta", "tree", "one-ranking")
TINY = ("star-thousandth", "star-millionth")  # concentrations below 0.01
NAMES = tuple(name for name in reference_set() if name not in TINY)

# Each set leaves out one category, or one atom.
RAW_REJECTION = ("beta", "three", "three-sparse", "paper-10", "paper-20", "transitions")
REJECTION = {True: (*RAW_REJECTION, "paper-sparse", *TREES), False: RAW_REJECTION}

# Sweeps for each draw of methods that move slowly where sets are small or shapes below 1.
THIN = {"metropolis": 40, "hidden-counts": 40}

# Dirichlet proposals stay near one corner, or near one value, for many thousand sweeps; proposals
# around the mode are refused for long where the posterior is far from normal.
TOO_SLOW = {
    ("paper-sparse", "metropolis", True), ("paper-sparse", "metropolis", False),
    ("million", "metropolis", True), ("million", "metropolis", False),
    ("one-ranking", "metropolis", False),
    ("paper-sparse", "independence", False), ("one-ranking", "independence", False),
    ("paper-10", "independence", False), ("paper-20", "independence", False),
    ("two-leagues", "independence", False), ("assortments", "independence", False),
    ("cores-inside", "independence", False),
    ("races", "independence", True), ("races", "independence", False),
    ("sixty", "independence", True), ("sixty", "independence", False),
}  # fmt: skip

OFTEN = {
    *(
        (name, "auto", True)
        for name in ("three-sparse", "paper-10", "season", "path-6", "cores-inside", "tree")
    ),
    *((name, "auto", False) for name in ("gamma", "process", "million", "weights")),
    ("transitions", "rejection", True),
    ("two-leagues", "hamiltonian", False),
    ("teams", "hamiltonian", True),
    ("gamma", "hamiltonian", True),
    ("two-leagues", "independence", True),
    ("teams", "waiting-times", False),
    ("large-concentrations", "hidden-counts", True),
    ("three", "metropolis", True),
}


def fits(name: str, method: str, reduce: bool) -> bool:
    """Does the method fit the problem?"""
    one = reference_set()[name]
    if "gamma" in one["prior"]:
        return method in ("auto", "hamiltonian", "waiting-times")
    if method in ("exact", "single-weighted-set"):  # none of the reference posteriors has weights
        return name in TREES and reduce
    if method == "rejection":
        return name in REJECTION[reduce]
    # The full set is certain to hold the outcome: as a group it says nothing.
    groups = any(1 < len(outcome) < one["categories"] for outcome, _, _ in one["terms"])
    return not (method == "independence" and groups and not (name in TREES and reduce))


def every_case() -> Iterator[tuple[str, str, bool]]:
    for name in NAMES:
        for method in METHODS:
            for reduce in (True, False):
                yield name, method, reduce


def cases() -> list[Any]:
    return [
        pytest.param(*case, marks=() if case in OFTEN else pytest.mark.slow,
                     id="-".join([*case[:2], "reduced" if case[2] else "raw"]))
        for case in every_case()
    ]  # fmt: skip


# One limit for all comparisons of this file, so that all of them together raise few false alarms.
LIMIT = z_limit(sum(reference_of(reference_set()[case[0]]).value.size for case in every_case()))


def drawn(one: dict[str, Any], method: str = "auto", reduce: bool = True, **how: Any) -> np.ndarray:
    thin = THIN.get(method, 1)
    given = {"draws": DRAWS, "chains": CHAINS, "warmup": 300 * thin, "thin": thin, **how}
    run = posterior_of(one).sample(
        given.pop("draws"), seed=SEED, method=method, reduce=reduce, progress=False, **given
    )
    return drawn_by(run, one)


@pytest.mark.parametrize(("name", "method", "reduce"), cases())
def test_every_method_that_fits(name: str, method: str, reduce: bool) -> None:
    one = reference_set()[name]
    if not fits(name, method, reduce):
        with pytest.raises(MethodError):
            drawn(one, method, reduce)
    elif (name, method, reduce) in TOO_SLOW:
        with pytest.warns(ConvergenceWarning):
            drawn(one, method, reduce)
    else:
        assert_agrees(drawn(one, method, reduce), one, LIMIT)


@pytest.mark.parametrize(
    "name", [n if (n, "auto", True) in OFTEN else pytest.param(n, marks=pytest.mark.slow)
             for n in NAMES]
)  # fmt: skip
def test_control_one_outcome_fewer_is_found(name: str) -> None:
    one = reference_set()[name]
    with pytest.raises(AssertionError, match="errors;"):
        assert_agrees(drawn(with_one_count_fewer(one)), one, LIMIT)


@pytest.mark.parametrize("name", TINY)
def test_tiny_concentrations_agree_or_warn(name: str) -> None:
    one = reference_set()[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = drawn(one)
    if not any(issubclass(w.category, ConvergenceWarning) for w in caught):
        assert_agrees(run, one, LIMIT)


EVIDENCES = [name for name in NAMES if reference_set()[name]["log_evidence"]
             and "gamma" not in reference_set()[name]["prior"]]  # fmt: skip
FAST_EVIDENCES = ("three", "tree", "paper-10", "path-6", "season")


def evidence_distance(one: dict[str, Any], reference: dict[str, Any]) -> float:
    found = posterior_of(one).log_evidence(2000, seed=SEED, progress=False)
    errors = found.standard_error, reference["log_evidence"]["error"]
    value: float = reference["log_evidence"]["value"]
    # Exact values are stored to ten digits.
    return abs(float(found) - value) / float(np.hypot(*errors) + 1e-9 * abs(value))


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
@pytest.mark.parametrize(
    "name",
    [n if n in FAST_EVIDENCES else pytest.param(n, marks=pytest.mark.slow) for n in EVIDENCES],
)
def test_evidence(name: str) -> None:
    one = reference_set()[name]
    assert evidence_distance(one, one) < z_limit(len(EVIDENCES))
    assert evidence_distance(with_one_count_fewer(one), one) > z_limit(len(EVIDENCES))  # control
