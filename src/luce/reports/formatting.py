"""Names and numbers as text and table cells of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, isfinite, isnan, log10

import numpy as np

from luce._types import FloatArray, Label
from luce.counts.short_labels import MOST_CHARACTERS, one_line
from luce.page.document import Number
from luce.page.short_texts import numbered, shortened_apart
from luce.page.words import shortened

NOTHING = "–"  # stands in place of a number that cannot be computed


def names_of(labels: Sequence[Label]) -> list[str]:
    """Convert labels to text; labels whose text is blank or not unique are written as in Python."""
    plain = [str(label) for label in labels]
    times = Counter(plain)
    return [
        repr(label) if times[text] > 1 or not text.strip() else text
        for label, text in zip(labels, plain, strict=True)
    ]


def short_names(names: Sequence[str], most: int = MOST_CHARACTERS) -> list[str]:
    """Put names on one line, short and still distinct."""
    return numbered(enumerate(shortened_apart([one_line(name) for name in names], most)))


def spoken(name: str, most: int = 40) -> str:
    """Shorten a name for a description, within marks that isolate right-to-left writing."""
    return f"\u2068{shortened(name, most)}\u2069"


def listed(parts: Sequence[str]) -> str:
    """Join parts by commas and a last "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def decimals_for(values: FloatArray) -> int:
    """Return the number of decimals that shows three digits of the median probability."""
    typical = float(np.median(values))
    return min(max(ceil(-log10(typical)) + 2, 3), 6) if typical > 0 else 6


def some_names(names: Sequence[str], most: int, total: int | None = None) -> str:
    """Name the first `most` of `total` names and count the others."""
    total = len(names) if total is None else total
    more = f" and {total - most:,} more" if total > most else ""
    return ", ".join(names[:most]) + more


def number_cell(value: float, form: str) -> Number:
    """Format a number as a table cell that sorts by its value; a dash for nan."""
    if isnan(value):
        return Number(NOTHING, value)
    text = f"{value:{form}}" if isfinite(value) else "∞"
    # The minus sign is as wide as a digit; a negative number that rounds to 0 is shown as 0.
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return Number(text, float(value))
