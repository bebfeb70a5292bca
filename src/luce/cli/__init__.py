"""The command line: reads arguments, calls the library and prints; no statistics here."""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Label
from luce.answers.diagnostics import verdict
from luce.answers.summaries import summary
from luce.answers.view import DrawsView
from luce.cli.printing import (
    INTERRUPTED,
    NO_READER,
    NOT_CONVERGED,
    REFUSED,
    complain,
    print_bad_rows,
    print_ignored,
    size_of,
    split_at_commas,
    uninterrupted,
    warnings_printed,
)
from luce.cli.segment import add_segment
from luce.counts.comparability import prior_only
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, printable, printable_lines, some
from luce.errors import (
    BadRowsError,
    ConvergenceWarning,
    DataError,
    LuceError,
)
from luce.model.contents import attributes
from luce.model.priors import PARAMETER_PRIORS, Gamma, ParameterPrior
from luce.posterior import Posterior
from luce.reading.files import TextOptions, ask_about, keep_only, understand
from luce.reading.kind import Reading, near
from luce.reading.kinds import KINDS
from luce.reading.questions import Questions
from luce.runs.saving import check_target, load, save
from luce.sampling.convergence import Verdict
from luce.sampling.settings import check_whole
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree

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
        _add_fit,
        _add_inspect,
        add_segment,
        _add_report,
        _add_resume,
        _add_demo,
        _add_paper,
        _add_warmup,
    )
    for add in adders:
        add(commands)
    return parser


# -- fit and inspect -------------------------------------------------------------------------------

# Options that a reader takes by name, and their help.
_READER_OPTIONS = {
    "ties": "what a tie means: davidson, rao-kupper, entity, half or drop; in rankings unknown, "
    "davidson-luce, half, last or drop",
    "bottom": "a tie in last place of a ranking, where it differs: last",
    "home": "who has an advantage: first, second, or a column that names the item",
    "home_effect": "how it acts: multiplicative, a factor of the strength (default), or entity, a "
    "category",
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
    "tie_label": "name of the category for ties, with --ties entity",
    "home_label": "name of the category for the advantage, with --home-effect entity",
}


def _add_fit(commands: Any) -> None:
    fit = commands.add_parser("fit", help="read a file, draw from the posterior, print a summary")
    _add_reading(fit)
    prior = "the prior's parameter, for all categories (default %(default)s)"
    fit.add_argument("--concentration", type=float, default=1.0, metavar="A", help=prior)
    for name, about in (("home", "the factor at home"), ("tie", "Davidson's nu, or theta - 1")):
        usual = PARAMETER_PRIORS[name]
        words = f"gamma prior of {about}, as {usual.shape:g},{usual.rate:g} (default); or its value"
        fit.add_argument(f"--{name}-prior", type=_parameter_prior, metavar="SHAPE,RATE", help=words)
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
    _add_selection(fit)
    fit.set_defaults(run=run_fit)


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser("inspect", help="say what a file holds, and draw nothing")
    _add_reading(parser)
    parser.set_defaults(run=run_inspect)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which categories are ranked."""
    among = "rank these categories only; again for more (default: all but ties and advantages)"
    parser.add_argument("--among", action="append", metavar="CATEGORY", help=among)
    exclude = "leave a category out of the ranks; again for more"
    parser.add_argument("--exclude", action="append", default=[], metavar="CATEGORY", help=exclude)


def _selected(
    arguments: argparse.Namespace, categories: Iterable[Label], effects: Iterable[Label]
) -> list[Label] | None:
    """Find the categories to rank by their text; None where the arguments leave that open.

    Labels that print alike, such as 1 and "1", are ranked or left out together.
    """
    if arguments.among is None and not arguments.exclude:
        return None
    known: dict[str, list[Label]] = {}
    for label in categories:
        known.setdefault(str(label), []).append(label)
    for option in ("among", "exclude"):
        for name in getattr(arguments, option) or []:
            if name not in known:
                raise DataError(
                    f"--{option} {name}: there is no such category; the categories are "
                    f"{some(known, quote=False)}.{near(name, known)}"
                )
    asked, apart = arguments.among, set(effects)
    names = [name for name in dict.fromkeys(asked or known) if name not in arguments.exclude]
    kept = [c for name in names for c in known[name] if asked is not None or c not in apart]
    if not kept:
        raise DataError("--among and --exclude leave no category to rank; name one at least.")
    return kept


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which file to read, and how."""
    parser.add_argument("file", metavar="FILE", help="CSV, Parquet, JSON Lines, PrefLib or PGN")
    parser.add_argument("--kind", choices=list(KINDS), help="what it holds")
    column = "which column plays a part, as winner=champion; again for more"
    parser.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help=column)
    for name, words in _READER_OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=words)
    parser.add_argument(
        "--ignore", action="append", metavar="COLUMN", help="leave a column out; again for more"
    )
    cells = "groups: a column that is part of the category; again for more"
    parser.add_argument("--cells", action="append", metavar="COLUMN", help=cells)
    codes = "choices: labels of codes, as 1=train,2=car; again for more"
    parser.add_argument("--codes", action="append", metavar="CODE=LABEL", help=codes)
    only = "keep these categories and the outcomes among them, as ann,bo,cy; again for more"
    parser.add_argument("--only", action="append", metavar="LABEL", help=only)
    parser.add_argument("--encoding", help="of text; UTF-8 unless given")
    parser.add_argument("--delimiter", help="between values; found unless given")
    missing = "a text that stands for a missing value; again for more, '' for none (NA, NaN, ...)"
    parser.add_argument("--missing", action="append", metavar="TEXT", help=missing)
    parser.add_argument("--skip-bad", action="store_true", help="leave bad lines out and list them")


def run_fit(arguments: argparse.Namespace) -> int:
    """Read a file, draw its posterior, print a summary and save the run where asked."""
    check_whole("--most", arguments.most, 1)
    if arguments.stream and arguments.out is None:
        raise DataError("--stream needs --out RUN, the folder that draws are written to.")
    if arguments.out is not None:  # before any work is done
        check_target(arguments.out, arguments.overwrite)
    with warnings_printed():
        reading = _read(arguments)
    print_ignored(reading.uses)
    priors = {"home": arguments.home_prior, "tie": arguments.tie_prior}
    posteriors = _posteriors(reading, arguments.concentration, priors)
    if arguments.out is not None and len(posteriors) > 1:
        raise DataError("--out saves one run, and --rows separate makes one for each state.")
    seeds: list[Any] = [arguments.seed]
    if len(posteriors) > 1:  # a seed for each row: with one seed equal rows would get equal draws
        seeds = list(np.random.SeedSequence(arguments.seed).spawn(len(posteriors)))
    codes = [
        _fit_one(name, posterior, seed, arguments)
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


def _parameter_prior(word: str) -> ParameterPrior:
    """Read shape and rate of a gamma prior, or the value of a parameter that is known."""
    try:
        numbers = [float(part) for part in word.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise argparse.ArgumentTypeError(
            f"{word!r}: SHAPE,RATE of a gamma distribution, as 2,2, or a number that is known"
        )
    try:
        return numbers[0] if len(numbers) == 1 else Gamma(*numbers)
    except DataError as error:
        raise argparse.ArgumentTypeError(f"{word}: {error}") from None


def _fit_one(name: str, posterior: Posterior, seed: Any, arguments: argparse.Namespace) -> int:
    """Draw one posterior, save it, print its summary and verdict, and return the exit code."""
    among = _selected(arguments, posterior.counts.categories, posterior.counts.effects)
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


def run_inspect(arguments: argparse.Namespace) -> int:
    """Read a file; print its counts and the exact and simulated parts of its posterior."""
    with warnings_printed():
        reading = _read(arguments)
    if reading.uses:
        _print_uses(reading.uses)
    counts = reading.counts
    for name, one in counts.items() if isinstance(counts, dict) else [("", counts)]:
        start = f"from {printable(name)}: " if isinstance(counts, dict) else ""
        print(f"\n{start}{one.summary()}")
        print(Posterior(one).model.structure)
    return 0


def _read(arguments: argparse.Namespace) -> Reading:
    """Read the file with the options given, and print its kind and size."""
    options = {name: getattr(arguments, name) for name in (*_READER_OPTIONS, "ignore", "cells")}
    options = {name: value for name, value in options.items() if value is not None}
    text = TextOptions(arguments.encoding, arguments.delimiter, arguments.missing)
    with Questions() as questions:
        options |= _columns(arguments.column, questions)
        if arguments.codes is not None:
            with questions.gathered():
                options["codes"] = _codes(split_at_commas(arguments.codes))
        if questions:  # what else is to be asked about the columns is asked with it
            with questions.gathered():
                ask_about(arguments.file, arguments.kind, text, **options)
    kind, reading = understand(
        arguments.file, arguments.kind, text, skip_bad=arguments.skip_bad, **options
    )
    print(f"{printable(Path(arguments.file).name)}: {kind}: {reading}")
    if arguments.only is None:
        return reading
    kept = keep_only(reading, split_at_commas(arguments.only))
    print(f"kept with --only: {_extent(kept)} of {_extent(reading)}")
    one = kept.counts
    if not isinstance(one, dict) and len(prior_only(one)) == one.n_categories:
        raise DataError("--only: no outcome that is left compares these categories.")
    return kept


def _columns(pairs: Sequence[str], questions: Questions) -> dict[str, str]:
    """Read ROLE=NAME of columns, and ask about those that cannot be read."""
    columns = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not equals:
            questions.ask(f"--column {pair}: ROLE=NAME is needed, as winner=champion.")
        elif role not in _roles():
            questions.ask(
                f"--column {pair}: {role!r} is no part that a column can play; the parts are "
                f"{', '.join(_roles())}.{near(role, _roles())}"
            )
        else:
            columns[role] = name
    return columns


def _print_uses(uses: Mapping[str, str]) -> None:
    """Print what became of each column; columns of one use stand together."""
    columns: dict[str, list[str]] = {}
    for name, use in uses.items():
        columns.setdefault(use, []).append(name)
    listed = {some(names, 4): printable(use) for use, names in columns.items()}
    listed = {"column": "read as"} | listed
    width = max(map(len, listed))
    for names, use in listed.items():
        print(f"  {names:<{width}}  {use}")


def _codes(given: list[str]) -> dict[str, str]:
    """Read CODE=LABEL, each code once."""
    codes = dict[str, str]()
    for pair in given:
        code, equals, label = map(str.strip, pair.partition("="))
        if not equals:
            raise DataError(f"--codes {pair}: CODE=LABEL is needed, as 1=train.")
        if codes.setdefault(code, label) != label:
            raise DataError(f"--codes {code}={codes[code]},{pair}: a code stands for one label.")
    return codes


def _extent(reading: Reading) -> str:
    """Count the outcomes of a reading, and its categories or rows."""
    counts = reading.counts
    if isinstance(counts, dict):
        outcomes = sum(row.n_outcomes for row in counts.values())
        return f"{plural(outcomes, 'outcome')} from {plural(len(counts), 'state')}"
    n = counts.n_categories
    return f"{plural(counts.n_outcomes, 'outcome')} among {plural(n, 'category', 'categories')}"


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


def _roles() -> list[str]:
    """List the parts that columns can play, over all kinds of data."""
    named = (name for kind in KINDS.values() for name in (*kind.roles, *kind.column_options))
    return list(dict.fromkeys(named))


# -- report, resume, demo, paper, warmup -----------------------------------------------------------


def _add_report(commands: Any) -> None:
    parser = commands.add_parser("report", help="write a page about a saved run")
    parser.add_argument("file", metavar="RUN", help="what --out or luce.save wrote")
    out = "the page (default: the run's name with .html, beside it)"
    parser.add_argument("--out", metavar="PAGE", help=out)
    parser.add_argument("--title", help="heading of the page")
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    _add_selection(parser)
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    """Write a page about a saved run."""
    from luce.reports.run_page import check_page, write_report

    file = Path(arguments.file)
    out = file.with_suffix(".html") if arguments.out is None else Path(arguments.out)
    if not out.parent.is_dir():  # before any work is done
        raise DataError(f"{out} cannot be written: there is no folder {out.parent}.")
    check_page(out)
    run = load(file)
    page, trust = write_report(
        run,
        out,
        title=arguments.title,
        ci_prob=arguments.ci_prob,
        among=_ranked(arguments, run),
        source=arguments.file,
    )
    print(printable_lines(f"{trust.headline}.\nThe page: {page.resolve()}"))
    return NOT_CONVERGED if trust.kind == "bad" else 0


def _ranked(arguments: argparse.Namespace, run: DataTree) -> list[Label] | None:
    """Find the categories of a run to rank; a run of hidden states has none."""
    if run.attrs.get("model") != "semi-markov":
        view = DrawsView.of(run)
        return _selected(arguments, view.categories, view.effects)
    if arguments.among is not None or arguments.exclude:
        raise DataError(
            f"{arguments.file} is a run of hidden states, which are not ranked; leave --among and "
            "--exclude out."
        )
    return None


def _add_resume(commands: Any) -> None:
    words = "draw what is missing of a run that was broken off"
    parser = commands.add_parser("resume", help=words)
    parser.add_argument("run_folder", metavar="RUN", help="a folder that ends in .zarr")
    parser.add_argument("--threads", type=int, default=None, help="chains drawn at the same time")
    parser.set_defaults(run=run_resume)


def run_resume(arguments: argparse.Namespace) -> int:
    """Draw the missing draws of a streamed run."""
    from luce.workflows.resuming import resume

    with warnings_printed() as seen:
        run = resume(arguments.run_folder, threads=arguments.threads)
    sizes = run["posterior"].sizes
    of = ""
    if "category" in sizes:
        of = f" of {plural(sizes['category'], 'category', 'categories')}"
    elif run.attrs.get("model") == "semi-markov" and "data" in run.attrs:
        of = f" of the states of {run.attrs['data']}"
    print(
        f"{Path(arguments.run_folder)} is complete: {size_of(run)}{of}, "
        f"method {run.attrs['method']}, seed {run.attrs['seed']}."
    )
    bad = any(isinstance(warning.message, ConvergenceWarning) for warning in seen)
    return NOT_CONVERGED if bad else 0


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
        f"{size_of(draws)} in {seconds:.2f} s, method {draws.attrs['method']}: "
        f"{draws.attrs['reason']}.\n"
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
            print(f"{'':16}It holds if {claim.criterion}.")
    return 0


def _add_warmup(commands: Any) -> None:
    words = "compile beforehand what usual data need, so that no later run waits for it"
    commands.add_parser("warmup", help=words).set_defaults(run=run_warmup)


def run_warmup(arguments: argparse.Namespace) -> int:
    """Compile the kernels of all kinds of data, and print how long each kind took."""
    from luce.kernels.code_cache import cache_folder
    from luce.workflows.warming import warm_up

    kinds = warm_up()
    width = max(len(warmed.kind) for warmed in kinds)
    print(f"{'kind':<{width}}  kernels compiled")
    for warmed in kinds:
        took = f"{warmed.compiled} in {warmed.seconds:.1f} s" if warmed.compiled else "all there"
        print(f"{warmed.kind:<{width}}  {took}")
    compiled, seconds = (sum(w.compiled for w in kinds), sum(w.seconds for w in kinds))
    print(f"\n{plural(compiled, 'kernel')} compiled in {seconds:.1f} s, kept in {cache_folder()}")
    return 0


# -- output that nobody reads ----------------------------------------------------------------------


def _open_closed_streams() -> None:
    """Send output nowhere that was closed when the process was started, as by `luce fit x >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _discard_output() -> None:
    """Send further output nowhere, else Python complains when it closes standard output."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
