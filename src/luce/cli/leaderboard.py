"""The command `luce leaderboard`: who leads in a saved run, how surely, on what evidence."""

from __future__ import annotations

import argparse
from typing import Any

from luce.answers.diagnostics import verdict
from luce.answers.scales import SCALES
from luce.cli.documents import (
    add_json,
    add_table,
    check_table,
    print_json,
    print_table,
    verdict_content,
)
from luce.cli.printing import NOT_CONVERGED
from luce.cli.selection import add_selection, label_of, ranked
from luce.runs.saving import load
from luce.sampling.settings import check_whole


def add_leaderboard(commands: Any) -> None:
    """Add the command to the parser."""
    words = "print ranks, scores, games and ties of a saved run, best first"
    parser = commands.add_parser("leaderboard", help=words)
    parser.add_argument("file", metavar="RUN", help="what --out or luce.save wrote")
    scale = "scale of the scores (default %(default)s)"
    parser.add_argument("--scale", choices=SCALES, default="elo", help=scale)
    reference = "who has 1500 points of Elo, or log odds of 0 (default: the mean of those listed)"
    parser.add_argument("--reference", metavar="CATEGORY", help=reference)
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    most = "rows to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    add_selection(parser)
    add_json(parser)
    add_table(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace the table if it is there")
    parser.set_defaults(run=run_leaderboard)


def run_leaderboard(arguments: argparse.Namespace) -> int:
    """Print the leaderboard of a saved run."""
    from luce.decide.leaderboards import leaderboard

    check_whole("--most", arguments.most, 1)
    check_table(arguments)
    run = load(arguments.file)
    reference = None
    if arguments.reference is not None:
        reference = label_of(arguments.reference, "--reference", run)
    board = leaderboard(
        run,
        scale=arguments.scale,
        reference=reference,
        ci_prob=arguments.ci_prob,
        among=ranked(arguments, run),
    )
    trust = verdict(run)
    code = NOT_CONVERGED if trust.kind == "bad" else 0
    rows = [
        {"category": str(label), **{name: x[i] for name, x in board.columns.items()}}
        for i, label in enumerate(board.categories)
    ]
    print_table(arguments, rows, board.to_text(arguments.most))
    if arguments.json:
        content = {
            "headline": board.headline,
            **board.attrs,
            **verdict_content(trust),
            "rows": rows,
            "notes": board.notes,
        }
        print_json(arguments, code, content)
    return code
