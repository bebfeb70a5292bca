"""All that a report tells, computed once from the run."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.answers.diagnostics import verdict
from luce.answers.ranks import can_compare_pairs, in_order, not_told_from, tie_groups
from luce.answers.scales import intervals, log_odds
from luce.answers.summaries import Summary, summary, without_ranks
from luce.answers.view import DrawsView, tail_of
from luce.counts.comparability import comparable_groups
from luce.decide.thin_evidence import Evidence, evidence_of
from luce.errors import DataError
from luce.posterior import Posterior, posterior_of
from luce.reports.formatting import names_of
from luce.sampling.convergence import Verdict
from luce.sequences import segmentations
from luce.sequences.doubts import Doubts
from luce.sequences.hdp_runs import Transitions, transitions_of
from luce.sequences.matched_states import MatchedStates
from luce.sequences.segmentations import KeptStates
from luce.sequences.semi_markov_runs import semi_markov_of
from luce.sequences.separate_rows import SeparateRows
from luce.sequences.separate_rows_runs import separate_rows_of
from luce.sequences.series import Series
from luce.sequences.tables import Table

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from luce.sequences.hdp import HDPTransitions
    from luce.sequences.semi_markov import SemiMarkov

TOLD_APART = 0.95  # probability from which on two categories count as different
# Ratio of the largest mean probability to the least, from which on a picture of probabilities would
# squash the small ones together.
_WIDE = 30.0


@dataclass(frozen=True, eq=False)
class RunFindings:
    """A run, and the probability of the intervals that are told of it.

    Parameters
    ----------
    run
        The draws, with their data and settings.
    ci_prob
        The probability of all intervals.
    """

    run: DataTree
    ci_prob: float

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


@dataclass(frozen=True, eq=False)
class Findings(RunFindings):
    """A run and its summaries; rows are the compared probabilities, by expected rank.

    Parameters
    ----------
    whole
        The same draws, read once.
    view
        Those of the probabilities that are compared with each other.
    table
        Summary of these, of effects and of parameters.
    """

    whole: DrawsView
    view: DrawsView
    table: Summary

    subjects: ClassVar[str] = "categories"  # the compared probabilities in a word

    @property
    def scale(self) -> str:
        """Scale of pictures of strengths, one of `luce.answers.scales.SCALES`."""
        return "probability"

    @property
    def n(self) -> int:
        """Number of compared probabilities."""
        return len(self.table.categories)

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
        if not can_compare_pairs(self.view):
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
        """Bulk effective sample size of every category, compared or not, and of parameters."""
        tables = [x for x in (self.parameters, self.table, self.rest) if x is not None]
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
        if self.table.effects is None and self.whole.events is None:
            return "category", "categories"
        return "competitor", "competitors"

    @property
    def scale(self) -> str:
        """Scale of strengths on which no outlier squashes the others, one of `scales.SCALES`."""
        mean = self.table["mean"]
        if self.log_odds is None or mean.max() <= _WIDE * mean.min():
            return "probability"
        return "log-odds" if self.nouns[0] == "category" else "elo"

    @property
    def is_selection(self) -> bool:
        """Are there categories, beside effects, that are not compared?"""
        effects = self.posterior.counts.effects
        return any(c not in effects for c in self.rest.categories) if self.rest else False

    @property
    def are_some(self) -> bool:
        """Are there categories, beside effects, that are not compared, or were not kept?"""
        counts = self.posterior.counts
        return bool(set(counts.categories) - set(counts.effects) - set(self.table.categories))

    @property
    def prior_only(self) -> BoolArray:
        """Marks of the categories that the data says nothing about."""
        return self.evidence.no_data

    @cached_property
    def evidence(self) -> Evidence:
        """How much data each row rests on."""
        rows = self.view.take(self.view.numbers(self.table.categories, "rows"))
        return evidence_of(rows, self.posterior.counts, self.posterior.model)

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


class MatrixFindings:
    """Transitions of a run: draws of the matrix, and what was seen.  For findings to inherit."""

    run: DataTree
    ci_prob: float

    @property
    @abstractmethod
    def named_states(self) -> int:
        """Number of states that have a name."""

    @property
    def forbidden(self) -> BoolArray:
        """Marks of the transitions that cannot occur, (source, state)."""
        return self.run["constant_data"]["forbidden"].to_numpy().astype(bool)

    @property
    def seen(self) -> FloatArray:
        """Transitions in the data, (source, state)."""
        return np.asarray(self.run["observed_data"]["transition_counts"].values)

    @property
    def n_transitions(self) -> float:
        """Number of transitions in the data."""
        return float(self.seen.sum())

    @property
    def starts(self) -> FloatArray | None:
        """First states of sequences, shape (state,), where the model has a law for them."""
        observed = self.run["observed_data"].to_dataset()
        return observed["starts"].values if "starts" in observed else None

    @property
    def rows(self) -> DataArray | None:
        """Draws of the transition probabilities; None where they were not kept."""
        return self.run["posterior"].to_dataset().get("rows")

    @cached_property
    def row_intervals(self) -> Dataset:
        """Mean and ends of the interval of each transition, (source, state), where kept."""
        return intervals(self.run["posterior"]["rows"], self.ci_prob)

    @property
    def source_names(self) -> list[str]:
        """The states that are left, as text."""
        return names_of(self.run["observed_data"]["source"].to_numpy().tolist())

    @property
    def state_names(self) -> list[str]:
        """The states that are entered, as text."""
        return names_of(self.run["observed_data"]["state"].to_numpy().tolist())


@dataclass(frozen=True, eq=False)
class TransitionFindings(MatrixFindings, Findings):
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
    def named_states(self) -> int:
        """Number of states, the remainder left out."""
        return len(self.data.labels)


@dataclass(frozen=True, eq=False)
class SeparateRowsFindings(MatrixFindings, RunFindings):
    """Findings of a run that `SeparateRows.sample` made.

    Parameters
    ----------
    model
        Counts and priors of the rows.
    """

    model: SeparateRows

    parameters: ClassVar[None] = None  # all that was drawn is in the rows

    @property
    def n_transitions(self) -> float:
        """Number of transitions in the data, those to one of several states among them."""
        return self.model.n_outcomes

    @property
    def named_states(self) -> int:
        """Number of states."""
        return len(self.model.states)

    @property
    def n(self) -> int:
        """Number of transitions that can occur."""
        return int(np.count_nonzero(~self.forbidden))


@dataclass(frozen=True, eq=False)
class SegmentFindings(RunFindings):
    """Findings of a run that `SemiMarkov.fit` made.

    Parameters
    ----------
    model
        The model, its priors explicit.
    may_end
        Rows with which a segment may end; no entries where all rows are such.
    states
        States of the point estimate, and the draws matched to them.
    """

    model: SemiMarkov
    may_end: BoolArray
    states: MatchedStates

    @property
    def kept(self) -> KeptStates:
        """States of the draws that were kept."""
        return self.states.kept

    @property
    def series(self) -> Series:
        """The data."""
        return self.states.series

    @property
    def tail(self) -> float:
        """Probability beyond each end of an interval."""
        return tail_of(self.ci_prob)

    @cached_property
    def doubts(self) -> Doubts:
        """Figures on convergence that need no labels, and their meaning in words."""
        return self.kept.doubts

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict on the quantities without labels, as for all runs."""
        return verdict(self.run)

    @cached_property
    def table(self) -> Table:
        """Summary of the states of the point estimate."""
        return segmentations.summary(self.kept, self.ci_prob)

    @cached_property
    def segments(self) -> Table:
        """Segments of the point estimate."""
        return segmentations.segments(self.kept)

    @cached_property
    def changes(self) -> FloatArray:
        """Probability that a segment begins at each row, shape (time,)."""
        return np.asarray(segmentations.change_probability(self.kept).values)

    @cached_property
    def numbers_of_states(self) -> list[tuple[int, float]]:
        """Numbers of states that hold at least 1 % of the time, the most probable first."""
        counted = segmentations.states_counted(self.kept).values
        numbers, times = np.unique(counted, return_counts=True)
        order = np.lexsort((numbers, -times))
        return [(int(numbers[k]), float(times[k] / counted.size)) for k in order]

    @cached_property
    def disagreement(self) -> FloatArray:
        """Share of time in which each draw is not in the matched state, shape (draw,)."""
        return self.kept.matched[1]

    def figure(self, name: str) -> FloatArray:
        """Return all draws of a figure without labels, shape (chain, draw)."""
        group = "posterior" if name in self.run["posterior"].data_vars else "sample_stats"
        return np.asarray(self.run[group][name].variable.transpose("chain", "draw").values)

    def interval(self, draws: FloatArray) -> tuple[float, float]:
        """Compute the ends of the central interval of draws, nan being left out."""
        there = draws[~np.isnan(draws)]
        if len(there) == 0:
            return float("nan"), float("nan")
        low, high = np.quantile(there, [self.tail, 1 - self.tail])
        return float(low), float(high)


AnyFindings: TypeAlias = (
    ChoiceFindings | TransitionFindings | SeparateRowsFindings | SegmentFindings
)


def find(run: DataTree, ci_prob: float, among: Labels | None = None) -> AnyFindings:
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
    kind = getattr(run, "attrs", {}).get("model")
    if kind == "semi-markov":
        return _find_segments(run, ci_prob, among)
    if kind == "separate-rows":
        if among is not None:
            raise DataError(
                "among chooses categories to rank; "
                "the rows of a transition matrix are not ranked. Leave it out."
            )
        return SeparateRowsFindings(run, ci_prob, separate_rows_of(run))
    if kind == "transitions":
        model, data = transitions_of(run)
        return TransitionFindings(*_summarised(run, ci_prob, among), model, data)
    posterior = posterior_of(run)
    return ChoiceFindings(*_summarised(run, ci_prob, among), posterior)


def _find_segments(run: DataTree, ci_prob: float, among: Labels | None) -> SegmentFindings:
    if among is not None:
        raise DataError(
            "among chooses categories to rank; a run of a semi-Markov model has none. Leave it out."
        )
    model, _, may_end = semi_markov_of(run)
    return SegmentFindings(run, ci_prob, model, may_end, MatchedStates.of(run))


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
