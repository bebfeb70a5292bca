"""Predict fixtures: probabilities of a win, a tie and a loss of two sides that will meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.answers.results import FIRST_SIDE, NOBODY, SECOND_SIDE, Meetings, ResultModel
from luce.answers.scales import intervals
from luce.answers.view import DrawsView, tail_of
from luce.counts.labels import describe, is_hashable, label_array, plural, read_number, some
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.view import DrawsLike

# A label, a team (labels, or labels with weights), or a list of these.
Side: TypeAlias = Label | Sequence[Any] | Mapping[Any, float]

RESULTS = ("first", "tie", "second")
# Columns of these results where probabilities come as first, second, tie.
_COLUMNS = [0, 2, 1]
_HOMES = {None: NOBODY, "first": FIRST_SIDE, "second": SECOND_SIDE}

# What categories that are no competitors stand for.
_EFFECTS = {"home": "the home advantage", "tie": "ties"}

_Members = list[tuple[int, float]]


def predict(
    draws: DrawsLike,
    first: Side,
    second: Side,
    home: str | Sequence[str | None] | None = None,
    *,
    ci_prob: float = 0.9,
    all_draws: bool = False,
) -> DataArray:
    """Predict fixtures: the probabilities that the first side wins, ties and loses.

    The model is that of the draws: contests with Davidson's or Rao and Kupper's ties and a home
    advantage, ties and advantages that are categories of their own, or neither, where P(tie) is 0.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`; for data without ties and advantages also an array of shape
        (chain, draw, category).
    first, second
        The two sides.  A side is a label; or a team, a tuple of labels or a mapping from labels to
        weights.  A list holds the sides of several fixtures; a side that is no list meets them all.
    home
        Who has the home advantage: "first", "second", or None on neutral ground; for several
        fixtures also a list of these.
    ci_prob
        Probability of the intervals, between 0 and 1.
    all_draws
        Return the probabilities draw by draw instead of their means?

    Returns
    -------
    DataArray
        Posterior means, dimension (result) with "first", "tie" and "second"; or (fixture, result)
        where lists were given.  They are the predicted probabilities of the next meeting.  The
        coordinates `lower` and `upper` are central intervals of the probability itself, which say
        how well it is known, and `sd` is its standard deviation; `first_side`, `second_side` and
        `at_home` repeat the fixtures.  With `all_draws` there are dimensions chain and draw before
        the others, and no intervals.

    Examples
    --------
    >>> import luce
    >>> games = {"item1": ["a", "b"], "item2": ["b", "a"], "outcome": ["a", "tie"]}
    >>> run = luce.Posterior(luce.from_pairs(games, ties="entity")).sample(2000, seed=1)
    >>> found = luce.predict(run, "a", "b")
    >>> found.values.round(1), float(found["upper"].sel(result="tie").round(1))
    (array([0.4, 0.4, 0.2]), 0.8)
    """
    tail_of(ci_prob)
    x = DrawsView.of(draws)
    model = ResultModel.of(x)
    meetings, index, many = read_fixtures(model, first, second, home)
    values = result_probabilities(model, meetings)
    dims = ("chain", "draw", "fixture", "result")
    found = x.labelled(values, dims, "probability", result=np.array(RESULTS))
    found = found.assign_coords(index)
    if not many:
        found = found.isel(fixture=0)
    if all_draws:
        return found
    told = intervals(found, ci_prob)
    spread = {name: told[name] for name in ("sd", "lower", "upper")}
    mean = told["mean"].assign_coords(spread).rename("probability")
    return mean.assign_attrs(ci_prob=float(ci_prob), model=model.words)


def result_probabilities(model: ResultModel, meetings: Meetings) -> FloatArray:
    """Compute the probabilities of `RESULTS` in all draws, shape (chain, draw, meeting, 3)."""
    values = np.empty((*model.draws.values.shape[:2], len(meetings), 3))
    for part, chain, rows in model.blocks(meetings):
        logs = model.log_probabilities(meetings.part(part.start, part.stop), chain, rows)
        values[chain, rows, part] = np.exp(logs[..., _COLUMNS])
    return values


def read_fixtures(
    model: ResultModel, first: Side, second: Side, home: Any
) -> tuple[Meetings, dict[str, Any], bool]:
    """Read sides and grounds; return the meetings, their coordinates, and if lists were given.

    The arguments are those of `predict`.
    """
    x = model.draws
    given = {"first": first, "second": second}
    lists = {name: side for name, side in given.items() if _is_list(x, side)}
    grounds = home if _is_list(x, home) else None
    numbers = {len(_listed(each)) for each in (*lists.values(), *([grounds] if grounds else []))}
    if len(numbers) > 1:
        told = ", ".join(f"{name} has {len(_listed(side))}" for name, side in lists.items())
        told += f", home has {len(_listed(grounds))}" if grounds is not None else ""
        raise DataError(f"lists of fixtures must be of one length; {told}.")
    size = numbers.pop() if numbers else 1
    if size == 0:
        raise DataError("no fixtures were given; one is needed at least.")
    sides = {
        name: _listed(side) if name in lists else [side] * size for name, side in given.items()
    }
    at_home = [_read_home(each) for each in (_listed(grounds) if grounds else [home] * size)]
    if model.home is None and any(at_home):
        raise DataError(
            f"home = {describe(home)} was given, but the model of these draws has no home "
            f"advantage: it has {model.words}. Leave home=None, or read the data with home=."
        )
    members = [
        (read_side(model, a, "first"), read_side(model, b, "second"))
        for a, b in zip(sides["first"], sides["second"], strict=True)
    ]
    for a, b in members:
        both = {i for i, _ in a} & {i for i, _ in b}
        if both:
            raise DataError(f"{some([x.categories[i] for i in sorted(both)])} is on both sides.")
    index = {
        f"{name}_side": ("fixture", label_array(map(_worded, side))) for name, side in sides.items()
    }
    words = {number: str(name).lower() for name, number in _HOMES.items()}
    index["at_home"] = ("fixture", np.array([words[each] for each in at_home]))
    return _meetings(members, at_home), index, bool(lists or grounds)


def _meetings(members: list[tuple[_Members, _Members]], at_home: list[int]) -> Meetings:
    each = [side for pair in members for side in pair]
    flat = [entry for side in each for entry in side]
    return Meetings(
        np.array([i for i, _ in flat], np.int64),
        np.cumsum([0, *map(len, each)]).astype(np.int64),
        np.log([weight for _, weight in flat]),
        np.array(at_home, np.int64),
    )


def _is_list(x: DrawsView, given: Any) -> bool:
    """Are these several fixtures, and not one label or one team?"""
    if is_hashable(given) and given in x.categories.index:
        return False
    team = str, bytes, tuple, set, frozenset, Mapping
    return isinstance(given, Iterable) and not isinstance(given, team)


def _listed(given: Any) -> list[Any]:
    """Make a list; numbers of NumPy become those of Python, which labels are."""
    return list(given.tolist() if isinstance(given, np.ndarray) else given)


def _worded(side: Any) -> Label:
    """Return a side as a coordinate: a label, or the labels of a team in a row."""
    label: Label = tuple(side) if isinstance(side, list | set | frozenset | Mapping) else side
    return label


def _read_home(given: Any) -> int:
    if not is_hashable(given) or given not in _HOMES:
        raise DataError(
            f"home = {describe(given)}; 'first', 'second', or None for neutral ground is needed."
        )
    return _HOMES[given]


def read_side(model: ResultModel, given: Any, what: str) -> _Members:
    """Read the numbers and weights of the members of a side; `what` names the side in messages."""
    known = model.draws.categories.index
    if is_hashable(given) and given in known:
        weights = {given: 1.0}
    elif isinstance(given, Mapping):
        weights = {label: read_number(weight, label) for label, weight in given.items()}
        if any(weight <= 0 for weight in weights.values()):
            raise DataError(f"a weight in {what} is not positive; leave out who does not play.")
    elif isinstance(given, tuple | list | set | frozenset):
        weights = dict.fromkeys(given, 1.0)
        if len(weights) < len(given):
            raise DataError(f"{describe(given)} in {what} names a category twice.")
    else:
        weights = {given: 1.0}
    if not weights:
        raise DataError(f"a side in {what} is empty; name {plural(1, 'label')} at least.")
    return [(_number(model.draws, label, what), weight) for label, weight in weights.items()]


def _number(x: DrawsView, label: Any, what: str) -> int:
    """Find a competitor; say what it might be called where there is none."""
    if not is_hashable(label) or label not in x.categories.index:
        named = {str(each): each for each in x.categories}
        near = get_close_matches(str(label), list(named), 1, 0.6)
        hint = f"did you mean {named[near[0]]!r}? The" if near else "the"
        raise DataError(
            f"{label!r} in {what} is not a category; {hint} categories are {some(x.categories)}."
        )
    if label in x.effects:
        raise DataError(
            f"{label!r} in {what} is no competitor: it stands for {_EFFECTS[x.effects[label]]}."
        )
    return x.categories.index[label]


def places_of(x: DrawsView, labels: Sequence[Label], what: str) -> IntArray:
    """Find the numbers of labels among the draws' categories."""
    return np.array([_number(x, label, what) for label in labels], np.int64)
