"""Labels as short, distinct text on one line, for pictures and tables."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

from luce._types import Label
from luce.counts.labels import printable

MOST_CHARACTERS = 26  # of a name, unless told otherwise


def short_labels(labels: Sequence[Label], most: int = MOST_CHARACTERS) -> list[str]:
    """Shorten labels to be printed; those that are equal then end in their place.

    Examples
    --------
    >>> short_labels(["Ann", "a name of many words 1", "a name of many words 2"], 12)
    ['Ann', 'a name…rds 1', 'a name…rds 2']
    """
    texts = abridged_apart([one_line(printable(label)) for label in labels], most)
    return numbered(enumerate(texts))


def abridged_apart(texts: Sequence[str], most: int) -> list[str]:
    """Shorten texts to `most` characters so that what distinguishes them stays, where it can.

    A long text loses its middle; of those that are equal then, the part where they differ is kept.

    Examples
    --------
    >>> abridged_apart(["the rate is 0.1 and the seed 1", "the rate is 0.3 and the seed 1"], 20)
    ['the ra…s 0.1 …seed 1', 'the ra…s 0.3 …seed 1']
    """
    short = [abridged(text, most) for text in texts]
    alike = defaultdict(set)
    for text, own in zip(texts, short, strict=True):
        alike[own].add(text)
    return [
        own if len(alike[own]) == 1 else _around(text, _first_difference(alike[own]), most)
        for text, own in zip(texts, short, strict=True)
    ]


def _first_difference(texts: Collection[str]) -> int:
    """Find the place of the first character that not all of some different texts share."""
    return next(k for k, own in enumerate(zip_longest(*texts)) if len(set(own)) > 1)


def _around(text: str, place: int, most: int) -> str:
    """Keep the beginning, the end, and what lies around a place in the middle."""
    width = (most - 2) // 3
    first = min(max(place - width // 2, width), len(text) - 2 * width)
    return f"{text[:width]}…{text[first : first + width]}…{text[-width:]}"


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


def abridged(text: str, most: int) -> str:
    """Leave out the middle of a text of more than `most` characters."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def numbered(texts: Iterable[tuple[int, str]]) -> list[str]:
    """Add their numbers to the texts that several numbers share."""
    pairs = list(texts)
    alike = Counter(text for _, text in set(pairs))  # one number may come twice
    return [f"{text} #{i}" if alike[text] > 1 else text for i, text in pairs]
