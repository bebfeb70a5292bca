"""Contents of columns: what the values are, and whether they fit the role they would play."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from luce.counts.labels import some
from luce.reading.orders import DID_NOT_FINISH
from luce.reading.rows import Column
from luce.reading.values import as_flag, as_number, is_missing, plain

Head = Mapping[str, Column]  # the first rows of some columns

_LONGEST_LABEL = 120  # characters of half of the values; longer ones are prose
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ].*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_LISTED = re.compile(r"[|;,]|\w\s*\+\s*\w")  # several labels in one text
_ORDERED = re.compile(r"[>|;,=\t]|\S\s+\S")  # several places in one text
_SIDES = re.compile(r"[|;&/]|\w\s*\+\s*\w")  # several players in one text; names have commas


def present(column: Column) -> list[Any]:
    """Return the distinct values that are not missing."""
    return [value for value in column.present() if not is_missing(value)]


def _share(column: Column, holds: Callable[[Any], bool]) -> float:
    """Return the share of distinct values, missing ones apart, of which something holds."""
    values = present(column)
    return sum(map(holds, values)) / len(values) if values else 0.0


def _is_date(value: Any) -> bool:
    if isinstance(value, str):
        return _DATE.fullmatch(value.strip()) is not None
    return hasattr(value, "isoformat")


def holds_numbers(column: Column) -> bool:
    """Tell whether all values are numbers; True and False are none, and NA is missing."""
    values = [value for value in present(column) if not isinstance(value, (bool, np.bool_))]
    numbers = [as_number(value) for value in values]
    return all(x is not None for x in numbers) and any(x == x for x in numbers)


def holds_times(column: Column) -> bool:
    """Tell whether a column holds dates or times of day."""
    return _share(column, _is_date) == 1.0


def holds_several(column: Column, pattern: re.Pattern[str] = _LISTED) -> bool:
    """Tell whether any value is a list, or a text with separators."""
    return any(
        isinstance(v, (tuple, frozenset)) or (isinstance(v, str) and pattern.search(v) is not None)
        for v in present(column)
    )


def holds_sides(column: Column) -> bool:
    """Tell whether most values name several players: Ann+Bo, Ann/Bo."""

    def is_side(value: Any) -> bool:
        return isinstance(value, (tuple, frozenset)) or (
            isinstance(value, str) and _SIDES.search(value) is not None
        )

    return _share(column, is_side) > 0.5


# -- roles -----------------------------------------------------------------------------------------


def _wrong_labels(column: Column) -> str:
    if holds_numbers(column) and any(x % 1 for x in column.numbers()[0] if x == x):
        return "holds fractions, which are no labels"
    if holds_times(column):
        return "holds dates or times, which are no labels"
    texts = [len(v) for v in present(column) if isinstance(v, str)]
    if texts and np.median(texts) > _LONGEST_LABEL:
        return "holds long texts, which are no labels"
    return ""


def _wrong_lists(column: Column) -> str:
    return "" if holds_several(column) else "holds single values, no lists such as a|b"


def _wrong_orders(column: Column) -> str:
    return "" if holds_several(column, _ORDERED) else "holds single values, no orders such as a > b"


def _wrong_numbers(column: Column) -> str:
    numbers = _share(column, lambda v: as_number(v) is not None)
    return "" if numbers >= 0.5 else f"holds {some(present(column), 2)}, no numbers"


def _wrong_ranks(column: Column) -> str:
    def is_rank(value: Any) -> bool:
        return as_number(value) is not None or str(value).strip().lower() in DID_NOT_FINISH

    return "" if _share(column, is_rank) >= 0.5 else f"holds {some(present(column), 2)}, no ranks"


def _wrong_flags(column: Column) -> str:
    flags = _share(column, lambda v: as_flag(v) is not None)
    return "" if flags >= 0.5 else f"holds {some(present(column), 2)}, neither 1 nor 0"


# What the values of a role must be; each check says what is wrong, or "".
_CHECKS: dict[str, Callable[[Column], str]] = {
    **dict.fromkeys(("winner", "loser", "item1", "item2", "item", "alternative"), _wrong_labels),
    **dict.fromkeys(("source", "target", "state"), _wrong_labels),
    **dict.fromkeys(("group", "offered"), _wrong_lists),
    **dict.fromkeys(("wins1", "wins2", "tied", "count"), _wrong_numbers),
    "order": _wrong_orders,
    "rank": _wrong_ranks,
    "available": _wrong_flags,
}


def contradiction(role: str, column: Column) -> str:
    """Say why a column cannot play a role, by its values; "" where nothing is against it."""
    if not present(column) or role not in _CHECKS:
        return ""
    return _CHECKS[role](column)


def numbers_of_wins(role: str, name: str, column: Column) -> str:
    """Say of a column such as won, taken for a winner, that it holds numbers; "" of others."""
    if plain(name) == role or not holds_numbers(column):
        return ""
    return f"{name!r} holds numbers, which may be how many were won or lost"


def is_key(column: Column) -> bool:
    """Tell whether values come back, as those of a column that gathers rows do."""
    return len(column) < 2 or len(column.present()) < len(column)


def repeats_within(key: Column, item: Column) -> bool:
    """Tell whether an item comes back among the rows of most keys."""
    pairs, times = np.unique(key.codes * len(item.values) + item.codes, return_counts=True)
    again = np.unique(pairs[times > 1] // len(item.values))
    return len(again) > 0.5 * len(key.present())


def are_ranges(low: Column, high: Column) -> bool:
    """Tell whether one column of numbers is below the other in all of several rows."""
    a, b = low.numbers()[0], high.numbers()[0]
    return len(a) >= 3 and bool((a < b).all())


def same_values(role: str, head: Head, one: str, other: str) -> bool:
    """Tell whether two columns would play a role alike; times need only have the same order."""
    a, b = head[one], head[other]
    if role != "time":
        return a.tolist() == b.tolist()
    ranks = [np.unique(column.numbers()[0], return_inverse=True)[1] for column in (a, b)]
    return bool((ranks[0] == ranks[1]).all())
