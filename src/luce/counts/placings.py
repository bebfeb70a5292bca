"""Placings: some categories come before others, as in one step of a ranking with ties.

Each placing has the categories that were placed together, the rest, which come later, and the
number of times it was seen.  `counts.tied_blocks` and `counts.tied_choices` give it a probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.labels import plural, some

# Numbers that are held at once when likelihoods of many draws are computed.
_MOST_NUMBERS = 2_000_000

_Own = TypeVar("_Own", bound="Placings")


@dataclass(frozen=True, eq=False)
class Placings:
    """Placings, merged: equal ones are stored once.

    Parameters
    ----------
    n
        Number of categories.
    members
        The placed of all placings, each followed by its rest.
    start
        Placing t has the placed ``members[start[2 t]:start[2 t + 1]]`` and the rest
        ``members[start[2 t + 1]:start[2 t + 2]]``.
    times
        Number of times that each placing was seen.
    """

    kind: ClassVar[str]
    noun: ClassVar[str] = "rankings"
    unit: ClassVar[str]

    n: int
    members: IntArray
    start: IntArray
    times: FloatArray

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters beside the probabilities."""
        return ()

    def least(self, parameter: str) -> float:
        """Return the least value of a parameter, 0."""
        return 0.0

    @property
    def model(self) -> str:
        """The model in words."""
        raise NotImplementedError

    @property
    def n_outcomes(self) -> float:
        """Number of outcomes."""
        raise NotImplementedError

    def wins(self) -> FloatArray:
        """Count the outcomes of each category, shape (n,); shared ones in parts."""
        raise NotImplementedError

    def restricted(self: _Own, place: IntArray, n: int, labels: Sequence[Label]) -> _Own:
        """Keep the placings among categories whose place is not -1."""
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        """True where all placings were seen a whole number of times."""
        return not (self.times % 1).any()

    def __len__(self) -> int:
        """Return the number of stored placings."""
        return len(self.times)

    @property
    def sizes(self) -> IntArray:
        """Number of categories that were placed together."""
        return np.diff(self.start)[::2]

    @property
    def owner(self) -> IntArray:
        """Number of the placing of each member."""
        return np.repeat(np.arange(len(self)), np.diff(self.start[::2]))

    @property
    def is_placed(self) -> BoolArray:
        """Per member: was it placed, and not one of the rest?"""
        placed: BoolArray = np.repeat(np.arange(2 * len(self)) % 2 == 0, np.diff(self.start))
        return placed

    def placed(self, which: IntArray) -> IntArray:
        """Return the placed of some placings of equal size, a row a placing."""
        size = int(self.sizes[which[0]])
        return np.asarray(self.members[self.start[2 * which][:, None] + np.arange(size)])

    def links(self) -> tuple[IntArray, IntArray]:
        """Return pairs of categories of one placing: each member, and the first placed."""
        return self.members[self.start[:-1:2]][self.owner], self.members

    def log_probabilities(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log probability of each placing, shape (..., placings).

        Parameters
        ----------
        p
            Probabilities, shape (..., n).
        parameters
            Values of `parameters`, of shape (...) each.
        """
        raise NotImplementedError

    def log_likelihood(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log likelihood, shape (...), some placings at a time."""
        values = np.zeros(p.shape[:-1])
        held = np.diff(self.start[::2]).cumsum() * max(values.size, 1)
        piece = held // _MOST_NUMBERS
        for k in np.unique(piece):
            own = self.take(piece == k)
            values = values + own.log_probabilities(p, parameters) @ own.times
        return values

    def take(self: _Own, kept: BoolArray) -> _Own:
        """Select some placings."""
        lengths = np.diff(self.start)[np.repeat(kept, 2)]
        return replace(
            self,
            members=self.members[kept[self.owner]],
            start=np.r_[0, np.cumsum(lengths)],
            times=self.times[kept],
        )

    def plus(self: _Own, other: Any) -> _Own:
        """Add placings over the same categories."""
        return replace(
            self,
            members=np.r_[self.members, other.members],
            start=np.r_[self.start, other.start[1:] + self.start[-1]],
            times=np.r_[self.times, other.times],
        ).merged()

    def to_power(self: _Own, power: float) -> _Own:
        """Raise the likelihood to a positive power: that many times the placings."""
        return replace(self, times=power * self.times)

    def renumbered(self: _Own, place: IntArray, n: int) -> _Own:
        """Move category i to ``place[i]`` among n categories."""
        return replace(self, n=n, members=place[self.members]).merged()

    def merged(self: _Own) -> _Own:
        """Store each placing once, in a fixed order, and leave out what says nothing."""
        found: dict[tuple[tuple[int, ...], tuple[int, ...]], list[float]] = {}
        members, start = self.members.tolist(), self.start.tolist()
        for t, times in enumerate(self.times.tolist()):
            a, b, c = start[2 * t : 2 * t + 3]
            key = tuple(sorted(members[a:b])), tuple(sorted(members[b:c]))
            if times > 0 and self._says_something(*key):
                found.setdefault(key, []).append(times)
        keys = sorted(found)
        parts = [part for key in keys for part in key]
        arrays: dict[str, Any] = {
            "members": np.array([i for part in parts for i in part], np.int64),
            "start": np.cumsum([0, *map(len, parts)]).astype(np.int64),
            "times": np.array([math.fsum(found[key]) for key in keys], np.float64),
        }
        for array in arrays.values():
            array.setflags(write=False)
        return replace(self, **arrays)

    def _says_something(self, placed: tuple[int, ...], rest: tuple[int, ...]) -> bool:
        """Tell whether a placing has a probability other than 1."""
        return bool(placed and rest)

    def in_words(self, labels: Sequence[Label]) -> list[str]:
        """Describe each placing, most frequent first."""
        order = np.argsort(-self.times, kind="stable")
        return [self._described(labels, int(t)) for t in order]

    def _described(self, labels: Sequence[Label], t: int) -> str:
        spans = (self.members[self.start[s] : self.start[s + 1]] for s in (2 * t, 2 * t + 1))
        names = [[labels[i] for i in span] for span in spans]
        placed, rest = (some(own, quote=False) if own else "" for own in names)
        together = " together" if len(names[0]) > 1 else ""
        where = f"before {rest}" if rest else "in last place"
        return f"{placed}{together} {where}: {plural(float(self.times[t]), 'time')}"

    def arrays(self) -> dict[str, tuple[str | tuple[str, ...], Any]]:
        """Return the contents as named arrays with dimensions, for a run."""
        return {
            "placing_members": ("placing_member", self.members),
            "placing_start": ("placing_edge", self.start),
            "placing_times": ("placing", self.times),
        }

    def attributes(self) -> dict[str, Any]:
        """Return the kind as an attribute of a run."""
        return {"events": self.kind}


def joined(
    placings: Iterable[tuple[Sequence[int], Sequence[int]]],
) -> tuple[IntArray, IntArray]:
    """Join placed and rest of each placing to the arrays `members` and `start`."""
    parts = [part for placing in placings for part in placing]
    members = np.array([i for part in parts for i in part], np.int64)
    return members, np.cumsum([0, *map(len, parts)]).astype(np.int64)
