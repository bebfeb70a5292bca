"""Lists of labels in one column: real lists, or texts with separators."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from luce.errors import DataError
from luce.reading.columns import Column, is_missing
from luce.reading.reading import Inspection

Separator: TypeAlias = str | None
_SEPARATORS = ("|", ";", "+", ",")
# A list as Python prints it: [7, 10] or ['a'].
_PRINTED = re.compile(r"""\s*\[(\s*["'].*["']\s*|[^\[\]]*,[^\[\]]*)\]\s*""", re.DOTALL)


def read_label_lists(
    column: Column, separator: Separator, inspection: Inspection, name: str
) -> Column:
    """Read every value as a tuple of different labels, refusing the rows where it is none.

    A text is split at `separator` or, unless that is given, at the first of | ; + , that occurs
    anywhere in the column; without any, it is one label.
    """
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise DataError(f"separator = {separator!r}; a text such as '|' is needed.")
    texts = [value for value in column.values if isinstance(value, str)]
    if separator is None:
        separator = _find_separator(texts)
    values: list[Any] = []
    sentences: dict[int, str] = {}
    for k, value in enumerate(column.values):
        labels, wrong = _labels(value, separator)
        values.append(labels)
        if wrong:
            sentences[k] = f"{name} {wrong}"
    if sentences:
        for i, k in enumerate(column.codes.tolist()):
            if k in sentences:
                inspection.refuse_row(i, sentences[k])
    return Column(column.codes, values)


def is_printed_list(text: str) -> bool:
    """Is this a list that became text on its way, as in a CSV file that pandas wrote?"""
    return _PRINTED.fullmatch(text) is not None


def _find_separator(texts: list[str]) -> str | None:
    """Find what stands between labels; a plus that only ends one, as in SR3+, does not."""
    plus = re.compile(r"\w\s*\+\s*\w")
    found = [
        s
        for s in _SEPARATORS
        if any(plus.search(text) if s == "+" else s in text for text in texts)
    ]
    if len(found) > 1:
        raise DataError(
            f"labels may be separated by {' or by '.join(map(repr, found))}; say which with "
            "separator=... (--separator)."
        )
    return found[0] if found else None


def _labels(value: Any, separator: Separator) -> tuple[tuple[Any, ...], str]:
    """Return the labels, and what is wrong with them, if anything."""
    if is_missing(value):
        return (), "is empty; at least one label is needed."
    if isinstance(value, str):
        if is_printed_list(value):
            return (), f"is {value!r}, a list printed as text; write the labels as a|b|c."
        labels = tuple(x.strip() for x in (value.split(separator) if separator else [value]))
    elif isinstance(value, (tuple, frozenset)):
        labels = tuple(sorted(value, key=repr)) if isinstance(value, frozenset) else value
        labels = tuple(x.strip() if isinstance(x, str) else x for x in labels)
    else:
        labels = (value,)
    if not labels or any(map(is_missing, labels)):
        return (), f"is {value!r}; a label in it is empty."
    if len(set(labels)) < len(labels):
        twice = next(x for i, x in enumerate(labels) if x in labels[:i])
        return (), f"names {twice!r} twice."
    return labels, ""
