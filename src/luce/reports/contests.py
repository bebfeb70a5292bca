"""Contests in a report: their meetings and results, their likelihood, and their priors."""

from __future__ import annotations

import numpy as np

from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.counts.labels import plural
from luce.page.document import Cell, Folded, Number, Page
from luce.reports.findings import ChoiceFindings
from luce.reports.formatting import listed, names_of

_MOST_PAIRINGS = 10  # rows of the table of pairings
_FOLDED = 160  # characters of a pairing from which on it folds

_FORMULAS = {
    None: "A / (A + B),  B / (A + B)",
    "davidson": "A / D,  B / D,  ν √(A B) / D   with   D = A + B + ν √(A B)",
    "rao-kupper": (
        "A / (A + θ B),  B / (θ A + B),  (θ² - 1) A B / ((A + θ B) (θ A + B))   with   θ ≥ 1"
    ),
}
_NAMES = {
    None: "Bradley and Terry’s model of paired comparisons",
    "davidson": "Davidson’s model of ties",
    "rao-kupper": "the model of ties by Rao and Kupper",
}


def contests_of(found: ChoiceFindings) -> Contests | None:
    """Return the contests of a run's data, where it has some."""
    events = found.posterior.counts.events
    return events if isinstance(events, Contests) else None


def contest_facts(contests: Contests) -> dict[str, Cell]:
    """Tell numbers of meetings and results."""
    at_home, neutral = contests.results[contests.at_home], contests.results[~contests.at_home]
    told = []
    if at_home.any():
        won, lost, tied = at_home.sum(axis=0).tolist()
        words = [plural(won, "win at home", "wins at home"), plural(lost, "win away", "wins away")]
        told += [*words, *_ties(contests, tied)]
    if neutral.any():
        where = " on neutral ground" if contests.home else ""
        won = float(neutral[:, [FIRST, SECOND]].sum())
        words = [plural(won, "win"), *_ties(contests, float(neutral[:, TIE].sum()))]
        told.append(f"{listed(words)}{where}")
    return {
        "Meetings": f"{contests.n_outcomes:,.10g}, of {plural(len(contests), 'pairing')}",
        "Results": listed(told),
    }


def _ties(contests: Contests, number: float) -> list[str]:
    return [plural(number, "tie")] if contests.ties is not None else []


def write_pairings(page: Page, found: ChoiceFindings, contests: Contests) -> None:
    """Add the table of the pairings that met most often."""
    names = names_of(found.posterior.counts.categories)
    totals = contests.results.sum(axis=1)
    rows: list[list[Cell]] = []
    for t in np.argsort(-totals, kind="stable")[:_MOST_PAIRINGS].tolist():
        numbers = [totals[t], *contests.results[t]]
        if contests.ties is None:
            numbers.pop()
        rows.append(
            [
                Folded(contests.sides_in_words(names, t), _FOLDED),
                *(Number(f"{x:,.10g}", float(x)) for x in numbers),
            ]
        )
    left = len(contests) - len(rows)
    more = f"; {plural(left, 'more is', 'more are')} not shown" if left else ""
    heads = ["Pairing", "Meetings", "Won by the first", "Won by the second", "Ties"]
    width = len(rows[0])
    page.table(
        heads[:width],
        rows,
        caption=f"The pairings that met most often{more}",
        numeric=range(1, width),
    )


def write_likelihood(page: Page, contests: Contests) -> None:
    """Add the probabilities of results."""
    three = ", or they tie" if contests.ties is not None else ""
    page.text(
        "Two sides meet, of total strengths A and B, the sums of their members’ p"
        f"{'' if contests.weights is None else ', each times its weight'}. The first wins, the "
        f"second wins{three}, with probabilities by {_NAMES[contests.ties]}:"
    )
    page.preformatted(_FORMULAS[contests.ties])
    if contests.home:
        page.text("Where the first side is at home, A is h times its strength, h being “home”.")
    if contests.ties is not None:
        page.text(f"{'ν' if contests.ties == 'davidson' else 'θ'} is called “tie”.")


def parameter_priors(found: ChoiceFindings) -> str:
    """Say the priors of home and tie, or their known values."""
    events = found.posterior.counts.events
    told = []
    for name, prior in found.posterior.model.parameter_priors.items():
        if isinstance(prior, float):
            told.append(f"“{name}” was taken as known, {prior:g}.")
            continue
        least = 0.0 if events is None else events.least(name)
        whose = f"The excess of “{name}” over {least:g}" if least else f"“{name}”"
        told.append(
            f"{whose} has a gamma distribution of shape {prior.shape:g} and rate {prior.rate:g}, "
            f"with mean {prior.mean:g}."
        )
    return " ".join(told)
