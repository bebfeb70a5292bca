"""Data of several groups: the rows of each, read over the categories of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from luce._types import Label
from luce.errors import (
    BadRowsError,
    DataError,
    IgnoredColumnsWarning,
    SkippedRowsWarning,
    warn_user,
    warnings_gathered,
)
from luce.reading.files import (
    USUAL_TEXT,
    TextOptions,
    checked_file,
    kind_of,
    naming,
    open_file,
)
from luce.reading.frames import source_of
from luce.reading.kind import Kind, Reading, check_column
from luce.reading.sources import Part, Source, split, without
from luce.reading.values import in_order


def read_groups(
    data: Any,
    by: str | Sequence[str],
    kind: str | None = None,
    text: TextOptions = USUAL_TEXT,
    **options: Any,
) -> tuple[str, dict[Label, Reading]]:
    """Read the rows of each group, over the categories of all groups.

    Parameters
    ----------
    data
        A file, or data in memory with named columns.
    by
        The column that names the group of each row, or several: groups are then named by tuples.
    kind, text, options
        As for `luce.reading.files.understand`.

    Returns
    -------
    tuple
        The kind of the data, and the reading of each group, in the order in which groups appear.
    """
    if not isinstance(data, (str, PathLike)):
        return _read(source_of(data), by, kind, options)
    where = checked_file(data)
    with naming(where.name):
        source, settled, defaults = open_file(where, kind, text)
        return _read(source, by, kind or settled, {**defaults, **options})


def _read(
    source: Source, by: str | Sequence[str], kind: str | None, options: dict[str, Any]
) -> tuple[str, dict[Label, Reading]]:
    columns = [by] if isinstance(by, str) else list(by)
    for column in columns:
        check_column(source.names, "by", column)
    found = kind_of(without(source, columns), kind, options)
    parts = split(source, columns, bool(options.get("skip_bad")))
    if not parts:
        raise DataError(f"there are column names but no {source.unit}s of data.")
    said: dict[Label, list[Warning]] = {}
    readings: dict[Label, Reading] = {}
    for name, part in parts.items():
        with warnings_gathered() as said[name]:
            readings[name] = _read_part(name, part, found, options)
    every = in_order(c for reading in readings.values() for c in _labels(reading))
    for name, reading in readings.items():
        if set(_labels(reading)) != set(every):
            with warnings_gathered():  # the same ones again
                again = {**options, "categories": every}
                readings[name] = _read_part(name, parts[name], found, again)
    _warn(said)
    return found.name, readings


def _read_part(name: Label, part: Part, kind: Kind, options: dict[str, Any]) -> Reading:
    """Read the rows of one group; errors but those of single rows name the group."""
    try:
        reading = kind.read(part, **options)
        _labels(reading)
    except BadRowsError:
        raise
    except DataError as error:
        raise DataError(f"group {name!r}: {error}") from None
    return reading._replace(uses=part.uses)


def _labels(reading: Reading) -> Sequence[Label]:
    if isinstance(reading.counts, dict):
        raise DataError("rows='separate' makes several data sets of a group itself.")
    return reading.counts.categories


def _warn(said: Mapping[Label, list[Warning]]) -> None:
    """Repeat the warnings of all groups: of columns and rows once, others with the group."""
    ignored: dict[str, str] = {}
    skipped: list[SkippedRowsWarning] = []
    others: list[Warning] = []
    for name, warnings in said.items():
        for warning in warnings:
            if isinstance(warning, IgnoredColumnsWarning):
                ignored |= warning.columns
            elif isinstance(warning, SkippedRowsWarning):
                skipped.append(warning)
            else:
                others.append(type(warning)(f"group {name!r}: {warning}"))
    if ignored:
        warn_user(IgnoredColumnsWarning(ignored))
    if skipped:
        problems = sorted(problem for warning in skipped for problem in warning.problems)
        first = skipped[0]
        warn_user(SkippedRowsWarning(problems, first.unit, first.source, first.advice))
    for warning in others:
        warn_user(warning)
