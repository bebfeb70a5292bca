"""`luce play`: play the rest of a season, or a knock-out bracket, with the draws of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.cli.documents import (
    add_json,
    check_free,
    print_json,
    table_rows,
    verdict_content,
    write_csv,
)
from luce.cli.printing import NOT_CONVERGED, complain, split_at_commas, warnings_printed
from luce.cli.standard_input import kept_file
from luce.counts.labels import printable
from luce.errors import DataError
from luce.reading.files import open_table
from luce.runs.saving import load
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from luce.decide.brackets import Cup
    from luce.decide.seasons import Season
    from luce.sequences.tables import Table

# Options of a season alone, and of a bracket alone.
_OF_SEASONS = (
    *("played", "if_played", "points", "tiebreak", "item1", "item2"),
    *("top", "relegated", "replicates", "seed"),
)
_OF_BRACKETS = ("best_of", "ties")


def add_play(commands: Any) -> None:
    """Add the command to the parser."""
    words = "play the rest of a season, or a bracket, with the draws of a saved run"
    parser = commands.add_parser("play", help=words)
    parser.add_argument("file", metavar="RUN", help="what --out or luce.save wrote")
    fixtures = (
        "a table of fixtures to come, a column for each side; rows that have a result stand. With "
        "--bracket one column of competitors in the order of the bracket"
    )
    parser.add_argument("fixtures", metavar="FIXTURES", help=fixtures)
    parser.add_argument(
        "--bracket", action="store_true", help="FIXTURES is a knock-out bracket, not a season"
    )
    home = (
        "who is at home: first, second, neutral, or a column that names the side; with --bracket "
        "and --best-of also first,second,first, game by game"
    )
    parser.add_argument("--home", help=home)
    parser.add_argument("--played", metavar="FILE", help="results that stand, or a table of points")
    again = "a fixture that is among the results: refuse, skip or again (default refuse)"
    parser.add_argument("--if-played", choices=("refuse", "skip", "again"), help=again)
    points = "for a win, a tie and a loss (default 3,1,0)"
    parser.add_argument("--points", type=_points, metavar="W,T,L", help=points)
    tiebreak = "what parts those level: wins, head-to-head, lot, as wins,head-to-head"
    parser.add_argument("--tiebreak", metavar="CRITERIA", help=tiebreak)
    for name, side in (("item1", "first"), ("item2", "second")):
        parser.add_argument(f"--{name}", metavar="COLUMN", help=f"column of the {side} side")
    parser.add_argument("--top", type=int, metavar="K", help="add P(among the first K)")
    parser.add_argument("--relegated", type=int, metavar="K", help="add P(among the last K)")
    parser.add_argument("--replicates", type=int, metavar="N", help="seasons a draw (default 1)")
    parser.add_argument("--seed", type=int, help="random seed; made up unless given")
    parser.add_argument("--best-of", type=int, metavar="N", help="games of a match in a bracket")
    ties = "a tie in a bracket: replay or lot (default replay)"
    parser.add_argument("--ties", choices=("replay", "lot"), help=ties)
    interval = "probability of the intervals (default %(default)s)"
    parser.add_argument("--ci-prob", type=float, default=0.9, metavar="P", help=interval)
    most = "rows of the table to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=40, metavar="N", help=most)
    add_json(parser)
    parser.add_argument("--out", metavar="TABLE", help="write the table to a CSV file, too")
    parser.add_argument("--overwrite", action="store_true", help="replace TABLE if it is there")
    parser.set_defaults(run=run_play)


def run_play(arguments: argparse.Namespace) -> int:
    """Play a season or a bracket; print and write its table."""
    check_whole("--most", arguments.most, 1)
    if arguments.out is not None:  # before any work is done
        check_free(arguments.out, arguments.overwrite)
    others = _OF_SEASONS if arguments.bracket else _OF_BRACKETS
    own = _OF_BRACKETS if arguments.bracket else _OF_SEASONS
    strange = [name for name in others if getattr(arguments, name) is not None]
    if strange:
        what = "seasons; leave it out, or leave out" if arguments.bracket else "brackets; give"
        raise DataError(f"--{strange[0].replace('_', '-')} is for {what} --bracket.")
    options = {name: getattr(arguments, name) for name in own}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"home": _home(arguments), "ci_prob": arguments.ci_prob}
    run = load(Path(arguments.file))
    with kept_file(arguments.fixtures) as path, warnings_printed():
        fixtures = open_table(path)
        if arguments.bracket:
            from luce.decide.brackets import play_bracket

            found: Season | Cup = play_bracket(run, fixtures, **options)
            table = found.table()
            more: dict[str, Any] = {}
        else:
            found, table, more = _season(run, fixtures, options)
    rows, trust = table_rows(table), found.trust
    if arguments.out is not None:
        write_csv(rows, Path(arguments.out))
    code = NOT_CONVERGED if trust is not None and trust.kind == "bad" else 0
    if arguments.json:
        content = {**verdict_content(trust), "table": rows, **more, "notes": table.notes}
        print_json(arguments, code, content)
    else:
        print(table.to_text(arguments.most))
    if arguments.out is not None:
        (complain if arguments.json else print)(f"Written: {printable(Path(arguments.out))}")
    return code


def _season(run: Any, fixtures: Any, options: dict[str, Any]) -> tuple[Season, Table, Any]:
    """Play a season; returns it, its table, and what only JSON has."""
    from luce.decide.seasons import play

    top, relegated = (options.pop(name, None) for name in ("top", "relegated"))
    if "played" in options:
        options["played"] = open_table(options["played"])
    if "tiebreak" in options:
        options["tiebreak"] = split_at_commas([options["tiebreak"]])
    season = play(run, fixtures, **options)
    table = season.table(top, relegated)
    more = {
        "places": season.places.values,
        "champion_mcse": season.champion["mcse"].values,
        "remaining": season.remaining,
        "seed": season.seed,
    }
    return season, table, more


def _points(word: str) -> tuple[float, ...]:
    """Read points for a win, a tie and a loss."""
    try:
        numbers = tuple(float(part) for part in word.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise argparse.ArgumentTypeError(f"{word!r}: three numbers are needed, as 3,1,0")
    return numbers


def _home(arguments: argparse.Namespace) -> Any:
    """Read who is at home, game by game where a bracket's matches have several."""
    given = arguments.home
    return given.split(",") if given is not None and arguments.bracket and "," in given else given
