"""Files of every format: `read` finds the format and the kind of data, and reads it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from luce._types import Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, is_hashable, some
from luce.errors import DataError
from luce.reading.detection import check_options, find_kind
from luce.reading.frames import is_frame, source_of
from luce.reading.kind import Counts, Kind, Reading, near
from luce.reading.kinds import kind_named
from luce.reading.questions import Questions
from luce.reading.sources import Source
from luce.reading.text import LineSource, Row, TextFile
from luce.reading.values import describe_type, missing_texts

# A source, the name of its kind where the format settles it, and options that it settles.
_Opened = tuple[Source, str | None, dict[str, Any]]


_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")  # more than one letter, which names a disk


class TextOptions(NamedTuple):
    """Encoding of a text, delimiter of its values and texts that mean none, as in `read`."""

    encoding: str | None = None
    delimiter: str | None = None
    missing: Iterable[str] | None = None


USUAL_TEXT = TextOptions()


def read(
    path: str | PathLike[str],
    kind: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Iterable[str] | None = None,
    only: Labels | None = None,
    **options: Any,
) -> Counts:
    r"""Read a file: CSV, Parquet, JSON Lines, PrefLib or PGN.

    Parameters
    ----------
    path
        The file.  Text may be compressed (.gz).
    kind
        Kind of data: "pairs", "rankings", "choices", "transitions", "table", "teams" or
        "groups"; found where the columns leave no doubt, else asked for.
    encoding
        Encoding of text; UTF-8 unless given.
    delimiter
        Character between the values of a table of text, a space standing for any white space;
        found in its first lines unless given.
    missing
        Texts that stand for a missing value in a table of text, besides the empty one: NA, N/A,
        n/a, #N/A, <NA>, NaN, nan, NULL, null and None, unless given.  With ``missing=[]`` they
        are labels like any other.
    only
        Keep these categories, and the outcomes among them: see `ConditionalCounts.restrict`.
    options
        Options of the reader of that kind: columns, ties, unranked, skip_bad and so on.

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
    _, reading = understand(path, kind, TextOptions(encoding, delimiter, missing), **options)
    return reading.counts if only is None else keep_only(reading, only).counts


def understand(
    data: Any,
    kind: str | None = None,
    text: TextOptions = USUAL_TEXT,
    **options: Any,
) -> tuple[str, Reading]:
    """Read a file or data in memory; tell the kind and the number of observations."""
    if kind is not None:
        kind_named(kind)
    if not isinstance(data, (str, PathLike)):
        return _understand_in_memory(data, kind, text, options)
    where = checked_file(data)
    with naming(where.name):
        source, found, defaults = _settled(where, kind, text, options)
        reading = found.read(source, **{**defaults, **options})
    return found.name, reading._replace(uses=source.uses, kind=found.name)


def _understand_in_memory(
    data: Any, kind: str | None, text: TextOptions, options: Mapping[str, Any]
) -> tuple[str, Reading]:
    for name, value in text._asdict().items():
        if value is not None:
            raise DataError(f"{name} = {value!r} is for files of text; data in memory were given.")
    if not is_frame(data):
        if kind is None:
            raise DataError(
                f"{describe_type(data)} was given; name a file, or give a frame, a mapping of "
                "columns or a list of records. Without names of columns kind=... is needed."
            )
        return kind, kind_named(kind).read(data, **options)
    source = source_of(data)
    found = kind_of(source, kind, options)
    reading = found.read(source, **options)
    return found.name, reading._replace(uses=source.uses)


def ask_about(
    path: str | PathLike[str], kind: str | None, text: TextOptions, **options: Any
) -> None:
    """Ask about the kind, the options and the columns of a file, and read no further."""
    where = checked_file(path)
    with naming(where.name):
        _settled(where, kind, text, options)


def _settled(
    path: Path, kind: str | None, text: TextOptions, options: Mapping[str, Any]
) -> tuple[Source, Kind, dict[str, Any]]:
    """Open a file and find the kind of its data; also returns options that its format settles.

    All questions about the kind, its options and the columns are asked at once.
    """
    source, settled, defaults = open_file(path, kind, text)
    return source, kind_of(source, kind or settled, options), defaults


def kind_of(source: Source, kind: str | None, options: Mapping[str, Any]) -> Kind:
    """Find the kind of the data where it is not named; ask about it and its options at once."""
    found = None if kind is None else kind_named(kind)
    with Questions() as questions:
        with questions.gathered():
            check_options(source, options, found)
        with questions.gathered():
            found = found or find_kind(source, options)
    assert found is not None
    return found


def keep_only(reading: Reading, labels: Labels) -> Reading:
    """Keep some categories, named by their labels or by the text of these."""
    counts = reading.counts
    if isinstance(labels, str):
        raise DataError(f"only = {labels!r}; a list of labels is needed: [{labels!r}].")
    if isinstance(counts, ConditionalCounts):
        return reading._replace(counts=counts.restrict(_spelled(labels, counts.categories)))
    states = _spelled(labels, counts)
    Categories(list(counts)).numbers(states, "only")
    inner = {s: [x for x in states if x in counts[s].categories] for s in states}
    return reading._replace(counts={s: counts[s].restrict(inner[s]) for s in states})


def _spelled(labels: Labels, known: Collection[Label]) -> list[Label]:
    """Find labels by their texts where they are not labels themselves."""
    texts = {str(label): label for label in known}
    for x in labels:
        if str(x) not in texts and not (is_hashable(x) and x in known):
            raise DataError(
                f"only: there is no category {x!r}; the categories are {some(known)}."
                f"{near(str(x), texts)}"
            )
    return [x if is_hashable(x) and x in known else texts[str(x)] for x in labels]


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Put the name of the file before the message of any DataError."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith(file):
            error.args = (f"{file}: {error}",)
        raise error from None


def checked_file(given: str | PathLike[str]) -> Path:
    """Refuse a path that is not a file, or that must not be read."""
    if _ADDRESS.match(str(given)):
        raise DataError(
            f"{given}: luce reads files, and opens no addresses. Fetch it first: "
            f"curl -sL {quote(str(given))} | luce fit -, where - stands for standard input."
        )
    path = Path(given)
    try:
        if not path.exists():
            raise DataError(f"{path}: there is no such file.")
        if not path.is_file():
            raise DataError(f"{path}: this is not a file.")
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
    return path


def open_table(path: str | PathLike[str], encoding: str | None = None) -> Source:
    """Open a table of measurements: CSV, Parquet or JSON Lines.

    Every row of it is a moment, also one in which no value stands.  Text is UTF-8 unless another
    encoding is given.
    """
    where = checked_file(path)
    with naming(where.name):
        if (opened := _open_parquet(where)) is not None:
            return opened
        file = TextFile(where, encoding)
        head = _text_head(file)
        if _is_json_lines(file, head):
            from luce.reading.json_lines import json_lines_source

            return json_lines_source(file)
        from luce.reading.delimited import delimited_source

        return delimited_source(file, None, missing_texts(None), blank_rows=True)


def open_file(path: Path, kind: str | None, text: TextOptions) -> _Opened:
    """Find the format of a file by its first bytes and its suffix, and open it."""
    parquet = _open_parquet(path)
    if parquet is not None:
        opened: _Opened = parquet, None, {}
    else:
        opened = _open_text(TextFile(path, text.encoding), kind, text)
    if text.missing is not None and opened[0].missing is None:
        raise DataError("missing = ... is for tables of text; this format marks missing values.")
    return opened


def _open_parquet(path: Path) -> Source | None:
    """Open a Parquet file, told by its first bytes or its suffix; None for other files."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"PAR1" and path.suffix.lower() not in (".parquet", ".pq"):
        return None
    from luce.reading.parquet import ParquetSource

    return ParquetSource(path, magic)


def _text_head(file: TextFile) -> str:
    """Return the beginning of a text; refuse an empty file and one that is no text."""
    head = file.head()
    if not head.strip("\0\ufeff \t\r\n"):
        raise DataError("the file is empty.")
    if "\0" in head[:1000]:
        raise DataError("this is neither text nor Parquet; it holds null bytes.")
    return head


def _is_json_lines(file: TextFile, head: str) -> bool:
    return file.suffix in (".jsonl", ".ndjson") or head.lstrip()[:1] in ("{", "[")


def _open_text(file: TextFile, kind: str | None, text: TextOptions) -> _Opened:
    """Find the format of a text by its beginning; only the module of that format is imported."""
    head = _text_head(file)
    first = head.lstrip()[:1]
    if first == "#" or first.isdigit():
        from luce.reading.preflib import is_preflib, preflib_source

        if is_preflib(head, file.suffix):
            return preflib_source(file, kind)
    if first in ("[", ";", "%"):
        from luce.reading.pgn import is_pgn, pgn_source

        if is_pgn(head):
            return pgn_source(file, kind)
    if _is_json_lines(file, head):
        from luce.reading.json_lines import json_lines_source

        return json_lines_source(file), None, {}
    from luce.reading.delimited import delimited_source, looks_like_table

    missing = missing_texts(text.missing)
    if file.suffix == ".txt" and kind == "rankings" and not looks_like_table(head):
        return _plain_orders(file, missing), None, {}
    return delimited_source(file, text.delimiter, missing), None, {}


def _plain_orders(text: TextFile, missing: frozenset[str]) -> Source:
    """Open a text without a header that holds a ranking a line, best first."""

    def rows() -> Iterator[Row]:
        return ((line, (order.strip(),)) for line, order in text.lines() if order.strip())

    return LineSource(text.path.name, ["order"], rows, text.problems, missing=missing)
