"""Tell how far segmentations agree, whatever their states are called.

Labels of states mean nothing across draws and chains.  Two segmentations are compared by their
variation of information (Meilă 2007), a metric of partitions of the times.  With H the entropy of
the states that a time chosen at random is in,

    VI(a, b) = H(a | b) + H(b | a) = 2 H(a, b) - H(a) - H(b)       in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray
from luce.errors import DataError

if TYPE_CHECKING:
    pass

# Stretches of time that are compared in each pair of segmentations.  Where more are needed to tell
# all segmentations apart, as many evenly spaced times stand for all.
TIMES_COMPARED = 1 << 15

# Draws of all chains together that are compared in pairs, evenly spaced within each chain.
DRAWS_COMPARED = 120

# Nats of variation of information by which draws of chains that agree may differ on average.
LARGEST_VARIATION = 0.5

# Draws of chains that disagree differ by more than this, times the variation within chains.  Where
# a distance is that of squares, between / within = 1 + B / W = R-hat² (B the variance of the
# chains' means, W that within chains); this is the square of the classical limit of R-hat, 1.2.
CLEARLY_ABOVE = 1.2**2


# -- variation of information ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pieces:
    """Segmentations on the longest stretches of time in which none of them changes.

    Attributes
    ----------
    labels
        Shape (segmentation, piece); each segmentation's states are numbered from 0 as they
        appear.
    lengths
        Times in each piece, shape (piece,).
    """

    labels: npt.NDArray[np.int32]
    lengths: IntArray

    @classmethod
    def of(
        cls, states: npt.NDArray[Any], borders: IntArray | None = None, most: int | None = None
    ) -> Pieces:
        """Find the pieces of segmentations of shape (segmentation, time).

        Parameters
        ----------
        states
            Labels, whole numbers.
        borders
            First rows of sequences, and the number of times: pieces end there, too.
        most
            Largest number of pieces; where there are more, as many evenly spaced times stand for
            all.
        """
        starts = _starts(states, borders)
        if most is not None and len(starts) > most:
            times = np.linspace(0, states.shape[1] - 1, most).astype(np.int64)
            return cls(compact(states[:, times]), np.ones(most, np.int64))
        return cls(compact(states[:, starts]), np.diff(np.append(starts, states.shape[1])))

    @property
    def n_labels(self) -> int:
        """Largest number of states of a segmentation."""
        return int(self.labels.max()) + 1

    def take(self, rows: IntArray) -> Pieces:
        """Keep some segmentations."""
        return Pieces(self.labels[rows], self.lengths)

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat values of pieces for each of their times."""
        return np.repeat(values, self.lengths)


def _starts(states: npt.NDArray[Any], borders: IntArray | None) -> IntArray:
    """Find the times at which any segmentation changes, or a sequence begins."""
    changes = np.zeros(states.shape[1], np.bool_)
    for own in states:
        changes[1:] |= own[1:] != own[:-1]
    changes[0] = True
    if borders is not None:
        changes[borders[:-1]] = True
    return np.flatnonzero(changes)


def compact(states: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Number the labels of each segmentation from 0, in the order in which they appear.

    Segmentations that differ in their labels only become equal, so that no answer depends on
    labels.
    """
    found = np.empty(states.shape, np.int32)
    least, most = int(states.min()), int(states.max())
    few = most - least < max(states.shape[1], 1 << 12)
    backwards = np.arange(states.shape[1])[::-1]
    for row, own in zip(found, states, strict=True):
        here = own.astype(np.int64) - least if few else np.unique(own, return_inverse=True)[1]
        first = np.full(int(here.max()) + 1, len(own))
        first[here[::-1]] = backwards  # of several numbers the last one stays
        rank = np.empty(len(first), np.int32)
        rank[first.argsort(kind="stable")] = np.arange(len(first))
        row[:] = rank[here]
    return found


def variation_of_information(a: ArrayLike, b: ArrayLike) -> float:
    """Compute the variation of information of two segmentations, in nats.

    It is 0 where both put the same times together, whatever they call the states, and at most the
    logarithm of the number of times.

    Parameters
    ----------
    a, b
        A label for each time, of any type that can be sorted; both of the same length.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], ["y", "y", "x", "x"])
    0.0
    >>> round(variation_of_information([0, 0, 1, 1], [0, 0, 0, 0]), 4)  # log 2
    0.6931
    """
    one, other = (np.asarray(given) for given in (a, b))
    if one.ndim != 1 or one.shape != other.shape or one.size == 0:
        raise DataError(
            f"labels of shapes {one.shape} and {other.shape} were given; one label for each time, "
            "and as many times in both, are needed. Give two arrays of the same length."
        )
    labels = np.stack([np.unique(own, return_inverse=True)[1] for own in (one, other)])
    return float(_variations(Pieces.of(labels), np.arange(1), np.arange(1, 2))[0, 0])


def variations(states: ArrayLike, others: ArrayLike | None = None) -> FloatArray:
    """Compute the variation of information of each pair of segmentations, in nats.

    Times in which no segmentation changes are counted together.  Where more than `TIMES_COMPARED`
    such stretches are left, as many evenly spaced times stand for all.

    Parameters
    ----------
    states
        Labels of states, whole numbers, shape (segmentation, time).
    others
        Segmentations to compare them with; each other unless given.

    Returns
    -------
    ndarray
        Shape (segmentation, other segmentation).

    Examples
    --------
    >>> variations([[0, 0, 1, 1], [5, 5, 2, 2], [0, 0, 0, 0]]).round(2)
    array([[0.  , 0.  , 0.69],
           [0.  , 0.  , 0.69],
           [0.69, 0.69, 0.  ]])
    """
    rows = read_states(states, 2)
    if others is None:
        own = np.arange(len(rows))
        return _variations(Pieces.of(rows, most=TIMES_COMPARED), own, own)
    columns = read_states(others, 2)
    if columns.shape[1] != rows.shape[1]:
        raise DataError(
            f"segmentations of {rows.shape[1]:,} and of {columns.shape[1]:,} times were given; "
            "both must have as many."
        )
    both = Pieces.of(np.concatenate([rows, columns]), most=TIMES_COMPARED)
    return _variations(both, np.arange(len(rows)), np.arange(len(rows), len(both.labels)))


def expected_variations(pieces: Pieces, rows: IntArray) -> FloatArray:
    """Compute the mean variation of information of some segmentations from all of them."""
    return np.asarray(_variations(pieces, rows, np.arange(len(pieces.labels))).mean(axis=1))


def _variations(pieces: Pieces, rows: IntArray, columns: IntArray) -> FloatArray:
    """Compute the variation of information of some segmentations and some others.

    With n the times in state j of one and k of the other,
    T VI = Σ_j n_j log n_j + Σ_k n_k log n_k - 2 Σ_jk n_jk log n_jk.
    """
    labels, width = pieces.labels, pieces.n_labels
    weights = None if (pieces.lengths == 1).all() else pieces.lengths.astype(np.float64)
    alone = {
        int(i): _sum_x_log_x(np.bincount(labels[i], weights, width))
        for i in np.union1d(rows, columns)
    }
    symmetric = np.array_equal(rows, columns)
    found = np.zeros((len(rows), len(columns)))
    joint = np.empty((len(columns), width * width))
    for i, row in enumerate(rows):
        first = labels[row].astype(np.int64) * width
        start = i + 1 if symmetric else 0
        for j in range(start, len(columns)):
            joint[j] = np.bincount(first + labels[columns[j]], weights, width * width)
        both = _sum_x_log_x(joint[start:])
        ends = np.array([alone[int(column)] for column in columns[start:]])
        found[i, start:] = (alone[int(row)] + ends - 2 * both) / pieces.lengths.sum()
    if symmetric:
        found += found.T
    # Rounding errors of the sums are relative to T log T.
    found[found < 1e-13 * np.log(pieces.lengths.sum() + 1)] = 0.0
    return found


def _sum_x_log_x(counts: FloatArray | IntArray) -> FloatArray:
    from scipy.special import xlogy

    return np.asarray(xlogy(counts, counts).sum(axis=-1))


def read_states(given: ArrayLike, dims: int) -> npt.NDArray[Any]:
    """Read labels of states: whole numbers in an array of so many dimensions."""
    states = np.asarray(given)
    if states.ndim != dims or states.size == 0 or states.dtype.kind not in "iu":
        what = ["time", "segmentation, time", "chain, draw, time"][dims - 1]
        raise DataError(
            f"states of shape {states.shape} and type {states.dtype} were given; whole numbers of "
            f"shape ({what}) are needed, at least one of each."
        )
    return states


# -- chains against each other ---------------------------------------------------------------------


class BetweenAndWithin(NamedTuple):
    """Mean variation of information of draws of different chains, and of one chain, in nats.

    `between` is nan for one chain, `within` for one draw.  `by_chains`, of shape (chain, chain),
    has the same of each pair of chains, and each chain's own on the diagonal.
    """

    between: float
    within: float
    by_chains: FloatArray


def between_and_within(states: ArrayLike) -> BetweenAndWithin:
    """Compare draws of different chains with draws of one chain.

    Chains that sample the same law differ from each other as draws of one chain do, or a little
    more while draws of a chain are correlated.

    Parameters
    ----------
    states
        Labels of states, shape (chain, draw, time).  At most `DRAWS_COMPARED` draws are compared,
        evenly spaced, and times as by `variations`.
    """
    kept = read_states(states, 3)
    chains, draws, times = kept.shape
    some = np.unique(np.linspace(0, draws - 1, max(2, DRAWS_COMPARED // chains)).astype(np.int64))
    n = len(some)
    pairs = variations(kept[:, some].reshape(chains * n, times))
    sums = pairs.reshape(chains, n, chains, n).sum(axis=(1, 3))
    own = np.eye(chains, dtype=np.bool_)
    by_chains = sums / np.where(own, max(n * (n - 1), 1), n * n)
    if n == 1:
        by_chains[own] = np.nan
    between = float(by_chains[~own].mean()) if chains > 1 else float("nan")
    return BetweenAndWithin(between, float(by_chains[own].mean()), by_chains)


def disagree(between: FloatArray | float, within: FloatArray | float) -> BoolArray:
    """Tell where chains disagree; unknown variation within chains counts as none."""
    known = np.nan_to_num(within)
    return np.asarray((between > LARGEST_VARIATION) & (between > CLEARLY_ABOVE * known))
