"""What the draws say, category by category, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, Label
from luce.chains import read_draws
from luce.diagnostics import ess, mcse, rhat

if TYPE_CHECKING:
    from luce.chains import DrawsLike


class Summary:
    """One row per category: mean, sd, 90 % interval, effective sample size, R-hat and MCSE.

    Attributes
    ----------
    categories
        The labels.
    columns
        Maps a column's name to its values, shape (n_categories,).
    """

    def __init__(self, categories: list[Label], columns: dict[str, FloatArray]) -> None:
        self.categories = categories
        self.columns = columns

    def __getitem__(self, column: str) -> FloatArray:
        return self.columns[column]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_text(self, most: int = 40) -> str:
        """Lay the table out as text, at most `most` rows of it."""
        head = ["category", *self.columns]
        rows = [
            [str(label), *(_number(name, float(v[i])) for name, v in self.columns.items())]
            for i, label in enumerate(self.categories[:most])
        ]
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
        if len(self.categories) > most:
            lines.append(f"... and {len(self.categories) - most:,} more categories")
        return "\n".join(lines)


def summary(draws: DrawsLike) -> Summary:
    """Summarise draws category by category.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or anything else `luce.diagnostics` reads: a DataTree
        with ``posterior["probabilities"]``, or an array of shape (chain, draw, category).

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> table = luce.summary(luce.Posterior(counts, 2.0).sample(20_000, seed=1))
    >>> table["mean"].round(1)
    array([0.3, 0.4, 0.2])
    """
    variable = read_draws(draws)
    p = variable.to_numpy()
    low, high = np.quantile(p, [0.05, 0.95], axis=(0, 1))
    columns = {
        "mean": p.mean(axis=(0, 1)),
        "sd": p.std(axis=(0, 1)),
        "5%": low,
        "95%": high,
        "ess": ess(variable).to_numpy(),
        "rhat": rhat(variable).to_numpy(),
        "mcse": mcse(variable).to_numpy(),
    }
    return Summary(list(variable["category"].to_numpy().tolist()), columns)


def _number(column: str, value: float) -> str:
    if column == "ess":
        return f"{value:,.0f}"
    return f"{value:.3f}" if column == "rhat" else f"{value:.4g}"
