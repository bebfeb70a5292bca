"""The command `luce inspect`: says what a file holds, and draws nothing."""

from __future__ import annotations

import argparse
from typing import Any

from luce.cli.data import add_reading, print_uses, read_data, reading_content
from luce.cli.documents import add_json, print_json, words_aside
from luce.cli.printing import warnings_printed
from luce.counts.labels import printable
from luce.posterior import Posterior


def add_inspect(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("inspect", help="say what a file holds, and draw nothing")
    add_reading(parser)
    add_json(parser)
    parser.set_defaults(run=run_inspect)


def run_inspect(arguments: argparse.Namespace) -> int:
    """Read a file; print its counts and the exact and simulated parts of its posterior."""
    with words_aside(arguments), warnings_printed():
        reading = read_data(arguments)
    counts = reading.counts
    if arguments.json:
        named = counts if isinstance(counts, dict) else {None: counts}
        parts = [
            {
                "state": label,
                "categories": list(map(str, one.categories)),
                "outcomes": one.n_outcomes,
                "sets": len(one),
                "summary": one.summary(),
                "structure": str(Posterior(one).model.structure),
            }
            for label, one in named.items()
        ]
        print_json(arguments, 0, {"data": reading_content(reading), "posteriors": parts})
        return 0
    if reading.uses:
        print_uses(reading.uses)
    for name, one in counts.items() if isinstance(counts, dict) else [("", counts)]:
        start = f"from {printable(name)}: " if isinstance(counts, dict) else ""
        print(f"\n{start}{one.summary()}")
        print(Posterior(one).model.structure)
    return 0
