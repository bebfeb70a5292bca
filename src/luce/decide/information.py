"""Information of outcomes about a target, computed from draws, and batches that are good together.

A target cuts the draws into groups: by who is best, or by which of two is the larger; or each draw
is a group of its own.  With q the probabilities of the outcomes in a draw and H the entropy, an
outcome tells

    I = H(E q) - Σ_g P(g) H(E[q | g])

about the group, in bits.  An entropy of means over few draws is too small: by Σ_k var(q_k) / (2 N
E q_k) to leading order, N being the number of independent draws that the mean is worth.  This is
added to each entropy: else outcomes would seem to tell more, the more groups there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.answers.view import DrawsView
from luce.decide.candidates import Candidates
from luce.sampling.mixing import sizes_of_means
from luce.sampling.progress import ProgressBar

GOALS = ("information", "best", "order")

# Winners of fewer draws, or of a smaller share of them, are taken together as one.
_LEAST_DRAWS, _LEAST_SHARE = 10, 0.005

# Candidates among which the second and later ones of a batch are looked for.
_SHORTLIST = 200

# Courses that the outcomes of the earlier ones of a batch may take, which are averaged over.
_COURSES = 32

# Categories whose autocorrelation tells what the draws are worth, and fewest draws that tell it.
_JUDGED, _LEAST_JUDGED = 50, 8

_TINY = 1e-300


def independent_draws(x: DrawsView) -> float:
    """Estimate the number of independent draws that means over all draws are worth.

    It is the median over the categories of the effective sizes of means.
    """
    if x.values.shape[1] < _LEAST_JUDGED:
        return float(x.n_draws)
    numbers = np.unique(np.linspace(0, x.n_categories - 1, _JUDGED).astype(np.int64))
    own = np.moveaxis(x.probabilities[:, :, numbers], 2, 0)
    own = own[np.ptp(own, axis=(1, 2)) > 0]
    if not len(own):
        return float(len(x.values))
    return float(min(np.median(sizes_of_means(np.ascontiguousarray(own))), x.n_draws))


def winners(x: DrawsView) -> tuple[IntArray, FloatArray]:
    """Find who is best in each draw: categories that ever are, and shares of shape (draw, these).

    Categories that are equally good in a draw have equal shares of it.
    """
    values = x.values.reshape(-1, x.n_categories)
    level = values == values.max(axis=1, keepdims=True)
    ever = np.flatnonzero(level.any(axis=0))
    return ever, level[:, ever] / level.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Target:
    """What outcomes are to tell.

    Attributes
    ----------
    goal
        "information": the probabilities; "best": the best; "order": which of those that are
        compared is the larger, summed over their pairs.
    groups
        Shares of draws in the groups of goal "best", shape (draw, group).
    worth
        Number of independent draws that one draw is worth.
    together
        Number of rare winners that are taken together as the last group.
    """

    goal: str
    groups: FloatArray
    worth: float
    together: int

    @classmethod
    def of(cls, goal: str, shares: FloatArray, independent: float) -> Target:
        """Take rare winners together."""
        draws = len(shares)
        wins = shares.sum(axis=0)
        rare = wins < max(_LEAST_DRAWS * draws / independent, _LEAST_SHARE * draws)
        rest = shares[:, rare].sum(axis=1, keepdims=True)
        groups = np.concatenate([shares[:, ~rare], rest], axis=1) if rare.any() else shares
        return cls(goal, groups, independent / draws, int(rare.sum()))

    def values(self, candidates: Candidates, numbers: IntArray, courses: FloatArray) -> FloatArray:
        """Compute the information of candidates, in bits, averaged over courses of events.

        Parameters
        ----------
        candidates, numbers
            The candidates.
        courses
            Weights of draws, shape (draw, course): the joint probability of draw and course, so
            that all add up to 1.
        """
        q = candidates.probabilities(numbers)
        mass = courses.sum(axis=0)
        # An entropy of means, times the mass, is too small by this times the spread.
        bias = (courses**2).sum(axis=0) / mass / self.worth / 2
        total, squares = _moments(q, courses)
        whole, spread = _entropies(total, mass), _spreads(total, squares, mass)
        if self.goal == "information":
            return np.asarray((whole - _bits(q) @ courses + bias * spread).sum(axis=1))
        if self.goal == "best":
            parts = (courses[:, :, None] * self.groups[:, None]).reshape(len(courses), -1)
            shape = (*total.shape, self.groups.shape[1])
            own, own_squares = (part.reshape(shape) for part in _moments(q, parts))
            masses = parts.sum(axis=0).reshape(shape[2:])
            inside = _entropies(own, masses).sum(axis=2)
            within = _spreads(own, own_squares, masses).sum(axis=2)
            return np.asarray((whole - inside + bias * (spread - within)).sum(axis=1))
        gain = np.zeros(len(numbers))
        for compared, sides in _orders(candidates.strengths(numbers)):
            left = whole + bias * spread
            for side in sides:
                own, own_squares = (q * side) @ courses, (q**2 * side) @ courses
                masses = side[:, 0] @ courses
                left = left - _entropies(own, masses) - bias * _spreads(own, own_squares, masses)
            gain += np.where(compared, left.sum(axis=1), 0.0)
        return gain

    def influences(self, candidates: Candidates, numbers: IntArray) -> FloatArray:
        """Compute what each draw adds to the information of candidates, (candidate, draw).

        The mean over draws is the information without its correction.  It is also the first-order
        influence of a draw on it, so that its Monte Carlo error is that of the information.
        """
        q = candidates.probabilities(numbers)
        draws = q.shape[2]
        logs = -_logs(q.mean(axis=2, keepdims=True))
        if self.goal == "information":
            return np.asarray((q * (_logs(q) + logs)).sum(axis=1))
        if self.goal == "best":
            share = self.groups.sum(axis=0)
            inside = _logs(q @ (self.groups / np.where(share > 0, share, 1.0)))
            return np.asarray((q * (inside @ self.groups.T + logs)).sum(axis=1))
        found = np.zeros((len(numbers), draws))
        for compared, sides in _orders(candidates.strengths(numbers)):
            for side in sides:
                share = np.maximum(side.sum(axis=2, keepdims=True), _TINY)
                inside = _logs((q * side).sum(axis=2, keepdims=True) / share)
                found += np.where(compared[:, None], (q * side * (inside + logs)).sum(axis=1), 0.0)
        return found


def blocks(candidates: Candidates, numbers: IntArray, x: DrawsView) -> Iterator[IntArray]:
    """Go through candidates, few enough at once to be held with all draws."""
    step = max(1, x.block // (4 * candidates.n_outcomes * x.n_draws))
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


def all_values(
    target: Target, candidates: Candidates, x: DrawsView, progress: bool = False
) -> FloatArray:
    """Compute the information of all candidates, in bits."""
    values = np.empty(len(candidates))
    courses = np.full((x.n_draws, 1), 1 / x.n_draws)
    with ProgressBar(len(candidates), progress) as bar:
        for some in blocks(candidates, np.arange(len(candidates)), x):
            values[some] = target.values(candidates, some, courses)
            bar.update(int(some[-1]) + 1, "comparing candidates")
    return values


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates chosen one after another, each for what it adds to those before.

    Attributes
    ----------
    numbers
        The candidates.
    gains
        Bits that each adds, given the outcomes of those before.
    effective
        Least number of independent draws, a mean over the courses, that a gain rests on.
    """

    numbers: IntArray
    gains: FloatArray
    effective: float


def choose(
    target: Target,
    candidates: Candidates,
    x: DrawsView,
    values: FloatArray,
    costs: FloatArray,
    times: IntArray,
    rng: np.random.Generator,
    progress: bool = False,
) -> Batch:
    """Choose a batch, each next one by its expected information given the outcomes so far.

    The expectation is over all courses that the outcomes of those before may take, or over some of
    them, drawn by their probabilities.  The same candidate may be chosen again.

    Parameters
    ----------
    target
        What the outcomes are to tell.
    candidates, x
        The candidates, and the draws.
    values
        Information of each candidate, the first choice being the best for its cost.
    costs
        Cost of each candidate.
    times
        How often each choice is compared before the next one is made: ones for a batch.
    rng
        Draws the courses.
    progress
        Show a progress bar?
    """
    ratios = values / costs
    short = np.sort(np.argsort(-ratios, kind="stable")[:_SHORTLIST])
    courses = np.full((x.n_draws, 1), 1 / x.n_draws)
    size = len(times)
    numbers, gains = np.empty(size, np.int64), np.empty(size)
    effective = x.n_draws * target.worth
    with ProgressBar(size, progress) as bar:
        for k in range(size):
            if k > 0:
                q = candidates.probabilities(numbers[k - 1 : k])[0]
                one = times[k - 1] == 1
                courses = (
                    _continued(courses, q, rng)
                    if one
                    else _simulated(courses, q, times[k - 1], rng)
                )
                sizes = courses.sum(axis=0) ** 2 / (courses**2).sum(axis=0)
                effective = min(effective, float(np.mean(sizes)) * target.worth)
                found = np.concatenate(
                    [
                        target.values(candidates, some, courses)
                        for some in blocks(candidates, short, x)
                    ]
                )
            else:
                found = values[short]
            best = int(np.argmax(found / costs[short]))
            numbers[k], gains[k] = short[best], found[best]
            bar.update(k + 1, "choosing a batch")
    return Batch(numbers, gains, effective)


def _continued(courses: FloatArray, q: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Continue courses by the outcomes of one more comparison; keep some if they become many.

    Courses are kept by systematic sampling, each then having the same probability.
    """
    found = (courses[:, :, None] * q.T[:, None]).reshape(len(courses), -1)
    mass = found.sum(axis=0)
    found, mass = found[:, mass > 0], mass[mass > 0]
    if len(mass) <= _COURSES:
        return found
    kept = _systematic(mass, rng)
    return np.asarray(found[:, kept] / mass[kept] / _COURSES)


def _simulated(
    courses: FloatArray, q: FloatArray, times: int, rng: np.random.Generator
) -> FloatArray:
    """Continue some courses by simulated outcomes of several comparisons, all equally probable."""
    kept = courses[:, _systematic(courses.sum(axis=0), rng)]
    ends = np.cumsum(kept, axis=0)
    truths = (ends < rng.random(_COURSES) * ends[-1]).sum(axis=0)
    outcomes = rng.multinomial(times, (q / q.sum(axis=0)).T[np.minimum(truths, len(kept) - 1)])
    logs = np.log(np.maximum(q, _TINY)).T @ outcomes.T
    found = kept * np.exp(logs - logs.max(axis=0))
    return np.asarray(found / found.sum(axis=0) / _COURSES)


def _systematic(mass: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw courses by systematic sampling, each as often as its probability asks for."""
    ends = np.cumsum(mass) / mass.sum()
    places = (rng.random() + np.arange(_COURSES)) / _COURSES
    return np.minimum(np.searchsorted(ends, places), len(mass) - 1)


def _moments(q: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add up q and its squares over draws, by columns of weights: (candidate, outcome, column)."""
    if q.shape[1] > 2:
        flat, shape = q.reshape(-1, q.shape[2]), (*q.shape[:2], -1)  # one product, not many
        return (flat @ weights).reshape(shape), (flat**2 @ weights).reshape(shape)
    first = np.ascontiguousarray(q[:, 0])
    total, squares, mass = first @ weights, first**2 @ weights, weights.sum(axis=0)
    both = (
        np.stack([total, mass - total], axis=1),
        np.stack([squares, mass - 2 * total + squares], 1),
    )
    return np.maximum(both[0], 0.0), np.maximum(both[1], 0.0)


def _entropies(totals: FloatArray, masses: FloatArray) -> FloatArray:
    """Compute the entropy of outcomes in bits, times the mass, from totals along axis 1."""
    return np.asarray(masses * _logs(masses) - (totals * _logs(totals)).sum(axis=1))


def _spreads(totals: FloatArray, squares: FloatArray, masses: FloatArray) -> FloatArray:
    """Compute Σ_k var(q_k) / E q_k in bits, from totals along axis 1; 0 where the mass is."""
    means = totals / np.maximum(np.expand_dims(masses, -totals.ndim + 1), _TINY)
    found = np.where(totals > 0, squares / np.maximum(totals, _TINY) - means, 0.0)
    return np.asarray(np.maximum(found, 0.0).sum(axis=1) / np.log(2))


def _bits(q: FloatArray) -> FloatArray:
    """Compute the entropy of outcomes in each draw, shape (candidate, draw)."""
    return np.asarray(-(q * _logs(q)).sum(axis=1))


def _logs(x: FloatArray) -> FloatArray:
    """Compute logarithms to base 2; a finite one of 0, which is multiplied by 0."""
    return np.asarray(np.log(np.maximum(x, _TINY)) / np.log(2))


def _orders(strengths: FloatArray) -> Iterator[tuple[BoolArray, list[FloatArray]]]:
    """Go through all pairs of sides: candidates that have both, and how often either is larger.

    The shares of draws in which the first is larger, and the second, have shape
    (candidate, 1, draw); equal ones count half.
    """
    for i, j in combinations(range(strengths.shape[1]), 2):
        first, second = strengths[:, i], strengths[:, j]
        above = (first > second) + 0.5 * (first == second)
        yield np.asarray(~np.isnan(second).any(axis=1)), [above[:, None], 1 - above[:, None]]
