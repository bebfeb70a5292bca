"""Laws of durations: tables of probabilities, draws of unseen ends, posterior draws, marginals.

Poisson and negative binomial laws of K = D - 1 have P(K = k + 1) / P(K = k) = (a k + b) / (k + 1):

    Poisson(λ)                   a = 0,  b = λ,        P(K = 0) = e^-λ
    negative binomial (r, q)     a = q,  b = q r,      P(K = 0) = (1 - q)^r

so that one table serves both.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import compile_by_type, compiled, internal
from luce.kernels.random import exponential, gamma, log_gamma, poisson, uniform
from luce.kernels.restaurant_tables import draw_tables
from luce.kernels.semi_markov.messages import Durations, log_sum
from luce.kernels.semi_markov.segments import Segments

# Tails below this are summed from their first term, larger ones are what the others leave of 1.
_LARGE_TAIL = 0.01

# Terms of a tail below this share of their sum end it.
_NEGLIGIBLE = 1e-17

# Whole numbers are drawn until one is large enough where that has at least this probability.
_LIKELY = 0.1

_LEAST_RATE = 1e-300  # smallest rate of a Poisson law; its logarithm is still a double
_MOST = 1e15  # longest duration that is drawn; it stands for all longer ones


class Ratios(NamedTuple):
    """Laws of K = D - 1 by ratios of successive probabilities, one entry for each state.

    Attributes
    ----------
    log_first
        log P(K = 0).
    a, b
        P(K = k + 1) / P(K = k) = (a k + b) / (k + 1).
    """

    log_first: FloatArray
    a: FloatArray
    b: FloatArray


@compiled
def fill_table(ratios: Ratios, censored: bool, out: Durations) -> None:
    """Fill probabilities, and survival where the last segment may go on after the last row."""
    n_states, longest = out.p.shape
    for j in range(n_states):
        log_p, total = ratios.log_first[j], 0.0
        for d in range(longest):
            out.log_p[j, d], out.p[j, d] = log_p, math.exp(log_p)
            total += out.p[j, d]
            log_p += np.log((ratios.a[j] * d + ratios.b[j]) / (d + 1))
        out.survival[j], out.log_survival[j] = 0.0, -np.inf
        if censored:
            beyond = 1.0 - total
            log_beyond = math.log(beyond) if beyond > 0.0 else -np.inf
            if beyond < _LARGE_TAIL:
                log_beyond = _log_tail(ratios.a[j], ratios.b[j], longest, log_p)
            for d in range(longest - 1, -1, -1):
                out.log_survival[j, d], out.survival[j, d] = log_beyond, math.exp(log_beyond)
                log_beyond = log_sum(log_beyond, out.log_p[j, d])


@internal
def _log_tail(a: float, b: float, k: float, log_p: float) -> float:
    """Compute log P(K >= k), given log P(K = k), for a k in the upper tail."""
    if log_p == -np.inf:
        return log_p
    total, term = 0.0, 1.0
    while term > _NEGLIGIBLE * total:
        total += term
        term *= (a * k + b) / (k + 1.0)
        k += 1.0
    return log_p + math.log(total)


@compiled
def fill_histogram(probabilities: FloatArray, censored: bool, out: Durations) -> None:
    """Fill the table of laws that are given entry by entry."""
    out.p[:] = probabilities
    out.log_p[:] = np.log(probabilities)
    out.survival[:], out.log_survival[:] = 0.0, -np.inf
    if censored:
        for j in range(len(probabilities)):
            beyond = 0.0
            for d in range(probabilities.shape[1] - 1, -1, -1):
                out.survival[j, d], out.log_survival[j, d] = beyond, np.log(beyond)
                beyond += probabilities[j, d]


@compiled
def extend_last(
    bits: WordArray,
    ratios: Ratios,
    shape: FloatArray,
    odds: FloatArray,
    segments: Segments,
    count: int,
    borders: IntArray,
    lengths: IntArray,
) -> None:
    """Fill the durations of all segments, that of each last one drawn given how much was seen.

    Parameters
    ----------
    bits
        Generator.
    ratios
        Laws of K = D - 1.
    shape, odds
        K is Poisson with mean odds × G, G ~ Gamma(shape); a shape of 0 stands for G = 1.
    segments, count
        Segments as seen, and their number.
    borders
        First row of each sequence, and the number of rows.
    lengths
        Receives the durations.
    """
    k = 1
    for c in range(count):
        lengths[c] = segments.length[c]
        if segments.start[c] + segments.length[c] == borders[k]:
            j = segments.state[c]
            least = segments.length[c] - 1.0
            lengths[c] = 1 + int(
                _at_least(
                    bits, ratios.log_first[j], ratios.a[j], ratios.b[j], shape[j], odds[j], least
                )
            )
            k += 1


@internal
def _at_least(
    bits: WordArray, log_first: float, a: float, b: float, shape: float, odds: float, least: float
) -> float:
    """Draw K given K >= least."""
    if shape == 1.0:  # geometric: the rest does not depend on how much was seen
        return min(least + np.floor(exponential(bits) / -math.log(a)), _MOST) if a > 0.0 else least
    below, log_p = 0.0, log_first
    k = 0.0
    while k < least:
        below += math.exp(log_p)
        log_p += np.log((a * k + b) / (k + 1.0))
        k += 1.0
    if below < 1.0 - _LIKELY:
        while True:
            mean = odds * gamma(bits, shape) if shape > 0.0 else odds
            drawn = poisson(bits, mean)
            if drawn >= least:
                return min(drawn, _MOST)
    total, term, k = 0.0, 1.0, least
    while term > _NEGLIGIBLE * total:
        total += term
        term *= (a * k + b) / (k + 1.0)
        k += 1.0
    left, term, k = uniform(bits) * total, 1.0, least
    while True:
        left -= term
        if left <= 0.0 or term <= 0.0:
            return k
        term *= (a * k + b) / (k + 1.0)
        k += 1.0


@compiled
def extend_last_by_table(
    bits: WordArray,
    probabilities: FloatArray,
    segments: Segments,
    count: int,
    borders: IntArray,
    lengths: IntArray,
) -> None:
    """Fill the durations of all segments as `extend_last` does, by probabilities of each length."""
    k = 1
    for c in range(count):
        lengths[c] = segments.length[c]
        if segments.start[c] + segments.length[c] == borders[k]:
            law = probabilities[segments.state[c]]
            total = 0.0
            for d in range(segments.length[c] - 1, len(law)):
                total += law[d]
            left = uniform(bits) * total
            for d in range(segments.length[c] - 1, len(law)):
                left -= law[d]
                if law[d] > 0.0:
                    lengths[c] = d + 1
                if left <= 0.0:
                    break
            k += 1


# -- Poisson ---------------------------------------------------------------------------------------


class PoissonPrior(NamedTuple):
    """K ~ Poisson(λ), λ ~ Gamma(shape, rate)."""

    shape: float
    rate: float


@compiled
def poisson_statistics(
    prior: PoissonPrior, lengths: IntArray, groups: IntArray, out: FloatArray
) -> None:
    """Add number, Σ k and -Σ log k! of the durations of each group."""
    for c in range(len(lengths)):
        if groups[c] >= 0:
            _add_poisson(prior, lengths[c], out[groups[c]])


@internal
def _add_poisson(prior: PoissonPrior, length: int, row: FloatArray) -> None:
    k = length - 1.0
    row[0] += 1.0
    row[1] += k
    row[2] -= math.lgamma(k + 1.0)


@compiled
def draw_rates(bits: WordArray, prior: PoissonPrior, sums: FloatArray, rates: FloatArray) -> None:
    """Draw λ of each state given its statistics."""
    for j in range(len(sums)):
        shape = prior.shape + sums[j, 1]
        rates[j] = max(gamma(bits, shape) / (prior.rate + sums[j, 0]), _LEAST_RATE)


@internal
def poisson_marginal(prior: PoissonPrior, row: FloatArray) -> float:
    """Compute the log probability of durations, λ being integrated out."""
    a, b = prior.shape, prior.rate
    return float(
        a * math.log(b)
        - math.lgamma(a)
        + math.lgamma(a + row[1])
        - (a + row[1]) * math.log(b + row[0])
        + row[2]
    )


# -- negative binomial -----------------------------------------------------------------------------


class NegativeBinomialPrior(NamedTuple):
    """K ~ NB(r, q), r among whole numbers with given probabilities, q | r ~ Beta(a_r, b).

    Attributes
    ----------
    stops
        Values of r.
    log_weight
        Logarithms of their probabilities.
    a
        a_r for each value of r.
    b
        b.
    """

    stops: IntArray
    log_weight: FloatArray
    a: FloatArray
    b: float


@compiled
def negative_binomial_statistics(
    prior: NegativeBinomialPrior, lengths: IntArray, groups: IntArray, out: FloatArray
) -> None:
    """Add number, Σ k and Σ log C(k + r - 1, k) for each r, of the durations of each group."""
    for c in range(len(lengths)):
        if groups[c] >= 0:
            _add_negative_binomial(prior, lengths[c], out[groups[c]])


@internal
def _add_negative_binomial(prior: NegativeBinomialPrior, length: int, row: FloatArray) -> None:
    k = length - 1.0
    row[0] += 1.0
    row[1] += k
    for m in range(len(prior.stops)):
        r = float(prior.stops[m])
        row[2 + m] += math.lgamma(k + r) - math.lgamma(k + 1.0) - math.lgamma(r)


@internal
def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@internal
def _log_weight(prior: NegativeBinomialPrior, row: FloatArray, m: int) -> float:
    """Compute the log probability of r and of durations, q being integrated out."""
    a = prior.a[m]
    new = _log_beta(a + row[1], prior.b + row[0] * prior.stops[m])
    return float(prior.log_weight[m] + row[2 + m] + new - _log_beta(a, prior.b))


@internal
def negative_binomial_marginal(prior: NegativeBinomialPrior, row: FloatArray) -> float:
    """Compute the log probability of durations, r and q being integrated out."""
    total = -np.inf
    for m in range(len(prior.stops)):
        total = log_sum(total, _log_weight(prior, row, m))
    return total


@compiled
def draw_negative_binomials(
    bits: WordArray,
    prior: NegativeBinomialPrior,
    sums: FloatArray,
    stops: FloatArray,
    go_on: FloatArray,
) -> None:
    """Draw r, and log q and log(1 - q), of each state given its statistics."""
    for j in range(len(sums)):
        total, chosen = -np.inf, 0
        for m in range(len(prior.stops)):
            log_weight = _log_weight(prior, sums[j], m)
            total = log_sum(total, log_weight)
            # One pass: each value replaces the one before with its share of what was seen so far.
            if uniform(bits) <= math.exp(log_weight - total):
                chosen = m
        r = float(prior.stops[chosen])
        stops[j] = r
        draw_log_beta(bits, prior.a[chosen] + sums[j, 1], prior.b + sums[j, 0] * r, go_on, j)


@internal
def draw_log_beta(bits: WordArray, a: float, b: float, out: FloatArray, j: int) -> None:
    """Draw q ~ Beta(a, b), and write log q and log(1 - q)."""
    x, y = log_gamma(bits, a), log_gamma(bits, b)
    total = log_sum(x, y)
    out[0, j], out[1, j] = x - total, y - total


@compiled
def draw_real_negative_binomials(
    bits: WordArray,
    prior: FloatArray,
    lengths: IntArray,
    states: IntArray,
    stops: FloatArray,
    go_on: FloatArray,
) -> None:
    """Draw real r given q and durations, by numbers of tables, then q given r.

    `prior` holds shape and rate of r's gamma, then a and b of q's beta distribution.
    """
    n_states = len(stops)
    tables, number, total = np.zeros(n_states), np.zeros(n_states), np.zeros(n_states)
    for c in range(len(lengths)):
        j = states[c]
        k = lengths[c] - 1.0
        number[j] += 1.0
        total[j] += k
        if k > 0.0:
            tables[j] += draw_tables(bits, k, 0.0, stops[j])
    for j in range(n_states):
        rate = prior[1] - number[j] * go_on[1, j]
        stops[j] = max(gamma(bits, prior[0] + tables[j]) / rate, _LEAST_RATE)
        draw_log_beta(bits, prior[2] + total[j], prior[3] + number[j] * stops[j], go_on, j)


# -- histogram -------------------------------------------------------------------------------------


class HistogramPrior(NamedTuple):
    """P(D = d) ~ Dirichlet(concentration)."""

    concentration: FloatArray


@compiled
def histogram_statistics(
    prior: HistogramPrior, lengths: IntArray, groups: IntArray, out: FloatArray
) -> None:
    """Count the durations of each group."""
    for c in range(len(lengths)):
        if groups[c] >= 0:
            _add_to_histogram(prior, lengths[c], out[groups[c]])


@internal
def _add_to_histogram(prior: HistogramPrior, length: int, row: FloatArray) -> None:
    row[length - 1] += 1.0


@compiled
def draw_histograms(
    bits: WordArray, prior: HistogramPrior, sums: FloatArray, probabilities: FloatArray
) -> None:
    """Draw the probabilities of each state's durations given their counts."""
    n_states, longest = sums.shape
    for j in range(n_states):
        top = -np.inf
        for d in range(longest):
            shape = prior.concentration[d] + sums[j, d]
            probabilities[j, d] = log_gamma(bits, shape) if shape > 0.0 else -np.inf
            top = max(top, probabilities[j, d])
        total = 0.0
        for d in range(longest):
            probabilities[j, d] = math.exp(probabilities[j, d] - top)
            total += probabilities[j, d]
        for d in range(longest):
            probabilities[j, d] /= total


@internal
def histogram_marginal(prior: HistogramPrior, row: FloatArray) -> float:
    """Compute the log probability of durations, their probabilities being integrated out."""
    total, whole, seen = 0.0, 0.0, 0.0
    for d in range(len(row)):
        whole += prior.concentration[d]
        seen += row[d]
        if row[d] > 0.0:
            a = prior.concentration[d]
            if a == 0.0:
                return -np.inf
            total += math.lgamma(a + row[d]) - math.lgamma(a)
    return float(total + math.lgamma(whole) - math.lgamma(whole + seen))


# -- any law ---------------------------------------------------------------------------------------


def add_duration(prior: Any, length: int, row: FloatArray) -> None:
    """Add a duration to a row of statistics.

    Compiled code takes the function of the prior's type, and compiles no other.
    """
    _ADDITIONS[type(prior)](prior, length, row)


def _to_poisson(prior: PoissonPrior, length: int, row: FloatArray) -> None:
    _add_poisson(prior, length, row)


def _to_negative_binomial(prior: NegativeBinomialPrior, length: int, row: FloatArray) -> None:
    _add_negative_binomial(prior, length, row)


def _to_histogram(prior: HistogramPrior, length: int, row: FloatArray) -> None:
    _add_to_histogram(prior, length, row)


_ADDITIONS: dict[type, Callable[..., None]] = {
    PoissonPrior: _to_poisson,
    NegativeBinomialPrior: _to_negative_binomial,
    HistogramPrior: _to_histogram,
}
compile_by_type(add_duration, _ADDITIONS, _to_poisson)
