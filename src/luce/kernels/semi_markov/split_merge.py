"""Split and merge moves of states, with whole segments as items and their borders fixed.

Sweeps re-segment freely, but cannot merge two states that mean the same.  A move picks two
segments.  If they have one state, the segments of that state are split: the second one picked gets
a state that is not in use, and all others choose between the two in a random order, in proportion
to the density of their rows and durations given those already there.  If they have two states, all
segments of both get the state of the first (Dahl 2005).  The target is

    p(states | borders, β, α, y)

with rows of A, parameters of emissions and of durations integrated out.  A renormalised Dirichlet
being Dirichlet, with F_i the states that cannot follow i,

    log p(n | β, α) = Σ_i [ lnΓ(α β(not F_i)) - lnΓ(α β(not F_i) + n_i)
                            + Σ_j (lnΓ(α β_j + n_ij) - lnΓ(α β_j)) ]

With q the probability of the choices that lead to the split states, and U the number of states not
in use before the move, a split is accepted with probability min(1, ratio × U / q), a merge with
min(1, ratio × q / (U + 1)).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.random import uniform
from luce.kernels.semi_markov.codes import log_of
from luce.kernels.semi_markov.marginal import log_marginal
from luce.kernels.semi_markov.messages import log_sum


class Ties(NamedTuple):
    """Law of the states of segments, rows of A being integrated out.

    Attributes
    ----------
    shape
        α β.
    forbidden
        Shape (states, states): whether j cannot follow i.
    first
        Shape of the Dirichlet that first states are drawn from, where it is integrated out; else
        their probabilities.
    first_known
        Are these probabilities?
    is_first
        Shape (segments,): is this the first segment of its sequence?
    """

    shape: FloatArray
    forbidden: BoolArray
    first: FloatArray
    first_known: bool
    is_first: BoolArray


@compiled
def split_and_merge(
    bits: WordArray,
    moves: int,
    law: Ties,
    emission: Any,
    emission_sums: FloatArray,
    duration: Any,
    duration_sums: FloatArray,
    states: IntArray,
) -> int:
    """Make moves, and return the number that was accepted.

    Parameters
    ----------
    bits
        Generator.
    moves
        Number of moves.
    law
        Law of the states of segments.
    emission, duration
        Priors of the parameters, as `log_marginal` takes them.
    emission_sums, duration_sums
        Shape (segments, ...): additive statistics of the rows and of the duration of each segment.
    states
        State of each segment; replaced.
    """
    law, emission, duration = borrowed(law), borrowed(emission), borrowed(duration)
    n, n_states = len(states), len(law.shape)
    if n < 2:
        return 0
    accepted = 0
    order, sides, proposed = np.empty(n, np.int64), np.empty(n, np.bool_), np.empty_like(states)
    used, table = np.empty(n_states, np.int64), np.empty((n_states, n_states))
    # Sums of the segments that are on the first side, on the second, and of a candidate.
    rows = np.empty((3, emission_sums.shape[1])), np.empty((3, duration_sums.shape[1]))
    before = log_law(law, states, n, law.is_first, table)
    for _ in range(moves):
        one = int(uniform(bits) * n) % n
        two = int(uniform(bits) * (n - 1)) % (n - 1)
        two += two >= one
        here, there = states[one], states[two]
        unused = count_unused(states, n, used)
        splits = here == there
        if splits:
            if unused == 0:
                continue
            there = choose_unused(bits, used, unused)
        elif _are_neighbours(law, states, here, there):
            continue
        members = _members_in_random_order(bits, states, one, two, here, there, order)
        for m in range(members):
            sides[m] = states[order[m]] == there
        log_q, gain = _allocate(
            bits,
            not splits,
            one,
            two,
            order,
            members,
            sides,
            emission,
            emission_sums,
            rows[0],
            duration,
            duration_sums,
            rows[1],
        )
        for c in range(n):
            proposed[c] = states[c]
        proposed[one], proposed[two] = here, there if splits else here
        for m in range(members):
            proposed[order[m]] = there if splits and sides[m] else here
        after = log_law(law, proposed, n, law.is_first, table)
        if splits:
            log_ratio = after - before + gain + math.log(unused) - log_q
        else:
            log_ratio = after - before - gain + log_q - math.log(unused + 1.0)
        if math.log(uniform(bits)) <= log_ratio:
            for c in range(n):
                states[c] = proposed[c]
            before = after
            accepted += 1
    return accepted


@internal
def count_unused(states: IntArray, count: int, used: IntArray) -> int:
    """Count the segments of each state; return the number of states without any.

    `states` has those of `count` segments, and may have room for more.
    """
    for j in range(len(used)):
        used[j] = 0
    for c in range(count):
        used[states[c]] += 1
    unused = 0
    for j in range(len(used)):
        unused += used[j] == 0
    return unused


@internal
def choose_unused(bits: WordArray, used: IntArray, unused: int) -> int:
    """Choose one of the states without segments, each with the same probability."""
    left = int(uniform(bits) * unused) % unused
    for j in range(len(used)):
        if used[j] == 0:
            if left == 0:
                return j
            left -= 1
    return -1


@internal
def _are_neighbours(law: Ties, states: IntArray, here: int, there: int) -> bool:
    """Does a segment of one of two states follow one of the other?"""
    for c in range(1, len(states)):
        if not law.is_first[c]:
            a, b = states[c - 1], states[c]
            if (a == here and b == there) or (a == there and b == here):
                return True
    return False


@internal
def _members_in_random_order(
    bits: WordArray, states: IntArray, one: int, two: int, here: int, there: int, order: IntArray
) -> int:
    """List the other segments of both states in random order; return their number."""
    members = 0
    for c in range(len(states)):
        if c != one and c != two and (states[c] == here or states[c] == there):
            order[members] = c
            members += 1
    for m in range(members - 1, 0, -1):
        k = int(uniform(bits) * (m + 1)) % (m + 1)
        order[m], order[k] = order[k], order[m]
    return members


@internal
def _allocate(
    bits: WordArray,
    given: bool,
    one: int,
    two: int,
    order: IntArray,
    members: int,
    sides: BoolArray,
    emission: Any,
    emission_sums: FloatArray,
    rows: FloatArray,
    duration: Any,
    duration_sums: FloatArray,
    spans: FloatArray,
) -> tuple[float, float]:
    """Let segments choose a side one after another, or follow the sides that are given.

    Returns the log probability of the choices, and the gain: the log density of both sides less
    that of all segments as one.
    """
    for side in range(2):
        picked = two if side == 1 else one
        put_row(rows, side, emission_sums, picked)
        put_row(spans, side, duration_sums, picked)
    left = _log_density(emission, rows, duration, spans, 0)
    right = _log_density(emission, rows, duration, spans, 1)
    log_q = 0.0
    for m in range(members):
        c = order[m]
        put_sum(rows, 2, rows, 0, emission_sums, c)
        put_sum(spans, 2, spans, 0, duration_sums, c)
        new_left = _log_density(emission, rows, duration, spans, 2)
        put_sum(rows, 2, rows, 1, emission_sums, c)
        put_sum(spans, 2, spans, 1, duration_sums, c)
        new_right = _log_density(emission, rows, duration, spans, 2)
        log_odds = (new_right - right) - (new_left - left)  # of the second side
        if not given:
            sides[m] = math.log(uniform(bits)) <= -log_sum(0.0, -log_odds)
        side = int(sides[m])
        log_q -= log_sum(0.0, -log_odds if sides[m] else log_odds)
        if sides[m]:
            right = new_right
        else:
            left = new_left
        put_sum(rows, side, rows, side, emission_sums, c)
        put_sum(spans, side, spans, side, duration_sums, c)
    put_sum(rows, 2, rows, 0, rows, 1)
    put_sum(spans, 2, spans, 0, spans, 1)
    whole = _log_density(emission, rows, duration, spans, 2)
    return log_q, left + right - whole


@internal
def _log_density(
    emission: Any, rows: FloatArray, duration: Any, spans: FloatArray, k: int
) -> float:
    """Compute the log density of what the k-th rows of statistics sum up."""
    return log_marginal(emission, rows[k]) + log_marginal(duration, spans[k])


@internal
def put_row(target: FloatArray, k: int, source: FloatArray, i: int) -> None:
    """Copy a row into row k of another array."""
    for m in range(target.shape[1]):
        target[k, m] = source[i, m]


@internal
def put_sum(target: FloatArray, k: int, one: FloatArray, i: int, other: FloatArray, j: int) -> None:
    """Write the sum of two rows into row k of an array."""
    for m in range(target.shape[1]):
        target[k, m] = one[i, m] + other[j, m]


@internal
def log_law(
    law: Ties, states: IntArray, count: int, is_first: BoolArray, counts: FloatArray
) -> float:
    """Compute the log probability of the states of all segments; -inf for a forbidden one.

    `states` has those of `count` segments, and may have room for more; `is_first` tells the first
    segments of sequences; `counts` is room for a table of transitions.
    """
    n_states = len(law.shape)
    firsts, total = np.zeros(n_states), 0.0
    for i in range(n_states):
        for j in range(n_states):
            counts[i, j] = 0.0
    for c in range(count):
        if is_first[c]:
            firsts[states[c]] += 1.0
        else:
            counts[states[c - 1], states[c]] += 1.0
    for i in range(n_states):
        allowed, seen = 0.0, 0.0
        for j in range(n_states):
            if not law.forbidden[i, j]:
                allowed += law.shape[j]
            if counts[i, j] > 0.0:
                if law.forbidden[i, j]:
                    return -np.inf
                seen += counts[i, j]
                total += math.lgamma(law.shape[j] + counts[i, j]) - math.lgamma(law.shape[j])
        if seen > 0.0:
            total += math.lgamma(allowed) - math.lgamma(allowed + seen)
    for j in range(n_states):
        if firsts[j] > 0.0:
            if law.first_known:
                total += firsts[j] * log_of(law.first[j])
            else:
                total += math.lgamma(law.first[j] + firsts[j]) - math.lgamma(law.first[j])
    return total
