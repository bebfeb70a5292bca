"""Readers: data as people have it, turned into conditional counts."""

from luce.reading.choices import from_choices
from luce.reading.files import read
from luce.reading.groups import from_groups
from luce.reading.pairs import from_pairs
from luce.reading.rankings import from_rankings
from luce.reading.tables import from_table
from luce.reading.teams import from_teams
from luce.reading.transitions import from_transitions

__all__ = [
    "from_choices",
    "from_groups",
    "from_pairs",
    "from_rankings",
    "from_table",
    "from_teams",
    "from_transitions",
    "read",
]
