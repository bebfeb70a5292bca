"""When contests have one maximum: directions in which the density does not fall, however far.

With single members on each side, the log probability of each result is concave in
z = (log p, log h, τ), τ = log ν or log θ.  Along a direction d it falls without end unless d keeps
the numerator's term at least as large as every term of the denominators.  With α = d_i + d_h for
the side at home and β = d_j for the other:

    no ties       a win of the first   α >= β
    Davidson      a win of the first   α >= β + 2 d_τ,  α >= β         a tie   2 d_τ >= |α - β|
    Rao-Kupper    a win of the first   α >= β + d_τ                    a tie     d_τ >= |α - β|

A power of p(S) asks that Σ_i c_i d_i + Σ_S e_S max_S d - A max d be 0, which is never positive;
and a prior keeps a parameter from falling, rising or both.  These are linear inequalities: there is
one maximum exactly if they have no solution but d = 0, up to a number added to all d_i.  A linear
programme finds a solution that is larger in some inequality (the density grows for ever), or shows
that all hold with equality only, and linear algebra then finds directions of no change at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.counts.labels import some
from luce.errors import NoMaximumError
from luce.estimates.no_maximum import REMEDIES, listed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from luce.sampling.contest_posterior import Known

# Smallest part of a direction, whose largest is 1, that is not rounding error of the linear
# programme; and the smallest eigenvalue, relative to the largest, that is not 0.
_PART, _FLAT = 1e-6, 1e-10


class Recession(NamedTuple):
    """Contests and sets whose directions are searched.

    Attributes
    ----------
    contests
        Meetings of single members, those of categories at 0 left out.
    sets, single, total
        The sets with e_S, the powers c_i of single categories and A, without contests.
    own
        Power and rate of the parameters that are not known.
    owner
        The unknown of each category and then of each parameter, -1 for a category at 0.
    n
        Number of categories.
    """

    contests: Contests
    sets: SetFamily
    single: FloatArray
    total: float
    own: Mapping[str, Known]
    owner: IntArray
    n: int


class Direction(NamedTuple):
    """A direction in which the density does not fall; nan for categories at 0."""

    categories: FloatArray
    parameters: dict[str, float]
    grows: bool


def find_direction(recession: Recession) -> Direction | None:
    """Find a direction in which the density does not fall; None where there is none.

    A direction of the categories alone is looked for first, then one of the parameters alone, since
    these are easiest to put into words.
    """
    r = recession
    rows, sums = _inequalities(r)
    columns = np.arange(rows.shape[1])
    # A number added to all categories changes nothing, so the first one stays.
    first = r.owner[: r.n][r.owner[: r.n] >= 0][:1]
    still = [r.owner[r.n :], np.setdiff1d(columns, r.owner[r.n :]), first]
    for search in (_growing_direction, _flat_direction):
        for fixed in still:
            d = search(rows, sums, np.union1d(fixed, first))
            if d is not None:
                d = np.where(r.owner >= 0, d[r.owner], np.nan)
                parameters = dict(zip(r.own, d[r.n :].tolist(), strict=True))
                return Direction(d[: r.n], parameters, search is _growing_direction)
    return None


def _growing_direction(
    rows: csr_array, sums: FloatArray | None, fixed: IntArray
) -> FloatArray | None:
    """Find a direction that satisfies all inequalities, one of them more than with equality."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    bounds = np.tile([-1.0, 1.0], (rows.shape[1], 1))
    bounds[fixed] = 0.0
    whole: Any = rows if sums is None else csr_array(vstack([rows, csr_array(sums[None])]))
    found: Any = linprog(
        -np.asarray(rows.sum(axis=0)).ravel(),
        A_ub=-whole,
        b_ub=np.zeros(whole.shape[0]),
        bounds=list(zip(*bounds.T.tolist(), strict=True)),
        method="highs",
    )
    if found.status != 0:
        raise NoMaximumError(
            f"whether there is a maximum could not be decided: {found.message} Use draws."
        )
    d: FloatArray = found.x
    return d if (rows @ d).max(initial=0.0) > _PART else None


def _flat_direction(
    rows: csr_array, _sums: FloatArray | None, fixed: IntArray
) -> FloatArray | None:
    """Find a direction that leaves all inequalities at 0."""
    free = np.setdiff1d(np.arange(rows.shape[1]), fixed)
    inside = rows[:, free]
    values, vectors = np.linalg.eigh(np.asarray((inside.T @ inside).todense()))
    if not len(values) or values[0] > _FLAT * max(values[-1], 1.0):
        return None
    d = np.zeros(rows.shape[1])
    d[free] = vectors[:, 0]
    return np.asarray(d / np.abs(d).max())


def _inequalities(r: Recession) -> tuple[csr_array, FloatArray | None]:
    """Return rows g with g·d >= 0, and the coefficients of the sum over sets that must be 0."""
    from scipy.sparse import coo_array

    unknowns = int(r.owner.max(initial=-1)) + 1
    numbers = _of_contests(r) + _of_parameters(r)
    entries: list[tuple[int, int, float]] = []
    for k, row in enumerate(numbers):
        entries += [(k, column, value) for column, value in row]
    height, width = len(numbers), unknowns
    sums: FloatArray | None = None
    if r.total > 0 or r.sets.n_sets:
        active = np.flatnonzero(r.owner[: r.n] >= 0)
        sets = [np.intersect1d(r.sets.set_members(t), active) for t in range(r.sets.n_sets)]
        powers = r.sets.exponent.tolist()
        if r.total > 0:
            sets.append(active)
            powers.append(-r.total)
        single = np.bincount(r.owner[active], r.single[active], unknowns)
        sums = np.concatenate([single, powers]).astype(np.float64)
        sums /= np.abs(sums).max()
        for members in sets:
            for column in np.unique(r.owner[members]).tolist():
                entries += [(height, width, 1.0), (height, column, -1.0)]
                height += 1
            width += 1
    place = np.array([(i, j) for i, j, _ in entries], np.int64).reshape(-1, 2)
    values = np.array([value for *_, value in entries])
    size = max(height, 1), width
    rows: csr_array = coo_array((values, (place[:, 0], place[:, 1])), size).tocsr()
    return rows, sums


_Row = list[tuple[int, float]]


def _of_contests(r: Recession) -> list[_Row]:
    """Return the inequalities of all results that were seen."""
    c = r.contests
    place = dict(zip(r.own, r.owner[r.n :].tolist(), strict=True))
    home, tie = place.get("home") if c.home else None, place.get("tie") if c.ties else None
    sides = r.owner[c.members[c.start[:-1]]].reshape(-1, 2).tolist()
    rows: list[_Row] = []
    for (i, j), at_home, results in zip(sides, c.at_home.tolist(), c.results.tolist(), strict=True):
        ahead: _Row = [(i, 1.0), (j, -1.0)]  # α - β
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
    return rows


def _of_parameters(r: Recession) -> list[_Row]:
    """Return the inequalities by which priors, and θ >= 1, keep the parameters."""
    rows: list[_Row] = []
    for column, (name, own) in zip(r.owner[r.n :].tolist(), r.own.items(), strict=True):
        least = name == "tie" and r.contests.ties == "rao-kupper"
        if own.power > 0 or least:
            rows.append([(column, 1.0)])
        if own.rate > 0:
            rows.append([(column, -1.0)])
    return rows


def no_maximum(
    recession: Recession, counts: ConditionalCounts, scale: str
) -> NoMaximumError | None:
    """Say why there is no maximum, or not one alone; None where there is one."""
    found = find_direction(recession)
    if found is None:
        return None
    what, remedy = REMEDIES[scale]
    groups = _groups(found.categories, counts)
    moving = {name: d for name, d in found.parameters.items() if abs(d) > _PART}
    if not found.grows:
        return NoMaximumError(
            f"there is no single {what}: {_confounded(groups, list(moving))}. {remedy}", groups
        )
    ties = recession.contests.ties is not None
    if len(groups) > 1 and not moving:
        how = _never_won(groups, "won or tied" if ties else "won")
        return NoMaximumError(
            f"there is no {what} inside the simplex: {how}, so the smaller the probability of "
            f"those who lost, the better. {remedy}",
            groups,
        )
    if moving.get("tie", 0) > 0 and not recession.contests.results[:, :TIE].any():
        moving.pop("home", None)  # which changes nothing where all tie
    towards = " and ".join(
        f"the {'larger' if d > 0 else 'smaller'} {name}" for name, d in moving.items()
    )
    if len(groups) == 1:
        why = _one_sided(moving, recession.contests)
        return NoMaximumError(f"there is no {what}: {towards}, the better, {why}. {remedy}", groups)
    return NoMaximumError(
        f"there is no {what}: the further {listed(groups)} are apart, the first the strongest, "
        f"and {towards}, the better: no result speaks against it. {remedy}",
        groups,
    )


def _groups(d: FloatArray, counts: ConditionalCounts) -> list[list[Label]]:
    """Group the categories by their part of a direction, largest first, those at 0 last."""
    level = np.where(np.isnan(d), -np.inf, d)
    order = np.argsort(-level, kind="stable")
    groups: list[list[Label]] = []
    before = np.inf
    for i in order.tolist():
        here = float(level[i])
        if not groups or before - here > _PART:
            groups.append([])
            before = here
        groups[-1].append(counts.categories[i])
    return groups


def _never_won(groups: list[list[Label]], did: str) -> str:
    best, rest = groups[0], [label for group in groups[1:] for label in group]
    if len(groups) == 2 and len(best) >= len(rest):
        return f"{some(rest)} never {did} against any of the other {len(best):,}"
    if len(groups) == 2:
        lost = "lost or tied" if "tied" in did else "lost"
        return f"{some(best)} never {lost} against any of the other {len(rest):,}"
    return (
        f"of the {len(groups)} groups {listed(groups)} none of a later one ever {did} against any "
        "of an earlier one"
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


def _confounded(groups: list[list[Label]], moving: list[str]) -> str:
    names = " and ".join(moving)
    if not moving:
        return (
            f"{listed(groups)} were never compared with each other, so nothing says how they share"
        )
    if len(groups) == 1:
        return f"nothing says how large {names} is"
    return (
        f"{names} cannot be told from strength: the further {listed(groups)} are apart, the more "
        f"another {names} makes up for it, as where the same sides are always at home"
    )
