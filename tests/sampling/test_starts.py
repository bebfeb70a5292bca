"""Every sampler from extreme and dispersed starts leads to one posterior, the reference's.

Starts are corners of the simplex, an edge, numbers near the smallest doubles, equal probabilities
and draws of the prior.  The truth is the reference set, tests/reference; for transitions it is
quadrature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.hdp_oracles import quadrature
from lib.reference_set import assert_agrees, drawn_by, posterior_of, reference_of, reference_set
from scipy.stats import norm
from scipy.stats import t as student

from luce import GibbsStep, HDPTransitions
from luce.errors import MethodError
from luce.sequences.hdp_state import HDPState

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),  # chains are short
]

CHAINS = 40
STARTS = ("least", "tiny", "edge", "equal", "corners", "prior")
SAMPLERS = ("waiting-times", "hidden-counts", "hamiltonian", "metropolis", "rejection", "auto")
NAMES = ("three", "three-sparse", "paper-10", "path-6", "season", "transitions", "cores-inside",
         "million", "gamma", "process")  # fmt: skip
OFTEN = {
    ("path-6", "waiting-times"), ("paper-10", "hidden-counts"), ("season", "auto"),
    ("path-6", "hamiltonian"), ("transitions", "rejection"), ("gamma", "auto"),
    ("process", "auto"), ("three-sparse", "auto"),
}  # fmt: skip

# Dirichlet proposals move slowly; with counts of a million too slowly.
THIN = {"metropolis": 40, "hidden-counts": 10}
TOO_SLOW = {("million", "metropolis")}


def start_of(kind: str, one: dict[str, Any]) -> Any:
    """Return one start for all chains, or one for each."""
    n, mean = one["categories"], one["mean"]["value"][: one["categories"]]
    least, most = int(np.argmin(mean)), int(np.argmax(mean))
    corner = np.eye(n)
    if kind == "tiny":
        return np.where(corner[least] > 0, 1 - (n - 1) * 1e-300, 1e-300)
    if kind == "edge":
        return 1e-15 * corner[least] + (1 - 1e-15) * corner[most]
    if kind == "corners":
        return corner[np.arange(CHAINS) % n]
    return {"least": corner[least], "equal": np.full(n, 1 / n), "prior": "prior"}[kind]


def cases() -> list[Any]:
    return [
        pytest.param(name, method, kind,
                     marks=() if (name, method) in OFTEN and kind in ("least", "corners")
                     else pytest.mark.slow)
        for name in NAMES for method in SAMPLERS for kind in STARTS
        if (name, method) not in TOO_SLOW
    ]  # fmt: skip


# One limit for all comparisons of this file.
LIMIT = z_limit(
    sum(reference_of(reference_set()[case.values[0]]).value.size for case in cases()) + 1000
)


def drawn(name: str, method: str, kind: str, reduce: bool, **how: Any) -> np.ndarray:
    one, thin = reference_set()[name], THIN.get(method, 1)
    given = {"draws": 500, "warmup": 300 * thin, "thin": thin, **how}
    run = posterior_of(one).sample(
        given.pop("draws"), chains=CHAINS, seed=SEED + 5, method=method, reduce=reduce,
        initial=start_of(kind, one), progress=False, **given,
    )  # fmt: skip
    return drawn_by(run, one)


@pytest.mark.parametrize(("name", "method", "kind"), cases())
def test_every_start_leads_to_the_posterior(name: str, method: str, kind: str) -> None:
    for reduce in (True, False):
        try:
            found = drawn(name, method, kind, reduce)
        except MethodError:  # tests/posterior/test_reference_posteriors.py lists what does not fit
            continue
        assert_agrees(found, reference_set()[name], LIMIT)


@pytest.mark.parametrize("kind", ["least", "tiny", "edge"])
def test_control_chains_that_remember_their_start_are_found(kind: str) -> None:
    found = drawn("path-6", "waiting-times", kind, False, warmup=0, draws=5)
    with pytest.raises(AssertionError, match="errors;"):
        assert_agrees(found, reference_set()["path-6"], LIMIT)


@pytest.mark.parametrize("kind", ["least", "equal", "corners", "prior"])
@pytest.mark.parametrize("name", ["star-thousandth", "star-millionth"])
def test_chains_of_tiny_concentrations_arrive(name: str, kind: str) -> None:
    assert_agrees(drawn(name, "waiting-times", kind, True), reference_set()[name], LIMIT)


# -- one Gibbs step --------------------------------------------------------------------------------

ROWS = 100  # chains at once

# A step leaves 0 for 1e-290 and then climbs by some tenths of a power of ten: a thousand steps.
CLIMB = 3000


def stepped(name: str, kind: str, warmup: int = CLIMB, draws: int = 200) -> np.ndarray:
    """Carry many rows on by a Gibbs step; shape (row, draw, category)."""
    one = reference_set()[name]
    counts = posterior_of(one).counts
    step, rng = GibbsStep.of(counts), np.random.default_rng(SEED + 6)
    start = start_of(kind, one)
    a = one["prior"]["dirichlet"]
    if kind == "prior":
        start = rng.dirichlet(a, ROWS)
    p = np.resize(start, (ROWS, one["categories"]))
    by_category, by_term = (np.broadcast_to(x, (ROWS, len(x))) for x in step.totals(counts))
    kept = np.empty((draws, *p.shape))
    for d in range(-warmup, draws):
        for _ in range(1 if d < 0 else 5):
            p = step(rng, p, (by_category, by_term), a)
        if d >= 0:
            kept[d] = p
    return kept.transpose(1, 0, 2)


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("name", ["paper-10", "path-6", "three-sparse"])
def test_every_start_of_a_gibbs_step(name: str, kind: str) -> None:
    assert_agrees(stepped(name, kind), reference_set()[name], LIMIT)


def test_control_gibbs_steps_that_remember_their_start_are_found() -> None:
    with pytest.raises(AssertionError, match="errors;"):
        assert_agrees(stepped("path-6", "corners", 0, 5), reference_set()["path-6"], LIMIT)


# -- transitions -----------------------------------------------------------------------------------

TRANSITIONS = np.array([[0, 9, 2], [4, 0, 1], [3, 6, 0]])
BASES = {
    "corner": [0.0, -700.0, -700.0],
    "far": [-5000.0, -1e4, 0.0],
    "equal": [-np.log(3)] * 3,
}


def transition_scores(log_base: list[float], warmup: int, sweeps: int) -> np.ndarray:
    """Return normal scores of the means of base and rows, from states at one extreme."""
    chains, diagonal = 20, np.eye(3, dtype=bool)
    model, truth = HDPTransitions(3, 2.0, 1.5), quadrature(TRANSITIONS, diagonal, 2.0, 1.5)
    each = np.empty((chains, sweeps, 3 + 6))
    for c in range(chains):
        rng = np.random.default_rng([SEED, 7, c])
        logs = np.array(log_base) - np.logaddexp.reduce(log_base)
        state = HDPState(logs, np.where(diagonal, 0.0, 0.5), 2.0, 1.5, (0, 1, 2))
        for k in range(-warmup, sweeps):
            state, _ = model.resample(rng, TRANSITIONS, state)
            if k >= 0:
                each[c, k] = np.r_[state.base, state.rows[~diagonal]]
    means = each.mean(1)
    t = np.abs(means.mean(0) - np.r_[truth.mean, truth.rows[~diagonal]])
    t /= means.std(0, ddof=1) / np.sqrt(chains)
    return np.asarray(norm.isf(student.sf(t, chains - 1)))


@pytest.mark.parametrize("name", BASES)
def test_every_start_of_transitions(name: str) -> None:
    # Hidden counts climb by some powers of e in a sweep.
    assert transition_scores(BASES[name], 500, 100).max() < LIMIT


def test_control_transitions_that_remember_their_start_are_found() -> None:
    assert transition_scores([0.0, -30.0, -30.0], 0, 20).max() > LIMIT
