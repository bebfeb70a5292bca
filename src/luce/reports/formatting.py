"""Names and numbers as the report writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, isfinite, isnan, log10

import numpy as np

from luce._types import FloatArray, Label
from luce.page.document import Number
from luce.page.words import shortened

NOTHING = "–"  # where there is no number


def names_of(labels: Sequence[Label]) -> list[str]:
    """Write labels out; those that would look alike, or like nothing, as Python writes them."""
    plain = [str(label) for label in labels]
    times = Counter(plain)
    return [
        repr(label) if times[text] > 1 or not text.strip() else text
        for label, text in zip(labels, plain, strict=True)
    ]


def spoken(name: str, most: int = 40) -> str:
    """Shorten a name for a description; marks keep one written from right to left apart."""
    return f"\u2068{shortened(name, most)}\u2069"


def listed(parts: Sequence[str]) -> str:
    """Join words by commas and a last "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def percent(share: float) -> str:
    """Write a share as per cent.

    Examples
    --------
    >>> percent(0.9), percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{round(100 * share, 10):g} %"


def digits_for(values: FloatArray) -> int:
    """Decimals that show three digits of a typical probability."""
    typical = float(np.median(values))
    return min(max(ceil(-log10(typical)) + 2, 3), 6) if typical > 0 else 6


def probability(value: float, digits: int = 3) -> str:
    """Write a probability with so many decimals; 0 and 1 only where it is just that.

    Examples
    --------
    >>> probability(0.12345), probability(0.00001), probability(0.0), probability(0.9999)
    ('0.123', '<0.001', '0', '>0.999')
    """
    least = 10.0**-digits
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if value < least / 2:
        return f"<{least:.{digits}f}"
    return f">{1 - least:.{digits}f}" if value > 1 - least / 2 else f"{value:.{digits}f}"


def cell(value: float, form: str) -> Number:
    """Put a number into a cell; a dash where there is none."""
    if isnan(value):
        return Number(NOTHING, value)
    text = f"{value:{form}}" if isfinite(value) else "∞"
    # A minus is as wide as a digit; and nothing is below 0 that is shown as 0.
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return Number(text, float(value))
