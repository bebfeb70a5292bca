"""What a Gibbs step is given: read without cost where it is right, put into words where not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.errors import DataError


def plain(given: ArrayLike, what: str) -> FloatArray:
    """Numbers as compiled code takes them: doubles, in one piece, and writable."""
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; {given!r} was given.") from None
    return array if array.flags.carray else np.array(array, order="C")


def explain_shapes(
    p: tuple[int, ...],
    category_totals: tuple[int, ...],
    term_totals: tuple[int, ...],
    concentration: tuple[int, ...],
    n: int,
    n_terms: int,
) -> str:
    """Which shape is wrong, and what it should be."""
    if p[-1:] != (n,):
        return f"probabilities of shape {p} were given; (..., {n}) is needed, one row a step."
    rows = p[:-1]
    if category_totals != p:
        return f"totals by category have shape {category_totals}; {p} is needed."
    if term_totals != (*rows, n_terms):
        return f"totals by term have shape {term_totals}; {(*rows, n_terms)} is needed."
    return (
        f"concentration has shape {concentration}; one number, {n} of them, or as many as there "
        f"are probabilities are needed."
    )


def explain(
    code: int,
    p: FloatArray,
    category_totals: FloatArray,
    term_totals: FloatArray,
    concentration: FloatArray,
) -> str:
    """Put into words why a step could not be made."""
    from luce.kernels import changing_counts as kernel

    if code == kernel.BAD_CONCENTRATION:
        worst = concentration[np.argmin(np.isfinite(concentration) & (concentration > 0))]
        return f"a concentration is {worst:g}; all must be positive and finite."
    if code == kernel.BAD_COUNTS:
        both = np.concatenate([category_totals, term_totals])
        worst = both[np.argmin(np.isfinite(both) & (both >= 0))]
        return f"a count is {worst:g}; all must be finite and none negative."
    if code == kernel.TOO_FEW:
        return (
            "more outcomes are conditioned on sets than there are outcomes: the totals by term "
            "add up to more than those by category. Each outcome counts in its category too."
        )
    return (
        "probabilities must be positive and add up to 1 in every row; the least is "
        f"{p.min():.3g}. Divide by their sum first."
    )
