"""Backward messages of a hidden semi-Markov model by scaled convolution.

    B*_s(j) = Σ_d p_j(d) e^{ℓ_s(j) + ... + ℓ_{s+d-1}(j)} B_{s+d}(j)    a segment begins at s
    B_s(i)  = Σ_j A_ij B*_s(j)                                        one ended before s

Messages are kept relative to a scale of their row, B_s = e^{N_s} b_s.  With

    x_s(j) = Σ_{u>s} (step_u - ℓ_{u-1}(j)) - ℓ_{last}(j),     step_s = N_s - N_{s+1}

and w_s(j) = b_{s+1}(j) e^{x_s(j) + ℓ_s(j)}, a message is e^{-x_s(j)} Σ_d p_j(d) w_{s+d-1}(j): a
plain convolution, and one exponential for each row and state.  x and w of a state are moved by a
common offset whenever w would leave the range of doubles.  An entry whose sum has underflowed is
computed again by logarithms, and so is an entry of B_s; `luce.kernels.semi_markov.codes` stores
such entries.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.jit import borrowed, compiled, internal, reordered
from luce.kernels.semi_markov.codes import code_of, log_of

# Range of x whose exponential is taken.
_LEAST_X, _LARGEST_X = -300.0, 700.0

# Largest |log| of new entries of a window.
_WIDEST = 300.0

# New entries of a window that need no scaling: e^-300 and e^300 but for a margin.
_LEAST_NEW, _LARGEST_NEW = 1e-130, 1e130

# Entries of a window that are scaled below this are dropped.
_LEAST_KEPT = 1e-300

# Sums below this may have lost terms to underflow; terms that were lost are below 1e-300, or below
# 1e-170 where probabilities of durations are: those are 0 as numbers, and entries reach 1e130.
_LEAST_SUM, _LEAST_SUM_OF_SMALL = 1e-280, 1e-156

_LEAST_NORMAL = 2.2250738585072014e-308  # smallest double with all its digits

# Messages that are stored as they are.
_LEAST_NUMBER, _LARGEST_NUMBER = 1e-260, 1e100

# Products of rows with messages below this are computed again by logarithms.
_LEAST_PRODUCT = 1e-230

# Rows whose sums are taken at once.
_AT_ONCE = 4

# Rows that are added in front of a window before it is moved back, at least.
_ROOM = 64


class Durations(NamedTuple):
    """Laws of the durations of all states, for lengths 1 to M.

    Attributes
    ----------
    p, log_p
        Shape (states, M): P(D = d), not normalised over 1 to M.
    survival, log_survival
        Shape (states, M): P(D > d) where the last segment of a sequence may go on after its last
        row; 0 where it ends with it.
    """

    p: FloatArray
    log_p: FloatArray
    survival: FloatArray
    log_survival: FloatArray


class Messages(NamedTuple):
    """Buffers of messages, for each row of the series.

    Attributes
    ----------
    begin
        Shape (rows, states): codes of B* of a segment that begins at this row, relative to
        exp(N + lift), N the scale of `after` of the same row.
    after
        Shape (rows, states): codes of B after a segment that ends with this row; the scale of the
        last row of a sequence is 0.
    step
        Shape (rows,): scale of the row before, less that of this row.
    lift
        Shape (rows,): see `begin`.
    """

    begin: FloatArray
    after: FloatArray
    step: FloatArray
    lift: FloatArray


@compiled
def subtract_peaks(log_likelihood: FloatArray) -> float:
    """Subtract the largest entry from each row, and return the sum of these."""
    total, lost = 0.0, 0.0
    for t in range(len(log_likelihood)):
        peak = -np.inf
        for j in range(log_likelihood.shape[1]):
            peak = max(peak, log_likelihood[t, j])
        if not math.isinf(peak):
            for j in range(log_likelihood.shape[1]):
                log_likelihood[t, j] -= peak
        # Neumaier's sum: rounding does not grow with the length of the series.
        new = total + peak
        lost += (total - new) + peak if abs(total) >= abs(peak) else (peak - new) + total
        total = new
    return float(total + lost if math.isfinite(total) else total)


@compiled
def convolve(
    log_likelihood: FloatArray,
    borders: IntArray,
    may_end: BoolArray,
    rows: FloatArray,
    durations: Durations,
    out: Messages,
) -> None:
    """Fill the messages of all sequences.

    Parameters
    ----------
    log_likelihood
        ℓ, shape (rows, states), the largest entry of each row being 0.
    borders
        First row of each sequence, and the number of rows.
    may_end
        Shape (rows,): rows with which a segment may end; no entries where all rows are such.
    rows
        A, shape (states, states).
    durations
        Laws of the durations.
    out
        Receives the messages.
    """
    log_likelihood, durations, out = borrowed(log_likelihood), borrowed(durations), borrowed(out)
    n_states, longest = durations.p.shape
    width = longest + max(longest, _ROOM) + 5  # not a power of 2, which would crowd the cache
    window, parts = np.empty((n_states, width)), np.empty((n_states, _AT_ONCE))
    p = np.zeros((n_states, longest + _AT_ONCE))
    for j in range(n_states):
        for d in range(longest):
            p[j, d] = durations.p[j, d]
    columns, log_rows = transpose(rows), logarithms(rows)
    x, sums, powers = np.empty(n_states), np.empty(n_states), np.empty(n_states)
    least = _least_sums(durations)
    kept = np.empty(n_states, np.int64)  # entries of the window of a state; later ones are 0
    for k in range(len(borders) - 1):
        first, last = borders[k], borders[k + 1] - 1
        head = width - longest
        for j in range(n_states):
            for m in range(width):
                window[j, m] = 0.0
            window[j, head] = 1.0
            kept[j] = 1
            x[j] = -log_likelihood[last, j]
            out.after[last, j] = 1.0
        for s in range(last, first - 1, -1):
            starts = s == first or len(may_end) == 0 or may_end[s - 1]
            out.lift[s], out.step[s] = 0.0, 0.0
            # Of rows that follow each other, sums over what is known are taken together.
            place = (last - s) % _AT_ONCE if len(may_end) == 0 else 0
            if starts:
                if place == 0:
                    _sum_known(p, window, head, kept, parts)
                _complete_sums(p, window, head, place, parts, sums)
                _message(
                    s, last, head, log_likelihood, durations, least, window, x, powers, sums, out
                )
            if s == first:
                break
            if starts:
                out.step[s] = multiply_rows(columns, log_rows, out, s, sums)
            else:
                for j in range(n_states):
                    out.after[s - 1, j] = 0.0
            if head == 0:
                head = width - longest
                for j in range(n_states):
                    for m in range(longest):
                        window[j, head + m] = window[j, m]
            head -= 1
            for j in range(n_states):
                kept[j] = min(kept[j] + 1, longest)
                new = sums[j] * powers[j] if starts else 0.0
                if starts and not (_LEAST_NEW < new < _LARGEST_NEW and out.lift[s] == 0.0):
                    now = x[j] + out.step[s]
                    log_new = log_of(out.after[s - 1, j]) + now
                    new = _rescale(
                        p,
                        window,
                        parts,
                        kept,
                        j,
                        head,
                        place,
                        s,
                        last,
                        log_likelihood,
                        x,
                        log_new,
                        out,
                    )
                window[j, head] = new
                x[j] += out.step[s] - log_likelihood[s - 1, j]


@internal
def _least_sums(durations: Durations) -> FloatArray:
    """Return the sum of each state from which on no term that matters was lost."""
    n_states, longest = durations.p.shape
    least = np.full(n_states, _LEAST_SUM)
    for j in range(n_states):
        for d in range(longest):
            small = durations.p[j, d] < _LEAST_NORMAL and durations.log_p[j, d] > -np.inf
            left = durations.survival[j, d] < _LEAST_NORMAL
            if small or (left and durations.log_survival[j, d] > -np.inf):
                least[j] = _LEAST_SUM_OF_SMALL
    return least


@internal
def _sum_known(
    p: FloatArray, window: FloatArray, head: int, kept: IntArray, parts: FloatArray
) -> None:
    """Sum the terms of this row and the ones before it that belong to known messages."""
    for j in range(len(p)):
        parts[j, 0], parts[j, 1], parts[j, 2], parts[j, 3] = _four_sums(p, window, j, head, kept[j])


@reordered
def _four_sums(
    p: FloatArray, window: FloatArray, j: int, head: int, kept: int
) -> tuple[float, float, float, float]:
    """Sum products of the window of a state with its probabilities, and with these moved on."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(kept):
        w = window[j, head + k]
        a += p[j, k] * w
        b += p[j, k + 1] * w
        c += p[j, k + 2] * w
        d += p[j, k + 3] * w
    return a, b, c, d


@internal
def _complete_sums(
    p: FloatArray, window: FloatArray, head: int, place: int, parts: FloatArray, sums: FloatArray
) -> None:
    """Add the terms of the messages that became known after the first row of the group."""
    for j in range(len(p)):
        total = parts[j, place]
        for k in range(place):
            total += p[j, k] * window[j, head + k]
        sums[j] = total


@internal
def _message(
    s: int,
    last: int,
    head: int,
    log_likelihood: FloatArray,
    durations: Durations,
    least: FloatArray,
    window: FloatArray,
    x: FloatArray,
    powers: FloatArray,
    sums: FloatArray,
    out: Messages,
) -> None:
    """Fill B* of one row from its sums, and e^x of each state, 0 where x is out of range."""
    n_states, longest = durations.p.shape
    left = last + 1 - s
    outside, inside, largest = False, False, -np.inf
    for j in range(n_states):
        total = sums[j]
        if left <= longest:
            total += durations.survival[j, left - 1] * window[j, head + left - 1]
        power = math.exp(x[j]) if _LEAST_X <= x[j] <= _LARGEST_X else 0.0
        powers[j] = power
        number = total / power if power > 0.0 else 0.0
        if total >= least[j] and _LEAST_NUMBER <= number < _LARGEST_NUMBER:
            out.begin[s, j] = number
            inside = True
            continue
        if total >= least[j]:
            sums[j] = math.log(total) - x[j]
        else:
            sums[j] = _log_message(s, last, j, log_likelihood, durations, out)
        out.begin[s, j] = np.nan  # until the whole row is known
        outside, largest = True, max(largest, sums[j])
    if outside:
        # A row is lifted only where its numbers leave the range that is stored as it is.
        low, high = math.log(_LEAST_NUMBER), math.log(_LARGEST_NUMBER)
        fits = largest < high and (inside or largest > low)
        out.lift[s] = _store_logarithms(out.begin[s], sums, not fits)


@internal
def _store_logarithms(begin: FloatArray, logarithms: FloatArray, lifts: bool) -> float:
    """Replace entries that are nan by codes of their logarithms; return the lift of the row."""
    lift = -np.inf
    if lifts:
        for j in range(len(begin)):
            if not np.isnan(begin[j]):
                logarithms[j] = math.log(begin[j])
                begin[j] = np.nan
            lift = max(lift, logarithms[j])
    if lift == -np.inf:
        lift = 0.0
    for j in range(len(begin)):
        if np.isnan(begin[j]):
            begin[j] = code_of(logarithms[j] - lift)
    return lift


@internal
def _rescale(
    p: FloatArray,
    window: FloatArray,
    parts: FloatArray,
    kept: IntArray,
    j: int,
    head: int,
    place: int,
    s: int,
    last: int,
    log_likelihood: FloatArray,
    x: FloatArray,
    log_new: float,
    out: Messages,
) -> float:
    """Scale the window of a state, and its x, so that a new entry fits; return the new entry."""
    shift = 0.0
    if log_new > _WIDEST:
        shift = -log_new - _WIDEST  # entries of states that fit badly grow further
    elif -np.inf < log_new < -_WIDEST:
        top = 0.0
        for k in range(head + 1, head + kept[j]):
            top = max(top, window[j, k])
        if top < math.exp(-_WIDEST):
            # Scaling up would scale up what was lost to underflow.
            return _restore(
                p, window, parts, kept, j, head, place, s, last, log_likelihood, x, log_new, out
            )
    if shift != 0.0:
        half, left = math.exp(0.5 * shift), 1  # the factor itself may have lost digits
        for k in range(1, kept[j]):
            scaled = window[j, head + k] * half * half
            if scaled < _LEAST_KEPT:
                scaled = 0.0
            else:
                left = k + 1
            window[j, head + k] = scaled
        kept[j] = left
        for k in range(_AT_ONCE):
            parts[j, k] = parts[j, k] * half * half
        x[j] += shift
    return float(np.exp(log_new + shift))


@internal
def _restore(
    p: FloatArray,
    window: FloatArray,
    parts: FloatArray,
    kept: IntArray,
    j: int,
    head: int,
    place: int,
    s: int,
    last: int,
    log_likelihood: FloatArray,
    x: FloatArray,
    log_new: float,
    out: Messages,
) -> float:
    """Form the window of a state again by logarithms, its largest entry being 1.

    Sums over what is known, for rows to come before the next are taken, are formed again too.
    Returns the new entry.
    """
    longest, peak, ahead = p.shape[1] - _AT_ONCE, log_new, x[j]
    known = min(longest - 1, last + 1 - s)
    for k in range(known):
        row = s + k
        window[j, head + 1 + k] = log_of(out.after[row, j]) + ahead + log_likelihood[row, j]
        peak = max(peak, window[j, head + 1 + k])
        if row < last:
            ahead += log_likelihood[row, j] - out.step[row + 1]
    for k in range(longest - 1):
        window[j, head + 1 + k] = math.exp(window[j, head + 1 + k] - peak) if k < known else 0.0
    for m in range(place + 1, _AT_ONCE):
        parts[j, m] = 0.0
        for k in range(longest - m):
            parts[j, m] += p[j, k + m] * window[j, head + place + 1 + k]
    x[j] -= peak
    kept[j] = longest
    return math.exp(log_new - peak)


@internal
def _log_message(
    s: int,
    last: int,
    j: int,
    log_likelihood: FloatArray,
    durations: Durations,
    out: Messages,
) -> float:
    """Compute log B*_s(j) by logarithms, relative to the scale of `after` of row s."""
    longest = durations.p.shape[1]
    top, total, inside = -np.inf, 0.0, 0.0
    for d in range(1, min(longest, last + 1 - s) + 1):
        row = s + d - 1
        inside += log_likelihood[row, j] - (out.step[row] if d > 1 else 0.0)
        log_p = durations.log_p[j, d - 1]
        if row == last:
            log_p = log_sum(log_p, durations.log_survival[j, d - 1])
        term = log_p + inside + log_of(out.after[row, j])
        if term > top:
            total = total * math.exp(top - term) + 1.0 if total > 0.0 else 1.0
            top = term
        elif term > -np.inf:
            total += math.exp(term - top)
    return top + math.log(total) if total > 0.0 else -np.inf


@internal
def multiply_rows(
    columns: FloatArray, log_rows: FloatArray, out: Messages, s: int, sums: FloatArray
) -> float:
    """Fill B of the row before s from B* of row s; return the new step.

    `sums` receives A B*, not scaled; 0 where it may have underflowed.  Such an entry is computed by
    logarithms, with the maximum over log A_ij + log B*_s(j): that over B* alone may be of j = i.
    """
    n_states = len(columns)
    for i in range(n_states):
        sums[i] = 0.0
    for j in range(n_states):
        code = out.begin[s, j]
        if code > 0.0:
            for i in range(n_states):
                sums[i] += columns[j, i] * code
    top, least = 0.0, np.inf
    for i in range(n_states):
        top, least = max(top, sums[i]), min(least, sums[i])
    if least < _LEAST_PRODUCT or least < _LEAST_NUMBER * top:
        return _multiply_logs(log_rows, out, s, sums)
    inverse = 1.0 / top
    for i in range(n_states):
        out.after[s - 1, i] = sums[i] * inverse
    return float(math.log(top) + out.lift[s])


@internal
def _multiply_logs(log_rows: FloatArray, out: Messages, s: int, sums: FloatArray) -> float:
    """Fill B of the row before s, small entries by logarithms; return the new step."""
    n_states, top = len(log_rows), -np.inf
    after = out.after[s - 1]
    for i in range(n_states):
        if sums[i] >= _LEAST_PRODUCT:
            after[i] = math.log(sums[i])
        else:
            sums[i] = 0.0
            after[i] = log_product(log_rows[i], out.begin[s])
        top = max(top, after[i])
    if top == -np.inf:
        for i in range(n_states):
            after[i] = 0.0
        return 0.0
    for i in range(n_states):
        after[i] = code_of(after[i] - top)
    return float(top + out.lift[s])


@internal
def log_product(log_row: FloatArray, codes: FloatArray) -> float:
    """Compute log Σ_j exp(log_row_j) × number_j."""
    top = -np.inf
    for j in range(len(codes)):
        top = max(top, log_row[j] + log_of(codes[j]))
    if top == -np.inf:
        return -np.inf
    total = 0.0
    for j in range(len(codes)):
        total += math.exp(log_row[j] + log_of(codes[j]) - top)
    return float(top + math.log(total))


@internal
def transpose(rows: FloatArray) -> FloatArray:
    """Copy a square matrix so that its columns are contiguous."""
    columns = np.empty_like(rows)
    for i in range(len(rows)):
        for j in range(len(rows)):
            columns[j, i] = rows[i, j]
    return columns


@internal
def logarithms(rows: FloatArray) -> FloatArray:
    """Compute the logarithms of probabilities."""
    logs = np.empty_like(rows)
    for i in range(len(rows)):
        for j in range(len(rows)):
            logs[i, j] = log_of(rows[i, j])
    return logs


@internal
def log_sum(a: float, b: float) -> float:
    """Compute log(exp a + exp b)."""
    top, least = max(a, b), min(a, b)
    return top + math.log1p(math.exp(least - top)) if top > -np.inf else -np.inf


@compiled
def log_evidence(borders: IntArray, initial: FloatArray, messages: Messages) -> float:
    """Compute Σ log Σ_j π0(j) B*(j) over the sequences, from filled messages."""
    total, lost = 0.0, 0.0
    log_initial = np.empty_like(initial)
    for j in range(len(initial)):
        log_initial[j] = log_of(initial[j])
    for k in range(len(borders) - 1):
        first, last = borders[k], borders[k + 1] - 1
        for s in range(first, last + 1):
            term = messages.step[s] if s > first else 0.0
            if s == first:
                term = messages.lift[s] + log_product(log_initial, messages.begin[s])
            new = total + term
            lost += (total - new) + term if abs(total) >= abs(term) else (term - new) + total
            total = new
    return float(total + lost if math.isfinite(total) else total)
