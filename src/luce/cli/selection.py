"""Options that say which categories are ranked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from luce._types import Label
from luce.answers.view import DrawsView
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.kind import near

if TYPE_CHECKING:
    from xarray import DataTree


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which categories are ranked."""
    among = "rank these categories only; again for more (default: all but ties and advantages)"
    parser.add_argument("--among", action="append", metavar="CATEGORY", help=among)
    exclude = "leave a category out of the ranks; again for more"
    parser.add_argument("--exclude", action="append", default=[], metavar="CATEGORY", help=exclude)


def selected(
    arguments: argparse.Namespace, categories: Iterable[Label], effects: Iterable[Label]
) -> list[Label] | None:
    """Find the categories to rank by their text; None where the arguments leave that open.

    Labels that print alike, such as 1 and "1", are ranked or left out together.
    """
    if arguments.among is None and not arguments.exclude:
        return None
    known = _by_text(categories)
    for option in ("among", "exclude"):
        for name in getattr(arguments, option) or []:
            _require_known(name, f"--{option}", known)
    asked, apart = arguments.among, set(effects)
    names = [name for name in dict.fromkeys(asked or known) if name not in arguments.exclude]
    kept = [c for name in names for c in known[name] if asked is not None or c not in apart]
    if not kept:
        raise DataError("--among and --exclude leave no category to rank; name one at least.")
    return kept


def label_of(name: str, option: str, run: DataTree) -> Label:
    """Find the category of a run by its text; of labels that print alike, the first."""
    known = _by_text(DrawsView.of(run).categories)
    _require_known(name, option, known)
    return known[name][0]


def _by_text(categories: Iterable[Label]) -> dict[str, list[Label]]:
    """List the categories by their text."""
    known: dict[str, list[Label]] = {}
    for label in categories:
        known.setdefault(str(label), []).append(label)
    return known


def _require_known(name: str, option: str, known: dict[str, list[Label]]) -> None:
    if name not in known:
        raise DataError(
            f"{option} {name}: there is no such category; the categories are "
            f"{some(known, quote=False)}.{near(name, known)}"
        )


# Models whose runs have nothing to rank, in words.
_NOT_RANKED = {"semi-markov": "hidden states", "separate-rows": "separate rows of transitions"}


def ranked(arguments: argparse.Namespace, run: DataTree) -> list[Label] | None:
    """Find the categories of a run to rank; hidden states and separate rows are not ranked."""
    drawn = _NOT_RANKED.get(str(run.attrs.get("model")))
    if drawn is None:
        view = DrawsView.of(run)
        return selected(arguments, view.categories, view.effects)
    refuse_selection(arguments, f"{arguments.file} is a run of {drawn}, which are not ranked")
    return None


def refuse_selection(arguments: argparse.Namespace, reason: str) -> None:
    """Refuse options that choose categories to rank."""
    if arguments.among is not None or arguments.exclude:
        raise DataError(f"{reason}; leave --among and --exclude out.")
