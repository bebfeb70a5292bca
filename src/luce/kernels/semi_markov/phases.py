"""Backward messages where durations are negative binomial with whole r, in linear time.

D - 1 counts the rows that follow the first one before the r-th stop, each row being followed by
another with probability q.  With F_s(m) the message of a segment that covers the row before s and
has m stops to come,

    F_s(0) = B_s(j),     F_s(m) = (1 - q) F_s(m - 1) + q e^{ℓ_s(j)} F_{s+1}(m)
    B*_s(j) = e^{ℓ_s(j)} F_{s+1}(r)

after the last row F is 1, or (1 - q)^m where the last segment ends with that row.  There is no
longest duration.  The scale of a row is the largest F; where numbers underflow, the row is computed
by logarithms.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.semi_markov.codes import code_of, log_of
from luce.kernels.semi_markov.messages import Messages, log_product, log_sum

# Numbers below this share of the largest of their row may have lost terms to underflow.
_LEAST_SHARE = 1e-200


class Phases(NamedTuple):
    """Negative binomial laws of the durations of all states.

    Attributes
    ----------
    stops
        r of each state.
    go_on
        q of each state, as 1 - q and q lose digits: logarithms of both, shape (2, states), log q
        first.
    complete
        Does the last segment end with the last row?
    """

    stops: IntArray
    go_on: FloatArray
    complete: bool


@compiled
def count_phases(
    log_likelihood: FloatArray,
    borders: IntArray,
    may_end: BoolArray,
    rows: FloatArray,
    phases: Phases,
    out: Messages,
) -> None:
    """Fill the messages of all sequences; arguments as those of `convolve`."""
    log_likelihood, phases, out = borrowed(log_likelihood), borrowed(phases), borrowed(out)
    n_states, most = len(phases.stops), phases.stops.max()
    columns, log_rows = np.ascontiguousarray(rows.T), np.log(rows)
    go_on, stop = np.exp(phases.go_on[0]), np.exp(phases.go_on[1])
    ahead, now = np.empty((most + 1, n_states)), np.empty((most + 1, n_states))
    fit = np.empty(n_states)
    for k in range(len(borders) - 1):
        first, last = borders[k], borders[k + 1] - 1
        for m in range(most + 1):
            for j in range(n_states):
                ahead[m, j] = code_of(m * phases.go_on[1, j]) if phases.complete else 1.0
        out.after[last] = 1.0
        for s in range(last, first - 1, -1):
            out.lift[s], out.step[s] = 0.0, 0.0
            starts = s == first or len(may_end) == 0 or may_end[s - 1]
            safe = True
            for j in range(n_states):
                fit[j] = math.exp(log_likelihood[s, j])
                code = ahead[phases.stops[j], j]
                begin = fit[j] * code
                if begin < _LEAST_SHARE or code < 0.0:
                    safe = False
                    begin = code_of(log_likelihood[s, j] + log_of(code))
                out.begin[s, j] = begin
            if s == first:
                break
            if safe:
                top = _scaled_row(starts, columns, go_on, stop, fit, ahead, now, out.begin[s])
                safe = top > 0.0
                if safe:
                    out.step[s] = math.log(top)
            if not safe:
                log_fit = log_likelihood[s]
                top = _logarithmic_row(
                    starts, columns, log_rows, phases.go_on, log_fit, ahead, now, out.begin[s]
                )
                out.step[s] = top
            for j in range(n_states):
                out.after[s - 1, j] = now[0, j]
            ahead, now = now, ahead


@internal
def _scaled_row(
    starts: bool,
    columns: FloatArray,
    go_on: FloatArray,
    stop: FloatArray,
    fit: FloatArray,
    ahead: FloatArray,
    now: FloatArray,
    begin: FloatArray,
) -> float:
    """Fill F of one row, divided by its largest entry, which is returned; 0 for an underflow."""
    most, n_states = len(now) - 1, now.shape[1]
    for i in range(n_states):
        now[0, i] = 0.0
    if starts:
        for j in range(n_states):
            for i in range(n_states):
                now[0, i] += columns[j, i] * begin[j]
    top, least = 0.0, np.inf
    for i in range(n_states):
        top = max(top, now[0, i])
        if starts:
            least = min(least, now[0, i])
    for m in range(1, most + 1):
        for j in range(n_states):
            new = stop[j] * now[m - 1, j] + go_on[j] * (fit[j] * max(ahead[m, j], 0.0))
            now[m, j] = new
            top, least = max(top, new), min(least, new)
    if not least >= _LEAST_SHARE * top or not top > _LEAST_SHARE:
        return 0.0
    inverse = 1.0 / top
    for m in range(most + 1):
        for j in range(n_states):
            now[m, j] *= inverse
    return top


@internal
def _logarithmic_row(
    starts: bool,
    columns: FloatArray,
    log_rows: FloatArray,
    logs: FloatArray,
    log_fit: FloatArray,
    ahead: FloatArray,
    now: FloatArray,
    begin: FloatArray,
) -> float:
    """Fill codes of F of one row relative to its largest entry, whose logarithm is returned."""
    most, n_states = len(now) - 1, now.shape[1]
    top = -np.inf
    now[0] = 0.0
    for i in range(n_states):
        if starts and begin[i] > 0.0:
            for j in range(n_states):
                now[0, j] += columns[i, j] * begin[i]
    for j in range(n_states):
        if now[0, j] >= _LEAST_SHARE:
            now[0, j] = math.log(now[0, j])
        else:
            now[0, j] = log_product(log_rows[j], begin) if starts else -np.inf
        top = max(top, now[0, j])
        for m in range(1, most + 1):
            further = logs[0, j] + log_fit[j] + log_of(ahead[m, j])
            now[m, j] = log_sum(logs[1, j] + now[m - 1, j], further)
            top = max(top, now[m, j])
    if top == -np.inf:
        now[:] = 0.0
        return 0.0
    for m in range(most + 1):
        for j in range(n_states):
            now[m, j] = code_of(now[m, j] - top)
    return top
