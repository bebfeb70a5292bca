"""What the draws say, category by category, as a table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, Label, Labels
from luce.answers.diagnostics import ess, mcse, rhat
from luce.answers.given import read_draws
from luce.answers.ranks import best, rank_moments
from luce.answers.view import read_labelled, tails
from luce.counts.comparability import prior_only
from luce.counts.labels import some
from luce.errors import DataError, MethodError
from luce.page.words import escaped

if TYPE_CHECKING:
    from luce.answers.given import DrawsLike
    from luce.counts.counts import ConditionalCounts


_BACKENDS = ("pandas", "polars")
_FORMATS = {"ess": ",.0f", "rhat": ".3f", "p_best": ".3f", "rank": ".2f"}


class Summary:
    """One row per category: the posterior, ranks, and how far the draws can be trusted.

    Prints as text; shows as a table in a notebook.

    Attributes
    ----------
    categories
        The labels.
    columns
        Maps a column's name to its values, shape (n_categories,).
    """

    def __init__(self, categories: list[Label], columns: dict[str, npt.NDArray[Any]]) -> None:
        self.categories = categories
        self.columns = columns

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self.columns[column]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self, most: int = 40) -> str:
        """Lay the table out as text, at most `most` rows of it."""
        head, rows = self._cells(most)
        widths = [max(len(r[j]) for r in [head, *rows]) for j in range(len(head))]
        lines = [
            "  ".join(
                [
                    r[0].ljust(widths[0]),
                    *(x.rjust(w) for x, w in zip(r[1:], widths[1:], strict=True)),
                ]
            )
            for r in [head, *rows]
        ]
        return "\n".join([*lines, *self._closing(most)])

    def to_html(self, most: int = 40) -> str:
        """Lay the table out as HTML, at most `most` rows of it; labels are only ever text."""
        head, rows = self._cells(most)
        names = "".join(f'<th scope="col">{escaped(name)}</th>' for name in head)
        body = "\n".join(
            f'<tr><th scope="row">{escaped(r[0])}</th>'
            + "".join(f"<td>{escaped(x)}</td>" for x in r[1:])
            + "</tr>"
            for r in rows
        )
        table = f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        return "\n".join([table, *(f"<p>{escaped(line)}</p>" for line in self._closing(most))])

    def to_frame(self, backend: str = "pandas") -> Any:
        """Turn the table into a data frame, all rows of it.

        Parameters
        ----------
        backend
            "pandas", with the labels as index, or "polars", with a column `category`.

        Examples
        --------
        >>> frame = Summary(["a", "b"], {"mean": np.array([0.25, 0.75])}).to_frame()
        >>> float(frame.loc["b", "mean"])
        0.75
        """
        if backend not in _BACKENDS:
            raise MethodError(f"backend = {backend!r} was given; {some(_BACKENDS)} are possible.")
        try:
            frames = import_module(backend)
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                f"{backend} is not installed; `pip install {backend}`, or take the columns as "
                "arrays: summary.columns."
            ) from None
        if backend == "pandas":
            labels = np.empty(len(self.categories), object)
            labels[:] = self.categories
            # Labels that are tuples stay labels; else pandas would make levels of them.
            index = frames.Index(labels, tupleize_cols=False, name="category")
            return frames.DataFrame(self.columns, index=index)
        kinds = {type(label) for label in self.categories}
        plain = len(kinds) == 1 and kinds <= {str, int, float, bool}
        kind = None if plain else frames.Object
        category = frames.Series("category", self.categories, dtype=kind)
        return frames.DataFrame([category, *(frames.Series(k, v) for k, v in self.columns.items())])

    def _cells(self, most: int) -> tuple[list[str], list[list[str]]]:
        head = ["category", *self.columns]
        rows = [
            [str(label), *(_word(name, values[i]) for name, values in self.columns.items())]
            for i, label in enumerate(self.categories[:most])
        ]
        return head, rows

    def _closing(self, most: int) -> list[str]:
        left = len(self.categories) - most
        return [f"... and {left:,} more categories"] if left > 0 else []


def summary(
    draws: DrawsLike,
    interval: float = 0.9,
    *,
    counts: ConditionalCounts | None = None,
    among: Labels | None = None,
    sort: bool = False,
) -> Summary:
    """Summarise draws category by category.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or anything else `luce.answers.diagnostics` reads: a DataTree
        with ``posterior["probabilities"]``, or an array of shape (chain, draw, category).
    interval
        The probability of the intervals, between 0 and 1.
    counts
        The data.  If given, a column `prior_only` marks the categories it says nothing about.
    among
        These categories only, ranked as if the others did not take part; probabilities stay what
        they are among all.
    sort
        Largest mean first?  Otherwise rows stay in stored order.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> table = luce.summary(luce.Posterior(counts, 2.0).sample(20_000, seed=1))
    >>> table["mean"].round(1)
    array([0.3, 0.4, 0.2])
    """
    tail = tails(interval)
    x = read_labelled(draws, among)
    labels = list(x.categories)
    variable = read_draws(draws)
    if among is not None:
        known = variable["category"].to_numpy().tolist()
        variable = variable[:, :, [known.index(label) for label in labels]]
    p = variable.to_numpy()
    low, high = np.quantile(p, [tail, 1 - tail], axis=(0, 1))
    below, above = (f"{round(100 * x, 10):.12g}%" for x in (tail, 1 - tail))
    ranks = rank_moments(x, tail)
    columns: dict[str, npt.NDArray[Any]] = {
        "mean": p.mean(axis=(0, 1)),
        "sd": p.std(axis=(0, 1)),
        below: low,
        above: high,
        "p_best": best(x, 1),
        "rank": ranks.mean,
        f"rank_{below}": ranks.lower,
        f"rank_{above}": ranks.upper,
        "ess": ess(variable).to_numpy(),
        "rhat": rhat(variable).to_numpy(),
        "mcse": mcse(variable).to_numpy(),
    }
    if counts is not None:
        columns["prior_only"] = _marks(labels, counts)
    if sort:
        order = np.argsort(-p.mean(axis=(0, 1)), kind="stable")
        labels = [labels[int(i)] for i in order]
        columns = {name: values[order] for name, values in columns.items()}
    return Summary(labels, columns)


def _marks(labels: list[Label], counts: ConditionalCounts) -> BoolArray:
    unknown = set(prior_only(counts))
    if not set(labels) <= set(counts.categories):
        raise DataError(
            f"counts has the categories {some(counts.categories)}, the draws have {some(labels)}; "
            "give the counts that the draws were made from."
        )
    return np.array([label in unknown for label in labels], np.bool_)


def _word(column: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if column.startswith("rank_"):
        return f"{value:.0f}"
    return f"{value:{_FORMATS.get(column, '.4g')}}"
