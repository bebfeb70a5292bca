"""Pictures of a report, each with a description that tells its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Label
from luce.answers.comparisons import win_matrix
from luce.answers.diagnostics import autocorrelation
from luce.answers.ranks import expected_order, rank_probabilities
from luce.counts.labels import plural
from luce.errors import DataError, LuceError
from luce.page.document import Page, Panel
from luce.page.words import percent, probability
from luce.plots import autocorrelation as draw_autocorrelation
from luce.plots import predictive_check, rank_heatmap, strengths, trace
from luce.plots import win_matrix as draw_wins
from luce.plots.canvas import require_matplotlib
from luce.plots.matrices import transition_heatmap
from luce.reports.formatting import decimals_for, listed, names_of, spoken

if TYPE_CHECKING:
    from luce.reports.findings import (
        ChoiceFindings,
        Findings,
        MatrixFindings,
        TransitionFindings,
    )
    from luce.reports.predictive_check import PredictiveCheck


@dataclass(frozen=True, kw_only=True)
class PictureSizes:
    """Largest numbers of categories in pictures and in their descriptions."""

    described: int = 10
    dots: int = 40
    ranks: int = 40
    wins: int = 30
    lines: int = 3
    states: int = 60
    # A picture of ranks needs a table of all ranks, which has the square of this many numbers.
    ranked: int = 2000


def why_none() -> str:
    """Say why nothing can be drawn; return "" where pictures can be drawn."""
    try:
        require_matplotlib()
    except LuceError as error:
        return str(error)
    return ""


def write_answer_pictures(
    page: Page, found: ChoiceFindings, sizes: PictureSizes | None = None, *, live: bool = False
) -> None:
    """Add strengths, ranks and duels, unless there is only one category.

    `live` says that scripts draw strengths, too, and ranks and duels of one for narrow screens.
    """
    if found.n < 2:
        return
    most = sizes or PictureSizes()
    always, narrow = ("always", "narrow") if live else (None, None)
    page.figure([_strengths(found, most)], _intervals(found), replaced=always)
    panels = [_ranks(found, most)] if found.n <= most.ranked else []
    page.figure([*panels, *_wins(found, most)], replaced=narrow)


def write_transition_pictures(
    page: Page, found: TransitionFindings, sizes: PictureSizes | None = None, *, live: bool = False
) -> None:
    """Add the base, and the transition matrix where its rows were kept.

    `live` says that a script shows the matrix a row at a time, which suits narrow screens.
    """
    most = sizes or PictureSizes()
    base = _strengths(found, most, "Base probability of each state", f"Base. {_intervals(found)}")
    rows = [] if found.rows is None else [_transitions(found, most)]
    page.figure([base, *rows], replaced="narrow" if live else None)


def write_chain_pictures(page: Page, found: Findings, sizes: PictureSizes | None = None) -> None:
    """Add traces and autocorrelations of what has the smallest effective sample size."""
    if found.independent or len(found.effective) < 2 or found.draws < 4:
        return
    most = sizes or PictureSizes()
    labels = list(found.effective)
    effective = np.nan_to_num(list(found.effective.values()), nan=np.inf)
    every = names_of(labels)
    order = np.argsort(effective, kind="stable")[: most.lines]
    slowest, names = [labels[i] for i in order], [every[i] for i in order]
    beside = "" if found.parameters is None else " and parameters"
    page.figure(
        [_traces(found, slowest, names), _correlations(found, slowest, names)],
        f"The {found.subjects}{beside} with the smallest effective sample size.",
    )


def write_check_picture(
    page: Page,
    found: ChoiceFindings,
    check: PredictiveCheck | str,
    sizes: PictureSizes | None = None,
) -> None:
    """Add recorded shares over replicated ones."""
    if isinstance(check, str):
        return
    most = (sizes or PictureSizes()).described
    axes = predictive_check(found.whole, found.posterior.counts, ci_prob=found.ci_prob)
    low, high = check.ends(found.ci_prob)
    out = (check.recorded < low) | (check.recorded > high)
    outside = [spoken(check.names[k]) for k in np.flatnonzero(out)[:most]]
    contested = found.posterior.counts.events is not None
    whose = (
        ("number of wins or ties", "numbers of wins and ties")
        if contested
        else ("category", "categories")
    )
    words = (
        f"Recorded shares over intervals of replicated ones. Within the {percent(found.ci_prob)} "
        f"interval lie the counts of {int((~out).sum()):,} of {plural(len(out), *whose)}"
    )
    more = f", {out.sum() - most:,} more" if out.sum() > most else ""
    words += f"; outside: {', '.join(outside)}{more}." if outside else "."
    page.figure([panel_of(axes, words, "Diamonds are recorded, lines replicated.")])


def _intervals(found: Findings) -> str:
    return f"Dots are means, lines {percent(found.ci_prob)} and 50 % intervals."


def _strengths(
    found: Findings,
    most: PictureSizes,
    subject: str = "Probability of each category",
    caption: str = "",
) -> Panel:
    axes = strengths(found.view, scale=found.scale, ci_prob=found.ci_prob, most=most.dots)
    decimals = decimals_for(found.table["mean"])
    low, high = found.ends
    rows = [
        f"{spoken(found.names[i])} {probability(found.table['mean'][i], decimals)} "
        f"({probability(low[i], decimals)} to {probability(high[i], decimals)})"
        for i in range(min(found.n, most.described))
    ]
    if found.scale != "probability":
        drawn = {"elo": "points of Elo", "log-odds": "log odds"}[found.scale]
        subject = f"Strengths, drawn as {drawn} and told as probabilities"
    words = (
        f"{subject}, mean and {percent(found.ci_prob)} interval, by expected "
        f"rank: {', '.join(rows)}"
    )
    if found.n > most.described:
        words += (
            f"; {found.n - most.described:,} more, the last being {spoken(found.names[-1])} with "
            f"{probability(found.table['mean'][-1], decimals)}"
        )
    return panel_of(axes, f"{words}.", caption)


def _ranks(found: ChoiceFindings, most: PictureSizes) -> Panel:
    axes = rank_heatmap(found.view, most.ranks)
    table = rank_probabilities(found.view)
    place = {label: i for i, label in enumerate(table["category"].to_numpy().tolist())}
    rows = []
    order = expected_order(found.view)[: most.described]
    for label, name in zip(order, names_of(order), strict=True):
        chances = table.to_numpy()[place[label]]
        likely = int(chances.argmax())
        rows.append(f"{spoken(name)} rank {likely + 1:,} ({probability(chances[likely])})")
    left = found.n - most.described
    more = f"; {plural(left, 'more follows', 'more follow')}" if left > 0 else ""
    words = f"Probability of each rank, as shades. The most probable ranks: {', '.join(rows)}{more}"
    return panel_of(axes, f"{words}.", f"Probability of each rank{_only(found, most.ranks)}.")


def _wins(found: ChoiceFindings, most: PictureSizes) -> list[Panel]:
    """Draw the duels; no panel where two probabilities were stored as 0 in one draw."""
    try:
        axes = draw_wins(found.view, most.wins)
    except DataError:
        return []
    order: list[Label] = expected_order(found.view)[: most.described]
    x = found.view
    table = win_matrix(x.take(x.numbers(order, "the best"))).to_numpy()
    names = [spoken(name) for name in names_of(order)]
    over = [f"{names[j]} {probability(table[0, j])}" for j in range(1, len(order))]
    events = found.whole.events
    verb = "wins over" if events is not None and events.kind == "contests" else "is chosen over"
    given = condition_of_wins(found)
    words = (
        f"Probability that the row {verb} the column{given}, as shades. "
        f"{names[0]} {verb} {', '.join(over)}"
    )
    steps = [
        f"{names[i]} over {names[i + 1]} {probability(table[i, i + 1])}"
        for i in range(1, len(order) - 1)
    ]
    words += f"; each over the next: {', '.join(steps)}." if steps else "."
    caption = f"How often the row {verb} the column{given}{_only(found, most.wins)}."
    return [panel_of(axes, words, caption)]


def condition_of_wins(found: ChoiceFindings) -> str:
    """Say under which condition one wins over another with the ratio of their strengths."""
    events = found.whole.events
    if events is None:
        return ""
    if events.kind != "contests":
        return ", if they do not tie" if found.posterior.counts.parameters else ""
    home = events.home or "home" in found.whole.effects.values()
    told = ["if they do not tie"] * (events.ties is not None) + ["on neutral ground"] * home
    return f", {' and '.join(told)}" if told else ""


def write_matrix(
    page: Page, found: MatrixFindings, sizes: PictureSizes | None = None, *, live: bool = False
) -> None:
    """Add the transition matrix; `live` is that of `write_transition_pictures`."""
    panel = _transitions(found, sizes or PictureSizes())
    page.figure([panel], replaced="narrow" if live else None)


def _transitions(found: MatrixFindings, most: PictureSizes) -> Panel:
    mean, low, high = (found.row_intervals[name].values for name in ("mean", "lower", "upper"))
    sources, states = found.source_names, found.state_names
    few = slice(most.states)
    axes = transition_heatmap(
        mean[few, few],
        found.forbidden[few, few],
        sources=sources[few],
        states=states[few],
        spans=(low[few, few], high[few, few]),
        ci_prob=found.ci_prob,
    )
    likely = [
        f"from {spoken(sources[i])} to {spoken(states[int(mean[i].argmax())])} "
        f"{probability(mean[i].max())}"
        for i in range(min(len(sources), most.described))
    ]
    left = len(sources) - len(likely)
    more = f"; {plural(left, 'more state follows', 'more states follow')}" if left else ""
    words = (
        "Mean probability to move from the row to the column, as shades; crosses are transitions "
        f"that cannot occur. The most probable: {', '.join(likely)}{more}."
    )
    cut = len(states) > most.states
    only = f", the first {most.states} of {len(states):,} states" if cut else ""
    caption = f"Probability to move from the row to the column{only}; × cannot occur."
    return panel_of(axes, words, caption)


def _traces(found: Findings, slowest: list[Label], names: list[str]) -> Panel:
    axes = trace(found.whole, slowest)
    x = found.whole.with_parameters()
    drawn = x.probabilities[:, :, x.numbers(slowest, "slowest")]
    rows = []
    for name, values in zip(names, np.moveaxis(drawn, 2, 0), strict=True):
        means, sd = values.mean(axis=1), float(values.std())
        ends = f"from {means.min():.3g} to {means.max():.3g}"
        rows.append(f"{spoken(name)}: means of the chains {ends}, standard deviation {sd:.2g}")
    words = (
        f"Draws of {plural(found.chains, 'chain')}, one after another, {found.draws:,} each. "
        f"{'; '.join(rows)}."
    )
    return panel_of(axes, words, "Draws, one after another.")


def _correlations(found: Findings, slowest: list[Label], names: list[str]) -> Panel:
    axes = draw_autocorrelation(found.whole, slowest)
    x = found.whole.with_parameters()
    lags = min(100, found.draws - 1)
    table = autocorrelation(x, lags).to_numpy()[:, :, x.numbers(slowest, "slowest")]
    # The autocorrelation of a chain that never moved is nan: it is described as 1.
    mean = np.where(np.isnan(table), 1.0, table).mean(axis=0)
    rows = []
    for name, values in zip(names, mean.T, strict=True):
        small = np.flatnonzero(values < 0.1)
        end = f"below 0.1 from lag {small[0]} on" if len(small) else f"above 0.1 up to lag {lags}"
        rows.append(f"{spoken(name)} {values[min(1, lags)]:.2f} at lag 1, {end}")
    words = f"Autocorrelation against lag, mean of the chains: {listed(rows)}."
    return panel_of(axes, words, "Autocorrelation; independent draws would stay in the grey band.")


def _only(found: Findings, most: int) -> str:
    return f", the best {most} of {found.n:,}" if found.n > most else ""


def panel_of(axes: Any, words: str, caption: str = "") -> Panel:
    """Convert the axes of a plot, or an array of axes, to a picture on a page."""
    file = BytesIO()
    np.ravel(np.asarray(axes, object))[0].figure.savefig(file, format="svg")
    return Panel(file.getvalue().decode(), words, caption)
