"""The command `luce check`: goodness of fit of a file's counts, without draws."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from luce.cli.data import add_reading, read_data
from luce.cli.documents import add_json, print_json, words_aside
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
    add_json(parser)
    parser.set_defaults(run=run_check)


def run_check(arguments: argparse.Namespace) -> int:
    """Read a file, fit its counts, and print the tests; rows of a table are kept apart."""
    from luce.hypotheses.fit_tests import goodness_of_fit

    check_whole("--replicates", arguments.replicates, 0)
    check_whole("--seed", arguments.seed, 0)
    with warnings_printed():
        with words_aside(arguments):
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
        parts = [{"from": x, **_content(fit)} for x, fit in found.items()]
        print_json(arguments, 0, _content(found[None]) if None in found else {"rows": parts})
        return 0
    for label, fit in found.items():
        print("" if label is None else f"\nfrom {printable(label)}:")
        print(fit)
    return 0


def _content(fit: FitTest) -> dict[str, Any]:
    """Put tests and cells into lists and dictionaries."""
    return {
        "deviance": fit.deviance,
        "pearson": fit.pearson,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "p_deviance": fit.p_deviance,
        "p_pearson": fit.p_pearson,
        "simulated": {
            name: {"p": float(p), "standard_error": float(p.standard_error)}
            for name, p in fit.simulated.items()
        },
        "notes": fit.notes,
        "cells": fit.to_pandas().to_dict("list"),
    }
