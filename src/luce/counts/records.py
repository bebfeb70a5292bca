"""Records: how often each category was up for an outcome, and how often it had it.

With d_S outcomes recorded given S, and g_S grouped outcomes "one of S",

    played_i = Σ_{S ∋ i} d_S + m          won_i = n_i + Σ_{S ∋ i} g_S

where m outcomes were recorded with all categories possible.  Counts hold d_S and g_S as one
exponent g_S - d_S, and nothing of outcomes with one category possible, such as the last place of a
ranking.  The number of all outcomes tells how many are not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.contests import TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.counts.tied_choices import TiedChoices
from luce.page.words import count

# Differences of sums below this part of the sums are rounding error.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Record:
    """What each category has played and won, shape (n_categories,) each.

    Attributes
    ----------
    are_games
        Do all outcomes lie between two sides?  Otherwise they are choices among several.  Grouped
        outcomes count for each of the group.
    played
        Games that a category took part in, alone or on a side; or choices it was offered in.
    won
        Games that its side won, with half of its ties; or choices of it, shared ones in parts.
    tied
        Games that its side tied; None where ties are not told apart from wins and losses.
    uncounted
        Outcomes that are not there: of one category possible, or that cancelled.
    """

    are_games: bool
    played: FloatArray
    won: FloatArray
    tied: FloatArray | None
    uncounted: float

    @property
    def wins(self) -> FloatArray:
        """Games won, without ties that are told apart; or choices."""
        return self.won if self.tied is None else self.won - self.tied / 2

    @property
    def rate(self) -> FloatArray:
        """Share that was won, nan where nothing was played."""
        with np.errstate(invalid="ignore"):
            return np.where(self.played > 0, self.won / self.played, np.nan)

    @property
    def won_all(self) -> BoolArray:
        """Was everything won?  Then the data sets no upper limit to the strength."""
        return (self.played > 0) & (self.won >= self.played * (1 - _ROUNDING))

    @property
    def lost_all(self) -> BoolArray:
        """Was nothing won?  Then the data sets no lower limit to the strength."""
        return (self.played > 0) & (self.won <= self.played * _ROUNDING)

    def take(self, numbers: IntArray) -> Record:
        """Keep some categories, in the order of their numbers given."""
        tied = None if self.tied is None else self.tied[numbers]
        return replace(self, played=self.played[numbers], won=self.won[numbers], tied=tied)


def record_of(counts: ConditionalCounts) -> Record | str:
    """Count what each category has played and won, or say why the data does not tell.

    Examples
    --------
    >>> import luce
    >>> record = record_of(luce.from_pairs([("a", "b", 3), ("b", "c", 2)]))
    >>> record.played, record.won
    (array([3., 5., 2.]), array([3., 2., 0.]))
    """
    events, family, n = counts.events, counts.sets, counts.n_categories
    if events is not None and not isinstance(events, Contests | TiedChoices):
        return f"{events.noun} with {events.model} do not tell how often each was placed"
    given, groups = (-family.exponent).clip(min=0), family.exponent.clip(min=0)
    outcomes = counts.n_outcomes - (0.0 if events is None else events.n_outcomes)
    kept = counts.category_counts.sum() + groups.sum()
    uncounted = outcomes - kept if outcomes - kept > _ROUNDING * outcomes else 0.0
    if uncounted and groups.any():
        return (
            f"outcomes of groups have cancelled with others, so that {count(uncounted)} of "
            f"{plural(outcomes, 'outcome')} cannot be told to anybody"
        )
    free = kept - given.sum()  # outcomes with all categories possible
    free = free if free > _ROUNDING * outcomes else 0.0
    played = _cleaned(family.member_sums(given) + free, outcomes)
    won = _cleaned(counts.category_counts + family.member_sums(groups), outcomes)
    tied = None
    are_games = _are_games(counts, free)
    if isinstance(events, TiedChoices):
        are_games = False
        played = played + np.bincount(events.members, events.times[events.owner], n)
        won = won + events.wins()
    elif events is not None:
        played, won = played + events.games(), won + events.wins()
        tied = _ties(events)
    return Record(are_games, played, won, tied, uncounted)


def _cleaned(sums: FloatArray, total: float) -> FloatArray:
    """Set what rounding left of nothing to 0."""
    return np.where(sums > _ROUNDING * total, sums, 0.0)


def _ties(contests: Contests) -> FloatArray | None:
    """Count the meetings of each category that were tied; None without a model of ties."""
    if contests.ties is None:
        return None
    each = np.repeat(np.repeat(contests.results[:, TIE], 2), np.diff(contests.start))
    return np.bincount(contests.members, each, contests.n).astype(np.float64)


def _are_games(counts: ConditionalCounts, free: float) -> bool:
    """Tell whether all outcomes lie between two, effects aside, or between sides."""
    family = counts.sets
    effects = np.zeros(counts.n_categories)
    effects[[i for i, label in enumerate(counts.categories) if label in counts.effects]] = 1
    among = family.sizes - family.set_sums(effects)
    sides = family.exponent > 0
    if sides.any():
        return free == 0  # teams: each side is a group, or one alone
    if free:
        among = np.r_[among, counts.n_categories - effects.sum()]
    return bool((among == 2).all()) and (len(among) > 0 or counts.events is not None)
