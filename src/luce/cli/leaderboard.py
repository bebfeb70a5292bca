"""The command `luce leaderboard`: who leads in a saved run, how surely, on what evidence."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.answers.diagnostics import verdict
from luce.answers.scales import SCALES
from luce.cli.printing import NOT_CONVERGED
from luce.cli.selection import add_selection, label_of, ranked
from luce.runs.saving import load
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from luce.decide.leaderboards import Leaderboard


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
    parser.add_argument("--json", action="store_true", help="print all rows as JSON")
    add_selection(parser)
    parser.set_defaults(run=run_leaderboard)


def run_leaderboard(arguments: argparse.Namespace) -> int:
    """Print the leaderboard of a saved run."""
    from luce.decide.leaderboards import leaderboard

    check_whole("--most", arguments.most, 1)
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
    print(_as_json(board) if arguments.json else board.to_text(arguments.most))
    return NOT_CONVERGED if verdict(run).kind == "bad" else 0


def _as_json(board: Leaderboard) -> str:
    """Write headline, rows and notes as JSON; labels that are neither text nor numbers as text."""
    rows = [
        {"category": _plain(label), **{name: _plain(x[i]) for name, x in board.columns.items()}}
        for i, label in enumerate(board.categories)
    ]
    attrs = {name: _plain(value) for name, value in board.attrs.items()}
    found = {"headline": board.headline, **attrs, "rows": rows, "notes": list(board.notes)}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Turn a value into one that JSON has; nan becomes null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
