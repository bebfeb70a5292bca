"""The concentration of a Dirichlet prior as people give it, checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from luce._types import Concentration, FloatArray
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import as_mapping, some
from luce.errors import DataError


def read_concentration(counts: ConditionalCounts, given: Concentration) -> FloatArray:
    """One positive number for each category, never to be changed."""
    n = counts.n_categories
    given = as_mapping(given)
    if isinstance(given, Mapping):
        missing = [c for c in counts.categories if c not in given]
        known = set(counts.categories)
        extra = [label for label in given if label not in known]
        if missing or extra:
            raise DataError(
                f"concentration must name each category once; {len(missing)} are missing"
                + (f" ({some(missing)})" if missing else "")
                + f" and {len(extra)} are not categories"
                + (f" ({some(extra)})." if extra else ".")
            )
        given = [given[c] for c in counts.categories]
    try:
        a = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"concentration must be numbers; {given!r} was given.") from None
    if a.ndim > 1 or (a.ndim == 1 and len(a) != n):
        raise DataError(
            f"concentration has shape {a.shape}; one number, or {n} of them, one for each "
            "category, are needed."
        )
    a = np.array(np.broadcast_to(a, n))
    if not (np.isfinite(a) & (a > 0)).all():
        i = int(np.argmin(np.isfinite(a) & (a > 0)))
        raise DataError(
            f"the concentration of {counts.categories[i]!r} is {a[i]:g}; it must be positive "
            "and finite."
        )
    a.setflags(write=False)
    return a
