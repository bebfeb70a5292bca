"""Labels as short, distinct text on one line, for pictures and tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from luce._types import Label
from luce.counts.labels import printable
from luce.page.short_texts import abridged, numbered

MOST_CHARACTERS = 26  # of a name, unless told otherwise
_ENDS = 8  # characters kept of both ends together, where what stays is in the middle


def short_labels(labels: Sequence[Label], most: int = MOST_CHARACTERS) -> list[str]:
    """Shorten labels to be printed; those that are equal even so end in their place.

    Examples
    --------
    >>> short_labels(["Ann", "a name of many words 1", "a name of many words 2"], 12)
    ['Ann', 'a name…rds 1', 'a name…rds 2']
    >>> short_labels(["vendor/model-08-05-of-2025", "vendor/model-11-20-of-2025"], 16)
    ['vendo…08-05…2025', 'vendo…11-20…2025']
    """
    texts = shortened([one_line(printable(label)) for label in labels], most)
    return numbered(enumerate(texts))


def shortened(texts: Sequence[str], most: int) -> list[str]:
    """Shorten texts of more than `most` characters, so that different ones stay different.

    Their middle is left out.  Of texts that would be alike then, the part in which they differ
    stays, between parts of both ends.
    """
    found = {text: abridged(text, most) for text in texts}
    if most >= _ENDS + 5:  # both ends, two signs of omission, and three characters between
        _tell_apart(found, list(found), most)
    return [found[text] for text in texts]


def _tell_apart(found: dict[str, str], texts: list[str], most: int) -> None:
    """Shorten those of the texts again that are alike in `found`."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(found[text], []).append(text)
    for group in alike.values():
        if len(group) == 1:
            continue
        start = _shared(group)
        end = _shared([text[start:][::-1] for text in group])
        for text in group:
            found[text] = _around(text, start, len(text) - end, most)
        if len({found[text] for text in group}) > 1:
            _tell_apart(found, group, most)


def _shared(texts: Sequence[str]) -> int:
    """Count the characters that texts have in common at their beginning."""
    first, last = min(texts), max(texts)
    differ = (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return next(differ, min(len(first), len(last)))


def _around(text: str, start: int, end: int, most: int) -> str:
    """Keep the part between two places of a text, and as much of both ends as there is room for."""
    kept = abridged(text[start:end], most - _ENDS - 2)
    room = most - len(kept) - 2
    tail = min(room // 2, len(text) - end)
    head = min(room - tail, start)
    tail = min(room - head, len(text) - end)
    before = "" if head == start else "…"
    after = "" if tail == len(text) - end or (before and not kept) else "…"
    return f"{text[:head]}{before}{kept}{after}{text[len(text) - tail :]}"


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
