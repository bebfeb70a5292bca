"""Parameters of contests that the data does not tell, and only their priors do.

A home advantage h acts like a change of strengths when there are numbers φ, one a category, with

    φ(home side) - φ(away side) = 1    for all meetings with a side at home
    φ(one side)  - φ(other side) = 0   for all others

since then p_i e^(t φ_i) with h e^(-t) gives all results the same probability for all t.  So it is
where the same teams are always at home, against teams that never are.
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.comparability import linked
from luce.counts.contests import TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural

# The part of the home advantage that strengths leave over, below which it is rounding error.
_NOTHING = 1e-6


def home_is_confounded(counts: ConditionalCounts) -> bool:
    """Tell whether data cannot tell the home advantage from the strengths.

    Parameters
    ----------
    counts
        The data.  Outcomes in sets, beside the contests, compare all members of these sets.

    Returns
    -------
    bool
        False where there is no parameter "home".  With sides of several, the answer is that for
        almost all strengths.

    Examples
    --------
    >>> import luce
    >>> games = {"home": ["a", "b", "a"], "away": ["b", "c", "c"], "result": ["H", "A", "H"]}
    >>> home_is_confounded(luce.from_pairs(games, home="first"))  # a over c is worth two grounds
    False
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", luce.errors.ConfoundedHomeWarning)
    ...     chain = luce.from_pairs({k: v[:2] for k, v in games.items()}, home="first")
    >>> home_is_confounded(chain)
    True
    """
    contests = counts.events
    if not isinstance(contests, Contests) or not contests.home:
        return False
    group, _ = linked(counts, events=False)
    if contests.are_pairs:
        return _has_potential(contests, group)
    return _has_direction(contests, group)


def untold_parameters(counts: ConditionalCounts) -> dict[str, str]:
    """Say of each parameter that the data leaves to its prior why that is so.

    Parameters
    ----------
    counts
        The data.

    Returns
    -------
    dict
        A sentence by the name of the parameter; empty where data tells all parameters, and where
        there are none.

    Examples
    --------
    >>> import luce
    >>> untold_parameters(luce.from_pairs([("a", "b"), ("b", "a")], ties="davidson"))
    {'tie': 'none of 2 meetings was tied: only its prior says how far above 0 the parameter is'}
    """
    contests = counts.events
    if not isinstance(contests, Contests):
        return {}
    found = {}
    if contests.home and not contests.at_home.any():
        found["home"] = (
            "no meeting has a side at home: data says nothing about the advantage, which has its "
            "prior distribution"
        )
    elif home_is_confounded(counts):
        found["home"] = (
            "data cannot tell the advantage from the strengths, since those who were at home may "
            "as well be stronger by as much; only its prior tells the two apart"
        )
    tied, all_of_them = float(contests.results[:, TIE].sum()), contests.n_outcomes
    if contests.ties is not None and all_of_them and tied in (0.0, all_of_them):
        least = f"{contests.least('tie'):g}"
        one = all_of_them == 1
        meetings = "meeting" if one else f"of {plural(all_of_them, 'meeting')}"
        found["tie"] = (
            f"{'the only' if one else 'none'} {meetings} was {'not ' if one else ''}tied: only its "
            f"prior says how far above {least} the parameter is"
            if tied == 0
            else f"{'the only' if one else 'all'} {meetings} {'was' if one else 'were'} tied: only "
            "its prior says how large the parameter is"
        )
    return found


def _has_potential(contests: Contests, group: IntArray) -> bool:
    """Look for φ on the graph of the meetings of single categories, exactly."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    first, second = (group[side] for side in contests.sides)
    n = int(group.max()) + 1
    rise = contests.at_home.astype(np.int64)
    if (rise[first == second] != 0).any():
        return False
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n)).tocsr()
    # The rise along one meeting of each two that met; all meetings are checked at the end.
    known = dict(zip(zip(first.tolist(), second.tolist(), strict=True), rise.tolist(), strict=True))
    number, component = connected_components(graph, directed=False)
    height = np.zeros(n, np.int64)
    roots = np.unique(component, return_index=True)[1]
    for root in roots[np.bincount(component, minlength=number) > 1].tolist():
        order, before = breadth_first_order(graph, root, directed=False)
        for node in order[1:].tolist():
            other = int(before[node])
            up = known.get((node, other))
            height[node] = height[other] + (-known[other, node] if up is None else up)
    return bool((height[first] - height[second] == rise).all())


def _has_direction(contests: Contests, group: IntArray) -> bool:
    """Look for a change of strengths that acts like the advantage, at strengths drawn at random."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import lsmr

    p = np.random.default_rng(0).uniform(0.5, 2.0, contests.n)
    own = p[contests.members]
    if contests.weights is not None:
        own = own * contests.weights
    length = np.diff(contests.start)
    share = own / np.repeat(np.add.reduceat(own, contests.start[:-1]), length)
    side = np.repeat(np.arange(len(length)), length)
    signed = np.where(side % 2 == 0, share, -share)
    shape = (len(contests), int(group.max()) + 1)
    slope = coo_array((signed, (side // 2, group[contests.members])), shape=shape).tocsr()
    rise: FloatArray = contests.at_home.astype(np.float64)
    size = float(np.linalg.norm(rise))
    if size == 0:
        return True
    change = lsmr(slope, rise, atol=1e-14, btol=1e-14, conlim=0.0, maxiter=20 * max(shape))[0]
    return float(np.linalg.norm(slope @ change - rise)) < _NOTHING * size
