"""What a table holds, told from the names of its columns where they leave no doubt."""

from __future__ import annotations

from luce.counts.labels import some
from luce.errors import DataError
from luce.reading import choices, groups, pairs, rank_layouts, teams, transitions
from luce.reading.availability import availability_columns
from luce.reading.roles import find_role, first_layout, plain
from luce.reading.sources import Source

_LAYOUTS = {
    "pairs": pairs.LAYOUTS,
    "rankings": rank_layouts.LAYOUTS,
    "choices": choices.LAYOUTS,
    "transitions": transitions.LAYOUTS,
    "teams": teams.LAYOUTS,
    "groups": groups.LAYOUTS,
}
# Matches between teams share their columns with pairs; only these names are theirs alone.
_OF_TEAMS = {"side1", "side2", "winners", "losers", "sidea", "sideb"}


def find_kind(source: Source) -> str:
    """Find the one kind of data that the columns fit, or ask for it by name."""
    names = source.names
    fitting = {
        kind: found
        for kind, layouts in _LAYOUTS.items()
        if (found := first_layout(names, {}, layouts)) is not None
    }
    if "teams" in fitting and not _OF_TEAMS & set(map(plain, names)):
        del fitting["teams"]
    if not fitting and availability_columns(names, None):
        return "choices"
    count = find_role(names, "count")
    places = [name for name in names if name != count]
    if not fitting and len(places) > 1 and all(map(rank_layouts.is_place, places)):
        return "rankings"
    if len(fitting) > 1:
        # The kind whose layout uses the most columns says the most about them.
        most = max(len(roles) for _, roles in fitting.values())
        best = [kind for kind, (_, roles) in fitting.items() if len(roles) == most]
        fitting = {kind: fitting[kind] for kind in best}
    if len(fitting) == 1:
        return next(iter(fitting))
    could = f"could be {' or '.join(fitting)}" if fitting else "fit no kind of data by their names"
    raise DataError(
        f"the columns {some(names, 12)} {could}. Say which it is: kind='pairs' (--kind pairs), or "
        "rankings, choices, transitions, table, teams, groups."
    )
