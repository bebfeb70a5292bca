"""Sensitivity to the prior: the same data under several concentrations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Labels
from luce.answers.ranks import expected_ranks, probability_best
from luce.answers.scales import intervals
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import read_number
from luce.errors import DataError
from luce.model.priors import ParameterPrior
from luce.posterior import Posterior

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


def sensitivity(
    counts: ConditionalCounts,
    concentrations: Iterable[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
    draws: int = 1000,
    *,
    ci_prob: float = 0.9,
    among: Labels | None = None,
    home: ParameterPrior | None = None,
    tie: ParameterPrior | Mapping[str, ParameterPrior] | None = None,
    **options: Any,
) -> Dataset:
    """Draw the posterior under each of several concentrations and compare the answers.

    Parameters
    ----------
    counts
        The data.
    concentrations
        Positive numbers, each the prior's parameter of all categories.
    draws
        Draws a chain.
    ci_prob
        Probability of the intervals.
    among
        Categories to compare, ranked as if no others existed; all unless given.
    home, tie
        Priors of the parameters of contests, as in `Posterior`; the same for all concentrations.
    options
        Options of `Posterior.sample`: chains, seed, method and so on.

    Returns
    -------
    Dataset
        mean, sd, lower and upper of the probabilities, p_best and expected rank, with dimensions
        (concentration, category).

    Examples
    --------
    >>> counts = ConditionalCounts("ab").observe({"a": 3})
    >>> sensitivity(counts, [1, 9], 4000, seed=1)["mean"].sel(category="a").to_numpy().round(2)
    array([0.8 , 0.57])
    """
    import xarray as xr

    values = [read_number(a, "the concentration") for a in concentrations]
    if not values or len(set(values)) < len(values):
        raise DataError(f"concentrations = {values}; give one or more different numbers.")
    posteriors = [Posterior(counts, a, home=home, tie=tie) for a in values]
    answers = [_answers(each.sample(draws, **options), ci_prob, among) for each in posteriors]
    index = xr.DataArray(np.asarray(values), dims="concentration", name="concentration")
    return xr.concat(answers, index)


def _answers(run: DataTree, ci_prob: float, among: Labels | None) -> Dataset:
    """Return intervals, probabilities to be best and expected ranks of one run."""
    best = probability_best(run, among=among)
    answer = intervals(run["posterior"]["probabilities"], ci_prob).sel(category=best["category"])
    answer["p_best"] = best
    answer["rank"] = expected_ranks(run, among=among)["mean"]
    return answer
