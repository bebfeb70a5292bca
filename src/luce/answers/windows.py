"""Moments of draws over many windows, from one reading of the draws.

The draws are cut into blocks wherever a window starts or ends.  Each block gives its mean and its
scatter about that mean; a window adds those of its blocks, and the scatter of their means (Chan,
Golub, LeVeque 1983).  Nothing large is ever subtracted, so no digits cancel.
"""

import numpy as np

from luce._types import FloatArray, IntArray

# As a share of the variance at hand: less than this is what rounding leaves of nothing.
_ROUNDING = 1e-12


def means_and_variances(
    p: FloatArray, starts: IntArray, ends: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each chain over draws start to end - 1, window by window.

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
    block_means, block_variances = np.empty((2, chains, len(lengths), n))
    for b, length in enumerate(lengths):
        first, offset, centred = _centre(p[:, edges[b] : edges[b] + length])
        block_means[:, b] = first + offset
        block_variances[:, b] = np.einsum("jti,jti->ji", centred, centred) / length
    means, variances = np.empty((2, chains, len(starts), n))
    for k, window in enumerate(_windows(edges, starts, ends)):
        means[:, k], apart = _merge(block_means[:, window], lengths[window])
        share = lengths[window] / lengths[window].sum()
        variances[:, k] = np.einsum("b,jbi->ji", share, block_variances[:, window] + apart**2)
    return means, variances


def variance_ratios(p: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Largest ratio of total to within-chain variance in each window, shape (window,).

        max over a of a'Va / a'Wa,     V = (T-1)/T W + (1 + 1/M) B/T,

    see `luce.answers.diagnostics.mpsrf`.

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
    block_means = np.empty((chains, len(lengths), n))
    scatter = np.empty((len(lengths), n, n))
    for b, length in enumerate(lengths):
        first, offset, centred = _centre(p[:, edges[b] : edges[b] + length][:, :, varies], scale)
        block_means[:, b] = first / scale + offset
        flat = centred.reshape(-1, n)
        scatter[b] = flat.T @ flat
    ratios = np.empty(len(starts))
    for k, window in enumerate(_windows(edges, starts, ends)):
        draws = int(lengths[window].sum())
        means, apart = _merge(block_means[:, window], lengths[window])
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
    """First draw, the mean's distance from it, and draws less their mean, both in units of scale.

    By way of the first draw, so that a chain that stands still has scatter 0, not rounding.
    """
    first = x[:, 0]
    centred = x - first[:, None]
    centred /= scale
    offset = centred.mean(axis=1)
    centred -= offset[:, None]
    return first, offset, centred


def _windows(edges: IntArray, starts: IntArray, ends: IntArray) -> list[slice]:
    """Which blocks each window is made of."""
    low, high = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    return [slice(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _merge(means: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean of blocks together, shape (chain, category), and how far each block's is from it."""
    apart = means - means[:, :1]
    offset = np.einsum("b,jbi->ji", lengths / lengths.sum(), apart)
    apart -= offset[:, None]
    return means[:, 0] + offset, apart


def _largest_ratio(total: FloatArray, within: FloatArray, size: FloatArray) -> float:
    """Largest a'Va / a'Wa over a in the tangent space of the simplex.

    The space is {a : Σ_i a_i = 0} up to a choice of coordinates that does not change the ratio.
    The largest category is the one to leave out: it is what the others leave of 1, and its
    rounding would swamp the small ones.  Units of each category's own variance then make a
    well-conditioned problem of probabilities of any size.
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
