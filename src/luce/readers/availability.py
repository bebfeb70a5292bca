"""Columns that tell whether an alternative was on offer: avail_bus, bus_avail."""

from __future__ import annotations

from collections.abc import Sequence

from luce.errors import DataError

_MARKS = ("avail", "availability", "available", "av", "is_available")


def availability_columns(names: Sequence[str], given: str | None) -> dict[str, str]:
    """Labels of alternatives, and the columns that tell whether each was on offer."""
    for mark in [given] if given is not None else _MARKS:
        found = {}
        for name in names:
            for label in (name.removeprefix(mark), name.removesuffix(mark)):
                if label != name and label.strip("_. -"):
                    found[label.strip("_. -")] = name
        if len(found) >= 2:
            return found
    if given is not None:
        raise DataError(f"no two columns start or end with availability = {given!r}.")
    return {}
