"""The command `luce warmup`: compiles kernels beforehand."""

from __future__ import annotations

import argparse
from typing import Any

from luce.counts.labels import plural


def add_warmup(commands: Any) -> None:
    """Add the command to the parser."""
    words = "compile beforehand what usual data need, so that no later run waits for it"
    commands.add_parser("warmup", help=words).set_defaults(run=run_warmup)


def run_warmup(arguments: argparse.Namespace) -> int:
    """Compile the kernels of all kinds of data, and print how long each kind took."""
    from luce.kernels.code_cache import cache_folder
    from luce.workflows.warming import warm_up

    kinds = warm_up()
    width = max(len(warmed.kind) for warmed in kinds)
    print(f"{'kind':<{width}}  kernels compiled")
    for warmed in kinds:
        took = f"{warmed.compiled} in {warmed.seconds:.1f} s" if warmed.compiled else "all there"
        print(f"{warmed.kind:<{width}}  {took}")
    compiled, seconds = (sum(w.compiled for w in kinds), sum(w.seconds for w in kinds))
    print(f"\n{plural(compiled, 'kernel')} compiled in {seconds:.1f} s, kept in {cache_folder()}")
    return 0
