"""Whether the draws of a run can be trusted: the checks, their bounds, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Badge, Name, Page, Words
from luce.page.words import shortened
from luce.reports.findings import Findings
from luce.reports.formatting import percent
from luce.sampling.convergence import ENOUGH_ESS, LARGEST_RHAT, LEAST_ACCEPTANCE

# R-hat that Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) ask for.
GOOD_RHAT = 1.01
# As a share of the standard deviation: 400 effective draws give a twentieth.
GOOD_MCSE, LARGEST_MCSE = 0.05, 0.1

_WORSE = ("good", "mixed", "bad")
_WORDS = {"good": "yes", "mixed": "nearly", "bad": "no", "neutral": "for information"}
_HEADLINES = {
    "good": "The draws can be trusted",
    "mixed": "Trust the draws with care",
    "bad": "Do not trust these draws yet",
}


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

    kind: str
    checks: Sequence[Check]

    @property
    def headline(self) -> str:
        """The verdict in words."""
        return _HEADLINES[self.kind]


def judge(found: Findings) -> Trust:
    """Check R-hat, effective sample size, Monte Carlo error and acceptance."""
    checks = [_kind_of_draws(found)]
    if not len(found.judged):
        checks.append(Check("Variation", "no category varies", "any", "neutral"))
    else:
        checks += [_rhat(found), _ess(found), _mcse(found)]
    if "accepted" in found.run.children.get("sample_stats", {}):
        checks.append(_acceptance(found))
    if found.run.attrs.get("interrupted"):
        words = f"Ctrl-C ended the run after {plural(found.draws, 'draw')} of each chain"
        checks.append(Check("Interrupted", words, "what was drawn by then stays valid", "neutral"))
    kinds = [check.kind for check in checks if check.kind in _WORSE]
    return Trust(max(kinds, key=_WORSE.index, default="good"), checks)


def write_trust(page: Page, found: Findings, trust: Trust) -> None:
    """Add the verdict, its reason, and the checks."""
    page.text(Badge(trust.headline, trust.kind), " ", _why(found, trust))
    page.table(
        ["What", "Worst found", "Wanted", "Reached"],
        [[c.what, c.found, c.wanted, Badge(_WORDS[c.kind], c.kind)] for c in trust.checks],
        caption="Checks of the draws",
    )


def _why(found: Findings, trust: Trust) -> str:
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


def _kind_of_draws(found: Findings) -> Check:
    size = f"{plural(found.chains, 'chain')} of {plural(found.draws, 'draw')}"
    if not found.independent:
        return Check("Draws", f"{size}, Markov chains", "any", "neutral")
    kind = "good" if found.chains * found.draws >= ENOUGH_ESS else "mixed"
    return Check("Draws", f"{size}, exact and independent", f"at least {ENOUGH_ESS:.0f}", kind)


def _rhat(found: Findings) -> Check:
    wanted = f"at most {GOOD_RHAT}; above {LARGEST_RHAT} chains have not met"
    largest, whose = found.judged.worst(found.judged.r_hat, largest=True)
    if found.independent:
        words = _told(f"{largest:.3f}", whose) if whose else "not computed"
        return Check("R-hat", words, "nothing: the draws are independent", "neutral")
    if np.isnan(largest):
        size = f"{plural(found.chains, 'chain')} of {plural(found.draws, 'draw')}"
        words = f"cannot be computed from {size}"
        return Check("R-hat", words, wanted, "mixed" if found.draws >= 4 else "bad")
    kind = "good" if largest <= GOOD_RHAT else "mixed" if largest <= LARGEST_RHAT else "bad"
    return Check("R-hat", _told(f"{largest:.3f}", whose), wanted, kind)


def _ess(found: Findings) -> Check:
    wanted = f"at least {ENOUGH_ESS:.0f}"
    smallest, whose = found.judged.worst(found.judged.ess, largest=False)
    poor = "mixed" if found.independent else "bad"
    if np.isnan(smallest):
        words = f"cannot be computed from {plural(found.draws, 'draw')} a chain"
        return Check("Effective sample size", words, wanted, poor)
    kind = "good" if smallest >= ENOUGH_ESS else poor
    if found.independent and found.chains * found.draws >= ENOUGH_ESS:
        kind = "good"  # an estimate a little below is chance
    return Check("Effective sample size", _told(f"{smallest:,.0f}", whose), wanted, kind)


def _mcse(found: Findings) -> Check:
    what = "Monte Carlo error of the mean"
    wanted = f"at most {percent(GOOD_MCSE)} of the standard deviation"
    x = found.judged
    share, whose = x.worst(x.relative_mcse, largest=True)
    poor = "mixed" if found.independent else "bad"
    if np.isnan(share):
        words = f"cannot be computed from {plural(found.draws, 'draw')} a chain"
        return Check(what, words, wanted, poor)
    kind = "good" if share <= GOOD_MCSE else "mixed" if share <= LARGEST_MCSE else poor
    return Check(what, _told(f"{100 * share:.2g} %", whose), wanted, kind)


def _acceptance(found: Findings) -> Check:
    accepted = found.run["sample_stats"]["accepted"].to_numpy()
    proposing = ~np.isnan(accepted).all(axis=(0, 1))
    least = float(accepted[:, :, proposing].mean(axis=1).min())
    kind = "good" if least >= LEAST_ACCEPTANCE else "bad"
    wanted = f"at least {percent(LEAST_ACCEPTANCE)}"
    return Check("Accepted proposals of a chain", f"{100 * least:.2g} %", wanted, kind)


def _told(number: str, whose: str) -> Words:
    return [f"{number} (", Name(shortened(whose)), ")"]
