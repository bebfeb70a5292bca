"""Labels as text of pictures: short and distinct, in letters that some font has."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from luce._types import Label
from luce.counts.short_labels import MOST_CHARACTERS, one_line, shortened
from luce.page.short_texts import numbered

# Fonts that hold stand-ins or parts of formulas at the code points of other characters.
_NO_LETTERS = ("Last Resort", "cm", "STIXNonUni", "STIXSize")


class Names(NamedTuple):
    """Texts in the order of the labels, and the fonts that together have all their letters."""

    texts: list[str]
    fonts: list[str]

    @property
    def look(self) -> dict[str, Any]:
        """Text properties that show a name as it is, never as a formula."""
        # Slanted and bold fonts have fewer letters.
        upright = {"fontfamily": self.fonts, "fontstyle": "normal", "fontweight": "normal"}
        return {**upright, "parse_math": False, "usetex": False}


def names_of(labels: Sequence[Label], numbers: Iterable[int], most: int = MOST_CHARACTERS) -> Names:
    """Convert the labels of some categories to names.

    Parameters
    ----------
    labels
        All labels.
    numbers
        Numbers of the categories to name.  Names that are equal even so end in them.
    most
        Largest number of characters; longer names lose their middle, except for the part that tells
        them apart.
    """
    chosen = list(numbers)
    short = shortened([one_line(labels[i]) for i in chosen], most)
    fonts, known = _fonts_for({c for text in short for c in text})
    texts = [_written(text, known) for text in short]
    return Names(numbered(zip(chosen, texts, strict=True)), fonts)


def _written(text: str, known: set[str]) -> str:
    """Replace letters that no font has by �, and leave out marks that no font has."""
    return "".join(
        c if c in known else "" if unicodedata.category(c).startswith("M") else "�" for c in text
    )


def _fonts_for(characters: set[str]) -> tuple[list[str], set[str]]:
    """Choose fonts, those in use first; return their names and the characters they have."""
    from matplotlib.font_manager import FontProperties, findfont

    own = [
        FontProperties(family=[family], style="normal", weight="normal")
        for family in FontProperties().get_family()
    ]
    paths = [findfont(font) for font in own]
    fonts = list(dict.fromkeys(FontProperties(fname=path).get_name() for path in paths))
    missing = {c for c in characters if not any(ord(c) in letters_of(path) for path in paths)}
    for name, path in _installed() if missing else ():
        found = {c for c in missing if ord(c) in letters_of(path)}
        if found:
            fonts.append(name)
            missing -= found
        if not missing:
            break
    return fonts, characters - missing


def _installed() -> list[tuple[str, str]]:
    """List name and path of every upright font; DejaVu Sans, matplotlib's own, first."""
    from matplotlib.font_manager import fontManager

    upright = {
        f.name: f.fname
        for f in fontManager.ttflist
        if f.style == "normal" and f.weight in (400, "normal", "regular")
        if not f.name.startswith(_NO_LETTERS)
    }
    return sorted(upright.items(), key=lambda font: (font[0] != "DejaVu Sans", font))


@cache
def letters_of(path: str) -> frozenset[int]:
    """Read the code points that a font file has; none where the file is broken."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()
