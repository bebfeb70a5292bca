"""Draw small pictures for cells of tables in a notebook: bars, intervals, lines and sets.

They have no text and are hidden from screen readers: their numbers stand in words beside them.
Colours are those of the notebook or, elsewhere, the colour of the text and a blue that can be seen
on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 120, 14  # pixels
_BOX = 10  # pixels of a category in the picture of a set
MOST_BOXES = 40  # categories of a set that is drawn

_MARK = "var(--jp-brand-color1, #3c85c4)"
_QUIET = "currentColor"


@dataclass(frozen=True)
class SmallPicture:
    """A picture that stands in a cell as it is; without `svg` the cell is empty."""

    svg: str = ""


def bar(share: float) -> SmallPicture:
    """Draw a bar whose length is a share of the cell.

    Examples
    --------
    >>> bar(0.5).svg.count('width="60"'), bar(float("nan")).svg
    (1, '')
    """
    if not math.isfinite(share):
        return SmallPicture()
    return _picture(
        f'<rect x="0" y="2" width="{_WIDTH}" height="10" fill="{_QUIET}" opacity="0.12"/>'
        f'<rect x="0" y="2" width="{_number(_WIDTH * _within(share))}" height="10" '
        f'style="fill: {_MARK}"/>'
    )


def interval(lower: float, middle: float, upper: float) -> SmallPicture:
    """Draw an interval and a dot within it, each a share of the cell."""
    if not all(map(math.isfinite, (lower, middle, upper))):
        return SmallPicture()
    a, m, b = (_number(4 + (_WIDTH - 8) * _within(x)) for x in (lower, middle, upper))
    return _picture(
        f'<path d="M0 7H{_WIDTH}" stroke="{_QUIET}" opacity="0.2"/>'
        f'<path d="M{a} 7H{b}" stroke-width="3" style="stroke: {_MARK}"/>'
        f'<circle cx="{m}" cy="7" r="4" style="fill: {_MARK}"/>'
    )


def intervals(
    lower: Sequence[float], middle: Sequence[float], upper: Sequence[float], origin: bool = False
) -> list[SmallPicture]:
    """Draw intervals on one scale, which includes 0 if `origin`.

    Examples
    --------
    >>> len(intervals([1.0, 2.0], [1.5, 2.5], [2.0, 3.0]))
    2
    """
    ends = [x for x in (*lower, *upper) if math.isfinite(x)] + ([0.0] if origin else [])
    if not ends:
        return [SmallPicture() for _ in middle]
    low, width = min(ends), max(ends) - min(ends) or 1.0
    rows = zip(lower, middle, upper, strict=True)
    return [interval(*((x - low) / width for x in row)) for row in rows]


def lines(series: Sequence[Sequence[float]]) -> SmallPicture:
    """Draw series of equal length over each other, from their least to their largest value.

    Examples
    --------
    >>> lines([[0.0, 1.0], [1.0, 0.0]]).svg.count("<polyline")
    2
    """
    values = [x for each in series for x in each if math.isfinite(x)]
    if not values:
        return SmallPicture()
    low, width = min(values), max(values) - min(values)
    scale = (_HEIGHT - 2) / width if width else 0.0
    drawn = []
    for each in series:
        step = _WIDTH / max(len(each) - 1, 1)
        places = [
            f"{_number(k * step)},{_number(_HEIGHT - 1 - (x - low) * scale)}"
            for k, x in enumerate(each)
            if math.isfinite(x)
        ]
        drawn.append(
            f'<polyline points="{" ".join(places)}" fill="none" opacity="0.6" '
            f'style="stroke: {_MARK}"/>'
        )
    return _picture("".join(drawn))


def members(inside: Collection[int], among: int) -> SmallPicture:
    """Draw a box for each of at most `MOST_BOXES` categories, filled if it is in the set.

    Examples
    --------
    >>> members([0, 2], 3).svg.count("<rect")
    3
    """
    boxes = [
        f'<rect x="{_BOX * i + 1}" y="3" width="{_BOX - 2}" height="8" '
        + (f'style="fill: {_MARK}"/>' if i in inside else f'fill="{_QUIET}" opacity="0.15"/>')
        for i in range(among)
    ]
    return _picture("".join(boxes), _BOX * among)


def _picture(content: str, width: int = _WIDTH) -> SmallPicture:
    size = f'width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}"'
    return SmallPicture(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="max-width: none" '
        f'aria-hidden="true">{content}</svg>'
    )


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _number(value: float) -> str:
    return f"{value:.4g}"
