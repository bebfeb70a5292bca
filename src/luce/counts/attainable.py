"""Check that some data has given exponents.

Each outcome conditioned on a set needs an outcome of its own inside that set: a category in it, or
a group within it.  The remaining outcomes are unconditional.  Whether outcomes can be assigned to
sets in that way is a transport problem, solved as a maximum flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.family import SetFamily, describe_set
from luce.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def check_attainable(
    categories: Sequence[Label],
    category_counts: FloatArray,
    family: SetFamily,
) -> None:
    """Raise DataError unless some data has these counts and exponents.

    Parameters
    ----------
    categories
        The labels.
    category_counts
        Count of each category, shape (n,).  No data has a negative one.
    family
        Canonical sets with their exponents.
    """
    from luce.kernels.structure.max_flow import unmet_demands

    if (category_counts < 0).any():
        i = int(np.argmin(category_counts))
        raise DataError(
            f"no data has these exponents: category {categories[i]!r} has the exponent "
            f"{category_counts[i]:g}, but an outcome cannot be seen less than never."
        )
    # A fractional exponent is a whole number of grouped outcomes less some given that group.
    grouped = np.ceil(family.exponent.clip(min=0))
    conditioned = grouped - family.exponent
    groups, sets = np.flatnonzero(grouped > 0), np.flatnonzero(conditioned > 0)
    if len(sets) == 0:
        return
    supply = np.r_[category_counts, grouped[groups]]
    start, links = sources_within(family, sets, groups)
    whole = bool((np.r_[category_counts, family.exponent] % 1 == 0).all())
    tolerance = 0.0 if whole else 1e-12 * float(conditioned.max())
    unmet = unmet_demands(supply, conditioned[sets], start, links, tolerance)
    if unmet.any():
        reached = np.unique(links[np.repeat(unmet, np.diff(start))])
        named = "; ".join(describe_set(categories, family, int(t)) for t in sets[unmet][:3])
        more = f"; and {unmet.sum() - 3} more sets" if unmet.sum() > 3 else ""
        raise DataError(
            f"no data has these exponents: they say {named}{more}, but no more than "
            f"{supply[reached].sum():g} can be inside. Every outcome conditioned on a set must be "
            "inside it."
        )


def sources_within(
    family: SetFamily, sets: IntArray, groups: IntArray
) -> tuple[IntArray, IntArray]:
    """List, for each set, the categories in it and, numbered after them, the groups within it.

    Returns where the list of each set starts, and all lists joined.
    """
    holds = incidence(family, sets)
    common = (holds @ incidence(family, groups).T).tocoo()
    # An outcome of a group given that very group says nothing, so no group meets its own demand.
    inside = (common.data == family.sizes[groups][common.col]) & (
        sets[common.row] != groups[common.col]
    )
    rows = np.r_[np.repeat(np.arange(len(sets)), np.diff(holds.indptr)), common.row[inside]]
    columns = np.r_[holds.indices, family.n + common.col[inside]]
    start = np.r_[0, np.cumsum(np.bincount(rows, minlength=len(sets)))]
    order = np.argsort(rows, kind="stable")
    return start.astype(np.int64), columns[order].astype(np.int64)


def incidence(family: SetFamily, which: IntArray) -> csr_array:
    """Return a sparse matrix with a row of members for each set."""
    from scipy.sparse import csr_array

    members = [family.set_members(int(t)) for t in which]
    start = np.r_[0, np.cumsum([len(m) for m in members])].astype(np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *members])
    return csr_array((np.ones(len(columns)), columns, start), (len(which), family.n))
