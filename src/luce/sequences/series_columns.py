"""Time series in columns: the channels, sequences and times of a frame or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.labels import Categories, is_hashable, some
from luce.errors import DataError, IgnoredColumnsWarning, Problem, listed, warn_user
from luce.reading.accounts import LEFT_OUT
from luce.reading.column_contents import Head, holds_numbers, holds_times, present
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import check_column, usual_columns
from luce.reading.questions import Questions
from luce.reading.rows import Column
from luce.reading.sources import Source
from luce.reading.text import LineSource
from luce.reading.values import as_number, in_order, is_missing, is_unnamed, plain, repeated

NO_NUMBER_ADVICE = (
    "Write nan or None where a value is missing; labels need the emission Categories() "
    "(--emission categories)."
)

_MOST_WRONG = 1_000  # entries that are no numbers and are looked up one by one

# Names of columns, spelled plainly, that are asked about besides the usual ones of the readers.
_ASKED = {"sequence": ("trial",), "time": ("date",)}


class Chosen(NamedTuple):
    """The columns that the user named: None where nothing was said, False for none."""

    columns: list[Label] | None
    sequence: Any
    time: Any

    @property
    def named(self) -> str:
        """The option of a frame that was given, if any."""
        return next((n for n in ("sequence", "time") if getattr(self, n) not in (None, False)), "")


class Table(NamedTuple):
    """Rows as they were read, before a look at their values; see `Series` for the first fields.

    Parameters
    ----------
    place
        Gives words for the place of a row.
    of
        The name of the file, which begins all messages.
    """

    values: FloatArray
    borders: IntArray
    channels: tuple[Label, ...]
    names: tuple[Label, ...]
    times: FloatArray | None
    categories: tuple[Label, ...]
    dates: bool
    uses: Mapping[str, str]
    place: Callable[[int], str]
    of: str = ""


def has_columns(given: Any) -> bool:
    """Tell whether data is a frame, or a column of one; a mapping holds sequences by name."""
    return not isinstance(given, Mapping) and (is_frame(given) or _is_named_list(given))


def read_frame(given: Any, kind: str, chosen: Chosen) -> Table:
    """Read a frame, or a column of one."""
    frame, labels = _as_frame(given)
    return read_source(source_of(frame), kind, chosen, labels)


def _is_named_list(given: Any) -> bool:
    """Tell a column of pandas or polars, which has a name."""
    return hasattr(given, "to_frame") and hasattr(given, "to_list") and hasattr(given, "name")


def _as_frame(given: Any) -> tuple[Any, dict[str, Label]]:
    """Name the columns of a frame by texts, and make an index of dates its column of times.

    Also returns the labels of columns whose names were no texts.
    """
    if _is_named_list(given):
        nameless = hasattr(given, "index") and given.name is None  # of pandas
        given = given.to_frame(0) if nameless else given.to_frame()
    index: Any = getattr(given, "index", None)
    dates = getattr(getattr(index, "dtype", None), "kind", "") in ("m", "M")
    if dates and index.name is None and "time" not in given.columns:
        given = given.rename_axis(index="time")
    names = list(given.columns) if hasattr(given, "set_axis") else []
    if all(isinstance(name, str) for name in names):
        return given, {}
    texts = list(map(str, names))
    twice = repeated(texts)
    if twice is not None:
        raise DataError(f"two columns are called {twice!r}; every column needs its own name.")
    return given.set_axis(texts, axis=1), dict(zip(texts, names, strict=True))


class _Roles(NamedTuple):
    """The columns of a source by the part that each plays."""

    channels: list[str]
    sequence: str | None
    time: str | None
    uses: dict[str, str]


def read_source(
    source: Source, kind: str, chosen: Chosen, labels: Mapping[str, Label] | None = None
) -> Table:
    """Read the rows of a frame or a file."""
    of = f"{source.name}: " if source.name else ""
    try:
        read = _measure(source, kind, chosen, labels or {})
    except DataError as error:
        if of and not str(error).startswith(of):
            error.args = (f"{of}{error}",)
        raise error from None
    return read._replace(of=of)


def _measure(source: Source, kind: str, chosen: Chosen, labels: Mapping[str, Label]) -> Table:
    if isinstance(source, LineSource):
        _refuse_no_header(source.names)
    roles = _settle(source, kind, _as_texts(chosen, labels))
    numbers = [] if kind == "categories" else list(roles.channels)
    dated = next((name for name in numbers if source.temporal(name)), None)
    if dated is not None:
        raise DataError(
            f"the column {dated!r} holds {source.temporal(dated)}, no numbers; if it is the time, "
            f"say time={dated!r} (--time {dated}), and leave it out of columns."
        )
    columns = roles.channels if kind == "categories" else []
    dates = False
    if roles.time is not None:
        temporal = source.temporal(roles.time)
        dates = temporal == "dates"
        number = bool(temporal) or holds_numbers(source.head([roles.time])[roles.time])
        (numbers if number else columns).append(roles.time)
    if roles.sequence is not None:
        columns = [*columns, roles.sequence]
    table = source.measurements(numbers, columns)
    if source.problems:
        raise DataError(
            f"{listed(source.problems, source.unit)}\nMend the data: a series needs all its rows."
        )
    _refuse_text(source, numbers, table.wrong)

    def place(row: int) -> str:
        counted = "" if source.unit == "line" else " (counted from 1)"
        return f"{source.unit} {source.place(row)}{counted}"

    values: FloatArray | Column = table.numbers[:, : len(roles.channels)]
    if kind == "categories":
        values = table.labels[roles.channels[0]]
    elif roles.time in numbers:
        values = np.ascontiguousarray(values)
    joined, categories = joined_values([values])
    borders, names = _read_sequence_column(
        table.labels[roles.sequence] if roles.sequence else None, len(joined), place, roles.sequence
    )
    times = None
    if roles.time is not None and roles.time in numbers:
        times = table.numbers[:, -1].copy()
    elif roles.time is not None:
        times, wrong = times_of(table.labels[roles.time])
        dates = True
        if wrong is not None:
            raise DataError(
                f"{place(wrong)}: {table.labels[roles.time][wrong]!r} in {roles.time!r} is no "
                "time; numbers are needed, or dates as 2024-05-31 or 2024-05-31T13:45:10. Name "
                "another column with time=..., or none: time=False (--time none)."
            )
    channels = tuple(labels.get(name, name) for name in roles.channels)
    return Table(joined, borders, channels, names, times, categories, dates, roles.uses, place)


def _refuse_no_header(names: Sequence[str]) -> None:
    """Refuse a file whose first line holds measurements; the names 0, 1, 2, ... are allowed."""
    numbers = [as_number(name) for name in names]
    counted = [[float(k) for k in range(a, a + len(names))] for a in (0, 1)]
    if all(x is not None and x == x for x in numbers) and numbers not in counted:
        raise DataError(
            f"the first line holds the numbers {some(names, 3, quote=False)}; a line with the "
            "names of the columns is needed above the rows."
        )


def _as_texts(chosen: Chosen, labels: Mapping[str, Label]) -> Chosen:
    """Replace labels of columns, where these are no texts, by the texts that stand for them."""
    text = {label: name for name, label in labels.items()}

    def named(label: Any) -> Any:
        said = label is None or isinstance(label, bool)
        return label if said or not is_hashable(label) else text.get(label, label)

    columns = None if chosen.columns is None else list(map(named, chosen.columns))
    return Chosen(columns, named(chosen.sequence), named(chosen.time))


def _settle(source: Source, kind: str, chosen: Chosen) -> _Roles:
    """Find the part of every column, or ask."""
    names = source.names
    with Questions() as questions:
        for role in ("sequence", "time"):
            column = getattr(chosen, role)
            if column is True:
                questions.ask(f"{role} = True; the name of a column is needed, or False for none.")
            elif column not in (None, False):
                with questions.gathered():
                    check_column(names, role, column)
        for column in chosen.columns or ():
            with questions.gathered():
                check_column(names, "columns", column)  # type: ignore[arg-type]
    listed_twice = [c for c in (chosen.sequence, chosen.time) if c in (chosen.columns or ())]
    if listed_twice or (chosen.sequence and chosen.sequence == chosen.time):
        both = listed_twice[0] if listed_twice else chosen.sequence
        raise DataError(
            f"{both!r} is named twice; a column is a channel, the sequence or the time."
        )
    uses: dict[str, str] = {}
    taken = {role: _role(role, names, chosen, uses) for role in ("sequence", "time")}
    left = [name for name in names if name not in taken.values()]
    if chosen.columns is None:
        channels = _find_channels(source, left, kind, chosen, taken, uses)
    else:
        channels = [name for name in chosen.columns if isinstance(name, str)]
        _ask_about_roles(left, channels, chosen, taken, ("sequence",), {})
        if kind == "categories" and len(channels) != 1:
            raise DataError(
                f"columns = {channels!r}; categories have one channel, so name one column."
            )
        uses.update(dict.fromkeys(left, LEFT_OUT))
    uses.update(dict.fromkeys(channels, "channel"))
    return _Roles(channels, taken["sequence"], taken["time"], uses)


def _role(role: str, names: Sequence[str], chosen: Chosen, uses: dict[str, str]) -> str | None:
    """Find the column of the sequence or the time: as named, or the one of exactly this name."""
    named = getattr(chosen, role)
    if named is False:
        return None
    if named is not None:
        uses[named] = role
        return str(named)
    if role not in names or role in (chosen.columns or ()) or role in uses:
        return None
    uses[role] = f"{role}, by its name ({role}=False leaves it out)"
    return role


def _asked_about(role: str, names: Sequence[str]) -> list[str]:
    """List columns that are called as the sequence or the time often is."""
    also = [name for name in names if plain(name) in _ASKED[role]]
    return list(dict.fromkeys([*usual_columns(names, role), *also]))


def _ask_about_roles(
    left: Sequence[str],
    channels: Sequence[str],
    chosen: Chosen,
    taken: Mapping[str, str | None],
    roles: Sequence[str],
    head: Head,
) -> dict[str, str]:
    """Ask about columns that may be the sequence or the time.

    Returns those which need no question, and why each is no channel.
    """
    settled: dict[str, str] = {}
    with Questions() as questions:
        for role in roles:
            found = [name for name in _asked_about(role, left) if name not in channels]
            if role == "time":
                found += [n for n in head if n not in found and holds_times(head[n])]
            if getattr(chosen, role) is False:
                settled |= dict.fromkeys(found, LEFT_OUT)
                continue
            if not found or taken[role] is not None:
                settled |= dict.fromkeys(found, f"called as the {role} often is; no channel")
                continue
            which = " or ".join(map(repr, found))
            one = (
                "all rows are one sequence" if role == "sequence" else "the order of rows is enough"
            )
            questions.ask(
                f"{which} may be the {role}; say {role}={found[0]!r} (--{role} {found[0]}), or "
                f"{role}=False (--{role} none) if {one}. If it is a channel, list it in "
                "columns=[...] (--columns)."
            )
    return settled


def _find_channels(
    source: Source,
    left: Sequence[str],
    kind: str,
    chosen: Chosen,
    taken: Mapping[str, str | None],
    uses: dict[str, str],
) -> list[str]:
    """Find the channels among the columns that are left: all columns of numbers."""
    head = source.head(left) if left else {}
    no_channels = _ask_about_roles(left, (), chosen, taken, ("sequence", "time"), head)
    unnamed = [name for name in left if is_unnamed(name)]
    rest = [name for name in left if name not in no_channels and name not in unnamed]
    ignored = {name: why for name, why in no_channels.items() if why != LEFT_OUT}
    if kind == "categories":
        if len(rest) != 1:
            raise DataError(
                "categories have one channel; "
                + (f"{some(rest)} may be it." if rest else "no column is left for it.")
                + " Say which with columns=[...] (--columns)."
            )
        channels = rest
    else:
        channels = [name for name in rest if _may_be_numbers(head[name])]
        ignored |= {name: _why_ignored(head[name]) for name in rest if name not in channels}
        if not channels:
            raise DataError(
                f"no column of numbers is left for the channels; the columns are "
                f"{some(source.names, 20)}. Labels need the emission Categories() (--emission "
                "categories)."
            )
    uses.update(dict.fromkeys(no_channels, LEFT_OUT))
    uses.update(dict.fromkeys(unnamed, "ignored: it names or numbers rows"))
    uses.update({name: f"ignored: {why}" for name, why in ignored.items()})
    if ignored:
        remedy = "If that is right, name the channels: columns=[...] (--columns)."
        warn_user(IgnoredColumnsWarning(ignored, source.name, remedy))
    return channels


def _may_be_numbers(column: Column) -> bool:
    """Tell whether the first rows hold numbers, or nothing at all."""
    return holds_numbers(column) or not present(column)


def _why_ignored(column: Column) -> str:
    held = present(column)
    if all(isinstance(value, bool) for value in held):
        return "yes or no, no numbers"
    return f"it holds {some(held, 2)}, no numbers"


def _refuse_text(
    source: Source, names: Sequence[str], wrong: Sequence[tuple[int, int, Any]]
) -> None:
    """Refuse entries that are no numbers, each with its row and value."""
    if not wrong:
        return
    problems = [
        Problem(source.place(row), f"{value!r} in {names[k]!r} is no number.")
        for row, k, value in wrong[:_MOST_WRONG]
    ]
    raise DataError(f"{listed(problems, source.unit)}\n{NO_NUMBER_ADVICE}")


def _read_sequence_column(
    column: Column | None, height: int, place: Callable[[int], str], name: str | None
) -> tuple[IntArray, tuple[Label, ...]]:
    """Read where each sequence begins, and its label; the rows of one must stand together."""
    if column is None:
        return np.asarray([0, height], np.int64), (0,)
    missing = column.missing
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"{place(row)}: the sequence is missing in {name!r}; every row needs one.")
    codes = column.codes
    begins = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]][:height])
    labels = [column[int(row)] for row in begins]
    first: dict[Label, int] = {}
    for row, label in zip(begins.tolist(), labels, strict=True):
        if label in first:
            raise DataError(
                f"{place(row)}: sequence {label!r}, which began in {place(first[label])}, goes on "
                f"after another; the rows of a sequence must stand together. Sort the rows by "
                f"{name!r}, keeping the order of times within each."
            )
        first[label] = row
    if labels:
        Categories(labels)  # refuses labels that runs cannot keep
    return np.r_[begins, height].astype(np.int64), tuple(labels)


def times_of(column: Column) -> tuple[FloatArray, int | None]:
    """Read dates as seconds since the beginning of 1970; also returns the first row of no date."""
    seconds = [np.nan if is_missing(value) else _seconds_of(value) for value in column.values]
    wrong = np.asarray([x is None for x in seconds], np.bool_)[column.codes]
    times = np.asarray([np.nan if x is None else x for x in seconds], np.float64)[column.codes]
    return times, int(np.argmax(wrong)) if wrong.any() else None


def _seconds_of(value: Any) -> float | None:
    """Read a date, or a text of one, as seconds since the beginning of 1970; None for others."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time_of_day.min)
    if not isinstance(value, datetime):
        return None
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return aware.timestamp()


def joined_values(values: Sequence[FloatArray | Column]) -> tuple[FloatArray, tuple[Label, ...]]:
    """Join the values of all sequences; labels become codes of their sorted labels."""
    columns = [column for column in values if isinstance(column, Column)]
    if not columns:
        arrays = [array for array in values if not isinstance(array, Column)]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays), ()
    labels = in_order(label for column in columns for label in present(column))
    if labels:
        Categories(labels)  # refuses labels that runs cannot keep
    code = {label: float(k) for k, label in enumerate(labels)}
    codes = []
    for column in columns:
        own = [np.nan if is_missing(x) else code.get(x, np.nan) for x in column.values]
        codes.append(np.asarray(own, np.float64)[column.codes])
    return np.concatenate(codes).reshape(-1, 1), tuple(labels)
