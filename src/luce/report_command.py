"""`luce report`: a page about a saved run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from luce.errors import DataError

NOT_TRUSTED = 3  # exit code: done, but the draws should not be trusted yet


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("report", help="write a page about a saved run")
    parser.add_argument("file", metavar="RUN", help="what `luce fit --out` or luce.save wrote")
    parser.add_argument(
        "--out", metavar="PAGE", help="the page (default: the run's name with .html, beside it)"
    )
    parser.add_argument("--title", help="heading of the page")
    parser.add_argument(
        "--ci-prob", type=float, default=0.9, metavar="P",
        help="probability of the intervals (default %(default)s)",
    )  # fmt: skip
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from luce.reports.whole import write_report

    run = Path(arguments.file)
    out = run.with_suffix(".html") if arguments.out is None else Path(arguments.out)
    if not out.parent.is_dir():  # before any work is done
        raise DataError(f"{out} cannot be written: there is no folder {out.parent}.")
    page, trust = write_report(
        arguments.file, out, title=arguments.title, ci_prob=arguments.ci_prob
    )
    print(f"{trust.headline}.\nThe page: {page.resolve()}")
    return NOT_TRUSTED if trust.kind == "bad" else 0
