"""Judge draws of segmentations by figures that need no labels, and put the doubts into words.

Where chains disagree on what is one state, where more states are needed, where segments are cut
off: a run says so itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.words import percent
from luce.sampling.convergence import ENOUGH_ESS, HEADLINES, LARGEST_RHAT, Kind, rhat_and_ess
from luce.sequences.agreement import (
    LARGEST_VARIATION,
    BetweenAndWithin,
    between_and_within,
    disagree,
    read_states,
)

if TYPE_CHECKING:
    from xarray import DataTree

# Pairs of times whose being in one state is followed through the draws, and the seed of the pairs.
PAIRS_OF_TIMES, SEED_OF_PAIRS = 100, 20130201

# Share of segments that may be as long as `longest`.
LARGEST_SHARE_AT_LONGEST = 0.001

# Probability that any pair of times has an R-hat above its limit though all draws are independent.
_FALSE_ALARM = 0.01

# Draws of a chain that R-hat needs.
_LEAST_DRAWS = 4


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
    limits
        Those of the `cares` that say that states or the longest segment do not suffice.
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
    limits: tuple[str, ...] = ()

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
    kept = read_states(states, 3)
    draws = {name: np.asarray(x, np.float64) for name, x in scalars.items()}
    figures = {name: found for name, x in draws.items() if (found := _figures(x)) is not None}
    together, pairs, doubtful = _together(kept)
    spread = between_and_within(kept)
    used = draws.get("states_used", np.zeros((1, 1)))
    segments = draws.get("segments", np.zeros((1, 1))).sum()
    full = float(np.mean(used >= n_states))
    cut = float(np.sum(at_longest) / segments) if longest > 0 and segments > 0 else 0.0
    disagreement, unmixed = _chains_in_words(spread), _scalars_in_words(figures)
    limits = _limits_in_words(full, n_states, cut, longest)
    return Doubts(
        problems=(*disagreement, *unmixed),
        cares=(
            *_pairs_in_words(doubtful, pairs, spread),
            *limits,
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
        limits=tuple(limits),
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
    pairs = np.triu(disagree(spread.by_chains, (own[:, None] + own) / 2), 1)
    if disagree(spread.between, spread.within):
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
