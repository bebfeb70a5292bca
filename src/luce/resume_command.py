"""`luce resume`: go on with a run that was broken off."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from luce.workflows.resuming import resume


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "resume", help="draw what is missing of a run that was broken off"
    )
    parser.add_argument("run_folder", metavar="RUN", help="a folder that ends in .zarr")
    parser.add_argument("--threads", type=int, default=None, help="chains drawn at the same time")
    parser.set_defaults(run=_resume)


def _resume(arguments: argparse.Namespace) -> int:
    run = resume(arguments.run_folder, threads=arguments.threads)
    sizes = run["posterior"].sizes
    print(
        f"{Path(arguments.run_folder)} is complete: {sizes['chain']} chains of {sizes['draw']:,} "
        f"draws of {sizes['category']:,} categories, method {run.attrs['method']}, "
        f"seed {run.attrs['seed']}."
    )
    return 0
