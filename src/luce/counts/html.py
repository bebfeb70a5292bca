"""Show counts in a notebook: what was seen of each category, and the heaviest sets and meetings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce.counts.confounding import untold_parameters
from luce.counts.family import SetFamily, describe_set
from luce.counts.labels import plural, printable, some
from luce.page.plain_tables import MOST_ROWS, PictureColumn, bare_html
from luce.page.small_pictures import MOST_BOXES, SmallPicture, bar, members
from luce.page.words import escaped

if TYPE_CHECKING:
    from luce.counts.counts import ConditionalCounts


def html_of_counts(counts: ConditionalCounts) -> str:
    """Lay counts out as HTML, at most 20 rows of a kind; labels are escaped."""
    parts = [_paragraph(repr(counts))]
    if counts.category_counts.any():
        parts += _categories(counts)
    if len(counts):
        parts += _sets(counts, counts.sets)
    if counts.events is not None:
        told = counts.events.in_words(counts.categories)
        rows = [[printable(words)] for words in told[:MOST_ROWS]]
        unit = counts.events.unit
        parts += [bare_html([[unit], *rows], 0), *_more(len(told), f"more {unit}")]
        untold = untold_parameters(counts).items()
        parts += [_paragraph(f"{name}: {why}") for name, why in untold]
    if counts.effects:
        names = some(counts.effects, quote=False)
        parts.append(_paragraph(f"No competitors, but effects: {names}."))
    return "\n".join(parts)


def _categories(counts: ConditionalCounts) -> list[str]:
    """Show how often each of the first categories was seen by itself."""
    first = counts.category_counts[:MOST_ROWS]
    most = float(counts.category_counts.max())
    rows = [
        [printable(label), f"{number:,.10g}"]
        for label, number in zip(counts.categories, first.tolist(), strict=False)
    ]
    drawn = [bar(number / most) for number in first.tolist()]
    pictures = [PictureColumn(2, "share of the most", drawn)]
    table = bare_html([["category", "outcomes"], *rows], 0, pictures)
    return [table, *_more(counts.n_categories, "more category", "more categories")]


def _sets(counts: ConditionalCounts, family: SetFamily) -> list[str]:
    """Show the sets of the largest exponents, with a box for each category."""
    heaviest = np.argsort(-np.abs(family.exponent), kind="stable")[:MOST_ROWS].tolist()
    rows = [[printable(describe_set(counts.categories, family, t))] for t in heaviest]
    pictures = []
    if family.n <= MOST_BOXES:
        drawn = [_members(family, t) for t in heaviest]
        pictures.append(PictureColumn(1, "categories in the set", drawn))
    table = bare_html([["set"], *rows], 0, pictures)
    return [table, *_more(family.n_sets, "more set")]


def _members(family: SetFamily, t: int) -> SmallPicture:
    """Draw a box for each category, filled for members of set t."""
    is_member = np.zeros(family.n, np.bool_)
    is_member[family.listed(t)] = True
    if family.complement[family.nest_of_set[t]]:
        is_member = ~is_member
    return members(np.flatnonzero(is_member).tolist(), family.n)


def _more(total: int, one: str, many: str | None = None) -> list[str]:
    left = total - MOST_ROWS
    return [_paragraph(f"... and {plural(left, one, many)}")] if left > 0 else []


def _paragraph(words: str) -> str:
    return f"<p>{escaped(words)}</p>"
