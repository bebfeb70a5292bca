"""What results of contests ask of a direction in which their likelihood does not fall.

With single members on each side, the log probability of each result is concave in
z = (log p, log h, τ), τ = log ν or log θ.  Along a direction d it falls without end unless d keeps
the numerator's term at least as large as every term of the denominators.  With α = d_i + d_h for
the side at home and β = d_j for the other:

    no ties       a win of the first   α >= β
    Davidson      a win of the first   α >= β + 2 d_τ,  α >= β         a tie   2 d_τ >= |α - β|
    Rao-Kupper    a win of the first   α >= β + d_τ                    a tie     d_τ >= |α - β|
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from luce._types import IntArray
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.estimates.event_existence import Inequalities, Row, Words

if TYPE_CHECKING:
    from luce.sampling.contest_posterior import Known


def contest_inequalities(
    contests: Contests, own: Mapping[str, Known], owner: IntArray, n: int
) -> Inequalities:
    """Return the inequalities of all results that were seen.

    Parameters
    ----------
    contests
        Meetings of single members, those of categories at 0 left out.
    own
        Power and rate of the parameters that are not known.
    owner
        The unknown of each category and then of each parameter, -1 for a category at 0.
    n
        Number of categories.
    """
    c = contests
    place = dict(zip(own, owner[n:].tolist(), strict=True))
    home, tie = place.get("home") if c.home else None, place.get("tie") if c.ties else None
    sides = owner[c.members[c.start[:-1]]].reshape(-1, 2).tolist()
    rows: list[Row] = []
    for (i, j), at_home, results in zip(sides, c.at_home.tolist(), c.results.tolist(), strict=True):
        ahead: Row = [(i, 1.0), (j, -1.0)]  # α - β
        if at_home and home is not None:
            ahead.append((home, 1.0))
        behind = [(column, -value) for column, value in ahead]
        of_tie = 2.0 if c.ties == "davidson" else 1.0  # that many d_τ
        for seen, row in ((results[FIRST], ahead), (results[SECOND], behind)):
            if seen > 0:
                if c.ties != "rao-kupper" or tie is None:
                    rows.append(row)
                if tie is not None:
                    rows.append([*row, (tie, -of_tie)])
        if results[TIE] > 0:
            more = [] if tie is None else [(tie, of_tie)]
            rows += [ahead + more, behind + more]
    if tie is not None and c.ties == "rao-kupper":  # θ >= 1
        rows.append([(tie, 1.0)])
    return Inequalities(rows)


def contest_words(contests: Contests) -> Words:
    """Return the words for directions of contests."""
    tied = " or tied" if contests.ties is not None else ""
    return Words(
        f"won{tied} against",
        f"lost{tied} against",
        partial(_one_sided, contests=contests),
        ", as where the same sides are always at home",
    )


def _one_sided(moving: Mapping[str, float], contests: Contests) -> str:
    """Say what was never seen where parameters alone move."""
    home = contests.results[contests.at_home].sum(axis=0)
    neutral = contests.results[~contests.at_home].sum(axis=0)
    if moving.get("tie", 0) > 0 and (home + neutral)[TIE] == contests.n_outcomes:
        return "since nobody ever won"
    why = []
    if "home" in moving:
        against, word = (SECOND, "lost") if moving["home"] > 0 else (FIRST, "won")
        seen = [what for k, what in ((against, word), (TIE, "tied")) if not home[k]]
        why.append(f"no side at home ever {' or '.join(seen if contests.ties else seen[:1])}")
    if moving.get("tie", 0) > 0 and neutral.any():
        why.append("nobody ever won on neutral ground")
    if moving.get("tie", 0) < 0:
        why.append("nobody ever tied")
    return "since " + " and ".join(why)
