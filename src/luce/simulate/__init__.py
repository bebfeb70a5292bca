"""Data from a known truth, in every shape that the readers take.

Simulate what you plan to collect, read it, and see how well the truth comes back: is the design
large enough?  What a function returns goes to the reader of the same name as it is; give the reader
``categories=list(probabilities)`` where some labels may never occur.  `rng`, `probabilities` and
`n` mean the same everywhere and are told in `pairs`.
"""

from luce.simulate.pairs_and_teams import pairs, teams
from luce.simulate.rankings_and_choices import choices, rankings
from luce.simulate.sequences_tables_groups import groups, table, transitions

__all__ = ["choices", "groups", "pairs", "rankings", "table", "teams", "transitions"]
