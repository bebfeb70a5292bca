"""The command `luce fit`: reads a file, draws from the posterior, prints a summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from luce._types import Label
from luce.answers.diagnostics import verdict
from luce.answers.summaries import Summary, summary
from luce.answers.view import DrawsView
from luce.cli.data import add_reading, read_data
from luce.cli.printing import (
    NOT_CONVERGED,
    complain,
    print_ignored,
    size_of,
    uninterrupted,
    warnings_printed,
)
from luce.cli.priors import add_priors
from luce.cli.selection import add_selection, refuse_selection, selected
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, printable
from luce.errors import DataError, LuceError
from luce.model.contents import attributes
from luce.posterior import Posterior
from luce.reading.kinds import PAIRS, TEAMS
from luce.runs.saving import check_target, save
from luce.sampling.convergence import Verdict
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import DataTree


# What one observation is called in data of games.
_GAMES = (PAIRS.noun, TEAMS.noun)

# Numbers drawn that are summarised within some seconds.
_QUICK = 4_000_000


def add_fit(commands: Any) -> None:
    """Add the command to the parser."""
    fit = commands.add_parser("fit", help="read a file, draw from the posterior, print a summary")
    add_reading(fit)
    add_priors(fit)
    fit.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    until = (
        "draw on until the check of convergence is met, up to 16 times DRAWS: converged, a number "
        "of effective draws, or none (default converged; none with --stream or --cluster)"
    )
    fit.add_argument("--until", type=_until, metavar="WHEN", help=until)
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
    spans = "print 90 %% intervals of transitions, too; with --rows separate"
    fit.add_argument("--intervals", action="store_true", help=spans)
    add_selection(fit)
    fit.set_defaults(run=run_fit)


def run_fit(arguments: argparse.Namespace) -> int:
    """Read a file, draw its posterior, print a summary and save the run where asked."""
    check_whole("--most", arguments.most, 1)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    with warnings_printed():
        reading = read_data(arguments)
    print_ignored(reading.uses)
    counts = reading.counts
    if not isinstance(counts, ConditionalCounts):
        return _fit_rows(counts, arguments)
    if arguments.intervals:
        raise DataError("--intervals is for --rows separate; other summaries have intervals.")
    priors = {"home": arguments.home_prior, "tie": arguments.tie_prior}
    posterior = Posterior(counts, arguments.concentration, **priors)
    return _fit_one(posterior, arguments, reading.noun in _GAMES)


def _until(word: str) -> float | str:
    """Read the value of --until."""
    if word in ("converged", "none"):
        return word
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{word!r}: converged, none, or a number of effective draws"
        ) from None


def _fit_one(posterior: Posterior, arguments: argparse.Namespace, are_games: bool) -> int:
    """Draw one posterior and print its summary."""
    among = selected(arguments, posterior.counts.categories, posterior.counts.effects)
    automatic = arguments.method == "auto"  # only then are the choices of "auto" to the point
    structure = str(posterior.structure) if automatic else repr(posterior.structure)
    print(f"\n{structure}\n", flush=True)
    if posterior.counts.parameters:
        print(f"Prior: {attributes(posterior.model)['prior']}.\n", flush=True)

    def summarised(draws: DataTree) -> str:
        table = summary(draws, counts=posterior.counts, among=among, sort=True)
        said = table.to_text(arguments.most)
        return f"{said}\n\n{_lead(table, draws, posterior)}" if are_games else said

    return _draw(posterior.sample, summarised, arguments)


def _fit_rows(rows: Mapping[Label, ConditionalCounts], arguments: argparse.Namespace) -> int:
    """Draw the separate rows of a transition matrix, and print it."""
    from luce.answers.transition_tables import transition_summary
    from luce.sequences.separate_rows import SeparateRows

    refuse_selection(arguments, "separate rows of transitions are not ranked")
    for name in ("home", "tie"):
        if getattr(arguments, f"{name}_prior") is not None:
            raise DataError(f"--{name}-prior: transitions have no such parameter; leave it out.")
    model = SeparateRows(rows, arguments.concentration)
    print(f"\n{plural(len(rows), 'row')}, each with a posterior of its own\n", flush=True)

    def summarised(draws: DataTree) -> str:
        width = get_terminal_size().columns
        found = transition_summary(draws)
        return found.to_text(width, intervals=arguments.intervals, most=arguments.most)

    return _draw(model.sample, summarised, arguments)


def _draw(
    sample: Callable[..., DataTree],
    summarised: Callable[[DataTree], str],
    arguments: argparse.Namespace,
) -> int:
    """Draw a run, save it, print its summary and verdict, and return the exit code.

    Parameters
    ----------
    sample
        The method `sample` of a model.
    summarised
        Lays a summary of the draws out as text.
    arguments
        Those of the command.
    """
    until = arguments.until
    if until is None:
        until = "none" if arguments.stream or arguments.cluster else "converged"
    with warnings_printed():
        run = sample(
            arguments.draws,
            chains=arguments.chains,
            seed=arguments.seed,
            method=arguments.method,
            until=None if until == "none" else until,
            to=arguments.out if arguments.stream else None,
            cluster=arguments.cluster,
        )
    unsaved = None
    if arguments.out is not None and not arguments.stream:  # before anything can go wrong
        if run.attrs["interrupted"]:
            made = plural(run.posterior.sizes["draw"], "draw")
            complain(f"luce: interrupted. {made} of each chain are saved to {arguments.out} ...")
        try:
            save(run, arguments.out, overwrite=arguments.overwrite)
        except LuceError as error:  # told after the summary, which would be lost as well
            unsaved = error
    with _quickly_summarised(run) as draws:
        print(summarised(draws))
        trust = verdict(run)
    _print_outcome(run, trust, arguments)
    if unsaved is not None:
        sys.stdout.flush()
        raise unsaved
    if arguments.out is not None:
        print(f"{'Written' if arguments.stream else 'Saved'}: {printable(Path(arguments.out))}")
    if run.attrs["interrupted"]:  # after the draws made so far were printed and saved
        sys.stdout.flush()
        made = run.posterior.sizes["draw"]
        asked = f" of {arguments.draws:,}" if made <= arguments.draws else ""
        raise KeyboardInterrupt(f"{made:,}{asked} draws were made.")
    return NOT_CONVERGED if trust.kind == "bad" or run.attrs.get("until_met") == 0 else 0


def _lead(table: Summary, draws: DataTree, posterior: Posterior) -> str:
    """Say who is the best, and what that rests on where it is little data."""
    from luce.decide.leaderboards import headline_of
    from luce.decide.thin_evidence import evidence_of

    view = DrawsView.of(draws)
    rows = view.take(view.numbers(table.categories, "rows"))
    evidence = evidence_of(rows, posterior.counts, posterior.model)
    return printable(headline_of(table.categories, table["p_best"], "competitor", evidence))


def _print_outcome(run: DataTree, trust: Verdict, arguments: argparse.Namespace) -> None:
    """Print the size of a run, and the verdict on it."""
    print(f"\n{size_of(run)}, method {run.attrs['method']}, seed {run.attrs['seed']}.")
    if run.posterior.sizes["draw"] > arguments.draws:
        print(f"{arguments.draws:,} draws a chain were asked for; more followed, by --until.")
    # What is wrong with bad draws was said by a warning.
    print(f"{trust.headline}." if trust.kind == "bad" else trust)


@contextmanager
def _quickly_summarised(run: DataTree) -> Iterator[DataTree]:
    """Yield few enough draws of an interrupted run for a quick summary; all of other runs.

    While the summary of an interrupted run is made, another Ctrl-C ends the process at once.
    """
    if not run.attrs["interrupted"]:
        yield run
        return
    sizes = run.posterior.sizes
    every = -(-max(x.size for x in run.posterior.data_vars.values()) // _QUICK)
    which = f"one in {every:,} of the" if every > 1 else "the"
    with uninterrupted(True, f"{which} {sizes['draw']:,} draws made"):
        yield run.isel(draw=slice(None, None, every))
