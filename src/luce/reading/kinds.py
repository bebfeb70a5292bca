"""The kinds of data that luce reads, each described as data, and how columns tell the kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from luce.errors import DataError
from luce.reading.kind import Kind, Layout, find_role, near
from luce.reading.values import is_unnamed

# Marks by which columns of availability are known: avail_bus, bus_avail.
_AVAILABILITY = ("avail", "availability", "available", "av", "is_available")
# Names of columns that hold one place of a ranking: Rank_1, 2nd.
_PLACE = re.compile(
    r"(rank|place|position|choice|pref|preference|top)?\W*_?\d+(st|nd|rd|th)?", re.I
)


def availability_columns(names: Sequence[str], mark: str | None = None) -> dict[str, str]:
    """Map alternatives to the columns that tell whether each was on offer.

    Such columns start or end with the mark, or with a usual one unless it is given.
    """
    for one in _AVAILABILITY if mark is None else [mark]:
        # A separator must stand beside a usual mark: average and avocado are two products.
        between = "[_. -]+" if mark is None else "[_. -]*"
        before = re.compile(f"{re.escape(one)}{between}(?P<label>.*[^_. -])", re.IGNORECASE)
        after = re.compile(f"(?P<label>[^_. -].*?){between}{re.escape(one)}", re.IGNORECASE)
        matches = {name: before.fullmatch(name) or after.fullmatch(name) for name in names}
        found = {match["label"]: name for name, match in matches.items() if match}
        if len(found) >= 2:
            return found
    if mark is not None:
        raise DataError(f"no two columns start or end with availability = {mark!r}.")
    return {}


def is_place(column: str) -> bool:
    """Tell whether a column's name says which place it holds: Rank_1, 2nd."""
    return _PLACE.fullmatch(column) is not None


def _places(names: Sequence[str]) -> dict[str, str]:
    """Map all columns but a count to "place", if each holds one."""
    count = find_role(names, "count")
    places = [name for name in names if name != count and not is_unnamed(name)]
    return dict.fromkeys(places, "place") if len(places) > 1 and all(map(is_place, places)) else {}


def _choice_among_available(names: Sequence[str]) -> dict[str, str]:
    """Map columns of availability, and the one that names the choice, to their parts."""
    wide = availability_columns(names)
    chosen = find_role([name for name in names if name not in wide.values()], "chosen")
    if not wide or chosen is None:
        return {}
    return {chosen: "chosen", **{name: f"availability of {x}" for x, name in wide.items()}}


PAIRS = Kind(
    "pairs",
    "comparison",
    layouts={
        "winner and loser": Layout(("winner", "loser"), ("count",)),
        "numbers of wins": Layout(("item1", "item2", "wins1"), ("wins2", "tied")),
        "outcomes": Layout(("item1", "item2", "outcome"), ("count",)),
    },
    numbers=("wins1", "wins2", "tied", "count"),
    column_options=("home",),
    besides="a square table of wins",
    module="luce.reading.pairs",
)

RANKINGS = Kind(
    "rankings",
    "ranking",
    layouts={
        "long": Layout(("ranking", "item", "rank"), ("count",), grouped=True),
        "orders": Layout(("order",), ("count",)),
    },
    besides="a table in one of the layouts items-in-columns, items-in-rows, places-in-columns",
    wide=_places,
    module="luce.reading.rankings",
)

CHOICES = Kind(
    "choices",
    "choice",
    layouts={
        "long": Layout(("case", "alternative", "chosen"), ("count", "available"), grouped=True),
        "picks": Layout(("chosen", "offered"), ("count",)),
        "losers": Layout(("chosen", "losers"), ("count",)),
    },
    besides="chosen and columns of availability",
    wide=_choice_among_available,
    module="luce.reading.choices",
)

TRANSITIONS = Kind(
    "transitions",
    "transition",
    layouts={
        "moves": Layout(("source", "target"), ("count",)),
        "long": Layout(("sequence", "state"), ("time",), grouped=True),
    },
    besides="a square table of counts whose first column names the rows as the others are named",
    module="luce.reading.transitions",
)

TABLE = Kind("table", "outcome", {}, column_options=("rows",), module="luce.reading.tables")

TEAMS = Kind(
    "teams",
    "comparison",
    layouts={
        "winners and losers": Layout(("winners", "losers"), ("count", "weights1", "weights2")),
        "numbers of wins": Layout(
            ("side1", "side2", "wins1"), ("wins2", "tied", "weights1", "weights2")
        ),
        "outcomes": Layout(("side1", "side2", "outcome"), ("count", "weights1", "weights2")),
    },
    numbers=PAIRS.numbers,
    column_options=("home",),
    besides="a column for each player",
    # Matches share the other names of their columns with pairs.
    telling=frozenset({"side1", "side2", "winners", "losers", "sidea", "sideb"}),
    module="luce.reading.teams",
)

GROUPS = Kind(
    "groups",
    "answer",
    layouts={"groups": Layout(("group",), ("count", "within"))},
    besides="cells=[...], columns that together are the category",
    module="luce.reading.groups",
)

KINDS = {kind.name: kind for kind in (PAIRS, RANKINGS, CHOICES, TRANSITIONS, TABLE, TEAMS, GROUPS)}


def kind_named(name: str) -> Kind:
    """Return the kind of that name, or say which there are."""
    if name not in KINDS:
        raise DataError(f"kind = {name!r}; one of {', '.join(KINDS)} is needed.{near(name, KINDS)}")
    return KINDS[name]
