"""Simulate data from known probabilities, in every shape that the readers take.

Simulate the data that you plan to collect, read it, and see how well the probabilities are
recovered: is the design large enough?  The reader of the same name takes the returned data as it
is; give the reader ``categories=list(probabilities)`` where some labels may never occur.  `rng`,
`probabilities` and `n` mean the same in all functions and are explained in `pairs`.
"""

from luce.simulate.pairs_and_teams import pairs, teams
from luce.simulate.rankings_and_choices import choices, rankings
from luce.simulate.sequences_tables_groups import groups, table, transitions

__all__ = ["choices", "groups", "pairs", "rankings", "table", "teams", "transitions"]
