"""Every shape of data and every method, for simulation-based calibration.

The slow tests run the grid, and `benchmarks/calibration.py` makes the pages of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

import luce
from luce.answers.rank_uniformity import p_value_of, ranks_of
from luce.calibration.design import log_likelihoods
from luce.calibration.replications import NearlyIndependent
from luce.counts.contests import contests_of_pairs
from luce.model.model import Model

Counts = luce.ConditionalCounts


class Ranks(NamedTuple):
    """Ranks of several quantities, shape (replication, quantity)."""

    ranks: Any
    draws: int
    names: list[str]

    @property
    def p_value(self) -> float:
        """All quantities together."""
        found = [p_value_of(column, self.draws) for column in self.ranks.T]
        return min(1.0, len(found) * min(found))


METHODS = ("auto", "rejection", "hamiltonian", "waiting-times", "hidden-counts", "metropolis")

# Overlapping groups that answers may be reported in, and how often each partition is asked about.
PARTITIONS = ((("ab", "cd"), 6), (("bc", "ad"), 6), (("a", "b", "c", "d"), 3))


def duels(labels: str, pairs: str, each: int) -> Counts:
    counts = Counts(labels)
    for pair in pairs.split():
        counts = counts.observe({pair[0]: each}, within=pair)
    return counts


def all_but_one(labels: str, each: int) -> Counts:
    counts = Counts(labels)
    for out in labels:
        counts = counts.observe({next(x for x in labels if x != out): each}, without=out)
    return counts


def full_rankings(rng: np.random.Generator, p: Mapping[Any, float], places: int = 4) -> Counts:
    """Five rankings, each place given to one of those left; only so many places are told."""
    counts = Counts(list(p))
    for _ in range(5):
        left = list(p)
        for _ in range(min(places, len(p) - 1)):
            weights = np.array([p[x] for x in left])
            first = left[rng.choice(len(left), p=weights / weights.sum())]
            counts = counts.observe({first: 1}, within=left)
            left.remove(first)
    return counts


def top_two(rng: np.random.Generator, p: Mapping[Any, float]) -> Counts:
    return full_rankings(rng, p, 2)


def grouped_answers(rng: np.random.Generator, p: Mapping[Any, float]) -> Counts:
    """Answers in overlapping groups, some of them given that d was not possible."""
    counts = Counts(list(p))
    for groups, times in PARTITIONS:
        for without in ("", "d"):
            parts = [[x for x in group if x not in without] for group in groups]
            parts = [part for part in parts if part]
            weights = np.array([sum(p[x] for x in part) for part in parts])
            for part, k in zip(parts, rng.multinomial(times, weights / weights.sum()), strict=True):
                counts = counts.observe_group(part, int(k), without=without)
    return counts


BASE = {"a": 0.35, "b": 0.25, "c": 0.2}


def of_process(rng: np.random.Generator, p: Mapping[Any, float]) -> Counts:
    """Outcomes without some atoms, which keeps the remainder, and within some, which does not."""
    counts = Counts(list(p))
    for within in ("abc", "bc", ["b", "c", "remainder"], ["a", "c", "remainder"], list(p)):
        weights = np.array([p[x] for x in within])
        seen = rng.multinomial(4, weights / weights.sum())
        counts = counts.observe(dict(zip(within, seen.tolist(), strict=True)), within=within)
    return counts


# Methods that do not fit some shapes: rejection wants sets that each leave out one atom,
# Hamiltonian moves no groups, and a concentration that is drawn wants waiting times.
NO_REJECTION, NO_FIT = ("rejection",), ("rejection", "hamiltonian")
NOT_DRAWN = (*NO_REJECTION, "hidden-counts", "metropolis")


def contests(ties: str | None, home: bool) -> Counts:
    """Meetings of three, most of them at the home of one; results are drawn anew."""
    first, second, at_home = np.array([[0, 1, 1], [1, 2, 1], [2, 0, 1], [0, 2, 0], [1, 0, 2]]).T
    results = np.array([[6.0, 0, 0], [5, 0, 0], [4, 0, 0], [3, 0, 0], [2, 0, 0]])
    met = contests_of_pairs(3, first, second, at_home, results, ties, home)
    return Counts("abc").with_events(met)


@dataclass(frozen=True)
class Shape:
    """One kind of data, and the prior it is looked at with."""

    name: str
    design: Any
    concentration: Any = 1.0
    categories: Any = None
    exact: bool = False  # then the methods run on the raw categories
    refused: tuple[str, ...] = ()  # methods that do not fit, and say so


SHAPES = (
    Shape("full counts", Counts("abcd").observe({"a": 20}), 0.7, exact=True),
    Shape(
        "nested sets",
        Counts("abcd").observe({"a": 6}, within="ab").observe({"b": 6}, without="d")
        .observe({"d": 4}),
        exact=True, refused=NO_REJECTION,
    ),
    Shape("all but one", all_but_one("abcd", 6), 2.0),
    Shape("pairs", duels("abcd", "ab bc cd da", 5), 1.0, refused=NO_REJECTION),
    Shape("rankings", full_rankings, 1.0, "abcd", refused=NO_REJECTION),
    Shape("partial rankings", top_two, 1.0, "abcd"),
    Shape("grouped outcomes", grouped_answers, 1.0, "abcd", refused=NO_FIT),
    Shape("disconnected", duels("abcdef", "ab bc ca de ef fd", 4), 1.5),
    Shape("sparse", duels("abcde", "ab bc cd de ea ac", 1), 0.8, refused=NO_REJECTION),
    Shape("unequal concentration", duels("abcd", "ab bc ca", 4) + all_but_one("abcd", 3),
          (0.6, 1.0, 2.5, 5.0), refused=NO_REJECTION),
    Shape("large counts", duels("abc", "ab bc ca", 20_000), 3.0),
    Shape(
        "a core in a tree",
        Counts("abcdef").observe({"a": 5}, within="ab").observe({"b": 5}, within="bc")
        .observe({"a": 6}, within="abc").observe({"d": 5}, without="f"),
        1.0,
    ),
    Shape("Dirichlet process", of_process, luce.DirichletProcess(2.5, BASE),
          [*"abc", "remainder"], refused=NO_REJECTION),
    Shape("process, concentration drawn", of_process,
          luce.DirichletProcess(luce.Gamma(4.0, 1.5), BASE), [*"abc", "remainder"],
          refused=NOT_DRAWN),
    Shape("pairs, concentration drawn", duels("abcd", "ab bc cd da", 5), luce.Gamma(4.0, 2.0),
          refused=NOT_DRAWN),
    Shape("groups, concentration drawn", grouped_answers, luce.Gamma(4.0, 2.0), "abcd",
          refused=NOT_DRAWN),
    Shape("home advantage", contests(None, True), 1.5, refused=NOT_DRAWN),
    Shape("Davidson's ties", contests("davidson", True), 1.5, refused=NOT_DRAWN),
    Shape("Rao-Kupper ties", contests("rao-kupper", True), 1.5, refused=NOT_DRAWN),
)  # fmt: skip


def check(shape: Shape, method: str, replications: int, seed: int, draws: int = 31) -> Any:
    """Run one cell of the grid."""
    return luce.calibration.check_calibration(
        shape.design,
        shape.concentration,
        categories=shape.categories,
        method=method,
        reduce=not shape.exact or method == "auto",
        replications=replications,
        draws=draws,
        seed=seed,
        progress=False,
    )


# -- samplers that are not methods of `Posterior.sample` ----------------------------------------


def diffuse_process(replications: int, seed: int, draws: int = 31, wrong: bool = False) -> Ranks:
    """Atoms come by sticks and get their names when they are seen; the rest has none."""
    prior = luce.Gamma(4.0, 2.0)
    drawer, ranks = NearlyIndependent(draws), []
    for own in np.random.SeedSequence(seed).spawn(replications):
        rng = np.random.default_rng(own)
        gamma = rng.gamma(prior.shape) / prior.rate
        sticks = Sticks(rng, gamma)
        first = [sticks.pick(set()) for _ in range(8)]
        out = {first[0]}
        later = [sticks.pick(out) for _ in range(8)]
        names = list(dict.fromkeys(first + later))
        both = names[:2]  # seen above, so their duels can be looked at too
        weight = np.array([sticks.masses[k] for k in both])
        duel = rng.multinomial(5, weight / weight.sum())
        counts = Counts([*names, "remainder"])
        counts = counts.observe({k: first.count(k) for k in names})
        counts = counts.observe({k: later.count(k) for k in set(later)}, without=out)
        counts = counts.observe(dict(zip(both, duel.tolist(), strict=True)), within=both)
        p = np.array([sticks.masses[k] for k in names])
        rest = sticks.left + sum(m for k, m in enumerate(sticks.masses) if k not in names)
        log_p = np.log(np.r_[p, rest])
        # The control draws γ as if its prior had half the mean.
        process = luce.DirichletProcess(luce.Gamma(4.0, 4.0) if wrong else prior)
        values = drawer(Model(counts, process), own.spawn(1)[0])[0]
        known = [log_p[0], log_p[-1], float(log_likelihoods(log_p, counts)), np.log(gamma)]
        chosen = [0, len(names), len(names) + 1, len(names) + 2]
        ranks.append(ranks_of(np.array(known), values[:, chosen], rng))
    return Ranks(np.array(ranks), draws, ["p of the first", "p_rest", "log likelihood", "γ"])


class Sticks:
    """A Dirichlet process as it is looked at: masses of the atoms so far, and what is left."""

    def __init__(self, rng: np.random.Generator, gamma: float) -> None:
        self.rng, self.gamma, self.left = rng, gamma, 1.0
        self.masses: list[float] = []

    def pick(self, out: set[int]) -> int:
        """One outcome, given that it is none of `out`."""
        while True:
            u, k = self.rng.random(), 0
            while True:
                if k == len(self.masses):
                    v = self.rng.beta(1.0, self.gamma)
                    self.masses.append(self.left * v)
                    self.left *= 1 - v
                if u < self.masses[k]:
                    break
                u -= self.masses[k]
                k += 1
            if k not in out:
                return k


def gibbs_step(replications: int, seed: int, draws: int = 31, wrong: bool = False) -> Ranks:
    """All replications as the rows of one batch, each with counts of its own."""
    rng, n, a = np.random.default_rng(seed), 4, np.array([0.7, 1.0, 2.0, 3.0])
    step = luce.GibbsStep(n, without=[[0], [1]], within=[[1, 2], [2, 3]])
    truth = rng.dirichlet(a, replications)
    counts = np.zeros((replications, step.n_terms, n))
    for t, inside in enumerate(step.inside):
        share = truth * inside
        counts[:, t] = rng.multinomial(5, share / share.sum(axis=1, keepdims=True))
    p = rng.dirichlet(a, replications)
    kept = np.empty((draws, replications, n))
    for k in range(-300, 24 * draws):
        p = step(rng, p, counts, a + 0.5 * wrong)
        if k >= 0 and k % 24 == 23:
            kept[k // 24] = p

    def quantities(p: Any) -> Any:
        loglik = (counts.sum(axis=1) * np.log(p)).sum(axis=-1)
        loglik = loglik - 5 * np.log(p @ step.inside.T).sum(axis=-1)
        return np.concatenate([p, loglik[..., None]], axis=-1)

    known, drawn = quantities(truth), quantities(kept)
    ranks = [ranks_of(known[r], drawn[:, r], rng) for r in range(replications)]
    return Ranks(np.array(ranks), draws, ["p_0", "p_1", "p_2", "p_3", "log likelihood"])


def hdp(replications: int, seed: int, draws: int = 31, wrong: bool = False) -> Ranks:
    """Base, a row, both concentrations and the likelihood of transitions without self-loops."""
    scale = luce.Gamma(4.0, 1.0)
    model = luce.HDPTransitions(3, scale, scale)
    # The control forgets that self-loops were never seen.
    fitted = luce.HDPTransitions(3, scale, scale, self_loops="kept") if wrong else model
    rng, thin, ranks = np.random.default_rng(seed), 24, []
    for _ in range(replications):
        truth, start = model.initial_state(rng), model.initial_state(rng)
        counts = rng.multinomial(10, truth.rows).astype(float)
        problem = fitted.problem(counts, np.zeros(3))
        scales = np.log([start.concentration, start.base_concentration])
        bits = rng.integers(2**64 - 1, size=4, dtype=np.uint64)
        run = problem.advance(bits, start.log_base.copy(), scales, (draws + 20) * thin, True)
        kept = slice(20 * thin + thin - 1, None, thin)
        rows = run.rows[kept] * ~np.eye(3, dtype=bool)
        rows /= rows.sum(axis=2, keepdims=True)
        off = ~np.eye(3, dtype=bool)

        def quantities(log_base: Any, rows: Any, scales: Any) -> Any:
            loglik = xlogy(counts * off, rows).sum(axis=(-1, -2))  # noqa: B023
            return np.concatenate([log_base, rows[..., 0, 1:2], loglik[..., None], scales], axis=-1)

        known = np.array([truth.concentration, truth.base_concentration])
        ranks.append(ranks_of(
            quantities(truth.log_base, truth.rows, known),
            quantities(run.log_base[kept], rows, run.concentrations[kept]), rng,
        ))  # fmt: skip
    names = ["β_0", "β_1", "β_2", "π_01", "log likelihood", "α", "γ"]
    return Ranks(np.array(ranks), draws, names)


OTHERS = {
    "a process with a diffuse base": diffuse_process,
    "GibbsStep": gibbs_step,
    "HDPTransitions": hdp,
}


def cells(shape: Shape, replications: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Each method that fits a shape, and its check.

    Where "auto" takes one method throughout, that method would draw the same from the same seed:
    it is not run again.
    """
    chosen = check(shape, "auto", replications, seed)
    yield "auto", chosen
    for method in METHODS[1:]:
        if method in shape.refused:
            continue
        same = chosen.ranks.attrs["method"] == method
        yield method, chosen if same else check(shape, method, replications, seed)
