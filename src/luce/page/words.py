"""Turn words, code, links, badges and numbers into safe inline HTML; write numbers as words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import inf
from typing import TypeAlias

from luce.errors import DataError

# The sign of a badge says the same as its colour, for readers who do not see colours.
_SIGNS = {"good": "✓", "bad": "✗", "mixed": "◐", "neutral": "•"}
# Counts from here on are written as a power of ten.
_HUGE = 1e10

_SCHEMES = {"http", "https", "mailto"}
# Not allowed in HTML: control characters, halves of surrogate pairs, two non-characters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Misread in addresses: browsers drop spaces and control characters before they look for the scheme,
# and take a backslash for a slash.
_MISREAD = re.compile(r"[\x00-\x20\x7f-\x9f\\\ud800-\udfff]")


@dataclass(frozen=True)
class Code:
    """Words set as code."""

    text: str


@dataclass(frozen=True)
class Strong:
    """Words with emphasis."""

    text: str


@dataclass(frozen=True)
class Link:
    """A link to a web or mail address, a ``#fragment`` or a relative file."""

    text: str
    address: str

    def __post_init__(self) -> None:
        require_text(self.text, "A link's text")
        require_text(self.address, "A link's address")
        scheme = re.match(r"([^/?#:]*):", self.address)
        known = scheme is None or scheme[1].lower() in _SCHEMES
        if not known or self.address.startswith("/") or _MISREAD.search(self.address):
            raise DataError(
                f"A link cannot lead to {self.address!r}: allowed are http:, https: and mailto: "
                "addresses, #fragments and relative files, with neither spaces nor backslashes."
            )


@dataclass(frozen=True)
class Badge:
    """A verdict in a word or two; `kind` is "good", "bad", "mixed" or "neutral"."""

    text: str
    kind: str

    def __post_init__(self) -> None:
        require_text(self.text, "A badge's text")
        if self.kind not in _SIGNS:
            raise DataError(f"No badge is of kind {self.kind!r}: choose from {', '.join(_SIGNS)}.")


@dataclass(frozen=True)
class Name:
    """A name from data, isolated so that right-to-left scripts do not reorder words around it."""

    text: str


@dataclass(frozen=True)
class Number:
    """A number as shown text, and its value, by which a table is sorted."""

    text: str
    value: float


@dataclass(frozen=True)
class Folded:
    """A name in a cell, cut after `most` characters and opened by a click."""

    text: str
    most: int = 48


Inline: TypeAlias = str | Code | Strong | Link | Badge | Name | Number
Words: TypeAlias = Inline | Sequence[Inline]
Cell: TypeAlias = Words | Folded


def require_text(text: str, what: str) -> None:
    """Refuse blank text."""
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{what} is {text!r}; give some words.")


def escaped(text: str) -> str:
    """Escape text for HTML, between tags and in quoted attributes."""
    if not isinstance(text, str):
        raise DataError(f"{text!r} is not words: give a str.")
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return escape(_UNPRINTABLE.sub("\ufffd", lines))


def html_of(words: Words) -> str:
    """Turn words into HTML, joined without spaces."""
    match words:
        case str():
            return escaped(words)
        case Code(text):
            return f"<code>{escaped(text)}</code>"
        case Strong(text):
            return f"<strong>{escaped(text)}</strong>"
        case Link(text, address):
            return f'<a href="{escaped(address)}">{escaped(text)}</a>'
        case Name(text):
            return f"<bdi>{escaped(text)}</bdi>"
        case Number(text, _):
            return escaped(text)
        case Badge(text, kind):
            sign = f'<span aria-hidden="true">{_SIGNS[kind]}</span>'
            return f'<span class="badge {kind}">{sign}&nbsp;{escaped(text)}</span>'
        case Sequence():
            return "".join(html_of(part) for part in words)
    raise DataError(
        f"{words!r} is not words: give a str, Code, Strong, Link, Badge, Name or Number, or a list "
        "of these."
    )


def plain_text(words: Words) -> str:
    """Turn words into text without marks, joined without spaces.

    Examples
    --------
    >>> plain_text([Name("Ann"), " is ", Strong("first")])
    'Ann is first'
    """
    if isinstance(words, str):
        return words
    if isinstance(words, Sequence):
        return "".join(map(plain_text, words))
    return words.text


def html_of_cell(cell: Cell) -> str:
    """Turn a table cell, which may be `Folded`, into HTML."""
    if not isinstance(cell, Folded):
        return html_of(cell)
    whole = escaped(cell.text)
    if len(cell.text) <= cell.most:
        return f"<bdi>{whole}</bdi>"
    return (
        f"<details><summary><bdi>{escaped(shortened(cell.text, cell.most))}</bdi></summary>"
        f'<bdi class="whole">{whole}</bdi></details>'
    )


def shortened(text: str, most: int = 48) -> str:
    """Put text on one line, and cut it after `most` characters.

    Examples
    --------
    >>> shortened("a name of many words", 10)
    'a name of…'
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(text) <= 4 * most and len(line) <= most else f"{line[: most - 1].rstrip()}…"


def percent(share: float) -> str:
    """Format a share as per cent.

    Examples
    --------
    >>> percent(0.9), percent(0.995)
    ('90 %', '99.5 %')
    """
    return f"{round(100 * share, 10):g} %"


def count(number: float) -> str:
    """Format a number of things: commas between thousands, and a power of ten if it is huge.

    Examples
    --------
    >>> count(2500), count(0.5), count(1_200_000_000_000_000)
    ('2,500', '0.5', '1.2 × 10^15')
    """
    if not _HUGE <= abs(number) < inf:
        return f"{number:,.10g}"
    digits, exponent = f"{number:.3e}".split("e")
    return f"{float(digits):g} × 10^{int(exponent)}"


def probability(value: float, decimals: int = 3) -> str:
    """Format a probability with `decimals` decimals; "0" and "1" only for exactly 0 and 1.

    Examples
    --------
    >>> probability(0.12345), probability(0.00001), probability(0.0), probability(0.9999)
    ('0.123', '<0.001', '0', '>0.999')
    """
    least = 10.0**-decimals
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if value < least / 2:
        return f"<{least:.{decimals}f}"
    return f">{1 - least:.{decimals}f}" if value > 1 - least / 2 else f"{value:.{decimals}f}"
