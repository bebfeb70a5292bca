"""The answer: who is best, how sure that is, and every category in one table."""

from __future__ import annotations

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Badge, Cell, Folded, Inline, Name, Number, Page, Strong
from luce.page.words import shortened
from luce.reports.findings import TOLD_APART, Findings
from luce.reports.wording import cell, digits_for, percent, probability

# Rows in the table.  A browser takes about a second for so many, and few people read on.
MOST_ROWS = 5000

_SURE = 0.95  # from here on the best one is said to be the best
_ELO = 400 / np.log(10)
_AVERAGE = 1500.0


def lead(found: Findings) -> list[Inline]:
    """Say who is best, and how many can be told apart."""
    if found.n == 1:
        return ["There is only one category, ", Name(shortened(found.names[0])), ". "]
    best = found.table["p_best"]
    order = np.argsort(-best, kind="stable")
    first, second = (int(i) for i in order[:2])
    sure = float(best[first])
    strongest: list[Inline] = [Strong(probability(sure)), "; next comes "]
    words: list[Inline] = [Name(shortened(found.names[first]))]
    if sure >= _SURE:
        words += [" is the best with probability ", *strongest]
    elif sure > 0.5:
        words += [" is probably the best, with probability ", *strongest]
    else:
        words = ["No category is likely to be the best: ", *words, " is it with probability "]
        words += strongest
    words += [Name(shortened(found.names[second])), f" with {probability(float(best[second]))}. "]
    groups = len(found.tie_groups)
    if groups == 1:
        words += [f"The draws tell none of the {found.n:,} from the first, at "
                  f"{percent(TOLD_APART)}. "]  # fmt: skip
    elif groups == found.n:
        words += [f"All {found.n:,} can be told apart, each from the next, at "
                  f"{percent(TOLD_APART)}. "]  # fmt: skip
    else:
        words += [f"The {found.n:,} categories fall into {groups:,} groups that can be told "
                  f"apart at {percent(TOLD_APART)}. "]  # fmt: skip
    if found.prior_only.any():
        one = ("category is known only from the prior", "categories are known only from the prior")
        words += [f"{plural(int(found.prior_only.sum()), *one)}. "]
    return words


def write_table(page: Page, found: Findings) -> None:
    """Add the table of all categories, and how to read it."""
    n = min(found.n, MOST_ROWS)
    outer = percent(found.ci_prob)
    head = ["Category", "Mean", f"{outer} interval", "P(best)", "Rank", f"Rank, {outer}"]
    if found.log_odds is not None:
        head += ["Elo", "Log odds"]
    head += ["Group", "ESS", "R-hat"]
    numeric = set(range(1, len(head)))
    if found.prior_only.any():
        head.append("Known from")
    if all(type(label) in (int, float) for label in found.table.categories):
        numeric.add(0)
    left_out = f" The {found.n - n:,} smallest are left out." if n < found.n else ""
    page.table(
        head,
        [_row(found, i, digits_for(found.table["mean"])) for i in range(n)],
        caption=f"All categories, the largest mean first.{left_out}",
        numeric=numeric,
        sortable=True,
    )
    _explain(page, found, outer)


def _row(found: Findings, i: int, digits: int) -> list[Cell]:
    table, name = found.table, found.names[i]
    label = table.categories[i]
    is_number = type(label) in (int, float)
    first: Cell = Number(name, float(label)) if is_number else Folded(name)  # type: ignore[arg-type]
    (low, high), (best, worst) = found.ends, found.rank_ends
    row: list[Cell] = [
        first,
        Number(probability(table["mean"][i], digits), float(table["mean"][i])),
        Number(f"{probability(low[i], digits)} to {probability(high[i], digits)}", float(low[i])),
        Number(probability(table["p_best"][i]), float(table["p_best"][i])),
        cell(table["rank"][i], ",.1f"),
        Number(f"{best[i]:,} to {worst[i]:,}", float(best[i])),
    ]
    if found.log_odds is not None:
        odds = float(found.log_odds[i])
        row += [cell(_AVERAGE + _ELO * odds, ",.0f"), cell(odds, ".2f")]
    row += [cell(found.group[i], ",.0f"), cell(table["ess_bulk"][i], ",.0f")]
    row.append(cell(table["r_hat"][i], ".3f"))
    if found.prior_only.any():
        row.append(Badge("prior only", "mixed") if found.prior_only[i] else "data")
    return row


def _explain(page: Page, found: Findings, outer: str) -> None:
    """Say what the columns are."""
    words: dict[str, Cell] = {
        f"Mean, {outer} interval": f"of the category’s probability; {outer} of the draws lie "
        "within the interval, which is sorted by its lower end",
        "P(best), rank": "probability to be the largest, and place in the order, 1 being the "
        "largest: mean and interval",
        "Elo, log odds": "against the average of all categories: log p minus the mean of all log "
        "p; the average is 1500 points of Elo, and 400 more are odds of 10 to 1",
        "Group": "no category of a group can be told from the group’s first with probability "
        f"{percent(TOLD_APART)}",
        "ESS, R-hat": "how far the draws of this category can be trusted, see below",
    }
    if found.log_odds is None:
        words["Elo, log odds"] = (
            "missing, because some probabilities are too small to be stored: draw again with "
            "log_probabilities=True"
        )
    if np.isnan(found.table["r_hat"]).any():
        words["–"] = "nothing to compute: too few draws or chains, or no variation"
    page.facts(words)
