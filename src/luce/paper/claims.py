"""A claim: its statement, the number measured, the criterion, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A statement, the measurement, and the verdict.

    Parameters
    ----------
    statement
        The paper's sentence, or that of a check of luce's own.
    measured
        The numbers, in words.
    criterion
        The condition under which it holds.
    verdict
        Whether the numbers meet the criterion.
    value
        The number that matters most, for programs.
    remark
        A sentence on the meaning of the verdict.
    ours
        Is this a check of luce's and not a claim of the paper?
    """

    statement: str
    measured: str
    criterion: str
    verdict: Verdict
    value: float
    remark: str = ""
    ours: bool = False


def graded(checks: Iterable[bool]) -> Verdict:
    """Judge by several checks: all of them, some, or none are met."""
    met = [bool(check) for check in checks]
    return Verdict.HOLDS if all(met) else Verdict.IN_PART if any(met) else Verdict.FAILS


def unless_it_holds(verdict: Verdict, remark: str) -> str:
    """Return a remark on a slip, or nothing where the claim holds."""
    return "" if verdict is Verdict.HOLDS else remark


def tally(claims: Iterable[Claim]) -> str:
    """Count verdicts in a sentence or two, claims of the paper apart from checks of luce's."""
    listed = list(claims)
    paper = [c.verdict for c in listed if not c.ours]
    ours = [c.verdict for c in listed if c.ours]
    sentences = [
        _counted(paper, "claim of the paper", "claims of the paper"),
        _counted(ours, "check of ours", "checks of ours"),
    ]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _counted(verdicts: list[Verdict], one: str, more: str) -> str:
    """Count verdicts of one kind of claim; the noun stands after the first number only."""
    plural = {Verdict.HOLDS: "hold", Verdict.IN_PART: "hold in part", Verdict.FAILS: "do not hold"}
    parts: list[str] = []
    for verdict in Verdict:
        count = verdicts.count(verdict)
        noun = "" if parts else f"{one if count == 1 else more} "
        if count:
            parts.append(f"{count} {noun}{verdict if count == 1 else plural[verdict]}")
    return ", ".join(parts)
