"""What the draws say about outcomes not seen yet: their density, and replicates of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, SeedLike
from luce.answers.view import LabelledDraws, read_labelled
from luce.counts.comparability import unconditional
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily, describe_set
from luce.counts.labels import plural, some
from luce.counts.likelihood import set_probabilities
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.given import DrawsLike

# Sums of probabilities above this have all their digits; below, logarithms are added.
_SMALLEST = 1e-290
# Draws add up to 1 within this; single precision does.
_SUM_TOLERANCE = 1e-6
# Whole numbers up to here are exact as doubles.
_LARGEST = 2.0**53


class LogPredictive(float):
    """A log predictive density that knows its own error.

    Attributes
    ----------
    standard_error
        Monte Carlo standard error, by the delta method; nan for fewer than 4 draws a chain.
    effective_draws
        (Σ w)² / Σ w² of the likelihoods w of the draws: on how many draws the estimate rests.  Do
        not trust the error when these are few.
    """

    standard_error: float
    effective_draws: float

    def __new__(cls, value: float, standard_error: float, effective_draws: float) -> LogPredictive:
        """Make one."""
        new = super().__new__(cls, value)
        new.standard_error = standard_error
        new.effective_draws = effective_draws
        return new

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    def __repr__(self) -> str:
        return (
            f"LogPredictive({float(self)!r}, standard_error={self.standard_error!r}, "
            f"effective_draws={self.effective_draws!r})"
        )

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]
        return float(self), self.standard_error, self.effective_draws


def log_predictive(draws: DrawsLike, new_counts: ConditionalCounts) -> LogPredictive:
    """Log posterior predictive density of new data, taken as a whole.

        log 1/D Σ_d Π_i p_di^(n_i) Π_S p_d(S)^(e_S),        d = 1..D all draws,

    without multinomial coefficients.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    new_counts
        Counts over the same categories, in any order.

    Returns
    -------
    LogPredictive
        The number, with its Monte Carlo error as `standard_error`.

    Examples
    --------
    One more success after one: probability 2/3.

    >>> import luce, numpy as np
    >>> once = luce.ConditionalCounts(2).observe({0: 1})
    >>> draws = luce.Posterior(once).sample(20_000, seed=1, progress=False)
    >>> found = luce.log_predictive(draws, once)
    >>> round(float(np.exp(found)), 2), found.standard_error < 0.01
    (0.67, True)
    """
    x = read_labelled(draws)
    counts, family = aligned(x, new_counts, "new_counts")
    logs = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(x.n_categories + len(family.members) + family.n_sets):
        logs[chain, rows] = _log_likelihoods(x, x.logs(chain, rows), counts, family)
    top = logs.max()
    if top == -np.inf:
        return LogPredictive(-np.inf, float("nan"), 0.0)
    weights = np.exp(logs - top)
    return LogPredictive(
        float(top + np.log(weights.mean())),
        _relative_error(weights),
        float(weights.sum() ** 2 / (weights**2).sum()),
    )


def posterior_predictive(
    draws: DrawsLike, design: ConditionalCounts, seed: SeedLike = None
) -> DataArray:
    """Replicate data: for each draw, what a design might record.

    For each set S of the design and the m outcomes that were recorded in it, m outcomes are drawn
    with probabilities p_i / p(S), given the draw.

    Parameters
    ----------
    draws
        As for `log_predictive`.
    design
        Its sets and how many outcomes each has; which outcomes they were does not matter, but all
        must be single categories.  The data itself, for a posterior predictive check.
    seed
        The same seed gives the same replicates.

    Returns
    -------
    DataArray
        Whole numbers, dimensions (chain, draw, outcome).  Along `outcome` lie the coordinates
        `set` (its place in ``design.sets``, -1 for all categories), `given` (the set in words),
        `category` (the label) and `total` (m).  Takes the sets' expanded size for each draw.

    Examples
    --------
    >>> import luce
    >>> design = luce.ConditionalCounts(3).observe({0: 4}, within=[0, 1]).observe({2: 2})
    >>> replicates = luce.answers.posterior_predictive([[[0.2, 0.2, 0.6]]], design, seed=1)
    >>> replicates["category"].values.tolist(), replicates["total"].values.tolist()
    ([0, 1, 0, 1, 2], [4, 4, 2, 2, 2])
    >>> replicates.groupby("set").sum("outcome").values.tolist()
    [[[2, 4]]]
    """
    x = read_labelled(draws)
    _, family = aligned(x, design, "design")
    sets = _planned(x, design, family)
    if not sets:
        raise DataError("the design records nothing; give counts with one outcome at least.")
    rng = np.random.default_rng(seed)
    sizes = [len(members) for _, members, _, _ in sets]
    out = np.empty((*x.values.shape[:2], sum(sizes)), np.int64)
    start = 0
    for _, members, total, _ in sets:
        here = slice(start, start + len(members))
        start += len(members)
        for chain, rows in x.blocks(len(members)):
            out[chain, rows, here] = rng.multinomial(total, x.shares(chain, rows, members))
    along: dict[str, Any] = {
        "set": np.repeat([t for t, _, _, _ in sets], sizes),
        "given": np.repeat([words for _, _, _, words in sets], sizes),
        "category": x.index["category"][np.concatenate([members for _, members, _, _ in sets])],
        "total": np.repeat([total for _, _, total, _ in sets], sizes),
    }
    bare = x.labelled(out, ("chain", "draw", "outcome"), "counts")
    return bare.assign_coords({name: ("outcome", values) for name, values in along.items()})


def aligned(x: LabelledDraws, counts: ConditionalCounts, what: str) -> tuple[FloatArray, SetFamily]:
    """Counts and sets with the draws' category numbers."""
    if not isinstance(counts, ConditionalCounts):
        raise DataError(f"{what} must be ConditionalCounts; {type(counts).__name__} was given.")
    place = x.categories.index
    strangers = [c for c in counts.categories if c not in place]
    if strangers or counts.n_categories != x.n_categories:
        unknown = f"; not so {some(strangers)}" if strangers else ""
        raise DataError(
            f"{what} has {counts.n_categories} categories, the draws have {x.n_categories}; they "
            f"must be the same, in any order. The draws' are {some(x.categories)}{unknown}."
        )
    where = np.fromiter((place[c] for c in counts.categories), np.int64, x.n_categories)
    ordered = np.empty(x.n_categories)
    ordered[where] = counts.category_counts
    return ordered, counts.sets.renumbered(where, x.n_categories)


def _log_likelihoods(
    x: LabelledDraws, logs: FloatArray, counts: FloatArray, family: SetFamily
) -> FloatArray:
    """Log likelihood of each draw, shape (draw,), from logs of shape (draw, category)."""
    p = np.exp(logs)
    off = np.abs(p.sum(axis=1) - 1)
    if off.max() > _SUM_TOLERANCE:
        raise DataError(
            f"each draw must add up to 1 within {_SUM_TOLERANCE:g}; one is off by {off.max():.3g}. "
            "Give all categories, and divide by their sum."
        )
    seen = np.flatnonzero(counts)
    out = logs[:, seen] @ counts[seen]
    if family.n_sets:
        out += set_logarithms(x, logs, family) @ family.exponent
    return np.asarray(out)


def set_logarithms(x: LabelledDraws, logs: FloatArray, family: SetFamily) -> FloatArray:
    """Log probability of each set, shape (draw, set), from logs of shape (draw, category)."""
    sums = set_probabilities(np.exp(logs), family)
    tiny = sums < _SMALLEST
    with np.errstate(divide="ignore"):
        log_sums = np.log(sums)
    for t in np.flatnonzero(tiny.any(axis=0)):
        members, rows = family.set_members(int(t)), np.flatnonzero(tiny[:, t])
        log_sums[rows, t] = np.logaddexp.reduce(logs[np.ix_(rows, members)], axis=1)
        if family.exponent[t] < 0:
            x.refuse_zeros(np.isneginf(log_sums[rows, t]), members, "the likelihood")
    return np.asarray(log_sums)


def _relative_error(weights: FloatArray) -> float:
    """Standard error of the mean of correlated weights, as a part of that mean."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    if weights.shape[1] < 4:
        return float("nan")
    if (weights == weights.flat[0]).all():
        return 0.0
    error = array_stats.mcse(weights, chain_axis=0, draw_axis=1)
    return float(error / weights.mean())


def _planned(
    x: LabelledDraws, design: ConditionalCounts, family: SetFamily
) -> list[tuple[int, IntArray, int, str]]:
    """Sets of a design: place, members, number of outcomes, and the set in words."""
    grouped = np.flatnonzero(family.exponent > 0)
    if len(grouped):
        words = describe_set(x.categories.labels, family, int(grouped[0]))
        raise DataError(
            f"the design has grouped outcomes ({words}), whose conditions cannot be read off the "
            "counts. Only outcomes that are single categories can be replicated."
        )
    planned = []
    for t, exponent in enumerate(family.exponent.tolist()):
        words = describe_set(x.categories.labels, family, t).split(" given ", 1)[1]
        planned.append((t, family.set_members(t), -exponent, words))
    free = unconditional(design)
    if free > 0:
        planned.append((-1, np.arange(x.n_categories), free, "all"))
    for _, _, total, words in planned:
        if not total.is_integer() or total > _LARGEST:
            raise DataError(
                f"the design has {plural(total, 'outcome')} given {words}; whole numbers up to "
                "2^53 can be replicated."
            )
    return [(t, members, int(total), words) for t, members, total, words in planned]
