"""Births and deaths of states: a stretch of rows gets a state of its own, or gives it up.

A sweep draws the parameters of a state without rows from the prior, which in several channels never
fits anything; so states are born by these moves.  A birth picks a window of rows, from 1 to W of
them, within a segment but not all of it, and gives it a state that is not in use.  A death picks a
segment, of at most W rows, that is the only one of its state, and gives its rows to a neighbour: to
both at once where these have one state.  The target is that of `split_merge`, with borders that
change:

    p(states of all rows | β, α, y)

parameters and rows of A being integrated out.  With T rows, U states not in use before a birth, S
segments that may die after it, and k ways in which the new one may, a birth is accepted with
probability min(1, ratio × T W U / (S k)), and a death with the inverse of that.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.random import uniform
from luce.kernels.semi_markov.durations import add_duration
from luce.kernels.semi_markov.marginal import log_marginal
from luce.kernels.semi_markov.split_merge import (
    Ties,
    choose_unused,
    count_unused,
    log_law,
    put_row,
    put_sum,
)


class Pieces(NamedTuple):
    """Segments that may be cut and joined, in arrays with room for more.

    Attributes
    ----------
    start, seen
        First row, and number of rows of the series.
    length
        Duration, rows after the end of the series included.
    state
        State.
    is_first, is_last
        Is this the first, the last segment of its sequence?
    """

    start: IntArray
    seen: IntArray
    length: IntArray
    state: IntArray
    is_first: BoolArray
    is_last: BoolArray


class Limits(NamedTuple):
    """Limits of segments and windows.

    Attributes
    ----------
    rows
        Number T of rows.
    widest
        Largest number W of rows in a window.
    longest
        Largest number of rows in a segment; 0 for no limit.
    longest_duration
        Largest duration; 0 for no limit.
    """

    rows: int
    widest: int
    longest: int
    longest_duration: int


@compiled
def draw_windows(bits: WordArray, limits: Limits, may_end: BoolArray, windows: IntArray) -> None:
    """Draw windows, independent of each other; one whose borders are no candidates has no rows."""
    for k in range(len(windows)):
        first = int(uniform(bits) * limits.rows) % limits.rows
        width = 1 + int(uniform(bits) * limits.widest) % limits.widest
        end = first + width
        usable = end <= limits.rows
        if usable and len(may_end) > 0:
            usable = (first == 0 or may_end[first - 1]) and may_end[end - 1]
        windows[k, 0], windows[k, 1] = first, end if usable else first


@compiled
def number_rows(windows: IntArray, numbered: BoolArray, groups: IntArray) -> int:
    """Number the rows of windows that share none, and return how many windows are left.

    `numbered` tells the windows whose turn was before; those numbered now are added.  All windows
    get their turn: a birth would be rarer than its probability says if windows were left out.
    """
    for t in range(len(groups)):
        groups[t] = -1
    left = 0
    for k in range(len(windows)):
        if numbered[k]:
            continue
        free = True
        for t in range(windows[k, 0], windows[k, 1]):
            free = free and groups[t] < 0
        if free:
            for t in range(windows[k, 0], windows[k, 1]):
                groups[t] = k
            numbered[k] = True
        else:
            left += 1
    return left


@compiled
def bear_and_bury(
    bits: WordArray,
    limits: Limits,
    law: Ties,
    emission: Any,
    windows: IntArray,
    window_sums: FloatArray,
    state_sums: FloatArray,
    duration: Any,
    duration_sums: FloatArray,
    pieces: Pieces,
    count: int,
) -> tuple[int, int, int]:
    """Try each window for a birth or, half of the times, a death instead.

    Parameters
    ----------
    bits
        Generator.
    limits
        Limits of segments and windows.
    law
        Law of the states of segments.
    emission, duration
        Priors of the parameters, as `log_marginal` takes them.
    windows, window_sums
        First row and end of each window, and statistics of its rows.
    state_sums, duration_sums
        Statistics of the rows, and of the durations, of each state; replaced.
    pieces, count
        Segments and their number; replaced.

    Returns
    -------
    count, proposed, accepted
    """
    law, emission, duration = borrowed(law), borrowed(emission), borrowed(duration)
    pieces, limits = borrowed(pieces), borrowed(limits)
    n_states = len(law.shape)
    used, table = np.empty(n_states, np.int64), np.empty((n_states, n_states))
    # Statistics of the old state, of the new one, and of both.
    rows = np.empty((3, state_sums.shape[1]))
    spans = np.empty((2, duration_sums.shape[1]))
    proposed, accepted = 0, 0
    before = log_law(law, pieces.state, count, pieces.is_first, table)
    for k in range(len(windows)):
        birth = uniform(bits) <= 0.5
        unused = count_unused(pieces.state, count, used)
        if birth:
            c = _segment_of(pieces, count, windows[k, 0])
            first, end = windows[k, 0], windows[k, 1]
            stays = pieces.seen[c] - (end - first)
            inside = first >= pieces.start[c] and end <= pieces.start[c] + pieces.seen[c]
            if unused == 0 or end == first or not inside or stays == 0:
                continue
            old, new = pieces.state[c], choose_unused(bits, used, unused)
            put_row(rows, 1, window_sums, k)
            put_row(rows, 2, state_sums, old)
            for m in range(rows.shape[1]):
                rows[0, m] = rows[2, m] - rows[1, m]
            more = _cut(pieces, count, c, first, end, new)
        else:
            c = _choose_single(bits, limits, pieces, count, used)
            if c < 0:
                continue
            ways = _ways_to_die(pieces, count, c)
            if ways == 0:
                continue
            to_left = _dies_leftwards(bits, pieces, c, ways)
            singles = _count_singles(limits, pieces, count, used)
            new = pieces.state[c]
            old = pieces.state[c - 1] if to_left else pieces.state[c + 1]
            first, end = pieces.start[c], pieces.start[c] + pieces.seen[c]
            put_row(rows, 0, state_sums, old)
            put_row(rows, 1, state_sums, new)
            put_sum(rows, 2, rows, 0, rows, 1)
            both = not pieces.is_first[c] and not pieces.is_last[c]
            both = both and pieces.state[c - 1] == pieces.state[c + 1]
            if not _fits(limits, pieces, c, to_left, both):
                continue
            more = -_join(pieces, count, c, to_left, both)
        proposed += 1
        # Both directions in terms of the state with one segment more or less.
        after = log_law(law, pieces.state, count + more, pieces.is_first, table)
        apart = _log_density(emission, rows, 0) + _log_density(emission, rows, 1)
        together = _log_density(emission, rows, 2)
        _sum_durations(duration, pieces, count + more, old, new, spans)
        lasting = _log_density(duration, spans, 0) + _log_density(duration, spans, 1)
        lasted = _log_density(duration, duration_sums, old)
        lasted += _log_density(duration, duration_sums, new)
        if birth:
            count_unused(pieces.state, count + more, used)
            singles = _count_singles(limits, pieces, count + more, used)
            place = _segment_of(pieces, count + more, first)
            ways = _ways_to_die(pieces, count + more, place)
            gain = apart - together + math.log(unused)
        else:
            gain = together - apart - math.log(unused + 1.0)
        choices = math.log(limits.rows) + math.log(limits.widest) - math.log(singles * ways)
        log_ratio = after - before + lasting - lasted + gain + (choices if birth else -choices)
        if math.log(uniform(bits)) <= log_ratio:
            accepted += 1
            before = after
            count += more
            put_row(duration_sums, old, spans, 0)
            put_row(duration_sums, new, spans, 1)
            put_row(state_sums, old, rows, 0 if birth else 2)
            for m in range(rows.shape[1]):
                state_sums[new, m] = rows[1, m] if birth else 0.0
        elif birth:
            place = _segment_of(pieces, count + more, first)
            left = place > 0 and not pieces.is_first[place] and pieces.state[place - 1] == old
            _join(pieces, count + more, place, left, more == 2)
        else:
            c = _segment_of(pieces, count + more, first)
            _cut(pieces, count + more, c, first, end, new)
    return count, proposed, accepted


@internal
def _log_density(prior: Any, sums: FloatArray, k: int) -> float:
    """Compute the log density of what a row of statistics sums up."""
    return log_marginal(prior, sums[k])


@internal
def _segment_of(pieces: Pieces, count: int, row: int) -> int:
    """Find the segment that holds a row."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if pieces.start[middle] <= row:
            low = middle
        else:
            high = middle
    return low


@internal
def _cut(pieces: Pieces, count: int, c: int, first: int, end: int, state: int) -> int:
    """Give a window of a segment another state; return the number of segments that are added."""
    start, seen, length = pieces.start[c], pieces.seen[c], pieces.length[c]
    old, is_last = pieces.state[c], pieces.is_last[c]
    more = int(first > start) + int(end < start + seen)
    for k in range(count - 1, c, -1):
        _copy(pieces, k, k + more)
    at = c
    if first > start:
        pieces.seen[at] = pieces.length[at] = first - start
        pieces.is_last[at] = False
        at += 1
        pieces.is_first[at] = False
    pieces.start[at], pieces.state[at] = first, state
    pieces.seen[at] = end - first
    pieces.length[at] = length - (first - start)
    pieces.is_last[at] = is_last
    if end < start + seen:
        pieces.length[at] = end - first
        pieces.is_last[at] = False
        at += 1
        pieces.is_first[at], pieces.is_last[at] = False, is_last
        pieces.start[at], pieces.state[at] = end, old
        pieces.seen[at] = start + seen - end
        pieces.length[at] = length - (end - start)
    return more


@internal
def _join(pieces: Pieces, count: int, c: int, to_left: bool, both: bool) -> int:
    """Give the rows of a segment to its neighbours; return the number of segments less."""
    less = 2 if both else 1
    left = c - 1 if to_left or both else c
    last = left + less
    if left == c:
        pieces.state[c] = pieces.state[c + 1]
    for k in range(left + 1, last + 1):
        pieces.seen[left] += pieces.seen[k]
        pieces.length[left] += pieces.length[k]
    pieces.is_last[left] = pieces.is_last[last]
    for k in range(last + 1, count):
        _copy(pieces, k, k - less)
    return less


@internal
def _copy(pieces: Pieces, source: int, target: int) -> None:
    pieces.start[target], pieces.seen[target] = pieces.start[source], pieces.seen[source]
    pieces.length[target], pieces.state[target] = pieces.length[source], pieces.state[source]
    pieces.is_first[target] = pieces.is_first[source]
    pieces.is_last[target] = pieces.is_last[source]


@internal
def _fits(limits: Limits, pieces: Pieces, c: int, to_left: bool, both: bool) -> bool:
    """Is a segment, joined to its neighbours, as short as it must be?"""
    seen, length = pieces.seen[c], pieces.length[c]
    if to_left or both:
        seen += pieces.seen[c - 1]
        length += pieces.length[c - 1]
    if both or not to_left:
        seen += pieces.seen[c + 1]
        length += pieces.length[c + 1]
    short = limits.longest == 0 or seen <= limits.longest
    return short and (limits.longest_duration == 0 or length <= limits.longest_duration)


@internal
def _is_single(limits: Limits, pieces: Pieces, c: int, used: IntArray) -> bool:
    """Is a segment the only one of its state, and not wider than a window?"""
    return bool(used[pieces.state[c]] == 1 and pieces.seen[c] <= limits.widest)


@internal
def _count_singles(limits: Limits, pieces: Pieces, count: int, used: IntArray) -> int:
    """Count the segments that may die."""
    singles = 0
    for c in range(count):
        singles += _is_single(limits, pieces, c, used)
    return singles


@internal
def _choose_single(
    bits: WordArray, limits: Limits, pieces: Pieces, count: int, used: IntArray
) -> int:
    """Choose one of the segments that may die; -1 where there is none."""
    singles = _count_singles(limits, pieces, count, used)
    if singles == 0:
        return -1
    left = int(uniform(bits) * singles) % singles
    for c in range(count):
        if _is_single(limits, pieces, c, used):
            if left == 0:
                return c
            left -= 1
    return -1


@internal
def _ways_to_die(pieces: Pieces, count: int, c: int) -> int:
    """Count the ways in which the rows of a segment can be given to its neighbours."""
    if pieces.is_first[c] or pieces.is_last[c]:
        return int(not pieces.is_first[c]) + int(not pieces.is_last[c])
    return 1 if pieces.state[c - 1] == pieces.state[c + 1] else 2


@internal
def _dies_leftwards(bits: WordArray, pieces: Pieces, c: int, ways: int) -> bool:
    """Choose the neighbour that gets the rows."""
    if ways == 2:
        return uniform(bits) <= 0.5
    return not pieces.is_first[c]


@internal
def _sum_durations(
    duration: Any, pieces: Pieces, count: int, old: int, new: int, spans: FloatArray
) -> None:
    """Sum the statistics of the durations of two states up."""
    for m in range(spans.shape[1]):
        spans[0, m], spans[1, m] = 0.0, 0.0
    for c in range(count):
        if pieces.state[c] == old:
            add_duration(duration, pieces.length[c], spans[0])
        elif pieces.state[c] == new:
            add_duration(duration, pieces.length[c], spans[1])
