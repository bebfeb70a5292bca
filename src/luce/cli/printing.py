"""Words that all commands print: sizes, columns, problems and warnings; and exit codes."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from luce.cli.colours import coloured
from luce.counts.labels import plural, printable_lines, some
from luce.errors import BadRowsError, Problem, SkippedRowsWarning
from luce.reading.accounts import IGNORED

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.sampling.convergence import Verdict

# Exit codes; 2, wrong usage, is argparse's.
REFUSED = 1
NOT_CONVERGED = 3  # done, but the draws should not be trusted yet
INTERRUPTED = 130
NO_READER = 141  # standard output was closed by its reader, as in `luce fit x | head`

# Codes of commands that print something, in words.
EXIT_CODES = {
    0: "done",
    NOT_CONVERGED: "done, but the draws should not be trusted yet",
    INTERRUPTED: "interrupted; the draws made so far are told of",
}


def size_of(run: DataTree) -> str:
    """Count chains and draws in words."""
    sizes = run["posterior"].sizes
    return f"{plural(sizes['chain'], 'chain')} of {plural(sizes['draw'], 'draw')}"


def ignored_columns(uses: Mapping[str, str]) -> list[str]:
    """List the columns that play no part, unless that was asked for."""
    return [name for name, use in uses.items() if use.startswith(IGNORED)]


def print_ignored(uses: Mapping[str, str]) -> None:
    """Print which columns play no part, unless that was asked for."""
    if ignored := ignored_columns(uses):
        print(f"Ignored columns: {some(ignored, 12)}.")


def print_verdict(trust: Verdict) -> None:
    """Print the verdict on draws; what is wrong with bad ones was said by a warning."""
    print(coloured(f"{trust.headline}." if trust.kind == "bad" else trust, trust.kind))


def split_at_commas(given: list[str]) -> list[str]:
    """Split the values of an option at commas."""
    return [part.strip() for value in given for part in value.split(",") if part.strip()]


def complain(text: str) -> None:
    """Print words on standard error; names from data cannot steer the terminal."""
    print(printable_lines(text), file=sys.stderr)


def print_bad_rows(error: BadRowsError) -> None:
    """Print a line for each bad row, then a remedy."""
    for problem in error.problems:
        complain(_located(error.source, problem))
    them = "it" if len(error.problems) == 1 else "them"
    print(
        f"luce: {plural(len(error.problems), error.unit)} cannot be used; mend {them}, or leave "
        f"{them} out with --skip-bad",
        file=sys.stderr,
    )
    if error.advice:
        complain(f"luce: {error.advice}")


def _located(source: str, problem: Problem, also: str = "") -> str:
    """Return "FILE:LINE: problem", without the line where the problem is of the whole file."""
    where = f"{source}:{problem.place}" if problem.place else source
    return f"{where}: {also}{problem.what}"


@contextmanager
def warnings_printed() -> Iterator[list[warnings.WarningMessage]]:
    """Print warnings as sentences on standard error, without the code that they came from.

    Yields the list to which they are added.
    """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen
    for warning in seen:
        message = warning.message
        if isinstance(message, SkippedRowsWarning):
            for problem in message.problems:
                complain(_located(message.source, problem, "left out: "))
            if message.advice:
                complain(f"luce: {message.advice}")
        else:
            complain(f"luce: {message}")


@contextmanager
def uninterrupted(interrupted: bool, draws: str) -> Iterator[None]:
    """Say what an interrupted run is summarised by; another Ctrl-C then ends the process at once.

    Parameters
    ----------
    interrupted
        Was the run interrupted?
    draws
        The draws that the summary is of, in words.
    """
    if not interrupted:
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(
        f"luce: interrupted. The summary is of {draws}; Ctrl-C again ends at once.",
        file=sys.stderr,
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
