"""A posterior predictive check in numbers: would the model record such counts again?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray
from luce.answers.prediction import posterior_predictive
from luce.answers.view import tail_of
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.document import Cell, Folded, Number, Page
from luce.reports.findings import Findings
from luce.reports.wording import cell, percent, probability

_REPLICATES = 400  # at most; ends of an interval need no more
_FEWEST = 50
_WORK = 2e7  # numbers drawn in all
_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Check:
    """Recorded and replicated counts of the categories that could occur.

    Parameters
    ----------
    rows
        Their places in the findings.
    recorded
        Shape (row,).
    replicated
        Shape (draw, row).
    """

    rows: list[int]
    recorded: FloatArray
    replicated: FloatArray

    def ends(self, ci_prob: float) -> tuple[FloatArray, FloatArray]:
        """Ends of the replicates' intervals."""
        tail = tail_of(ci_prob)
        low = np.quantile(self.replicated, tail, axis=0, method="lower")
        return low, np.quantile(self.replicated, 1 - tail, axis=0, method="higher")

    @property
    def surprise(self) -> FloatArray:
        """How probable it is to lie as far out, on either side; ties count half."""
        above = (self.replicated > self.recorded).mean(axis=0)
        level = (self.replicated == self.recorded).mean(axis=0)
        upper = above + level / 2
        return np.asarray(2 * np.minimum(upper, 1 - upper))


def replicate(found: Findings) -> Check | str:
    """Replicate the data from some of the draws; or say why that cannot be done."""
    import xarray as xr

    counts = found.posterior.counts
    cells = int(counts.sets.sizes.sum()) + found.n
    draws = int(min(_REPLICATES, _WORK // cells))
    if draws < _FEWEST:
        return f"the data has {cells:,} cells, too many to replicate for a page"
    every = max(1, -(-found.draws * found.chains // draws))
    kept = found.run["posterior"].to_dataset().isel(draw=slice(None, None, every))
    try:
        table = posterior_predictive(xr.DataTree.from_dict({"posterior": kept}), counts, seed=0)
    except DataError as error:
        return str(error).rstrip(".")
    place = {label: i for i, label in enumerate(found.table.categories)}
    where = np.array([place[label] for label in table["category"].to_numpy().tolist()])
    values = table.to_numpy().reshape(-1, len(where))
    sums = np.zeros((found.n, len(values)))
    np.add.at(sums, where, values.T)
    rows = sorted(set(where.tolist()))
    recorded = np.empty(found.n)
    recorded[[place[label] for label in counts.categories]] = counts.category_counts
    return Check(rows, recorded[rows], sums[rows].T)


def write_check(page: Page, found: Findings, check: Check | str) -> None:
    """Add the check: how many counts lie where they should, and the most surprising ones."""
    if isinstance(check, str):
        page.text(f"No posterior predictive check: {check}.")
        return
    low, high = check.ends(found.ci_prob)
    inside = int(((check.recorded >= low) & (check.recorded <= high)).sum())
    outer = percent(found.ci_prob)
    total = len(check.rows)
    page.text(
        f"Posterior predictive check: would the model record such counts again? The data was "
        f"replicated from {len(check.replicated):,} draws, with the same sets and as many "
        f"outcomes in each. The recorded count of {inside:,} of "
        f"{plural(total, 'category', 'categories')} lies within the {outer} interval of its "
        f"replicates, and about {found.ci_prob * total:,.0f} or more are expected where the model "
        "fits. Which set an outcome was recorded in is not kept with a run, so counts are "
        "compared over all sets together."
    )
    order = np.argsort(check.surprise, kind="stable")[:_SHOWN]
    rows: list[list[Cell]] = [
        [
            Folded(found.names[check.rows[k]]),
            cell(check.recorded[k], ",.10g"),
            cell(check.replicated[:, k].mean(), ",.1f"),
            Number(f"{low[k]:,.0f} to {high[k]:,.0f}", float(low[k])),
            probability(float(check.surprise[k])),
        ]
        for k in order
    ]
    page.table(
        ["Category", "Recorded", "Replicated, mean", f"Replicated, {outer}", "P(as far out)"],
        rows,
        caption="Recorded and replicated counts, the most surprising first",
        numeric=range(1, 5),
    )
