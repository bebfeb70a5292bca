"""The answer of a report: who is best, how sure that is, and tables of all that was drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray, Label
from luce.answers.effects import parameter_sentences, sentences
from luce.answers.scales import odds_in_words
from luce.answers.view import tail_of
from luce.counts.labels import plural
from luce.decide.first_place import best_in_words, leader_of
from luce.decide.thin_evidence import MEANING, NO_DATA, record_in_words
from luce.page.document import Badge, Cell, Folded, Inline, Name, Number, Page
from luce.page.words import percent, probability, shortened
from luce.reports.findings import TOLD_APART, ChoiceFindings, Findings, in_words
from luce.reports.formatting import decimals_for, names_of, number_cell, short_names

_NAME = 48  # characters of a name in a table, which opens it
MOST_ROWS = 5000  # of a table; a browser takes about a second to lay them out

_ELO = 400 / np.log(10)  # points of Elo for one unit of log odds
_AVERAGE = 1500.0  # points of Elo of an average category


@dataclass(frozen=True)
class Column:
    """One column of a table: its head, the cell of row i, and whether it holds numbers.

    Narrow screens show the main columns first.
    """

    head: str
    cell: Callable[[int], Cell]
    is_numeric: bool = True
    is_main: bool = False


def lead(found: ChoiceFindings) -> list[Inline]:
    """Say which category is best, and how many can be told apart."""
    one, several = found.nouns
    if found.n == 1:
        only = f"Only one {one} was asked for" if found.are_some else f"There is only one {one}"
        return [f"{only}, ", Name(shortened(found.names[0])), ". "]
    best = found.table["p_best"]
    first = leader_of(best)
    place = f"the best of these {found.n:,}" if found.are_some else "the best"
    words = [
        *best_in_words(found.names, best, one, place),
        *found.evidence.caution(first, found.names[first]),
        _told_apart(found),
    ]
    if found.prior_only.any():
        known = f"{one} is known only from the prior", f"{several} are known only from the prior"
        words += [f"{plural(int(found.prior_only.sum()), *known)}. "]
    return words


def write_table(page: Page, found: ChoiceFindings, most: int = MOST_ROWS) -> None:
    """Add the table of all categories, at most `most` of them, and the meaning of its columns."""
    n = min(found.n, most)
    columns = [
        *moment_columns(found, found.nouns[0].capitalize()),
        *rank_columns(found),
        *_odds_columns(found),
        *_record_columns(found),
        Column("Group", lambda i: number_cell(found.group[i], ",.0f")),
        *_not_told_columns(found),
        *diagnostic_columns(found),
        *_evidence_columns(found),
    ]
    write_columns(page, columns, n, f"{_rows_in_words(found)}{left_out(found.n - n)}")
    _explain(page, found)


def left_out(number: int) -> str:
    """Say how many rows of a table are left out, or nothing."""
    if number == 0:
        return ""
    return f" The last {number:,} are left out." if number > 1 else " The last one is left out."


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _rows_in_words(found: ChoiceFindings) -> str:
    """Say which categories a table has, and in which order."""
    asked_for = f"The {plural(found.n, *found.nouns)} asked for"
    whose = asked_for if found.are_some else f"All {found.nouns[1]}"
    return f"{whose}, by expected rank."


def write_effects(page: Page, found: ChoiceFindings) -> None:
    """Add the table of effects, categories that are no competitors, with their meaning in words."""
    x = found.table.effects
    if x is None:
        return
    low, high = found.ends_of(x)
    decimals, said = decimals_for(found.table["mean"]), sentences(found.whole, found.ci_prob)
    rows: list[list[Cell]] = [
        [
            Folded(name),
            Number(probability(x["mean"][i], decimals), float(x["mean"][i])),
            Number(f"{probability(low[i], decimals)} to {probability(high[i], decimals)}", low[i]),
            f"{_capitalised(said[x.categories[i]])}.",
            number_cell(x["ess_bulk"][i], ",.0f"),
            number_cell(x["r_hat"][i], ".3f"),
        ]
        for i, name in enumerate(names_of(x.categories))
    ]
    page.table(
        ["Effect", "Mean", f"{percent(found.ci_prob)} interval", "In words", "ESS", "R-hat"],
        rows,
        caption="Effects, which are no competitors: ranks, Elo and groups are without them.",
        numeric=(1, 2, 4, 5),
    )


def write_parameters(page: Page, found: Findings) -> None:
    """Add the table of parameters that were drawn besides the compared probabilities, if any."""
    x = found.parameters
    if x is None:
        return
    low, high = found.ends_of(x)
    said = parameter_sentences(found.whole, found.ci_prob)

    def meaning(name: Label) -> list[Cell]:
        words = said.get(str(name), "")
        return [f"{_capitalised(words)}." if words else ""] if said else []

    rows: list[list[Cell]] = [
        [
            Folded(in_words(name)),
            number_cell(x["mean"][i], ".3g"),
            Number(f"{low[i]:.3g} to {high[i]:.3g}", float(low[i])),
            *meaning(name),
            number_cell(x["ess_bulk"][i], ",.0f"),
            number_cell(x["r_hat"][i], ".3f"),
        ]
        for i, name in enumerate(x.categories[:MOST_ROWS])
    ]
    left = len(x.categories) - len(rows)
    more = f" {plural(left, 'more is', 'more are')} left out." if left else ""
    page.table(
        [
            *("Parameter", "Mean", f"{percent(found.ci_prob)} interval"),
            *(["In words"] if said else []),
            *("ESS", "R-hat"),
        ],
        rows,
        caption=f"Parameters of the model that were drawn, too.{more}",
        numeric=(1, 2, 4, 5) if said else range(1, 5),
    )


def write_columns(page: Page, columns: list[Column], rows: int, caption: str) -> None:
    """Add a table that readers can sort and search, from a declaration of its columns."""
    page.table(
        [column.head for column in columns],
        [[column.cell(i) for column in columns] for i in range(rows)],
        caption=caption,
        numeric={j for j, column in enumerate(columns) if column.is_numeric},
        sortable=True,
        further={j for j, column in enumerate(columns) if not column.is_main},
    )


def moment_columns(found: Findings, subject: str) -> list[Column]:
    """Declare the columns of name, mean and interval."""
    labels, decimals = found.table.categories, decimals_for(found.table["mean"])
    numbers = all(type(label) in (int, float) for label in labels)
    mean, (low, high) = found.table["mean"], found.ends
    short = short_names(found.names, _NAME)

    def name(i: int) -> Cell:
        label = labels[i]
        if type(label) is int or type(label) is float:
            return Number(found.names[i], float(label))
        return Folded(found.names[i], short=short[i])

    def interval(i: int) -> Cell:
        words = f"{probability(low[i], decimals)} to {probability(high[i], decimals)}"
        return Number(words, float(low[i]), float(high[i]))

    return [
        Column(subject, name, numbers, is_main=True),
        Column(
            "Mean",
            lambda i: Number(probability(mean[i], decimals), float(mean[i])),
            is_main=True,
        ),
        Column(f"{percent(found.ci_prob)} interval", interval, is_main=True),
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
            lambda i: Number(f"{best[i]:,} to {worst[i]:,}", float(best[i]), float(worst[i])),
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


def _record_columns(found: ChoiceFindings) -> list[Column]:
    """Declare the columns of what was played and won, where the data tells."""
    record = found.evidence.record
    if isinstance(record, str):
        return []

    def counted(head: str, values: FloatArray) -> Column:
        return Column(head, lambda i: number_cell(float(values[i]), ",.10g"))

    heads = ("Games", "Wins", "Win rate") if record.are_games else ("Offered", "Chosen", "Share")
    columns = [counted(heads[0], record.played), counted(heads[1], record.wins)]
    if record.tied is not None:
        columns.append(counted("Ties", record.tied))
    return [*columns, Column(heads[2], lambda i: number_cell(float(record.rate[i]), ".3f"))]


def _evidence_columns(found: ChoiceFindings) -> list[Column]:
    """Declare the column of marks, where the evidence of some row is thin."""
    marks = found.evidence.marks

    def known(i: int) -> Cell:
        word = "prior only" if marks[i] == NO_DATA else marks[i]
        return Badge(word, "mixed") if word else "data"

    return [Column("Known from", known, False)] if any(marks) else []


def _not_told_columns(found: Findings) -> list[Column]:
    number = found.not_told_from
    if number is None:
        return []
    return [Column("Not told from", lambda i: number_cell(number[i], ",.0f"))]


def _told_apart(found: ChoiceFindings) -> str:
    """Say which groups, and how many pairs, can be told apart."""
    if found.n == 2:
        can = "can" if len(found.tie_groups) == 2 else "cannot"
        return f"The two {can} be told apart at {percent(TOLD_APART)}. "
    if len(found.tie_groups) == 1:
        return _pairs_told_apart(found)
    level, joint = percent(TOLD_APART), probability(found.groups_in_order)
    groups, several = len(found.tie_groups), found.nouns[1]
    if groups == found.n:
        return (
            f"All {found.n:,} {several} can be told apart: of any two, one is better with at least "
            f"{level}, and all of them are in one order at once with probability {joint}. "
        )
    return (
        f"The {found.n:,} {several} fall into {groups:,} groups that can be told apart: each of an "
        f"earlier group is better than each of a later one with at least {level}, pair by pair, "
        f"and all of these pairs at once with probability {joint}. {_pairs_told_apart(found)}"
    )


def _pairs_told_apart(found: ChoiceFindings) -> str:
    """Say how many pairs can be told apart, and whether a cut through the order does so."""
    level, one_group = percent(TOLD_APART), len(found.tie_groups) == 1
    cut = "cut through their order separates all above it from all below"
    pairs = found.n * (found.n - 1) // 2
    if found.not_told_from is None:
        return f"No {cut} at {level}. " if one_group else ""
    told = pairs - int(found.not_told_from.sum()) // 2
    if told == 0:
        return f"None of the {pairs:,} pairs can be told apart at {level}. "
    but = f", but no {cut}" if one_group else ""
    return f"Of all {pairs:,} pairs {told:,} can be told apart at {level}{but}. "


def _record_in_words(found: ChoiceFindings) -> dict[str, Cell]:
    """Explain the columns of games or choices, and of evidence; say why a column is not there."""
    counts, evidence = found.posterior.counts, found.evidence
    words: dict[str, Cell] = {}
    if isinstance(evidence.record, str):
        words["Games, wins"] = f"missing: {evidence.record}"
    else:
        games = "Games, wins" if evidence.record.are_games else "Offered, chosen"
        words[games] = " ".join(record_in_words(evidence.record, counts))
    marks = [mark for mark in dict.fromkeys(evidence.marks) if mark]
    if marks:
        words["Known from"] = "; ".join(
            "“prior only” marks those that no data speaks of" if mark == NO_DATA else MEANING[mark]
            for mark in marks
        )
    return words


def _explain(page: Page, found: ChoiceFindings) -> None:
    """Explain the columns."""
    outer, tail, (one, several) = percent(found.ci_prob), tail_of(found.ci_prob), found.nouns
    odds = odds_in_words(found.whole)
    words: dict[str, Cell] = {
        f"Mean, {outer} interval": f"of the {one}’s probability; the interval reaches from the "
        f"{percent(tail)} to the {percent(1 - tail)} quantile of the draws, and is sorted by its "
        "lower end",
        "P(best), rank": "probability to be the largest, and place in the order, 1 being the "
        f"largest: mean and interval, with at most {percent(tail)} of the draws beyond each end",
        "Elo, log odds": f"against the average of these {several}: log p minus the mean of all "
        f"their log p; the average is 1500 points of Elo, and 400 more are {odds} of 10 to 1",
        "Group": "any two of different groups can be told apart: that of the earlier group is the "
        f"larger with probability {percent(TOLD_APART)} or more, pair by pair. Two of one group "
        "may be told apart or not",
        "Not told from": f"number of other {several} of which neither is the larger with "
        f"probability {percent(TOLD_APART)} or more",
        "ESS, R-hat": "how far the draws of this category can be trusted, see below",
    }
    words |= _record_in_words(found)
    if found.not_told_from is None:
        del words["Not told from"]
    if found.log_odds is None:
        words["Elo, log odds"] = (
            "missing, because some probabilities are too small to be stored: draw again with "
            "log_probabilities=True"
        )
    if np.isnan(found.table["r_hat"]).any():
        words["–"] = "nothing to compute: too few draws or chains, or no variation"
    page.facts(words)
