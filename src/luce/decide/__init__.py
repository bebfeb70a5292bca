"""Decide with a posterior: take in new data, choose what to compare next, play, compare groups."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.decide.designs import NextComparison as NextComparison
    from luce.decide.designs import next_comparison as next_comparison
    from luce.decide.group_comparison import GroupComparison as GroupComparison
    from luce.decide.group_comparison import compare_groups as compare_groups
    from luce.decide.leaderboards import leaderboard as leaderboard
    from luce.decide.outlook import Outlook as Outlook
    from luce.decide.updating import Update as Update
    from luce.decide.updating import update as update

_HOMES = {
    "GroupComparison": "group_comparison",
    "NextComparison": "designs",
    "Outlook": "outlook",
    "Update": "updating",
    "compare_groups": "group_comparison",
    "leaderboard": "leaderboards",
    "next_comparison": "designs",
    "update": "updating",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
