"""The command line: reads arguments, calls the library and prints; no statistics here."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from luce.answers.summaries import summary
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.errors import (
    BadRowsError,
    ConvergenceWarning,
    DataError,
    LuceError,
    Problem,
    SkippedRowsWarning,
)
from luce.posterior import Posterior
from luce.reading.files import understand
from luce.reading.kind import Reading
from luce.reading.kinds import KINDS
from luce.runs.saving import check_target, save
from luce.sampling.settings import check_whole
from luce.version import __version__

# Exit codes; 2, wrong usage, is argparse's.
REFUSED = 1
NOT_CONVERGED = 3  # done, but the draws should not be trusted yet
INTERRUPTED = 130
NO_READER = 141  # standard output was closed by its reader, as in `luce fit x | head`

# Numbers drawn that are summarised within some seconds.
_QUICK = 4_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 done, 1 refused by luce, 2 wrong usage, 3 done but the draws are not to be trusted yet,
    130 ended by Ctrl-C, 141 when nobody reads on.
    """
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Letters that a terminal cannot show become question marks, not a late error.
        sys.stdout.reconfigure(errors="replace")
    try:
        arguments = _parsed(argv)
        code = arguments.run(arguments)
        sys.stdout.flush()
    except BadRowsError as error:
        _print_bad_rows(error)
        return REFUSED
    except LuceError as error:
        print(f"luce: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except KeyboardInterrupt as error:
        print(f"luce: interrupted{f'. {error}' if str(error) else ''}", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:  # standard output on a full disk, a folder that was taken away
        print(f"luce: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        _discard_output()
        return REFUSED
    return int(code or 0)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    try:
        return _parser().parse_args(argv)
    finally:
        sys.stdout.flush()  # --help and --version end here


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="luce", description="Draws of probabilities seen through subsets."
    )
    parser.add_argument("--version", action="version", version=f"luce {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (_add_fit, _add_inspect, _add_report, _add_resume, _add_demo, _add_paper):
        add(commands)
    return parser


# -- fit and inspect -------------------------------------------------------------------------------

# Options that a reader takes by name, and their help.
_READER_OPTIONS = {
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


def _add_fit(commands: Any) -> None:
    fit = commands.add_parser("fit", help="read a file, draw from the posterior, print a summary")
    _add_reading(fit)
    prior = "the prior's parameter, for all categories (default %(default)s)"
    fit.add_argument("--concentration", type=float, default=1.0, metavar="A", help=prior)
    fit.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    fit.add_argument("--chains", type=int, default=4, help="chains (default %(default)s)")
    fit.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    fit.add_argument("--method", default="auto", help="how to draw (default %(default)s)")
    fit.add_argument("--out", metavar="RUN", help="save the run: a name that ends in .nc or .zarr")
    stream = (
        "write draws to RUN, a .zarr folder, as they are made; `luce resume RUN` goes on if that "
        "is broken off"
    )
    fit.add_argument("--stream", action="store_true", help=stream)
    cluster = "draw chains on the workers of a Dask scheduler, or 'local'"
    fit.add_argument("--cluster", metavar="ADDRESS", help=cluster)
    fit.add_argument("--overwrite", action="store_true", help="replace RUN if it is there")
    most = "rows of the summary to print (default %(default)s)"
    fit.add_argument("--most", type=int, default=40, metavar="N", help=most)
    fit.set_defaults(run=run_fit)


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser("inspect", help="say what a file holds, and draw nothing")
    _add_reading(parser)
    parser.set_defaults(run=run_inspect)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which file to read, and how."""
    parser.add_argument("file", metavar="FILE", help="CSV, Parquet, JSON Lines, PrefLib or PGN")
    parser.add_argument("--kind", choices=list(KINDS), help="what it holds")
    column = "which column plays a part, as winner=champion; again for more"
    parser.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help=column)
    for name, words in _READER_OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=words)
    parser.add_argument("--ignore", action="append", metavar="COLUMN", help="leave a column out")
    cells = "groups: a column that is part of the category; again for more"
    parser.add_argument("--cells", action="append", metavar="COLUMN", help=cells)
    parser.add_argument("--encoding", help="of text; UTF-8 unless given")
    parser.add_argument("--delimiter", help="between values; found unless given")
    parser.add_argument("--skip-bad", action="store_true", help="leave bad lines out and list them")


def run_fit(arguments: argparse.Namespace) -> int:
    """Read a file, draw its posterior, print a summary and save the run where asked."""
    check_whole("--most", arguments.most, 1)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    with _warnings_printed():
        reading = _read(arguments)
    posteriors = _posteriors(reading, arguments.concentration)
    if arguments.out is not None and len(posteriors) > 1:
        raise DataError("--out saves one run, and --rows separate makes one for each state.")
    seeds: list[Any] = [arguments.seed]
    if len(posteriors) > 1:  # a seed for each row: with one seed equal rows would get equal draws
        seeds = list(np.random.SeedSequence(arguments.seed).spawn(len(posteriors)))
    codes = [
        _fit_one(name, posterior, seed, arguments)
        for (name, posterior), seed in zip(posteriors.items(), seeds, strict=True)
    ]
    return max(codes)


def _fit_one(name: str, posterior: Posterior, seed: Any, arguments: argparse.Namespace) -> int:
    """Draw one posterior, print its summary, save it, and return the exit code."""
    automatic = arguments.method == "auto"  # only then are the choices of "auto" to the point
    structure = str(posterior.structure) if automatic else repr(posterior.structure)
    print(f"\n{name}{structure}\n", flush=True)
    with _warnings_printed() as seen:
        run = posterior.sample(
            arguments.draws,
            chains=arguments.chains,
            seed=seed,
            method=arguments.method,
            to=arguments.out if arguments.stream else None,
            cluster=arguments.cluster,
        )
    if arguments.out is not None and not arguments.stream:  # before anything can go wrong
        save(run, arguments.out, overwrite=arguments.overwrite)
    with _interrupted(run) as some_draws:
        print(summary(some_draws, counts=posterior.counts, sort=True).to_text(arguments.most))
    sizes = run.posterior.sizes
    print(
        f"\n{sizes['chain']} chains of {sizes['draw']:,} draws, method {run.attrs['method']}, "
        f"seed {run.attrs['seed']}."
    )
    if arguments.stream:
        print(f"Written: {Path(arguments.out)}")
    elif arguments.out is not None:
        print(f"Saved: {Path(arguments.out)}")
    if run.attrs["interrupted"]:  # after the draws made so far were printed and saved
        sys.stdout.flush()
        raise KeyboardInterrupt(f"{sizes['draw']:,} of {arguments.draws:,} draws were made.")
    doubtful = any(issubclass(w.category, ConvergenceWarning) for w in seen)
    return NOT_CONVERGED if doubtful else 0


@contextmanager
def _interrupted(run: Any) -> Iterator[Any]:
    """Return few enough draws of an interrupted run for a quick summary; all of other runs.

    While the summary of an interrupted run is made, another Ctrl-C ends the process at once.
    """
    if not run.attrs["interrupted"]:
        yield run
        return
    sizes = run.posterior.sizes
    every = -(-run.posterior["probabilities"].size // _QUICK)
    which = f"one in {every:,} of the" if every > 1 else "the"
    usual = signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(
        f"luce: interrupted. The summary is of {which} {sizes['draw']:,} draws made; Ctrl-C again "
        "ends at once.",
        file=sys.stderr,
    )
    try:
        yield run.isel(draw=slice(None, None, every))
    finally:
        signal.signal(signal.SIGINT, usual)


def run_inspect(arguments: argparse.Namespace) -> int:
    """Read a file; print its counts and the exact and simulated parts of its posterior."""
    with _warnings_printed():
        reading = _read(arguments)
    counts = reading.counts
    for name, one in counts.items() if isinstance(counts, dict) else [("", counts)]:
        print(f"\n{f'from {name}: ' if isinstance(counts, dict) else ''}{one.summary()}")
        print(Posterior(one).model.structure)
    return 0


def _read(arguments: argparse.Namespace) -> Reading:
    """Read the file with the options given, and print its kind and size."""
    options = {name: getattr(arguments, name) for name in (*_READER_OPTIONS, "ignore", "cells")}
    options = {name: value for name, value in options.items() if value is not None}
    for pair in arguments.column:
        role, equals, name = pair.partition("=")
        if not equals:
            raise DataError(f"--column {pair}: ROLE=NAME is needed, as winner=champion.")
        if role not in _roles():
            raise DataError(
                f"--column {pair}: {role!r} is no part that a column can play; the parts are "
                f"{', '.join(_roles())}."
            )
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
    """Return one posterior, or one for each row of transitions, by the words printed before it."""
    counts = reading.counts
    if isinstance(counts, ConditionalCounts):
        return {"": Posterior(counts, concentration)}
    return {f"From {k}: ": Posterior(c, concentration) for k, c in counts.items()}


def _roles() -> list[str]:
    """List the parts that columns can play, over all kinds of data."""
    named = (name for kind in KINDS.values() for name in (*kind.roles, *kind.column_options))
    return list(dict.fromkeys(named))


# -- report, resume, demo, paper -------------------------------------------------------------------


def _add_report(commands: Any) -> None:
    parser = commands.add_parser("report", help="write a page about a saved run")
    parser.add_argument("file", metavar="RUN", help="what `luce fit --out` or luce.save wrote")
    out = "the page (default: the run's name with .html, beside it)"
    parser.add_argument("--out", metavar="PAGE", help=out)
    parser.add_argument("--title", help="heading of the page")
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    """Write a page about a saved run."""
    from luce.reports.run_page import write_report

    run = Path(arguments.file)
    out = run.with_suffix(".html") if arguments.out is None else Path(arguments.out)
    if not out.parent.is_dir():  # before any work is done
        raise DataError(f"{out} cannot be written: there is no folder {out.parent}.")
    page, trust = write_report(
        arguments.file, out, title=arguments.title, ci_prob=arguments.ci_prob
    )
    print(f"{trust.headline}.\nThe page: {page.resolve()}")
    return NOT_CONVERGED if trust.kind == "bad" else 0


def _add_resume(commands: Any) -> None:
    words = "draw what is missing of a run that was broken off"
    parser = commands.add_parser("resume", help=words)
    parser.add_argument("run_folder", metavar="RUN", help="a folder that ends in .zarr")
    parser.add_argument("--threads", type=int, default=None, help="chains drawn at the same time")
    parser.set_defaults(run=run_resume)


def run_resume(arguments: argparse.Namespace) -> int:
    """Draw the missing draws of a streamed run."""
    from luce.workflows.resuming import resume

    run = resume(arguments.run_folder, threads=arguments.threads)
    sizes = run["posterior"].sizes
    print(
        f"{Path(arguments.run_folder)} is complete: {sizes['chain']} chains of {sizes['draw']:,} "
        f"draws of {sizes['category']:,} categories, method {run.attrs['method']}, "
        f"seed {run.attrs['seed']}."
    )
    return 0


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser("demo", help="draw from the paper's posterior and print a summary")
    demo.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    demo.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Draw from the paper's posterior and print a summary."""
    from luce.paper.examples import paper_posterior

    posterior = paper_posterior(10)
    print("Johnson & Willsky's posterior with n = 10: five truncated terms of ten outcomes each.\n")
    print(posterior.counts.summary())
    print(f"\n{posterior.structure}\n")
    began = time.perf_counter()
    draws = posterior.sample(arguments.draws, seed=arguments.seed)
    seconds = time.perf_counter() - began
    print(
        f"{draws.posterior.sizes['chain']} chains of {arguments.draws:,} draws in {seconds:.2f} s, "
        f"method {draws.attrs['method']}: {draws.attrs['reason']}.\n"
    )
    print(summary(draws))
    return 0


def _add_paper(commands: Any) -> None:
    words = "run the paper's experiments and write a report with its figures"
    paper = commands.add_parser("paper", help=words)
    quick = "20 chains of 1,000 draws, not 50 of 5,000"
    paper.add_argument("--quick", action="store_true", help=quick)
    out = "folder to write (default %(default)s)"
    paper.add_argument("--out", default="luce-paper", metavar="DIR", help=out)
    paper.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    figure = (
        "only this one, again for more: densities, graphical-models, autocorrelation, mpsrf-10, "
        "mpsrf-20 or statistic-convergence"
    )
    paper.add_argument("--figure", action="append", default=[], metavar="NAME", help=figure)
    paper.set_defaults(run=run_paper)


def run_paper(arguments: argparse.Namespace) -> int:
    """Run the paper's experiments, write the page, and print the verdict on each claim."""
    from luce.paper import reproduce

    report = reproduce(
        arguments.out, quick=arguments.quick, seed=arguments.seed, only=arguments.figure
    )
    print(f"The report, after {report.seconds:.0f} seconds: {report.page.resolve()}\n")
    for listed in report.claims.values():
        for claim in listed:
            source = "our check: " if claim.ours else ""
            print(f"{claim.verdict:>14}  {source}{claim.statement}\n{'':16}{claim.measured}.")
    return 0


# -- errors and warnings as sentences --------------------------------------------------------------


def _print_bad_rows(error: BadRowsError) -> None:
    """Print a line for each bad row, then a remedy."""
    for problem in error.problems:
        print(_located(error.source, problem), file=sys.stderr)
    them = "it" if len(error.problems) == 1 else "them"
    print(
        f"luce: {plural(len(error.problems), error.unit)} cannot be used; mend {them}, or leave "
        f"{them} out with --skip-bad",
        file=sys.stderr,
    )


def _located(source: str, problem: Problem, also: str = "") -> str:
    """Return "FILE:LINE: problem", without the line where the problem is of the whole file."""
    where = f"{source}:{problem.place}" if problem.place else source
    return f"{where}: {also}{problem.what}"


@contextmanager
def _warnings_printed() -> Iterator[list[warnings.WarningMessage]]:
    """Print warnings as sentences on standard error, without the code that they came from."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen
    for warning in seen:
        message = warning.message
        if isinstance(message, SkippedRowsWarning):
            for problem in message.problems:
                print(_located(message.source, problem, "left out: "), file=sys.stderr)
        else:
            print(f"luce: {message}", file=sys.stderr)


def _open_closed_streams() -> None:
    """Send output nowhere that was closed when the process was started, as by `luce fit x >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _discard_output() -> None:
    """Send further output nowhere, else Python complains when it closes standard output."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
