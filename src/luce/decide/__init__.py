"""Decide with a posterior: take in new data, choose what to compare next, play, compare groups."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.decide.brackets import Cup as Cup
    from luce.decide.brackets import play_bracket as play_bracket
    from luce.decide.brackets import seeded as seeded
    from luce.decide.designs import NextComparison as NextComparison
    from luce.decide.designs import next_comparison as next_comparison
    from luce.decide.group_comparison import GroupComparison as GroupComparison
    from luce.decide.group_comparison import compare_groups as compare_groups
    from luce.decide.leaderboards import leaderboard as leaderboard
    from luce.decide.outlook import Outlook as Outlook
    from luce.decide.schedules import round_robin as round_robin
    from luce.decide.seasons import Season as Season
    from luce.decide.seasons import play as play
    from luce.decide.updating import Update as Update
    from luce.decide.updating import update as update

_HOMES = {
    "Cup": "brackets",
    "GroupComparison": "group_comparison",
    "NextComparison": "designs",
    "Outlook": "outlook",
    "Season": "seasons",
    "Update": "updating",
    "compare_groups": "group_comparison",
    "leaderboard": "leaderboards",
    "next_comparison": "designs",
    "play": "seasons",
    "play_bracket": "brackets",
    "round_robin": "schedules",
    "seeded": "brackets",
    "update": "updating",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
