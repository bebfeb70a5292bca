"""A posterior predictive check in numbers: would the model record such counts again?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray
from luce.answers.prediction import posterior_predictive, tally_results
from luce.answers.view import tail_of
from luce.counts.contests import Contests
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.document import Cell, Folded, Number, Page
from luce.page.words import percent, probability
from luce.reports.findings import ChoiceFindings
from luce.reports.formatting import names_of, number_cell

_MOST_REPLICATES = 400  # ends of an interval need no more
_FEWEST_REPLICATES = 50
_MOST_CELLS = 2e7  # cells of all replicates together
_MOST_ROWS = 8


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Recorded and replicated counts of the categories that could occur.

    Parameters
    ----------
    names
        These categories, as text.
    recorded
        Recorded counts, shape (category,).
    replicated
        Counts of the replicates, shape (replicate, category).
    """

    names: list[str]
    recorded: FloatArray
    replicated: FloatArray

    def ends(self, ci_prob: float) -> tuple[FloatArray, FloatArray]:
        """Compute lower and upper ends of the replicates' intervals."""
        tail = tail_of(ci_prob)
        low = np.quantile(self.replicated, tail, axis=0, method="lower")
        return low, np.quantile(self.replicated, 1 - tail, axis=0, method="higher")

    @property
    def surprise(self) -> FloatArray:
        """Two-sided tail probabilities of the recorded counts among the replicates; ties half."""
        above = (self.replicated > self.recorded).mean(axis=0)
        level = (self.replicated == self.recorded).mean(axis=0)
        upper = above + level / 2
        return np.asarray(2 * np.minimum(upper, 1 - upper))


def replicate(found: ChoiceFindings, most_cells: float = _MOST_CELLS) -> PredictiveCheck | str:
    """Replicate the data from some of the draws; or say why that cannot be done.

    Parameters
    ----------
    found
        The run.
    most_cells
        Bound on the cells (categories of all sets) times the number of replicates.
    """
    import xarray as xr

    counts = found.posterior.counts
    if counts.events is not None:
        return _replicate_contests(found, most_cells)
    n = counts.n_categories
    cells = int(counts.sets.sizes.sum()) + n
    draws = int(min(_MOST_REPLICATES, most_cells // cells))
    if draws < _FEWEST_REPLICATES:
        return f"the data has {cells:,} cells, too many to replicate for a page"
    step = max(1, -(-found.draws * found.chains // draws))
    kept = found.run["posterior"].to_dataset().isel(draw=slice(None, None, step))
    try:
        table = posterior_predictive(xr.DataTree.from_dict({"posterior": kept}), counts, seed=0)
    except DataError as error:
        return str(error).rstrip(".")
    place = {label: i for i, label in enumerate(counts.categories)}
    where = np.array([place[label] for label in table["category"].to_numpy().tolist()])
    values = table.to_numpy().reshape(-1, len(where))
    sums = np.zeros((n, len(values)))
    np.add.at(sums, where, values.T)
    rows = np.unique(where)
    known = names_of(counts.categories)
    names = [known[i] for i in rows]
    return PredictiveCheck(names, counts.category_counts[rows], sums[rows].T)


def _replicate_contests(found: ChoiceFindings, most_cells: float) -> PredictiveCheck | str:
    """Replicate the results of all meetings; count wins and ties of each competitor."""
    counts = found.posterior.counts
    contests = counts.events
    if not isinstance(contests, Contests):
        return "it is made for contests of two sides alone, not for other models of ties"
    cells = 8 * len(contests.members)
    draws = int(min(_MOST_REPLICATES, most_cells // cells))
    if draws < _FEWEST_REPLICATES:
        return f"the data has {plural(len(contests), 'pairing')}, too many to replicate for a page"
    x = found.whole
    try:
        table = posterior_predictive(x.one_chain(x.evenly(draws)), counts, seed=0)
    except DataError as error:
        return str(error).rstrip(".")
    known = names_of(counts.categories)
    tallies = [
        tally_results(contests, results) for results in (contests.results, table.to_numpy()[0])
    ]
    met = np.flatnonzero(contests.games())
    kinds = {"wins": 0, "ties": 1} if contests.ties is not None else {"wins": 0}
    names = [f"{known[i]}: {word}" for word in kinds for i in met]
    recorded, replicated = (
        np.concatenate([tally[k][..., met] for k in kinds.values()], axis=-1) for tally in tallies
    )
    return PredictiveCheck(names, recorded, replicated)


def write_check(page: Page, found: ChoiceFindings, check: PredictiveCheck | str) -> None:
    """Add the number of counts within their intervals, and the most surprising counts."""
    if isinstance(check, str):
        page.text(f"No posterior predictive check: {check}.")
        return
    low, high = check.ends(found.ci_prob)
    inside = int(((check.recorded >= low) & (check.recorded <= high)).sum())
    outer = percent(found.ci_prob)
    total = len(check.names)
    contests = found.posterior.counts.events is not None
    if contests:
        page.text(
            f"Posterior predictive check: would the model record such results again? All meetings "
            f"were replicated from {plural(len(check.replicated), 'draw')}. Of "
            f"{plural(total, 'recorded count')} of wins and ties, {inside:,} lie within the "
            f"{outer} interval of their replicates, and about {found.ci_prob * total:,.0f} or more "
            "are expected where the model fits."
        )
    else:
        _tell_counts(page, found, check, inside)
    order = np.argsort(check.surprise, kind="stable")[:_MOST_ROWS]
    rows: list[list[Cell]] = [
        [
            Folded(check.names[k]),
            number_cell(check.recorded[k], ",.10g"),
            number_cell(check.replicated[:, k].mean(), ",.1f"),
            Number(f"{low[k]:,.0f} to {high[k]:,.0f}", float(low[k])),
            probability(float(check.surprise[k])),
        ]
        for k in order
    ]
    whose = "Count" if contests else "Category"
    page.table(
        [whose, "Recorded", "Replicated, mean", f"Replicated, {outer}", "P(as far out)"],
        rows,
        caption="Recorded and replicated counts, the most surprising first",
        numeric=range(1, 5),
    )


def _tell_counts(page: Page, found: ChoiceFindings, check: PredictiveCheck, inside: int) -> None:
    """Say how many counts of categories lie within their intervals."""
    outer, total = percent(found.ci_prob), len(check.names)
    page.text(
        f"Posterior predictive check: would the model record such counts again? The data was "
        f"replicated from {plural(len(check.replicated), 'draw')}, with the same sets and as many "
        f"outcomes in each. The recorded count of {inside:,} of "
        f"{plural(total, 'category', 'categories')} lies within the {outer} interval of its "
        f"replicates, and about {found.ci_prob * total:,.0f} or more are expected where the model "
        "fits. Which set an outcome was recorded in is not kept with a run, so counts are "
        "compared over all sets together."
    )
