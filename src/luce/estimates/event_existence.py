"""When data with events has one maximum: directions in which the density does not fall.

Where the log density is concave, there is one maximum exactly if it falls in every direction d,
however far, but for a number added to all logarithms of p.  Events that were seen ask for linear
inequalities of d (`contest_existence`, `ranking_existence`).  A power of p(S) asks that
Σ_i c_i d_i + Σ_S e_S max_S d - A max d be 0, which is never positive; and a prior keeps a parameter
from falling, rising or both.  A linear programme finds a solution that is larger in some inequality
(the density grows for ever), or shows that all hold with equality only, and linear algebra then
finds directions of no change at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label
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


# Coefficients of a linear form by unknown; -1, -2 and so on are helpers of the inequalities.
Row = list[tuple[int, float]]


class Inequalities(NamedTuple):
    """Linear inequalities g·d >= 0 that hold where the probability of what was seen does not fall.

    Attributes
    ----------
    rows
        The inequalities.  Where one of them is larger than 0, the probability grows.
    level
        Linear forms that are 0 exactly where all of `rows` are 0; None for `rows` themselves.
    of_helpers
        Further inequalities, which say nothing about growth.
    helpers
        Number of unknowns that only serve to write the inequalities.
    """

    rows: list[Row]
    level: list[Row] | None = None
    of_helpers: list[Row] | None = None
    helpers: int = 0


class Words(NamedTuple):
    """Words for directions in which the density does not fall.

    Attributes
    ----------
    beat, lost
        What those who are weaker never did to the stronger, and the stronger to them.
    one_sided
        Says why parameters that move alone, given by name, do so.
    as_where
        The end of a sentence on parameters that cannot be told from strength.
    """

    beat: str
    lost: str
    one_sided: Callable[[Mapping[str, float]], str]
    as_where: str


class Recession(NamedTuple):
    """Events and sets whose directions are searched.

    Attributes
    ----------
    inequalities
        What the events ask of a direction.
    sets, single, total
        The sets with e_S, the powers c_i of single categories and A, without events.
    own
        Power and rate of the parameters that are not known.
    owner
        The unknown of each category and then of each parameter, -1 for a category at 0.
    n
        Number of categories.
    words
        Words for what is found.
    """

    inequalities: Inequalities
    sets: SetFamily
    single: FloatArray
    total: float
    own: Mapping[str, Known]
    owner: IntArray
    n: int
    words: Words


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
    system = _system(r)
    # A number added to all categories changes nothing, so the first one stays.
    first = r.owner[: r.n][r.owner[: r.n] >= 0][:1]
    own = r.owner[r.n :]
    still = [own, np.setdiff1d(np.arange(system.rows.shape[1]), own), first]
    for search in (_growing_direction, _flat_direction):
        for fixed in still:
            d = search(system, np.union1d(fixed, first))
            if d is not None:
                d = np.where(r.owner >= 0, d[r.owner], np.nan)
                parameters = dict(zip(r.own, d[r.n :].tolist(), strict=True))
                return Direction(d[: r.n], parameters, search is _growing_direction)
    return None


class _System(NamedTuple):
    """All inequalities as matrices, whose columns are the unknowns, the maxima of d, the helpers.

    Attributes
    ----------
    rows
        Rows g with g·d >= 0, one of which is larger than 0 where the density grows.
    more
        Further such rows, of helpers and of the sum over sets.
    level
        Rows that are 0 where the density does not change, without the columns of helpers.
    """

    rows: csr_array
    more: csr_array
    level: csr_array


def _growing_direction(system: _System, fixed: IntArray) -> FloatArray | None:
    """Find a direction that satisfies all inequalities, one of them more than with equality."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    rows = system.rows
    bounds = np.tile([-1.0, 1.0], (rows.shape[1], 1))
    bounds[system.level.shape[1] :] *= 2.0  # helpers are differences of two unknowns, or of none
    bounds[fixed] = 0.0
    whole: Any = csr_array(vstack([rows, system.more])) if system.more.shape[0] else rows
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


def _flat_direction(system: _System, fixed: IntArray) -> FloatArray | None:
    """Find a direction that leaves all inequalities at 0."""
    rows = system.level
    free = np.setdiff1d(np.arange(rows.shape[1]), fixed)
    inside = rows[:, free]
    values, vectors = np.linalg.eigh(np.asarray((inside.T @ inside).todense()))
    if not len(values) or values[0] > _FLAT * max(values[-1], 1.0):
        return None
    d = np.zeros(rows.shape[1])
    d[free] = vectors[:, 0]
    return np.asarray(d / np.abs(d).max())


def _system(r: Recession) -> _System:
    """Lay out all inequalities."""
    unknowns = int(r.owner.max(initial=-1)) + 1
    events, own = r.inequalities, _of_parameters(r)
    level = events.rows if events.level is None else events.level
    of_sets: list[Row] = []
    more = list(events.of_helpers or [])
    width = unknowns
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
        more.append(list(enumerate(sums.tolist())))
        for members in sets:
            for column in np.unique(r.owner[members]).tolist():
                of_sets.append([(width, 1.0), (column, -1.0)])
            width += 1
    whole = width + events.helpers
    return _System(
        _matrix([*events.rows, *own, *of_sets], whole, least=1),
        _matrix(more, whole),
        _matrix([*level, *own, *of_sets], width, least=1),
    )


def _matrix(rows: list[Row], width: int, least: int = 0) -> csr_array:
    """Make a sparse matrix of some rows, at least so many; negative columns count from its end."""
    from scipy.sparse import coo_array

    place = [(k, column % width) for k, row in enumerate(rows) for column, _ in row]
    values = np.array([value for row in rows for _, value in row], np.float64)
    at = np.array(place, np.int64).reshape(-1, 2)
    return coo_array((values, (at[:, 0], at[:, 1])), (max(len(rows), least), width)).tocsr()


def _of_parameters(r: Recession) -> list[Row]:
    """Return the inequalities by which priors keep the parameters."""
    rows: list[Row] = []
    for column, own in zip(r.owner[r.n :].tolist(), r.own.values(), strict=True):
        if own.power > 0:
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
        why = _confounded(groups, list(moving), recession.words)
        return NoMaximumError(f"there is no single {what}: {why}. {remedy}", groups)
    if len(groups) > 1 and not moving:
        how = _never_won(groups, recession.words)
        return NoMaximumError(
            f"there is no {what} inside the simplex: {how}, so the smaller the probability of "
            f"those who lost, the better. {remedy}",
            groups,
        )
    towards = " and ".join(
        f"the {'larger' if d > 0 else 'smaller'} {name}" for name, d in moving.items()
    )
    if len(groups) == 1:
        why = recession.words.one_sided(moving)
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


def _never_won(groups: list[list[Label]], words: Words) -> str:
    best, rest = groups[0], [label for group in groups[1:] for label in group]
    if len(groups) == 2 and len(best) >= len(rest):
        return f"{some(rest)} never {words.beat} any of the other {len(best):,}"
    if len(groups) == 2:
        return f"{some(best)} never {words.lost} any of the other {len(rest):,}"
    return (
        f"of the {len(groups)} groups {listed(groups)} none of a later one ever {words.beat} any "
        "of an earlier one"
    )


def _confounded(groups: list[list[Label]], moving: list[str], words: Words) -> str:
    names = " and ".join(moving)
    if not moving:
        return (
            f"{listed(groups)} were never compared with each other, so nothing says how they share"
        )
    if len(groups) == 1:
        return f"nothing says how large {names} is"
    return (
        f"{names} cannot be told from strength: the further {listed(groups)} are apart, the more "
        f"another {names} makes up for it{words.as_where}"
    )
