"""Contests: two sides meet, and one of them wins or they tie.

With A and B the total strengths of the sides, Σ a_i p_i over their members, and A' = h A where the
first side has the home advantage, else A' = A:

    no ties       A' / (A' + B)       B / (A' + B)
    Davidson      A' / D              B / D              ν √(A' B) / D
    Rao-Kupper    A' / (A' + θ B)     B / (θ A' + B)     (θ² - 1) A' B / ((A' + θ B) (θ A' + B))

    D = A' + B + ν √(A' B)

    h    home: factor of the strength of the side at home
    ν    tie (Davidson): propensity to tie; two equals tie with probability ν / (2 + ν)
    θ    tie (Rao-Kupper): a win needs θ >= 1 times the other's strength, in a race

No such probability is a ratio of sums over sets, so contests stand beside the sets of the counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.labels import plural, some
from luce.errors import DataError

# Models of ties.
TIE_MODELS = ("davidson", "rao-kupper")

# Columns of `Contests.results`.
FIRST, SECOND, TIE = range(3)

# Numbers that are held at once when likelihoods of many draws are computed.
_MOST_NUMBERS = 4_000_000


@dataclass(frozen=True, eq=False)
class Contests:
    """Results of meetings of two sides, merged: each meeting of the same sides is stored once.

    Parameters
    ----------
    n
        Number of categories.
    members
        Members of all sides: those of the first side, then of the second, meeting by meeting.
    start
        Side k (0 or 1) of meeting t is ``members[start[2 t + k]:start[2 t + k + 1]]``.
    weights
        Weight a_i of each of `members`; None where all are 1.
    at_home
        Per meeting: does the first side have the home advantage?  The second never has: who is at
        home comes first.
    results
        Numbers of wins of the first side, of the second, and of ties, shape (meetings, 3).
    ties
        Model of ties, "davidson" or "rao-kupper"; None where there are none.
    home
        Is the home advantage a parameter of the model?
    """

    kind: ClassVar[str] = "contests"
    noun: ClassVar[str] = "contests"
    unit: ClassVar[str] = "pairing"

    n: int
    members: IntArray
    start: IntArray
    weights: FloatArray | None
    at_home: BoolArray
    results: FloatArray
    ties: str | None
    home: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters beside the probabilities."""
        return ("home",) * self.home + ("tie",) * (self.ties is not None)

    def least(self, parameter: str) -> float:
        """Return the least value of a parameter: 1 for Rao and Kupper's θ, else 0."""
        return 1.0 if parameter == "tie" and self.ties == "rao-kupper" else 0.0

    @property
    def model(self) -> str:
        """The model in words."""
        ties = {None: [], "davidson": ["Davidson's ties"], "rao-kupper": ["Rao-Kupper ties"]}
        return " and ".join([*ties[self.ties], *["a home advantage"] * self.home]) or "no ties"

    @property
    def n_outcomes(self) -> float:
        """Number of meetings, repeated ones counted."""
        return float(self.results.sum())

    def __len__(self) -> int:
        """Return the number of stored meetings."""
        return len(self.at_home)

    @property
    def is_whole(self) -> bool:
        """True where all numbers of results are whole."""
        return not (self.results % 1).any()

    @cached_property
    def are_pairs(self) -> bool:
        """Is each side a single category of weight 1?"""
        return self.weights is None and bool((np.diff(self.start) == 1).all())

    @cached_property
    def sides(self) -> tuple[IntArray, IntArray]:
        """The two categories of each meeting, where `are_pairs`."""
        return self.members[::2], self.members[1::2]

    def wins(self) -> FloatArray:
        """Count, for each category, the wins of its sides and half of their ties."""
        each = self.results[:, :TIE] + self.results[:, TIE:] / 2
        each = np.repeat(each.ravel(), np.diff(self.start))
        return np.bincount(self.members, each, self.n).astype(np.float64)

    def games(self) -> FloatArray:
        """Count the meetings that each category took part in."""
        each = np.repeat(np.repeat(self.results.sum(axis=1), 2), np.diff(self.start))
        return np.bincount(self.members, each, self.n).astype(np.float64)

    def links(self) -> tuple[IntArray, IntArray]:
        """Return pairs of categories that met: each member, and the first member of its meeting."""
        first = np.repeat(self.members[self.start[:-1:2]], np.diff(self.start[::2]))
        return first, self.members

    def strengths(self, p: FloatArray) -> FloatArray:
        """Add up the strengths of both sides of each meeting, shape (..., meetings, 2)."""
        own = p[..., self.members]
        if self.weights is not None:
            own = own * self.weights
        sums = np.add.reduceat(own, self.start[:-1], axis=-1)
        return np.asarray(sums.reshape(*p.shape[:-1], len(self), 2))

    def log_probabilities(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log probability of each result of each meeting, shape (..., meetings, 3).

        Parameters
        ----------
        p
            Probabilities, shape (..., n).
        parameters
            Values of `parameters`, of shape (...) each.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.strengths(p))
        log_home = np.log(_aligned(parameters, "home", 1))
        first = logs[..., 0] + np.where(self.at_home, log_home, 0.0)
        return log_outcomes(first, logs[..., 1], self.ties, _aligned(parameters, "tie", 1))

    def log_likelihood(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log likelihood, shape (...), some meetings at a time."""
        values = np.zeros(p.shape[:-1])
        size = max(_MOST_NUMBERS // max(values.size, 1), 1)
        for first in range(0, len(self), size):
            piece = self._piece(first, min(first + size, len(self)))
            logs = piece.log_probabilities(p, parameters)
            # A result that was never seen may be impossible: 0 times minus infinity is 0 here.
            seen = piece.results * np.where(piece.results > 0, logs, 0.0)
            values = values + seen.sum(axis=(-2, -1))
        return values

    def _piece(self, first: int, stop: int) -> Contests:
        a, b = self.start[2 * first], self.start[2 * stop]
        return replace(
            self,
            members=self.members[a:b],
            start=self.start[2 * first : 2 * stop + 1] - a,
            weights=None if self.weights is None else self.weights[a:b],
            at_home=self.at_home[first:stop],
            results=self.results[first:stop],
        )

    def plus(self, other: Contests) -> Contests:
        """Add the results of other contests over the same categories."""
        if (self.ties, self.home) != (other.ties, other.home):
            raise DataError(
                f"counts of different models cannot be added: one has {self.model}, the other "
                f"{other.model}. Read both with the same ties= and home=."
            )
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.r_[_ones_for(self), _ones_for(other)]
        return merge_contests(
            replace(
                self,
                members=np.r_[self.members, other.members],
                start=np.r_[self.start, other.start[1:] + self.start[-1]],
                weights=weights,
                at_home=np.r_[self.at_home, other.at_home],
                results=np.concatenate([self.results, other.results]),
            )
        )

    def to_power(self, power: float) -> Contests:
        """Raise the likelihood to a positive power: that many times the results."""
        return replace(self, results=power * self.results)

    def renumbered(self, place: IntArray, n: int) -> Contests:
        """Move category i to ``place[i]`` among n categories."""
        return merge_contests(replace(self, n=n, members=place[self.members]))

    def restricted(self, place: IntArray, n: int, labels: Sequence[Label]) -> Contests:
        """Keep the meetings of sides whose members all have a place that is not -1."""
        inside = np.add.reduceat(place[self.members] >= 0, self.start[:-1], dtype=np.int64)
        part = (inside > 0) & (inside < np.diff(self.start))
        if part.any():
            side = int(np.argmax(part))
            names = self.members[self.start[side] : self.start[side + 1]].tolist()
            raise DataError(
                f"the side {some([labels[i] for i in names])} is only partly among the labels. "
                "Keep all of a side, or none of it."
            )
        kept = (inside.reshape(-1, 2) > 0).all(axis=1)
        return self.take(np.asarray(kept)).renumbered(place, n)

    def take(self, kept: BoolArray) -> Contests:
        """Select some meetings."""
        members = np.repeat(kept, np.diff(self.start[::2]))
        lengths = np.diff(self.start)[np.repeat(kept, 2)]
        return replace(
            self,
            members=self.members[members],
            start=np.r_[0, np.cumsum(lengths)],
            weights=None if self.weights is None else self.weights[members],
            at_home=self.at_home[kept],
            results=self.results[kept],
        )

    def in_words(self, labels: Sequence[Label]) -> list[str]:
        """Describe each meeting, heaviest first."""
        order = np.argsort(-self.results.sum(axis=1), kind="stable")
        return [self._described(labels, int(t)) for t in order]

    def sides_in_words(self, labels: Sequence[Label], t: int) -> str:
        """Name the sides of a meeting, and who is at home."""
        a, b = (some(self._named(labels, s), quote=False) for s in (2 * t, 2 * t + 1))
        return f"{a}{' at home' if self.at_home[t] else ''} against {b}"

    def _named(self, labels: Sequence[Label], s: int) -> list[Label]:
        """Name the members of side s, each with its weight where that is not 1."""
        names = [labels[i] for i in self.members[self.start[s] : self.start[s + 1]].tolist()]
        if self.weights is None:
            return names
        own = self.weights[self.start[s] : self.start[s + 1]].tolist()
        return [x if a == 1 else f"{a:.4g} {x}" for a, x in zip(own, names, strict=True)]

    def _described(self, labels: Sequence[Label], t: int) -> str:
        won, lost, tied = self.results[t].tolist()
        ties = f", {plural(tied, 'tie')}" if self.ties is not None else ""
        sides = self.sides_in_words(labels, t)
        return f"{sides}: {plural(won, 'win')}, {plural(lost, 'loss', 'losses')}{ties}"

    def arrays(self) -> dict[str, tuple[str | tuple[str, ...], Any]]:
        """Return the contents as named arrays with dimensions, for a run."""
        found: dict[str, tuple[str | tuple[str, ...], Any]] = {
            "contest_members": ("contest_member", self.members),
            "contest_start": ("contest_edge", self.start),
            "contest_at_home": ("contest", self.at_home),
            "contest_results": (("contest", "contest_result"), self.results),
        }
        if self.weights is not None:
            found["contest_weights"] = ("contest_member", self.weights)
        return found

    def attributes(self) -> dict[str, Any]:
        """Return the model as attributes of a run."""
        return {"events": self.kind, "ties": self.ties or "none", "home_effect": int(self.home)}


def log_outcomes(
    log_first: FloatArray, log_second: FloatArray, ties: str | None, tie: FloatArray
) -> FloatArray:
    """Compute the log probabilities of a win, a loss and a tie, on a new last dimension of size 3.

    Parameters
    ----------
    log_first, log_second
        Logarithms of the sides' strengths, home advantage included.
    ties
        Model of ties.
    tie
        ν or θ; unused without a model of ties.
    """
    a, b = np.broadcast_arrays(log_first, log_second)
    if ties == "rao-kupper":
        log_theta = np.log(tie)
        lost = np.logaddexp(a, b + log_theta)  # denominators of a win and of a loss
        won = np.logaddexp(a + log_theta, b)
        tied = np.log(tie - 1.0) + np.log(tie + 1.0) + a + b - lost - won
        return np.stack([a - lost, b - won, tied], axis=-1)
    middle = np.full(a.shape, -np.inf)
    if ties == "davidson":
        middle = np.log(tie) + (a + b) / 2
    whole = np.logaddexp(np.logaddexp(a, b), middle)
    return np.stack([a - whole, b - whole, middle - whole], axis=-1)


def outcomes_of_ratios(log_ratio: FloatArray, ties: str | None, tie: FloatArray) -> FloatArray:
    """Compute the probabilities of a win, a tie and a loss, on a new axis 1.

    They are those of `log_outcomes`, by a single exponential.  Without ties that axis has two.

    Parameters
    ----------
    log_ratio
        Log of the first side's strength over the second's, home advantage included.
    ties
        Model of ties.
    tie
        ν or θ; unused without a model of ties.
    """
    root = np.exp(-np.abs(log_ratio) / 2)  # of the weaker side's strength over the stronger's
    weaker = root**2
    if ties == "rao-kupper":
        won, lost = 1 / (1 + tie * weaker), weaker / (tie + weaker)
        tied = (tie - 1) * (tie + 1) * won * lost
        middle = [tied]
    else:
        tied = tie * root if ties == "davidson" else np.zeros(1)
        whole = 1 + weaker + tied
        won, lost = 1 / whole, weaker / whole
        middle = [tied / whole] if ties == "davidson" else []
    ahead = log_ratio >= 0
    return np.stack([np.where(ahead, won, lost), *middle, np.where(ahead, lost, won)], axis=1)


def draw_results(logs: FloatArray, contests: Contests, rng: np.random.Generator) -> IntArray:
    """Draw the results of all meetings anew, as many of each, shape (..., meetings, 3).

    Parameters
    ----------
    logs
        Log probabilities of the results, as `Contests.log_probabilities` computes them.
    contests
        The meetings, whose numbers of results must be whole.
    rng
        The generator.
    """
    chances = np.exp(logs[..., [TIE, FIRST, SECOND]])  # the last takes what rounding leaves
    chances /= chances.sum(axis=-1, keepdims=True)
    totals = contests.results.sum(axis=1).astype(np.int64)
    return np.asarray(rng.multinomial(totals, chances)[..., [1, 2, 0]])


def contests_of_pairs(
    n: int,
    first: IntArray,
    second: IntArray,
    at_home: IntArray,
    results: FloatArray,
    ties: str | None,
    home: bool,
) -> Contests:
    """Build contests of single categories.

    Parameters
    ----------
    first, second
        The two categories of each meeting.
    at_home
        0 where nobody has the advantage, 1 for the first, 2 for the second.
    results
        Wins of the first, wins of the second, and ties, shape (meetings, 3).
    """
    members = np.stack([first, second], axis=1).ravel().astype(np.int64)
    start = np.arange(len(members) + 1)
    return contests_of(n, members, start, None, at_home, results, ties, home)


def contests_of(
    n: int,
    members: IntArray,
    start: IntArray,
    weights: FloatArray | None,
    at_home: IntArray,
    results: FloatArray,
    ties: str | None,
    home: bool,
) -> Contests:
    """Build contests of sides of any size; the arguments are those of `contests_of_pairs`.

    `members`, `start` and `weights` are those of `Contests`.
    """
    swap = np.asarray(at_home) == 2
    first = (np.asarray(at_home) > 0) & home
    own = Contests(n, members, start, weights, first, results, ties, home)
    return merge_contests(_swapped(own, swap))


def _swapped(contests: Contests, swap: BoolArray) -> Contests:
    """Exchange the sides of some meetings."""
    if not swap.any():
        return contests
    sides = np.arange(2 * len(contests)).reshape(-1, 2)
    sides[swap] = sides[swap][:, ::-1]
    order = sides.ravel()
    length = np.diff(contests.start)[order]
    start = np.r_[0, np.cumsum(length)]
    take = np.repeat(contests.start[order] - start[:-1], length) + np.arange(start[-1])
    results = contests.results.copy()
    results[swap] = results[swap][:, [SECOND, FIRST, TIE]]
    return replace(
        contests,
        members=contests.members[take],
        start=start,
        weights=None if contests.weights is None else contests.weights[take],
        results=results,
    )


def merge_contests(contests: Contests) -> Contests:
    """Store each meeting once, in a fixed order, and leave out those without a result.

    The members of a side are sorted; where nobody is at home, the side of the smaller numbers comes
    first.
    """
    c = contests.take(np.asarray(contests.results.any(axis=1)))
    if c.weights is not None and (c.weights == 1.0).all():
        c = replace(c, weights=None)
    if c.are_pairs:
        first, second = c.sides
        c = _swapped(c, ~c.at_home & (first > second))
        first, second = c.sides
        keys = (c.at_home * c.n + first) * c.n + second
        _, which, number = np.unique(keys, return_index=True, return_inverse=True)
        return _frozen(_summed(c, which, number))
    found: dict[tuple[Any, ...], int] = {}
    sides = [_side(c, s) for s in range(2 * len(c))]
    swap = np.array(
        [not home and a > b for home, a, b in zip(c.at_home, sides[::2], sides[1::2], strict=True)],
        np.bool_,
    )
    flags = zip(swap.tolist(), c.at_home.tolist(), sides[::2], sides[1::2], strict=True)
    keys_of = [(home, b, a) if turned else (home, a, b) for turned, home, a, b in flags]
    for key in sorted(keys_of):
        found.setdefault(key, len(found))
    number = np.fromiter((found[key] for key in keys_of), np.int64, len(keys_of))
    totals = _totals(_swapped(c, swap).results, number, len(found))
    each = [side for _, a, b in found for side in (a, b)]
    weights = np.array([w for side in each for _, w in side])
    return _frozen(
        replace(
            c,
            members=np.array([i for side in each for i, _ in side], np.int64),
            start=np.cumsum([0, *(len(side) for side in each)]).astype(np.int64),
            weights=None if c.weights is None else weights,
            at_home=np.array([home for home, _, _ in found], np.bool_),
            results=totals,
        )
    )


def _side(c: Contests, s: int) -> tuple[tuple[int, float], ...]:
    """Return the sorted members of side s with their weights."""
    span = slice(c.start[s], c.start[s + 1])
    own = np.ones(span.stop - span.start) if c.weights is None else c.weights[span]
    return tuple(sorted(zip(c.members[span].tolist(), own.tolist(), strict=True)))


def _summed(c: Contests, which: IntArray, number: IntArray) -> Contests:
    """Keep the meetings `which`, with the results of all meetings of the same number."""
    first, second = c.sides
    return replace(
        c,
        members=np.stack([first[which], second[which]], axis=1).ravel(),
        start=np.arange(2 * len(which) + 1),
        at_home=c.at_home[which],
        results=_totals(c.results, number, len(which)),
    )


def _totals(results: FloatArray, number: IntArray, size: int) -> FloatArray:
    """Add up the results of meetings of the same number, in an order that entry does not change."""
    totals = np.empty((size, 3))
    for k in range(3):
        order = np.argsort(results[:, k], kind="stable")
        totals[:, k] = np.bincount(number[order], results[order, k], size)
    return totals


def _ones_for(contests: Contests) -> FloatArray:
    return np.ones(len(contests.members)) if contests.weights is None else contests.weights


def _frozen(contests: Contests) -> Contests:
    """Forbid writing to the arrays."""
    for name in ("members", "start", "weights", "at_home", "results"):
        array = getattr(contests, name)
        if array is not None:
            array.setflags(write=False)
    return contests


def _aligned(parameters: Mapping[str, ArrayLike], name: str, more: int) -> FloatArray:
    """Return the values of a parameter with dimensions added at the end; 1 where it has none."""
    values = np.asarray(parameters.get(name, 1.0), np.float64)
    return values.reshape(values.shape + (1,) * more)
