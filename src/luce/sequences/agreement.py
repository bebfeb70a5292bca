"""Tell how far segmentations agree, whatever their states are called.

Labels of states mean nothing across draws and chains.  Two segmentations are compared by their
variation of information (Meilă 2007), a metric of partitions of the times.  With H the entropy of
the states that a time chosen at random is in,

    VI(a, b) = H(a | b) + H(b | a) = 2 H(a, b) - H(a) - H(b)       in nats.

`doubts_of` judges a run by figures that need no labels, and puts into words where chains disagree,
where more states are needed, and where segments are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.words import percent
from luce.sampling.convergence import ENOUGH_ESS, HEADLINES, LARGEST_RHAT, Kind, rhat_and_ess

if TYPE_CHECKING:
    from xarray import DataTree

# Stretches of time that are compared in each pair of segmentations.  Where more are needed to tell
# all segmentations apart, as many evenly spaced times stand for all.
TIMES_COMPARED = 1 << 15

# Draws of all chains together that are compared in pairs, evenly spaced within each chain.
DRAWS_COMPARED = 120

# Pairs of times whose being in one state is followed through the draws, and the seed of the pairs.
PAIRS_OF_TIMES, SEED_OF_PAIRS = 100, 20130201

# Nats of variation of information by which draws of chains that agree may differ on average.
LARGEST_VARIATION = 0.5

# Draws of chains that disagree differ by more than this, times the variation within chains.  Where
# a distance is that of squares, between / within = 1 + B / W = R-hat² (B the variance of the
# chains' means, W that within chains); this is the square of the classical limit of R-hat, 1.2.
CLEARLY_ABOVE = 1.2**2

# Share of segments that may be as long as `longest`.
LARGEST_SHARE_AT_LONGEST = 0.001

# Probability that any pair of times has an R-hat above its limit though all draws are independent.
_FALSE_ALARM = 0.01

# Draws of a chain that R-hat needs.
_LEAST_DRAWS = 4


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
    rows = _read_states(states, 2)
    if others is None:
        own = np.arange(len(rows))
        return _variations(Pieces.of(rows, most=TIMES_COMPARED), own, own)
    columns = _read_states(others, 2)
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


def _read_states(given: ArrayLike, dims: int) -> npt.NDArray[Any]:
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
    kept = _read_states(states, 3)
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


def _disagree(between: FloatArray | float, within: FloatArray | float) -> BoolArray:
    """Tell where chains disagree; unknown variation within chains counts as none."""
    known = np.nan_to_num(within)
    return np.asarray((between > LARGEST_VARIATION) & (between > CLEARLY_ABOVE * known))


# -- figures and words -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """R-hat and effective sample size of a quantity; nan where the draws are too few."""

    rhat: float = float("nan")
    ess: float = float("nan")


@dataclass(frozen=True)
class Doubts:
    """Figures of a run that need no labels, and what they mean in words.

    Parameters
    ----------
    problems
        Sentences that say why the draws cannot be trusted.
    cares
        Sentences that say why they are to be taken with care.
    scalars
        R-hat and effective sample size by name, of the log-likelihood, of states used, of
        segments and of concentrations that were drawn.  Quantities that are constant, and equal
        in all chains, are left out.
    together
        Largest R-hat and smallest effective sample size of "two times are in one state", among
        pairs of times chosen at random.
    pairs
        Number of such pairs whose draws vary, within chains or between them.
    between, within
        Mean variation of information of two draws of different chains, and of one chain, in nats.
    by_chains
        The same of each pair of chains.
    full
        Share of draws that use all states of the weak limit.
    at_longest
        Share of segments that are as long as `longest`; 0 where that is not set.
    disagree
        Do chains disagree on what is one state?
    unmixed
        Is R-hat of a scalar too large, or its effective sample size too small?
    """

    problems: tuple[str, ...] = ()
    cares: tuple[str, ...] = ()
    scalars: Mapping[str, Figures] = field(default_factory=dict)
    together: Figures = Figures()
    pairs: int = 0
    between: float = float("nan")
    within: float = float("nan")
    by_chains: tuple[tuple[float, ...], ...] = ()
    full: float = 0.0
    at_longest: float = 0.0
    disagree: bool = False
    unmixed: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, problems first."""
        return self.problems + self.cares

    @property
    def kind(self) -> Kind:
        """The verdict: "good", "mixed" or "bad", as `luce.sampling.convergence.Verdict` has it."""
        return "bad" if self.problems else "mixed" if self.cares else "good"

    def __str__(self) -> str:
        return " ".join([f"{HEADLINES[self.kind]}.", *self.sentences])


def doubts_of(run: DataTree) -> Doubts:
    """Judge a run of a semi-Markov model by figures that need no labels.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    """
    try:
        states = run["states"]["states"].transpose("chain", "draw", "time").values
        drawn = run["posterior"].data_vars
        statistics = run["sample_stats"].data_vars
        scalars = {
            str(name): variable.transpose("chain", "draw").values
            for name, variable in drawn.items()
            if set(variable.dims) == {"chain", "draw"}
        }
        for name in ("states_used", "segments", "at_longest"):
            scalars[name] = statistics[name].transpose("chain", "draw").values
        n_states, longest = int(run.attrs["n_states"]), int(run.attrs["longest"])
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"this is no run of a semi-Markov model ({error}); give what SemiMarkov.fit returned."
        ) from None
    at_longest = scalars.pop("at_longest")
    return doubts_about(states, scalars, n_states=n_states, longest=longest, at_longest=at_longest)


def doubts_about(
    states: ArrayLike,
    scalars: Mapping[str, ArrayLike],
    *,
    n_states: int,
    longest: int = 0,
    at_longest: ArrayLike = 0,
) -> Doubts:
    """Judge draws of segmentations by figures that need no labels.

    Draws are "bad" where chains disagree on what is one state, or where R-hat or effective sample
    size of a scalar are outside the limits of `luce.sampling.convergence`; "mixed" where the weak
    limit is full, segments are cut off, times are together more often in some chains than in
    others, or too little is known to judge.

    Parameters
    ----------
    states
        Labels of states of the draws that were kept, shape (chain, draw, time).
    scalars
        Draws by name, each of shape (chain, draw), among them `states_used` and `segments`.
    n_states
        Number of states of the weak limit.
    longest
        Longest possible segment, 0 for none.
    at_longest
        Numbers of segments that are as long as that, shape (chain, draw).
    """
    kept = _read_states(states, 3)
    draws = {name: np.asarray(x, np.float64) for name, x in scalars.items()}
    figures = {name: found for name, x in draws.items() if (found := _figures(x)) is not None}
    together, pairs, doubtful = _together(kept)
    spread = between_and_within(kept)
    used = draws.get("states_used", np.zeros((1, 1)))
    segments = draws.get("segments", np.zeros((1, 1))).sum()
    full = float(np.mean(used >= n_states))
    cut = float(np.sum(at_longest) / segments) if longest > 0 and segments > 0 else 0.0
    disagreement, unmixed = _chains_in_words(spread), _scalars_in_words(figures)
    return Doubts(
        problems=(*disagreement, *unmixed),
        cares=(
            *_pairs_in_words(doubtful, pairs, spread),
            *_limits_in_words(full, n_states, cut, longest),
            *_unknown_in_words(kept.shape),
        ),
        scalars=figures,
        together=together,
        pairs=pairs,
        between=spread.between,
        within=spread.within,
        by_chains=tuple(tuple(map(float, row)) for row in spread.by_chains),
        full=full,
        at_longest=cut,
        disagree=bool(disagreement),
        unmixed=bool(unmixed),
    )


def _figures(x: FloatArray) -> Figures | None:
    """Compute R-hat and effective sample size; None where all draws are equal."""
    if np.ptp(x) == 0:
        return None
    if x.shape[1] < _LEAST_DRAWS:
        return Figures()
    if (np.ptp(x, axis=1) == 0).all():
        return Figures(float("inf"), float(len(x)))
    rhat, ess = rhat_and_ess(x[:, :, None])
    return Figures(float(rhat[0]), float(ess[0]))


def _together(states: npt.NDArray[Any]) -> tuple[Figures, int, int]:
    """Follow pairs of times through the draws: the worst figures, pairs that vary, and doubtful.

    A pair is doubtful where its R-hat is above the limit.
    """
    chains, draws, times = states.shape
    if times < 2:
        return Figures(), 0, 0
    rng = np.random.default_rng(SEED_OF_PAIRS)
    one = rng.integers(times, size=PAIRS_OF_TIMES)
    other = (one + rng.integers(1, times, size=PAIRS_OF_TIMES)) % times
    same = (states[:, :, one] == states[:, :, other]).astype(np.float64)
    same = same[:, :, np.ptp(same, axis=(0, 1)) > 0]
    pairs = same.shape[2]
    if pairs == 0 or draws < _LEAST_DRAWS:
        return Figures(), pairs, 0
    still = (np.ptp(same, axis=1) == 0).all(axis=0)
    rhat, ess = np.full(pairs, np.inf), np.full(pairs, float(chains))
    if not still.all():
        rhat[~still], ess[~still] = rhat_and_ess(same[:, :, ~still])
    doubtful = int(np.count_nonzero(rhat > largest_rhat_of_pairs(chains, draws)))
    return Figures(float(rhat.max()), float(ess.min())), pairs, doubtful


def largest_rhat_of_pairs(chains: int, draws: int) -> float:
    """Compute the R-hat that pairs of times may have.

    It is that of all other figures, or, where few draws were kept, the one that 100 pairs of
    independent draws exceed once in a hundred runs: in m halves of chains of n draws, n B / W has
    an F distribution with m - 1 and m (n - 1) degrees of freedom.
    """
    from scipy.special import fdtri

    m, n = 2 * chains, draws // 2
    comparisons = 2 * PAIRS_OF_TIMES  # of ranks, and of ranks of |x - median|
    f = float(fdtri(m - 1, m * (n - 1), 1 - _FALSE_ALARM / comparisons))
    return max(LARGEST_RHAT, float(np.sqrt((n - 1 + f) / n)))


def _chains_in_words(spread: BetweenAndWithin) -> list[str]:
    """Say which chains disagree on what is one state."""
    if np.isnan(spread.between):
        return []
    chains = len(spread.by_chains)
    own = np.diag(spread.by_chains)
    pairs = np.triu(_disagree(spread.by_chains, (own[:, None] + own) / 2), 1)
    if _disagree(spread.between, spread.within):
        who, between, within = "The chains disagree", spread.between, spread.within
    elif pairs.any():
        a, b = np.unravel_index(np.where(pairs, spread.by_chains, 0).argmax(), pairs.shape)
        who = f"The chains {a} and {b} of {chains} disagree"
        between, within = float(spread.by_chains[a, b]), float((own[a] + own[b]) / 2)
    else:
        return []
    inside = "" if np.isnan(within) else f", two draws of one chain by {within:.2f}"
    return [
        f"{who} on what is one state: two draws of different chains differ by {between:.2f} nats "
        f"of variation of information{inside} (at most {LARGEST_VARIATION:g}, or hardly more than "
        "within a chain, is wanted). Answers mix what the chains found: take a longer warm-up or "
        "more chains, or another emission, and look at the chains one by one."
    ]


def _scalars_in_words(figures: Mapping[str, Figures]) -> list[str]:
    """Name the scalar with the worst R-hat, or else the worst effective sample size."""
    bad = {
        name: own
        for name, own in figures.items()
        if own.rhat > LARGEST_RHAT or own.ess < ENOUGH_ESS
    }
    if not bad:
        return []
    by_rhat = max(bad, key=lambda name: np.nan_to_num(bad[name].rhat, nan=0.0))
    by_ess = min(bad, key=lambda name: bad[name].ess)
    return [
        f"The largest R-hat is {bad[by_rhat].rhat:.3f}, of {by_rhat} (at most {LARGEST_RHAT} is "
        f"wanted), and the smallest effective sample size {bad[by_ess].ess:.0f}, of {by_ess} (at "
        f"least {ENOUGH_ESS:.0f}). Take more draws."
    ]


def _pairs_in_words(doubtful: int, pairs: int, spread: BetweenAndWithin) -> list[str]:
    """Say how many pairs of times are in one state more often in some chains than in others."""
    if doubtful == 0:
        return []
    where = (
        "in some chains than in others"
        if not np.isnan(spread.between)
        else ("in one half of the chain than in the other")
    )
    return [
        f"Of {PAIRS_OF_TIMES} pairs of times chosen at random, {doubtful} "
        f"{'is' if doubtful == 1 else 'are'} in one state more often {where}. Take more draws."
    ]


def _limits_in_words(full: float, n_states: int, cut: float, longest: int) -> list[str]:
    """Say where the weak limit is full, and where segments are cut off."""
    words = []
    if full > 0:
        words.append(
            f"All {n_states} states are used in {_share(full)} of the draws, so that more could be "
            "needed: ask for more with n_states."
        )
    if cut > LARGEST_SHARE_AT_LONGEST:
        words.append(
            f"{_share(cut)} of the segments are as long as longest = {longest} allows (at most "
            f"{percent(LARGEST_SHARE_AT_LONGEST)} is wanted), so that longer ones are cut in two: "
            "raise longest."
        )
    return words


def _unknown_in_words(shape: Sequence[int]) -> list[str]:
    """Say what the number of chains and draws leaves unknown."""
    chains, draws, _ = shape
    words = []
    if chains == 1:
        words.append("One chain has no other to agree with: take several.")
    if draws < _LEAST_DRAWS:
        words.append(
            f"The states of {plural(draws, 'draw')} a chain were kept, too few to tell how far the "
            f"draws of one chain differ: keep {_LEAST_DRAWS} at least (keep_states)."
        )
    return words


def _share(share: float) -> str:
    """Write a share in per cent, with three digits."""
    return f"{100 * share:.3g} %"
