"""Parts of a page that answer its readers: strengths on any scale, duels, shares, transitions.

The scripts stand in `live/`.  A page carries some of the draws, and scripts compute from these what
`luce.predict`, `luce.beats` and `luce.shares` compute from all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.answers.results import ResultModel
from luce.answers.scales import scaled
from luce.answers.view import DrawsView, tail_of
from luce.errors import DataError
from luce.page.document import Page
from luce.page.words import percent
from luce.plots.intervals import interval_words, spread_of
from luce.reports.answer import MOST_ROWS
from luce.reports.findings import ChoiceFindings, MatrixFindings
from luce.reports.formatting import decimals_for, short_names
from luce.reports.pictures import condition_of_wins

MOST_CATEGORIES = 1500  # that a page carries draws of
_MOST_STATES = 100  # of a transition matrix that a page carries for its scripts
_BYTES = 1_500_000  # of the draws that a page carries, before they are written as text
_DIGITS = 9  # of numbers from all draws

_ZEROS = (
    "Nothing can be computed here, because some probabilities are too small to be stored: draw "
    "again with log_probabilities=True."
)
_CHOICES = ("numbers", "scales", "strengths", "bars", "compare", "single", "shares", "choices")
_MOVES = ("numbers", "bars", "moves")


def write_strengths_place(page: Page) -> None:
    """Add the place of the picture of strengths."""
    page.place("strengths")


def write_questions(page: Page, found: ChoiceFindings, most_draws: int) -> None:
    """Add the place where readers ask, and the scripts and numbers that answer."""
    page.place(
        "questions",
        "Here a script compares any two, and computes shares among those on offer. Scripts are "
        "turned off; all else on this page is there without them.",
    )
    _add_program(page, live_data(found, most_draws), _CHOICES)


def write_moves(page: Page, found: MatrixFindings) -> bool:
    """Add the part that shows the transition matrix a row at a time; return if there is room."""
    if found.rows is None or max(found.forbidden.shape) > _MOST_STATES:
        return False
    page.place("moves")

    def table(values: FloatArray) -> list[list[float | None]]:
        shown = zip(values, found.forbidden, strict=True)
        return [
            [None if out else x for x, out in zip(_numbers(row), outs, strict=True)]
            for row, outs in shown
        ]

    names = {"mean": "mean", "low": "lower", "high": "upper"}
    data = {
        "sources": short_names(found.source_names),
        "states": short_names(found.state_names),
        "interval": percent(found.ci_prob),
        **{own: table(found.row_intervals[name].values) for own, name in names.items()},
    }
    _add_program(page, data, _MOVES)
    return True


def _add_program(page: Page, data: Mapping[str, object], names: Sequence[str]) -> None:
    folder = resources.files("luce.reports").joinpath("live")
    scripts = [folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in names]
    style = folder.joinpath("live.css").read_text(encoding="utf-8")
    page.program(data, "\n".join(scripts), style)


def live_data(found: ChoiceFindings, most_draws: int) -> dict[str, Any]:
    """Collect what scripts need: names, summaries of all draws, and some of the draws."""
    rows = min(found.n, MOST_ROWS)
    best, worst = found.rank_ends
    one, several = found.nouns
    events = found.whole.events
    return {
        "names": found.names[:rows],
        "short": short_names(found.names)[:rows],
        "one": one,
        "several": several,
        "interval": percent(found.ci_prob),
        "tail": tail_of(found.ci_prob),
        "intervals": interval_words(found.ci_prob),
        "decimals": decimals_for(found.table["mean"]),
        "scale": found.scale,
        "probability": _on_scale(found, "probability", rows),
        "odds": None if found.log_odds is None else _on_scale(found, "log-odds", rows),
        "ranks": {
            "mean": _numbers(found.table["rank"][:rows]),
            "low": best[:rows].tolist(),
            "high": worst[:rows].tolist(),
            "best": _numbers(found.table["p_best"][:rows]),
        },
        "contests": bool(found.whole.effects) if events is None else events.kind == "contests",
        "condition": _condition(found),
        "sharesMeaning": _meaning_of_shares(found),
        **_draws(found, most_draws),
    }


def _on_scale(found: ChoiceFindings, scale: str, rows: int) -> list[list[float]]:
    """Compute mean, outer and inner interval of each row from all draws, as pictures show them."""
    order = found.view.numbers(found.table.categories[:rows], "rows")
    spread = spread_of(scaled(found.view, scale, None, 0.0)[:, :, order], found.ci_prob)
    columns = spread.mean, *spread.outer, *(spread.inner or spread.outer)
    return [_numbers(column) for column in columns]


def _numbers(values: FloatArray) -> list[float]:
    """Round numbers to the digits that a page carries."""
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def _draws(found: ChoiceFindings, most: int) -> dict[str, Any]:
    """Thin the draws evenly to what a page can carry; return them, and the model of results."""
    n = min(found.n, MOST_CATEGORIES)
    thin = found.whole.one_chain(found.whole.evenly(min(most, _BYTES // (4 * n))))
    labels = found.table.categories[:n]
    logs = thin.logs(0, slice(None), thin.numbers(labels, "rows"))
    model = _model(thin)
    if not all(np.isfinite(x).all() for x in (logs, *model.values()) if isinstance(x, np.ndarray)):
        return {"draws": None, "whyNone": _ZEROS, "model": {}}
    # Ratios alone matter; numbers near 0 keep more digits in single precision.
    centre = logs.mean(axis=1)
    columns = np.ascontiguousarray((logs - centre[:, None]).T, "<f4")
    for kind, name in (("home", "homeDraws"), ("ties", "tieDraws")):
        if model[kind] == "entity":
            model[name] = model[name] - centre
    return {
        "draws": {
            "number": thin.n_draws,
            "categories": n,
            "logs": b64encode(columns.tobytes()).decode(),
            "meaning": _meaning_of_draws(found, thin.n_draws, n),
        },
        "model": {k: x.tolist() if isinstance(x, np.ndarray) else x for k, x in model.items()},
    }


def _model(x: DrawsView) -> dict[str, Any]:
    """Describe the model of results: ties, home, and draws of both; of an advantage its log."""
    try:
        results = ResultModel.of(x)
    except DataError:  # the data has no meetings of two sides
        return {"isKnown": False, "ties": None, "home": None}
    model: dict[str, Any] = {"isKnown": True, "ties": results.ties, "home": results.home}
    for name, kind in (("home", results.home), ("tie", results.ties)):
        if kind == "entity":
            own = [label for label, effect in x.effects.items() if effect == name]
            model[f"{name}Draws"] = x.logs(0, slice(None), x.numbers(own, name))[:, 0]
        elif kind is not None:
            values = x.parameter_values([name], "the data")[name][0]
            model[f"{name}Draws"] = np.log(values) if name == "home" else values
    return model


def _meaning_of_draws(found: ChoiceFindings, number: int, n: int) -> str:
    """Say from which draws, and for which categories, the page computes."""
    every = found.whole.n_draws
    which = f"{number:,} of the {every:,} draws, evenly spaced"
    several = found.nouns[1]
    whose = f" They are for the first {n:,} of {found.n:,} {several} by expected rank."
    return (
        f"These numbers are computed here, from {which if number < every else 'all draws'}. "
        "Intervals are of the probability or share itself. Tables and pictures are from all draws."
        f"{whose if n < found.n else ''}"
    )


def _condition(found: ChoiceFindings) -> str:
    """Say under which condition p_a / (p_a + p_b) is the probability that a comes before b."""
    aside = ", ties and advantages aside" if found.whole.effects else ""
    return condition_of_wins(found) or aside


def _meaning_of_shares(found: ChoiceFindings) -> str:
    if found.whole.events is None and not found.whole.effects:
        return "The probability that each is chosen, when these alone are on offer."
    return "Shares of the strength of all that are on offer; they are no probabilities of results."
