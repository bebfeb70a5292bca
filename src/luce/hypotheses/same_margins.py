"""Tables with the totals and the impossible cells of a given one: all of them, or some at random.

If rows and columns are (quasi-)independent, the probability of a table given its row and column
totals is the same for all probabilities of rows and columns,

    P(n) ∝ Π_ij 1 / n_ij!,

over the tables with these totals and with nothing in the impossible cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log2
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.sampling.progress import ProgressBar

# Largest number of partial tables that an enumeration looks at in one step.
_MOST_PARTIAL = 1_000_000
# Largest number of whole tables that are listed.
_MOST_LISTED = 100_000

# Log probabilities closer than this are taken as equal; those of different tables hardly are.
_SAME_LOG = 1e-8
# Steps by which log probabilities are rounded, so that equal ones are found.
_LOG_STEP = 1e-10

# Steps of a chain for each free cell, and the number of groups of chains.
_STEPS_A_CELL = 60
GROUPS = 16


@dataclass(frozen=True, eq=False)
class SameMargins:
    """The tables with the row and column totals of a table, and with its impossible cells.

    Parameters
    ----------
    table
        Whole numbers, 0 in cells that are not possible, shape (row, column).
    possible
        Flags of the same shape.
    """

    table: IntArray
    possible: BoolArray

    @cached_property
    def rows(self) -> IntArray:
        """Total of each row."""
        return np.asarray(self.table.sum(axis=1))

    @cached_property
    def columns(self) -> IntArray:
        """Total of each column."""
        return np.asarray(self.table.sum(axis=0))

    @cached_property
    def log_factorials(self) -> FloatArray:
        """Log k! for each count k that a cell can have."""
        from scipy.special import gammaln

        largest = int(max(self.rows.max(initial=0), self.columns.max(initial=0)))
        return np.asarray(gammaln(np.arange(largest + 1) + 1.0))

    def log_weights(self, tables: IntArray) -> FloatArray:
        """Compute -Σ log n_ij! of tables, of shape (..., row, column)."""
        return np.asarray(-self.log_factorials[tables].sum(axis=(-2, -1)))

    def are_as_improbable(self, tables: IntArray) -> BoolArray:
        """Flag tables that are no more probable than the observed one."""
        observed = float(self.log_weights(self.table))
        return np.asarray(self.log_weights(tables) <= observed + _SAME_LOG)

    @cached_property
    def neighbours(self) -> list[IntArray]:
        """The possible cells as a graph of rows and columns, without those of one cell only.

        Its vertices are the rows, then the columns.  A row or column with a single cell left has
        its count decided by the totals; it is removed until there is none.
        """
        r, c = self.possible.shape
        edge = np.zeros((r + c, r + c), np.bool_)
        edge[:r, r:] = self.possible
        edge |= edge.T
        while (single := edge.sum(axis=1) == 1).any():
            edge[single] = edge[:, single] = False
        return [np.flatnonzero(row) for row in edge]


class Enumeration(NamedTuple):
    """The number of tables, and the probability of those at least as extreme as the observed."""

    n_tables: int
    p_value: float


def enumerate_by_probability(margins: SameMargins) -> Enumeration | None:
    """Add up the probabilities that do not exceed the observed one; None if tables are too many.

    Rows are filled from both ends.  Partial tables with the same column totals and the same
    probability are one entry, so there are far fewer entries than tables.
    """
    if margins.possible.shape[1] > margins.possible.shape[0]:  # fewer columns, fewer states
        margins = SameMargins(margins.table.T, margins.possible.T)
    if np.log2(1.0 + margins.columns).sum() > 62:
        return None
    ends = [_Partial.empty(margins), _Partial.empty(margins)]
    todo = list(range(len(margins.rows)))
    while todo:
        side = int(len(ends[1].logs) < len(ends[0].logs))
        row = todo.pop(-1 if side else 0)
        taller = ends[side].with_row(margins, row)
        if taller is None:
            return None
        ends[side] = taller
    return _joined(margins, *ends)


@dataclass(frozen=True, eq=False)
class _Partial:
    """Partial tables of some rows: column totals, log weights, and the number of tables of each."""

    done: tuple[int, ...]
    used: IntArray
    logs: FloatArray
    number: IntArray

    @classmethod
    def empty(cls, margins: SameMargins) -> _Partial:
        columns = len(margins.columns)
        return cls((), np.zeros((1, columns), np.int64), np.zeros(1), np.ones(1, np.int64))

    def with_row(self, margins: SameMargins, row: int) -> _Partial | None:
        """Fill one more row in all ways; None where there are too many."""
        done = (*self.done, row)
        filled = _filled(margins, self.used, done)
        if filled is None:
            return None
        which, counts, used = filled
        logs = self.logs[which] - margins.log_factorials[counts].sum(axis=1)
        steps = np.rint(logs / _LOG_STEP).astype(np.int64)
        keys = _keys(margins, used)
        order = np.lexsort((steps, keys))
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(keys[order]) != 0) | (np.diff(steps[order]) != 0)
        first = order[new]
        number = np.add.reduceat(self.number[which][order], np.flatnonzero(new))
        return _Partial(done, used[first], logs[first], number)


def _filled(
    margins: SameMargins, used: IntArray, done: tuple[int, ...]
) -> tuple[IntArray, IntArray, IntArray] | None:
    """Fill the last row of `done` in all ways, below each state of column totals.

    Returns the state, the row's counts and the new column totals of each way; None where there
    are too many.
    """
    row = done[-1]
    ways = _compositions(margins.rows[row], np.where(margins.possible[row], margins.columns, 0))
    if ways is None or len(ways) * len(used) > _MOST_PARTIAL:
        return None
    others = np.setdiff1d(np.arange(len(margins.rows)), done)
    room = margins.possible[others].T @ margins.rows[others]  # what the other rows can bring
    left = margins.columns - (used[:, None] + ways)
    which, way = np.nonzero(((left >= 0) & (left <= room)).all(axis=2))
    return which, ways[way], used[which] + ways[way]


def _compositions(total: int, most: IntArray) -> IntArray | None:
    """List the ways to write `total` as a sum of counts, each at most its `most`."""
    ways = np.zeros((1, 0), np.int64)
    left = np.array([total])
    for j, cap in enumerate(most.tolist()):
        later = int(most[j + 1 :].sum())
        low, high = np.maximum(left - later, 0), np.minimum(left, cap)
        number = np.maximum(high - low + 1, 0)
        if number.sum() > _MOST_PARTIAL // len(most):
            return None
        which = np.repeat(np.arange(len(left)), number)
        first = np.repeat(np.cumsum(number) - number, number)
        value = low[which] + np.arange(len(which)) - first
        ways, left = np.c_[ways[which], value], left[which] - value
    return ways


def _keys(margins: SameMargins, used: IntArray) -> IntArray:
    """Number the states of column totals."""
    place = np.cumprod(np.r_[1, margins.columns[:-1] + 1])
    return np.asarray(used @ place)


def _joined(margins: SameMargins, top: _Partial, bottom: _Partial) -> Enumeration:
    """Join the upper and the lower rows wherever they have the column totals between them."""
    keys = _keys(margins, top.used), _keys(margins, margins.columns - bottom.used)
    shared = np.intersect1d(*keys)
    parts = [
        list(_groups(own, half, shared)) for own, half in zip(keys, (top, bottom), strict=True)
    ]
    pairs = list(zip(*parts, strict=True))
    shift = max(a.logs.max() + b.logs.max() for a, b in pairs)
    limit = float(margins.log_weights(margins.table)) + _SAME_LOG
    number, total, below = 0, 0.0, 0.0
    for a, b in pairs:
        highest = a.logs.max(), b.logs.max()
        order = np.argsort(b.logs)
        own = a.number * np.exp(a.logs - highest[0])
        others = b.number[order] * np.exp(b.logs[order] - highest[1])
        scale = exp(sum(highest) - shift)
        upto = np.r_[0.0, np.cumsum(others)]
        number += int(a.number.sum()) * int(b.number.sum())
        total += scale * own.sum() * upto[-1]
        below += scale * float(own @ upto[np.searchsorted(b.logs[order], limit - a.logs, "right")])
    return Enumeration(number, min(float(below / total), 1.0))


class _Group(NamedTuple):
    """Partial tables with the same column totals."""

    logs: FloatArray
    number: IntArray


def _groups(keys: IntArray, half: _Partial, shared: IntArray) -> Iterator[_Group]:
    """Yield the partial tables of each shared key, in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[order], shared)
    stop = np.searchsorted(keys[order], shared, "right")
    for a, b in zip(first.tolist(), stop.tolist(), strict=True):
        yield _Group(half.logs[order[a:b]], half.number[order[a:b]])


def all_tables(margins: SameMargins) -> IntArray | None:
    """List all tables, shape (table, row, column); None where they are too many."""
    r, c = margins.possible.shape
    tables, used = np.zeros((1, r, c), np.int64), np.zeros((1, c), np.int64)
    for row in range(r):
        filled = _filled(margins, used, tuple(range(row + 1)))
        if filled is None or len(filled[0]) > _MOST_LISTED:
            return None
        which, counts, used = filled
        tables = tables[which]
        tables[:, row] = counts
    return tables


class RandomTables(NamedTuple):
    """Random tables in groups of chains, shape (group, chain, row, column).

    `r_hat` compares the log probabilities of the groups; it is near 1 where the chains have
    forgotten where they began.
    """

    tables: IntArray
    r_hat: float


def random_tables(
    margins: SameMargins,
    number: int,
    steps: int | None,
    rng: np.random.Generator,
    bar: ProgressBar,
) -> RandomTables:
    """Draw tables by Markov chains over all tables with these margins.

    A step adds a multiple of +1, -1, +1, ... along a random cycle of rows and columns whose cells
    are possible.  These cycles connect all tables (they are the circuits of a bipartite graph,
    hence its Graver basis), while exchanges between two rows and two columns alone need not.  Along
    a cycle of four cells the multiple is drawn from its conditional distribution, which is
    hypergeometric; along longer ones it is proposed and accepted or not (Metropolis).

    Each group takes a cycle for all of its chains, drawn before they move.  A group begins where a
    chain from the observed table ends.  Groups are independent given the observed table.

    Parameters
    ----------
    margins
        The margins; some table but the observed one must have them.
    number
        The number of tables, rounded up to a multiple of the number of groups.
    steps
        Steps of each chain; 60 for each possible cell unless given.
    rng
        The generator.
    bar
        The progress bar.
    """
    length = _STEPS_A_CELL * int(margins.possible.sum()) if steps is None else steps
    chains = ceil(number / GROUPS)
    found = []
    for own in rng.spawn(GROUPS):
        start = _moved(margins, margins.table[None], length, own)
        tables = np.repeat(start, chains, axis=0)
        found.append(_moved(margins, tables, length, own))
        bar.step("random tables")
    tables = np.stack(found)
    return RandomTables(tables, _r_hat(margins.log_weights(tables)))


def _moved(
    margins: SameMargins, tables: IntArray, steps: int, rng: np.random.Generator
) -> IntArray:
    """Move tables by some steps, all of them along the same cycles."""
    shape, columns = tables.shape, tables.shape[2]
    # A row of the array holds a cell of all tables, so that a step works on a few whole rows.
    cells = np.array(tables.reshape(len(tables), -1).T, order="C")
    inside = np.flatnonzero([len(own) for own in margins.neighbours])
    for _ in range(steps):
        cycle = _random_cycle(margins.neighbours, int(rng.choice(inside)), rng)
        ends = np.array([cycle, [*cycle[1:], cycle[0]]])
        where = ends.min(axis=0) * columns + ends.max(axis=0) - shape[1]
        if len(where) == 4:
            _exchange(cells, where, rng)
        else:
            _move(cells, where, margins, rng)
    return cells.T.reshape(shape)


def _random_cycle(neighbours: list[IntArray], vertex: int, rng: np.random.Generator) -> list[int]:
    """Walk without turning back until a vertex is met again; return the cycle that this closes."""
    path, before = [vertex], -1
    place = {vertex: 0}
    while True:
        possible = neighbours[path[-1]]
        following = int(possible[int(rng.random() * len(possible))])
        if following == before:
            continue
        if following in place:
            return path[place[following] :]
        before = path[-1]
        place[following] = len(path)
        path.append(following)


def _exchange(cells: IntArray, where: IntArray, rng: np.random.Generator) -> None:
    """Draw the counts of two rows and two columns anew, given their totals."""
    a, b, d, c = where  # a and b share one line of the table, c and d the other; a and c as well
    one, other, both = cells[a] + cells[b], cells[c] + cells[d], cells[a] + cells[c]
    new = rng.hypergeometric(one, other, both)
    cells[a], cells[b], cells[c], cells[d] = new, one - new, both - new, other - both + new


def _move(cells: IntArray, where: IntArray, margins: SameMargins, rng: np.random.Generator) -> None:
    """Propose to add a random number along a longer cycle, and accept it or not."""
    up, down = where[::2], where[1::2]
    widest = len(margins.log_factorials)
    reach = 2 ** int(rng.integers(0, max(int(log2(widest)), 1)))
    size = int(rng.integers(1, reach + 1))
    by = np.where(rng.random(cells.shape[1]) < 0.5, size, -size)
    more, less = cells[up] + by, cells[down] - by
    fits = (more >= 0).all(axis=0) & (less >= 0).all(axis=0)
    logs = margins.log_factorials
    gain = logs[cells[up]].sum(axis=0) + logs[cells[down]].sum(axis=0)
    gain -= logs[more.clip(0, widest - 1)].sum(axis=0) + logs[less.clip(0, widest - 1)].sum(axis=0)
    by *= fits & (np.log(rng.random(len(by))) < gain)
    cells[up] += by
    cells[down] -= by


def _r_hat(values: FloatArray) -> float:
    """Compare the means of groups with the spread within them, for values of shape (group, n)."""
    within = float(values.var(axis=1, ddof=1).mean()) if values.shape[1] > 1 else 0.0
    between = float(values.mean(axis=1).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    n = values.shape[1]
    return float(np.sqrt((n - 1) / n + between / within))
