"""Forward sampling of segments, given backward messages.

The state of the first segment is drawn from π0(j) B*(j), later ones from A_ij B*_s(j); the duration
d in proportion to p_j(d) e^{ℓ_s(j) + ... + ℓ_{s+d-1}(j)} B_{s+d}(j).  A segment that reaches
the last row of its sequence ends with it or goes on after it: that is one case.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.random import uniform
from luce.kernels.semi_markov.codes import log_of, number_of
from luce.kernels.semi_markov.messages import Messages

# Sums of weights below this are formed again by logarithms.
_LEAST_SUM = 1e-230


class Segments(NamedTuple):
    """Buffers of segments, one entry for each, in the order of the rows.

    Attributes
    ----------
    start
        First row.
    length
        Number of rows.
    state
        State.
    """

    start: IntArray
    length: IntArray
    state: IntArray


class DurationLaw(NamedTuple):
    """Logarithms of duration probabilities: a table, or negative binomial laws without limit.

    Attributes
    ----------
    log_p, log_survival
        Shape (states, M), as in `luce.kernels.semi_markov.messages.Durations`; M = 0 for the
        negative binomial laws.
    stops, go_on
        As in `luce.kernels.semi_markov.phases.Phases`; no entries for a table.
    """

    log_p: FloatArray
    log_survival: FloatArray
    stops: IntArray
    go_on: FloatArray


@compiled
def draw_segments(
    bits: WordArray,
    log_likelihood: FloatArray,
    borders: IntArray,
    initial: FloatArray,
    rows: FloatArray,
    law: DurationLaw,
    messages: Messages,
    out: Segments,
) -> int:
    """Draw the segments of all sequences; return their number, -1 where none are possible.

    Parameters
    ----------
    bits
        Generator.
    log_likelihood
        As for the messages.
    borders
        First row of each sequence, and the number of rows.
    initial, rows
        π0 and A.
    law
        Laws of the durations, those of the messages.
    messages
        Filled messages.
    out
        Receives the segments.
    """
    log_likelihood, law, messages = borrowed(log_likelihood), borrowed(law), borrowed(messages)
    out = borrowed(out)
    weights, count = np.empty(len(initial)), 0
    for k in range(len(borders) - 1):
        s, last = borders[k], borders[k + 1] - 1
        here = -1
        while s <= last:
            given = initial if here < 0 else rows[here]
            here = _draw_state(bits, given, messages.begin[s], weights)
            if here < 0:
                return -1
            length = _draw_length(bits, s, last, here, log_likelihood, law, messages)
            if length == 0:
                return -1
            out.start[count], out.length[count], out.state[count] = s, length, here
            count += 1
            s += length
    return count


@internal
def _draw_state(bits: WordArray, given: FloatArray, begin: FloatArray, weights: FloatArray) -> int:
    """Draw a state with probability in proportion to given_j B*_j; -1 where all are 0."""
    total, top = 0.0, -np.inf
    for j in range(len(given)):
        weights[j] = given[j] * number_of(begin[j])
        total += weights[j]
    if total < _LEAST_SUM:
        for j in range(len(given)):
            weights[j] = log_of(given[j]) + log_of(begin[j])
            top = max(top, weights[j])
        if top == -np.inf:
            return -1
        total = 0.0
        for j in range(len(given)):
            weights[j] = math.exp(weights[j] - top)
            total += weights[j]
    left, found = uniform(bits) * total, -1
    for j in range(len(given)):
        if weights[j] > 0.0:
            found = j
            left -= weights[j]
            if left <= 0.0:
                break
    return found


@internal
def _draw_length(
    bits: WordArray,
    s: int,
    last: int,
    j: int,
    log_likelihood: FloatArray,
    law: DurationLaw,
    messages: Messages,
) -> int:
    """Draw the duration of a segment of state j that begins at row s; 0 where none is possible.

    Rounding may leave a rest after the last possible duration, which is returned then.
    """
    limited = law.log_p.shape[1] > 0
    log_total = log_of(messages.begin[s, j]) + messages.lift[s]
    log_p = 0.0 if limited else law.stops[j] * law.go_on[1, j]
    inside, left, found = 0.0, uniform(bits), 0
    most = min(last + 1 - s, law.log_p.shape[1]) if limited else last + 1 - s
    for d in range(1, most + 1):
        row = s + d - 1
        inside += log_likelihood[row, j]
        if d > 1:
            inside -= messages.step[row]
        if limited:
            log_p = law.log_p[j, d - 1]
        elif d > 1:
            log_p += law.go_on[0, j] + math.log((d - 2 + law.stops[j]) / (d - 1))
        if row == last:
            # What is left is this case, if it has any probability at all.
            if not limited or max(log_p, law.log_survival[j, d - 1]) > -np.inf:
                return d
            break
        weight = math.exp(min(log_p + inside + log_of(messages.after[row, j]) - log_total, 0.0))
        if weight > 0.0:
            found = d
            left -= weight
            if left <= 0.0:
                return d
    return found


@compiled
def write_labels(segments: Segments, count: int, labels: IntArray) -> None:
    """Write the state of each row."""
    for k in range(count):
        for t in range(segments.start[k], segments.start[k] + segments.length[k]):
            labels[t] = segments.state[k]
