"""`luce fit` and `luce inspect`: a file, what is in it, and what follows from it."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from luce.answers.summaries import summary
from luce.counts.counts import ConditionalCounts
from luce.errors import ConvergenceWarning, DataError, Problem, SkippedRowsWarning
from luce.model.structure import structure_of
from luce.posterior import Posterior
from luce.reading.files import understand
from luce.reading.kind import Reading
from luce.reading.kinds import KINDS
from luce.runs.saving import check_target, save
from luce.sampling.settings import check_whole

NOT_CONVERGED = 3  # exit code: done, but the draws should not be trusted yet

# Options that a reader takes by name, and what they are for.
_OPTIONS = {
    "ties": "what a tie means: entity, half or last",
    "home": "who has an advantage: first, second, or a column that names the item",
    "unranked": "who is not ranked: absent or below",
    "blank": "empty ranks, where they differ from 0: absent or below",
    "best": "the best rank: smallest or largest",
    "layout": "how a table holds rankings: long, orders, items-in-columns, items-in-rows, "
    "places-in-columns",
    "rows": "transitions: shared or separate; table: the column that names the rows",
    "self_loops": "transitions: removed or kept",
    "given": "table: row or table",
    "separator": "what stands between labels in one value",
    "availability": "what names of availability columns start or end with",
    "tie_label": "name of the category for ties",
    "home_label": "name of the category for the advantage",
}


def add_commands(commands: Any) -> None:
    """Add the two commands to the parser."""
    fit = commands.add_parser("fit", help="read a file, draw from the posterior, print a summary")
    _add_reading(fit)
    fit.add_argument(
        "--concentration", type=float, default=1.0, metavar="A",
        help="the prior's parameter, for all categories (default %(default)s)",
    )  # fmt: skip
    fit.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    fit.add_argument("--chains", type=int, default=4, help="chains (default %(default)s)")
    fit.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    fit.add_argument("--method", default="auto", help="how to draw (default %(default)s)")
    fit.add_argument("--out", metavar="RUN", help="save the run: a name that ends in .nc or .zarr")
    fit.add_argument("--stream", action="store_true",
                     help="write draws to RUN, a .zarr folder, as they are made; `luce resume RUN` "
                     "goes on if that is broken off")  # fmt: skip
    fit.add_argument("--cluster", metavar="ADDRESS",
                     help="draw chains on the workers of a Dask scheduler, or 'local'")  # fmt: skip
    fit.add_argument("--overwrite", action="store_true", help="replace RUN if it is there")
    fit.add_argument("--most", type=int, default=40, metavar="N",
                     help="rows of the summary to print (default %(default)s)")  # fmt: skip
    fit.set_defaults(run=_fit)
    inspect = commands.add_parser("inspect", help="say what a file holds, and draw nothing")
    _add_reading(inspect)
    inspect.set_defaults(run=_inspect)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="CSV, Parquet, JSON Lines, PrefLib or PGN")
    parser.add_argument("--kind", choices=list(KINDS), help="what it holds")
    parser.add_argument(
        "--column", action="append", default=[], metavar="ROLE=NAME",
        help="which column plays a part, as winner=champion; again for more",
    )  # fmt: skip
    for name, words in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=words)
    parser.add_argument("--ignore", action="append", metavar="COLUMN", help="leave a column out")
    parser.add_argument(
        "--cells", action="append", metavar="COLUMN",
        help="groups: a column that is part of the category; again for more",
    )  # fmt: skip
    parser.add_argument("--encoding", help="of text; UTF-8 unless given")
    parser.add_argument("--delimiter", help="between values; found unless given")
    parser.add_argument("--skip-bad", action="store_true", help="leave bad lines out and list them")


def _fit(arguments: argparse.Namespace) -> int:
    check_whole("--most", arguments.most, 1)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    with _spoken():
        reading = _read(arguments)
    posteriors = _posteriors(reading, arguments.concentration)
    if arguments.out is not None and len(posteriors) > 1:
        raise DataError("--out saves one run, and --rows separate makes one for each state.")
    code = 0
    seeds: list[Any] = [arguments.seed]
    if len(posteriors) > 1:  # each row its own, else they would depend on each other
        seeds = list(np.random.SeedSequence(arguments.seed).spawn(len(posteriors)))
    for (name, posterior), seed in zip(posteriors.items(), seeds, strict=True):
        chosen = arguments.method == "auto"  # else the choices of auto are not to the point
        structure = str(posterior.structure) if chosen else repr(posterior.structure)
        print(f"\n{name}{structure}\n", flush=True)
        with _spoken() as seen:
            run = posterior.sample(
                arguments.draws,
                chains=arguments.chains,
                seed=seed,
                method=arguments.method,
                to=arguments.out if arguments.stream else None,
                cluster=arguments.cluster,
            )
        if any(issubclass(w.category, ConvergenceWarning) for w in seen):
            code = NOT_CONVERGED
        print(summary(run, counts=posterior.counts, sort=True).to_text(arguments.most))
        sizes = run.posterior.sizes
        print(
            f"\n{sizes['chain']} chains of {sizes['draw']:,} draws, method {run.attrs['method']}, "
            f"seed {run.attrs['seed']}."
        )
        if arguments.stream:
            print(f"Written: {Path(arguments.out)}")
        elif arguments.out is not None:
            save(run, arguments.out, overwrite=arguments.overwrite)
            print(f"Saved: {Path(arguments.out)}")
        if run.attrs["interrupted"]:  # what there was by then is printed, and saved
            sys.stdout.flush()
            raise KeyboardInterrupt(f"{sizes['draw']:,} of {arguments.draws:,} draws were made.")
    return code


def _inspect(arguments: argparse.Namespace) -> int:
    with _spoken():
        reading = _read(arguments)
    counts = reading.counts
    for name, one in counts.items() if isinstance(counts, dict) else [("", counts)]:
        print(f"\n{f'from {name}: ' if isinstance(counts, dict) else ''}{one.summary()}")
        print(structure_of(one.sets))
    return 0


def _read(arguments: argparse.Namespace) -> Reading:
    """Read the file as asked, and say what was understood."""
    options = {name: getattr(arguments, name) for name in (*_OPTIONS, "ignore", "cells")}
    options = {name: value for name, value in options.items() if value is not None}
    for pair in arguments.column:
        role, equals, name = pair.partition("=")
        if not equals:
            raise DataError(f"--column {pair}: ROLE=NAME is needed, as winner=champion.")
        if role not in _roles():
            raise DataError(f"--column {pair}: {role!r} is no part that a column can play; the "
                            f"parts are {', '.join(_roles())}.")  # fmt: skip
        options[role] = name
    kind, reading = understand(
        arguments.file,
        arguments.kind,
        encoding=arguments.encoding,
        delimiter=arguments.delimiter,
        skip_bad=arguments.skip_bad,
        **options,
    )
    print(f"{Path(arguments.file).name}: {kind}: {reading}")
    return reading


def _posteriors(reading: Reading, concentration: float) -> dict[str, Posterior]:
    counts = reading.counts
    if isinstance(counts, ConditionalCounts):
        return {"": Posterior(counts, concentration)}
    return {f"From {k}: ": Posterior(c, concentration) for k, c in counts.items()}


def _roles() -> list[str]:
    """Roles that columns can play in any kind of data."""
    named = (name for kind in KINDS.values() for name in (*kind.roles, *kind.parameters))
    return list(dict.fromkeys(named))


def located(source: str, problem: Problem, also: str = "") -> str:
    """FILE:LINE: what is wrong; without the line where it is about the whole file."""
    where = f"{source}:{problem.place}" if problem.place else source
    return f"{where}: {also}{problem.what}"


@contextmanager
def _spoken() -> Iterator[list[warnings.WarningMessage]]:
    """Say warnings as sentences on standard error, without the code that they came from."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen
    for warning in seen:
        message = warning.message
        if isinstance(message, SkippedRowsWarning):
            for problem in message.problems:
                print(located(message.source, problem, "left out: "), file=sys.stderr)
        else:
            print(f"luce: {message}", file=sys.stderr)
