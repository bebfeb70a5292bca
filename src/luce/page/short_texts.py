"""Short texts for tables and pictures: cut so that those which differ still do."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Sequence


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


def told_apart(texts: Sequence[str], most: int) -> list[str]:
    """Shorten texts to at most `most` characters, 8 at least, and keep what distinguishes them.

    Those that would look alike show the place where they differ; where that is not enough they end
    in a number.  No two results are alike, unless there are more texts than numbers fit.

    Examples
    --------
    >>> told_apart(["Ann", "a name of many words", "a name of many other words"], 12)
    ['Ann', 'a name…words', 'a n…other w…']
    """
    if all(len(text) <= most for text in texts) and len(set(texts)) == len(texts):
        return list(texts)
    short = [abridged(text, most) for text in texts]
    for own in _alike(short):
        whole = [texts[i] for i in own]
        start = len(os.path.commonprefix(whole))  # noqa: RUF071
        for i in own:
            short[i] = _around(texts[i], start, most)
    taken = set(short)
    for own in _alike(short):
        number = 0
        for i in own:
            text = short[i]
            while text in taken:
                number += 1
                mark = f" #{number}"
                text = abridged(texts[i], most - len(mark)) + mark
            taken.add(text)
            short[i] = text
    return short


def _alike(texts: Sequence[str]) -> list[list[int]]:
    """Group the places of texts that are equal to another."""
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        places.setdefault(text, []).append(i)
    return [own for own in places.values() if len(own) > 1]


def _around(text: str, start: int, most: int) -> str:
    """Show the beginning of a text, and what stands from a place on."""
    head = (most - 2) // 3
    if len(text) <= most:
        return text
    if start <= head:
        return f"{text[: most - 1]}…"
    rest = text[start : start + most - 1 - head]
    if start + len(rest) < len(text):
        return f"{text[:head]}…{rest[:-1]}…"
    return f"{text[: min(most - 1 - len(rest), start)]}…{rest}"
