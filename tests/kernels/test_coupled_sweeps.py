"""Coupled sweeps: each chain of a pair has the law of a single one, and pairs stay together."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.contest_cases import ALL, posterior_of
from lib.size import draws
from lib.weighted_cases import TEAMS, counts_of

import luce
from luce import ConditionalCounts, Posterior
from luce.kernels.random import new_bits
from luce.sampling.coupled_chains import CoupledChains

NUMBER = draws(compiled=4000, plain=60)

# Sweeps after which the law of a chain is looked at: its start still shows.
SWEEPS = 2


def duels(more: int = 0) -> ConditionalCounts:
    counts = ConditionalCounts("abcd").observe({"a": 4 + more, "b": 1}, within="ab")
    return counts.observe({"b": 3, "c": 2}, within="bc").observe({"c": 1, "d": 6}, within="cd")


def grouped() -> ConditionalCounts:
    """Grouped outcomes in direct sets, which overlap."""
    counts = duels().observe_group(["a", "b"], 3, within=["a", "b", "c"])
    return counts.observe_group(["c", "a"], 5)


def excluded() -> ConditionalCounts:
    """Grouped outcomes among all but some, of many categories."""
    labels = [f"x{i}" for i in range(40)]
    counts = ConditionalCounts(labels)
    for i in range(4):
        counts = counts.observe({labels[i + 1]: 3, labels[i + 7]: 2}, without=[labels[i]])
        counts = counts.observe_group([x for x in labels if x != labels[2 * i]], 4)
    return counts


def tied() -> ConditionalCounts:
    rankings = ["a = b > c > d", "c > a = b > d", "d > b = c", "a > b > c > d"]
    return luce.from_rankings(rankings, ties="unknown", unranked="absent")


UNEVEN = [0.8, 1.5, 2.0, 0.6]
POSTERIORS = {
    "duels": lambda: Posterior(duels(), UNEVEN),
    "logarithms": lambda: Posterior(duels(), [0.04, 1.5, 0.03, 0.6]),
    "grouped": lambda: Posterior(grouped(), UNEVEN),
    "excluded": lambda: Posterior(excluded(), 1.2),
    "weighted": lambda: Posterior(counts_of(TEAMS), [0.7, 1.3, 2.0]),
    "tied": lambda: Posterior(tied(), UNEVEN),
    "home": lambda: posterior_of(ALL["home"]),
    "davidson": lambda: posterior_of(ALL["davidson home"]),
    "rao-kupper": lambda: posterior_of(ALL["rao-kupper home"]),
    "part-time": lambda: posterior_of(ALL["part-time, davidson"]),
    "contests, logarithms": lambda: posterior_of(ALL["davidson home, little prior"]),
}
OFTEN = ("duels", "logarithms", "grouped", "tied", "davidson", "rao-kupper")
EACH = [x if x in OFTEN else pytest.param(x, marks=pytest.mark.slow) for x in POSTERIORS]
# Models of which a pair's law is that of the run's own kernel: not so for Rao and Kupper's ties.
WITH_KERNEL = [x for x in EACH if x != "rao-kupper"]


class Sweeps:
    """Sweeps of one posterior, of pairs or of single chains, from two fixed states."""

    def __init__(self, posterior: Posterior) -> None:
        from luce.kernels.grouped_outcomes import split_space

        chains = CoupledChains(posterior.model)
        (self.part,), (self.kernels,) = chains.method.parts, chains.pairs
        self.space = split_space(self.part.problem)
        self.atoms = len(self.part.problem.shape)
        self.width = self.atoms + len(self.part.kernel.extra)
        self.starts = [self.part.draw_start(np.random.default_rng(k)) for k in (1, 2)]

    def together(
        self, seed: Any, sweeps: int, near: float | None = None, stops: bool = False
    ) -> Any:
        """Rows of both chains after each sweep, and their last states."""
        x, y = (start.copy() for start in self.starts)
        if near is not None:
            y = self.near_start(near)
        out = np.empty((2, sweeps, self.width))
        given = new_bits(seed), self.part.arrays, self.part.fit, x, y, stops
        made = self.kernels.both(*given, out[0], out[1], self.space)
        return out[:, :made], (x, y)

    def near_start(self, size: float) -> Any:
        """A state near the first one, as chains are when they are about to meet."""
        state, change = self.starts[0].copy(), size * np.cos(np.arange(self.atoms))
        p = state[: self.atoms]
        if self.part.problem.wide:
            p += change
            p -= np.logaddexp.reduce(p)
        else:
            p *= np.exp(change)
            p /= p.sum() if size else 1.0
        return state

    def alone(self, seed: Any, start: Any, sweeps: int) -> Any:
        """Rows of a single chain after each sweep."""
        out, state = np.empty((sweeps, self.width)), start.copy()
        rest = np.zeros(4), False, out, np.empty(sweeps), self.space
        self.kernels.alone(new_bits(seed), self.part.arrays, self.part.fit, state, *rest)
        return out


def seeds(word: int) -> Any:
    return np.random.SeedSequence([SEED, word]).spawn(NUMBER)


def functionals(sweeps: Sweeps, rows: Any) -> Any:
    """Logarithms of p and of parameters, their squares, and neighbours' products."""
    logs = np.log(rows) if sweeps.part.problem.wide is None else rows.copy()
    logs[:, sweeps.atoms :] = np.log(rows[:, sweeps.atoms :])
    logs = logs[:, : sweeps.atoms + len(sweeps.part.kernel.extra)]
    return np.hstack([logs, logs**2, logs[:, 1:] * logs[:, :-1]])


def misfit(sweeps: Sweeps, one: Any, other: Any) -> tuple[float, int]:
    """The largest difference of means in standard errors, and their number."""
    a, b = functionals(sweeps, np.array(one)), functionals(sweeps, np.array(other))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
    return float(np.max(np.abs(a.mean(axis=0) - b.mean(axis=0)) / error)), a.shape[1]


@pytest.mark.compiled
@pytest.mark.parametrize("near", [None, 0.05], ids=["far", "near"])
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_each_chain_of_a_pair_has_the_law_of_a_single_one(name: str, near: float | None) -> None:
    sweeps = Sweeps(POSTERIORS[name]())
    pairs = [sweeps.together(seed, SWEEPS, near)[0][:, -1] for seed in seeds(1)]
    x, y = np.array(pairs).transpose(1, 0, 2)
    starts = list(sweeps.starts)
    if near is not None:
        starts[1] = sweeps.near_start(near)
    for word, one, start in ((2, x, starts[0]), (3, y, starts[1])):
        alone = [sweeps.alone(seed, start, SWEEPS)[-1] for seed in seeds(word)]
        worst, number = misfit(sweeps, one, alone)
        assert worst < z_limit(2 * 2 * number * len(POSTERIORS))


@pytest.mark.compiled
def test_the_law_of_other_data_or_of_another_start_is_found() -> None:
    sweeps, other = Sweeps(POSTERIORS["duels"]()), Sweeps(Posterior(duels(1), UNEVEN))
    y = [sweeps.together(seed, SWEEPS)[0][1, -1] for seed in seeds(1)]
    for wrong, start in ((sweeps, 0), (other, 1)):
        alone = [wrong.alone(seed, sweeps.starts[start], SWEEPS)[-1] for seed in seeds(3)]
        worst, number = misfit(sweeps, y, alone)
        assert worst > z_limit(2 * 2 * number * len(POSTERIORS))


@pytest.mark.parametrize("name", EACH)
def test_pairs_that_have_met_stay_together(name: str) -> None:
    sweeps = Sweeps(POSTERIORS[name]())
    rows, (x, y) = sweeps.together(np.random.SeedSequence(SEED), 3000)
    apart = (rows[0] != rows[1]).any(axis=1)
    met = int(np.argmin(apart))
    assert not apart[-1]
    assert apart[:met].all()
    assert not apart[met:].any()
    np.testing.assert_array_equal(x, y)
    stopped, ends = sweeps.together(np.random.SeedSequence(SEED), 3000, stops=True)
    np.testing.assert_array_equal(*ends)
    # Times of blocks are part of the state, but not of the rows, and may meet later.
    assert stopped.shape[1] >= met + 1
    np.testing.assert_array_equal(stopped, rows[:, : stopped.shape[1]])


@pytest.mark.compiled
def test_pairs_that_are_nearly_equal_do_not_stay_together() -> None:
    """Met is equal bit for bit: pairs that are within 1e-3 may go apart again."""
    sweeps = Sweeps(POSTERIORS["duels"]())
    split = {}
    for size in (0.0, 1e-3):
        pairs = [sweeps.together(seed, 1, size)[0][:, -1] for seed in seeds(4)]
        split[size] = sum((x != y).any() for x, y in pairs)
    assert split[0.0] == 0
    assert split[1e-3] > 0
