"""Output for programs: one JSON document on standard output, and tables in files."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.answers.summaries import entry_in_words
from luce.cli.printing import EXIT_CODES, complain
from luce.counts.labels import printable
from luce.errors import DataError
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.answers.summaries import Summary
    from luce.answers.transition_tables import TransitionSummary
    from luce.sampling.convergence import Verdict
    from luce.sequences.tables import Table

Row = dict[str, Any]

FORMATS = ("text", "csv", "md", "parquet")
_SUFFIXES = {".csv": "csv", ".md": "md", ".parquet": "parquet", ".pq": "parquet", ".txt": "text"}


# -- JSON ------------------------------------------------------------------------------------------


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for JSON."""
    words = "print one JSON document; other words go to standard error"
    parser.add_argument("--json", action="store_true", help=words)


def print_json(arguments: argparse.Namespace, code: int, content: Mapping[str, Any]) -> None:
    """Print a document: version, command and exit code, then the content."""
    document = {
        "luce": __version__,
        "command": arguments.command,
        "exit_code": code,
        "exit_meaning": EXIT_CODES[code],
        **content,
    }
    # Letters as escapes are right in every encoding.
    print(json.dumps(plain(document), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Turn a value into one that JSON has: nan and infinity are null, other labels their text.

    Examples
    --------
    >>> plain({"mean": np.float64("nan"), 3: [np.int64(2), (True, None)], "who": frozenset("a")})
    {'mean': None, '3': [2, [True, None]], 'who': "frozenset({'a'})"}
    """
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def run_content(run: DataTree, trust: Verdict | None) -> Row:
    """Describe a run: its size, method and seed, and the verdict on its draws."""
    sizes = run["posterior"].sizes
    return {
        "chains": sizes["chain"],
        "draws": sizes["draw"],
        "method": run.attrs["method"],
        "reason": run.attrs.get("reason"),
        "seed": str(run.attrs["seed"]),
        "prior": run.attrs.get("prior"),
        "interrupted": bool(run.attrs.get("interrupted", 0)),
        **verdict_content(trust),
    }


def verdict_content(trust: Verdict | None) -> Row:
    """Describe the verdict on draws: good, mixed or bad, and in words."""
    if trust is None:
        return {"verdict": None, "verdict_words": None}
    return {"verdict": trust.kind, "verdict_words": str(trust)}


def summary_rows(table: Summary, run: DataTree) -> list[Row]:
    """List all rows of a summary: label as text, its place in the run, its role and its columns."""
    from luce.answers.view import DrawsView

    index = DrawsView.of(run).categories.index
    parts = [("competitor", table), ("effect", table.effects), ("parameter", table.parameters)]
    return [
        {
            "category": str(label),
            "index": None if role == "parameter" else index[label],
            "role": role,
            **{name: part[name][i] if name in part.columns else None for name in table.columns},
        }
        for role, part in parts
        if part is not None
        for i, label in enumerate(part.categories)
    ]


def transition_rows(found: TransitionSummary) -> list[Row]:
    """List all transitions of a matrix, those that cannot occur too, with their columns."""
    table = found.table
    names = [str(name) for name in table.data_vars]
    forbidden = table["forbidden"].values
    return [
        {
            "source": str(source),
            "target": str(target),
            **{name: float(table[name].values[i, j]) for name in names},
            "forbidden": bool(forbidden[i, j]),
        }
        for i, source in enumerate(table["source"].values.tolist())
        for j, target in enumerate(table["target"].values.tolist())
    ]


def table_rows(table: Table) -> list[Row]:
    """List all rows of a table."""
    columns = [table[name].tolist() for name in table]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


# -- tables ----------------------------------------------------------------------------------------


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how and where the table is written."""
    words = "how the table is written: text, csv, md or parquet; other words go to standard error"
    parser.add_argument("--format", choices=FORMATS, help=words)
    file = "write the table to a file, too: .csv, .md, .parquet or .txt, unless --format tells"
    parser.add_argument("--table", metavar="FILE", help=file)


def check_table(arguments: argparse.Namespace) -> None:
    """Refuse a table that cannot be written, before any work is done."""
    if arguments.table is None:
        if arguments.format == "parquet":
            raise DataError("--format parquet is no text; name a file with --table FILE.")
        if arguments.format is not None and arguments.json:
            raise DataError(
                "--json and --format both want standard output; name a file with --table FILE."
            )
        return
    _format_of(arguments)
    check_free(arguments.table, arguments.overwrite)


def check_free(given: str, overwrite: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, and one in a folder that does not."""
    path = Path(given)
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists already; --overwrite replaces it.")


@contextmanager
def words_aside(arguments: argparse.Namespace) -> Iterator[None]:
    """Send words to standard error where standard output is for a program."""
    with redirect_stdout(sys.stderr if _for_program(arguments) else sys.stdout):
        yield


def print_table(arguments: argparse.Namespace, rows: Sequence[Row], text: str) -> None:
    """Print a table as it was asked for, and write it to a file where one is named.

    Parameters
    ----------
    arguments
        Those of the command.
    rows
        All rows of the table.
    text
        The table laid out as text.
    """
    if arguments.table is not None:
        content = _written(rows, text, _format_of(arguments))
        Path(arguments.table).write_bytes(content)
        complain(f"luce: the table is in {printable(arguments.table)}")
    if arguments.json:
        return
    alone = arguments.format if arguments.table is None else None
    print(text if alone is None else _written(rows, text, alone).decode().rstrip("\n"))


def is_alone(arguments: argparse.Namespace) -> bool:
    """Tell whether the table stands alone on standard output."""
    return arguments.format is not None and arguments.table is None


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a CSV file."""
    path.write_bytes(_as_csv(rows))


def _for_program(arguments: argparse.Namespace) -> bool:
    return bool(arguments.json) or (hasattr(arguments, "format") and is_alone(arguments))


def _format_of(arguments: argparse.Namespace) -> str:
    """Return the format of the file, as named or by its suffix."""
    if arguments.format is not None:
        return str(arguments.format)
    suffix = Path(arguments.table).suffix.lower()
    if suffix not in _SUFFIXES:
        raise DataError(
            f"--table {arguments.table}: no format is known by the suffix {suffix!r}; use one of "
            f"{', '.join(_SUFFIXES)}, or name it with --format."
        )
    return _SUFFIXES[suffix]


def _written(rows: Sequence[Row], text: str, form: str) -> bytes:
    if form == "text":
        return f"{text}\n".encode(errors="replace")
    if form == "csv":
        return _as_csv(rows)
    return _as_markdown(rows) if form == "md" else _as_parquet(rows)


def _as_csv(rows: Sequence[Row]) -> bytes:
    """Write rows as CSV; numbers in full, nothing where there is none."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        writer.writerow(["" if (x := plain(value)) is None else x for value in row.values()])
    return file.getvalue().encode(errors="replace")


def _as_markdown(rows: Sequence[Row]) -> bytes:
    """Write rows as a table of Markdown, numbers as they are printed."""
    if not rows:
        return b""
    numbers = [isinstance(plain(x), float | int) for x in rows[0].values()]
    lines = [list(rows[0]), ["---:" if number else "---" for number in numbers]]
    lines += [[_markdown_cell(name, x) for name, x in row.items()] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).encode(errors="replace")


def _markdown_cell(name: str, value: Any) -> str:
    if plain(value) is None:
        return ""
    if isinstance(value, float | int | np.number | np.bool_):
        return entry_in_words(name, value)
    text = printable(str(value))
    return "".join(f"\\{c}" if c in "\\|`*_[]<>" else c for c in text)


def _as_parquet(rows: Sequence[Row]) -> bytes:
    """Write rows as Parquet, by polars."""
    try:
        import polars
    except ModuleNotFoundError:
        raise DataError("Parquet is written by polars: pip install 'luce[files]'.") from None
    names = list(rows[0]) if rows else []
    columns = {name: [plain(row[name]) for row in rows] for name in names}
    file = io.BytesIO()
    polars.DataFrame(columns, strict=False).write_parquet(file)
    return file.getvalue()
