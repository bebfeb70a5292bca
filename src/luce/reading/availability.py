"""Columns that tell whether an alternative was on offer: avail_bus, bus_avail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from luce.errors import DataError
from luce.reading.columns import Column, as_number, is_missing
from luce.reading.roles import plain

_MARKS = ("avail", "availability", "available", "av", "is_available")


def availability_columns(names: Sequence[str], given: str | None) -> dict[str, str]:
    """Labels of alternatives, and the columns that tell whether each was on offer."""
    for mark in [given] if given is not None else _MARKS:
        # Something must stand between: average and avocado are two products.
        between = "[_. -]*" if given is not None else "[_. -]+"
        before = re.compile(f"{re.escape(mark)}{between}(?P<label>.*[^_. -])", re.IGNORECASE)
        after = re.compile(f"(?P<label>[^_. -].*?){between}{re.escape(mark)}", re.IGNORECASE)
        found = {}
        for name in names:
            match = before.fullmatch(name) or after.fullmatch(name)
            if match:
                found[match["label"]] = name
        if len(found) >= 2:
            return found
    if given is not None:
        raise DataError(f"no two columns start or end with availability = {given!r}.")
    return {}


def by_label(chosen: Column, labels: list[str]) -> Column:
    """Choices by label; numbers are compared as numbers, words without case and punctuation."""
    exact = set(labels)
    numbers = {as_number(label): label for label in labels}
    words = {plain(label): label for label in labels}
    if len(words) < len(labels):  # labels that differ in spelling alone must be spelled out
        words = {}

    def label_of(value: Any) -> Any:
        if value in exact or is_missing(value):
            return value
        number = as_number(value)
        if number is not None:
            return numbers.get(number, value)
        return words.get(plain(str(value)), value)

    return Column(chosen.codes, [label_of(value) for value in chosen.values])
