"""Short texts for tables and pictures: cut so that those which differ still do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

# Characters kept of both ends together, at most, where what stays is in the middle; and the fewest
# characters of a text with two signs of omission.
_ENDS, _LEAST = 8, 9


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


def shortened_apart(texts: Sequence[str], most: int) -> list[str]:
    """Shorten texts of more than `most` characters, so that different ones stay different.

    Their middle is left out.  Of texts that would be alike then, the part in which they differ
    stays, between parts of both ends.
    """
    found = {text: abridged(text, most) for text in texts}
    if most >= _LEAST:
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
    kept = abridged(text[start:end], most - min(_ENDS, most // 3) - 2)
    room = most - len(kept) - 2
    tail = min(room // 2, len(text) - end)
    head = min(room - tail, start)
    tail = min(room - head, len(text) - end)
    before = "" if head == start else "…"
    after = "" if tail == len(text) - end or (before and not kept) else "…"
    return f"{text[:head]}{before}{kept}{after}{text[len(text) - tail :]}"


def told_apart(texts: Sequence[str], most: int) -> list[str]:
    """Shorten texts to at most `most` characters, 8 at least, so that no two results are alike.

    As `shortened_apart`; those that would be alike even so end in a number.  Results can be alike
    only where there are more texts than numbers fit.

    Examples
    --------
    >>> told_apart(["Ann", "a name of many words", "a name of many other words"], 12)
    ['Ann', 'a nam…words', 'a …other …ds']
    """
    short = shortened_apart(texts, most)
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
