"""Probabilities as people give them: on the simplex, or refused."""

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.errors import DataError

# Probabilities that were normalised in double precision add up to 1 within this.
_TOLERANCE = 1e-8


def read_probabilities(given: ArrayLike, n: int) -> FloatArray:
    """Read probabilities of shape (..., n), each row non-negative and adding up to 1."""
    try:
        p = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"probabilities must be numbers; {given!r} was given.") from None
    if p.ndim == 0 or p.shape[-1] != n:
        raise DataError(f"probabilities of shape {p.shape} were given; (..., {n}) is needed.")
    off = ~(p >= 0).all(axis=-1) | ~(np.abs(p.sum(axis=-1) - 1) <= _TOLERANCE)
    if off.any():
        row = p.reshape(-1, n)[int(np.argmax(off))]
        raise DataError(
            "probabilities must be non-negative and add up to 1; some add up to "
            f"{row.sum():.10g} with a least entry of {row.min():.3g}. Divide by their sum first."
        )
    return p
