"""Titles of pictures: the finding in one sentence, true of the results as it is worded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label
from luce.answers.ranks import probability_best
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.words import percent, probability
from luce.plots.canvas import GREY, fitting
from luce.plots.label_text import Names, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from luce.answers.view import DrawsView

_POINTS = 10.5  # size of the letters
_COMPARED = 1000  # labels that a name in a title must differ from


def write_title(
    ax: Axes, title: str | bool | None, finding: Callable[[], Names | str], *, own: bool
) -> None:
    """Write the finding above a picture, another title, or none.

    Parameters
    ----------
    ax
        Axes with the picture.
    title
        A title; True for the finding, False for none.  None stands for the finding, but for none in
        axes that were given, whose titles are the reader's.
    finding
        Makes the finding; an empty one is not written.
    own
        Whether the figure belongs to this picture alone: the title then begins at its left edge.
    """
    if title is None:
        title = own
    if not isinstance(title, (str, bool)):
        raise DataError(f"title = {title!r} was given; a text, True, False or None is needed.")
    found = finding() if title is True else title or ""
    names = names_of([found], [0], 400) if isinstance(found, str) and found else found
    if not isinstance(names, Names) or not names.texts:
        return
    look: dict[str, Any] = {"fontsize": _POINTS, **names.look}
    if own:
        figure: Any = ax.figure
        words = fitting(names.texts[0], figure.get_figwidth() - 0.2, _POINTS)
        figure.suptitle(words, x=0.1 / figure.get_figwidth(), ha="left", color=GREY, **look)
        lines = 1 + words.count("\n")
        figure.set_figheight(figure.get_figheight() + (4 + 1.3 * lines * _POINTS) / 72)
    else:
        width = ax.get_window_extent().width / ax.figure.dpi
        pad = 18.0 if ax.get_legend() else 6.0  # legends stand above the axes
        ax.set_title(fitting(names.texts[0], width, _POINTS), loc="left", pad=pad, **look)


def best_of(x: DrawsView, some: bool) -> Names:
    """Say which category is most likely the best, and how likely that is.

    Parameters
    ----------
    x
        Draws of the categories that are ranked.
    some
        Whether these are some of the categories only.
    """
    if x.n_categories == 1:
        return Names([], [])
    what = f"the best of these {x.n_categories:,}" if some else "the best"
    return most_likely(probability_best(x).values, list(x.categories), what)


def most_likely(chances: FloatArray, labels: Sequence[Label], what: str) -> Names:
    """Say whose probability is the largest, and what it is; nothing where several share it."""
    top = np.flatnonzero(chances == chances.max())
    if len(top) > 1:
        return Names([], [])
    names = names_of(labels, [int(top[0]), *range(min(len(labels), _COMPARED))])
    return Names([f"{names.texts[0]} is most likely {what}: {_chance(chances.max())}"], names.fonts)


def beats_all(table: FloatArray, labels: Sequence[Label], numbers: Sequence[int]) -> Names:
    """Say who is chosen over each of the others more often than not, if anyone is.

    Parameters
    ----------
    table
        Probabilities that the row is chosen over the column.
    labels
        All labels.
    numbers
        Numbers of the rows among them.
    """
    if len(table) < 2:
        return Names([], [])
    least = np.where(np.eye(len(table), dtype=np.bool_), np.inf, table).min(axis=1)
    row = int(least.argmax())
    names = names_of(labels, numbers)
    words = f"Nobody is chosen over each of the other {len(table) - 1:,} more often than not"
    if least[row] > 0.5:
        # Rounded down, so that "at least" is true.
        share = floor(100 * least[row] + 1e-9)
        words = f"{names.texts[row]} over each of the other {len(table) - 1:,}: at least {share} %"
    return Names([words], names.fonts)


def told_from_zero(marks: BoolArray, ci_prob: float) -> str:
    """Say how many differences have an interval, one for all at once, that leaves out 0."""
    all_of = plural(marks.size, "difference")
    return f"{_count(marks)} of {all_of} told from 0, all at once at {percent(ci_prob)}"


def outside_intervals(marks: BoolArray, ci_prob: float) -> str:
    """Say how many observed shares lie outside the intervals of replicated ones."""
    all_of = plural(marks.size, "share")
    return f"{_count(marks)} of {all_of} outside the {percent(ci_prob)} interval"


def _count(marks: BoolArray) -> str:
    return f"{marks.sum():,}" if marks.any() else "None"


def _chance(p: float) -> str:
    text = probability(float(p), 2)
    return f"P {text[0]} {text[1:]}" if text[0] in "<>" else f"P = {text}"
