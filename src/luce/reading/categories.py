"""Which categories there are: those that occur, or those that the user names."""

from __future__ import annotations

from collections.abc import Iterable

from luce._types import Label, Labels
from luce.counts.labels import Categories, some
from luce.errors import DataError
from luce.reading.columns import in_order


def all_categories(
    used: Iterable[Label], named: Labels | None, additional: Iterable[Label] = ()
) -> Categories:
    """Labels that occur, sorted, unless the user named them all; then the additional ones."""
    extra = list(additional)
    if named is None:
        return Categories([*in_order(used), *extra])
    listed = list(Categories(named))  # which refuses what cannot be labels
    known = set(listed) | set(extra)
    unknown = [label for label in used if label not in known]
    if unknown:
        raise DataError(
            f"{some(unknown)} {'occurs' if len(unknown) == 1 else 'occur'} in the data but not in "
            f"categories, which are {some(listed)}. Name every label, or leave categories out."
        )
    return Categories([*listed, *(label for label in extra if label not in listed)])
