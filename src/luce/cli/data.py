"""Options that say which file to read and how, and the data read by them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from luce._types import Label
from luce.cli.printing import ignored_columns, split_at_commas
from luce.cli.standard_input import called, kept_file
from luce.counts.comparability import prior_only
from luce.counts.labels import plural, printable, some
from luce.errors import DataError
from luce.reading.by_group import read_groups
from luce.reading.files import TextOptions, ask_about, keep_only, understand
from luce.reading.kind import Reading, near
from luce.reading.kinds import KINDS
from luce.reading.questions import Questions

# Options that a reader takes by name, and their help.
_READER_OPTIONS = {
    "ties": "what a tie means: davidson, rao-kupper, entity, half or drop; in rankings unknown, "
    "davidson-luce, half, last or drop",
    "bottom": "a tie in last place of a ranking, where it differs: last",
    "home": "who has an advantage: first, second, or a column that names the item",
    "home_effect": "how it acts: multiplicative, a factor of the strength (default), or entity, a "
    "category",
    "unranked": "who is not ranked: absent or below",
    "blank": "empty ranks, where they differ from 0: absent or below",
    "best": "the best rank: smallest or largest",
    "layout": "how a table holds rankings: long, orders, items-in-columns, items-in-rows, "
    "places-in-columns",
    "rows": "transitions: shared or separate; table: the column that names the rows",
    "self_loops": "transitions: removed or kept",
    "given": "table: row or table",
    "separator": "what stands between labels in one value",
    "availability": "what names of availability columns start or end with",
    "tie_label": "name of the category for ties, with --ties entity",
    "home_label": "name of the category for the advantage, with --home-effect entity",
}

# Groups whose sizes are printed.
_MOST_GROUPS = 12


def add_reading(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """Add the arguments that say which file to read, or which files, and how."""
    formats = "CSV, Parquet, JSON Lines, PrefLib or PGN; - for standard input"
    if several:
        parser.add_argument("files", metavar="FILE", nargs="+", help=formats)
    else:
        parser.add_argument("file", metavar="FILE", help=formats)
    parser.add_argument("--kind", choices=list(KINDS), help="what it holds")
    column = "which column plays a part, as winner=champion; again for more"
    parser.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help=column)
    for name, words in _READER_OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=words)
    parser.add_argument(
        "--ignore", action="append", metavar="COLUMN", help="leave a column out; again for more"
    )
    cells = "groups: a column that is part of the category; again for more"
    parser.add_argument("--cells", action="append", metavar="COLUMN", help=cells)
    codes = "choices: labels of codes, as 1=train,2=car; again for more"
    parser.add_argument("--codes", action="append", metavar="CODE=LABEL", help=codes)
    only = "keep these categories and the outcomes among them, as ann,bo,cy; again for more"
    parser.add_argument("--only", action="append", metavar="LABEL", help=only)
    parser.add_argument("--encoding", help="of text; UTF-8 unless given")
    parser.add_argument("--delimiter", help="between values; found unless given")
    missing = "a text that stands for a missing value; again for more, '' for none (NA, NaN, ...)"
    parser.add_argument("--missing", action="append", metavar="TEXT", help=missing)
    parser.add_argument("--skip-bad", action="store_true", help="leave bad lines out and list them")


def read_data(arguments: argparse.Namespace, file: str | None = None) -> Reading:
    """Read a file with the options given, and print its kind and size."""
    given = arguments.file if file is None else file
    with kept_file(given) as path:
        options, text = _options(arguments, path)
        kind, reading = understand(path, arguments.kind, text, **options)
    print(f"{printable(called(given))}: {kind}: {reading}")
    return _kept(reading, arguments)


def read_data_by(arguments: argparse.Namespace, file: str, by: list[str]) -> dict[Label, Reading]:
    """Read the groups of a file with the options given, and print their kind and sizes."""
    names: str | list[str] = by if len(by) > 1 else by[0]
    with kept_file(file) as path:
        options, text = _options(arguments, path, by)
        kind, readings = read_groups(path, names, arguments.kind, text, **options)
    print(f"{printable(called(file))}: {kind}, {plural(len(readings), 'group')}")
    for name, reading in list(readings.items())[:_MOST_GROUPS]:
        print(f"{printable(name)}: {reading}")
    if len(readings) > _MOST_GROUPS:
        print(f"... and {plural(len(readings) - _MOST_GROUPS, 'more group')}")
    return {name: _kept(reading, arguments) for name, reading in readings.items()}


def _options(
    arguments: argparse.Namespace, file: str, by: Sequence[str] = ()
) -> tuple[dict[str, Any], TextOptions]:
    """Read the options of the reader and of text; ask about all that cannot be read at once."""
    options = {name: getattr(arguments, name) for name in (*_READER_OPTIONS, "ignore", "cells")}
    options = {name: value for name, value in options.items() if value is not None}
    text = TextOptions(arguments.encoding, arguments.delimiter, arguments.missing)
    with Questions() as questions:
        options |= _columns(arguments.column, questions)
        if arguments.codes is not None:
            with questions.gathered():
                options["codes"] = _codes(split_at_commas(arguments.codes))
        if questions and not by:  # what else is to be asked about the columns is asked with it
            with questions.gathered():
                ask_about(file, arguments.kind, text, **options)
    return {**options, "skip_bad": arguments.skip_bad}, text


def _kept(reading: Reading, arguments: argparse.Namespace) -> Reading:
    """Keep the categories named by --only, and print how many outcomes these leave."""
    if arguments.only is None:
        return reading
    kept = keep_only(reading, split_at_commas(arguments.only))
    print(f"kept with --only: {_extent(kept)} of {_extent(reading)}")
    one = kept.counts
    if not isinstance(one, dict) and len(prior_only(one)) == one.n_categories:
        raise DataError("--only: no outcome that is left compares these categories.")
    return kept


def _columns(pairs: Sequence[str], questions: Questions) -> dict[str, str]:
    """Read ROLE=NAME of columns, and ask about those that cannot be read."""
    columns = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not equals:
            questions.ask(f"--column {pair}: ROLE=NAME is needed, as winner=champion.")
        elif role not in _roles():
            questions.ask(
                f"--column {pair}: {role!r} is no part that a column can play; the parts are "
                f"{', '.join(_roles())}.{near(role, _roles())}"
            )
        else:
            columns[role] = name
    return columns


def reading_content(reading: Reading) -> dict[str, Any]:
    """Describe what was read: kind, numbers of observations and categories, columns."""
    counts = reading.counts
    own = (
        {"states": len(counts)}
        if isinstance(counts, dict)
        else {"categories": counts.n_categories, "outcomes": counts.n_outcomes}
    )
    return {
        "kind": reading.kind,
        "observations": reading.n_records,
        "observation": reading.noun,
        **own,
        "columns": dict(reading.uses),
        "ignored_columns": ignored_columns(reading.uses),
    }


def print_uses(uses: Mapping[str, str]) -> None:
    """Print what became of each column; columns of one use stand together."""
    columns: dict[str, list[str]] = {}
    for name, use in uses.items():
        columns.setdefault(use, []).append(name)
    listed = {some(names, 4): printable(use) for use, names in columns.items()}
    listed = {"column": "read as"} | listed
    width = max(map(len, listed))
    for names, use in listed.items():
        print(f"  {names:<{width}}  {use}")


def _codes(given: list[str]) -> dict[str, str]:
    """Read CODE=LABEL, each code once."""
    codes = dict[str, str]()
    for pair in given:
        code, equals, label = map(str.strip, pair.partition("="))
        if not equals:
            raise DataError(f"--codes {pair}: CODE=LABEL is needed, as 1=train.")
        if codes.setdefault(code, label) != label:
            raise DataError(f"--codes {code}={codes[code]},{pair}: a code stands for one label.")
    return codes


def _extent(reading: Reading) -> str:
    """Count the outcomes of a reading, and its categories or rows."""
    counts = reading.counts
    if isinstance(counts, dict):
        outcomes = sum(row.n_outcomes for row in counts.values())
        return f"{plural(outcomes, 'outcome')} from {plural(len(counts), 'state')}"
    n = counts.n_categories
    return f"{plural(counts.n_outcomes, 'outcome')} among {plural(n, 'category', 'categories')}"


def _roles() -> list[str]:
    """List the parts that columns can play, over all kinds of data."""
    named = (name for kind in KINDS.values() for name in (*kind.roles, *kind.column_options))
    return list(dict.fromkeys(named))
