"""Labels as short, distinct text on one line, for pictures and tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from luce._types import Label
from luce.counts.labels import printable
from luce.page.short_texts import numbered, shortened_apart

MOST_CHARACTERS = 26  # of a name, unless told otherwise


def short_labels(labels: Sequence[Label], most: int = MOST_CHARACTERS) -> list[str]:
    """Shorten labels to be printed; those that are equal even so end in their place.

    Examples
    --------
    >>> short_labels(["Ann", "a name of many words 1", "a name of many words 2"], 12)
    ['Ann', 'a name…rds 1', 'a name…rds 2']
    >>> short_labels(["vendor/model-08-05-of-2025", "vendor/model-11-20-of-2025"], 16)
    ['vendo…08-05…2025', 'vendo…11-20…2025']
    """
    texts = shortened_apart([one_line(printable(label)) for label in labels], most)
    return numbered(enumerate(texts))


def one_line(label: Label) -> str:
    """Write a label on one line, without characters that show nothing."""
    kept = []
    # Only both ends of a long label can be shown; it may be a book.
    text = str(label)
    for c in text if len(text) < 4000 else text[:2000] + text[-2000:]:
        kind = unicodedata.category(c)
        if kind in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif kind != "Cf":  # such characters turn the direction of writing, or show nothing
            kept.append(c)
    return " ".join("".join(kept).split()) or repr(text[:MOST_CHARACTERS])
