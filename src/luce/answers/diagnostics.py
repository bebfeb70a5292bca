"""Whether chains have met, and how far apart their draws are: arrays in, named arrays out.

Every function takes `draws`: a DataTree with ``posterior["probabilities"]``, as `Posterior.sample`
returns it, or an array of shape (chain, draw, category).  Below, x_jt is the t-th of T draws of the
j-th of M chains: a vector of n probabilities.

R-hat, effective sample size and Monte Carlo standard error come from arviz-stats (Vehtari, Gelman,
Simpson, Carpenter, Bürkner 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray
from luce.answers.given import read_draws
from luce.answers.windows import means_and_variances, variance_ratios
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from luce.answers.given import DrawsLike

# Draws add up to 1 within this; single precision does.
_SUM_TOLERANCE = 1e-6


def autocorrelation(draws: DrawsLike, lags: int = 100) -> DataArray:
    """Autocorrelation of each chain and category, dimensions (chain, lag, category).

        r_k = Σ_t (x_t - m)(x_{t+k} - m) / Σ_t (x_t - m)²,     k = 0, ..., lags,

    m being the chain's own mean.  It is nan where a chain never moves.

    Parameters
    ----------
    draws
        A DataTree, or an array of shape (chain, draw, category).
    lags
        The largest lag, below the number of draws.

    Examples
    --------
    >>> import luce
    >>> to_and_fro = [[[0.2, 0.8], [0.4, 0.6], [0.2, 0.8], [0.4, 0.6]]]
    >>> luce.answers.diagnostics.autocorrelation(to_and_fro, lags=2).sel(category=0).values.round(2)
    array([[ 1.  , -0.75,  0.5 ]])
    """
    import xarray as xr
    from scipy.fft import irfft, next_fast_len, rfft

    x = read_draws(draws)
    count = x.sizes["draw"]
    _check("lags", lags, 0, count - 1, count)
    p = x.to_numpy()
    centred = p - p.mean(axis=1, keepdims=True)
    centred /= _one_for_zero(np.abs(centred).max(axis=1, keepdims=True))  # tiny squares vanish
    padded = next_fast_len(count + lags, real=True)  # zeros, so that the ends do not meet
    power = np.abs(rfft(centred, padded, axis=1)) ** 2
    sums = irfft(power, padded, axis=1)[:, : lags + 1]
    moved = (p != p[:, :1]).any(axis=1, keepdims=True)
    values = np.where(moved, sums / _one_for_zero(sums[:, :1]), np.nan)
    index = {"chain": x["chain"].to_numpy(), "lag": np.arange(lags + 1)}
    index["category"] = x["category"].to_numpy()
    return xr.DataArray(values, index, ("chain", "lag", "category"), "autocorrelation")


def mpsrf(draws: DrawsLike) -> float:
    """Multivariate potential scale reduction factor: R of all the draws (Brooks & Gelman 1998).

        W   = 1 / (M (T-1)) Σ_jt (x_jt - x̄_j)(x_jt - x̄_j)'
        B/T = 1 / (M-1) Σ_j (x̄_j - x̄)(x̄_j - x̄)'
        V   = (T-1)/T W + (1 + 1/M) B/T,            R = max over a of a'Va / a'Wa,

    the largest eigenvalue of W⁻¹V: a ratio of variances, not the square root that R-hat is.  Near 1
    the chains agree in every linear combination of categories.

    Draws add up to 1, so W is taken on the (n-1)-dimensional tangent space of the simplex.  R is
    the same in all its coordinates.  Here these are all categories but the largest, each in units
    of its own variance: so small probabilities keep their digits.

    - A category that never varies, over all chains and draws, is left out.  Where none is left
      there is nothing to disagree about, and R is 1.
    - Where W is singular and V is not, R is inf, its supremum: chains that never moved, or so few
      draws that M (T-1) < n-1.

    Parameters
    ----------
    draws
        A DataTree, or an array of shape (chain, draw, category): at least 2 chains of 2 draws, each
        draw adding up to 1 within 1e-6.

    Examples
    --------
    >>> import luce
    >>> one, other = [[0.1, 0.9], [0.3, 0.7]], [[0.3, 0.7], [0.5, 0.5]]
    >>> round(luce.answers.diagnostics.mpsrf([one, other]), 6)  # 1/2 + (3/2) (0.02 / 0.02)
    2.0
    """
    x = read_draws(draws)
    return float(_ratios(x, np.array([0]), np.array([x.sizes["draw"]]))[0])


def mpsrf_convergence(draws: DrawsLike, points: int = 25) -> DataArray:
    """R of `mpsrf` as the chains grow, dimension (draw): how many draws there were by then.

    At t draws the first ⌊t/2⌋ are discarded; t takes `points` equally spaced values, the last being
    all draws.  Each draw is read once, so all points together cost about as much as one.

    Parameters
    ----------
    draws
        As for `mpsrf`, with at least 3 draws for each point.
    points
        How many values of t.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> luce.answers.diagnostics.mpsrf_convergence(x, points=4).round(1)
    <xarray.DataArray 'mpsrf' (draw: 4)> Size: 32B
    array([1., 1., 1., 1.])
    Coordinates:
      * draw     (draw) int64 32B 250 500 750 1000
    """
    import xarray as xr

    x = read_draws(draws)
    ends = _ends(x.sizes["draw"], points, 3)
    return xr.DataArray(_ratios(x, ends // 2, ends), {"draw": ends}, ("draw",), "mpsrf")


def statistic_convergence(
    draws: DrawsLike, points: int = 25, truth: tuple[ArrayLike, ArrayLike] | None = None
) -> Dataset:
    """How far each chain's mean and variance are from the truth as it grows.

        mean_error = ‖ m_jt - μ ‖₂,     variance_error = ‖ v_jt - σ² ‖₂     (over categories)

    m_jt and v_jt are mean and variance of draws ⌊t/2⌋ + 1 to t of chain j, the variance with the
    number of these draws as divisor; t is as in `mpsrf_convergence`.

    Parameters
    ----------
    draws
        A DataTree, or an array of shape (chain, draw, category).
    points
        How many values of t, at most the number of draws.
    truth
        The means μ and variances σ², each of shape (category,); `pooled_moments` if not given.

    Returns
    -------
    Dataset
        `mean_error` and `variance_error`, dimensions (chain, draw).

    Examples
    --------
    >>> import luce
    >>> x = [[[0.1, 0.9], [0.3, 0.7]], [[0.3, 0.7], [0.5, 0.5]]]
    >>> errors = luce.answers.diagnostics.statistic_convergence(x, points=1, truth=([0.3, 0.7], [0, 0]))
    >>> errors["mean_error"].values.ravel()
    array([0.        , 0.28284271])
    """
    import xarray as xr

    x = read_draws(draws)
    ends = _ends(x.sizes["draw"], points, 1)
    mean, variance = pooled_moments(x) if truth is None else _read_truth(truth, x.shape[2])
    means, variances = means_and_variances(x.to_numpy(), ends // 2, ends)
    errors = {
        "mean_error": (("chain", "draw"), np.linalg.norm(means - mean, axis=2)),
        "variance_error": (("chain", "draw"), np.linalg.norm(variances - variance, axis=2)),
    }
    return xr.Dataset(errors, {"chain": x["chain"].to_numpy(), "draw": ends})


def pooled_moments(draws: DrawsLike) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the second halves of all chains together, each of shape (category,).

    The first ⌊T/2⌋ draws of each chain are left out; the variance's divisor is the number of draws.

    Examples
    --------
    >>> import luce
    >>> mean, variance = luce.answers.diagnostics.pooled_moments([[[1.0, 0.0], [0.2, 0.8], [0.4, 0.6]]])
    >>> mean.round(2), variance.round(2)
    (array([0.3, 0.7]), array([0.01, 0.01]))
    """
    p = read_draws(draws).to_numpy()
    half = p[:, p.shape[1] // 2 :]
    return half.mean(axis=(0, 1)), half.var(axis=(0, 1))


def rhat(draws: DrawsLike) -> DataArray:
    """Rank-normalised split R-hat by category; nan for one chain, below 4 draws, or no variation.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> luce.answers.diagnostics.rhat(x).values.round(2)
    array([1., 1., 1.])
    """
    return _by_category("rhat", draws)


def ess(draws: DrawsLike) -> DataArray:
    """Bulk effective sample size by category; nan below 4 draws.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> bool((luce.answers.diagnostics.ess(x) > 3500).all())
    True
    """
    return _by_category("ess", draws)


def mcse(draws: DrawsLike) -> DataArray:
    """Monte Carlo standard error of the mean by category; nan below 4 draws.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> luce.answers.diagnostics.mcse(x).values.round(3)  # sd / √4000
    array([0.002, 0.003, 0.003])
    """
    return _by_category("mcse", draws)


def _by_category(name: str, draws: DrawsLike) -> DataArray:
    import xarray as xr
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    x = read_draws(draws)
    # Categories or chains that never move divide by 0: nan or inf says so.
    with np.errstate(divide="ignore", invalid="ignore"):
        values = getattr(array_stats, name)(x.to_numpy(), chain_axis=0, draw_axis=1)
    return xr.DataArray(values, {"category": x["category"].to_numpy()}, ("category",), name)


def _one_for_zero(x: FloatArray) -> FloatArray:
    return np.where(x == 0, 1.0, x)


def _check(name: str, given: object, least: int, most: int, draws: int) -> None:
    """Refuse what is not a whole number in a range that follows from the draws."""
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise DataError(f"{name} = {given!r} was given; a whole number is needed.")
    if not least <= given <= most:
        raise DataError(
            f"{name} = {given} was given for {draws:,} draws a chain; {least} to {most:,} are "
            f"possible. Ask for fewer {name}, or take more draws."
        )


def _ends(draws: int, points: int, least: int) -> IntArray:
    """Equally spaced numbers of draws, the last being all; the first is `least` or more."""
    _check("points", points, 1, draws // least, draws)
    return np.arange(1, points + 1) * draws // points


def _read_truth(truth: tuple[ArrayLike, ArrayLike], n: int) -> tuple[FloatArray, FloatArray]:
    try:
        mean, variance = (np.asarray(x, np.float64) for x in truth)
    except (TypeError, ValueError):
        raise DataError("truth must be two arrays of numbers: means and variances.") from None
    if mean.shape != (n,) or variance.shape != (n,) or not np.isfinite([mean, variance]).all():
        raise DataError(
            f"truth of shapes {mean.shape} and {variance.shape} was given; means and variances of "
            f"{n} categories, all finite, are needed. Give two arrays of shape ({n},)."
        )
    return mean, variance


def _ratios(x: DataArray, starts: IntArray, ends: IntArray) -> FloatArray:
    chains, draws, _ = x.shape
    if chains < 2 or draws < 2:
        raise DataError(
            f"{chains} chain(s) of {draws} draw(s) were given; the mpsrf compares at least 2 "
            "chains of 2 draws. Take more, or look at autocorrelation and ess."
        )
    p = x.to_numpy()
    sums = p.sum(axis=2)
    if np.abs(sums - 1).max() > _SUM_TOLERANCE:
        worst = sums.flat[np.abs(sums - 1).argmax()]
        raise DataError(
            f"each draw must add up to 1 within {_SUM_TOLERANCE:g}; one adds up to {worst:.10g}. "
            "Give all categories, and divide by their sum."
        )
    return variance_ratios(p, starts, ends)
