"""Readers: data as people have it, turned into conditional counts."""

from luce.readers.choices import from_choices
from luce.readers.groups import from_groups
from luce.readers.pairs import from_pairs
from luce.readers.rankings import from_rankings
from luce.readers.tables import from_table
from luce.readers.teams import from_teams
from luce.readers.transitions import from_transitions

__all__ = [
    "from_choices",
    "from_groups",
    "from_pairs",
    "from_rankings",
    "from_table",
    "from_teams",
    "from_transitions",
]
