"""The command `luce segment`: a time series from a file, its states, and a table of segments."""

from __future__ import annotations

import argparse
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.cli.documents import (
    add_json,
    add_table,
    check_table,
    print_json,
    print_table,
    run_content,
    table_rows,
    words_aside,
)
from luce.cli.printing import (
    INTERRUPTED,
    NOT_CONVERGED,
    complain,
    print_ignored,
    print_verdict,
    size_of,
    split_at_commas,
    uninterrupted,
    warnings_printed,
)
from luce.cli.standard_input import called, kept_file
from luce.counts.labels import plural, printable, some
from luce.errors import DataError, IgnoredColumnsWarning, LuceError
from luce.runs.saving import check_target, save
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xarray import DataTree

    from luce.sequences.durations import Duration
    from luce.sequences.emissions import Emission
    from luce.sequences.semi_markov import SemiMarkov
    from luce.sequences.series import Series
    from luce.sequences.tables import Table

# Sweeps of all chains together may take so many seconds of one core, unless more are asked for.
_SECONDS = 60.0

# Nanoseconds that a sweep takes for each row and state, and for each row of the longest segment
# besides; where there is no longest segment, as for this many.
_NANOSECONDS, _NANOSECONDS_BY_LONGEST, _AS_LONGEST = 35.0, 1 / 10, 60

# Draws and warm-up sweeps of each chain unless given: at most, and at least.
_MOST_DRAWS, _MOST_WARMUP, _LEAST_SWEEPS = 1000, 500, 25

_EMISSIONS = "gaussian, diagonal, counts, categories, or ar:LAGS as ar:1"
_DURATIONS = (
    "poisson:MEAN, geometric:MEAN, negative-binomial:MEAN, MEAN being rows of a segment before any "
    "data, or histogram, histogram:LONGEST"
)


def add_segment(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "segment", help="read a time series, find its states, print a table of segments"
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="CSV, Parquet or JSON Lines, a row a time; - for standard input",
    )
    columns = "the channels, as x,y; again for more (default: all columns of numbers)"
    parser.add_argument("--columns", action="append", metavar="NAME", help=columns)
    sequence = (
        "the column that names the sequence of each row, or none (default: sequence, if there)"
    )
    parser.add_argument("--sequence", metavar="NAME", help=sequence)
    parser.add_argument(
        "--time", metavar="NAME", help="the column of times, or none (default: time, if there)"
    )
    states = "largest number of states (default %(default)s)"
    parser.add_argument("--states", type=int, default=20, metavar="N", help=states)
    emission = f"law of the values in a state: {_EMISSIONS} (default %(default)s)"
    parser.add_argument("--emission", default="gaussian", metavar="LAW", help=emission)
    duration = f"law of how long a state lasts: {_DURATIONS} (default %(default)s)"
    parser.add_argument("--duration", default="poisson:30", metavar="LAW", help=duration)
    longest = "longest segment to look for, in rows (default: four times the mean)"
    parser.add_argument("--longest", type=int, metavar="N", help=longest)
    draws = "draws a chain (default: 1000, fewer for long series)"
    parser.add_argument("--draws", type=int, metavar="N", help=draws)
    parser.add_argument("--chains", type=int, default=4, help="chains (default %(default)s)")
    warmup = "sweeps that each chain discards (default: 500, fewer for long series)"
    parser.add_argument("--warmup", type=int, metavar="N", help=warmup)
    parser.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    keep = "draws a chain whose states are kept (default: up to 250 that fit into 200 MB)"
    parser.add_argument("--keep-states", type=int, metavar="N", help=keep)
    parser.add_argument(
        "--out", metavar="RUN", help="save the run: a name that ends in .nc or .zarr"
    )
    stream = (
        "write draws to RUN, a .zarr folder, as they are made; `luce resume RUN` goes on if that "
        "is broken off"
    )
    parser.add_argument("--stream", action="store_true", help=stream)
    parser.add_argument("--overwrite", action="store_true", help="replace RUN if it is there")
    most = "segments to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    add_json(parser)
    add_table(parser)
    parser.set_defaults(run=run_segment)


def run_segment(arguments: argparse.Namespace) -> int:
    """Read a series, draw its states, print states and segments, and save the run where asked."""
    check_whole("--most", arguments.most, 1)
    check_whole("--states", arguments.states, 2)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    check_table(arguments)
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    from luce.sequences.semi_markov import SemiMarkov

    model = SemiMarkov(
        arguments.states,
        _emission(arguments.emission),
        _duration(arguments.duration),
        longest=arguments.longest,
    )
    with words_aside(arguments):
        series = _read(model, arguments)
        draws, warmup = _lengths_of_chains(model, series, arguments)
        _print_model(model, series)
    with warnings_printed():
        run = model.fit(
            series,
            draws,
            chains=arguments.chains,
            warmup=warmup,
            seed=arguments.seed,
            keep_states=arguments.keep_states,
            to=arguments.out if arguments.stream else None,
        )
    return _conclude(run, series, draws, arguments)


def _conclude(run: DataTree, series: Series, draws: int, arguments: argparse.Namespace) -> int:
    """Save a run, print its states, segments and verdict, and return the exit code."""
    from luce.sequences.segmentations import KeptStates, segments, summary
    from luce.sequences.semi_markov_runs import verdict_of

    unsaved, made = None, run["posterior"].sizes["draw"]
    interrupted = bool(run.attrs["interrupted"])
    if arguments.out is not None and not arguments.stream:  # before anything can go wrong
        if interrupted:
            complain(
                f"luce: interrupted. {plural(made, 'draw')} of each chain are saved to "
                f"{arguments.out} ..."
            )
        try:
            save(run, arguments.out, overwrite=arguments.overwrite)
        except LuceError as error:  # told after the tables, which would be lost as well
            unsaved = error
    if interrupted and run["states"].sizes["draw"] == 0:
        raise KeyboardInterrupt(f"{made:,} of {draws:,} draws were made, too few for a table.")
    with uninterrupted(interrupted, f"the {made:,} draws made"):
        kept = KeptStates.of(run)
        states = summary(kept)
        states.notes = ()  # the verdict below, and a warning, say the same
        with words_aside(arguments):
            print(f"\n{states.to_text(arguments.states)}\n")
        found = _with_times(segments(kept), series)
        rows = table_rows(found)
        print_table(arguments, rows, found.to_text(arguments.most))
        trust = verdict_of(run, kept.doubts)
    code = INTERRUPTED if interrupted else NOT_CONVERGED if trust.kind == "bad" else 0
    with words_aside(arguments):
        print(f"\n{size_of(run)}, method {run.attrs['method']}, seed {run.attrs['seed']}.")
        print_verdict(trust)
        if arguments.out is not None and unsaved is None:
            print(f"{'Written' if arguments.stream else 'Saved'}: {printable(Path(arguments.out))}")
    if arguments.json:
        content = {
            "rows": series.length,
            "channels": series.channels,
            **run_content(run, trust),
            "states": table_rows(states),
            "segments": rows,
            "saved": None if unsaved is not None else arguments.out,
        }
        print_json(arguments, code, content)
    sys.stdout.flush()
    if unsaved is not None:
        raise unsaved
    if interrupted:  # after the draws made so far were printed and saved
        raise KeyboardInterrupt(f"{made:,} of {draws:,} draws were made.")
    return code


# -- arguments and data ----------------------------------------------------------------------------


def _emission(word: str) -> Emission:
    """Read the law of values in a state."""
    from luce.sequences import emissions

    laws: dict[str, Callable[[], Emission]] = {
        "gaussian": emissions.Gaussian,
        "diagonal": emissions.DiagonalGaussian,
        "counts": emissions.Counts,
        "categories": emissions.Categories,
    }
    name, colon, lags = word.partition(":")
    if name == "ar":
        return emissions.Autoregressive(lags=_whole(lags, "--emission", word) if colon else 1)
    if name not in laws or colon:
        raise DataError(f"--emission {word}: {_EMISSIONS} is needed.")
    return laws[name]()


def _duration(word: str) -> Duration:
    """Read the law of how long a state lasts."""
    from luce.sequences import durations

    laws = {
        "poisson": durations.Poisson,
        "geometric": durations.Geometric,
        "negative-binomial": durations.NegativeBinomial,
    }
    name, colon, given = word.partition(":")
    if name == "histogram":
        return (
            durations.Histogram([0.5] * _whole(given, "--duration", word))
            if colon
            else durations.Histogram()
        )
    if name not in laws:
        raise DataError(f"--duration {word}: {_DURATIONS} is needed.")
    if not colon:
        return laws[name]()
    try:
        mean = float(given)
    except ValueError:
        raise DataError(
            f"--duration {word}: {given!r} is no number of rows; {name}:30 expects segments of 30."
        ) from None
    return laws[name](mean=mean)


def _whole(text: str, option: str, word: str) -> int:
    """Read a whole number, at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise DataError(f"{option} {word}: {text!r} is no whole number of at least 1.")
    return int(text)


def _read(model: SemiMarkov, arguments: argparse.Namespace) -> Series:
    """Read the file; print its size, and which columns were used and ignored."""
    columns = None if arguments.columns is None else split_at_commas(arguments.columns)
    sequence, time = (
        False if name == "none" else name for name in (arguments.sequence, arguments.time)
    )
    with warnings_printed(), _columns_unsaid(), kept_file(arguments.file) as path:
        series = model.read(path, columns=columns, sequence=sequence, time=time)
    missing = f", {plural(series.n_missing, 'missing value')}" if series.n_missing else ""
    of = f" in {plural(series.n_sequences, 'sequence')}" if series.n_sequences > 1 else ""
    print(
        f"{printable(called(arguments.file))}: time series: {plural(series.length, 'row')} of "
        f"{plural(series.n_channels, 'channel')} ({some(series.channels)}){of}{missing}"
    )
    for name, use in series.uses.items():
        for role in ("sequence", "time"):
            if use.split(",")[0] == role:
                print(f"Column of {role}s: {printable(name)}.")
    print_ignored(series.uses)
    return series


@contextmanager
def _columns_unsaid() -> Iterator[None]:
    """Drop warnings of columns that are ignored: they are printed with those that are used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredColumnsWarning)
        yield


def _lengths_of_chains(
    model: SemiMarkov, series: Series, arguments: argparse.Namespace
) -> tuple[int, int]:
    """Choose draws and warm-up sweeps of a chain; say so where a long series leaves few."""
    check_whole("--chains", arguments.chains, 1)
    longest = model.longest_in(series) or _AS_LONGEST
    nanoseconds = _NANOSECONDS + _NANOSECONDS_BY_LONGEST * longest
    work = nanoseconds * series.length * model.n_states * arguments.chains
    half = int(_SECONDS * 1e9 / work / 2)
    draws, warmup = arguments.draws, arguments.warmup
    if draws is None:
        draws = min(max(half, _LEAST_SWEEPS), _MOST_DRAWS)
    check_whole("--draws", draws, 1)
    if warmup is None:
        warmup = min(max(half, _LEAST_SWEEPS), _MOST_WARMUP)
    if arguments.draws is None and draws < _MOST_DRAWS:
        print(
            f"The series is long: {plural(arguments.chains, 'chain')} of {plural(draws, 'draw')}, "
            f"after {plural(warmup, 'sweep')} each. Ask for more with --draws and --warmup, or use "
            "fewer --states."
        )
    return draws, warmup


def _print_model(model: SemiMarkov, series: Series) -> None:
    """Print the prior, and which of its numbers were taken from the data."""
    longest = model.longest_in(series)
    limit = f", segments of at most {longest:,} rows" if longest else ""
    print(
        f"Up to {model.n_states} states; durations {model.duration}{limit}.\n"
        f"Prior: {model.emission.resolved(series).prior_words()}.",
        flush=True,
    )


def _with_times(table: Table, series: Series) -> Table:
    """Add the time at which each segment begins, where times were given."""
    from luce.sequences.tables import Table

    if series.times is None:
        return table
    first = dict(zip(series.names, series.borders.tolist(), strict=False))
    places = [
        first[name] + int(start)
        for name, start in zip(table["sequence"].tolist(), table["start"].tolist(), strict=True)
    ]
    columns = {**table.columns, "begins": series.moments[places]}
    return Table(columns, table.header, table.notes, table.row, ["probability"])
