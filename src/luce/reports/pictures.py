"""The pictures, each with a description that tells its numbers."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from luce._types import Label
from luce.answers.comparisons import win_matrix
from luce.answers.diagnostics import autocorrelation
from luce.answers.ranks import expected_order, rank_probabilities
from luce.answers.view import DrawsView
from luce.counts.labels import plural
from luce.errors import LuceError
from luce.page.document import Page, Panel
from luce.plots import autocorrelation as draw_autocorrelation
from luce.plots import predictive_check, rank_heatmap, strengths, trace
from luce.plots import win_matrix as draw_wins
from luce.plots.canvas import require_matplotlib
from luce.plots.excerpt import of_categories
from luce.reports.findings import Findings
from luce.reports.predictive import Check
from luce.reports.wording import digits_for, listed, names_of, percent, probability, spoken

_TOLD = 10  # categories whose numbers a description tells
_MOST_DOTS, _MOST_RANKS, _MOST_WINS, _MOST_LINES = 40, 40, 30, 3
_MOST_RANKED = 2000  # a table of all ranks has the square of this many numbers


def why_not() -> str:
    """Say why nothing can be drawn; nothing where it can."""
    try:
        require_matplotlib()
    except LuceError as error:
        return str(error)
    return ""


def write_answer_pictures(page: Page, found: Findings) -> None:
    """Add strengths, ranks and duels; nothing to compare is nothing to draw."""
    if found.n < 2:
        return
    outer = percent(found.ci_prob)
    page.figure([_strengths(found)], f"Dots are means, lines {outer} and 50 % intervals.")
    panels = [_ranks(found)] if found.n <= _MOST_RANKED else []
    page.figure([*panels, *_wins(found)])


def write_chain_pictures(page: Page, found: Findings) -> None:
    """Add traces and autocorrelations of the categories that moved least."""
    if found.independent or found.n < 2 or found.draws < 4:
        return
    order = np.argsort(np.nan_to_num(found.table["ess_bulk"], nan=np.inf), kind="stable")
    slowest = [found.table.categories[int(i)] for i in order[:_MOST_LINES]]
    names = [found.names[int(i)] for i in order[:_MOST_LINES]]
    page.figure(
        [_traces(found, slowest, names), _correlations(found, slowest, names)],
        "The categories with the smallest effective sample size.",
    )


def write_check_picture(page: Page, found: Findings, check: Check | str) -> None:
    """Add recorded shares over replicated ones."""
    if isinstance(check, str):
        return
    axes = predictive_check(found.run, found.posterior.counts, ci_prob=found.ci_prob)
    low, high = check.ends(found.ci_prob)
    out = (check.recorded < low) | (check.recorded > high)
    outside = [spoken(found.names[check.rows[k]]) for k in np.flatnonzero(out)[:_TOLD]]
    words = (
        f"Recorded shares over intervals of replicated ones. Within the {percent(found.ci_prob)} "
        f"interval lie the counts of {int((~out).sum()):,} of {len(out):,} categories"
    )
    more = f", {out.sum() - _TOLD:,} more" if out.sum() > _TOLD else ""
    words += f"; outside: {', '.join(outside)}{more}." if outside else "."
    page.figure([_panel(axes, words, "Diamonds are recorded, lines replicated.")])


def _strengths(found: Findings) -> Panel:
    axes = strengths(found.run, ci_prob=found.ci_prob, most=_MOST_DOTS)
    digits = digits_for(found.table["mean"])
    low, high = found.ends
    rows = [
        f"{spoken(found.names[i])} {probability(found.table['mean'][i], digits)} "
        f"({probability(low[i], digits)} to {probability(high[i], digits)})"
        for i in range(min(found.n, _TOLD))
    ]
    words = (
        f"Probability of each category, mean and {percent(found.ci_prob)} interval, the largest "
        f"first: {', '.join(rows)}"
    )
    if found.n > _TOLD:
        words += (
            f"; {found.n - _TOLD:,} more, down to {spoken(found.names[-1])} with "
            f"{probability(found.table['mean'][-1], digits)}"
        )
    return _panel(axes, f"{words}.")


def _ranks(found: Findings) -> Panel:
    axes = rank_heatmap(found.run, _MOST_RANKS)
    table = rank_probabilities(found.run)
    labels = table["category"].to_numpy().tolist()
    place = {label: i for i, label in enumerate(labels)}
    rows = []
    order = expected_order(found.run)
    for label, name in zip(order[:_TOLD], names_of(order[:_TOLD]), strict=True):
        chances = table.to_numpy()[place[label]]
        likely = int(chances.argmax())
        rows.append(f"{spoken(name)} rank {likely + 1:,} ({probability(chances[likely])})")
    left = f"; {found.n - _TOLD:,} more follow" if found.n > _TOLD else ""
    words = f"Probability of each rank, as shades. The most probable ranks: {', '.join(rows)}{left}"
    return _panel(axes, f"{words}.", f"Probability of each rank{_only(found, _MOST_RANKS)}.")


def _wins(found: Findings) -> list[Panel]:
    try:
        axes = draw_wins(found.run, _MOST_WINS)
    except LuceError:  # probabilities that were stored as 0
        return []
    order: list[Label] = expected_order(found.run)[:_TOLD]
    x = DrawsView.of(found.run)
    table = win_matrix(of_categories(x, x.numbers(order, "the best"))).to_numpy()
    names = names_of(order)
    over = [f"{spoken(names[j])} {probability(table[0, j])}" for j in range(1, len(order))]
    words = (
        "Probability that the row is chosen over the column, as shades. "
        f"{spoken(names[0])} is chosen over {', '.join(over)}"
    )
    steps = [
        f"{spoken(names[i])} over {spoken(names[i + 1])} {probability(table[i, i + 1])}"
        for i in range(1, len(order) - 1)
    ]
    words += f"; each over the next: {', '.join(steps)}." if steps else "."
    caption = f"How often the row is chosen over the column{_only(found, _MOST_WINS)}."
    return [_panel(axes, words, caption)]


def _traces(found: Findings, slowest: list[Label], names: list[str]) -> Panel:
    axes = trace(found.run, slowest)
    x = DrawsView.of(found.run)
    p = found.run["posterior"]["probabilities"].to_numpy()[:, :, x.numbers(slowest, "slowest")]
    rows = []
    for name, values in zip(names, np.moveaxis(p, 2, 0), strict=True):
        means, sd = values.mean(axis=1), float(values.std())
        rows.append(f"{spoken(name)}: means of the chains from {means.min():.3g} to "
                    f"{means.max():.3g}, standard deviation {sd:.2g}")  # fmt: skip
    words = (
        f"Draws of {plural(found.chains, 'chain')}, one after another, {found.draws:,} each. "
        f"{'; '.join(rows)}."
    )
    return _panel(axes, words, "Draws, one after another.")


def _correlations(found: Findings, slowest: list[Label], names: list[str]) -> Panel:
    axes = draw_autocorrelation(found.run, slowest)
    x = DrawsView.of(found.run)
    lags = min(100, found.draws - 1)
    table = autocorrelation(found.run, lags).to_numpy()[:, :, x.numbers(slowest, "slowest")]
    # A chain that never moved has none.
    mean = np.where(np.isnan(table), 1.0, table).mean(axis=0)
    rows = []
    for name, values in zip(names, mean.T, strict=True):
        small = np.flatnonzero(values < 0.1)
        end = f"below 0.1 from lag {small[0]} on" if len(small) else f"above 0.1 up to lag {lags}"
        rows.append(f"{spoken(name)} {values[min(1, lags)]:.2f} at lag 1, {end}")
    words = f"Autocorrelation against lag, mean of the chains: {listed(rows)}."
    return _panel(axes, words, "Autocorrelation; independent draws would stay in the grey band.")


def _only(found: Findings, most: int) -> str:
    return f", the best {most} of {found.n:,}" if found.n > most else ""


def _panel(axes: Any, words: str, caption: str = "") -> Panel:
    """Turn what a plot returned, axes or an array of them, into a picture."""
    file = BytesIO()
    np.ravel(np.asarray(axes, object))[0].figure.savefig(file, format="svg")
    return Panel(file.getvalue().decode(), words, caption)
