"""What a claim is: words, a number, what would make it hold, and whether it does."""

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
    """A statement, what was measured for it, and the verdict.

    Parameters
    ----------
    statement
        What the paper says, or what luce has checked besides.
    measured
        The numbers.
    criterion
        It holds if ...
    verdict
        ... so.
    value
        The number that matters most, for programs.
    remark
        What it means.
    ours
        Is this a check of ours and not a claim of the paper?
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
    """Keep a remark on what is wrong for when something is."""
    return "" if verdict is Verdict.HOLDS else remark


def tally(claims: Iterable[Claim]) -> str:
    """Count verdicts in a sentence or two, claims of the paper apart from checks of ours."""
    listed = list(claims)
    paper = [c.verdict for c in listed if not c.ours]
    ours = [c.verdict for c in listed if c.ours]
    sentences = [
        _counted(paper, "claim of the paper", "claims of the paper"),
        _counted(ours, "check of ours", "checks of ours"),
    ]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _counted(verdicts: list[Verdict], one: str, more: str) -> str:
    plural = {Verdict.HOLDS: "hold", Verdict.IN_PART: "hold in part", Verdict.FAILS: "do not hold"}
    parts: list[str] = []
    for verdict in Verdict:
        count = verdicts.count(verdict)
        noun = "" if parts else f"{one if count == 1 else more} "  # once, with the first number
        if count:
            parts.append(f"{count} {noun}{verdict if count == 1 else plural[verdict]}")
    return ", ".join(parts)
