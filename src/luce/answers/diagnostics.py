"""Diagnose Markov chains: R-hat, effective sample size, MPSRF, autocorrelation.

Every function takes `draws`: a run of `Posterior.sample`, an array of shape (chain, draw, category)
or a `DrawsView`.  Below, x_jt is the t-th of T draws of the j-th of M chains: a vector of n
probabilities.

R-hat, effective sample size and Monte Carlo standard errors are those of Vehtari, Gelman, Simpson,
Carpenter and Bürkner (2021), as arviz-stats computes them (`luce.sampling.mixing`).  `verdict` says
whether a run can be trusted, by the check that `Posterior.sample` warns by.

Moments over many windows come from one scan of the draws, which are cut into pieces wherever a
window starts or ends.  Each piece gives its mean and its scatter about that mean; a window adds
those of its pieces, and the scatter of their means (Chan, Golub, LeVeque 1983).  Nothing large is
ever subtracted, so no digits cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray
from luce.answers.updates import Update
from luce.answers.view import DrawsView, roles_of, tail_of
from luce.errors import DataError, MethodError
from luce.sampling import mixing
from luce.sampling.convergence import Verdict, judge_draws, judge_independent
from luce.sampling.screen import Quantity

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from luce.answers.view import DrawsLike

# Largest error of a draw's sum, which should be 1; single precision stays below it.
_SUM_TOLERANCE = 1e-6
# Variances below this fraction of the largest are treated as rounding error.
_ROUNDING = 1e-12
# Fewest draws of a chain that are diagnosed, as in arviz-stats.
_LEAST_DRAWS = 4


class Mixing(NamedTuple):
    """Diagnostics of each category, named as in ArviZ's summary; each of shape (category,)."""

    ess_bulk: FloatArray
    ess_tail: FloatArray
    r_hat: FloatArray
    mcse_mean: FloatArray


def verdict(run: DrawsLike) -> Verdict:
    """Judge whether the draws of a run can be trusted, as `Posterior.sample` does.

    Parameters
    ----------
    run
        A run of `Posterior.sample`, `luce.update` or `HDPTransitions.fit`, in memory or on a disk.
        An array of shape (chain, draw, category) is judged by its chains alone.

    Returns
    -------
    Verdict
        `kind` is "good", "mixed" or "bad"; `rhat` and `ess` are the worst figures of all entries,
        `still` names entries that never moved.  It prints as a sentence.

    Examples
    --------
    >>> import luce
    >>> run = luce.Posterior(luce.ConditionalCounts("ab").observe({"a": 3})).sample(100, seed=1)
    >>> print(luce.answers.diagnostics.verdict(run))
    The draws can be trusted.
    """
    import xarray as xr

    if not isinstance(run, xr.DataTree):
        view = DrawsView.of(run)
        each = Quantity("probabilities", [view.index["category"]], competitor=True)
        return judge_draws(_ViewDraws(view), len(view.values), [each])
    sizes = run["posterior"].sizes
    if run.attrs.get("independent_draws") == 1:
        return judge_independent(sizes["chain"] * sizes["draw"])
    proposals = "sample_stats" in run.children and "accepted" in run["sample_stats"].data_vars
    found = judge_draws(_RunDraws(run), sizes["chain"], _quantities(run), proposals)
    update = Update.in_attributes(run.attrs)
    return found if update is None else found.with_care(update.care)


def _quantities(run: DataTree) -> list[Quantity]:
    """List the parameters of a run that are judged: competitors, and what declares its role."""
    posterior = run["posterior"].to_dataset()
    found = []
    for name, role in roles_of(run).items():
        variable, competitor = posterior[name], role == "competitor"
        if role == "latent" or not (competitor or "role" in variable.attrs):
            continue
        support = variable.attrs.get("support", "simplex" if competitor else "real")
        rest = [dim for dim in variable.dims if dim not in ("chain", "draw")]
        found.append(
            Quantity(
                name=name,
                labels=[posterior[dim].values for dim in rest],
                competitor=competitor,
                logs=f"log_{name}" in posterior,
                simplex=support == "simplex" and "kept_categories" not in run.attrs,
            )
        )
    return found


class _RunDraws:
    """Draws of a run, to be read in parts."""

    def __init__(self, run: DataTree) -> None:
        self._run = run

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(self._run["posterior"].sizes["draw"])

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> FloatArray:
        """Read some entries of some draws of a chain, shape (draw, entry)."""
        group, name = path.split("/")
        variable = self._run[group][name].variable.transpose("chain", "draw", ...)
        values = variable[chain, rows].values  # to_numpy would import Dask
        return np.asarray(values.reshape(len(values), -1)[:, entries])


class _ViewDraws:
    """Draws of a view, to be read in parts."""

    def __init__(self, view: DrawsView) -> None:
        self._view = view

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(self._view.values.shape[1])

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> FloatArray:
        """Read some entries of some draws of a chain, shape (draw, entry)."""
        return self._view.values[chain, rows][:, entries]


def autocorrelation(draws: DrawsLike, lags: int = 100) -> DataArray:
    """Compute autocorrelations of each chain and category, dimensions (chain, lag, category).

        r_k = Σ_t (x_t - m)(x_{t+k} - m) / Σ_t (x_t - m)²,     k = 0, ..., lags,

    m being the chain's own mean.  It is nan where a chain never moves.

    Parameters
    ----------
    draws
        A run, or an array of shape (chain, draw, category).
    lags
        The largest lag, below the number of draws.

    Examples
    --------
    >>> import luce
    >>> to_and_fro = [[[0.2, 0.8], [0.4, 0.6], [0.2, 0.8], [0.4, 0.6]]]
    >>> luce.answers.diagnostics.autocorrelation(to_and_fro, lags=2).sel(category=0).values.round(2)
    array([[ 1.  , -0.75,  0.5 ]])
    """
    from scipy.fft import irfft, next_fast_len, rfft

    x = DrawsView.of(draws)
    p = x.probabilities
    count = p.shape[1]
    _check("lags", lags, 0, count - 1, count)
    centred = p - p.mean(axis=1, keepdims=True)
    # In these units squares of tiny numbers do not vanish.
    centred /= _one_for_zero(np.abs(centred).max(axis=1, keepdims=True))
    padded = next_fast_len(count + lags, real=True)  # zeros, so that the ends do not meet
    power = np.abs(rfft(centred, padded, axis=1)) ** 2
    sums = irfft(power, padded, axis=1)[:, : lags + 1]
    moved = (p != p[:, :1]).any(axis=1, keepdims=True)
    values = np.where(moved, sums / _one_for_zero(sums[:, :1]), np.nan)
    dims = ("chain", "lag", "category")
    return x.labelled(values, dims, "autocorrelation", lag=np.arange(lags + 1))


def mpsrf(draws: DrawsLike) -> float:
    """Compute the multivariate potential scale reduction factor R (Brooks & Gelman 1998).

        W   = 1 / (M (T-1)) Σ_jt (x_jt - x̄_j)(x_jt - x̄_j)'
        B/T = 1 / (M-1) Σ_j (x̄_j - x̄)(x̄_j - x̄)'
        V   = (T-1)/T W + (1 + 1/M) B/T,            R = max over a of a'Va / a'Wa,

    the largest eigenvalue of W⁻¹V: a ratio of variances, not the square root that R-hat is.  Near 1
    the chains agree in every linear combination of categories.

    Draws add up to 1, so W is taken on the (n-1)-dimensional tangent space of the simplex.  R is
    the same in all coordinates of this space.  Coordinates here are all categories but the largest,
    each in units of its own variance, so that small probabilities keep their digits.

    - A category that never varies, over all chains and draws, is left out.  Where none is left
      the chains agree, and R is 1.
    - Where W is singular and V is not, R is inf, its supremum: chains that never moved, or so few
      draws that M (T-1) < n-1.

    Parameters
    ----------
    draws
        A run, or an array of shape (chain, draw, category): at least 2 chains of 2 draws, each
        draw adding up to 1 within 1e-6.

    Examples
    --------
    >>> import luce
    >>> one, other = [[0.1, 0.9], [0.3, 0.7]], [[0.3, 0.7], [0.5, 0.5]]
    >>> round(luce.answers.diagnostics.mpsrf([one, other]), 6)  # 1/2 + (3/2) (0.02 / 0.02)
    2.0
    """
    p = DrawsView.of(draws).probabilities
    return float(_ratios(p, np.array([0]), np.array([p.shape[1]]))[0])


def mpsrf_convergence(draws: DrawsLike, points: int = 25) -> DataArray:
    """Compute the `mpsrf` as the chains grow, dimension (draw): the number of draws so far.

    At t draws the first ⌊t/2⌋ are discarded; t takes `points` equally spaced values, the last being
    all draws.  Each draw is read once, so all points together cost about as much as one.

    Parameters
    ----------
    draws
        As for `mpsrf`, with at least 3 draws for each point.
    points
        Number of values of t.

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

    p = DrawsView.of(draws).probabilities
    ends = _ends(p.shape[1], points, 3)
    return xr.DataArray(_ratios(p, ends // 2, ends), {"draw": ends}, ("draw",), "mpsrf")


def statistic_convergence(
    draws: DrawsLike, points: int = 25, truth: tuple[ArrayLike, ArrayLike] | None = None
) -> Dataset:
    """Compute errors of each chain's mean and variance as it grows.

        mean_error = ‖ m_jt - μ ‖₂,     variance_error = ‖ v_jt - σ² ‖₂     (over categories)

    m_jt and v_jt are mean and variance of draws ⌊t/2⌋ + 1 to t of chain j, the variance with the
    number of these draws as divisor; t is as in `mpsrf_convergence`.

    Parameters
    ----------
    draws
        A run, or an array of shape (chain, draw, category).
    points
        Number of values of t, at most the number of draws.
    truth
        The means μ and variances σ², each of shape (category,); `pooled_moments` if not given.

    Returns
    -------
    Dataset
        `mean_error` and `variance_error`, dimensions (chain, draw).

    Examples
    --------
    >>> from luce.answers import diagnostics
    >>> x = [[[0.1, 0.9], [0.3, 0.7]], [[0.3, 0.7], [0.5, 0.5]]]
    >>> errors = diagnostics.statistic_convergence(x, points=1, truth=([0.3, 0.7], [0, 0]))
    >>> errors["mean_error"].values.ravel()
    array([0.        , 0.28284271])
    """
    import xarray as xr

    x = DrawsView.of(draws)
    p = x.probabilities
    ends = _ends(p.shape[1], points, 1)
    mean, variance = pooled_moments(x) if truth is None else _read_truth(truth, p.shape[2])
    means, variances = _means_and_variances(p, ends // 2, ends)
    errors = {
        "mean_error": (("chain", "draw"), np.linalg.norm(means - mean, axis=2)),
        "variance_error": (("chain", "draw"), np.linalg.norm(variances - variance, axis=2)),
    }
    return xr.Dataset(errors, {"chain": x.index["chain"], "draw": ends})


def pooled_moments(draws: DrawsLike) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of the second halves of all chains, each of shape (category,).

    The first ⌊T/2⌋ draws of each chain are left out; the variance's divisor is the number of draws.

    Examples
    --------
    >>> from luce.answers import diagnostics
    >>> mean, variance = diagnostics.pooled_moments([[[1.0, 0.0], [0.2, 0.8], [0.4, 0.6]]])
    >>> mean.round(2), variance.round(2)
    (array([0.3, 0.7]), array([0.01, 0.01]))
    """
    p = DrawsView.of(draws).probabilities
    half = p[:, p.shape[1] // 2 :]
    return half.mean(axis=(0, 1)), half.var(axis=(0, 1))


def rhat(draws: DrawsLike) -> DataArray:
    """Compute the rank-normalised split R-hat of each category.

    It is nan for one chain, below 4 draws, or where nothing varies.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> luce.answers.diagnostics.rhat(x).values.round(2)
    array([1., 1., 1.])
    """
    return _by_category("rhat", draws, _rhat)


def ess(draws: DrawsLike, method: str = "bulk", ci_prob: float = 0.9) -> DataArray:
    """Compute the effective sample size of each category; nan below 4 draws, or of equal draws.

    Parameters
    ----------
    draws
        A run, or an array of shape (chain, draw, category).
    method
        "bulk", for means; or "tail", for the ends of a central interval: the smaller of both.
    ci_prob
        Probability of that interval.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> bool((luce.answers.diagnostics.ess(x) > 3500).all())
    True
    >>> bool((luce.answers.diagnostics.ess(x, "tail") > 3000).all())
    True
    """
    tail = tail_of(ci_prob)
    if method not in ("bulk", "tail"):
        raise MethodError(f"method = {method!r} was given; 'bulk' and 'tail' are possible.")
    return _by_category("ess", draws, _bulk if method == "bulk" else partial(_tail, tail=tail))


def mcse(draws: DrawsLike, method: str = "mean", prob: float | None = None) -> DataArray:
    """Compute Monte Carlo standard errors; nan below 4 draws, or of equal draws.

    Parameters
    ----------
    draws
        A run, or an array of shape (chain, draw, category).
    method
        "mean", "sd" or "quantile": the statistic of each category whose error is computed.
    prob
        Probability of the quantile, between 0 and 1.

    Examples
    --------
    >>> import luce, numpy as np
    >>> x = np.random.default_rng(1).dirichlet([1, 2, 3], size=(4, 1000))
    >>> luce.answers.diagnostics.mcse(x).values.round(3)  # sd / √4000
    array([0.002, 0.003, 0.003])
    """
    if method not in ("mean", "sd", "quantile"):
        raise MethodError(
            f"method = {method!r} was given; 'mean', 'sd' and 'quantile' are possible."
        )
    if method == "quantile":
        return _by_category("mcse", draws, partial(mixing.errors_of_quantiles, prob=_share(prob)))
    errors = mixing.errors_of_means if method == "mean" else mixing.errors_of_sds
    return _by_category("mcse", draws, errors)


def _share(prob: float | None) -> float:
    """Read the probability of a quantile."""
    if not isinstance(prob, (int, float, np.number)) or not 0 < prob < 1:
        raise DataError(f"prob = {prob!r} was given; a number between 0 and 1 is needed.")
    return float(prob)


def mixing_of(
    values: FloatArray, tail: float, logs: FloatArray | None = None
) -> tuple[FloatArray, Mixing]:
    """Compute a central interval, ESS, R-hat and standard errors, ranking the draws once for all.

    The diagnostics are nan where a variable never varies, and below 4 draws.

    Parameters
    ----------
    values
        Shape (variable, chain, draw).
    tail
        Probability beyond each end of the interval.
    logs
        Their logarithms where these are known.  Ranks are of logarithms then, which differ where
        the values themselves are too small or too close to 1 for doubles.

    Returns
    -------
    tuple
        Ends of the interval of the values, shape (2, variable), and the diagnostics.
    """
    x, probs = values if logs is None else logs, (tail, 1 - tail)
    ranked = mixing.ranking(mixing.flat(x))
    inner = ends = mixing.quantiles(ranked.rising, probs)
    if logs is not None:
        ends = np.quantile(values, probs, axis=(1, 2))
    if x.shape[2] < _LEAST_DRAWS:
        return ends, Mixing(*np.full((4, len(x)), np.nan))
    scores = mixing.normal_scores(ranked, x.shape)
    diagnosed = Mixing(
        ess_bulk=mixing.effective_sizes(scores),
        ess_tail=mixing.tail_sizes(x, inner),
        r_hat=_larger_rhat(scores, ranked, x.shape),
        mcse_mean=mixing.errors_of_means(values),
    )
    varies = ranked.rising[:, 0] < ranked.rising[:, -1]
    bulk, tails, rhat, error = (np.where(varies, figure, np.nan) for figure in diagnosed)
    return ends, Mixing(bulk, tails, rhat, _where_varying(values, error))


def _rhat(x: FloatArray) -> FloatArray:
    ranked = mixing.ranking(mixing.flat(x))
    return _larger_rhat(mixing.normal_scores(ranked, x.shape), ranked, x.shape)


def _larger_rhat(
    scores: mixing.Chains, ranked: mixing.Ranking, shape: tuple[int, ...]
) -> FloatArray:
    """Compute R-hat of scores and of their spreads; nan for a single chain."""
    if shape[1] == 1:
        return np.full(shape[0], np.nan)
    return mixing.larger_rhat(scores, mixing.folded_scores(ranked, shape))


def _bulk(x: FloatArray) -> FloatArray:
    return mixing.effective_sizes(mixing.normal_scores(mixing.ranking(mixing.flat(x)), x.shape))


def _tail(x: FloatArray, tail: float) -> FloatArray:
    ends = mixing.quantiles(mixing.ranking(mixing.flat(x)).rising, (tail, 1 - tail))
    return mixing.tail_sizes(x, ends)


def _by_category(
    name: str, draws: DrawsLike, figures_of: Callable[[FloatArray], FloatArray]
) -> DataArray:
    """Apply a function of (variable, chain, draw) to categories; nan where one never varies."""
    view = DrawsView.of(draws)
    found = np.full(view.n_categories, np.nan)
    if view.probabilities.shape[1] >= _LEAST_DRAWS:
        for here, x in view.variables(view.probabilities):
            found[here] = _where_varying(x, figures_of(x))
    return view.labelled(found, ("category",), name)


def _where_varying(x: FloatArray, figures: FloatArray) -> FloatArray:
    """Keep the figures of variables that vary; nan for the others.

    arviz-stats counts all draws of a variable that never varies as effective; but such draws say
    nothing of how well a chain moves.
    """
    return np.where((x == x[:, :1, :1]).all(axis=(1, 2)), np.nan, figures)


def _one_for_zero(x: FloatArray) -> FloatArray:
    """Replace zeros by ones, to divide by them."""
    return np.where(x == 0, 1.0, x)


def _check(name: str, given: object, least: int, most: int, draws: int) -> None:
    """Refuse anything but a whole number in the range that the draws allow."""
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise DataError(f"{name} = {given!r} was given; a whole number is needed.")
    if not least <= given <= most:
        raise DataError(
            f"{name} = {given} was given for {draws:,} draws a chain; {least} to {most:,} are "
            f"possible. Ask for fewer {name}, or take more draws."
        )


def _ends(draws: int, points: int, least: int) -> IntArray:
    """Space numbers of draws equally, the last being all; the first is `least` or more."""
    _check("points", points, 1, draws // least, draws)
    return np.arange(1, points + 1) * draws // points


def _read_truth(truth: tuple[ArrayLike, ArrayLike], n: int) -> tuple[FloatArray, FloatArray]:
    """Read means and variances of n categories."""
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


def _ratios(p: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Compute the `mpsrf` in each window, once the draws are known to allow it."""
    chains, draws, _ = p.shape
    if chains < 2 or draws < 2:
        raise DataError(
            f"{chains} chain(s) of {draws} draw(s) were given; the mpsrf compares at least 2 "
            "chains of 2 draws. Take more, or look at autocorrelation and ess."
        )
    sums = p.sum(axis=2)
    if np.abs(sums - 1).max() > _SUM_TOLERANCE:
        worst = sums.flat[np.abs(sums - 1).argmax()]
        raise DataError(
            f"each draw must add up to 1 within {_SUM_TOLERANCE:g}; one adds up to {worst:.10g}. "
            "Give all categories, and divide by their sum."
        )
    return _variance_ratios(p, starts, ends)


# -- moments over windows ---------------------------------------------------------------


def _means_and_variances(
    p: FloatArray, starts: IntArray, ends: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of each chain in each window: draws start to end - 1.

    Parameters
    ----------
    p
        Shape (chain, draw, category).
    starts, ends
        Shape (window,).

    Returns
    -------
    tuple
        Means and variances, each of shape (chain, window, category).
    """
    edges = np.unique(np.r_[starts, ends])
    lengths = np.diff(edges)
    chains, _, n = p.shape
    piece_means, piece_variances = np.empty((2, chains, len(lengths), n))
    for b, length in enumerate(lengths):
        first, offset, centred = _centre(p[:, edges[b] : edges[b] + length])
        piece_means[:, b] = first + offset
        piece_variances[:, b] = np.einsum("jti,jti->ji", centred, centred) / length
    means, variances = np.empty((2, chains, len(starts), n))
    for k, window in enumerate(_windows(edges, starts, ends)):
        means[:, k], apart = _merge(piece_means[:, window], lengths[window])
        share = lengths[window] / lengths[window].sum()
        variances[:, k] = np.einsum("b,jbi->ji", share, piece_variances[:, window] + apart**2)
    return means, variances


def _variance_ratios(p: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Compute the largest ratio of total to within-chain variance in each window (see `mpsrf`).

    Parameters
    ----------
    p
        Shape (chain, draw, category): at least two chains, each draw adding up to 1.
    starts, ends
        Shape (window,): draws start to end - 1, at least two.
    """
    spread = np.ptp(p, axis=(0, 1))
    varies = spread > 0
    if not varies.any():
        return np.ones(len(starts))
    scale = spread[varies]  # in these units no square of a small probability vanishes
    edges = np.unique(np.r_[starts, ends])
    lengths = np.diff(edges)
    chains, n = len(p), len(scale)
    piece_means = np.empty((chains, len(lengths), n))
    scatter = np.empty((len(lengths), n, n))
    for b, length in enumerate(lengths):
        first, offset, centred = _centre(p[:, edges[b] : edges[b] + length][:, :, varies], scale)
        piece_means[:, b] = first / scale + offset
        flat = centred.reshape(-1, n)
        scatter[b] = flat.T @ flat
    ratios = np.empty(len(starts))
    for k, window in enumerate(_windows(edges, starts, ends)):
        draws = int(lengths[window].sum())
        means, apart = _merge(piece_means[:, window], lengths[window])
        flat = (apart * np.sqrt(lengths[window])[:, None]).reshape(-1, n)
        within = (scatter[window].sum(axis=0) + flat.T @ flat) / (chains * (draws - 1))
        size = means.mean(axis=0) * scale
        means -= means[0].copy()  # so that equal means differ by 0, not by rounding
        means -= means.mean(axis=0)
        between = means.T @ means / (chains - 1)
        total = (draws - 1) / draws * within + (1 + 1 / chains) * between
        ratios[k] = _largest_ratio(total, within, size)
    return ratios


def _centre(
    x: FloatArray, scale: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split draws into the first, the mean's distance from it, and the scatter about the mean.

    The latter two are in units of `scale`.  Distances are taken from the first draw, so that a
    chain that stands still has scatter 0, not rounding error.
    """
    first = x[:, 0]
    centred = x - first[:, None]
    centred /= scale
    offset = centred.mean(axis=1)
    centred -= offset[:, None]
    return first, offset, centred


def _windows(edges: IntArray, starts: IntArray, ends: IntArray) -> list[slice]:
    """List the pieces that each window is made of."""
    low, high = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    return [slice(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _merge(means: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute the mean of pieces together, (chain, category), and each piece's distance from it."""
    apart = means - means[:, :1]
    offset = np.einsum("b,jbi->ji", lengths / lengths.sum(), apart)
    apart -= offset[:, None]
    return means[:, 0] + offset, apart


def _largest_ratio(total: FloatArray, within: FloatArray, size: FloatArray) -> float:
    """Compute the largest a'Va / a'Wa over a in the tangent space of the simplex.

    The space is {a : Σ_i a_i = 0} up to a choice of coordinates, which does not change the ratio.
    The largest category is left out, because its rounding error, 1 minus the others, would swamp
    the small ones.  In units of each category's own variance the problem is well-conditioned for
    probabilities of any size.
    """
    varying = np.flatnonzero(total.diagonal() > 0)
    if len(varying) < 2:
        return 1.0
    if (within.diagonal()[varying] == 0).any():
        return float("inf")
    rest = np.delete(varying, np.argmax(size[varying]))
    unit = np.sqrt(within.diagonal()[rest])
    v, w = (m[np.ix_(rest, rest)] / unit / unit[:, None] for m in (total, within))
    sizes, axes = np.linalg.eigh(w)
    v = axes.T @ v @ axes
    still = sizes <= _ROUNDING * sizes[-1]  # directions in which no chain moves
    if still.any():
        left = np.linalg.eigvalsh(v[np.ix_(still, still)])[-1]
        if left > _ROUNDING * np.abs(v).max():
            return float("inf")
    root = np.sqrt(sizes[~still])
    return float(np.linalg.eigvalsh(v[np.ix_(~still, ~still)] / root / root[:, None])[-1])
