"""Runs of transitions in small blocks, made the same way here and in a process that is killed."""

from pathlib import Path
from typing import Any

from luce import Gamma
from luce.cluster.execution import carry_out
from luce.sampling.settings import Settings
from luce.sequences import HDPTransitions
from luce.sequences.hdp_runs import TransitionsPlan, read_data

SEQUENCES = [list("aabbbaccab"), list("cbabccaab"), list("bca")]

# Draws of a chain, a multiple of no block.
LENGTH = 47

MODELS = {
    "weak limit": HDPTransitions(["a", "b", "c"], Gamma(2, 1), 3.0),
    "nonparametric": HDPTransitions("nonparametric", Gamma(2, 1), Gamma(1, 1)),
    "without self-loops": HDPTransitions(
        ["a", "b", "c", "d"], 2.0, Gamma(3, 1), [("a", "d"), ("d", "a")], "removed"
    ),
}


def transitions_plan(name: str, rows: bool = True, **more: Any) -> TransitionsPlan:
    """Plan to fit transitions, in blocks of a few draws."""
    model = MODELS[name]
    given = {"draws": LENGTH, "chains": 2, "warmup": 6, "seed": 3, "progress": False}
    sizes = {"chunk_steps": 30, "block_chunks": 2}
    settings = Settings(**{**given, **sizes, **more})
    return TransitionsPlan(model, read_data(model, SEQUENCES, None), settings, rows)


def fitted(name: str, to: Path | None = None, rows: bool = True, **more: Any) -> Any:
    """Fit transitions in memory or to a folder."""
    return carry_out(transitions_plan(name, rows, **more), to)
