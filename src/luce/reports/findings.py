"""All that the report tells, computed once from the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.answers.ranks import tie_groups
from luce.answers.scales import log_odds
from luce.answers.summaries import Summary, summary
from luce.counts.comparability import comparable_groups, prior_only
from luce.errors import DataError
from luce.posterior import Posterior, posterior_of
from luce.reports.wording import names_of

if TYPE_CHECKING:
    from xarray import DataTree

TOLD_APART = 0.95  # how sure to be that two categories differ


@dataclass(frozen=True, eq=False)
class Findings:
    """A run and what follows from it; rows are categories, the largest mean first.

    Parameters
    ----------
    run
        The draws, with their data and settings.
    ci_prob
        The probability of all intervals.
    table
        One row per category.
    """

    run: DataTree
    ci_prob: float
    table: Summary

    @property
    def n(self) -> int:
        """How many categories there are."""
        return len(self.table.categories)

    @property
    def chains(self) -> int:
        """How many chains there are."""
        return int(self.run["posterior"].sizes["chain"])

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(self.run["posterior"].sizes["draw"])

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return bool(self.run.attrs.get("independent_draws") == 1)

    @cached_property
    def posterior(self) -> Posterior:
        """Data and prior."""
        return posterior_of(self.run)

    @cached_property
    def names(self) -> list[str]:
        """The labels as text."""
        return names_of(self.table.categories)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the intervals."""
        below, above = list(self.table.columns)[2:4]
        return self.table[below], self.table[above]

    @property
    def rank_ends(self) -> tuple[IntArray, IntArray]:
        """Lower and upper ends of the intervals of ranks."""
        return self.table["rank_lb"], self.table["rank_ub"]

    @cached_property
    def tie_groups(self) -> list[list[Label]]:
        """Categories that cannot be told from the first of their group, best group first."""
        return tie_groups(self.run, TOLD_APART)

    @cached_property
    def group(self) -> IntArray:
        """Number of each category's tie group, from 1."""
        of = {label: g for g, group in enumerate(self.tie_groups, 1) for label in group}
        return np.array([of[label] for label in self.table.categories])

    @cached_property
    def prior_only(self) -> BoolArray:
        """Which categories data says nothing about."""
        unknown = set(prior_only(self.posterior.counts))
        return np.array([label in unknown for label in self.table.categories])

    @cached_property
    def comparable(self) -> list[list[Label]]:
        """Groups of categories that data compares."""
        return comparable_groups(self.posterior.counts)

    @cached_property
    def log_odds(self) -> FloatArray | None:
        """Mean log odds against the mean of all; None where draws are stored as 0."""
        import xarray as xr

        # Numbers instead of labels, one of which may be "mean".
        stored = self.run["posterior"].to_dataset()
        labels = stored["category"].to_numpy().tolist()
        kept = [x for x in ("probabilities", "log_probabilities") if x in stored]
        bare = stored[kept].assign_coords(category=np.arange(len(labels)))
        try:
            odds = log_odds(xr.DataTree.from_dict({"posterior": bare})).to_numpy()
        except DataError:
            return None
        place = {label: i for i, label in enumerate(labels)}
        order = [place[label] for label in self.table.categories]
        return np.asarray(odds.mean(axis=(0, 1))[order])


def find(run: DataTree, ci_prob: float) -> Findings:
    """Look at a run; refuses what is none."""
    posterior = posterior_of(run)
    found = Findings(run, ci_prob, summary(run, ci_prob, sort=True))
    found.__dict__["posterior"] = posterior
    return found
