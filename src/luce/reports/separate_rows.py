"""Answer and model of a report on separate rows of transitions, as `SeparateRows` draws them."""

from __future__ import annotations

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Code, Inline, Name, Page, Strong
from luce.page.words import percent, probability, shortened
from luce.reports.findings import SeparateRowsFindings


def title_of(found: SeparateRowsFindings) -> str:
    """Count rows and outcomes."""
    rows = plural(len(found.model.sources), "state")
    return f"{rows}, {plural(found.model.n_outcomes, 'transition')}"


def lead(found: SeparateRowsFindings) -> list[Inline]:
    """Name the most probable move from a state that more than one other can follow."""
    table, forbidden = found.row_intervals, found.forbidden
    uncertain = (~forbidden).sum(axis=1, keepdims=True) > 1
    if not uncertain.any():
        return ["Each state is always followed by the same. "]
    mean = np.where(forbidden | ~uncertain, -1.0, table["mean"].values)
    i, j = np.unravel_index(int(mean.argmax()), mean.shape)
    low, high = (probability(float(table[name].values[i, j])) for name in ("lower", "upper"))
    return [
        "Of the moves that are not certain, the most probable is from ",
        Name(shortened(found.source_names[i])),
        " to ",
        Name(shortened(found.state_names[j])),
        ", with probability ",
        Strong(probability(float(mean[i, j]))),
        f" ({percent(found.ci_prob)} interval {low} to {high}). ",
    ]


def write_model(page: Page, found: SeparateRowsFindings) -> None:
    """Add the law of each row, the prior, and the method."""
    page.text(
        "The probabilities to move on from a state are its row. Each row has a posterior of its "
        "own and learns nothing from the others:"
    )
    page.preformatted("π_i ~ Dir(a),     next state | i  ~  π_i,     for each state i")
    page.text(
        "with π_i the probabilities of the states that can follow i; all others have probability 0."
    )
    page.text(Strong("Prior. "), f"{found.run.attrs.get('prior', 'not recorded')}.")
    attributes = found.run.attrs
    page.text(
        Strong("Method. "),
        Code(str(attributes.get("method", "not recorded"))),
        f": {attributes.get('reason', 'no reason is recorded')}.",
    )
