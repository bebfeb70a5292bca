"""The command `luce update`: takes the data of a file into a saved run."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.answers.diagnostics import verdict
from luce.answers.summaries import summary
from luce.cli.data import add_reading, read_data
from luce.cli.printing import NOT_CONVERGED, print_ignored, size_of, warnings_printed
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
    as_json = "print the update, the verdict and the summary as one JSON object, and nothing else"
    parser.add_argument("--json", action="store_true", help=as_json)
    add_selection(parser)
    parser.set_defaults(run=run_update)


def run_update(arguments: argparse.Namespace) -> int:
    """Read a file, take it into a run, print a summary and save the new run where asked."""
    from luce.answers.updates import Update
    from luce.decide.updating import update

    check_whole("--most", arguments.most, 1)
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    run = load(arguments.run_file)
    with redirect_stdout(sys.stderr if arguments.json else sys.stdout):
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
    (_print_json if arguments.json else _print_words)(found, told, trust, arguments)
    if told.way == "sampled" and found.attrs["interrupted"]:
        sys.stdout.flush()
        raise KeyboardInterrupt(f"{size_of(found)} were made.")
    return NOT_CONVERGED if trust.kind == "bad" else 0


def _print_words(
    run: DataTree, told: Update, trust: Verdict, arguments: argparse.Namespace
) -> None:
    """Print what was done, the summary and the verdict."""
    print(f"{told}\n", flush=True)
    table = summary(run, among=ranked(arguments, run), sort=True)
    print(table.to_text(arguments.most))
    print(f"\n{size_of(run)}, method {run.attrs['method']}, seed {told.seed}.")
    # What is wrong with bad draws was said by a warning.
    print(f"{trust.headline}." if trust.kind == "bad" else trust)
    if arguments.out is not None:
        print(f"Saved: {printable(Path(arguments.out))}")


def _print_json(run: DataTree, told: Update, trust: Verdict, arguments: argparse.Namespace) -> None:
    """Print the same as one object of JSON; labels as text."""
    table = summary(run, among=ranked(arguments, run), sort=True).to_pandas()
    content = {
        "update": asdict(told),
        "verdict": trust.kind,
        "words": [str(told), str(trust)],
        "summary": json.loads(table.reset_index().to_json(orient="records", default_handler=str)),
        "saved": arguments.out,
    }
    print(json.dumps(content, indent=2, default=str))
