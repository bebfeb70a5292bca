"""The command `luce fit`: reads a file, draws from the posterior, prints a summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
from luce.cli.selection import add_selection, selected
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, printable
from luce.errors import DataError, LuceError
from luce.model.contents import attributes
from luce.model.priors import ParameterPrior
from luce.posterior import Posterior
from luce.reading.kind import Reading
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
    priors = {"home": arguments.home_prior, "tie": arguments.tie_prior}
    posteriors = _posteriors(reading, arguments.concentration, priors)
    if arguments.out is not None and len(posteriors) > 1:
        raise DataError("--out saves one run, and --rows separate makes one for each state.")
    seeds: list[Any] = [arguments.seed]
    if len(posteriors) > 1:  # a seed for each row: with one seed equal rows would get equal draws
        seeds = list(np.random.SeedSequence(arguments.seed).spawn(len(posteriors)))
    codes = [
        _fit_one(name, posterior, seed, arguments, reading.noun in _GAMES)
        for (name, posterior), seed in zip(posteriors, seeds, strict=True)
    ]
    return max(codes)


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


def _posteriors(
    reading: Reading, concentration: float, priors: Mapping[str, ParameterPrior | None]
) -> list[tuple[str, Posterior]]:
    """Return one posterior, or one for each row of transitions, and the words printed before it."""
    counts = reading.counts
    if isinstance(counts, ConditionalCounts):
        return [("", Posterior(counts, concentration, **priors))]
    return [
        (f"From {printable(k)}: ", Posterior(c, concentration, **priors)) for k, c in counts.items()
    ]


def _fit_one(
    name: str, posterior: Posterior, seed: Any, arguments: argparse.Namespace, are_games: bool
) -> int:
    """Draw one posterior, save it, print its summary and verdict, and return the exit code."""
    among = selected(arguments, posterior.counts.categories, posterior.counts.effects)
    automatic = arguments.method == "auto"  # only then are the choices of "auto" to the point
    structure = str(posterior.structure) if automatic else repr(posterior.structure)
    print(f"\n{name}{structure}\n", flush=True)
    if posterior.counts.parameters:
        print(f"Prior: {attributes(posterior.model)['prior']}.\n", flush=True)
    until = arguments.until
    if until is None:
        until = "none" if arguments.stream or arguments.cluster else "converged"
    with warnings_printed():
        run = posterior.sample(
            arguments.draws,
            chains=arguments.chains,
            seed=seed,
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
        table = summary(draws, counts=posterior.counts, among=among, sort=True)
        print(table.to_text(arguments.most))
        if are_games:
            print(f"\n{_lead(table, draws, posterior)}")
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
    every = -(-run.posterior["probabilities"].size // _QUICK)
    which = f"one in {every:,} of the" if every > 1 else "the"
    with uninterrupted(True, f"{which} {sizes['draw']:,} draws made"):
        yield run.isel(draw=slice(None, None, every))
