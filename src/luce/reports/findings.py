"""All that a report tells, computed once from the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.answers.diagnostics import ess, mcse, rhat
from luce.answers.given import read_draws
from luce.answers.ranks import tie_groups
from luce.answers.scales import log_odds
from luce.answers.summaries import Summary, summary
from luce.answers.view import tails
from luce.counts.comparability import comparable_groups, prior_only
from luce.errors import DataError
from luce.posterior import Posterior, posterior_of
from luce.reports.formatting import names_of
from luce.sequences.hdp_runs import Transitions, transitions_of

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.answers.given import DrawsLike
    from luce.sequences.hdp import HDPTransitions

TOLD_APART = 0.95  # probability from which on two categories count as different


@dataclass(frozen=True, eq=False)
class Quantities:
    """Scalar quantities with their posterior moments, intervals and diagnostics.

    Parameters
    ----------
    names
        The quantities in words.
    columns
        Maps "mean", "sd", "low", "high", "ess", "rhat" and "mcse" to arrays, one entry a quantity.
    """

    names: list[str]
    columns: dict[str, FloatArray]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, column: str) -> FloatArray:
        return self.columns[column]

    def worst(self, values: FloatArray, largest: bool) -> tuple[float, str]:
        """Return the largest or smallest value and its quantity; nan where any value is missing."""
        if np.isnan(values).any():
            return float("nan"), ""
        i = int(values.argmax() if largest else values.argmin())
        return float(values[i]), self.names[i]


@dataclass(frozen=True, eq=False)
class Findings:
    """A run and its summaries; rows are the compared probabilities, the largest mean first.

    Parameters
    ----------
    run
        The draws, with their data and settings.
    ci_prob
        The probability of all intervals.
    compared
        Draws of the probabilities that are compared with each other, as `luce.summary` reads them.
    table
        Summary of these.
    """

    run: DataTree
    ci_prob: float
    compared: DrawsLike
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
        below, above = list(self.table.columns)[2:4]
        return self.table[below], self.table[above]

    @property
    def rank_ends(self) -> tuple[IntArray, IntArray]:
        """Lower and upper ends of the intervals of ranks."""
        below, above = list(self.table.columns)[2:4]
        return self.table[f"rank_{below}"], self.table[f"rank_{above}"]

    @cached_property
    def tie_groups(self) -> list[list[Label]]:
        """Categories that cannot be told from the first of their group, best group first."""
        return tie_groups(self.compared, TOLD_APART)

    @cached_property
    def group(self) -> IntArray:
        """Number of each row's tie group, from 1."""
        of = {label: g for g, group in enumerate(self.tie_groups, 1) for label in group}
        return np.array([of[label] for label in self.table.categories])

    @cached_property
    def parameters(self) -> Quantities:
        """Summary of what was drawn for the model as a whole, such as a concentration."""
        stored = self.run["posterior"].to_dataset()
        entries = [
            (f"{name}{place}".replace("_", " "), values)
            for name, variable in stored.data_vars.items()
            if is_parameter(variable)
            for place, values in _entries(variable)
        ]
        return _summarised(entries, self.ci_prob)

    @cached_property
    def judged(self) -> Quantities:
        """Compared probabilities that vary, and all parameters: what convergence is judged by."""
        table, drawn = self.table, read_draws(self.compared)
        ranges = np.ptp(drawn.to_numpy(), axis=(0, 1))
        spread = dict(zip(drawn["category"].to_numpy().tolist(), ranges, strict=True))
        moved = np.array([spread[label] > 0 for label in table.categories])
        names = [name for name, yes in zip(self.names, moved, strict=True) if yes]
        columns = {
            name: np.r_[table[name][moved], self.parameters[name]]
            for name in ("sd", "ess", "rhat", "mcse")
        }
        return Quantities([*names, *(f"the {name}" for name in self.parameters.names)], columns)


@dataclass(frozen=True, eq=False)
class ChoiceFindings(Findings):
    """Findings of a run that `Posterior.sample` made; rows are categories.

    Parameters
    ----------
    posterior
        Data and prior of the run.
    """

    posterior: Posterior

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


def find(run: DataTree, ci_prob: float) -> ChoiceFindings | TransitionFindings:
    """Summarise a run; refuse anything that is no run."""
    tails(ci_prob)
    if getattr(run, "attrs", {}).get("model") == "transitions":
        model, data = transitions_of(run)
        base = run["posterior"].to_dataset()["base"].rename(state="category")
        return TransitionFindings(
            run, ci_prob, base, summary(base, ci_prob, sort=True), model, data
        )
    posterior = posterior_of(run)
    return ChoiceFindings(run, ci_prob, run, summary(run, ci_prob, sort=True), posterior)


def is_parameter(variable: DataArray) -> bool:
    """Tell whether a variable belongs to the model as a whole: by its role, else by its size."""
    role = variable.attrs.get("role", "parameter" if variable.ndim == 2 else "competitor")
    return bool(role == "parameter")


def _entries(variable: DataArray) -> Iterator[tuple[str, FloatArray]]:
    """Go through the entries of a variable: place in brackets, and draws of shape (chain, draw)."""
    others = [str(dim) for dim in variable.dims if dim not in ("chain", "draw")]
    values = variable.transpose(*others, "chain", "draw").to_numpy()
    labels = [names_of(variable[dim].to_numpy().tolist()) for dim in others]
    for place in product(*(range(len(each)) for each in labels)):
        words = ", ".join(each[i] for each, i in zip(labels, place, strict=True))
        yield f"[{words}]" if words else "", values[place]


def _summarised(entries: Sequence[tuple[str, FloatArray]], ci_prob: float) -> Quantities:
    """Summarise scalar quantities, each given by a name and draws of shape (chain, draw)."""
    columns = ("mean", "sd", "low", "high", "ess", "rhat", "mcse")
    if not entries:
        return Quantities([], {name: np.empty(0) for name in columns})
    x = np.stack([values for _, values in entries], axis=2)
    tail = tails(ci_prob)
    low, high = np.quantile(x, [tail, 1 - tail], axis=(0, 1))
    moments = [x.mean(axis=(0, 1)), x.std(axis=(0, 1)), low, high]
    diagnostics = [np.asarray(of(x)) for of in (ess, rhat, mcse)]
    names = [name for name, _ in entries]
    return Quantities(names, dict(zip(columns, [*moments, *diagnostics], strict=True)))
