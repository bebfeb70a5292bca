"""The part of a report on rankings with ties: what a tie means, and its probability."""

from __future__ import annotations

from luce.counts.placings import Placings
from luce.counts.tied_choices import TiedChoices
from luce.page.document import Page
from luce.reports.findings import ChoiceFindings


def placings_of(found: ChoiceFindings) -> Placings | None:
    """Return the steps of rankings with ties of a run's data, where it has some."""
    events = found.posterior.counts.events
    return events if isinstance(events, Placings) else None


def write_likelihood_of_placings(page: Page, placings: Placings) -> None:
    """Add the probability of a step of a ranking in which some tied."""
    if not isinstance(placings, TiedChoices):
        page.text(
            "Tied members of a ranking came in one of their orders, which was not recorded: their "
            "probability is the sum over all these orders. In an order, each place goes to "
            "category i with probability p_i / p(S), S being those not yet placed."
        )
        return
    page.text(
        "Rankings are sequences of choices from those not yet placed. A place can be shared: from "
        "a set S the d members of T are placed together with probability, by the model of Davidson "
        "and Luce,"
    )
    page.preformatted(
        "δ_d g(T) / Σ_U δ_|U| g(U)   with   g(U) = (the product of p_i, i in U)^(1 / |U|)"
    )
    page.text(
        f"where the sum is over all U in S of at most {placings.largest:,} members, δ_1 = 1, and "
        "δ_d is called “tie” with its number d."
    )
