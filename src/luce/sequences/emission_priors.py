"""Checks of the numbers of an emission's prior, and defaults from the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, Label
from luce.errors import DataError
from luce.sequences.series import Series

# Degrees of freedom above the number of channels: E[Σ] exists, and Σ varies widely.
_DEGREES_ABOVE_CHANNELS = 2.0

# Range of a channel's standard deviation: sums of squares and their products stay doubles.
_LEAST_DEVIATION, _LARGEST_DEVIATION = 1e-100, 1e100

# Standard deviation, as a fraction of the largest value, that is treated as rounding error.
_CONSTANT = 4 * float(np.finfo(float).eps)

# Asymmetry of a matrix of correlations, and least eigenvalue, that are treated as rounding error.
_ROUNDING = 1e-10

_MOST_SHOWN = 4  # entries of an array that are listed in words


def numbers(given: Any, name: str, most_axes: int, positive: bool = False) -> Any:
    """Check numbers of a prior; a single one becomes a float, None stays."""
    if given is None:
        return None
    try:
        value = np.array(given, float)
    except (TypeError, ValueError):
        raise DataError(f"{name} = {given!r}; numbers are needed.") from None
    if value.ndim > most_axes or value.size == 0:
        allowed = "a single number" if most_axes == 0 else f"at most {most_axes} axes"
        raise DataError(f"{name} has shape {value.shape}; {allowed} is needed.")
    if not np.isfinite(value).all():
        raise DataError(f"{name} = {given!r}; finite numbers are needed.")
    if positive and not (value > 0).all():
        raise DataError(f"{name} = {given!r}; positive numbers are needed.")
    return float(value) if value.ndim == 0 else value


def for_channels(given: ArrayLike, n: int, name: str) -> FloatArray:
    """Return one number for each channel."""
    value = np.asarray(given, float)
    if value.ndim == 1 and len(value) != n:
        raise DataError(
            f"{name} holds {len(value)} numbers, and the series has {n} channels: give one number "
            f"for all, or {n}."
        )
    return np.broadcast_to(value, n).copy()


def covariance_matrix(given: ArrayLike, n: int, name: str) -> FloatArray:
    """Return a covariance matrix; one variance, or one for each channel, gives a diagonal one."""
    value = np.asarray(given, float)
    if value.ndim < 2:
        value = np.diag(for_channels(value, n, name))
    if value.shape != (n, n):
        raise DataError(
            f"{name} has shape {value.shape}, and the series has {n} channels: shape {(n, n)}, "
            f"{n} variances, or one variance for all is needed."
        )
    variances = np.diagonal(value)
    if not (variances > 0).all():
        raise DataError(f"{name} has variances {shown(variances)}; they must be positive.")
    roots = np.sqrt(variances)
    correlations = value / roots[:, None] / roots
    if np.abs(correlations - correlations.T).max() > _ROUNDING:
        raise DataError(f"{name} is not symmetric; a covariance matrix is.")
    if np.linalg.eigvalsh(correlations)[0] <= _ROUNDING:
        raise DataError(
            f"{name} is not positive definite: some combination of the channels would never vary. "
            "Leave out channels that follow from others, or lower the correlations."
        )
    return np.asarray(0.5 * (value + value.T))


def enough_degrees(given: float | None, n: int) -> float:
    """Check degrees of freedom of n channels, or return the default."""
    if given is None:
        return n + _DEGREES_ABOVE_CHANNELS
    if not given > n + 1:
        channels = "one channel" if n == 1 else f"{n} channels"
        raise DataError(
            f"degrees = {given:g}; for {channels} more than {n + 1} are needed, so that the "
            "expected covariance exists."
        )
    return given


def check_seen(series: Series) -> None:
    """Refuse channels without any value."""
    for channel in np.flatnonzero(np.isnan(series.values).all(axis=0)):
        raise DataError(
            f"channel {series.channels[channel]!r} has no value at all. Leave the channel out, or "
            "give the numbers of the prior."
        )


def scale_of(series: Series, advice: str, needs_variance: bool) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of each channel, and refuse channels without a scale.

    Values are divided by their largest before they are added or squared: no sum is infinite.
    """
    check_seen(series)
    values = series.values
    top = np.nanmax(np.abs(values), axis=0)
    top[top == 0] = 1.0
    center = np.nanmean(values / top, axis=0) * top
    largest = np.nanmax(np.abs(values - center), axis=0)
    scaled = (values - center) / np.where(largest > 0, largest, 1.0)
    deviation = np.sqrt(np.nanmean(scaled**2, axis=0)) * largest
    constant = deviation <= _CONSTANT * top
    wild = (deviation < _LEAST_DEVIATION) | (deviation > _LARGEST_DEVIATION)
    for channel in np.flatnonzero(needs_variance & (constant | wild)):
        label = series.channels[channel]
        if constant[channel]:
            raise DataError(
                f"channel {label!r} is constant ({center[channel]:g} in every row), so it has no "
                f"scale and tells no states apart. Leave it out, or give {advice}."
            )
        raise DataError(
            f"the standard deviation of channel {label!r} is {deviation[channel]:g}; between "
            f"{_LEAST_DEVIATION:g} and {_LARGEST_DEVIATION:g} is allowed. Change its unit."
        )
    return center, np.where(wild, 0.0, deviation) ** 2


def shown(given: ArrayLike | None) -> str:
    """List the first numbers of an array; those of an array of equal numbers once."""
    held = np.atleast_1d(np.asarray(given, float))
    held = held[:1] if (held == held[0]).all() else held
    listed = [f"{x:.4g}" for x in held[:_MOST_SHOWN]]
    return ", ".join([*listed, "..."] if len(held) > _MOST_SHOWN else listed)


def listed(labels: Sequence[Label]) -> str:
    """List the first labels."""
    first = [repr(label) for label in labels[:_MOST_SHOWN]]
    return ", ".join([*first, "..."] if len(labels) > _MOST_SHOWN else first)
