"""JSON Lines: an object a line with columns as keys, or a list a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from luce.counts.labels import some
from luce.errors import DataError, Problem
from luce.reading.text import LineSource, Row, TextFile, check_width
from luce.reading.values import hashable


def json_lines_source(file: TextFile) -> LineSource:
    """Find the columns of JSON Lines; a line that is a list is an order."""
    names: dict[str, None] = {}
    lists = 0
    for _, value in _values(file):  # all lines, since a key may come late
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
            check_width(names, file.path.name)
        lists += isinstance(value, list)
    if lists and not names:
        names = {"order": None}
    if not names:
        file.refuse_problems()
        raise DataError(f"{file.path.name}: there is no line with a JSON object or list.")
    columns = list(names)

    def rows() -> Iterator[Row]:
        for line, value in _values(file):
            if isinstance(value, list) and columns == ["order"]:
                value = {"order": value}
            if not isinstance(value, dict):
                given = "a list" if isinstance(value, list) else _beginning(value)
                wanted = f"an object with the keys {some(columns)} is needed."
                file.problems.add(Problem(line, f"{given} stands here; {wanted}"))
                continue
            yield line, tuple(map(value.get, columns))

    return LineSource(file.path.name, columns, rows, file.problems, usable=hashable)


def _values(file: TextFile) -> Iterator[tuple[int, Any]]:
    """Yield line and value of each line of JSON; other lines become problems."""
    for line, text in file.lines():
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_key_twice)
        except json.JSONDecodeError as error:
            what = f"this is not JSON: {error.msg} at character {error.pos + 1}."
            file.problems.add(Problem(line, what))
        except ValueError as error:
            file.problems.add(Problem(line, f"this is not JSON: {error}."))
        except RecursionError:
            file.problems.add(Problem(line, "lists or objects are nested too deep here."))
        else:
            yield line, value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _beginning(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
