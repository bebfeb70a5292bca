"""Shifts of whole groups of categories: log p_i + s for all i of a group, s drawn exactly.

Where a group G won every time it took part, data bounds its probabilities from below only, and a
small concentration a lets the gap to the others grow to about 1 / a nats.  A sweep of waiting times
moves a gap by a few nats, so it would take 1 / a² sweeps to explore it.  A shift draws the gap in
one step, whatever its scale, and groups pass each other.

Along s the log density of log p is, with c(G) = Σ_{i ∈ G} c_i and A the shape of the total,

    f(s) = c(G) s - Σ_t m_t log(exp(s) p(S_t ∩ G) + p(S_t - G)) - A log(exp(s) p(G) + p(not G))

once grouped outcomes are assigned to categories.  f is concave, and its slope stays between `down`
at s = -∞ and -`up` at ∞.  The slice {s: f(s) > f(0) - E}, E ~ Exp(1), is therefore an interval, and
s is uniform on it (Neal 2003): widened until both ends are outside, then shrunk.

Two categories of one grouped outcome may each explain it alone, with a valley of low density in
between.  For these, an exchange of two log probabilities is proposed and accepted by the ratio of
densities (Metropolis).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.jit import compile_by_type, internal
from luce.kernels.layouts import Weighted
from luce.kernels.problem import Problem, Wide
from luce.kernels.random import exponential, next_word, uniform
from luce.kernels.set_sums import cancelled, minus, normalise, plus, set_sums, weighed, weights_of


class Shifts(NamedTuple):
    """Groups of categories to shift, and pairs to exchange; the `fit` of a sweep in a wide problem.

    Counts and prior are summed apart, since (1e-6 + 1e15) - 1e15 would lose the prior.

    Attributes
    ----------
    start, member
        Group g is ``member[start[g]:start[g + 1]]``.
    nest_start, nest
        Nests with sets that may meet group g: ``nest[nest_start[g]:nest_start[g + 1]]``.
    net, prior
        Sums over each group of the counts and of the prior's parameters.
    net_total, prior_total
        The two parts of A.
    each
        Number of groups that are shifted in a sweep; all, or so many drawn at random.
    pairs
        Two members of a grouped outcome in each row, one row of which is drawn in each sweep.
    """

    start: IntArray
    member: IntArray
    nest_start: IntArray
    nest: IntArray
    net: FloatArray
    prior: FloatArray
    net_total: float
    prior_total: float
    each: int
    pairs: IntArray


@internal
def shift_groups(
    bits: WordArray,
    problem: Any,
    shifts: Shifts | None,
    space: SplitSpace | None,
    wide: Wide,
    log_p: FloatArray,
) -> None:
    """Exchange a pair and shift groups, all with the posterior of a wide problem as invariant.

    Parameters
    ----------
    bits
        Generator.
    problem, shifts
        The posterior, a wide `Problem` or `Weighted`, and its groups; nothing is done where
        `shifts` is None.
    space
        Scratch of grouped outcomes, or None.
    wide
        As in a `Problem`; nothing is done, nor compiled, where it is None.
    log_p
        Logarithms of the probabilities, replaced.
    """
    if wide is None:  # `shifts` may then be something else
        return
    if shifts is None:
        return
    n, groups = len(log_p), len(shifts.net)
    assigned, inside = np.zeros(n), np.zeros(n, np.bool_)
    if space is not None:
        _exchange(bits, problem, shifts.pairs, log_p)
        split_groups(bits, problem, log_p, space, assigned)
    weight, ratio = np.empty(len(problem.waits) + 1), np.empty(len(problem.waits) + 1)
    for k in range(shifts.each):
        g = k if shifts.each == groups else _below(bits, groups)
        members = shifts.member[shifts.start[g] : shifts.start[g + 1]]
        for i in members:
            inside[i] = True
        s = _draw_shift(bits, problem, shifts, g, assigned, inside, log_p, weight, ratio)
        for i in members:
            inside[i] = False
            log_p[i] += s
        normalise(log_p, True)


@internal
def _below(bits: WordArray, n: int) -> int:
    """Draw a whole number below n; the bias, n / 2^53, is far below any Monte Carlo error."""
    return int(np.int64(next_word(bits) >> np.uint64(11)) % n)


@internal
def _draw_shift(
    bits: WordArray,
    problem: Problem | Weighted,
    shifts: Shifts,
    g: int,
    assigned: FloatArray,
    inside: BoolArray,
    log_p: FloatArray,
    weight: FloatArray,
    ratio: FloatArray,
) -> float:
    """Draw s of group g, whose members are marked in `inside`; the last two are scratch."""
    net = shifts.net[g]
    for i in shifts.member[shifts.start[g] : shifts.start[g + 1]]:
        net += assigned[i]
    prior, prior_total = shifts.prior[g], shifts.prior_total
    weights = weights_of(problem)
    met, within = _sort_sets(problem, weights, shifts, g, inside, log_p, weight, ratio)
    net -= within
    up, down = shifts.net_total - net + prior_total - prior, net + prior
    for q in range(1, met):  # the first is the set of all
        up += weight[q]
    if not (up > 0.0 and down > 0.0):
        return 0.0
    weight[0] = shifts.net_total
    depth = exponential(bits)
    low, high = float(-2.0 * depth / down), float(2.0 * depth / up)
    while _height(low, net, prior, prior_total, met, weight, ratio) > -depth:
        low *= 2.0
    while _height(high, net, prior, prior_total, met, weight, ratio) > -depth:
        high *= 2.0
    while True:
        s = low + uniform(bits) * (high - low)
        if _height(s, net, prior, prior_total, met, weight, ratio) >= -depth:
            return s
        if s < 0.0:
            low = s
        else:
            high = s


@internal
def _height(
    s: float,
    net: float,
    prior: float,
    prior_total: float,
    met: int,
    weight: FloatArray,
    ratio: FloatArray,
) -> float:
    """Compute f(s) - f(0).  Terms linear in s are collected as a slope, which keeps the prior.

    ``weight[q]`` is m_t and ``ratio[q]`` is log p(S_t - G) - log p(S_t ∩ G), of the sets that
    meet G and its complement; the first is the set of all.
    """
    rest = 0.0
    for q in range(met):
        r = ratio[q]
        change = math.log1p(math.exp(-abs(s - r))) - math.log1p(math.exp(-abs(r)))
        if s >= r and r <= 0.0:  # G has more than half of the set, before and after
            net -= weight[q]
            if q == 0:
                prior -= prior_total
        else:
            change += max(s, r) - max(r, 0.0)
        rest -= (weight[q] + prior_total if q == 0 else weight[q]) * change
    return s * (net + prior) + rest


@internal
def _sort_sets(
    problem: Any,
    weights: FloatArray | None,
    shifts: Shifts,
    g: int,
    inside: BoolArray,
    log_p: FloatArray,
    weight: FloatArray,
    ratio: FloatArray,
) -> tuple[int, float]:
    """Compute weights and ratios of the sets that meet G and its complement.

    Returns their number, the set of all as the first among them, and the sum of m_t over the sets
    within G.
    """
    members, set_start, set_end = problem.members, problem.set_start, problem.set_end
    own, other = -np.inf, -np.inf
    for i in range(len(log_p)):
        if inside[i]:
            own = plus(own, log_p[i], True)
        else:
            other = plus(other, log_p[i], True)
    ratio[0] = other - own
    met, within = 1, 0.0
    for k in shifts.nest[shifts.nest_start[g] : shifts.nest_start[g + 1]]:
        here, there, start = -np.inf, -np.inf, problem.nest_start[k]
        for t in range(set_start[k], set_start[k + 1]):
            for position in range(start, set_end[t]):
                i = members[position]
                term = weighed(log_p[i], weights, position, True)
                if inside[i]:
                    here = plus(here, term, True)
                else:
                    there = plus(there, term, True)
            start = set_end[t]
            if problem.waits[t] == 0.0:
                continue
            a, b = here, there
            if problem.complement[k]:
                a, b = minus(own, here, True), minus(other, there, True)
                if cancelled(a, own, True):
                    a = _sum_unlisted(problem, k, set_end[t], inside, True, log_p)
                if cancelled(b, other, True):
                    b = _sum_unlisted(problem, k, set_end[t], inside, False, log_p)
            if a > -np.inf and b > -np.inf:
                weight[met], ratio[met] = problem.waits[t], b - a
                met += 1
            elif a > -np.inf:
                within += problem.waits[t]
    return met, within


def _sum_unlisted(
    problem: Any, k: int, end: int, inside: BoolArray, wanted: bool, log_p: FloatArray
) -> float:
    """Add up the categories, inside G or outside, that nest k does not list before `end`."""
    chosen = _no_complement if isinstance(problem, Weighted) else _over_unlisted
    return chosen(problem, k, end, inside, wanted, log_p)


def _no_complement(
    problem: Any, k: int, end: int, inside: BoolArray, wanted: bool, log_p: FloatArray
) -> float:
    """Return log 0: no set of a problem with weights is a complement, so this is never called."""
    return -np.inf


def _over_unlisted(
    problem: Any, k: int, end: int, inside: BoolArray, wanted: bool, log_p: FloatArray
) -> float:
    total = -np.inf
    for i in range(len(log_p)):
        if inside[i] != wanted:
            continue
        low, high = problem.listed_start[i], problem.listed_start[i + 1]
        while low < high:  # bisect for k among the nests that list i
            middle = (low + high) // 2
            if problem.listed_nest[middle] < k:
                low = middle + 1
            else:
                high = middle
        listed = low < problem.listed_start[i + 1] and problem.listed_nest[low] == k
        if not (listed and problem.listed_position[low] < end):
            total = plus(total, log_p[i], True)
    return total


@internal
def _exchange(
    bits: WordArray, problem: Problem | Weighted, pairs: IntArray, log_p: FloatArray
) -> None:
    """Propose to exchange the probabilities of a random pair."""
    if len(pairs) == 0:
        return
    row = _below(bits, len(pairs))
    i, j = pairs[row, 0], pairs[row, 1]
    before, after = np.empty(len(problem.waits)), np.empty(len(problem.waits))
    set_sums(problem, log_p, before)
    log_p[i], log_p[j] = log_p[j], log_p[i]
    set_sums(problem, log_p, after)
    gain = (problem.shape[i] - problem.shape[j]) * (log_p[i] - log_p[j])
    for t in range(len(before)):
        gain += (problem.groups[t] - problem.waits[t]) * (after[t] - before[t])
    if not math.log(uniform(bits)) < gain:
        log_p[i], log_p[j] = log_p[j], log_p[i]


compile_by_type(_sum_unlisted, {Weighted: _no_complement}, _over_unlisted)
