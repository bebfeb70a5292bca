"""Differences of two transition matrices, with intervals for all transitions at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, Label
from luce.answers.diagnostics import verdict
from luce.answers.scales import intervals
from luce.answers.simultaneous import simultaneous_intervals
from luce.answers.transition_tables import names_of
from luce.answers.transitions import transition_matrix
from luce.counts.labels import Categories, label_array, plural, some
from luce.errors import DataError
from luce.page.words import percent, probability

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike

_PAIRING = 1  # seed of the order in which draws are paired


@dataclass(frozen=True, eq=False)
class TransitionDifferences:
    """Differences of two transition matrices, the first minus the second; prints as a table.

    Attributes
    ----------
    table
        By source and target: `mean`, `sd`, `lower` and `upper` of the difference, each interval for
        its transition alone; `simultaneous_lower` and `simultaneous_upper`, which hold for all
        transitions at once; and `p_positive`, the probability that the first is larger.  All are
        nan where the transition can occur in neither.  The coordinate `forbidden` marks these, and
        `one_sided` those that can occur in one of the two alone.
    names
        The two matrices in words.
    left_out
        States that only the first, and only the second, has.
    notes
        Sentences on draws of runs that are too few, or not to be trusted.
    """

    table: Dataset
    names: tuple[str, str]
    left_out: tuple[tuple[Label, ...], tuple[Label, ...]]
    notes: tuple[str, ...] = ()

    @property
    def told_apart(self) -> BoolArray:
        """Marks of transitions whose simultaneous interval leaves out 0, shape (source, target)."""
        return self._without_zero("simultaneous_lower", "simultaneous_upper")

    def _without_zero(self, lower: str, upper: str) -> BoolArray:
        """Mark transitions of both matrices whose interval leaves out 0."""
        one_sided = self.table["one_sided"].values
        beyond = (self.table[lower].values > 0) | (self.table[upper].values < 0)
        return np.asarray(beyond & ~one_sided, np.bool_)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_text(self, most: int = 12) -> str:
        """List the differences, at most `most`, the surest first, and sum them up."""
        order = self._order
        level = percent(self.table.attrs["ci_prob"])
        head = ["from", "to", "difference", f"{level} alone", f"{level} all at once", "P(>0)"]
        rows = [head, *(self._row(*cell) for cell in order[:most])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(f"{x:<{w}}" if k < 2 else f"{x:>{w}}" for k, (x, w) in pairs).rstrip()
            for pairs in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
        ]
        left = len(order) - most
        more = [f"... and {plural(left, 'more difference')}"] if left > 0 else []
        first, second = self.names
        title = f"Probabilities of moves, {first} minus {second}, in points of per cent"
        return "\n".join([title, "", *lines, *more, "", *self.sentences()])

    @property
    def _order(self) -> list[tuple[int, int]]:
        """Places of the transitions that can occur in both, the surest difference first."""
        mean, sd = self.table["mean"].values, self.table["sd"].values
        size = np.abs(mean) / np.where(sd > 0, sd, 1.0)
        size = np.where(np.isnan(mean) | self.table["one_sided"].values, np.nan, size)
        order = np.argsort(-size, axis=None, kind="stable")[: int(np.isfinite(size).sum())]
        return [(int(k) // size.shape[1], int(k) % size.shape[1]) for k in order]

    def _row(self, i: int, j: int) -> list[str]:
        value = {str(name): float(x.values[i, j]) for name, x in self.table.data_vars.items()}
        ends = [f"{prefix}{end}" for prefix in ("", "simultaneous_") for end in ("lower", "upper")]
        lower, upper, least, largest = (_points(value[name]) for name in ends)
        star = "*" if self.told_apart[i, j] else " "
        return [
            self._names("source")[i],
            self._names("target")[j],
            _points(value["mean"]),
            f"{lower} to {upper}",
            f"{least} to {largest}{star}",
            self._share(value["p_positive"]),
        ]

    def _share(self, share: float) -> str:
        """Write a share of the draws with the digits that their number allows, never 0 or 1."""
        draws = self.table.attrs["draws"]
        inner = min(max(share, 0.1 / draws), 1 - 0.1 / draws)
        return probability(inner, min(3, max(1, int(np.log10(draws)))))

    def _names(self, dim: str) -> list[str]:
        return names_of(self.table[dim].values.tolist())

    def sentences(self) -> list[str]:
        """Say how many differences can be told from 0, alone and at once, and what is left out."""
        compared = len(self._order)
        level = percent(self.table.attrs["ci_prob"])
        alone, together = (
            int(found.sum()) for found in (self._without_zero("lower", "upper"), self.told_apart)
        )
        said = [
            f"* {together:,} of {plural(compared, 'difference')} can be told from 0, by intervals "
            f"that hold all at once with probability {level}.",
            f"Intervals that hold each alone tell {alone:,} from 0; of many, some do so by chance.",
        ]
        for k, other in ((0, 1), (1, 0)):
            if cells := self._only(k):
                said.append(
                    f"Impossible in {self.names[other]}, and not in {self.names[k]}: "
                    f"{some(cells, quote=False)}."
                )
            if self.left_out[k]:
                said.append(
                    f"Only in {self.names[k]}, and not compared: {some(self.left_out[k])}; the "
                    "other probabilities stay as they are."
                )
        return [*said, *self.notes]

    def _only(self, k: int) -> list[str]:
        """Name the transitions that can occur in one of the two alone."""
        sign = 1 if k == 0 else -1
        mean = self.table["mean"].values * sign
        found = np.argwhere(self.table["one_sided"].values & (mean > 0)).tolist()
        sources, targets = self._names("source"), self._names("target")
        return [f"{sources[i]} to {targets[j]}" for i, j in found]


def transition_differences(
    first: DrawsLike | Mapping[Label, DrawsLike],
    second: DrawsLike | Mapping[Label, DrawsLike],
    ci_prob: float = 0.9,
    *,
    names: tuple[str, str] = ("the first", "the second"),
) -> TransitionDifferences:
    """Compare two transition matrices, transition by transition and all at once.

    The two are posteriors of different data, so that any draw of one can stand beside any draw of
    the other: they are paired in a random order that is always the same.  Runs may therefore have
    the same seed, and different numbers of draws, of which the smaller is used.

    States are matched by their labels.

    Parameters
    ----------
    first, second
        As for `transition_matrix`; draws of one vector that needs its options are laid out by
        that function beforehand.
    ci_prob
        Probability of the intervals, between 0 and 1.
    names
        The two in words, for what is printed.

    Examples
    --------
    >>> import luce
    >>> def fitted(sequence):
    ...     rows = luce.from_transitions(sequence, rows="separate")
    ...     return luce.sequences.SeparateRows(rows).sample(1000, seed=1)
    >>> found = transition_differences(fitted("abcabcacb" * 5), fitted("abababacb" * 5))
    >>> found.table["mean"].sel(source="b").values.round(1)
    array([-0.6,  nan,  0.6])
    >>> int(found.told_apart.sum())
    4
    """
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise DataError(f"names = {names!r}; two texts are needed.")
    x, y = transition_matrix(first), transition_matrix(second)
    sources, targets = (_shared(x, y, dim) for dim in ("source", "target"))
    left_out = tuple(
        tuple(label for label in _states(one) if label not in set(_states(other)))
        for one, other in ((x, y), (y, x))
    )
    difference, never = _difference(*(_taken(m, sources, targets) for m in (x, y)))
    import xarray as xr

    labels = {"source": label_array(sources), "target": label_array(targets)}
    cells = ("source", "target")
    coords = {
        **labels,
        "forbidden": (cells, never.all(axis=0)),
        "one_sided": (cells, never[0] != never[1]),
    }
    array = xr.DataArray(difference[None], coords, ("chain", "draw", *cells), "difference")
    table = intervals(array, ci_prob)
    together = simultaneous_intervals(array, ci_prob)
    share = np.where(never.all(axis=0), np.nan, (difference > 0).mean(axis=0))
    table = table.assign(
        simultaneous_lower=together["lower"],
        simultaneous_upper=together["upper"],
        p_positive=(cells, share),
    ).assign_attrs(stretch=together.attrs["stretch"], draws=len(difference))
    notes = [
        note
        for name, own in zip(names, (first, second), strict=True)
        for note in _doubts(name, own)
    ]
    return TransitionDifferences(table, (names[0], names[1]), left_out, tuple(notes))  # type: ignore[arg-type]


def _doubts(name: str, draws: DrawsLike | Mapping[Label, DrawsLike]) -> list[str]:
    """Say what is doubtful about the draws of a matrix, where they are those of runs."""
    from xarray import DataTree

    runs = (
        draws.values()
        if isinstance(draws, Mapping) and not isinstance(draws, DataTree)
        else [draws]
    )
    found = (verdict(run) for run in runs if isinstance(run, DataTree))
    doubts = (f"Draws of {name}: {trust}" for trust in found if trust.kind != "good")
    return list(dict.fromkeys(doubts))


def _states(matrix: DataArray) -> list[Label]:
    """All states of a matrix: those that are left, and others that are entered."""
    both = [*matrix["source"].values.tolist(), *matrix["target"].values.tolist()]
    return list(dict.fromkeys(both))


def _shared(first: DataArray, second: DataArray, dim: str) -> list[Label]:
    """List the labels that both matrices have, in the order of the first, or refuse."""
    own, other = (matrix[dim].values.tolist() for matrix in (first, second))
    both = [label for label in own if label in set(other)]
    if not both:
        raise DataError(
            f"the two matrices have no state in common: {some(own)} and {some(other)}. Labels of "
            "the same states must be equal."
        )
    return both


def _taken(matrix: DataArray, sources: list[Label], targets: list[Label]) -> DataArray:
    """Keep some rows and columns, in this order."""
    rows, columns = (
        Categories(matrix[dim].values.tolist()).numbers(labels, dim)
        for dim, labels in (("source", sources), ("target", targets))
    )
    return matrix[:, :, rows][:, :, :, columns]


def _difference(first: DataArray, second: DataArray) -> tuple[FloatArray, BoolArray]:
    """Subtract draws, shape (draw, source, target); and mark what is impossible in each."""
    drawn = [matrix.values.reshape(-1, *matrix.shape[2:]) for matrix in (first, second)]
    size = min(map(len, drawn))
    even = [x[np.linspace(0, len(x) - 1, size).astype(np.int64)] for x in drawn]
    order = np.random.default_rng(_PAIRING).permutation(size)
    never = np.stack([matrix["forbidden"].values.astype(np.bool_) for matrix in (first, second)])
    difference = even[0] - even[1][order]
    difference[:, never.all(axis=0)] = np.nan
    return difference, never


def _points(value: float) -> str:
    """Write a difference of probabilities in points of per cent, with its sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")
