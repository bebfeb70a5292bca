"""The answer of a report: who is best, how sure that is, and tables of all that was drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Badge, Cell, Folded, Inline, Name, Number, Page, Strong
from luce.page.words import shortened
from luce.reports.findings import TOLD_APART, ChoiceFindings, Findings, in_words
from luce.reports.formatting import decimals_for, number_cell, percent, probability

MOST_ROWS = 5000  # of a table; a browser takes about a second to lay them out

_SURE = 0.95  # probability from which on the first is called the best
_ELO = 400 / np.log(10)  # points of Elo for one unit of log odds
_AVERAGE = 1500.0  # points of Elo of an average category


@dataclass(frozen=True)
class Column:
    """One column of a table: its head, the cell of row i, and whether it holds numbers."""

    head: str
    cell: Callable[[int], Cell]
    is_numeric: bool = True


def lead(found: ChoiceFindings) -> list[Inline]:
    """Say which category is best, and how many can be told apart."""
    if found.n == 1:
        return ["There is only one category, ", Name(shortened(found.names[0])), ". "]
    words = [*_best(found), _told_apart(found)]
    if found.prior_only.any():
        one = ("category is known only from the prior", "categories are known only from the prior")
        words += [f"{plural(int(found.prior_only.sum()), *one)}. "]
    return words


def write_table(page: Page, found: ChoiceFindings, most: int = MOST_ROWS) -> None:
    """Add the table of all categories, at most `most` of them, and the meaning of its columns."""
    n = min(found.n, most)
    left_out = f" The {found.n - n:,} smallest are left out." if n < found.n else ""
    columns = [
        *moment_columns(found, "Category"),
        *rank_columns(found),
        *_odds_columns(found),
        Column("Group", lambda i: number_cell(found.group[i], ",.0f")),
        *diagnostic_columns(found),
        *_source_columns(found),
    ]
    write_columns(page, columns, n, f"All categories, the largest mean first.{left_out}")
    _explain(page, found)


def write_parameters(page: Page, found: Findings) -> None:
    """Add the table of parameters that were drawn besides the compared probabilities, if any."""
    x = found.parameters
    if x is None:
        return
    low, high = found.ends_of(x)
    rows: list[list[Cell]] = [
        [
            Folded(in_words(name)),
            number_cell(x["mean"][i], ".3g"),
            Number(f"{low[i]:.3g} to {high[i]:.3g}", float(low[i])),
            number_cell(x["ess_bulk"][i], ",.0f"),
            number_cell(x["r_hat"][i], ".3f"),
        ]
        for i, name in enumerate(x.categories[:MOST_ROWS])
    ]
    left = len(x.categories) - len(rows)
    more = f" {left:,} more are left out." if left else ""
    page.table(
        ["Parameter", "Mean", f"{percent(found.ci_prob)} interval", "ESS", "R-hat"],
        rows,
        caption=f"Parameters of the model that were drawn, too.{more}",
        numeric=range(1, 5),
    )


def write_columns(page: Page, columns: list[Column], rows: int, caption: str) -> None:
    """Add a table that readers can sort and search, from a declaration of its columns."""
    page.table(
        [column.head for column in columns],
        [[column.cell(i) for column in columns] for i in range(rows)],
        caption=caption,
        numeric={j for j, column in enumerate(columns) if column.is_numeric},
        sortable=True,
    )


def moment_columns(found: Findings, subject: str) -> list[Column]:
    """Declare the columns of name, mean and interval."""
    labels, decimals = found.table.categories, decimals_for(found.table["mean"])
    numbers = all(type(label) in (int, float) for label in labels)
    mean, (low, high) = found.table["mean"], found.ends

    def name(i: int) -> Cell:
        label = labels[i]
        if type(label) is int or type(label) is float:
            return Number(found.names[i], float(label))
        return Folded(found.names[i])

    def interval(i: int) -> Cell:
        words = f"{probability(low[i], decimals)} to {probability(high[i], decimals)}"
        return Number(words, float(low[i]))

    return [
        Column(subject, name, numbers),
        Column("Mean", lambda i: Number(probability(mean[i], decimals), float(mean[i]))),
        Column(f"{percent(found.ci_prob)} interval", interval),
    ]


def rank_columns(found: Findings) -> list[Column]:
    """Declare the columns of the probability to be the largest, and of ranks."""
    table, (best, worst) = found.table, found.rank_ends
    return [
        Column(
            "P(best)", lambda i: Number(probability(table["p_best"][i]), float(table["p_best"][i]))
        ),
        Column("Rank", lambda i: number_cell(table["rank"][i], ",.1f")),
        Column(
            f"Rank, {percent(found.ci_prob)}",
            lambda i: Number(f"{best[i]:,} to {worst[i]:,}", float(best[i])),
        ),
    ]


def diagnostic_columns(found: Findings) -> list[Column]:
    """Declare the columns of effective sample size and R-hat."""
    return [
        Column("ESS", lambda i: number_cell(found.table["ess_bulk"][i], ",.0f")),
        Column("R-hat", lambda i: number_cell(found.table["r_hat"][i], ".3f")),
    ]


def _odds_columns(found: ChoiceFindings) -> list[Column]:
    odds = found.log_odds
    if odds is None:
        return []
    return [
        Column("Elo", lambda i: number_cell(_AVERAGE + _ELO * float(odds[i]), ",.0f")),
        Column("Log odds", lambda i: number_cell(float(odds[i]), ".2f")),
    ]


def _source_columns(found: ChoiceFindings) -> list[Column]:
    def source(i: int) -> Cell:
        return Badge("prior only", "mixed") if found.prior_only[i] else "data"

    return [Column("Known from", source, False)] if found.prior_only.any() else []


def _best(found: Findings) -> list[Inline]:
    """Say who is best, with which probability, and who comes next."""
    best = found.table["p_best"]
    first, second = (int(i) for i in np.argsort(-best, kind="stable")[:2])
    sure = float(best[first])
    name = Name(shortened(found.names[first]))
    words: list[Inline] = [name, " is the best with probability "]
    if sure <= 0.5:
        words = ["No category is likely to be the best: ", name, " is it with probability "]
    elif sure < _SURE:
        words = [name, " is probably the best, with probability "]
    words += [Strong(probability(sure)), "; next comes ", Name(shortened(found.names[second]))]
    return [*words, f" with {probability(float(best[second]))}. "]


def _told_apart(found: Findings) -> str:
    """Say how many groups can be told apart."""
    groups, level = len(found.tie_groups), percent(TOLD_APART)
    if groups == 1:
        return f"The draws tell none of the {found.n:,} from the first, at {level}. "
    if groups == found.n:
        return f"All {found.n:,} can be told apart, each from the next, at {level}. "
    return (
        f"The {found.n:,} categories fall into {groups:,} groups that can be told apart "
        f"at {level}. "
    )


def _explain(page: Page, found: ChoiceFindings) -> None:
    """Explain the columns."""
    outer = percent(found.ci_prob)
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
