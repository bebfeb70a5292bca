"""What is known of all categories while draws go by: moments, and quantiles if asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.errors import DataError


def read_quantiles(given: Sequence[float] | None) -> FloatArray | None:
    """Fractions strictly between 0 and 1, in order."""
    if given is None:
        return None
    try:
        wanted = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"quantiles = {given!r}; numbers between 0 and 1 are needed.") from None
    if wanted.ndim != 1 or not len(wanted) or not ((wanted > 0) & (wanted < 1)).all():
        raise DataError(f"quantiles = {given!r}; numbers between 0 and 1 are needed.")
    return np.unique(wanted)


@dataclass
class Running:
    """Moments of one chain's draws, and markers of their quantiles.

    `heights` and `places` have shape (n, markers); empty where no quantiles were asked for.
    """

    mean: FloatArray
    spread: FloatArray
    fractions: FloatArray
    heights: FloatArray
    places: Any
    seen: int = 0

    @classmethod
    def new(cls, n: int, quantiles: FloatArray | None) -> Running:
        """Nothing seen yet."""
        marks = np.empty(0)
        if quantiles is not None:
            # Besides the quantiles themselves: the ends, and a marker between each two.
            ends = np.r_[0.0, quantiles, 1.0]
            marks = np.sort(np.r_[ends, (ends[1:] + ends[:-1]) / 2])
        room = (n, len(marks)) if len(marks) else (0, 0)
        return cls(np.zeros(n), np.zeros(n), marks, np.zeros(room), np.zeros(room, np.int32))

    def take(self, block: FloatArray, logs: FloatArray) -> None:
        """Take in draws, one a row; quantiles go by their logarithms where there are any.

        Where logarithms are kept some probabilities are tiny, and a parabola through their markers
        would be far off.
        """
        from luce.kernels.running_moments import add_moments, add_quantiles

        add_moments(block, self.seen, self.mean, self.spread)
        if len(self.heights):
            values = logs if logs.size else block
            add_quantiles(values, self.seen, self.fractions, self.heights, self.places)
        self.seen += len(block)

    def arrays(self) -> dict[str, Any]:
        """What has to be known to go on."""
        return {
            "running_mean": self.mean,
            "running_spread": self.spread,
            "running_heights": self.heights,
            "running_places": self.places,
            "running_seen": np.int64(self.seen),
        }

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.mean[:] = arrays["running_mean"]
        self.spread[:] = arrays["running_spread"]
        self.heights[:] = arrays["running_heights"]
        self.places[:] = arrays["running_places"]
        self.seen = int(arrays["running_seen"])

    @property
    def nbytes(self) -> int:
        """How much that is."""
        return sum(np.asarray(array).nbytes for array in self.arrays().values())


def summarised(parts: list[Running], quantiles: FloatArray | None, logs: bool) -> dict[str, Any]:
    """Variables of the group `running`, with dimensions (chain, category) and one for quantiles.

    `logs` says that quantiles went by logarithms.
    """
    count = max(parts[0].seen - 1, 1)
    found: dict[str, Any] = {
        "mean": (("chain", "category"), np.stack([part.mean for part in parts])),
        "sd": (("chain", "category"), np.sqrt([part.spread / count for part in parts])),
    }
    if quantiles is not None:
        marks = np.searchsorted(parts[0].fractions, quantiles)
        heights = np.stack([part.heights[:, marks].T for part in parts])
        if parts[0].seen <= len(parts[0].fractions):  # the markers are the draws themselves
            own = [np.quantile(p.heights[:, : p.seen], quantiles, axis=1) for p in parts]
            heights = np.stack(own)
        found["quantiles"] = (
            ("chain", "quantile", "category"),
            np.exp(heights) if logs else heights,
        )
    return found
