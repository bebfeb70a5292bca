"""The command `luce inspect`: says what a file holds, and draws nothing."""

from __future__ import annotations

import argparse
from typing import Any

from luce.cli.data import add_reading, print_uses, read_data
from luce.cli.printing import warnings_printed
from luce.counts.labels import printable
from luce.posterior import Posterior


def add_inspect(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("inspect", help="say what a file holds, and draw nothing")
    add_reading(parser)
    parser.set_defaults(run=run_inspect)


def run_inspect(arguments: argparse.Namespace) -> int:
    """Read a file; print its counts and the exact and simulated parts of its posterior."""
    with warnings_printed():
        reading = read_data(arguments)
    if reading.uses:
        print_uses(reading.uses)
    counts = reading.counts
    for name, one in counts.items() if isinstance(counts, dict) else [("", counts)]:
        start = f"from {printable(name)}: " if isinstance(counts, dict) else ""
        print(f"\n{start}{one.summary()}")
        print(Posterior(one).model.structure)
    return 0
