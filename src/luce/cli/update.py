"""The command `luce update`: takes the data of a file into a saved run."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.answers.diagnostics import verdict
from luce.answers.summaries import summary
from luce.cli.data import add_reading, read_data
from luce.cli.documents import (
    add_json,
    add_table,
    check_table,
    print_json,
    print_table,
    run_content,
    summary_rows,
    words_aside,
)
from luce.cli.printing import (
    INTERRUPTED,
    NOT_CONVERGED,
    print_ignored,
    print_verdict,
    size_of,
    warnings_printed,
)
from luce.cli.selection import add_selection, ranked
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import printable
from luce.errors import DataError
from luce.runs.saving import check_target, load, save
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.answers.updates import Update
    from luce.sampling.convergence import Verdict


def add_update(commands: Any) -> None:
    """Add the command to the parser."""
    words = "take the data of a file into a saved run, print the new summary"
    parser = commands.add_parser("update", help=words)
    parser.add_argument("run_file", metavar="RUN", help="what --out or luce.save wrote")
    add_reading(parser)
    out = "save the new run: a name that ends in .nc or .zarr"
    parser.add_argument("--out", metavar="RUN2", help=out)
    parser.add_argument("--overwrite", action="store_true", help="replace RUN2 if it is there")
    method = "auto, reweight or sample (default %(default)s)"
    parser.add_argument("--method", default="auto", help=method)
    parser.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    most = "rows of the summary to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    add_selection(parser)
    add_json(parser)
    add_table(parser)
    parser.set_defaults(run=run_update)


def run_update(arguments: argparse.Namespace) -> int:
    """Read a file, take it into a run, print a summary and save the new run where asked."""
    from luce.answers.updates import Update
    from luce.decide.updating import update

    check_whole("--most", arguments.most, 1)
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    run = load(arguments.run_file)
    check_table(arguments)
    with words_aside(arguments):
        with warnings_printed():
            reading = read_data(arguments)
        print_ignored(reading.uses)
    if not isinstance(reading.counts, ConditionalCounts):
        raise DataError("--rows separate makes one posterior for each state, and RUN has one.")
    with warnings_printed():
        found = update(run, reading.counts, seed=arguments.seed, method=arguments.method)
    if arguments.out is not None:
        save(found, arguments.out, overwrite=arguments.overwrite)
    trust, told = verdict(found), Update.of(found)
    interrupted = told.way == "sampled" and bool(found.attrs["interrupted"])
    code = INTERRUPTED if interrupted else NOT_CONVERGED if trust.kind == "bad" else 0
    _print(found, told, trust, arguments, code)
    if interrupted:
        sys.stdout.flush()
        raise KeyboardInterrupt(f"{size_of(found)} were made.")
    return code


def _print(
    run: DataTree, told: Update, trust: Verdict, arguments: argparse.Namespace, code: int
) -> None:
    """Print what was done, the summary and the verdict."""
    with words_aside(arguments):
        print(f"{told}\n", flush=True)
    table = summary(run, among=ranked(arguments, run), sort=True)
    rows = summary_rows(table, run)
    print_table(arguments, rows, table.to_text(arguments.most))
    with words_aside(arguments):
        print(f"\n{size_of(run)}, method {run.attrs['method']}, seed {told.seed}.")
        print_verdict(trust)
        if arguments.out is not None:
            print(f"Saved: {printable(Path(arguments.out))}")
    if arguments.json:
        content = {
            "update": asdict(told),
            "words": str(told),
            **run_content(run, trust),
            "summary": rows,
            "saved": arguments.out,
        }
        print_json(arguments, code, content)
