"""The command `luce fit`: reads a file, draws from the posterior, prints a summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from luce.answers.diagnostics import verdict
from luce.answers.summaries import Summary, summary
from luce.answers.view import DrawsView
from luce.cli.data import add_reading, read_data, reading_content
from luce.cli.documents import (
    Row,
    add_json,
    add_table,
    check_table,
    print_json,
    print_table,
    run_content,
    summary_rows,
    transition_rows,
    words_aside,
)
from luce.cli.printing import (
    INTERRUPTED,
    NOT_CONVERGED,
    complain,
    print_ignored,
    print_verdict,
    size_of,
    uninterrupted,
    warnings_printed,
)
from luce.cli.priors import add_priors
from luce.cli.selection import add_selection, refuse_selection, selected
from luce.counts.labels import plural, printable
from luce.errors import DataError, LuceError
from luce.model.contents import attributes
from luce.page.plain_tables import line_width, wrapped
from luce.posterior import Posterior
from luce.reading.kind import Reading
from luce.reading.kinds import PAIRS, TEAMS
from luce.runs.saving import check_target, save
from luce.sampling.convergence import Verdict
from luce.sampling.settings import check_whole
from luce.workflows.fitting import fit, posterior_with

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.sequences.separate_rows import SeparateRows

# What one observation is called in data of games.
_GAMES = (PAIRS.noun, TEAMS.noun)

# Numbers drawn that are summarised within some seconds.
_QUICK = 4_000_000


_EXAMPLES = """examples:
  luce fit games.csv --seed 1 --out games.nc
  luce fit season.csv --ties davidson --home first --table season.md
  zcat votes.csv.gz | luce fit - --unranked below --json"""


def add_fit(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "fit",
        help="read a file, draw from the posterior, print a summary",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reading(parser)
    add_priors(parser)
    parser.add_argument(
        "--draws", type=int, default=1000, help="draws a chain (default %(default)s)"
    )
    until = (
        "draw on until the check of convergence is met, up to 16 times DRAWS: converged, a number "
        "of effective draws, or none (default converged; none with --stream or --cluster)"
    )
    parser.add_argument("--until", type=_until, metavar="WHEN", help=until)
    parser.add_argument("--chains", type=int, default=4, help="chains (default %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="random seed; made up unless given")
    parser.add_argument("--method", default="auto", help="how to draw (default %(default)s)")
    parser.add_argument(
        "--out", metavar="RUN", help="save the run: a name that ends in .nc or .zarr"
    )
    stream = (
        "write draws to RUN, a .zarr folder, as they are made; `luce resume RUN` goes on if that "
        "is broken off"
    )
    parser.add_argument("--stream", action="store_true", help=stream)
    cluster = "draw chains on the workers of a Dask scheduler, or 'local'"
    parser.add_argument("--cluster", metavar="ADDRESS", help=cluster)
    parser.add_argument("--overwrite", action="store_true", help="replace RUN if it is there")
    most = "rows of the summary to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    spans = "print 90 %% intervals of transitions, too; with --rows separate"
    parser.add_argument("--intervals", action="store_true", help=spans)
    add_selection(parser)
    add_json(parser)
    add_table(parser)
    parser.set_defaults(run=run_fit)


def run_fit(arguments: argparse.Namespace) -> int:
    """Read a file, draw its posterior, print a summary and save the run where asked."""
    check_whole("--most", arguments.most, 1)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    check_table(arguments)
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    with words_aside(arguments):
        with warnings_printed():
            reading = read_data(arguments)
        print_ignored(reading.uses)
        priors = (arguments.concentration, arguments.home_prior, arguments.tie_prior)
        model = posterior_with(reading.counts, *priors)
        if isinstance(model, Posterior):
            summarised = _introduced(model, arguments, reading.noun in _GAMES)
        else:
            summarised = _introduced_rows(model, arguments)
    return _draw(model, summarised, arguments, reading)


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


class _Told(NamedTuple):
    """What is printed about a run: its table as text, in rows, and sentences below."""

    text: str
    rows: list[Row]
    lead: str = ""
    notes: tuple[str, ...] = ()


_Summarised: TypeAlias = "Callable[[DataTree], _Told]"


def _introduced(
    posterior: Posterior, arguments: argparse.Namespace, are_games: bool
) -> _Summarised:
    """Print how a posterior is drawn, and its prior; return what summarises its draws."""
    if arguments.intervals:
        raise DataError("--intervals is for --rows separate; other summaries have intervals.")
    among = selected(arguments, posterior.counts.categories, posterior.counts.effects)
    automatic = arguments.method == "auto"  # only then are the choices of "auto" to the point
    structure = str(posterior.structure) if automatic else repr(posterior.structure)
    print(f"\n{structure}\n", flush=True)
    if posterior.counts.parameters:
        print(f"Prior: {attributes(posterior.model)['prior']}.\n", flush=True)

    def summarised(draws: DataTree) -> _Told:
        table = summary(draws, counts=posterior.counts, among=among, sort=True)
        lead = _lead(table, draws, posterior) if are_games else ""
        notes = [note for part in (table.effects, table.parameters) if part for note in part.notes]
        rows = summary_rows(table, draws)
        return _Told(table.to_text(arguments.most), rows, lead, (*table.notes, *notes))

    return summarised


def _introduced_rows(model: SeparateRows, arguments: argparse.Namespace) -> _Summarised:
    """Print the size of a transition matrix; return what summarises the draws of its rows."""
    from luce.answers.transition_tables import transition_summary

    refuse_selection(arguments, "separate rows of transitions are not ranked")
    print(f"\n{plural(len(model.sources), 'row')}, each with a posterior of its own\n", flush=True)

    def summarised(draws: DataTree) -> _Told:
        found = transition_summary(draws)
        width = get_terminal_size().columns
        text = found.to_text(width, intervals=arguments.intervals, most=arguments.most)
        return _Told(text, transition_rows(found))

    return summarised


def _draw(
    model: Posterior | SeparateRows,
    summarised: _Summarised,
    arguments: argparse.Namespace,
    reading: Reading,
) -> int:
    """Draw a run, save it, print its summary and verdict, and return the exit code."""
    until = "auto" if arguments.until is None else arguments.until
    with warnings_printed():
        run = fit(
            model,
            draws=arguments.draws,
            until=None if until == "none" else until,
            chains=arguments.chains,
            seed=arguments.seed,
            method=arguments.method,
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
        told = summarised(draws)
        trust = verdict(run)
        print_table(arguments, told.rows, told.text)
    bad = trust.kind == "bad" or run.attrs.get("until_met") == 0
    code = INTERRUPTED if run.attrs["interrupted"] else NOT_CONVERGED if bad else 0
    with words_aside(arguments):
        if told.lead:
            print("\n" + "\n".join(wrapped(told.lead, line_width())))
        _print_outcome(run, trust, arguments)
        if arguments.out is not None and unsaved is None:
            print(f"{'Written' if arguments.stream else 'Saved'}: {printable(Path(arguments.out))}")
    if arguments.json:
        saved = None if unsaved is not None else arguments.out
        print_json(arguments, code, _content(run, told, trust, reading) | {"saved": saved})
    sys.stdout.flush()
    if unsaved is not None:
        raise unsaved
    if code == INTERRUPTED:  # after the draws made so far were printed and saved
        made = run.posterior.sizes["draw"]
        asked = f" of {arguments.draws:,}" if made <= arguments.draws else ""
        raise KeyboardInterrupt(f"{made:,}{asked} draws were made.")
    return code


def _content(run: DataTree, told: _Told, trust: Verdict, reading: Reading) -> Row:
    """Put what is printed into lists and dictionaries."""
    return {
        "data": reading_content(reading),
        **run_content(run, trust),
        "summary": told.rows,
        "headline": told.lead or None,
        "notes": told.notes,
    }


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
    print_verdict(trust)


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
