"""Transition matrices to read: means and intervals, laid out as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Label
from luce.answers.scales import intervals as intervals_of
from luce.answers.transitions import transition_matrix
from luce.counts.labels import plural, printable
from luce.page.words import percent

if TYPE_CHECKING:
    from xarray import Dataset

    from luce.answers.view import DrawsLike

IMPOSSIBLE = "·"  # stands in the cell of a transition that cannot occur

# Letters of a name: at most, and at least where a matrix fits only with shorter names.
_LONGEST, _SHORTEST = 20, 10

_Cells = list[list[str]]  # texts by row and column


@dataclass(frozen=True, eq=False)
class TransitionSummary:
    """Means and intervals of transition probabilities; prints as a matrix.

    Attributes
    ----------
    table
        `mean`, `sd`, `lower` and `upper` by source and target.  The coordinate `forbidden` marks
        the transitions that cannot occur; the attribute `ci_prob` is that of the intervals.
    """

    table: Dataset

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_text(
        self, width: int = 80, *, intervals: bool = False, decimals: int = 0, most: int = 40
    ) -> str:
        """Lay the matrix out as text: rows are the states left, columns those entered.

        Where names are too long for the columns, these are numbered; where a matrix does not fit
        at all, the most probable moves from each state are listed.

        Parameters
        ----------
        width
            Letters of a line, at most; a line of a list holds one move, whatever its length.
        intervals
            Print the interval beneath each mean, or beside it in a list?
        decimals
            Decimals of the per cents.
        most
            States of a list, at most.
        """
        interval = f"{percent(self.table.attrs['ci_prob'])} interval"
        lines = [self._cells(decimals, "mean")]
        if intervals:
            lines.append(self._cells(decimals, "lower", "upper"))
        matrix = _matrix(*self._labels, lines, width)
        if matrix is not None:
            head = "Moves from row to column: mean probability in per cent"
            beneath = f", {interval} beneath" if intervals else ""
            note = [f"{IMPOSSIBLE} cannot occur"] if self.table["forbidden"].any() else []
            return "\n".join([f"{head}{beneath}", "", *matrix, *note])
        head = "Most probable moves from each state: mean probability in per cent"
        beside = f" ({interval})" if intervals else ""
        left = len(lines[0]) - most
        more = [f"... and {plural(left, 'more state')}"] if left > 0 else []
        return "\n".join([f"{head}{beside}", "", *self._list(lines, width, decimals, most), *more])

    @property
    def _labels(self) -> tuple[list[Label], list[Label]]:
        """Labels of rows and columns."""
        return self.table["source"].values.tolist(), self.table["target"].values.tolist()

    def _cells(self, decimals: int, *names: str) -> _Cells:
        """Write the per cents of all cells, of two variables as a span."""
        values = np.stack([self.table[name].values for name in names], axis=-1)
        forbidden = self.table["forbidden"].values
        return [
            [
                IMPOSSIBLE if no else "–".join(per_cent(x, decimals) for x in cell)
                for no, cell in zip(never, row, strict=True)
            ]
            for never, row in zip(forbidden.tolist(), values.tolist(), strict=True)
        ]

    def _list(self, lines: Sequence[_Cells], width: int, decimals: int, most: int) -> list[str]:
        """List the most probable moves from each state, as many as a line holds."""
        sources, targets = map(names_of, self._labels)
        label = max(map(len, sources[:most]))
        listed = []
        for i, source in enumerate(sources[:most]):
            mean = self.table["mean"].values[i]
            possible = np.flatnonzero(~self.table["forbidden"].values[i])
            order = possible[np.argsort(-mean[possible], kind="stable")].tolist()
            means, *spans = (layer[i] for layer in lines)
            texts = [
                " ".join([targets[j], means[j], *(f"({span[j]})" for span in spans)]) for j in order
            ]
            rest = [per_cent(float(mean[order[k:]].sum()), decimals) for k in range(len(order))]
            listed.append(_as_many(f"{source:<{label}}  ", texts, rest, width))
        return listed


def transition_summary(
    draws: DrawsLike | Mapping[Label, DrawsLike],
    ci_prob: float = 0.9,
    *,
    forbidden: Any = None,
    self_loops: str | None = None,
) -> TransitionSummary:
    """Summarise a transition matrix: the mean and the interval of each transition.

    Parameters
    ----------
    draws, forbidden, self_loops
        As for `transition_matrix`.
    ci_prob
        Probability of the intervals, between 0 and 1; each holds for its transition alone.

    Examples
    --------
    >>> import luce
    >>> rows = luce.from_transitions("abcabcacb" * 3, rows="separate")
    >>> run = luce.sequences.SeparateRows(rows).sample(2000, seed=1)
    >>> transition_summary(run)
    Moves from row to column: mean probability in per cent
    <BLANKLINE>
        a   b   c
    a   ·  64  36
    b  30   ·  70
    c  63  37   ·
    · cannot occur
    """
    matrix = transition_matrix(draws, forbidden=forbidden, self_loops=self_loops)
    return TransitionSummary(intervals_of(matrix, ci_prob))


def per_cent(share: float, decimals: int = 0) -> str:
    """Write a share in per cent; "100" stands for exactly 1, and nothing rounds to 0.

    Examples
    --------
    >>> per_cent(0.432), per_cent(0.001), per_cent(0.999), per_cent(1.0), per_cent(0.0012, 1)
    ('43', '<1', '>99', '100', '0.1')
    """
    value, least = 100 * share, 10.0**-decimals
    if share == 1:
        return "100"
    if value <= least / 2:
        return f"<{least:.{decimals}f}"
    return f">{100 - least:.{decimals}f}" if value >= 100 - least / 2 else f"{value:.{decimals}f}"


def names_of(labels: Sequence[Label]) -> list[str]:
    """Write labels of states for a terminal: long ones lose their middle, equal texts are quoted.

    Examples
    --------
    >>> names_of(["rest", "a name of many letters"]), names_of([1, "1"])
    (['rest', 'a name of…ny letters'], ['1', "'1'"])
    """
    times = Counter(map(printable, labels))
    texts = [printable(x) if times[printable(x)] == 1 else printable(repr(x)) for x in labels]
    return [_shortened(text, _LONGEST) for text in texts]


def _shortened(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    tail = most // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def _matrix(
    sources: Sequence[Label], targets: Sequence[Label], lines: Sequence[_Cells], width: int
) -> list[str] | None:
    """Lay cells of one line or two out beneath names, or beneath numbers; None if neither fits."""
    rows, heads = names_of(sources), names_of(targets)
    if len(set(heads)) == len(heads):
        columns = _widths(heads, lines, 2)
        if max(map(len, rows)) + sum(columns) <= width:
            return _laid_out(rows, heads, lines, columns)
    numbers = [str(k) for k in range(1, len(heads) + 1)]
    place = dict(zip(targets, numbers, strict=True))
    rows = [
        f"{place.get(label, ''):>{len(numbers[-1])}} {name}"
        for label, name in zip(sources, rows, strict=True)
    ]
    columns = _widths(numbers, lines, 1)
    room = width - sum(columns)
    if room < min(_SHORTEST, max(map(len, rows))):
        return None
    body = _laid_out([_shortened(row, room) for row in rows], numbers, lines, columns)
    entered = [f"{place[x]} {name}" for x, name in zip(targets, heads, strict=True)]
    only = [text for x, text in zip(targets, entered, strict=True) if x not in set(sources)]
    return [*body, *([f"Column {', '.join(only)}"] if only else [])]


def _widths(heads: Sequence[str], lines: Sequence[_Cells], gap: int) -> list[int]:
    """Compute the widths of columns, with a gap before each."""
    return [
        gap + max(len(head), *(len(row[j]) for layer in lines for row in layer))
        for j, head in enumerate(heads)
    ]


def _laid_out(
    rows: Sequence[str], heads: Sequence[str], lines: Sequence[_Cells], columns: Sequence[int]
) -> list[str]:
    """Put names of rows, heads and cells side by side."""
    label = max(map(len, rows))

    def line(name: str, texts: Sequence[str]) -> str:
        cells = (f"{text:>{wide}}" for text, wide in zip(texts, columns, strict=True))
        return f"{name:<{label}}{''.join(cells)}"

    body = [
        line("" if k else name, layer[i])
        for i, name in enumerate(rows)
        for k, layer in enumerate(lines)
    ]
    return [line("", heads), *body]


def _as_many(begin: str, texts: Sequence[str], rest: Sequence[str], width: int) -> str:
    """Put as many moves on a line as it holds, one at least, and sum up the others.

    `rest` holds the probability of the move of the same place and all behind it.
    """
    for kept in range(len(texts), 0, -1):
        left = len(texts) - kept
        others = f", {plural(left, 'other')} {rest[kept]}" if left else ""
        line = f"{begin}{', '.join(texts[:kept])}{others}"
        if len(line) <= width:
            break
    return line
