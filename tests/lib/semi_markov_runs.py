"""Runs of semi-Markov models in small blocks, made the same way here and in a killed process."""

from pathlib import Path
from typing import Any

import numpy as np

import luce
from luce.cluster.execution import carry_out
from luce.sampling.settings import Settings
from luce.sequences import (
    Autoregressive,
    Categories,
    Counts,
    DiagonalGaussian,
    Gaussian,
    Geometric,
    Histogram,
    NegativeBinomial,
    Poisson,
    SemiMarkov,
)
from luce.sequences.semi_markov_runs import SemiMarkovPlan

# Draws of a chain, a multiple of no block; states of every third one are kept.
LENGTH, KEPT = 29, 9


def steps(channels: int = 1, seed: int = 4) -> list[np.ndarray]:
    """Simulate two sequences of unequal length whose level jumps."""
    rng = np.random.default_rng(seed)
    levels = np.repeat([0.0, 6.0, -5.0, 6.0, 0.0], [9, 12, 7, 10, 8])
    shift = np.arange(channels) * 2.0
    whole = levels[:, None] + shift + rng.normal(size=(46, channels))
    return [whole[:28], whole[28:]]


def _counts() -> list[np.ndarray]:
    return [np.rint(np.abs(own)) for own in steps(2)]


def _labels() -> list[list[str]]:
    return [["abc"[int(level > 3) + int(level < -2)] for level in own[:, 0]] for own in steps()]


def _gaps() -> list[np.ndarray]:
    first, second = steps(2)
    first[4, 0] = first[11] = second[2, 1] = np.nan
    return [first, second]


CASES: dict[str, tuple[SemiMarkov, Any]] = {
    "gaussian": (SemiMarkov(5, Gaussian(), Poisson(mean=8)), steps()),
    "gaps": (SemiMarkov(list("abcd"), Gaussian(), Geometric(mean=8), start="base"), _gaps()),
    "diagonal": (
        SemiMarkov(4, DiagonalGaussian(), NegativeBinomial(mean=8, r="real"), 3.0, longest=15),
        steps(2),
    ),
    "counts": (SemiMarkov(4, Counts(), Histogram(), longest=20, end="complete"), _counts()),
    "categories": (
        SemiMarkov(4, Categories(), NegativeBinomial(mean=8), start="uniform", forbidden=[(0, 1)]),
        _labels(),
    ),
    "autoregressive": (SemiMarkov(4, Autoregressive(), Poisson(mean=8)), steps()),
}


def semi_markov_plan(name: str, **more: Any) -> SemiMarkovPlan:
    """Plan to fit a model, in blocks of a few draws."""
    model, series = CASES[name]
    given = {"draws": LENGTH, "chains": 2, "warmup": 6, "seed": 3, "progress": False}
    sizes = {"chunk_steps": 500, "block_chunks": 2}
    settings = Settings(**{**given, **sizes, **more})
    return SemiMarkovPlan.of(model, model.read(series), settings, None, 5, KEPT)


def fitted(name: str, to: Path | None = None, cluster: Any = None, **more: Any) -> Any:
    """Fit a model in memory or to a folder."""
    return carry_out(semi_markov_plan(name, **more), to, cluster)


def same_run(a: Any, b: Any) -> bool:
    """Compare the draws of two runs, those of states included, bit for bit."""
    groups = ("posterior", "sample_stats", "states")
    return all(
        a[group].to_dataset().drop_attrs().identical(b[group].to_dataset().drop_attrs())
        for group in groups
    )


__all__ = ["CASES", "KEPT", "LENGTH", "fitted", "luce", "same_run", "semi_markov_plan", "steps"]
