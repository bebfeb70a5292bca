"""A gamma prior, for a concentration that is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce.counts.labels import read_number
from luce.errors import DataError


@dataclass(frozen=True)
class Gamma:
    """The gamma distribution with density proportional to a^(shape - 1) exp(-rate a).

    Given as the `concentration` of a posterior, it stands for a common concentration of all
    categories that is drawn along with the probabilities.

    Parameters
    ----------
    shape, rate
        Positive numbers; the mean is shape / rate.

    Examples
    --------
    >>> Gamma(2, 1).mean
    2.0
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = read_number(getattr(self, name), name)
            if value <= 0:
                raise DataError(f"{name} = {value:g}; a gamma prior needs a positive one.")
            object.__setattr__(self, name, value)
        if not (np.isfinite(self.mean) and self.mean > 0):
            raise DataError(f"shape / rate = {self.mean:g}; it must be positive and finite.")

    @property
    def mean(self) -> float:
        """Its mean."""
        return float(np.float64(self.shape) / self.rate)
