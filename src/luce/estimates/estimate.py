"""Results with errors and labels: `Estimate`, and arrays with categories as coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, Label
from luce.counts.labels import label_array
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray

# Entries that a printed array of estimates shows.
_MOST_SHOWN = 6


def by_category(values: FloatArray, labels: Iterable[Label], name: str) -> DataArray:
    """Label a vector by category, or a square matrix by category and opponent.

    Examples
    --------
    >>> float(by_category(np.array([0.25, 0.75]), ["a", "b"], "mean").sel(category="b"))
    0.75
    """
    from xarray import DataArray

    dims = ("category", "opponent")[: values.ndim]
    coordinate = label_array(labels)
    return DataArray(values, {dim: (dim, coordinate) for dim in dims}, dims, name)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its Monte Carlo standard error.

    `float(estimate)` and `np.asarray(estimate)` give the value alone.

    Attributes
    ----------
    value
        A number, or a DataArray with labels.
    standard_error
        Monte Carlo standard error, of the same shape as `value`; 0 for a closed form.
    method
        How the estimate was made, such as "exact" or "bridge".
    details
        Further results by name, such as the effective number of draws.

    Examples
    --------
    >>> found = Estimate(-31.6178, 0.0213, "bridge")
    >>> found
    -31.618 ± 0.021 (bridge)
    >>> float(found), f"{found:.1f}"
    (-31.6178, '-31.6')
    """

    value: float | DataArray
    standard_error: float | DataArray
    method: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def interval(self, ci_prob: float = 0.95) -> tuple[float | DataArray, float | DataArray]:
        """Return the ends of the normal confidence interval of each number.

        Examples
        --------
        >>> low, high = Estimate(0.5, 0.1).interval(0.9)
        >>> round(low, 3), round(high, 3)
        (0.336, 0.664)
        """
        if not 0 < ci_prob < 1:
            raise DataError(f"ci_prob = {ci_prob!r}; a number between 0 and 1 is needed.")
        from scipy.special import ndtri

        half = self.standard_error * float(ndtri(0.5 + 0.5 * ci_prob))
        return self.value - half, self.value + half

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError(
                f"this estimate holds {np.size(self.value):,} numbers, not one. Choose one with "
                ".value.sel(...), or convert all with numpy.asarray."
            )
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype) if copy else np.asarray(self.value, dtype)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __repr__(self) -> str:
        method = f" ({self.method})" if self.method else ""
        return ", ".join(self._entries()) + method

    def _entries(self) -> Iterator[str]:
        """Print each number with its error, after its labels if there are several."""
        values, errors = np.asarray(self.value), np.asarray(self.standard_error)
        errors = np.broadcast_to(errors, values.shape)
        for shown, place in enumerate(np.ndindex(values.shape)):
            if shown == _MOST_SHOWN:
                yield "..."
                return
            name = f"{self._labels(place)}: " if values.ndim else ""
            yield name + with_error(float(values[place]), float(errors[place]))

    def _labels(self, place: tuple[int, ...]) -> str:
        coords = getattr(self.value, "coords", {})
        dims = getattr(self.value, "dims", range(len(place)))
        pairs = zip(dims, place, strict=True)
        return " ".join(str(coords[dim].values[i] if dim in coords else i) for dim, i in pairs)


def with_error(value: float, error: float) -> str:
    """Print a number to the digits that its standard error leaves it.

    Examples
    --------
    >>> with_error(12.34567, 0.0123), with_error(1234.5, 210.0), with_error(0.25, 0.0)
    ('12.346 ± 0.012', '1234 ± 210', '0.25')
    """
    if error == 0:
        return f"{value:.10g}"
    if not (isfinite(value) and isfinite(error)):
        return f"{value:.6g} ± {error:.2g}"
    decimals = 1 - floor(log10(error))
    if decimals > 12 or abs(value) >= 1e12:
        return f"{value:.6g} ± {error:.2g}"
    return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"
