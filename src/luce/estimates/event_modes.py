"""Maxima of data with events: of a posterior density or of the likelihood.

Contests of single members and rankings with ties leave the density F (`event_density`) concave, so
that one climb finds the maximum, or `event_existence` tells why there is none.  Teams and grouped
outcomes may leave several maxima: these are climbed from several starts.
"""

from __future__ import annotations

import numpy as np

from luce._types import IntArray
from luce.counts.contests import Contests
from luce.counts.placings import Placings
from luce.errors import MethodError, NoMaximumError
from luce.estimates.contest_modes import ContestsInside
from luce.estimates.event_climbs import FAR, End, climb, shares
from luce.estimates.event_density import EventDensity, EventMaximum, Inside
from luce.estimates.event_existence import no_maximum
from luce.estimates.no_maximum import REMEDIES
from luce.estimates.ranking_modes import RankingsInside
from luce.sampling.laplace import MOST_DENSE

# With teams or grouped outcomes: random starts, the difference in p below which two ends are the
# same, the probability below which a category may be at 0, and the relative difference in height
# below which two maxima are equally high.
_MORE_STARTS, _SAME, _NEGLIGIBLE, _LEVEL = 8, 1e-6, 1e-5, 1e-9


def maximise_events(
    density: EventDensity, equal: IntArray | None = None, single: bool = True
) -> EventMaximum:
    """Maximise F over the probabilities and the parameters that are not known.

    Parameters
    ----------
    density
        F.
    equal
        Numbers of categories that must have the same probability.
    single
        Refuse two equally high maxima?

    Raises
    ------
    NoMaximumError
        Where there is no maximum, or not one alone; `groups` holds the groups concerned.
    """
    if density.counts.n_categories > MOST_DENSE:
        raise MethodError(
            f"maxima of {density.events.noun} with {density.events.model} are found for up to "
            f"{MOST_DENSE:,} categories, whose curvature is a table of their square; there are "
            f"{density.counts.n_categories:,}. Use draws."
        )
    inside = _inside(density, equal)
    if inside.is_concave:
        end = climb(inside.f, inside.start(None), inside.owner)
        if not end.is_certain:
            why = no_maximum(inside.recession(), density.counts, density.scale)
            if why is not None:
                raise why
        _require(end.reached, density.scale)
        return inside.finished(end, 1)
    ends = _several_ends(inside)
    _require(bool(ends), density.scale)
    distinct: list[End] = []
    for end in sorted(ends, key=lambda each: -each.value):
        if all(_apart(end, other, inside.n) > _SAME for other in distinct):
            distinct.append(end)
    best = distinct[0]
    _require(best.range < FAR or best.is_certain, density.scale)
    tied = len(distinct) > 1 and distinct[1].value >= best.value - _LEVEL * (1 + abs(best.value))
    _require(not (single and tied), density.scale)
    return inside.finished(best, len(distinct))


def _require(reached: bool, scale: str) -> None:
    if not reached:
        what, remedy = REMEDIES[scale]
        raise NoMaximumError(
            f"no single {what} was reached: the density may grow without an end, or be flat in "
            f"some direction. {remedy}"
        )


def _inside(density: EventDensity, equal: IntArray | None) -> Inside:
    """Return F inside its boundary, by the kind of events."""
    events = density.events
    if isinstance(events, Contests):
        return ContestsInside(density, equal)
    if isinstance(events, Placings):
        return RankingsInside(density, equal)
    raise MethodError(f"maxima of {events.noun} with {events.model} are not offered. Use draws.")


def _apart(one: End, other: End, n: int) -> float:
    """Measure the distance of two ends in p and in the parameters' logarithms."""
    logs = np.abs(one.z[n:] - other.z[n:]).max(initial=0.0)
    return float(max(np.abs(shares(one.z[:n]) - shares(other.z[:n])).max(), logs))


def _several_ends(inside: Inside) -> list[End]:
    """Climb from several starts; put categories at 0 where F is no lower without them."""
    rng, ends = np.random.default_rng(0), []
    for k in range(1 + _MORE_STARTS):
        end = climb(inside.f, inside.start(None if k == 0 else rng), inside.owner)
        doubtful = np.zeros(inside.f.size, np.bool_)
        logs = end.z[: inside.n]
        doubtful[: inside.n] = (inside.powers == 0) & (logs - logs.max() < np.log(_NEGLIGIBLE))
        if (doubtful & (inside.owner >= 0)).any() and not inside.leaves_nobody(doubtful):
            owner = np.where(doubtful, -1, inside.owner)
            kept = owner >= 0
            owner[kept] = np.unique(owner[kept], return_inverse=True)[1].reshape(-1)
            lower = climb(inside.f, np.where(kept, end.z, -np.inf), owner)
            if lower.reached and lower.value >= end.value - _LEVEL:
                end = lower
        if end.reached:
            ends.append(end)
    return ends
