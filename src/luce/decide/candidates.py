"""Comparisons that could be made next, and the probabilities of their outcomes in each draw.

A candidate is a set of categories of which one will be chosen, or a meeting of two sides with the
results that the model of the draws has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.fixtures import places_of, read_fixtures, result_probabilities
from luce.answers.results import Meetings, ResultModel
from luce.answers.view import DrawsView
from luce.counts.contests import outcomes_of_ratios
from luce.counts.labels import describe, is_hashable, plural
from luce.errors import DataError

# Largest number of candidates times draws that are gone through: some ten seconds of pairs.
_MOST_WORK = 1_000_000_000

# Who may be at home in a meeting.
_GROUNDS = (None, "first", "second")

Candidate = tuple[Any, ...]


class Candidates(Protocol):
    """Comparisons that can be made, each with a fixed number of possible outcomes."""

    @property
    def n_outcomes(self) -> int:
        """Largest number of outcomes of a candidate."""

    def __len__(self) -> int:
        """Return the number of candidates."""

    def name(self, number: int) -> Candidate:
        """Return a candidate as it is given."""

    def find(self, given: Sequence[Any]) -> IntArray:
        """Find the numbers of candidates; refuse what is none."""

    def outcomes(self, number: int) -> list[Label]:
        """Name the outcomes of a candidate."""

    def probabilities(self, numbers: IntArray) -> FloatArray:
        """Compute the probabilities of outcomes in all draws, (candidate, outcome, draw).

        Where a candidate has fewer outcomes than others, the last ones have probability 0.
        """

    def strengths(self, numbers: IntArray) -> FloatArray:
        """Compute log strengths of what is compared in all draws, (candidate, side, draw).

        Where a candidate has fewer sides than others, the last ones are nan.
        """


@dataclass(frozen=True, eq=False)
class Choices:
    """Sets of categories, of each of which one will be chosen.

    Attributes
    ----------
    draws
        The draws.
    logs
        Log probabilities, shape (category, draw).
    members
        Categories of each set, shape (set, size); -1 behind those of smaller sets.
    """

    draws: DrawsView
    logs: FloatArray
    members: IntArray

    @property
    def n_outcomes(self) -> int:
        """Size of the largest set."""
        return int(self.members.shape[1])

    def __len__(self) -> int:
        return len(self.members)

    def name(self, number: int) -> Candidate:
        """Return the labels of a set."""
        own = self.members[number]
        return tuple(self.draws.categories[int(i)] for i in own[own >= 0])

    def find(self, given: Sequence[Any]) -> IntArray:
        """Find the numbers of sets, whose labels may be in any order."""
        known = {frozenset(self.name(k)): k for k in range(len(self))}
        keys = [frozenset(each) if isinstance(each, tuple | frozenset) else each for each in given]
        return _found(known, keys, given)

    def outcomes(self, number: int) -> list[Label]:
        """Return the labels of a set: one of them is chosen."""
        return list(self.name(number))

    def probabilities(self, numbers: IntArray) -> FloatArray:
        """Compute p_i / p(S) for the members of sets, (set, member, draw)."""
        own = self.members[numbers]
        if self.n_outcomes == 2:
            with np.errstate(over="ignore", invalid="ignore"):
                first = 1 / (1 + np.exp(self.logs[own[:, 1]] - self.logs[own[:, 0]]))
            found = np.stack([first, 1 - first], axis=1)
        else:
            logs = np.where((own >= 0)[:, :, None], self.logs[own], -np.inf)
            with np.errstate(invalid="ignore"):
                found = np.exp(logs - logs.max(axis=1, keepdims=True))
                found /= found.sum(axis=1, keepdims=True)
        lost = np.asarray(np.isnan(found).any(axis=(1, 2)))
        self.draws.refuse_zeros(lost, np.setdiff1d(own[lost], [-1]), "an outcome")
        return found

    def strengths(self, numbers: IntArray) -> FloatArray:
        """Compute log probabilities of the members of sets, (set, member, draw)."""
        own = self.members[numbers]
        return np.where((own >= 0)[:, :, None], self.logs[own], np.nan)


@dataclass(frozen=True, eq=False)
class Matches:
    """Meetings of two sides.

    Attributes
    ----------
    model
        The model of results.
    meetings
        The meetings.
    names
        The meetings as they were given.
    """

    model: ResultModel
    meetings: Meetings
    names: Sequence[Candidate]

    @property
    def n_outcomes(self) -> int:
        """Number of results: a win of either side, and a tie where there are ties."""
        return 2 if self.model.ties is None else 3

    def __len__(self) -> int:
        return len(self.meetings)

    def name(self, number: int) -> Candidate:
        """Return the two sides, and who is at home if somebody is."""
        return self.names[number]

    def find(self, given: Sequence[Any]) -> IntArray:
        """Find the numbers of meetings; the sides may be swapped where nobody is at home."""
        known: dict[Any, int] = {}
        for k, name in enumerate(self.names):
            if all(map(is_hashable, name)):
                neutral = len(name) == 2 or name[2] is None
                known |= dict.fromkeys([name, name[:2], name[1::-1]] if neutral else [name], k)
        return _found(known, given, given)

    def outcomes(self, number: int) -> list[Label]:
        """Return the side that wins, or "tie"."""
        first, second = self.names[number][:2]
        return [first, second] if self.model.ties is None else [first, "tie", second]

    @cached_property
    def _logs(self) -> FloatArray | None:
        """Log strengths of all categories, (category, draw); None unless they meet one by one."""
        plain = "entity" not in (self.model.ties, self.model.home)
        singles = (
            len(self.meetings.members) == 2 * len(self) and not self.meetings.log_weights.any()
        )
        return _turned(self.model.draws) if plain and singles else None

    def probabilities(self, numbers: IntArray) -> FloatArray:
        """Compute the probabilities of results, (meeting, result, draw)."""
        if self._logs is not None:
            return self._of_singles(numbers, self._logs)
        found = result_probabilities(self.model, self.meetings.take(numbers))
        flat = found.reshape(-1, *found.shape[2:]).transpose(1, 2, 0)
        return np.ascontiguousarray(flat[:, [0, 2]] if self.model.ties is None else flat)

    def _of_singles(self, numbers: IntArray, logs: FloatArray) -> FloatArray:
        """Compute the same for meetings of single competitors."""
        x, members = self.model.draws, self.meetings.members.reshape(-1, 2)[numbers]
        with np.errstate(invalid="ignore"):
            ratio = logs[members[:, 0]] - logs[members[:, 1]]
        x.refuse_zeros(
            np.isnan(ratio), members[np.isnan(ratio).any(axis=1)].ravel(), "a prediction"
        )
        home, tie = x.parameter("home"), x.parameter("tie")
        at_home = self.meetings.at_home[numbers]
        if home is not None and at_home.any():
            gains = np.array([0.0, 1.0, -1.0])[at_home]  # nobody, the first side, the second
            ratio += gains[:, None] * np.log(home.ravel())
        nu = np.ones(1) if tie is None else tie.ravel()
        return outcomes_of_ratios(ratio, self.model.ties, nu)

    def strengths(self, numbers: IntArray) -> FloatArray:
        """Compute log strengths of both sides on neutral ground, (meeting, side, draw)."""
        own, x = self.meetings.take(numbers), self.model.draws
        if self._logs is not None:
            return self._logs[own.members].reshape(len(numbers), 2, -1)
        values = x.values.reshape(-1, x.n_categories)[:, own.members]
        with np.errstate(divide="ignore"):
            logs = values if x.are_logs else np.log(values)
        sides = np.logaddexp.reduceat(logs + own.log_weights, own.start[:-1], axis=1)
        return np.ascontiguousarray(sides.T).reshape(len(numbers), 2, -1)


def read_candidates(x: DrawsView, given: Iterable[Any] | None, among: Labels | None) -> Candidates:
    """Read candidates, or list all pairs of the competitors where none are given.

    Parameters
    ----------
    x
        The draws.
    given
        The candidates, as for `next_comparison`.
    among
        The competitors of whom pairs are listed.
    """
    if given is None:
        return _all_pairs(x, among)
    listed = _listed(given)
    _check_work(x, len(listed), "give fewer candidates")
    if _has_meetings(x) or any(_is_meeting_of_teams(x, each) for each in listed):
        return _matches(x, listed)
    return _choices(x, listed)


def _all_pairs(x: DrawsView, among: Labels | None) -> Candidates:
    """List all pairs of competitors, meetings being on neutral ground."""
    competitors = DrawsView.ranked(x, among).categories
    n = len(competitors)
    if n < 2:
        raise DataError(
            f"there is nothing to compare: {plural(n, 'competitor')}, and two are needed."
        )
    _check_work(
        x,
        n * (n - 1) // 2,
        "name some competitors with among=, such as the best 300 by luce.answers.expected_order",
    )
    labels = list(competitors)
    if _has_meetings(x):
        return _matches(x, list(combinations(labels, 2)))
    numbers = places_of(x, labels, "among")
    return Choices(x, _turned(x), np.stack([numbers[k] for k in np.triu_indices(n, 1)], axis=1))


def _found(known: Mapping[Any, int], keys: Sequence[Any], given: Sequence[Any]) -> IntArray:
    """Look candidates up by their keys."""
    for key, each in zip(keys, given, strict=True):
        if key not in known:
            raise DataError(
                f"{each!r} is not a candidate; a candidate is a tuple of what is compared, such as "
                f"{next(iter(known))!r}."
            )
    return np.array([known[key] for key in keys], np.int64)


def _check_work(x: DrawsView, candidates: int, remedy: str) -> None:
    """Refuse more candidates than can be gone through."""
    if candidates * x.n_draws > _MOST_WORK:
        raise DataError(
            f"{candidates:,} candidates in {x.n_draws:,} draws are too many to compare: "
            f"{_MOST_WORK:,} outcomes at most. Either {remedy}, or give fewer draws: "
            "run.isel(draw=slice(None, None, 10))."
        )


def _listed(given: Iterable[Any]) -> list[Any]:
    """Make a list of candidates."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise DataError(
            f"candidates = {describe(given)}; a list is needed, each entry naming what is compared:"
            " [('a', 'b'), ('a', 'c', 'd')]."
        )
    listed = list(given.tolist() if isinstance(given, np.ndarray) else given)
    if not listed:
        raise DataError("candidates is empty; name one comparison at least, or leave it out.")
    for each in listed:
        if isinstance(each, str | bytes | Mapping) or not isinstance(each, Iterable):
            raise DataError(
                f"{describe(each)} in candidates is no comparison; a tuple of what is compared is "
                "needed, such as ('a', 'b')."
            )
    return [tuple(each) for each in listed]


def _has_meetings(x: DrawsView) -> bool:
    """Does the model have results of meetings, such as ties, rather than choices from sets?"""
    if x.events is not None and x.events.kind == "contests":
        return True
    if x.events is not None and x.parameters is not None:
        raise DataError(
            f"the data of these draws has {x.events.kind}, whose ties are no outcomes that "
            "next_comparison knows. Draw from the data without ties, or with ties='half'."
        )
    return bool(x.effects) or any(x.parameter(name) is not None for name in ("home", "tie"))


def _is_meeting_of_teams(x: DrawsView, candidate: Candidate) -> bool:
    """Is a side of this pair a team, and not a label?"""
    known = x.categories.index
    return len(candidate) == 2 and any(
        not (is_hashable(side) and side in known)
        and isinstance(side, tuple | list | set | frozenset | Mapping)
        for side in candidate
    )


def _choices(x: DrawsView, listed: list[Candidate]) -> Choices:
    """Read sets of labels."""
    members = np.full((len(listed), max(map(len, listed))), -1)
    for k, each in enumerate(listed):
        own = members[k, : len(each)] = places_of(x, each, "candidates")
        if len(set(own.tolist())) < max(2, len(each)):
            raise DataError(f"{each!r} in candidates: two different labels at least are needed.")
    return Choices(x, _turned(x), members)


def _turned(x: DrawsView) -> FloatArray:
    """Compute log probabilities such that those of a category lie together, (category, draw)."""
    logs = np.empty((x.n_categories, x.n_draws))
    draws = x.values.shape[1]
    for chain, rows in x.blocks(x.n_categories):
        first = chain * draws
        logs[:, first + rows.start : first + rows.stop] = x.logs(chain, rows).T
    return logs


def _matches(x: DrawsView, listed: list[Candidate]) -> Matches:
    """Read pairs of sides, with the one at home behind them."""
    model = ResultModel.of(x)
    for each in listed:
        if len(each) not in (2, 3) or (len(each) == 3 and each[2] not in _GROUNDS):
            raise DataError(
                f"{each!r} in candidates: the draws are of meetings with {model.words}; two sides "
                "are needed and, where one is at home, 'first' or 'second' behind them."
            )
    first, second = ([each[k] for each in listed] for k in range(2))
    home = [each[2] if len(each) == 3 else None for each in listed]
    meetings, _, _ = read_fixtures(model, first, second, home)
    return Matches(model, meetings, listed)
