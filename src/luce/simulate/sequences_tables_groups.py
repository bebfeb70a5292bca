"""Transitions, tables and grouped answers, from a known truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.counts.labels import describe
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
    require,
    whole,
)


def transitions(
    rng: Rng, probabilities: Truth, n: int, *, self_loops: str = "removed",
    forbidden: Mapping[Any, Labels] | None = None, start: Label = None,
) -> list[Label]:  # fmt: skip
    """Simulate a sequence of states, for ``from_transitions``.

    Parameters
    ----------
    n
        How many transitions, each drawn from the probabilities of what is allowed.
    self_loops
        "removed": no state follows itself.  "kept": it may.
    forbidden
        Further transitions that cannot occur: from a state, the states it cannot move to.
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
    closed = {i: [i] if self_loops == "removed" else [] for i in range(len(p))}
    if not isinstance(forbidden, Mapping | None):
        raise DataError(f"forbidden is {describe(forbidden)}; a mapping of states is needed.")
    for state, others in (forbidden or {}).items():
        i = int(labels.numbers([state], "forbidden")[0])
        closed[i].extend(labels.numbers(others, "forbidden").tolist())

    def row(i: int) -> FloatArray:
        weights = p.copy()
        weights[closed[i]] = 0.0
        return weights

    def ahead(weights: FloatArray) -> Iterator[int]:
        """Moves from a state, in the order in which it will be left: drawn many at a time."""
        while True:
            yield from random.choice(len(p), 256, p=weights / weights.sum()).tolist()

    begins = (np.flatnonzero(p) if start is None else labels.numbers([start], "start")).tolist()
    todo, reached = list(begins), set(begins)
    while todo:  # all that can be reached, so that an error does not depend on luck
        i = todo.pop()
        new = set(np.flatnonzero(row(i)).tolist())
        if not new:
            raise DataError(f"from {labels[i]!r} nothing is allowed; it needs somewhere to go.")
        todo += new - reached
        reached |= new
    moves = {i: ahead(row(i)) for i in reached}
    states = begins if start is not None else [int(random.choice(len(p), p=p))]
    for _ in range(n):
        states.append(next(moves[states[-1]]))
    return [labels[i] for i in states]


def table(
    rng: Rng, probabilities: Truth, totals: Iterable[int], *,
    possible: Sequence[Labels] | None = None,
) -> Table:  # fmt: skip
    """Simulate a table of counts in which some cells cannot occur, for ``from_table``.

    Parameters
    ----------
    totals
        How many outcomes each row counts.  The labels name the columns and must be text.
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
        # A cell of probability 0 stays out of the draw: rounding may leave the last one a rest.
        filled = [j for j in open_cells if p[j] > 0]
        require(bool(filled))
        counts = random.multinomial(sums[i], p[filled] / p[filled].sum())
        for j in open_cells:
            columns[str(labels[j])][i] = 0
        for j, count in zip(filled, counts.tolist(), strict=True):
            columns[str(labels[j])][i] = count
    return columns


def groups(
    rng: Rng, probabilities: Truth, n: int, *, groups: Iterable[Labels], coarse: float = 0.5
) -> list[tuple[Label, ...]]:
    """Simulate answers of which some are only told as a group, for ``from_groups``.

    Whether an answer is told as its group does not depend on which of the group it is.  This is
    coarsening at random, P(told W | i) equal for all i in W, and the likelihood needs it.

    Parameters
    ----------
    groups
        Groups of labels without overlap.  A label in none is always told itself.
    coarse
        How probable it is that the group is told in place of the label.

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
