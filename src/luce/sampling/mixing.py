"""R-hat, effective sample size and Monte Carlo errors: how well chains mix.

The figures are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), as arviz-stats
computes them: chains are split in halves, and draws are replaced by normal scores of their ranks.
They are computed here because importing arviz-stats takes longer than most runs.

Arrays have the shape (variable, chain, draw).  The middle one of an odd number of draws belongs to
neither half.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray

# Lags up to which autocovariances are summed directly; Fourier transforms give the others.  First
# those up to a share of the chain are computed, which takes shorter transforms.
_DIRECT = (4, 6, 8, 12, 16)
_SHARE = 8

# Numbers that differ in their last bits only are sorted by themselves if these are few of all.
_MOST_MENDED = 0.05

# Ranges whose squares are well within doubles.
_ORDINARY = (1e-100, 1e100)

# Normal quantiles of these probabilities are -1 and 1.
_ONE_SD = (0.1586553, 0.8413447)


class Ranking(NamedTuple):
    """Draws of variables in rising order.

    `places` are those of the draws in the flat array that they came from, `rising` the draws; both
    have the shape (variable, draw of any chain).
    """

    places: IntArray
    rising: FloatArray


class Chains(NamedTuple):
    """Draws by their distance from the mean of their chain.

    `deviations` has the shape (variable, chain, draw), `means` (variable, chain), and `variances`,
    of shape (variable,), are the means over chains of variances, whose divisor is the draws.
    """

    deviations: FloatArray
    means: FloatArray
    variances: FloatArray


# -- ranks -----------------------------------------------------------------------------------------


def ranking(x: FloatArray) -> Ranking:
    """Sort each row of x, shape (variable, draw of any chain).

    Doubles are ordered as their bits are, read as whole numbers.  The last bits are replaced by the
    place in the row, so that plain sorting, several times as fast as `numpy.argsort`, moves the
    places along.  Rows in which numbers differ in the last bits only are mended afterwards.
    """
    rows, n = x.shape
    mask = (1 << (n - 1).bit_length()) - 1
    keys = (x + 0.0).view(np.int64)  # -0.0 becomes 0.0
    keys ^= (keys >> 63) & np.int64(np.iinfo(np.int64).max)  # so that negative numbers rise, too
    keys &= ~mask
    keys |= np.arange(n)
    keys.sort(axis=1)
    keys &= mask
    keys += n * np.arange(rows)[:, None]
    found = Ranking(keys, np.take(x, keys))
    for row in np.flatnonzero((found.rising[:, 1:] < found.rising[:, :-1]).any(axis=1)):
        _mend(x, found, int(row), mask)
    return found


def _mend(x: FloatArray, ranked: Ranking, row: int, mask: int) -> None:
    """Sort a row whose numbers are in order up to their last bits, which `mask` covers."""
    n = x.shape[1]
    places, rising = ranked.places[row], ranked.rising[row]
    bits = (rising + 0.0).view(np.int64)
    near = (bits[1:] ^ bits[:-1]) & ~mask == 0
    if np.count_nonzero(near) > _MOST_MENDED * n:
        places[:] = np.argsort(x[row]) + row * n
    else:
        members, run = members_of(*runs(near[None]))
        places[members] = places[members][np.lexsort((rising[members], run))]
    rising[:] = np.take(x, places)


def runs(joined: BoolArray) -> tuple[IntArray, IntArray]:
    """Find runs in rows of n places: the first and the last place of each in the flat array.

    `joined`, of shape (row, n - 1), marks the places that belong together with the next one.
    """
    at = np.flatnonzero(joined)
    at += at // max(1, joined.shape[1])
    starts = np.ones(len(at) + 1, np.bool_)
    starts[1:-1] = np.diff(at) != 1
    return at[starts[:-1]], at[starts[1:]] + 1


def members_of(first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """List all places of runs, and the number of the run of each."""
    lengths = last - first + 1
    run = np.repeat(np.arange(len(first)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(run)) + (first - before)[run], run


def flat(x: FloatArray) -> FloatArray:
    """Put the draws of all chains of (variable, chain, draw) into one row."""
    return x.reshape(len(x), -1)


def without_middles(ranked: Ranking, draws: int) -> Ranking:
    """Leave out the middle draw of each chain where there is one."""
    if draws % 2 == 0:
        return ranked
    kept = ranked.places % draws != draws // 2
    rows = len(ranked.places)
    return Ranking(*(one[kept].reshape(rows, -1) for one in ranked))


def scores(ranked: Ranking, shape: tuple[int, ...]) -> FloatArray:
    """Replace draws by normal scores of their ranks, equal ones by that of their mean rank.

    `shape` is that of the draws; draws that are not ranked have score 0.
    """
    places, rising = ranked
    n = rising.shape[1]
    found = np.empty(shape) if rising.size == np.prod(shape) else np.zeros(shape)
    one_row = found.reshape(-1)
    for own in places:
        one_row[own] = _scores_of_ranks(n)
    first, last = runs(rising[:, 1:] == rising[:, :-1])
    if len(first):
        members, run = members_of(first, last)
        rank = (first % n + last % n) / 2 + 1
        one_row[places.reshape(-1)[members]] = _blom(rank, n)[run]
    return found


@lru_cache(maxsize=1)
def _scores_of_ranks(n: int) -> FloatArray:
    """Compute the normal scores of the ranks 1 to n, which blocks of variables share."""
    return _blom(np.arange(1, n + 1), n)


def _blom(rank: FloatArray | IntArray, n: int) -> FloatArray:
    """Compute normal scores of ranks among n (Blom 1958)."""
    from scipy.special import ndtri

    return np.asarray(ndtri((rank - 3 / 8) / (n + 1 / 4)))


def quantiles(rising: FloatArray, probs: tuple[float, ...]) -> FloatArray:
    """Compute quantiles of sorted rows, shape (probability, row), as `numpy.quantile` does."""
    found = np.empty((len(probs), len(rising)))
    for row, prob in zip(found, probs, strict=True):
        place = (rising.shape[1] - 1) * prob
        low = int(place)
        a, b = rising[:, low], rising[:, min(low + 1, rising.shape[1] - 1)]
        share = place - low
        row[:] = a + (b - a) * share if share < 0.5 else b - (b - a) * (1 - share)
    return found


# -- figures ---------------------------------------------------------------------------------------


def halves(x: FloatArray) -> FloatArray:
    """Split each chain in halves, without the middle one of an odd number of draws."""
    rows, chains, draws = x.shape
    if draws % 2 == 0:
        return x.reshape(rows, 2 * chains, draws // 2)
    half = draws // 2
    return np.concatenate([x[:, :, :half], x[:, :, half + 1 :]], axis=1)


def chains_of(x: FloatArray) -> Chains:
    """Centre the draws of each chain."""
    means = x.mean(axis=2)
    deviations = x - means[:, :, None]
    variances = np.vecdot(deviations, deviations).mean(axis=1) / x.shape[2]
    return Chains(deviations, means, variances)


def normal_scores(ranked: Ranking, shape: tuple[int, ...]) -> Chains:
    """Replace draws by normal scores of their ranks, in halves of chains.

    `shape` is that of the draws: (variable, chain, draw), at least 2 draws.
    """
    return chains_of(halves(scores(without_middles(ranked, shape[2]), shape)))


def folded_scores(ranked: Ranking, shape: tuple[int, ...]) -> Chains:
    """Replace draws by normal scores of |x - median|, in halves of chains: unequal spreads show."""
    places, rising = without_middles(ranked, shape[2])
    middle = rising.shape[1] // 2
    median = (rising[:, [middle - 1]] + rising[:, [middle]]) / 2
    far = ranking(np.abs(rising - median))
    return chains_of(halves(scores(Ranking(np.take(places, far.places), far.rising), shape)))


def larger_rhat(scores: Chains, folded: Chains) -> FloatArray:
    """Compute R-hat of ranks and of ranks of |x - median|, the larger of both."""
    bulk, spread = rhat(scores), rhat(folded)
    return np.where(spread > bulk, spread, bulk)


def rhat(x: Chains) -> FloatArray:
    """Compute R-hat of chains as they are.

    With W the mean variance within chains of n draws, and B the variance of their means,
    R-hat² = (n - 1) / n + B / W.
    """
    n = x.deviations.shape[2]
    between = x.means.var(axis=1, ddof=1)
    # R-hat of chains that stand still in different places is infinite; nan where nothing varies.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) / n + between / x.variances * ((n - 1) / n)))


def effective_sizes(x: Chains) -> FloatArray:
    """Compute effective sample sizes of means of chains as they are.

        ESS = M n / (1 + 2 sum of autocorrelations)     of M chains of n draws,

    the sum cut where pairs of autocorrelations stop being positive and decreasing (Geyer 1992).
    As arviz-stats does, all draws count where none varies; chains of fewer than 5 draws have no
    such pairs, and the largest size that is possible.
    """
    rows, m, n = x.deviations.shape
    apart = x.means.var(axis=1, ddof=1) if m > 1 else np.zeros(rows)
    varies = (x.variances > 0) | (apart > 0)
    times = np.zeros(rows)
    left = np.flatnonzero(varies)
    deviations = x.deviations if varies.all() else x.deviations[left]
    covariance = np.empty((0, len(left)))
    stages = _lags(n)
    for lags in stages:
        covariance = _more_covariances(covariance, deviations, lags)
        time, known = _correlation_times(covariance, apart[left], n, lags == stages[-1])
        times[left[known]] = time[known]
        if known.all():
            break
        if known.any():
            left, deviations, covariance = left[~known], deviations[~known], covariance[:, ~known]
    sizes = m * n / np.maximum(times, 1 / np.log10(m * n))
    return np.where(varies, sizes, float(m * n))


def sizes_by_neighbours(x: Chains) -> FloatArray:
    """Compute effective sample sizes from the correlation of neighbouring draws alone.

    For chains of fewer than 5 draws, whose other correlations are unknown.
    """
    rows, m, n = x.deviations.shape
    if n < 2:
        return np.full(rows, float(m * n))
    apart = x.means.var(axis=1, ddof=1) if m > 1 else np.zeros(rows)
    same, next_ = _more_covariances(np.empty((0, rows)), x.deviations, 2)
    total = same + apart
    lacking = np.divide(same * n / (n - 1) - next_, total, out=np.ones(rows), where=total > 0)
    return np.asarray(m * n / np.maximum(1 + 2 * (1 - lacking), 1.0))


def _lags(n: int) -> list[int]:
    """List numbers of lags to look at, one after the other, in chains of n draws."""
    if n < 5:
        return []
    some, most = max(_DIRECT[-1], n // _SHARE // 2 * 2), 2 * ((n - 3) // 2) + 2
    return [*(lags for lags in sorted({*_DIRECT, some}) if lags < most), most]


def _more_covariances(known: FloatArray, deviations: FloatArray, lags: int) -> FloatArray:
    """Compute autocovariances at the first lags, means over chains, shape (lag, variable)."""
    _, m, n = deviations.shape
    if lags > _DIRECT[-1]:
        return np.asarray(_sums_by_fourier(deviations, lags) / (m * n))
    found = np.empty((lags, len(deviations)))
    found[: len(known)] = known
    for k in range(len(known), lags):
        products = np.vecdot(deviations[:, :, : n - k], deviations[:, :, k:])
        found[k] = products.sum(axis=1) / (m * n)
    return found


def _sums_by_fourier(deviations: FloatArray, lags: int) -> FloatArray:
    """Sum products of draws at the first lags over all chains, shape (lag, variable)."""
    from scipy.fft import irfft, next_fast_len, rfft

    padded = next_fast_len(deviations.shape[2] + lags, real=True)  # zeros: the ends do not meet
    sums = np.empty((lags, len(deviations)))
    for k, own in enumerate(deviations):
        z = rfft(own, padded, axis=1)
        sums[:, k] = irfft((z.real**2 + z.imag**2).sum(axis=0), padded)[:lags]
    return sums


def _correlation_times(
    covariance: FloatArray, apart: FloatArray, n: int, all_lags: bool
) -> tuple[FloatArray, BoolArray]:
    """Sum autocorrelations up, and mark the variables whose sum is known.

    Pairs of correlations count while they are positive, none for more than the one before, and the
    next even correlation is added.  The sum is unknown while pairs are positive up to the last one.
    """
    lags, rows = covariance.shape
    within = covariance[0] * n / (n - 1)
    correlation = 1 - (within - covariance) / (covariance[0] + apart)
    correlation[0] = 1.0
    pairs = correlation.reshape(lags // 2, 2, rows).sum(axis=1)
    falls = pairs <= 0
    fallen = falls.any(axis=0)
    cut = np.where(fallen, falls.argmax(axis=0), lags // 2 - 1)
    before = np.arange(lags // 2)[:, None] < cut
    decreasing = np.minimum.accumulate(np.where(before, pairs, np.inf), axis=0)
    variables = np.arange(rows)
    last = correlation[2 * cut, variables]
    last = np.where(pairs[cut, variables] < 0, np.maximum(last, 0.0), last)
    times = 2 * np.where(before, decreasing, 0.0).sum(axis=0) - 1 + last
    return times, fallen | all_lags


def tail_sizes(x: FloatArray, ends: FloatArray) -> FloatArray:
    """Compute the effective sample size of each end of an interval, the smaller of both.

    `ends` has the shape (2, variable).
    """
    low, high = (effective_sizes(chains_of(halves(_below(x, end)))) for end in ends)
    return np.minimum(low, high)


def _below(x: FloatArray, end: FloatArray) -> FloatArray:
    """Mark draws up to a bound by 1, the others by 0."""
    return (x <= end[:, None, None]).astype(np.float64)


def sizes_of_means(x: FloatArray) -> FloatArray:
    """Compute the effective sample size of each mean."""
    return effective_sizes(chains_of(halves(in_units(x)[0])))


def errors_of_means(x: FloatArray) -> FloatArray:
    """Compute Monte Carlo standard errors of means."""
    x, unit = in_units(x)
    sd = x.std(axis=(1, 2), ddof=1)
    return np.asarray(unit * sd / np.sqrt(effective_sizes(chains_of(halves(x)))))


def errors_of_sds(x: FloatArray) -> FloatArray:
    """Compute Monte Carlo standard errors of standard deviations."""
    x, unit = in_units(x)
    squares = (x - x.mean(axis=(1, 2), keepdims=True)) ** 2
    variance = squares.mean(axis=(1, 2))
    of_variance = (squares**2).mean(axis=(1, 2)) - variance**2
    sizes = effective_sizes(chains_of(halves(x)))
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 where nothing varies
        return np.asarray(unit * np.sqrt(of_variance / sizes / variance / 4))


def errors_of_quantiles(x: FloatArray, prob: float) -> FloatArray:
    """Compute Monte Carlo standard errors of a quantile.

    They are half the distance between the quantiles at the ends of an interval of the probability
    below the quantile, which covers as much as one standard deviation of a normal variable.
    """
    from scipy.special import betaincinv

    rising = ranking(flat(x)).rising
    below = _below(x, quantiles(rising, (prob,))[0])
    sizes = effective_sizes(chains_of(halves(below)))
    last = rising.shape[1] - 1
    ends = [betaincinv(sizes * prob + 1, sizes * (1 - prob) + 1, p) for p in _ONE_SD]
    low = np.floor(np.maximum(ends[0] * (last + 1) - 1, 0)).astype(np.int64)
    high = np.ceil(np.minimum(ends[1] * (last + 1) - 1, last)).astype(np.int64)
    rows = np.arange(len(x))
    return np.asarray((rising[rows, high] - rising[rows, low]) / 2)


def in_units(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide variables by units of their range, so that squares neither vanish nor overflow.

    The units are powers of two, by which doubles are divided without rounding, and 1 for ranges of
    ordinary size.
    """
    spread = x.max(axis=(1, 2)) - x.min(axis=(1, 2))
    odd = (spread > 0) & ((spread < _ORDINARY[0]) | (spread > _ORDINARY[1]))
    unit = np.where(odd, np.ldexp(0.5, np.frexp(spread)[1]), 1.0)
    return (x / unit[:, None, None] if odd.any() else x), unit
