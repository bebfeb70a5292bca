"""Readers: data as people have it, turned into conditional counts."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.reading.choices import from_choices as from_choices
    from luce.reading.files import read as read
    from luce.reading.groups import from_groups as from_groups
    from luce.reading.pairs import from_pairs as from_pairs
    from luce.reading.rankings import from_rankings as from_rankings
    from luce.reading.tables import from_table as from_table
    from luce.reading.teams import from_teams as from_teams
    from luce.reading.transitions import from_transitions as from_transitions

_HOMES = {
    "from_choices": "choices",
    "from_groups": "groups",
    "from_pairs": "pairs",
    "from_rankings": "rankings",
    "from_table": "tables",
    "from_teams": "teams",
    "from_transitions": "transitions",
    "read": "files",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
