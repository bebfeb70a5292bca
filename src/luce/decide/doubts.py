"""Doubts about the draws that a decision rests on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from luce.answers.diagnostics import verdict

if TYPE_CHECKING:
    from luce.sampling.convergence import Verdict


def verdict_on(draws: Any) -> Verdict | None:
    """Judge a run; None for draws that come as an array."""
    from xarray import DataTree

    return verdict(draws) if isinstance(draws, DataTree) else None


def doubts(found: Verdict | None) -> list[str]:
    """Say what is doubtful about draws, or nothing where the verdict on them is good."""
    if found is None:
        return ["Whether these draws can be trusted is not known: they came without their run."]
    return [] if found.kind == "good" else [f"The draws that this rests on: {found}"]
