"""The command line: reads arguments, calls the library and prints; no statistics here."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from luce.cli.check import add_check
from luce.cli.compare import add_compare
from luce.cli.completion import add_completion
from luce.cli.fit import add_fit
from luce.cli.inspect import add_inspect
from luce.cli.leaderboard import add_leaderboard
from luce.cli.next import add_next
from luce.cli.paper import add_demo, add_paper
from luce.cli.play import add_play
from luce.cli.printing import INTERRUPTED, NO_READER, REFUSED, complain, print_bad_rows
from luce.cli.runs import add_report, add_resume
from luce.cli.segment import add_segment
from luce.cli.update import add_update
from luce.cli.warmup import add_warmup
from luce.errors import BadRowsError, LuceError
from luce.version import __version__


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
        print_bad_rows(error)
        return REFUSED
    except LuceError as error:
        complain(f"luce: {error}")
        return REFUSED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except KeyboardInterrupt as error:
        complain(f"luce: interrupted{f'. {error}' if str(error) else ''}")
        return INTERRUPTED
    except OSError as error:  # standard output on a full disk, a folder that was taken away
        complain(f"luce: {error.filename or 'output'}: {error.strerror or error}")
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
    adders = (
        add_fit,
        add_inspect,
        add_compare,
        add_check,
        add_segment,
        add_next,
        add_play,
        add_report,
        add_leaderboard,
        add_resume,
        add_update,
        add_demo,
        add_paper,
        add_warmup,
        add_completion,
    )
    for add in adders:
        add(commands)
    return parser


# -- output that nobody reads ----------------------------------------------------------------------


def _open_closed_streams() -> None:
    """Send output nowhere that was closed when the process was started, as by `luce fit x >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _discard_output() -> None:
    """Send further output nowhere, else Python complains when it closes standard output."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
