"""Cells of data: each outcome of each set, or each result of each meeting, with its count.

The outcomes of a set are a multinomial sample.  Under the model cell c of sample s has the
probability

    π_c = p(outcome c) / p(S)                     of outcomes recorded in a set S
    π_c as in `luce.counts.contests`              of contests: win, loss and tie
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.family import single_sets
from luce.counts.labels import plural, some
from luce.counts.recorded import Sample
from luce.errors import DataError, NoMaximumError
from luce.estimates.likelihood import maximum_likelihood

# Largest number of slopes, cells times parameters, that are held.
_MOST_SLOPES = 10_000_000

# Singular values below this fraction of the largest one are taken as 0.
_RANK_TOLERANCE = 1e-7

# Step of numerical slopes, in logarithms.
_STEP = 1e-5


class Fit(NamedTuple):
    """The maximum of the likelihood.

    Attributes
    ----------
    probabilities
        Probability of each cell; 0 where the likelihood grows to the end as it goes to 0.
    n_parameters
        Number of parameters that the cells with positive probability determine.
    slopes
        Derivatives of the log probabilities of cells, shape (cell, unknown); None where they are
        too many.
    """

    probabilities: FloatArray
    n_parameters: int
    slopes: FloatArray | None


class Cells(Protocol):
    """Cells of multinomial samples, one sample after another, and their model."""

    @property
    def sample(self) -> IntArray:
        """Number of the sample of each cell."""

    @property
    def observed(self) -> FloatArray:
        """Count in each cell."""

    @property
    def given(self) -> Sequence[str]:
        """Each sample in words."""

    @property
    def outcomes(self) -> Sequence[Label]:
        """What each cell counts."""

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Parameters beside the probabilities."""

    def with_observed(self, observed: FloatArray) -> Cells:
        """Return the same samples with other counts."""

    def probabilities(self, logs: FloatArray, parameters: Mapping[str, FloatArray]) -> FloatArray:
        """Compute probabilities of cells, shape (..., cell), at log probabilities (..., n)."""

    def fit(self) -> Fit:
        """Maximise the likelihood."""


@dataclass(frozen=True, eq=False)
class SetCells:
    """Outcomes recorded in sets.

    Parameters
    ----------
    labels
        The categories.
    sample, observed, given, outcomes
        As in `Cells`.
    members, start
        Categories of cell c: ``members[start[c]:start[c + 1]]``.  The cells of a sample make up
        its set.
    weights
        Weight of each of `members`.
    """

    labels: Sequence[Label]
    sample: IntArray
    observed: FloatArray
    given: Sequence[str]
    outcomes: Sequence[Label]
    members: IntArray
    start: IntArray
    weights: FloatArray

    unknowns: tuple[str, ...] = ()

    @classmethod
    def of_samples(cls, labels: Sequence[Label], samples: Sequence[Sample]) -> SetCells:
        """Lay samples out as cells; refuse those whose outcomes overlap.

        Samples of a set with a single outcome are left out: they are certain.
        """
        cells: list[list[int]] = []
        outcomes: list[Label] = []
        given, sample, observed, weights = list[str](), list[int](), list[float](), list[float]()
        for one in samples:
            parts = _parts(labels, one)
            if len(parts) < 2:
                continue
            weight = dict(zip(one.members.tolist(), one.weights.tolist(), strict=True))
            for part in parts:
                cells.append(list(part))
                named = tuple(labels[i] for i in part)
                outcomes.append(named[0] if len(named) == 1 else named)
                sample.append(len(given))
                observed.append(one.outcomes.get(part, 0.0))
                weights += [weight[i] for i in part]
            given.append(one.given)
        return cls(
            labels,
            np.array(sample, np.int64),
            np.array(observed),
            given,
            outcomes,
            np.array([i for cell in cells for i in cell], np.int64),
            np.cumsum([0, *map(len, cells)]),
            np.array(weights),
        )

    def with_observed(self, observed: FloatArray) -> SetCells:
        """Return the same samples with other counts."""
        return replace(self, observed=observed)

    def probabilities(self, logs: FloatArray, parameters: Mapping[str, FloatArray]) -> FloatArray:
        """Compute probabilities of cells, shape (..., cell), at log probabilities (..., n)."""
        own = logs[..., self.members] + np.log(self.weights)
        inside = np.logaddexp.reduceat(own, self.start[:-1], axis=-1)
        whole = np.logaddexp.reduceat(inside, self._first, axis=-1)
        return np.asarray(np.exp(inside - whole[..., self.sample]))

    @cached_property
    def _first(self) -> IntArray:
        """The first cell of each sample."""
        return np.searchsorted(self.sample, np.arange(len(self.given)))

    @cached_property
    def _are_single(self) -> bool:
        """Is each cell one category?"""
        return len(self.members) == len(self.outcomes)

    def fit(self) -> Fit:
        """Maximise the likelihood.

        Where each outcome is one category the maximum always exists in the closure of the model: i
        is above j if i was seen in a set with j, and where j never comes above i again, its
        probability beside i's goes to 0.  So each class of categories that are above each other is
        fitted alone, and in a set only the class of the outcomes that were seen keeps probability.
        """
        if not self._are_single:
            return self._joint_fit()
        owner = self._classes()
        seen = self.observed > 0
        # All outcomes seen in a sample are above each other, and so of one class.
        own = np.empty(len(self.given), np.int64)
        own[self.sample[seen]] = owner[self.members[seen]]
        inside = owner[self.members] == own[self.sample]
        logs = np.zeros(len(self.labels))
        n_parameters = 0
        for members in np.split(np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner))):
            if len(members) < 2:
                continue
            kept = inside & np.isin(self.members, members)
            found = maximum_likelihood(self._counts_of(members, kept))
            logs[members] = np.log(found.values)
            n_parameters += len(members) - 1
        masses = np.where(inside, np.exp(logs[self.members]) * self.weights, 0.0)
        totals = np.bincount(self.sample, masses, len(self.given))
        probabilities = masses / totals[self.sample]
        return Fit(probabilities, n_parameters, self._slopes(probabilities, self.members))

    def _classes(self) -> IntArray:
        """Number the classes of categories that are above each other."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        size = np.bincount(self.sample, minlength=len(self.given))
        seen = np.flatnonzero(self.observed > 0)
        number = size[self.sample[seen]]
        above = np.repeat(self.members[seen], number)
        place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        below = self.members[np.repeat(self._first[self.sample[seen]], number) + place]
        n = len(self.labels)
        graph = csr_array((np.ones(len(above), np.int8), (above, below)), (n, n))
        return np.asarray(connected_components(graph, connection="strong")[1], np.int64)

    def _counts_of(self, members: IntArray, kept: BoolArray) -> ConditionalCounts:
        """Return counts of some categories, from the cells that are kept."""
        place = np.full(len(self.labels), -1)
        place[members] = np.arange(len(members))
        cells = np.flatnonzero(kept)
        cuts = np.flatnonzero(np.diff(self.sample[cells])) + 1
        sets = np.split(place[self.members[cells]], cuts)
        totals = [float(part.sum()) for part in np.split(self.observed[cells], cuts)]
        weights = np.split(self.weights[cells], cuts)
        n = len(members)
        single = np.bincount(place[self.members[cells]], self.observed[cells], n).astype(np.float64)
        given = sets, [False] * len(sets), [-total for total in totals]
        weighted = [None if (own == 1.0).all() else own for own in weights]
        return ConditionalCounts.from_nests(n, single, single_sets(n, *given, weighted))

    def _joint_fit(self) -> Fit:
        """Maximise the likelihood of outcomes of which some are groups."""
        cells = np.split(self.members, self.start[1:-1])
        lengths = np.diff(self.start)
        groups = np.flatnonzero((lengths > 1) & (self.observed > 0))
        alone = lengths == 1
        totals = np.bincount(self.sample, self.observed)
        sets = np.split(np.arange(len(self.members)), self.start[self._first[1:]])
        n = len(self.labels)
        family = single_sets(
            n,
            [*(self.members[own] for own in sets), *(cells[c] for c in groups)],
            [False] * (len(sets) + len(groups)),
            [*-totals, *self.observed[groups]],
            [
                *(self.weights[own] for own in sets),
                *(self.weights[self.start[c] : self.start[c + 1]] for c in groups),
            ],
        )
        single = np.bincount(self.members[self.start[:-1][alone]], self.observed[alone], n).astype(
            np.float64
        )
        counts = ConditionalCounts.from_nests(list(self.labels), single, family)
        touched = np.unique(self.members)
        found = maximum_likelihood(counts if len(touched) == n else _kept(counts, touched))
        p = np.zeros(n)
        p[touched] = found.values
        with np.errstate(divide="ignore"):
            probabilities = self.probabilities(np.log(p), {})
        rng = np.random.default_rng(0)  # the rank is the same nearly everywhere
        generic = np.where(p > 0, rng.gamma(2.0, size=n), 0.0)
        slopes = self._group_slopes(generic)
        rank = n if slopes is None else _rank(slopes[probabilities > 0])
        return Fit(probabilities, rank, self._group_slopes(p))

    def _slopes(self, probabilities: FloatArray, columns: IntArray) -> FloatArray | None:
        """Compute slopes of log π_c in the log probability of each category, one per cell."""
        shape = len(self.outcomes), len(self.labels)
        if shape[0] * shape[1] > _MOST_SLOPES:
            return None
        own = np.zeros((len(self.given), shape[1]))
        own[self.sample, columns] = probabilities
        slopes = -own[self.sample]
        slopes[np.arange(shape[0]), columns] += 1.0
        slopes[probabilities == 0] = 0.0
        return slopes

    def _group_slopes(self, p: FloatArray) -> FloatArray | None:
        """Compute slopes of log π_c in the log probability of each category, cells being groups."""
        shape = len(self.outcomes), len(self.labels)
        if shape[0] * shape[1] > _MOST_SLOPES:
            return None
        cell = np.repeat(np.arange(shape[0]), np.diff(self.start))
        masses = p[self.members] * self.weights
        inside = np.bincount(cell, masses, shape[0])
        whole = np.bincount(self.sample, inside)
        within, given = np.zeros(shape), np.zeros((len(self.given), shape[1]))
        within[cell, self.members] = masses / np.where(inside > 0, inside, 1.0)[cell]
        given[self.sample[cell], self.members] = masses / whole[self.sample[cell]]
        slopes = within - given[self.sample]
        slopes[inside == 0] = 0.0
        return slopes


def _parts(labels: Sequence[Label], one: Sample) -> list[tuple[int, ...]]:
    """Divide a set into the outcomes that can be told apart.

    Without grouped outcomes these are its categories.  With them, all that no outcome names is one
    cell: where teams meet, the side that never won.
    """
    seen = list(one.outcomes)
    named = [i for outcome in seen for i in outcome]
    if len(named) > len(set(named)):
        twice = [labels[i] for i in sorted({i for i in named if named.count(i) > 1})]
        are = "is" if len(twice) == 1 else "are"
        raise DataError(
            f"outcomes given {one.given} overlap: {some(twice)} {are} in several of them, so "
            "observed and expected counts of these outcomes cannot be compared. Leave grouped "
            "outcomes out, or check their predictions with luce.answers.reliability."
        )
    rest = [i for i in one.members.tolist() if i not in set(named)]
    if all(len(outcome) == 1 for outcome in seen):
        return sorted((i,) for i in one.members.tolist())
    return sorted([*seen, tuple(rest)] if rest else seen)


def _kept(counts: ConditionalCounts, numbers: IntArray) -> ConditionalCounts:
    """Leave out categories that are in no set."""
    place = np.full(counts.n_categories, -1)
    place[numbers] = np.arange(len(numbers))
    family = counts.sets.renumbered(place, len(numbers))
    labels = [counts.categories[i] for i in numbers.tolist()]
    return ConditionalCounts.from_nests(labels, counts.category_counts[numbers], family)


@dataclass(frozen=True, eq=False)
class ContestCells:
    """Results of meetings of two sides.

    Parameters
    ----------
    counts
        Counts with contests and nothing else.
    contests
        Their contests, or the same meetings with other results.
    """

    counts: ConditionalCounts
    contests: Contests

    @property
    def _results(self) -> list[int]:
        """The results that the model has, as columns of `Contests.results`."""
        return [FIRST, SECOND] if self.contests.ties is None else [FIRST, SECOND, TIE]

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Parameters beside the probabilities."""
        return self.contests.parameters

    @cached_property
    def sample(self) -> IntArray:
        """Number of the meeting of each cell."""
        return np.repeat(np.arange(len(self.contests)), len(self._results))

    @cached_property
    def observed(self) -> FloatArray:
        """Count of each result."""
        return np.asarray(self.contests.results[:, self._results].ravel())

    @cached_property
    def given(self) -> list[str]:
        """Each meeting in words."""
        labels = self.counts.categories
        return [self.contests.sides_in_words(labels, t) for t in range(len(self.contests))]

    @property
    def outcomes(self) -> Sequence[Label]:
        """The result that each cell counts."""
        return ["first", "second", "tie"][: len(self._results)] * len(self.contests)

    def with_observed(self, observed: FloatArray) -> ContestCells:
        """Return the same meetings with other results."""
        results = np.zeros((len(self.contests), 3))
        results[:, self._results] = observed.reshape(len(self.contests), -1)
        return replace(self, contests=replace(self.contests, results=results))

    def probabilities(self, logs: FloatArray, parameters: Mapping[str, FloatArray]) -> FloatArray:
        """Compute probabilities of results, shape (..., cell), at log probabilities (..., n)."""
        p = np.exp(logs - logs.max(axis=-1, keepdims=True))
        with np.errstate(divide="ignore"):
            found = self.contests.log_probabilities(p, parameters)[..., self._results]
        return np.asarray(np.exp(found).reshape(*logs.shape[:-1], -1))

    def fit(self) -> Fit:
        """Maximise the likelihood."""
        labels = list(self.counts.categories)
        empty = ConditionalCounts(labels)
        try:
            found = maximum_likelihood(empty.with_events(self.contests))
        except NoMaximumError as none:
            raise NoMaximumError(
                f"there are no fitted values: {none} Give draws, as in "
                "luce.goodness_of_fit(counts, draws=run).",
                none.groups,
            ) from None
        with np.errstate(divide="ignore"):
            logs = np.log(found.values)
        values = {name: np.array(value) for name, value in found.parameters.items()}
        probabilities = self.probabilities(logs, values)
        rng = np.random.default_rng(0)  # the rank is the same nearly everywhere
        least = {name: self.contests.least(name) for name in values}
        free = {name: bool(values[name] > least[name]) for name in values}
        generic = {
            name: np.array(least[name] + rng.gamma(2.0) if free[name] else least[name])
            for name in values
        }
        at = np.where(np.isneginf(logs), -np.inf, np.log(rng.gamma(2.0, size=len(logs))))
        slopes = self._slopes(at, generic)
        rank = len(logs) if slopes is None else _rank(slopes[probabilities > 0])
        return Fit(probabilities, rank, self._slopes(logs, values))

    def _slopes(self, logs: FloatArray, values: Mapping[str, FloatArray]) -> FloatArray | None:
        """Compute slopes of log π in log probabilities and log parameters, by differences."""
        free = np.flatnonzero(~np.isneginf(logs)).tolist()
        least = {name: self.contests.least(name) for name in values}
        names = [name for name in values if values[name] > least[name]]
        if len(self.observed) * (len(free) + len(names)) > _MOST_SLOPES:
            return None
        columns = []
        unknowns: list[int | str] = [*free, *names]
        for unknown in unknowns:
            sides = []
            for step in (_STEP, -_STEP):
                moved, own = logs.copy(), dict(values)
                if isinstance(unknown, str):
                    own[unknown] = least[unknown] + (own[unknown] - least[unknown]) * np.exp(step)
                else:
                    moved[unknown] += step
                sides.append(self.probabilities(moved, own))
            columns.append((sides[0] - sides[1]) / (2 * _STEP))
        here = self.probabilities(logs, values)
        slopes = np.stack(columns, axis=1)
        return np.where(here[:, None] > 0, slopes / np.where(here > 0, here, 1.0)[:, None], 0.0)


def _rank(slopes: FloatArray) -> int:
    values = np.linalg.svd(slopes, compute_uv=False) if slopes.size else np.zeros(1)
    return int((values > _RANK_TOLERANCE * max(values.max(), 1.0)).sum())


def cells_of(counts: ConditionalCounts, apart: bool) -> Cells:
    """Lay the data out as cells; refuse data that has none."""
    events = counts.events
    if events is None:
        return SetCells.of_samples(counts.categories, counts.recorded(apart=apart))
    if not isinstance(events, Contests):
        raise DataError(
            f"goodness of fit is offered for sets and for contests of two sides; this data has "
            f"{events.kind}: {events.model}."
        )
    if counts.n_outcomes > events.n_outcomes:
        beside = plural(counts.n_outcomes - events.n_outcomes, "outcome")
        raise DataError(f"the data has {beside} beside its contests; test the two apart.")
    return ContestCells(counts, events)
