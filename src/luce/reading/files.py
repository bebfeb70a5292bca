"""`read`: a file becomes counts, whatever its format, as long as its meaning is clear."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from luce.errors import DataError, Problem
from luce.reading.delimited import delimited_source, json_lines_source
from luce.reading.kinds import find_kind
from luce.reading.line_source import LineSource, Row
from luce.reading.lines import TextFile
from luce.reading.parquet import ParquetSource
from luce.reading.pgn import is_pgn, parse_pgn
from luce.reading.preflib import is_preflib, parse_preflib
from luce.reading.reading import READERS, Counts, Reading
from luce.reading.sources import Source


def read(
    path: str | PathLike[str],
    kind: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> Counts:
    r"""Read a file: CSV, Parquet, JSON Lines, PrefLib or PGN.

    Parameters
    ----------
    path
        The file.  Text may be compressed (.gz).
    kind
        What it holds: "pairs", "rankings", "choices", "transitions", "table", "teams" or
        "groups"; found out where the columns leave no doubt, else asked for.
    encoding
        Of text; UTF-8 unless given.
    delimiter
        Between values of a table of text; found in its first line unless given.
    options
        Those of the reader of that kind: columns, ties, unranked, skip_bad and so on.

    Returns
    -------
    ConditionalCounts
        Or a mapping of them, for transitions with ``rows="separate"``.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "games.csv"
    >>> _ = path.write_text("winner,loser\nann,bo\nbo,cy\nann,cy\n")
    >>> read(path)
    ConditionalCounts(3 categories, 3 outcomes, 3 sets)
    """
    return understand(path, kind, encoding=encoding, delimiter=delimiter, **options)[1].counts


def understand(
    path: str | PathLike[str],
    kind: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> tuple[str, Reading]:
    """Read a file, and say which kind of data it was and how much of it."""
    where = Path(path)
    _check_file(where)
    if kind is not None and kind not in READERS:
        raise DataError(f"kind = {kind!r}; one of {', '.join(READERS)} is needed.")
    try:
        source, kind, defaults = _source(where, kind, encoding, delimiter)
    except DataError as error:
        raise _located(error, where.name) from None
    _check_options(kind, options)
    try:
        return kind, READERS[kind](source, **{**defaults, **options})
    except DataError as error:
        raise _located(error, where.name) from None


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise DataError(f"{path}: there is no such file.")
        if not path.is_file():
            raise DataError(f"{path}: this is not a file.")
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _source(
    path: Path, kind: str | None, encoding: str | None, delimiter: str | None
) -> tuple[Source, str, dict[str, Any]]:
    """Open the file: its rows, what they are, and what its format settles by itself."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        source: Source = ParquetSource(path, magic)
        return source, kind or find_kind(source), {}
    text = TextFile(path, encoding)
    head = text.head()
    if not head.strip("\0\ufeff \t\r\n"):
        raise DataError("the file is empty.")
    if "\0" in head[:1000]:
        raise DataError("this is neither text nor Parquet; it holds null bytes.")
    if is_preflib(head, text.suffix):
        return _preflib(text, kind)
    if is_pgn(head):
        if kind not in (None, "pairs"):
            raise DataError(f"kind = {kind!r}, but games in PGN are pairs.")
        roles = {"item1": "White", "item2": "Black", "outcome": "Result"}
        return _games(text), "pairs", roles
    if text.suffix in (".jsonl", ".ndjson") or head.lstrip()[:1] in "{[":
        source = json_lines_source(text)
    elif text.suffix == ".txt" and kind == "rankings":
        source = _plain_orders(text)
    else:
        source = delimited_source(text, delimiter)
    return source, kind or find_kind(source), {}


def _preflib(text: TextFile, kind: str | None) -> tuple[Source, str, dict[str, Any]]:
    parsed = parse_preflib(text.lines(), text.suffix)
    problems = text.problems | set(parsed.problems)
    names = parsed.names
    if parsed.data_type == "wmd":
        if kind != "pairs":
            raise DataError(
                "a weighted graph (wmd) does not say what its weights are. If an edge from a to b "
                "of weight w means that a beat b w times, say kind='pairs' (--kind pairs)."
            )
        edges = [(e.line, (names[e.source], names[e.target], e.weight)) for e in parsed.edges]
        source = LineSource(text.path.name, ["winner", "loser", "count"],
                            lambda: iter(edges), problems)  # fmt: skip
        return source, "pairs", {"categories": names}
    if kind not in (None, "rankings"):
        raise DataError(f"kind = {kind!r}, but {parsed.data_type} files hold rankings.")

    def rows() -> Iterator[Row]:
        for order in parsed.orders:
            classes = tuple(
                names[c[0]] if len(c) == 1 else frozenset(names[k] for k in c)
                for c in order.classes
            )
            yield order.line, (classes, order.count)

    source = LineSource(text.path.name, ["order", "count"], rows, problems)
    return source, "rankings", {"categories": names, "layout": "orders"}


def _games(text: TextFile) -> Source:
    """Games with a result; those that were not finished say nothing."""

    def rows() -> Iterator[Row]:
        for game in parse_pgn(text.lines()):
            if isinstance(game, Problem):
                text.problems.add(game)
            elif game.result != "*":
                yield game.line, (game.white, game.black, game.result)

    return LineSource(text.path.name, ["White", "Black", "Result"], rows, text.problems)


def _plain_orders(text: TextFile) -> Source:
    """A ranking a line, best first, with no header."""

    def rows() -> Iterator[Row]:
        return ((line, (order.strip(),)) for line, order in text.lines() if order.strip())

    return LineSource(text.path.name, ["order"], rows, text.problems)


def _check_options(kind: str, options: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(READERS[kind]).parameters if name != "data"]
    for name in options:
        if name not in known:
            raise DataError(f"{name} is no option for {kind}; the options are {', '.join(known)}.")


def _located(error: DataError, name: str) -> DataError:
    """The same error, naming the file."""
    if not str(error).startswith(name):
        error.args = (f"{name}: {error}",)
    return error
