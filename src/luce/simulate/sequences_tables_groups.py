"""Simulate sequences of states, tables of counts, and grouped answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.counts.labels import Categories, describe
from luce.errors import DataError
from luce.simulate.design import (
    Rng,
    Table,
    Truth,
    generator,
    in_turn,
    listed,
    one_of,
    read_truth,
    require_winner,
    whole,
)


def transitions(
    rng: Rng,
    probabilities: Truth,
    n: int,
    *,
    self_loops: str = "removed",
    forbidden: Mapping[Any, Labels] | None = None,
    start: Label = None,
) -> list[Label]:
    """Simulate a sequence of states, for ``from_transitions``.

    Parameters
    ----------
    rng, probabilities
        As in `pairs`.
    n
        Number of transitions, each drawn in proportion to the probabilities of the allowed states.
    self_loops
        "removed": no state follows itself.  "kept": it may.
    forbidden
        Further transitions that cannot occur: maps a state to those that cannot follow it.
    start
        The first state; drawn from the probabilities unless given.

    Examples
    --------
    >>> transitions(1, {"a": 3, "b": 1, "c": 2}, 5, start="a", forbidden={"a": ["b"]})
    ['a', 'c', 'a', 'c', 'a', 'c']
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    one_of(self_loops, "self_loops", ("removed", "kept"))
    if any(isinstance(label, tuple) for label in labels):
        raise DataError("a tuple cannot be a state here: it would be read as a sequence.")
    if not isinstance(forbidden, Mapping | None):
        raise DataError(f"forbidden is {describe(forbidden)}; a mapping of states is needed.")
    weights = np.tile(p, (len(p), 1))  # in row i: of the states that may follow state i
    if self_loops == "removed":
        np.fill_diagonal(weights, 0.0)
    for state, others in (forbidden or {}).items():
        i = int(labels.numbers([state], "forbidden")[0])
        weights[i, labels.numbers(others, "forbidden")] = 0.0
    begins = (np.flatnonzero(p) if start is None else labels.numbers([start], "start")).tolist()
    reached = _reached(labels, weights, begins)
    moves = {i: _successors(random, weights[i]) for i in reached}
    states = begins if start is not None else [int(random.choice(len(p), p=p))]
    for _ in range(n):
        states.append(next(moves[states[-1]]))
    return [labels[i] for i in states]


def _reached(labels: Categories, weights: FloatArray, begins: list[int]) -> set[int]:
    """Find the states within reach; refuse one from which no move is possible.

    All of them are checked, so that an error does not depend on the draws.
    """
    todo, reached = list(begins), set(begins)
    while todo:
        i = todo.pop()
        new = set(np.flatnonzero(weights[i]).tolist())
        if not new:
            raise DataError(f"from {labels[i]!r} nothing is allowed; it needs somewhere to go.")
        todo += new - reached
        reached |= new
    return reached


def _successors(random: np.random.Generator, weights: FloatArray) -> Iterator[int]:
    """Yield successors of one state, drawn 256 at a time."""
    while True:
        yield from random.choice(len(weights), 256, p=weights / weights.sum()).tolist()


def table(
    rng: Rng,
    probabilities: Truth,
    totals: Iterable[int],
    *,
    possible: Sequence[Labels] | None = None,
) -> Table:
    """Simulate a table of counts in which some cells cannot occur, for ``from_table``.

    Parameters
    ----------
    rng, probabilities
        As in `pairs`.  The labels name the columns and must be text.
    totals
        Number of outcomes in each row.
    possible
        The labels that can occur in each row, all unless given; the other cells are nan.

    Examples
    --------
    >>> table(1, {"tea": 3, "milk": 1}, [9, 4], possible=[["tea", "milk"], ["tea"]])
    {'tea': [7, 4], 'milk': [2, nan]}
    """
    random, (labels, p) = generator(rng), read_truth(probabilities)
    if not all(isinstance(label, str) for label in labels):
        raise DataError("the labels of a table name its columns; they must be text.")
    sums = [whole(total, "a total", 0) for total in listed(totals, "totals")]
    rows = [labels] * len(sums) if possible is None else listed(possible, "possible")
    if len(rows) != len(sums) or not sums:
        raise DataError(f"there are {len(sums)} totals and {len(rows)} rows of what is possible.")
    columns: Table = {str(label): [np.nan] * len(sums) for label in labels}
    for i, cells in enumerate(in_turn(labels, rows, len(rows)).tolist()):
        open_cells = [j for j in cells if j < len(p)]
        # A cell of probability 0 is not drawn: rounding may leave some probability to the last.
        filled = [j for j in open_cells if p[j] > 0]
        require_winner(bool(filled))
        counts = random.multinomial(sums[i], p[filled] / p[filled].sum())
        for j in open_cells:
            columns[str(labels[j])][i] = 0
        for j, count in zip(filled, counts.tolist(), strict=True):
            columns[str(labels[j])][i] = count
    return columns


def groups(
    rng: Rng, probabilities: Truth, n: int, *, groups: Iterable[Labels], coarse: float = 0.5
) -> list[tuple[Label, ...]]:
    """Simulate answers, some of which are reported as a group only, for ``from_groups``.

    Whether an answer is reported as its group does not depend on which of the group it is.  This is
    coarsening at random, P(reported W | i) equal for all i in W, and the likelihood needs it.

    Parameters
    ----------
    rng, probabilities, n
        As in `pairs`; n is the number of answers.
    groups
        Groups of labels without overlap.  A label in none of them is always reported itself.
    coarse
        Probability that the group is reported in place of the label.

    Examples
    --------
    >>> groups(1, {"a": 3, "b": 1, "c": 2}, 4, groups=[["a", "b"]])
    [('a', 'b'), ('c',), ('a',), ('c',)]
    """
    random, n, (labels, p) = generator(rng), whole(n, "n"), read_truth(probabilities)
    if not isinstance(coarse, (int, float)) or not 0 <= coarse <= 1:
        raise DataError(f"coarse = {coarse!r}; a probability is needed.")
    told: list[tuple[Label, ...]] = [(label,) for label in labels]
    place = np.arange(len(p))
    parts = [listed(group, "groups") for group in groups]
    labels.numbers([label for part in parts for label in part], "groups")  # none twice
    for part in filter(None, parts):
        place[labels.numbers(part, "groups")] = len(told)
        told.append(tuple(part))
    outcome = random.choice(len(p), n, p=p)
    report = np.where(random.random(n) < coarse, place[outcome], outcome)
    return [told[k] for k in report.tolist()]
