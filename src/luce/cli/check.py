"""The command `luce check`: goodness of fit of a file's counts, without draws."""

from __future__ import annotations

import argparse
import json
import math
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from luce.cli.data import add_reading, read_data
from luce.cli.printing import warnings_printed
from luce.counts.labels import printable
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from luce.hypotheses.fit_tests import FitTest


def add_check(commands: Any) -> None:
    """Add the command to the parser."""
    words = "compare observed with expected counts: residuals and tests of fit"
    parser = commands.add_parser("check", help=words)
    add_reading(parser)
    replicates = "data sets drawn from the fit, for simulated p-values (default: none)"
    parser.add_argument("--replicates", type=int, default=0, metavar="N", help=replicates)
    parser.add_argument("--seed", type=int, default=0, help="of replicates (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print tests and all cells as JSON")
    parser.set_defaults(run=run_check)


def run_check(arguments: argparse.Namespace) -> int:
    """Read a file, fit its counts, and print the tests; rows of a table are kept apart."""
    from luce.hypotheses.fit_tests import goodness_of_fit

    check_whole("--replicates", arguments.replicates, 0)
    check_whole("--seed", arguments.seed, 0)
    with warnings_printed():
        # With --json what is said about the file goes to standard error.
        with redirect_stdout(sys.stderr if arguments.json else sys.stdout):
            reading = read_data(arguments)
        counts = reading.counts
        named = counts if isinstance(counts, dict) else {None: counts}
        found = {
            label: goodness_of_fit(
                one,
                apart=reading.kind == "table",
                replicates=arguments.replicates,
                seed=arguments.seed,
            )
            for label, one in named.items()
        }
    if arguments.json:
        parts = [
            _as_json(fit) | ({} if x is None else {"from": str(x)}) for x, fit in found.items()
        ]
        print(json.dumps(parts[0] if None in found else parts, indent=1))
        return 0
    for label, fit in found.items():
        print("" if label is None else f"\nfrom {printable(label)}:")
        print(fit)
    return 0


def _as_json(fit: FitTest) -> dict[str, Any]:
    """Lay tests and cells out as JSON; numbers that are not known are null."""
    cells = fit.to_pandas().to_dict("list")
    columns = {
        name: [_number(x) if isinstance(x, float) else str(x) for x in values]
        for name, values in cells.items()
    }
    return {
        "deviance": fit.deviance,
        "pearson": fit.pearson,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "p_deviance": _number(fit.p_deviance),
        "p_pearson": _number(fit.p_pearson),
        "simulated": {
            name: {"p": float(p), "standard_error": float(p.standard_error)}
            for name, p in fit.simulated.items()
        },
        "notes": list(fit.notes),
        "cells": columns,
    }


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None
