"""Contests among three categories as data of the package, for comparisons with their quadrature."""

from __future__ import annotations

import numpy as np
from lib.contest_oracles import ContestCase, Meeting, duels

from luce import ConditionalCounts, Gamma, Posterior
from luce.counts.contests import contests_of

HOME = duels("01 5 2 3, 10 3 1 2, 02 4 1 1, 20 2 3 4, 12 3 2 2", 1)
NEUTRAL = duels("01 4 1 2, 02 2 3 1")
NO_TIES = tuple(Meeting(m.first, m.second, m.home, m.won, m.lost) for m in (*HOME, *NEUTRAL))
AWAY = duels("12 2 4 1, 20 1 1 3", 2)
UNEVEN = (0.7, 1.3, 2.1)
TEAMS = (
    Meeting({0: 1.0, 1: 1.0}, {2: 1.0}, 1, 3, 2, 2),
    Meeting({2: 1.0}, {0: 1.0, 1: 1.0}, 1, 2, 4, 1),
    Meeting({0: 1.0}, {1: 1.0}, 1, 2, 1, 1),
    Meeting({0: 1.0}, {1: 1.0, 2: 1.0}, 0, 1, 2, 1),
)

CASES = {
    "home": ContestCase(None, UNEVEN, NO_TIES, {"home": (2.0, 1.5)}),
    "davidson": ContestCase("davidson", UNEVEN, (*HOME, *NEUTRAL), {"tie": (1.5, 2.0)}),
    "davidson home": ContestCase(
        "davidson", UNEVEN, (*HOME, *NEUTRAL, *AWAY), {"home": (2.0, 1.5), "tie": (1.5, 2.0)}
    ),
    "davidson, home known": ContestCase("davidson", UNEVEN, HOME, {"home": 1.7, "tie": (1.5, 2.0)}),
    "davidson, tie known": ContestCase("davidson", UNEVEN, HOME, {"home": (2.0, 1.5), "tie": 0.4}),
    "rao-kupper": ContestCase("rao-kupper", UNEVEN, (*HOME, *NEUTRAL), {"tie": (1.5, 2.0)}),
    "rao-kupper home": ContestCase(
        "rao-kupper", UNEVEN, (*HOME, *NEUTRAL, *AWAY), {"home": (2.0, 1.5), "tie": (1.5, 2.0)}
    ),
    "rao-kupper, tie known": ContestCase(
        "rao-kupper", UNEVEN, HOME, {"home": (2.0, 1.5), "tie": 1.9}
    ),
    "davidson and picks": ContestCase(
        "davidson",
        UNEVEN,
        HOME,
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
        ((0, 2.0, (0, 1, 2)), (1, 3.0, (1, 2)), (2, 1.0, (0, 2))),
    ),
    "fractions": ContestCase(
        "rao-kupper",
        UNEVEN,
        duels("01 2.5 0.7 1.2, 10 1.5 2.2 0.6, 12 0.4 1.1 0.9, 20 3.3 0.5 0.2", 1),
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
    ),
    "fractions, davidson": ContestCase(
        "davidson",
        UNEVEN,
        duels("01 2.5 0.7 1.2, 10 1.5 2.2 0.6, 12 0.4 1.1 0.9, 20 3.3 0.5 0.2", 1),
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
    ),
}
WIDE = {
    f"{name}, little prior": ContestCase(
        CASES[name].ties, (0.03, 0.2, 0.04), CASES[name].meetings, CASES[name].priors
    )
    for name in ("home", "davidson home", "rao-kupper home")
}
IN_TEAMS = {
    f"teams, {ties}": ContestCase(
        ties,
        UNEVEN,
        TEAMS if ties else tuple(Meeting(m.first, m.second, m.home, m.won, m.lost) for m in TEAMS),
        {"home": (2.0, 1.5)} | ({"tie": (1.5, 2.0)} if ties else {}),
    )
    for ties in (None, "davidson", "rao-kupper")
}
PART_TIME = (
    Meeting({0: 1.0, 1: 0.3}, {2: 1.0}, 1, 3, 2, 2),
    Meeting({2: 0.6}, {0: 1.0, 1: 1.7}, 1, 2, 4, 1),
    Meeting({0: 0.5}, {1: 1.0}, 1, 2, 1, 1),
    Meeting({0: 1.0}, {1: 1.0, 2: 0.4}, 0, 1, 2, 1),
)
IN_TEAMS |= {
    f"part-time, {ties}": ContestCase(
        ties,
        UNEVEN,
        PART_TIME
        if ties
        else tuple(Meeting(m.first, m.second, m.home, m.won, m.lost) for m in PART_TIME),
        {"home": (2.0, 1.5)} | ({"tie": (1.5, 2.0)} if ties else {}),
    )
    for ties in (None, "davidson", "rao-kupper")
}
ALL = {**CASES, **WIDE, **IN_TEAMS}


def counts_of(case: ContestCase) -> ConditionalCounts:
    sides = [side for m in case.meetings for side in (m.first, m.second)]
    weights = np.array([w for side in sides for w in side.values()])
    contests = contests_of(
        3,
        np.array([i for side in sides for i in side]),
        np.cumsum([0, *map(len, sides)]),
        weights if (weights != 1).any() else None,
        np.array([m.home for m in case.meetings]),
        np.array([[m.won, m.lost, m.tied] for m in case.meetings]),
        case.ties,
        "home" in case.priors,
    )
    counts = ConditionalCounts("abc").with_events(contests)
    for i, number, within in case.picks:
        counts = counts.observe({"abc"[i]: number}, within=["abc"[j] for j in within])
    return counts


def posterior_of(case: ContestCase) -> Posterior:
    priors = {k: Gamma(*x) if isinstance(x, tuple) else x for k, x in case.priors.items()}
    return Posterior(counts_of(case), list(case.concentration), **priors)
