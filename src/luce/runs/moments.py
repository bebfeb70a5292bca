"""Running moments and quantiles of all parameters, updated block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.sampling.chains import Rows
from luce.sampling.plan import Plan


@dataclass
class Running:
    """Moments of one chain's draws of one parameter, and markers of their quantiles.

    `heights` and `places` have shape (n, markers); empty where no quantiles were asked for.
    """

    mean: FloatArray
    spread: FloatArray
    fractions: FloatArray
    heights: FloatArray
    places: Any
    seen: int = 0

    @classmethod
    def new(cls, n: int, quantiles: Sequence[float] | None) -> Running:
        """Make moments of no draws yet."""
        marks = np.empty(0)
        if quantiles is not None:
            # Markers at the quantiles, at both ends, and halfway between neighbours of these.
            ends = np.r_[0.0, quantiles, 1.0]
            marks = np.sort(np.r_[ends, (ends[1:] + ends[:-1]) / 2])
        room = (n, len(marks)) if len(marks) else (0, 0)
        return cls(np.zeros(n), np.zeros(n), marks, np.zeros(room), np.zeros(room, np.int32))

    def take(self, block: FloatArray, logs: FloatArray) -> None:
        """Add draws, one a row; quantiles are those of their logarithms where these are stored.

        Where logarithms are stored some probabilities are tiny, and a parabola through their
        markers would be far off.
        """
        from luce.kernels.running_moments import add_moments, add_quantiles

        add_moments(block, self.seen, self.mean, self.spread)
        if len(self.heights):
            values = logs if logs.size else block
            add_quantiles(values, self.seen, self.fractions, self.heights, self.places)
        self.seen += len(block)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays from which `restore` continues."""
        return {
            "running_mean": self.mean,
            "running_spread": self.spread,
            "running_heights": self.heights,
            "running_places": self.places,
            "running_seen": np.int64(self.seen),
        }

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Continue from the arrays of an earlier state."""
        self.mean[:] = arrays["running_mean"]
        self.spread[:] = arrays["running_spread"]
        self.heights[:] = arrays["running_heights"]
        self.places[:] = arrays["running_places"]
        self.seen = int(arrays["running_seen"])


def of_parameters(plan: Plan) -> dict[str, Running]:
    """Start running moments of every parameter of which all draws are stored, by name."""
    written = {output.path for output in plan.outputs if output.every == 1}
    return {
        p.name: Running.new(int(np.prod(p.shape, dtype=np.int64)), plan.settings.quantiles)
        for p in plan.parameters
        if f"posterior/{p.name}" in written
    }


def take(moments: Mapping[str, Running], rows: Rows, size: int) -> None:
    """Add the first `size` rows of a block of draws to the moments."""
    for name, running in moments.items():
        drawn = rows[f"posterior/{name}"][:size].reshape(size, -1)
        logs = rows.get(f"posterior/log_{name}", np.empty((0, 0)))[:size]
        running.take(np.asarray(drawn, np.float64), logs)


def variables(plan: Plan, ends: Sequence[Mapping[str, Running]]) -> dict[str, Any]:
    """Summarise all parameters by mean, sd and quantiles, each with dimensions (chain, ...)."""
    found: dict[str, Any] = {}
    for parameter in plan.parameters:
        parts = [end[parameter.name] for end in ends if parameter.name in end]
        if not parts:
            continue
        logs = any(o.path == f"posterior/log_{parameter.name}" for o in plan.outputs)
        for statistic, values in summarised(parts, plan.settings.quantiles, logs).items():
            more = ("quantile",) if statistic == "quantiles" else ()
            shape = (*values.shape[:-1], *parameter.shape)
            dims = ("chain", *more, *parameter.dims)
            found[f"{parameter.name}_{statistic}"] = (dims, values.reshape(shape))
    return found


def summarised(
    parts: Sequence[Running], quantiles: Sequence[float] | None, logs: bool
) -> dict[str, FloatArray]:
    """Stack the moments of chains; `logs` says that quantiles are those of logarithms."""
    found = {
        "mean": np.stack([part.mean for part in parts]),
        "sd": np.sqrt([part.spread / max(part.seen - 1, 1) for part in parts]),
    }
    if quantiles is not None:
        heights = np.stack([_heights(part, quantiles) for part in parts])
        found["quantiles"] = np.exp(heights) if logs else heights
    return found


def _heights(part: Running, quantiles: Sequence[float]) -> FloatArray:
    """Read the quantiles of one chain off its markers, shape (quantile, entry)."""
    if part.seen <= len(part.fractions):  # the markers are the draws themselves
        return np.asarray(np.quantile(part.heights[:, : part.seen], quantiles, axis=1))
    return np.asarray(part.heights[:, np.searchsorted(part.fractions, quantiles)].T)
