"""Answer, data and model of a report on transitions, as `HDPTransitions.fit` draws them."""

from __future__ import annotations

import numpy as np

from luce.counts.labels import plural
from luce.decide.first_place import best_in_words
from luce.model.priors import Gamma
from luce.page.document import Cell, Code, Folded, Inline, Name, Number, Page, Strong
from luce.page.words import percent, probability, shortened
from luce.reports.answer import (
    MOST_ROWS,
    diagnostic_columns,
    left_out,
    moment_columns,
    rank_columns,
    write_columns,
)
from luce.reports.findings import MatrixFindings, TransitionFindings
from luce.reports.formatting import number_cell, some_names
from luce.sequences.hdp_runs import REMAINDER

_NAMED = 6  # states that a list names


def title_of(found: TransitionFindings) -> str:
    """Count states and transitions."""
    states = plural(len(found.data.labels), "state")
    return f"{states}, {plural(float(found.data.counts.sum()), 'transition')}"


def lead(found: TransitionFindings) -> list[Inline]:
    """Say which state is the most popular destination, and how sure that is."""
    if found.n == 1:
        return [Name(shortened(found.names[0])), " is the only destination. "]
    return best_in_words(
        found.names, found.table["p_best"], "state", "the most popular destination"
    )


def write_table(page: Page, found: TransitionFindings, most: int = MOST_ROWS) -> None:
    """Add the table of the base, and the meaning of its columns."""
    columns = [
        *moment_columns(found, "State"),
        *rank_columns(found),
        *diagnostic_columns(found),
    ]
    more = left_out(max(found.n - most, 0))
    caption = f"The base: how popular each state is as a destination.{more}"
    write_columns(page, columns, min(found.n, most), caption)
    outer = percent(found.ci_prob)
    words: dict[str, Cell] = {
        f"Mean, {outer} interval": "of the state’s base probability; the rows of all states "
        "scatter around the base",
        "P(best), rank": "probability to be the most popular destination, and place in the order, "
        "1 being the most popular: mean and interval",
        "ESS, R-hat": "how far the draws of this state can be trusted, see below",
    }
    if found.model.is_nonparametric:
        words[REMAINDER] = "all states that have not occurred yet, together"
    page.facts(words)


def write_rows(page: Page, found: MatrixFindings, most: int = MOST_ROWS) -> None:
    """Add the table of the transitions that can occur, the most probable first."""
    if found.rows is None:
        page.text(
            "Transition probabilities were not kept with this run: fit again with rows=True for "
            "a table of them."
        )
        return
    mean, low, high = (found.row_intervals[name].values for name in ("mean", "lower", "upper"))
    possible = np.argwhere(~found.forbidden)
    order = possible[np.argsort(-mean[tuple(possible.T)], kind="stable")]
    sources, states, seen = found.source_names, found.state_names, found.seen

    def row(i: int, j: int) -> list[Cell]:
        interval = f"{probability(low[i, j])} to {probability(high[i, j])}"
        return [
            Folded(sources[i]),
            Folded(states[j]),
            Number(probability(mean[i, j]), float(mean[i, j])),
            Number(interval, float(low[i, j]), float(high[i, j])),
            number_cell(seen[i, j], ",.10g"),
        ]

    left = max(len(order) - most, 0)
    more = f" The {left:,} least probable are left out." if left else ""
    page.table(
        ["From", "To", "Mean", f"{percent(found.ci_prob)} interval", "Seen"],
        [row(i, j) for i, j in order[:most].tolist()],
        caption="Probability of each transition that can occur, the most probable first."
        f"{_impossible(found)}{more}",
        numeric=(2, 3, 4),
        sortable=True,
        further=(4,),
    )


def write_data(page: Page, found: MatrixFindings) -> None:
    """Add the size of the data, and the states that were never left or entered."""
    counts, forbidden, n = found.seen, found.forbidden, found.named_states
    names = found.state_names[:n]
    facts: dict[str, Cell] = {
        "States": f"{n:,}",
        "Transitions": f"{found.n_transitions:,.10g}",
        "Different transitions seen": f"{np.count_nonzero(counts):,} of "
        f"{np.count_nonzero(~forbidden[:, :n]):,} that can occur",
        "Transitions that cannot occur": f"{np.count_nonzero(forbidden):,}{_loops(found)}",
        "Never left": _named(found.source_names, counts.sum(axis=1) == 0),
        "Never entered": _named(names, counts[:, :n].sum(axis=0) == 0),
    }
    starts = found.starts
    if starts is not None and starts.any():
        facts["First states of sequences"] = f"{starts.sum():,.10g}, drawn from the base"
    page.facts(facts)


def write_model(page: Page, found: TransitionFindings) -> None:
    """Add the hierarchical Dirichlet process, its concentrations, and the method."""
    page.text(
        "The probabilities to move on from a state are its row. Rows scatter around one base, "
        "which says how popular each state is as a destination, so that states with few "
        "transitions borrow from the others: a hierarchical Dirichlet process,"
    )
    open_ended = found.model.is_nonparametric
    base = "β ~ GEM(γ)" if open_ended else "β ~ Dir(γ/L, …, γ/L)"
    page.preformatted(f"{base},     π_i ~ Dir(α β),     next state | i  ~  π_i given not in F_i")
    page.text(
        "with β the base, α the concentration, γ the base concentration, π_i the row of state i, "
        "and F_i the states that cannot follow i."
        + (" The number of states is open: the remainder holds those not seen." * open_ended)
    )
    page.text(Strong("Prior. "), _priors(found))
    method = Code(str(found.run.attrs.get("method", "not recorded")))
    page.text(
        Strong("Method. "),
        method,
        ": a Gibbs sampler, which draws hidden counts, base, concentrations and rows in turn.",
    )


def _priors(found: TransitionFindings) -> str:
    """Say which concentrations are fixed and which are drawn."""
    model = found.model
    words = []
    for letter, prior in (("α", model.concentration), ("γ", model.base_concentration)):
        if isinstance(prior, Gamma):
            words.append(
                f"{letter} is not known and was drawn too; its prior is a gamma distribution of "
                f"shape {prior.shape:g} and rate {prior.rate:g}."
            )
        else:
            words.append(f"{letter} is fixed at {prior:g}.")
    return " ".join(words)


def _impossible(found: MatrixFindings) -> str:
    """Say how many transitions have probability 0 by the model."""
    number = int(np.count_nonzero(found.forbidden))
    return f" {plural(number, 'transition')} cannot occur and have probability 0." * bool(number)


def _loops(found: MatrixFindings) -> str:
    """Say whether these include self-loops."""
    return ", self-loops among them" if found.forbidden.diagonal().any() else ""


def _named(names: list[str], which: np.ndarray) -> Cell:
    chosen = [name for name, yes in zip(names, which, strict=True) if yes]
    return Folded(f"{len(chosen):,}: {some_names(chosen, _NAMED)}", 160) if chosen else "none"
