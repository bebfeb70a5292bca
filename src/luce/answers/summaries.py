"""Summarise draws in a table: one row per category, and one per parameter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, Label, Labels
from luce.answers.diagnostics import Mixing, mixing_of
from luce.answers.effects import parameter_sentences, sentences
from luce.answers.ranks import rank_moments
from luce.answers.view import DrawsView, tail_of
from luce.counts.comparability import prior_only
from luce.counts.confounding import untold_parameters
from luce.counts.labels import plural, printable, some
from luce.errors import DataError
from luce.page.plain_tables import (
    MOST_ROWS,
    PictureColumn,
    bare_html,
    fitted_lines,
    line_width,
    wrapped,
)
from luce.page.small_pictures import intervals
from luce.page.words import escaped, probability

if TYPE_CHECKING:
    from luce.answers.view import DrawsLike
    from luce.counts.counts import ConditionalCounts

Columns = dict[str, npt.NDArray[Any]]

# How columns are printed; others have four digits.
_FORMATS = {
    "ess_bulk": ",.0f",
    "ess_tail": ",.0f",
    "r_hat": ".3f",
    "rank": ".2f",
    "rank_lb": ".0f",
    "rank_ub": ".0f",
}


# Columns that are left out of a narrow terminal, in this order; intervals go at last.
_DISPENSABLE = (
    ("mcse_mean",),
    ("prior_only",),
    ("ess_bulk", "ess_tail"),
    ("rank_lb", "rank_ub"),
    ("r_hat",),
    ("sd",),
    ("rank",),
    ("p_best",),
)


class Summary:
    """One row per category: the posterior, ranks, and how far the draws can be trusted.

    Prints as text; shows as a table in a notebook.

    Attributes
    ----------
    categories
        The labels.
    columns
        Maps a column's name to its values, shape (n_categories,).
    parameters
        The same of the parameters beside the probabilities, such as a drawn concentration: their
        names stand in place of categories, and there are no ranks.  None if there are none.
    effects
        The same of the categories that are no competitors, ties and advantages, without ranks.
        None if there are none.
    notes
        Sentences printed below the table.
    """

    def __init__(
        self,
        categories: list[Label],
        columns: Columns,
        parameters: Summary | None = None,
        heading: str = "category",
        effects: Summary | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.categories = categories
        self.columns = columns
        self.parameters = parameters
        self.effects = effects
        self.notes = tuple(notes)
        self._heading = heading

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self.columns[column]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self, most: int = 40, width: int | None = None) -> str:
        """Lay the table out as text.

        Parameters
        ----------
        most
            Largest number of rows of categories.
        width
            Characters of a line; those of the terminal unless given, and any number where the
            text goes to no terminal.  Long labels are shortened; columns that do not fit are left
            out, and named.
        """
        room = line_width() if width is None else width
        ends = [name for name in self.columns if name.startswith("eti")]
        dispensable = [x for x in (*_DISPENSABLE, ends) if not any(map(self._has_marks, x))]
        lines = fitted_lines(self._cells(most), room, [0], [0], dispensable)
        closing = [line for note in self._closing(most) for line in wrapped(note, room)]
        below = [f"\n{table.to_text(most, width)}" for table in self._below]
        return "\n".join([*lines, *closing, *below])

    def _has_marks(self, column: str) -> bool:
        """Tell whether a column of marks has any."""
        values = self.columns.get(column)
        return values is not None and values.dtype == np.bool_ and bool(values.any())

    def to_html(self, most: int = MOST_ROWS, beside: Sequence[PictureColumn] = ()) -> str:
        """Lay the table out as HTML, at most `most` rows of categories; labels are escaped.

        Pictures that are given stand beside those of the intervals, one for each row.
        """
        table = bare_html(self._cells(most), 0, [*self._pictures(most), *beside])
        closing = [f"<p>{escaped(line)}</p>" for line in self._closing(most)]
        below = [table.to_html(most) for table in self._below]
        return "\n".join([table, *closing, *below])

    def to_pandas(self) -> Any:
        """Make a pandas data frame of all rows, the labels as index.

        Where there are effects or parameters they follow the categories, without ranks, and a
        column `role` tells which is which.

        Examples
        --------
        >>> frame = Summary(["a", "b"], {"mean": np.array([0.25, 0.75])}).to_pandas()
        >>> float(frame.loc["b", "mean"])
        0.75
        """
        pandas = _module("pandas")
        labels, columns = self._rows()
        objects = np.empty(len(labels), object)
        objects[:] = labels
        # Labels that are tuples stay labels; otherwise pandas would make levels of them.
        index = pandas.Index(objects, tupleize_cols=False, name="category")
        return pandas.DataFrame(columns, index=index)

    def to_polars(self) -> Any:
        """Make a polars data frame of all rows, the labels in a column `category`.

        Effects and parameters come as in `to_pandas`.

        Examples
        --------
        >>> frame = Summary(["a", "b"], {"mean": np.array([0.25, 0.75])}).to_polars()
        >>> frame.columns
        ['category', 'mean']
        """
        polars = _module("polars")
        labels, columns = self._rows()
        kinds = {type(label) for label in labels}
        plain = len(kinds) == 1 and kinds <= {str, int, float, bool}
        category = polars.Series("category", labels, dtype=None if plain else polars.Object)
        return polars.DataFrame([category, *(polars.Series(k, v) for k, v in columns.items())])

    @property
    def _below(self) -> list[Summary]:
        return [table for table in (self.effects, self.parameters) if table is not None]

    def _rows(self) -> tuple[list[Label], Columns]:
        """Put categories, effects and parameters together, with nan where there is no entry."""
        if not self._below:
            return self.categories, self.columns
        columns: Columns = {
            name: np.concatenate([values, *(t._column(name, values) for t in self._below)])
            for name, values in self.columns.items()
        }
        tables = [self, *self._below]
        roles = ["competitor", *(table._heading for table in self._below)]
        columns["role"] = np.repeat(roles, [len(table.categories) for table in tables])
        return [label for table in tables for label in table.categories], columns

    def _column(self, name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column; missing entries, False for marks and nan for numbers, without it."""
        n = len(self.categories)
        nothing = np.zeros(n, np.bool_) if like.dtype == np.bool_ else np.full(n, np.nan)
        return self.columns.get(name, nothing)

    def _cells(self, most: int) -> list[list[str]]:
        head = [self._heading, *self.columns]
        return [head] + [
            [text, *(entry_in_words(name, values[i]) for name, values in self.columns.items())]
            for i, text in enumerate(_texts_of(self.categories[:most]))
        ]

    def _pictures(self, most: int) -> list[PictureColumn]:
        """Draw the intervals of categories; those of parameters have no common scale."""
        ends = [name for name in self.columns if re.fullmatch(r"eti.*_(lb|ub)", name)]
        if len(ends) != 2 or self._heading == "parameter":
            return []
        low, mean, high = (
            self.columns[name][:most].tolist() for name in (ends[0], "mean", ends[1])
        )
        return [PictureColumn(1, "interval", intervals(low, mean, high, origin=True))]

    def _closing(self, most: int) -> list[str]:
        left = len(self.categories) - most
        many = {"category": "categories"}.get(self._heading, f"{self._heading}s")
        more = [f"... and {plural(left, f'more {self._heading}', f'more {many}')}"]
        return [*(more if left > 0 else []), *self.notes]


def summary(
    draws: DrawsLike,
    ci_prob: float = 0.9,
    *,
    counts: ConditionalCounts | None = None,
    among: Labels | None = None,
    sort: bool = False,
) -> Summary:
    """Summarise draws category by category, effects and parameters below.

    Columns are named as in ArviZ's summary; [Output](../output.md#summary) has them in a table.

    Parameters
    ----------
    draws
        A run of `Posterior.sample` or `HDPTransitions.fit`, or an array of shape
        (chain, draw, category).  Each variable is read once.
    ci_prob
        Probability of the central intervals, between 0 and 1.
    counts
        The data.  If given, a column `prior_only` marks categories without data, and a sentence
        names parameters that the data leaves to their priors.
    among
        Keep these categories only, ranked as if the others did not take part; probabilities stay
        those among all.  Unless given, all are kept but the effects of the data
        (`ConditionalCounts.effects`: a tie, a home advantage), which stand below.
    sort
        Put the best expected rank first, as `luce.answers.expected_order` does; otherwise rows
        stay in stored order.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> table = luce.summary(luce.Posterior(counts, 2.0).sample(20_000, seed=1))
    >>> table["mean"].round(1)
    array([0.3, 0.4, 0.2])
    """
    tail = tail_of(ci_prob)
    whole = DrawsView.of(draws)
    view = DrawsView.ranked(whole, among)
    moments, mixing = _moments(view, ci_prob, tail)
    ranks = rank_moments(view, tail)
    columns = {
        **moments,
        "p_best": ranks.best,
        "rank": ranks.mean,
        "rank_lb": ranks.lower,
        "rank_ub": ranks.upper,
        **mixing,
    }
    labels = list(view.categories)
    if counts is not None:
        columns["prior_only"] = _marks(labels, counts)
    if sort:
        order = np.argsort(ranks.mean, kind="stable")
        labels = [labels[int(i)] for i in order]
        columns = {name: values[order] for name, values in columns.items()}
    parameters = _parameters(whole, counts, ci_prob)
    return Summary(labels, columns, parameters, effects=_effects(whole, set(labels), ci_prob))


def without_ranks(
    view: DrawsView, ci_prob: float, heading: str = "category", notes: Sequence[str] = ()
) -> Summary:
    """Summarise categories or parameters that are not ranked."""
    moments, mixing = _moments(view, ci_prob, tail_of(ci_prob))
    return Summary(list(view.categories), moments | mixing, None, heading, notes=notes)


def _parameters(
    whole: DrawsView, counts: ConditionalCounts | None, ci_prob: float
) -> Summary | None:
    """Summarise the drawn parameters, those of contests with sentences on their meaning."""
    if whole.parameters is None:
        return None
    untold = {} if counts is None else untold_parameters(counts)
    drawn = whole.parameters.categories.index
    left = [(name, why) for name, why in untold.items() if name in drawn]
    said = [*parameter_sentences(whole, ci_prob).items(), *left]
    notes = [f"{name}: {sentence}." for name, sentence in said]
    return without_ranks(whole.parameters, ci_prob, "parameter", notes)


def _effects(whole: DrawsView, ranked: set[Label], ci_prob: float) -> Summary | None:
    """Summarise the effects that are not ranked, each with a sentence on its meaning."""
    own = [label for label in whole.categories if label in whole.effects and label not in ranked]
    if not own:
        return None
    said = sentences(whole, ci_prob)
    notes = [f"{printable(label)}: {said[label]}." for label in own]
    return without_ranks(whole.take(whole.numbers(own, "effects")), ci_prob, "effect", notes)


def _moments(view: DrawsView, ci_prob: float, tail: float) -> tuple[Columns, Columns]:
    """Compute mean, standard deviation, interval and diagnostics in blocks of categories."""
    logs = view.log_probabilities
    mean, sd, lower, upper = np.empty((4, view.n_categories))
    mixing = Mixing(*np.empty((4, view.n_categories)))
    ranked = repeat(None) if logs is None else (block for _, block in view.variables(logs))
    for (here, x), own in zip(view.variables(view.probabilities), ranked, strict=False):
        mean[here], sd[here] = x.mean(axis=(1, 2)), x.std(axis=(1, 2))
        (lower[here], upper[here]), found = mixing_of(x, tail, own)
        for column, values in zip(mixing, found, strict=True):
            column[here] = values
    name = f"eti{round(100 * ci_prob, 10):g}"
    moments = {"mean": mean, "sd": sd, f"{name}_lb": lower, f"{name}_ub": upper}
    return moments, mixing._asdict()


def _marks(labels: list[Label], counts: ConditionalCounts) -> BoolArray:
    """Mark categories that the data says nothing about."""
    unknown = set(prior_only(counts))
    if not set(labels) <= set(counts.categories):
        raise DataError(
            f"counts has the categories {some(counts.categories)}, the draws have {some(labels)}; "
            "give the counts that the draws were made from."
        )
    return np.array([label in unknown for label in labels], np.bool_)


def _module(name: str) -> Any:
    """Import a package of data frames, or say how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is not installed; `pip install {name}`, or take the columns as arrays: "
            "summary.columns."
        ) from None


def _texts_of(labels: Sequence[Label]) -> list[str]:
    """Print labels; those that print alike, such as 1 and "1", as in Python."""
    texts = [printable(label) for label in labels]
    times = Counter(texts)
    return [
        printable(repr(label)) if times[text] > 1 else text
        for label, text in zip(labels, texts, strict=True)
    ]


def entry_in_words(column: str, value: Any) -> str:
    """Print an entry as its column wants it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if column == "p_best":
        return probability(float(value))
    return f"{value:{_FORMATS.get(column, '.4g')}}"
