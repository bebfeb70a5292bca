"""All that a report tells, computed once from the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.answers.ranks import in_order, not_told_from, tie_groups
from luce.answers.scales import log_odds
from luce.answers.summaries import Summary, summary, without_ranks
from luce.answers.view import DrawsView, tail_of
from luce.counts.comparability import comparable_groups, prior_only
from luce.errors import DataError
from luce.posterior import Posterior, posterior_of
from luce.reports.formatting import names_of
from luce.sequences.hdp_runs import Transitions, transitions_of

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.sequences.hdp import HDPTransitions

TOLD_APART = 0.95  # probability from which on two categories count as different
_MOST_COMPARISONS = 2e9  # draws times pairs of categories that are compared for a page


@dataclass(frozen=True, eq=False)
class Findings:
    """A run and its summaries; rows are the compared probabilities, the largest mean first.

    Parameters
    ----------
    run
        The draws, with their data and settings.
    ci_prob
        The probability of all intervals.
    whole
        The same draws, read once.
    view
        Those of the probabilities that are compared with each other.
    table
        Summary of these, of effects and of parameters.
    """

    run: DataTree
    ci_prob: float
    whole: DrawsView
    view: DrawsView
    table: Summary

    subjects: ClassVar[str] = "categories"  # the compared probabilities in a word

    @property
    def n(self) -> int:
        """Number of compared probabilities."""
        return len(self.table.categories)

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.run["posterior"].sizes["chain"])

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return int(self.run["posterior"].sizes["draw"])

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return bool(self.run.attrs.get("independent_draws") == 1)

    @cached_property
    def names(self) -> list[str]:
        """Labels of the rows as text."""
        return names_of(self.table.categories)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the intervals."""
        return self.ends_of(self.table)

    def ends_of(self, table: Summary) -> tuple[FloatArray, FloatArray]:
        """Read lower and upper ends of the intervals of a summary."""
        name = f"eti{round(100 * self.ci_prob, 10):g}"
        return table[f"{name}_lb"], table[f"{name}_ub"]

    @property
    def rank_ends(self) -> tuple[IntArray, IntArray]:
        """Lower and upper ends of the intervals of ranks."""
        return self.table["rank_lb"], self.table["rank_ub"]

    @cached_property
    def tie_groups(self) -> list[list[Label]]:
        """Groups of which any two categories of different ones are told apart, the best first."""
        return tie_groups(self.view, TOLD_APART)

    @cached_property
    def groups_in_order(self) -> float:
        """Share of draws in which all categories of different groups are in order at once."""
        return in_order(self.view, self.tie_groups)

    @cached_property
    def not_told_from(self) -> IntArray | None:
        """Number of others that each row is not told from; None where that takes too long."""
        if self.n**2 / 2 * self.view.n_draws > _MOST_COMPARISONS:
            return None
        others = not_told_from(self.view, TOLD_APART)
        return np.array([len(others[label]) for label in self.table.categories])

    @cached_property
    def group(self) -> IntArray:
        """Number of each row's tie group, from 1."""
        of = {label: g for g, group in enumerate(self.tie_groups, 1) for label in group}
        return np.array([of[label] for label in self.table.categories])

    @cached_property
    def rest(self) -> Summary | None:
        """Summary of the categories that are not compared: effects, and those not asked for."""
        compared = set(self.table.categories)
        others = [label for label in self.whole.categories if label not in compared]
        if not others:
            return None
        return without_ranks(self.whole.take(self.whole.numbers(others, "others")), self.ci_prob)

    @cached_property
    def effective(self) -> dict[Label, float]:
        """Bulk effective sample size of every category, compared or not."""
        tables = [table for table in (self.table, self.rest) if table is not None]
        return {
            label: float(ess)
            for table in tables
            for label, ess in zip(table.categories, table["ess_bulk"], strict=True)
        }

    @property
    def parameters(self) -> Summary | None:
        """Summary of what was drawn for the model as a whole, such as a concentration."""
        return self.table.parameters


@dataclass(frozen=True, eq=False)
class ChoiceFindings(Findings):
    """Findings of a run that `Posterior.sample` made; rows are categories.

    Parameters
    ----------
    posterior
        Data and prior of the run.
    """

    posterior: Posterior

    @property
    def nouns(self) -> tuple[str, str]:
        """The compared probabilities in a word, one of them and several."""
        if self.table.effects is None:
            return "category", "categories"
        return "competitor", "competitors"

    @property
    def is_selection(self) -> bool:
        """Are there categories, beside effects, that are not compared?"""
        effects = self.posterior.counts.effects
        return any(c not in effects for c in self.rest.categories) if self.rest else False

    @cached_property
    def prior_only(self) -> BoolArray:
        """Marks of the categories that the data says nothing about."""
        unknown = set(prior_only(self.posterior.counts))
        return np.array([label in unknown for label in self.table.categories])

    @cached_property
    def comparable(self) -> list[list[Label]]:
        """Groups of categories that the data compares."""
        return comparable_groups(self.posterior.counts)

    @cached_property
    def log_odds(self) -> FloatArray | None:
        """Mean log odds against the mean of all; None where draws are stored as 0."""
        try:
            odds = log_odds(self.view).to_numpy()
        except DataError:
            return None
        place = {label: i for i, label in enumerate(self.view.categories)}
        order = [place[label] for label in self.table.categories]
        return np.asarray(odds.mean(axis=(0, 1))[order])


@dataclass(frozen=True, eq=False)
class TransitionFindings(Findings):
    """Findings of a run that `HDPTransitions.fit` made; rows are states as destinations.

    Parameters
    ----------
    model
        The prior.
    data
        The observed transitions.
    """

    subjects: ClassVar[str] = "states"

    model: HDPTransitions
    data: Transitions

    @property
    def forbidden(self) -> BoolArray:
        """Marks of the transitions that cannot occur, (source, state)."""
        return self.run["constant_data"]["forbidden"].to_numpy().astype(bool)

    @property
    def rows(self) -> DataArray | None:
        """Draws of the transition probabilities; None where they were not kept."""
        return self.run["posterior"].to_dataset().get("rows")

    @cached_property
    def mean_rows(self) -> FloatArray:
        """Posterior means of the transition probabilities, (source, state), where kept."""
        return np.asarray(self.run["posterior"]["rows"].mean(("chain", "draw")))

    @property
    def source_names(self) -> list[str]:
        """The states that are left, as text."""
        return names_of(list(self.data.labels))

    @property
    def state_names(self) -> list[str]:
        """The states that are entered, as text."""
        return names_of(self.run["posterior"]["state"].to_numpy().tolist())


def find(
    run: DataTree, ci_prob: float, among: Labels | None = None
) -> ChoiceFindings | TransitionFindings:
    """Summarise a run; refuse anything that is no run.

    Parameters
    ----------
    run
        The draws.
    ci_prob
        The probability of all intervals.
    among
        The categories or states to compare, as in `luce.summary`.
    """
    tail_of(ci_prob)
    if getattr(run, "attrs", {}).get("model") == "transitions":
        model, data = transitions_of(run)
        return TransitionFindings(*_summarised(run, ci_prob, among), model, data)
    posterior = posterior_of(run)
    return ChoiceFindings(*_summarised(run, ci_prob, among), posterior)


def _summarised(
    run: DataTree, ci_prob: float, among: Labels | None
) -> tuple[DataTree, float, DrawsView, DrawsView, Summary]:
    """Read the draws once; return what all findings hold."""
    whole = DrawsView.of(run)
    table = summary(whole, ci_prob, among=among, sort=True)
    return run, ci_prob, whole, DrawsView.ranked(whole, among), table


def in_words(name: object) -> str:
    """Write the name of a parameter without underscores."""
    return str(name).replace("_", " ")
