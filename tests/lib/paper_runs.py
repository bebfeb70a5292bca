"""Made-up runs with the numbers on which a verdict is wanted, and a made-up clock."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from luce.paper.experiments import Comparison, Run
from luce.paper.samplers import HIDDEN, METROPOLIS, SAMPLERS, TUNED, Key, Sampler, Way


def silent(_: str) -> None:
    """Say nothing."""


def a_microsecond(ways: Mapping[Key, Way], rounds: int = 1, long: int = 1) -> dict[Key, float]:
    """Let every draw take a microsecond, without drawing."""
    return dict.fromkeys(ways, 1e-6)


def made_up(sampler: Sampler, **changes: Any) -> Run:
    """Make a run: 4 chains of 100 draws evaluated 4 times, 30 lags, 10 categories."""
    proposes = sampler in (METROPOLIS, TUNED)
    forgets = changes.pop("forgets", 25 if proposes else 2)
    excess = changes.pop("excess", 2.0 if proposes else 0.02)
    error = changes.pop("error", 0.5 if proposes else 0.1)
    index = np.array([25, 50, 75, 100])
    lags = np.where(np.arange(31) < forgets, 1.0, 0.0)
    chains = np.random.default_rng(3).dirichlet(np.full(10, 500.0), 4)
    run = Run(
        sampler,
        seconds=2e-6 if proposes else 1e-6,
        effective=0.01 if proposes else 0.7,
        proposal=160.0 if proposes else np.nan,
        accepted=0.23 if proposes else np.nan,
        autocorrelation=np.broadcast_to(lags[:, None], (4, 31, 2)),
        index=index,
        rhat=1 + excess * 25 / index,
        mean_error=np.broadcast_to(error * np.sqrt(25 / index), (4, 4)),
        variance_error=np.broadcast_to(error * np.sqrt(25 / index), (4, 4)),
        chain_means=chains,
        chain_variances=chains,
        printed_rhat=0.003,
    )
    return replace(run, **changes)


def comparison(n: int = 10, **changes: dict[str, Any]) -> Comparison:
    """Make a comparison as the paper has it, but for changes of the named samplers."""
    named = {"hidden": HIDDEN, "metropolis": METROPOLIS, "tuned": TUNED}
    changed = {named[name].key: change for name, change in changes.items()}
    runs = {s.key: made_up(s, **changed.get(s.key, {})) for s in SAMPLERS[n]}
    return Comparison(n, runs)
