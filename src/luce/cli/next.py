"""The command `luce next`: what to compare next, by a saved run, and when to stop."""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING, Any

from luce.answers.view import DrawsView
from luce.cli.documents import add_json, print_json, verdict_content
from luce.cli.printing import NOT_CONVERGED, warnings_printed
from luce.cli.selection import add_selection, selected
from luce.counts.labels import printable_lines, some
from luce.errors import DataError
from luce.reading.kind import near
from luce.runs.saving import load
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from luce._types import Label


def add_next(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("next", help="say what to compare next, and when to stop")
    parser.add_argument("file", metavar="RUN", help="what --out or luce.save wrote")
    goal = (
        "what to learn about: information (the probabilities), best or order (default %(default)s)"
    )
    parser.add_argument("--goal", default="information", help=goal)
    batch = "comparisons to choose at once (default %(default)s)"
    parser.add_argument("--batch", type=int, default=1, metavar="K", help=batch)
    candidate = (
        "what could be compared, as ann,bo or ann,bo,cy; again for more; where results are of "
        "contests two, and first or second behind them if one is at home (default: all pairs)"
    )
    parser.add_argument("--candidate", action="append", metavar="A,B", help=candidate)
    cost = "cost of a candidate, as ann,bo=2.5; again for more (default: 1 each)"
    parser.add_argument("--cost", action="append", default=[], metavar="A,B=COST", help=cost)
    more = "say what so many more comparisons would change (default %(default)s)"
    parser.add_argument("--more", type=int, default=100, metavar="N", help=more)
    most = "candidates to print (default %(default)s)"
    parser.add_argument("--most", type=int, default=10, metavar="N", help=most)
    seed = "seed of simulated outcomes (default %(default)s)"
    parser.add_argument("--seed", type=int, default=0, help=seed)
    add_json(parser)
    add_selection(parser)
    parser.set_defaults(run=run_next)


def run_next(arguments: argparse.Namespace) -> int:
    """Print the comparison to make next, the best candidates, and when to stop."""
    check_whole("--most", arguments.most, 1)
    from luce.decide.designs import next_comparison

    run = load(arguments.file)
    view = DrawsView.of(run)
    labels = _Labels(view)
    with warnings_printed():
        found = next_comparison(
            run,
            [labels.candidate("--candidate", each) for each in arguments.candidate]
            if arguments.candidate
            else None,
            arguments.goal,
            cost=dict(labels.cost(each) for each in arguments.cost) or None,
            batch=arguments.batch,
            more=arguments.more,
            among=selected(arguments, view.categories, view.effects),
            seed=arguments.seed,
        )
    code = NOT_CONVERGED if found.trust.kind == "bad" else 0
    if arguments.json:
        print_json(arguments, code, {**verdict_content(found.trust), **found.to_dict()})
    else:
        print(printable_lines(found.to_text(arguments.most)))
    return code


class _Labels:
    """Labels of a run by the text that is printed for them."""

    def __init__(self, view: DrawsView) -> None:
        self._known: dict[str, Label] = {}
        self._twice = set[str]()
        for label in view.categories:
            if str(label) in self._known:
                self._twice.add(str(label))
            self._known[str(label)] = label

    def candidate(self, option: str, text: str) -> tuple[Label, ...]:
        """Read labels between commas, in quotes if they hold one, and who is at home."""
        parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
        place = parts[2:] if parts[2:] in (["first"], ["second"]) else []
        if place and place[0] in self._known:
            place = []
        names = parts[: len(parts) - len(place)]
        return (*(self._label(f"{option} {text}", name) for name in names), *place)

    def cost(self, text: str) -> tuple[tuple[Label, ...], float]:
        """Read a candidate and its cost."""
        candidate, equals, number = text.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            equals = ""
            cost = 0.0
        if not equals:
            raise DataError(f"--cost {text}: A,B=COST is needed, as ann,bo=2.5.")
        return self.candidate("--cost", candidate), cost

    def _label(self, option: str, name: str) -> Label:
        """Find a label by its text."""
        if name in self._twice:
            raise DataError(
                f"{option}: several categories print as {name!r}; use luce.next_comparison, which "
                "takes the labels themselves."
            )
        if name not in self._known:
            raise DataError(
                f"{option}: there is no category {name!r}; the categories are "
                f"{some(self._known, quote=False)}.{near(name, self._known)}"
            )
        return self._known[name]
