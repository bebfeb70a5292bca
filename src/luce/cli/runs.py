"""Commands for saved runs: `luce report` writes a page, `luce resume` draws what is missing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from luce.cli.colours import coloured
from luce.cli.documents import add_json, print_json, run_content
from luce.cli.printing import NOT_CONVERGED, size_of, warnings_printed
from luce.cli.selection import add_selection, ranked
from luce.counts.labels import plural, printable_lines
from luce.errors import ConvergenceWarning, DataError
from luce.runs.saving import load


def add_report(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("report", help="write a page about a saved run")
    parser.add_argument("file", metavar="RUN", help="what --out or luce.save wrote")
    out = "the page (default: the run's name with .html, beside it)"
    parser.add_argument("--out", metavar="PAGE", help=out)
    parser.add_argument("--title", help="heading of the page")
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    add_selection(parser)
    add_json(parser)
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    """Write a page about a saved run."""
    from luce.reports.run_page import check_page, write_report

    file = Path(arguments.file)
    out = file.with_suffix(".html") if arguments.out is None else Path(arguments.out)
    if not out.parent.is_dir():  # before any work is done
        raise DataError(f"{out} cannot be written: there is no folder {out.parent}.")
    check_page(out)
    run = load(file)
    page, trust = write_report(
        run,
        out,
        title=arguments.title,
        ci_prob=arguments.ci_prob,
        among=ranked(arguments, run),
        source=arguments.file,
    )
    code = NOT_CONVERGED if trust.kind == "bad" else 0
    if arguments.json:
        print_json(
            arguments,
            code,
            {"page": page.resolve(), "verdict": trust.kind, "verdict_words": f"{trust.headline}."},
        )
    else:
        print(coloured(f"{trust.headline}.", trust.kind))
        print(printable_lines(f"The page: {page.resolve()}"))
    return code


def add_resume(commands: Any) -> None:
    """Add the command to the parser."""
    words = "draw what is missing of a run that was broken off"
    parser = commands.add_parser("resume", help=words)
    parser.add_argument("run_folder", metavar="RUN", help="a folder that ends in .zarr")
    parser.add_argument("--threads", type=int, default=None, help="chains drawn at the same time")
    add_json(parser)
    parser.set_defaults(run=run_resume)


def run_resume(arguments: argparse.Namespace) -> int:
    """Draw the missing draws of a streamed run."""
    from luce.workflows.resuming import resume

    with warnings_printed() as seen:
        run = resume(arguments.run_folder, threads=arguments.threads)
    sizes = run["posterior"].sizes
    of = ""
    if "category" in sizes:
        of = f" of {plural(sizes['category'], 'category', 'categories')}"
    elif run.attrs.get("model") == "semi-markov" and "data" in run.attrs:
        of = f" of the states of {run.attrs['data']}"
    elif run.attrs.get("model") == "separate-rows":
        of = f" of {plural(sizes['source'], 'row')} of transitions"
    bad = any(isinstance(warning.message, ConvergenceWarning) for warning in seen)
    code = NOT_CONVERGED if bad else 0
    if arguments.json:
        trust = "bad" if bad else None  # a run that was complete is not judged again
        content = {**run_content(run, None), "verdict": trust, "run": Path(arguments.run_folder)}
        print_json(arguments, code, content)
        return code
    print(
        f"{Path(arguments.run_folder)} is complete: {size_of(run)}{of}, "
        f"method {run.attrs['method']}, seed {run.attrs['seed']}."
    )
    return code
