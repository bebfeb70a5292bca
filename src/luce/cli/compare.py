"""The command `luce compare`: groups of data, their Bayes factor and their differences."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.answers.diagnostics import verdict
from luce.cli.data import add_reading, read_data, read_data_by
from luce.cli.documents import add_json, print_json, words_aside
from luce.cli.printing import NOT_CONVERGED, print_ignored, split_at_commas, warnings_printed
from luce.cli.priors import add_priors
from luce.cli.standard_input import called
from luce.errors import DataError
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import Dataset

    from luce._types import Label
    from luce.decide.group_comparison import GroupComparison
    from luce.estimates import Estimate
    from luce.reading.kind import Reading

_SCALES = ("log-odds", "probabilities")


def add_compare(commands: Any) -> None:
    """Add the command to the parser."""
    words = "do groups share their strengths, and where do they differ?"
    parser = commands.add_parser("compare", help=words)
    add_reading(parser, several=True)
    by = "the column that names the group of each row, or several, as year,place; else each file "
    parser.add_argument("--by", action="append", metavar="COLUMN", help=by + "is a group")
    align = "compare groups whose categories differ, each by outcomes among its own"
    parser.add_argument("--align", action="store_true", help=align)
    contrasts = "compare each two groups, or each with the rest (default %(default)s)"
    parser.add_argument("--contrasts", choices=("pairs", "rest"), default="pairs", help=contrasts)
    scale = "scale of the differences that are printed (default %(default)s)"
    parser.add_argument("--scale", choices=_SCALES, default=_SCALES[0], help=scale)
    add_priors(parser)
    sensitivity = "the Bayes factor at half and at twice the concentration too, if it takes draws"
    parser.add_argument("--sensitivity", action="store_true", default=None, help=sensitivity)
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    draws = "draws a chain of each group (default %(default)s)"
    parser.add_argument("--draws", type=int, default=1000, help=draws)
    parser.add_argument("--chains", type=int, default=4, help="chains (default %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    most = "differences to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    add_json(parser)
    parser.set_defaults(run=run_compare)


def run_compare(arguments: argparse.Namespace) -> int:
    """Read groups, compare them, and print what was found."""
    from luce.decide.group_comparison import compare_groups

    check_whole("--most", arguments.most, 1)
    with words_aside(arguments):
        with warnings_printed():
            readings = _read(arguments)
        for use in {tuple(reading.uses.items()) for reading in readings.values()}:
            print_ignored(dict(use))
        print(flush=True)
    with warnings_printed():
        found = compare_groups(
            {name: reading.counts for name, reading in readings.items()},
            concentration=arguments.concentration,
            home_prior=arguments.home_prior,
            tie_prior=arguments.tie_prior,
            align=arguments.align,
            contrasts=arguments.contrasts,
            sensitivity=arguments.sensitivity,
            ci_prob=arguments.ci_prob,
            draws=arguments.draws,
            chains=arguments.chains,
            seed=arguments.seed,
        )
    kinds = {name: verdict(run).kind for name, run in found.runs.items()}
    code = NOT_CONVERGED if "bad" in kinds.values() else 0
    if arguments.json:
        print_json(arguments, code, {**_content(found), "verdicts": kinds})
    else:
        print(found.to_text(arguments.scale, arguments.most))
        print(f"Seed {found.seed}.")
    return code


def _read(arguments: argparse.Namespace) -> dict[Label, Reading]:
    """Read the groups of one file, or a group from each of several."""
    files = arguments.files
    if arguments.by is not None:
        if len(files) > 1:
            raise DataError(f"--by splits one file; {len(files)} were given.")
        return read_data_by(arguments, files[0], split_at_commas(arguments.by))
    if len(files) == 1:
        raise DataError(
            f"{files[0]}: one file is one group; give --by COLUMN, which names the group of each "
            "row, or several files."
        )
    stems = [Path(called(file)).stem for file in files]
    names = stems if len(set(stems)) == len(files) else files
    if len(set(names)) < len(files):
        raise DataError("a file is given twice; each file is a group.")
    return {name: read_data(arguments, file) for name, file in zip(names, files, strict=True)}


def _content(found: GroupComparison) -> dict[str, Any]:
    """Put the comparison into lists and dictionaries."""
    ratio = found.likelihood_ratio
    parameters = [] if found.parameters is None else _rows(found.parameters)
    return {
        "groups": [{"group": str(name), "outcomes": n} for name, n in found.groups.items()],
        "finding": found.verdict,
        "log_bayes_factor": _estimate(found.bayes_factor.log),
        "probability_several": found.probability_several,
        "prior": found.prior,
        "other_priors": [
            {"times": x, "log_bayes_factor": _estimate(factor.log)}
            for x, factor in found.sensitivity.items()
        ],
        "likelihood_ratio": None if ratio is None else ratio._asdict(),
        "why_no_likelihood_ratio": found.why_none,
        "ci_prob": float(found.log_odds.attrs["ci_prob"]),
        "differences": {scale: _rows(found.differences(scale)) for scale in _SCALES},
        "parameters": parameters,
        "notes": list(found.notes),
        "seed": found.seed,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": float(estimate),
        "standard_error": float(estimate.standard_error),
        "method": estimate.method,
    }


def _rows(found: Dataset) -> list[dict[str, Any]]:
    """List differences, each with its category and its groups."""
    contrast, item = (str(dim) for dim in found["mean"].dims)
    return [
        {
            item: str(found[item].values[j]),
            "first": str(found["first"].values[i]),
            "second": str(found["second"].values[i]),
            **{str(name): float(values.values[i, j]) for name, values in found.items()},
        }
        for i in range(found.sizes[contrast])
        for j in range(found.sizes[item])
    ]
