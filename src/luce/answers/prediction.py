"""Predict data from draws: densities of new data, and replicates of a design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, SeedLike
from luce.answers.view import DrawsView
from luce.counts.comparability import unconditional
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily, describe_set
from luce.counts.labels import plural, some
from luce.counts.likelihood import set_probabilities
from luce.errors import DataError
from luce.estimates.estimate import Estimate
from luce.model.contents import model_of, require_run

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.answers.view import DrawsLike

# Smallest probability of a set that a sum of doubles has with all its digits.
_SMALLEST = 1e-290
# Largest error of a draw's sum, which should be 1; single precision stays below it.
_SUM_TOLERANCE = 1e-6
# Largest number of outcomes: whole numbers up to this one are exact as doubles.
_LARGEST = 2.0**53


def log_predictive(draws: DrawsLike, new_counts: ConditionalCounts) -> Estimate:
    """Compute the log posterior predictive density of new data, taken as a whole.

        log 1/D Σ_d Π_i p_di^(n_i) Π_S p_d(S)^(e_S),        d = 1..D all draws,

    without multinomial coefficients.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    new_counts
        Counts over the same categories, in any order.

    Returns
    -------
    Estimate
        The number, with its Monte Carlo standard error by the delta method: nan for fewer than 4
        draws a chain.  ``details["effective_draws"]`` is (Σ w)² / Σ w² of the likelihoods w of the
        draws, the number of draws that the estimate rests on.  Do not trust the error where these
        are few.

    Examples
    --------
    One more success after one: probability 2/3.

    >>> import luce, numpy as np
    >>> once = luce.ConditionalCounts(2).observe({0: 1})
    >>> draws = luce.Posterior(once).sample(20_000, seed=1, progress=False)
    >>> found = luce.log_predictive(draws, once)
    >>> round(float(np.exp(found.value)), 2), found.standard_error < 0.01
    (0.67, True)
    """
    x = DrawsView.of(draws)
    counts, family = aligned(x, new_counts, "new_counts")
    logs = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(x.n_categories + len(family.members) + family.n_sets):
        logs[chain, rows] = _log_likelihoods(x, x.logs(chain, rows), counts, family)
    top = logs.max()
    if top == -np.inf:
        return Estimate(-np.inf, float("nan"), "draws", {"effective_draws": 0.0})
    weights = np.exp(logs - top)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return Estimate(
        value=float(top + np.log(weights.mean())),
        standard_error=_relative_error(weights),
        method="draws",
        details={"effective_draws": effective},
    )


def posterior_predictive(
    draws: DrawsLike, design: ConditionalCounts, seed: SeedLike = None
) -> DataArray:
    """Draw replicates of a design, one for each draw of the probabilities.

    For each set S of the design with its m outcomes, m outcomes are drawn with probabilities
    p_i / p(S).

    Parameters
    ----------
    draws
        As for `log_predictive`.
    design
        Counts whose sets and numbers of outcomes are replicated; all outcomes must be single
        categories.  Give the data itself for a posterior predictive check.
    seed
        The same seed gives the same replicates.

    Returns
    -------
    DataArray
        Whole numbers, dimensions (chain, draw, outcome).  Along `outcome` lie the coordinates
        `set` (its place in ``design.sets``, -1 for all categories), `given` (the set in words),
        `category` (the label) and `total` (m).  Its length is the sum of the sets' sizes.

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
    x = DrawsView.of(draws)
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


def attach_posterior_predictive(
    run: DataTree, design: ConditionalCounts | None = None, seed: SeedLike = None
) -> DataTree:
    """Add a group `posterior_predictive` with replicates of a design to a run.

    Parameters
    ----------
    run
        A run of `Posterior.sample`; it is not changed.
    design
        As for `posterior_predictive`; the run's own data unless given.
    seed
        The same seed gives the same replicates.

    Returns
    -------
    DataTree
        The run with the new group: `counts`, dimensions (chain, draw, outcome).

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab")
    >>> run = luce.Posterior(counts).sample(100, seed=1)
    >>> run = luce.answers.attach_posterior_predictive(run, seed=2)
    >>> run["posterior_predictive"]["counts"].sum("outcome").values.max()
    np.int64(5)
    """
    require_run(run)
    design = model_of(run).counts if design is None else design
    return with_group(run, "posterior_predictive", posterior_predictive(run, design, seed))


def with_group(run: DataTree, group: str, values: DataArray) -> DataTree:
    """Copy a run, data shared, and add a group with one variable."""
    import xarray as xr

    return run.assign({group: xr.DataTree(values.to_dataset())})


def aligned(x: DrawsView, counts: ConditionalCounts, what: str) -> tuple[FloatArray, SetFamily]:
    """Renumber counts and sets by the draws' categories."""
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
    x: DrawsView, logs: FloatArray, counts: FloatArray, family: SetFamily
) -> FloatArray:
    """Compute log likelihoods, shape (draw,), from log probabilities of shape (draw, category)."""
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


def set_logarithms(x: DrawsView, logs: FloatArray, family: SetFamily) -> FloatArray:
    """Compute log probabilities of sets, shape (draw, set), from those of categories."""
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
    """Compute the standard error of the mean of correlated weights, relative to that mean."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    if weights.shape[1] < 4:
        return float("nan")
    if (weights == weights.flat[0]).all():
        return 0.0
    error = array_stats.mcse(weights, chain_axis=0, draw_axis=1)
    return float(error / weights.mean())


def _planned(
    x: DrawsView, design: ConditionalCounts, family: SetFamily
) -> list[tuple[int, IntArray, int, str]]:
    """List the sets of a design: place, members, number of outcomes, and the set in words."""
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
