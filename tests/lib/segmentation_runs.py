"""Runs of semi-Markov models, made up: segmentations that are known, without any sampler."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr


def random_states(
    rng: np.random.Generator, borders: Sequence[int], n_states: int, duration: float
) -> np.ndarray:
    """Make a segmentation with geometric durations; neighbouring segments differ."""
    found = np.empty(borders[-1], np.int16)
    for start, end in pairwise(borders):
        t, state = start, int(rng.integers(n_states))
        while t < end:
            stop = min(end, t + int(rng.geometric(1 / duration)))
            found[t:stop] = state
            t, state = stop, (state + int(rng.integers(1, n_states))) % n_states
    return found


def jittered(rng: np.random.Generator, states: np.ndarray, borders: Sequence[int], by: int) -> Any:
    """Move each change by at most `by` rows, within its sequence."""
    found = states.copy()
    for start, end in pairwise(borders):
        own = states[start:end]
        for t in np.flatnonzero(own[1:] != own[:-1]) + 1:
            to = int(np.clip(t + rng.integers(-by, by + 1), 1, len(own) - 1))
            low, high = start + min(t, to), start + max(t, to)
            found[low:high] = own[t - 1] if to > t else own[t]
    return found


def permuted(rng: np.random.Generator, states: np.ndarray, n_states: int) -> np.ndarray:
    """Give the states of each draw, (..., time), other labels."""
    flat = states.reshape(-1, states.shape[-1])
    return np.stack([rng.permutation(n_states)[own] for own in flat]).reshape(states.shape)


def run_of(
    states: Any,
    borders: Sequence[int] | None = None,
    *,
    n_states: int = 20,
    longest: int = 0,
    at_longest: Any = 0,
    clock: bool = False,
    **posterior: Any,
) -> xr.DataTree:
    """Put segmentations, shape (chain, draw, time), into a run, each draw being kept."""
    states = np.asarray(states, np.int16)
    chains, draws, times = states.shape
    ends = [0, times] if borders is None else list(borders)
    names = [f"s{k}" for k in range(len(ends) - 1)]
    sequence = np.repeat(names, np.diff(ends))
    sample = {"chain": np.arange(chains), "draw": np.arange(draws)}
    begins = np.ones(states.shape, bool)
    begins[:, :, 1:] = states[:, :, 1:] != states[:, :, :-1]
    begins[:, :, ends[:-1]] = True
    used = [[len(np.unique(own)) for own in chain] for chain in states]
    rng = np.random.default_rng(7)
    drawn = {"log_likelihood": rng.normal(size=(chains, draws)), **posterior}
    statistics = {
        "states_used": np.array(used),
        "segments": begins.sum(axis=2),
        "at_longest": np.broadcast_to(at_longest, (chains, draws)),
    }
    along = {"time": np.arange(times), "sequence": ("time", sequence)}
    more = {"clock": ("time", 0.5 * np.arange(times))} if clock else {}

    def scalars(values: dict[str, Any]) -> xr.Dataset:
        return xr.Dataset(
            {k: (("chain", "draw"), np.asarray(v)) for k, v in values.items()}, sample
        )

    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"n_states": n_states, "longest": longest}),
            "posterior": scalars(drawn),
            "sample_stats": scalars(statistics),
            "states": xr.Dataset(
                {"states": (("chain", "draw", "time"), states)}, {**sample, **along}
            ),
            "observed_data": xr.Dataset(
                {"values": (("time", "channel"), np.zeros((times, 1)))}, {**along, **more}
            ),
        }
    )
