"""Knock-out brackets: the probability of each competitor to reach each round.

Nothing is simulated.  Given a draw of the strengths, the probability that i wins its half of a
bracket and meets j from the other half is a product, so that

    P(i wins a match) = P(i wins its half) · Σ_j P(j wins the other half) · q_ij,

q_ij being the probability that i beats j.  From the first round to the final these sums give the
probabilities exactly for each draw; their means over all draws are the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.answers.diagnostics import mcse
from luce.answers.fixtures import places_of, read_fixtures
from luce.answers.results import Meetings, ResultModel
from luce.answers.scales import intervals
from luce.answers.view import DrawsView, tail_of
from luce.counts.labels import Categories, describe, is_hashable, label_array, plural, some
from luce.decide.doubts import doubts, verdict_on
from luce.decide.schedules import NEUTRAL, read_columns, respelled
from luce.errors import DataError, IgnoredColumnsWarning, warn_user
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import find_roles
from luce.reading.sources import Source
from luce.reading.values import is_missing
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import check_whole
from luce.sequences.tables import Table

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.view import DrawsLike
    from luce.sampling.convergence import Verdict

_SAMPLE = ("chain", "draw")
_HOMES = (None, NEUTRAL, "first", "second")
_TIES = {
    "replay": "a tie is replayed until somebody wins",
    "lot": "a tie is decided by lot, each with probability 1/2",
}
_STAGES = ("champion", "final", "semi-final", "quarter-final")

# A competitor's number, a bye, or two parts of a bracket whose winners meet.
_Node = int | None | tuple[Any, Any]


def play_bracket(
    draws: DrawsLike,
    bracket: Any,
    *,
    home: str | Sequence[str | None] | None = None,
    best_of: int = 1,
    ties: str = "replay",
    ci_prob: float = 0.9,
    progress: bool = True,
) -> Cup:
    """Play a knock-out bracket: who reaches which round, exactly for each draw?

    Parameters
    ----------
    draws
        As for `luce.predict`.
    bracket
        The competitors in the order of the bracket, whose number is a power of two: the winners of
        neighbours meet.  None is a bye; `luce.decide.seeded` makes such a list of seeds.  In the
        place of a competitor may stand a bracket again, whose winner takes it: nested pairs make
        brackets of any form.  Or a frame with a column of competitors in that order, or with two
        columns, the pairs of the first round; "bye" or a missing value is a bye.
    home
        Who has the home advantage in a game: "first", the side that stands earlier in the bracket,
        "second" or "neutral"; with `best_of`, also a list with one of these for each game.  Asked
        for where the model has an advantage.
    best_of
        Games of a match, an odd number: who wins most of them goes on.
    ties
        A game that ends in a tie: "replay" it on the same ground until it does not, so that the
        probability of a win is that given no tie; or decide it by "lot", as penalties nearly do.
    ci_prob
        Probability of the intervals.
    progress
        Show a bar if it takes longer than two seconds?

    Returns
    -------
    Cup
        Prints as a table; `reach` and `champion` are labelled arrays.

    Examples
    --------
    >>> import luce, numpy as np
    >>> strengths = np.random.default_rng(1).dirichlet([6, 3, 2, 1], size=(4, 1000))
    >>> luce.play_bracket(strengths, [0, 3, 1, 2]).champion.round(1).values
    array([0.6, 0.2, 0.1, 0.1])
    """
    tail_of(ci_prob)
    check_whole("best_of", best_of, 1)
    if best_of % 2 == 0:
        raise DataError(
            f"best_of = {best_of}: both may win as many of an even number of games, and goals are "
            "not modelled. Give an odd number."
        )
    if ties not in _TIES:
        raise DataError(f"ties = {ties!r}; {some(_TIES)} are possible.")
    x = DrawsView.of(draws)
    model = ResultModel.of(x)
    grounds = _read_grounds(model, home, int(best_of))
    root = _read_bracket(x, bracket)
    match = _Match(model, grounds, ties)
    reach = _reach(match, root, progress)
    return _cup(match, reach, float(ci_prob), verdict_on(draws))


def seeded(labels: Labels) -> list[Label]:
    """Order seeds for a bracket, so that the best meet as late as can be.

    The first seed meets the last, the second the last but one, and so on; the first two can meet in
    the final only.  The best seeds have byes where the number is no power of two.

    Parameters
    ----------
    labels
        The competitors, the best seed first.

    Examples
    --------
    >>> import luce
    >>> luce.decide.seeded("abcdef")
    ['a', None, 'd', 'e', 'b', None, 'c', 'f']
    """
    seeds = list(Categories(labels))
    order = [0]
    while len(order) < len(seeds):
        size = 2 * len(order)
        order = [k for seed in order for k in (seed, size - 1 - seed)]
    return [seeds[k] if k < len(seeds) else None for k in order]


# -- reading ---------------------------------------------------------------------------------------


def _read_grounds(model: ResultModel, home: Any, games: int) -> tuple[str | None, ...]:
    """Read who is at home in each game of a match."""
    if model.home is not None and home is None:
        raise DataError(
            f"the model of these draws has {model.words}: say who is at home. home='first' is the "
            "side that stands earlier in the bracket; home='neutral' is neutral ground."
        )
    listed = [home] * games if home is None or isinstance(home, str) else list(home)
    if len(listed) != games:
        raise DataError(f"home has {len(listed)} entries; best_of = {games} games are played.")
    for each in listed:
        if each not in _HOMES:
            raise DataError(f"home = {describe(each)}; 'first', 'second' or 'neutral' is needed.")
    return tuple(None if each == NEUTRAL else each for each in listed)


def _read_bracket(x: DrawsView, given: Any) -> tuple[_Node, _Node]:
    """Read a bracket as pairs of pairs down to numbers of categories."""
    if is_frame(given):
        entries = _entries(x, source_of(given))
    elif isinstance(given, (list, tuple, np.ndarray)):
        entries = given.tolist() if isinstance(given, np.ndarray) else list(given)
    else:
        raise DataError(
            f"bracket = {describe(given)}; a list of competitors in the order of the bracket, "
            "nested pairs, or a frame is needed."
        )
    root = _node(x, entries)
    numbers = list(_leaves(root))
    if len(numbers) < 2:
        raise DataError(f"a bracket needs two competitors; {plural(len(numbers), 'was', 'were')}.")
    twice = [x.categories[k] for k in dict.fromkeys(numbers) if numbers.count(k) > 1]
    if twice:
        raise DataError(f"{some(twice)} stands in the bracket twice.")
    assert isinstance(root, tuple)
    return root


def _entries(x: DrawsView, source: Source) -> list[Any]:
    """Read the entries of a bracket from one column, or those of the first round from two."""
    pairs = find_roles(source.names, {}, ("item1", "item2"))
    if len(pairs) < 2 and len(source.names) > 1:
        raise DataError(
            f"the columns of the bracket are {some(source.names)}; one column of competitors in "
            "the order of the bracket, or two with the pairs of the first round, as home and away, "
            "are needed."
        )
    names = [pairs["item1"], pairs["item2"]] if len(pairs) == 2 else source.names
    unused = [name for name in source.names if name not in names]
    if unused:
        warn_user(IgnoredColumnsWarning(dict.fromkeys(unused, "no part of a bracket"), source.name))
    columns = read_columns(source, names).values()
    entries = [_entry(x, value) for row in zip(*columns, strict=True) for value in row]
    spelled = respelled(entries, x.categories)
    return [spelled.get(entry, entry) for entry in entries]


def _entry(x: DrawsView, value: Any) -> Any:
    """Read an entry of a column, in which a bye may be called so, or be missing."""
    if is_missing(value) or (str(value).lower() == "bye" and value not in x.categories.index):
        return None
    return value


def _node(x: DrawsView, given: Any) -> _Node:
    if given is None:
        return None
    if is_hashable(given) and given in x.categories.index:
        return int(places_of(x, [given], "the bracket")[0])
    if not isinstance(given, (list, tuple)):
        return int(places_of(x, [given], "the bracket")[0])  # refuses it
    size = len(given)
    if size < 2 or size & (size - 1):
        raise DataError(
            f"the bracket has {plural(size, 'entry', 'entries')} in a row; a power of two is "
            "needed. Fill it up with None, which is a bye, as luce.decide.seeded does, or nest "
            "pairs."
        )
    nodes = [_node(x, each) for each in given]
    while len(nodes) > 1:
        nodes = [_pair(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=True)]
    return nodes[0]


def _pair(first: _Node, second: _Node) -> _Node:
    """Join two parts of a bracket; against a bye nothing is played."""
    if first is None or second is None:
        return second if first is None else first
    return first, second


def _leaves(node: _Node) -> Iterator[int]:
    if isinstance(node, tuple):
        yield from _leaves(node[0])
        yield from _leaves(node[1])
    elif node is not None:
        yield node


def _depth(node: _Node) -> int:
    return 1 + max(map(_depth, node)) if isinstance(node, tuple) else 0


# -- probabilities ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Match:
    """The rules of a match: who is at home in each game, and what becomes of ties."""

    model: ResultModel
    grounds: tuple[str | None, ...]
    ties: str

    def games(self, first: list[int], second: list[int]) -> list[Meetings]:
        """Make the meetings of each of some with each of others, for each kind of ground."""
        labels = self.model.draws.categories
        pairs = [(labels[i], labels[j]) for i in first for j in second]
        left, right = (list(side) for side in zip(*pairs, strict=True))
        return [
            read_fixtures(self.model, left, right, [ground] * len(pairs))[0]
            for ground in dict.fromkeys(self.grounds)
        ]

    def wins(self, games: list[Meetings], chain: int, rows: slice) -> FloatArray:
        """Compute the probability that the first side wins each match, shape (draw, match)."""
        single = {}
        for ground, meetings in zip(dict.fromkeys(self.grounds), games, strict=True):
            logs = self.model.log_probabilities(meetings, chain, rows)
            if self.ties == "lot":
                single[ground] = np.exp(logs[..., 0]) + np.exp(logs[..., 2]) / 2
            else:
                single[ground] = np.exp(logs[..., 0] - np.logaddexp(logs[..., 0], logs[..., 1]))
        if len(self.grounds) == 1:
            return single[self.grounds[0]]
        # All games are played, which changes nothing: who has won most of them has won.
        won = [np.ones_like(next(iter(single.values())))]  # probabilities of 0, 1, ... wins
        for ground in self.grounds:
            p = single[ground]
            lost = [each * (1 - p) for each in won] + [np.zeros_like(p)]
            won = [
                a + b for a, b in zip(lost, [np.zeros_like(p)] + [w * p for w in won], strict=True)
            ]
        return np.asarray(np.sum(won[len(self.grounds) // 2 + 1 :], axis=0))


def _reach(match: _Match, root: _Node, progress: bool) -> tuple[list[int], FloatArray]:
    """Compute the probability to reach each round, shape (chain, draw, competitor, stage).

    Stage 0 is to win the bracket, stage k to be among the winners of the matches that are k rounds
    before its end.
    """
    x = match.model.draws
    numbers = list(_leaves(root))
    place = {number: k for k, number in enumerate(numbers)}
    depth = _depth(root)
    out = np.ones((*x.values.shape[:2], len(numbers), depth))
    nodes = list(_matches(root))
    games = [match.games(list(_leaves(a)), list(_leaves(b))) for (a, b), _ in nodes]
    width = 8 * max(len(each[0]) for each in games)
    done = 0
    with ProgressBar(x.n_draws, progress) as bar:
        for chain, rows in x.blocks(width):
            won: dict[int, FloatArray] = {}  # the probability to have won so far, by competitor
            for ((a, b), level), each in zip(nodes, games, strict=True):
                q = match.wins(each, chain, rows)
                first, second = list(_leaves(a)), list(_leaves(b))
                ones = np.ones(len(q))
                left = np.stack([won.get(i, ones) for i in first], axis=1)
                right = np.stack([won.get(j, ones) for j in second], axis=1)
                q = q.reshape(len(q), len(first), len(second))
                met = left[:, :, None] * right[:, None, :]
                for k, i in enumerate(first):
                    won[i] = (met[:, k] * q[:, k]).sum(axis=1)
                for k, j in enumerate(second):
                    won[j] = (met[:, :, k] * (1 - q[:, :, k])).sum(axis=1)
                for i in (*first, *second):
                    out[chain, rows, place[i], level] = won[i]
            done += rows.stop - rows.start
            bar.update(done, "playing")
    return numbers, out


def _matches(node: _Node, level: int = 0) -> Iterator[tuple[tuple[_Node, _Node], int]]:
    """List all matches with the rounds from each to the final, the final last."""
    if isinstance(node, tuple):
        for part in node:
            yield from _matches(part, level + 1)
        yield node, level


# -- the result ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cup:
    """Probabilities of a knock-out bracket, the competitors sorted by those to win it.

    Attributes
    ----------
    reach
        Probability of each competitor to reach each stage, dimensions (competitor, stage): rounds
        by their names, and "champion" last.  The coordinates `lower` and `upper` are central
        intervals of the probability itself, which say how well it is known, `sd` is its standard
        deviation and `mcse` the Monte Carlo standard error of the mean, nan where nothing varies.
    draws
        The same probabilities for each draw, dimensions (chain, draw, competitor, stage).
    notes
        Sentences about the model, the rules, and whatever is in doubt.
    trust
        The verdict on the draws; None for draws that came as an array.
    """

    reach: DataArray
    draws: DataArray
    notes: tuple[str, ...]
    trust: Verdict | None

    @property
    def champion(self) -> DataArray:
        """The probability of each competitor to win the bracket."""
        return self.reach.sel(stage="champion").rename("champion")

    def table(self) -> Table:
        """Make a table of the probabilities to reach each stage."""
        columns = {"competitor": self.reach["competitor"].values}
        stages = self.reach["stage"].values.tolist()
        columns |= {stage: self.reach.sel(stage=stage).values for stage in stages}
        percent = round(100 * self.reach.attrs["ci_prob"])
        for end, name in (("lb", "lower"), ("ub", "upper")):
            columns[f"eti{percent}_{end}"] = self.champion[name].values
        shares = [name for name in columns if name != "competitor"]
        return Table(columns, (), self.notes, "competitor", shares)

    def to_pandas(self) -> Any:
        """Make a pandas data frame of `table()`."""
        return self.table().to_pandas()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table().to_html()


def _cup(
    match: _Match, reached: tuple[list[int], FloatArray], ci_prob: float, trust: Verdict | None
) -> Cup:
    """Label and sum up the probabilities of a bracket."""
    numbers, values = reached
    x, depth = match.model.draws, values.shape[-1]
    stages = [_STAGES[k] if k < len(_STAGES) else f"last {2**k}" for k in range(depth)]
    means = values.mean(axis=(0, 1))
    order = np.lexsort(tuple(-means[:, k] for k in range(depth - 1, -1, -1)))
    labels = label_array([x.categories[numbers[k]] for k in order])
    dims = (*_SAMPLE, "competitor", "stage")
    index = {"competitor": labels, "stage": np.array(stages[::-1])}
    every = x.labelled(values[:, :, order, ::-1], dims, "reach", **index)
    told = intervals(every, ci_prob)
    errors = [mcse(every.isel(stage=k)).values for k in range(depth)]
    coords = {name: told[name] for name in ("sd", "lower", "upper")}
    error = (("competitor", "stage"), np.stack(errors, axis=1))
    reach = told["mean"].rename("reach").assign_coords({**coords, "mcse": error})
    notes = _notes(match, x, numbers, trust)
    return Cup(reach.assign_attrs(ci_prob=ci_prob), every, tuple(notes), trust)


def _notes(match: _Match, x: DrawsView, numbers: list[int], trust: Verdict | None) -> list[str]:
    """Say by which model and rules a bracket was played, and what is in doubt."""
    model, games = match.model, len(match.grounds)
    notes = [
        f"Exact for each of {plural(x.n_draws, 'draw')}; intervals are of P(champion), as the "
        "strengths are known."
    ]
    words = {"first": "the first side", "second": "the second side", None: "nobody"}
    homes = [words[each] for each in match.grounds]
    home = homes[0] if len(set(homes)) == 1 else f"game by game {', '.join(homes)}"
    ground = f"; at home: {home}" if model.home is not None else ""
    notes.append(f"Results: {model.words}{ground}.")
    if games > 1:
        notes.append(f"A match is the best of {plural(games, 'game')}.")
    if model.ties is not None:
        notes.append(f"{_TIES[match.ties].capitalize()}.")
    effects = {x.categories.index[label] for label in x.effects}
    absent = sorted(set(range(x.n_categories)) - set(numbers) - effects)
    if absent:
        names = some([x.categories[k] for k in absent], quote=False)
        notes.append(f"Not in this bracket: {names}.")
    return notes + doubts(trust)
