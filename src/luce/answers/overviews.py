"""Tell at a glance what a run holds, whether it can be trusted, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.answers.diagnostics import verdict
from luce.answers.summaries import Summary, summary
from luce.answers.view import DrawsView
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.plain_tables import MOST_ROWS, PictureColumn
from luce.page.small_pictures import lines
from luce.page.words import escaped

if TYPE_CHECKING:
    from xarray import DataTree

_POINTS = 40  # of the line of a chain


@dataclass(frozen=True, eq=False)
class Overview:
    """A run at a glance.

    Prints as text; in a notebook it shows an interval and the course of the chains for each
    category.

    Attributes
    ----------
    sentences
        Size, method and seed of the run, and the verdict on its draws.
    summary
        The table of `luce.summary`, the best expected rank first.
    courses
        Means over up to 40 equal parts of each chain, shape (row, chain, part), for the first 20
        rows of the table.
    """

    sentences: tuple[str, ...]
    summary: Summary
    courses: FloatArray

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", str(self.summary)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = "\n".join(f"<p>{escaped(line)}</p>" for line in self.sentences)
        drawn = [lines(course.tolist()) for course in self.courses]
        chains = PictureColumn(2, "chains", drawn)
        return f"{said}\n{self.summary.to_html(beside=[chains])}"


def overview(run: DataTree, ci_prob: float = 0.9) -> Overview:
    """Show a run at a glance: its size and method, the verdict on its draws, and its summary.

    A run itself is an xarray object, and shows as one.

    Parameters
    ----------
    run
        A run of `Posterior.sample`, `luce.update` or `HDPTransitions.fit`.
    ci_prob
        Probability of the central intervals.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("ab").observe({"a": 3})
    >>> run = luce.Posterior(counts).sample(1000, seed=1, progress=False)
    >>> print(luce.overview(run).sentences[0])
    4 chains of 1,000 draws, 2 categories; method exact, seed 1.
    """
    import xarray as xr

    if not isinstance(run, xr.DataTree):
        raise DataError(
            f"run must be what Posterior.sample returned; {type(run).__name__} was given. "
            "luce.summary takes arrays of draws, too."
        )
    view = DrawsView.of(run)
    chains, draws, _ = view.probabilities.shape
    table = summary(run, ci_prob, sort=True)
    told = verdict(run)
    made = ", ".join(
        f"{name} {run.attrs[name]}" for name in ("method", "seed") if name in run.attrs
    )
    size = (
        f"{plural(chains, 'chain')} of {plural(draws, 'draw')}, "
        f"{plural(view.n_categories, 'category', 'categories')}"
    )
    sentences = (f"{size}; {made}." if made else f"{size}.", str(told), *told.limits)
    first = view.numbers(table.categories[:MOST_ROWS], "categories")
    values = view.probabilities[:, :, first]
    edges = np.linspace(0, draws, min(_POINTS, draws) + 1).astype(np.int64)
    parts = np.add.reduceat(values, edges[:-1], axis=1) / np.diff(edges)[:, None]
    return Overview(sentences, table, parts.transpose(2, 0, 1))
