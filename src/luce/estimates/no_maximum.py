"""Words for densities without a maximum."""

from __future__ import annotations

from luce._types import Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import some
from luce.errors import NoMaximumError

# By scale: the name of the maximum, and the advice where there is none.
REMEDIES = {
    "simplex": ("mode", "Use a concentration above 1, or the mode in log-odds, or draws."),
    "log-odds": ("mode in log-odds", "Use draws."),
    "likelihood": (
        "maximum-likelihood estimate",
        "A prior decides it: luce.Posterior(counts, 1.0) has draws, and a mode in log-odds.",
    ),
}


def unbounded(what: str, why: str, end: str = "0") -> NoMaximumError:
    """Return the error of a density that grows without bound as something goes to `end`."""
    return NoMaximumError(
        f"there is no mode: the density grows without bound as {what} goes to {end}, since {why}. "
        "Use a concentration of at least 1, or the mode in log-odds, or draws."
    )


def require_compared(groups: list[list[Label]], counts: ConditionalCounts, scale: str) -> None:
    """Refuse groups of categories that were never compared with each other."""
    if len(groups) < 2:
        return
    what, remedy = REMEDIES[scale]
    if not counts.n_outcomes:
        raise NoMaximumError(
            f"there is no {what}: without data all probabilities are equally good. {remedy}", groups
        )
    raise NoMaximumError(
        f"there is no single {what}: {listed(groups)} were never compared with each other, so "
        f"nothing says how they share. {remedy}",
        groups,
    )


def listed(groups: list[list[Label]]) -> str:
    """Write up to four groups of labels, each in brackets."""
    return ", ".join(f"[{some(group, 4)}]" for group in groups[:4]) + (
        ", ..." if len(groups) > 4 else ""
    )
