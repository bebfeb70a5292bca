"""Whether the draws of a run can be trusted: the checks, their bounds, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from luce.answers.diagnostics import verdict
from luce.counts.labels import plural
from luce.page.document import Badge, Name, Page, Words
from luce.page.words import percent, shortened
from luce.reports.findings import Findings, SeparateRowsFindings
from luce.sampling.convergence import (
    ENOUGH_ESS,
    GOOD_MCSE,
    GOOD_RHAT,
    HEADLINES,
    LARGEST_MCSE,
    LARGEST_RHAT,
    LEAST_ACCEPTANCE,
    Kind,
    Verdict,
    Worst,
)

Judged: TypeAlias = Findings | SeparateRowsFindings

_WORDS = {"good": "yes", "mixed": "nearly", "bad": "no", "neutral": "for information"}


@dataclass(frozen=True)
class Check:
    """One check: its name, the worst value found, the bound, and the kind of its badge."""

    what: str
    found: Words
    wanted: str
    kind: str


@dataclass(frozen=True)
class Trust:
    """The verdict, "good", "mixed" or "bad", and the checks it follows from."""

    kind: Kind
    checks: Sequence[Check]

    @property
    def headline(self) -> str:
        """The verdict in words."""
        return HEADLINES[self.kind]


def judge(found: Judged) -> Trust:
    """List the checks that the verdict on the run follows from."""
    told = verdict(found.run)
    checks = [_kind_of_draws(found, told)]
    if found.n == 1 and found.parameters is None:
        checks.append(Check("Variation", "no category varies", "any", "neutral"))
    elif not found.independent:
        checks += _checks_of_chains(found, told)
    if found.run.attrs.get("interrupted"):
        words = f"Ctrl-C ended the run after {plural(found.draws, 'draw')} of each chain"
        checks.append(Check("Interrupted", words, "what was drawn by then stays valid", "neutral"))
    return Trust(told.kind, checks)


def _checks_of_chains(found: Judged, told: Verdict) -> list[Check]:
    checks = []
    if told.still:
        names = [Name(shortened(name)) for name in told.still[:6]]
        words: list[str | Name] = [x for name in names for x in (name, ", ")][:-1]
        more = len(told.still) - len(names)
        checks.append(
            Check(
                "Movement",
                [*words, f" and {more:,} more" if more else "", " never moved"],
                "every chain moves in all of them: their draws say nothing",
                "bad",
            )
        )
    checks += [_rhat(found, told), _ess(found, told), _mcse(found, told)]
    return checks if told.acceptance is None else [*checks, _acceptance(told.acceptance)]


def write_trust(page: Page, found: Judged, trust: Trust) -> None:
    """Add the verdict, its reason, and the checks."""
    page.text(Badge(trust.headline, trust.kind), " ", _why(found, trust))
    if "certified" in found.run.attrs:
        page.text(str(found.run.attrs["certified"]))
    table_of_checks(page, trust)


def table_of_checks(page: Page, trust: Trust) -> None:
    """Add the checks that a verdict follows from."""
    page.table(
        ["What", "Worst found", "Wanted", "Reached"],
        [[c.what, c.found, c.wanted, Badge(_WORDS[c.kind], c.kind)] for c in trust.checks],
        caption="Checks of the draws",
    )


def _why(found: Judged, trust: Trust) -> str:
    if found.independent:
        words = (
            "Every draw is an exact and independent draw of the posterior: there is no chain that "
            "could fail to converge, and no warm-up. What is left is the error of a finite sample"
        )
        if trust.kind == "good":
            return f"{words}, and there are enough draws to make it small."
        return f"{words}, which is large here: take more draws."
    words = (
        "The draws come from Markov chains, started apart from each other at draws of the prior "
        "unless other starting points were given. They can be trusted when the chains have met "
        "(R-hat) and moved (effective sample size)"
    )
    if trust.kind == "good":
        return f"{words}, and they have."
    if trust.kind == "mixed":
        return f"{words}. They nearly have; more draws would make sure."
    return (
        f"{words}. They have not: take more draws, or another method. Until then the numbers on "
        "this page may be wrong."
    )


def _kind_of_draws(found: Judged, told: Verdict) -> Check:
    size = f"{plural(found.chains, 'chain')} of {plural(found.draws, 'draw')}"
    if not found.independent:
        alone = "one chain has no other to agree with" if found.chains == 1 else "any"
        kind = "mixed" if found.chains == 1 else "neutral"
        return Check("Draws", f"{size}, Markov chains", alone, kind)
    wanted = f"at least {ENOUGH_ESS:.0f}"
    return Check("Draws", f"{size}, exact and independent", wanted, told.kind)


def _rhat(found: Judged, told: Verdict) -> Check:
    worst = told.largest_rhat
    wanted = f"at most {GOOD_RHAT}; above {LARGEST_RHAT} chains have not met"
    kind = grade(worst.value, GOOD_RHAT, LARGEST_RHAT)
    check = Check("R-hat", _told(f"{worst.value:.3f}", worst.entry), wanted, kind)
    return _or_missing(check, worst, found)


def _ess(found: Judged, told: Verdict) -> Check:
    worst = told.smallest_ess
    thinned = f", of every {told.every}th draw" if told.every > 1 else ""
    wanted = f"at least {ENOUGH_ESS:.0f}{thinned}"
    kind = "good" if worst.value >= ENOUGH_ESS else "bad"
    words = _told(f"{worst.value:,.0f}", worst.entry)
    return _or_missing(Check("Effective sample size", words, wanted, kind), worst, found)


def _mcse(found: Judged, told: Verdict) -> Check:
    worst = told.largest_mcse
    wanted = f"at most {percent(GOOD_MCSE)} of the standard deviation"
    kind = grade(worst.value, GOOD_MCSE, LARGEST_MCSE)
    words = _told(f"{100 * worst.value:.2g} %", worst.entry)
    return _or_missing(Check("Monte Carlo error of the mean", words, wanted, kind), worst, found)


def _acceptance(least: float) -> Check:
    kind = "good" if least >= LEAST_ACCEPTANCE else "bad"
    wanted = f"at least {percent(LEAST_ACCEPTANCE)}"
    return Check("Accepted proposals of a chain", f"{100 * least:.2g} %", wanted, kind)


def grade(value: float, good: float, largest: float) -> Kind:
    """Compare a figure with the bounds up to which it is good, and above which it is bad."""
    return "good" if value <= good else "mixed" if value <= largest else "bad"


def _or_missing(check: Check, worst: Worst, found: Judged) -> Check:
    """Say where a figure has no value that draws are too few, or that nothing varies."""
    if not np.isnan(worst.value):
        return check
    if found.draws < 4:
        words = f"cannot be computed from {plural(found.draws, 'draw')} a chain"
        return replace(check, found=words, kind="bad")
    return replace(check, found="nothing to compute it from", kind="neutral")


def _told(number: str, whose: str) -> Words:
    return [f"{number} (", Name(shortened(whose)), ")"]
