"""The maximum of a core's density: one climb by Newton's method, or climbs from several starts.

Without grouped outcomes the density is concave in θ = log p.  One climb then finds the maximum, or
has no end because some atoms never won against others; the data tells which.  With grouped outcomes
there may be several maxima, and the highest end of several climbs is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.family import SetFamily
from luce.errors import NoMaximumError
from luce.model.structure import Core
from luce.sampling.laplace import LIMITS, ClimbLimits, climb_from, one_unknown_each
from luce.sampling.log_posterior import LogPosterior, supported

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Range of θ beyond which a climb may have no end, so that the data is searched for groups that
# never won.
_FAR = 12.0

# With grouped outcomes: the number of random starts, the difference in shares below which two ends
# are the same, and the share below which an atom may be at 0.
_MORE_STARTS, _SAME, _NEGLIGIBLE = 8, 1e-6, 1e-5

# Relative difference in height below which two maxima are equally high.
_LEVEL = 1e-9

_UNBOUNDED = (
    "there is no mode: the density grows without bound as the probability of some categories goes "
    "to 0, since the concentration is below 1 and they won too little against the others. Use a "
    "concentration of at least 1, or the mode in log-odds, or draws."
)


def core_mode(problem: Problem, core: Core) -> FloatArray:
    """Find a core's shares at a maximum of Π_i p_i^(c_i) Π_S p(S)^(e_S), unique or not."""
    try:
        return core_shares(problem, core, single=False)[0]
    except NoEnd:
        raise NoMaximumError(
            "the maximum was not reached: some categories are too far apart for 64-bit numbers. "
            "Counts are too large, or too unequal."
        ) from None


class NoEnd(Exception):
    """A climb without an end; no atom of a later group of `groups` won against an earlier one."""

    def __init__(self, groups: list[IntArray]) -> None:
        super().__init__()
        self.groups = groups


def core_shares(
    problem: Problem, core: Core, single: bool = True, limits: ClimbLimits = LIMITS
) -> tuple[FloatArray, int]:
    """Find a core's shares at the maximum of its density, and the number of maxima found.

    With `single`, two equally high maxima are refused.
    """
    family = core.sets
    may_be_unbounded = problem.total_shape < 0
    if may_be_unbounded:
        problem, family = _with_all_grouped(problem, family)
    if problem.groups.any():
        return _best_of_several(problem, family, single, may_be_unbounded, limits)
    active = supported(problem)
    theta, reached = climb_from(problem, one_unknown_each(active), _guess(problem, core), limits)
    if not reached or np.ptp(theta[active]) > _FAR:
        groups = winning_groups(family, problem.shape, problem.total_shape, theta)
        if sum(bool(active[group].any()) for group in groups) > 1:  # atoms at 0 do not count
            raise NoEnd(groups)
    _require(reached)
    return _shares(theta), 1


def _guess(problem: Problem, core: Core) -> FloatArray:
    """Guess θ: log odds of being chosen when available, relative to those of equal atoms."""
    won, (could, equal) = problem.shape, core.trials
    could, equal = could + problem.total_shape, equal + problem.total_shape / len(won)
    with np.errstate(divide="ignore"):  # an atom that never won is at 0
        logs = np.log(won / np.maximum(could - won, 0.02 * could) * (could / equal - 1.0))
    if not problem.total_shape > 0:
        return np.asarray(logs)
    return np.asarray(logs - np.logaddexp.reduce(logs) + np.log(problem.total_shape))


def _with_all_grouped(problem: Problem, family: SetFamily) -> tuple[Problem, SetFamily]:
    """Treat a negative total power A as -A grouped outcomes over all atoms, removing the scale."""
    from luce.kernels.problem import make_problem

    n, stored = family.n, len(family.members)
    arrays = {
        "members": np.r_[family.members, np.arange(n)],
        "nest_start": np.r_[family.nest_start, stored + n],
        "complement": np.r_[family.complement, False],
        "set_start": np.r_[family.set_start, family.n_sets + 1],
        "set_end": np.r_[family.set_end, stored + n],
        "exponent": np.r_[family.exponent, -problem.total_shape],
    }
    weights = None if family.weights is None else np.r_[family.weights, np.ones(n)]
    laid_out = make_problem(**arrays, shape=np.ones(n), total_shape=1.0, weights=weights)
    wider = laid_out._replace(shape=problem.shape, total_shape=0.0)
    return wider, SetFamily(n=n, **arrays, weights=weights)


class _End(NamedTuple):
    """The end of a climb: the log density there, and θ."""

    height: float
    theta: FloatArray


def _best_of_several(
    problem: Problem, family: SetFamily, single: bool, may_be_unbounded: bool, limits: ClimbLimits
) -> tuple[FloatArray, int]:
    """Climb from several starts; return the shares at the highest end, and the number of ends."""
    rng, n, f = np.random.default_rng(0), len(problem.shape), LogPosterior(problem)
    ends: list[_End] = []
    # More starts where the density may be unbounded, since it may have finite maxima besides.
    for k in range(1 + (4 * _MORE_STARTS if may_be_unbounded else _MORE_STARTS)):
        start = None if k == 0 else np.log(rng.dirichlet(np.ones(n))) + np.log(n)
        theta, reached = _climb_to_boundary(problem, f, start, limits)
        if reached:
            ends.append(_End(f.at(theta).value, theta))
        if may_be_unbounded and _grows(family, problem.shape, theta):
            raise NoMaximumError(_UNBOUNDED)
    _require(bool(ends))
    ends.sort(key=lambda end: -end.height)
    _require_end(f, family, ends[0])
    distinct: list[_End] = []
    for end in ends:
        if all(np.abs(_shares(end.theta) - _shares(o.theta)).max() > _SAME for o in distinct):
            distinct.append(end)
    # Another end of the same height: a ridge, or two equal peaks.
    tied = len(distinct) > 1 and _is_as_high(distinct[1].height, distinct[0])
    _require(not (single and tied))
    return _shares(distinct[0].theta), len(distinct)


def _climb_to_boundary(
    problem: Problem, f: LogPosterior, start: FloatArray | None, limits: ClimbLimits
) -> tuple[FloatArray, bool]:
    """Climb, then put atoms at 0 where the density is no lower without them."""
    active = supported(problem)
    theta, reached = climb_from(problem, one_unknown_each(active), start, limits, f)
    doubtful = active & (problem.shape == 0) & (theta - theta.max() < np.log(_NEGLIGIBLE))
    if doubtful.any():
        owner = one_unknown_each(active & ~doubtful)
        inside, arrived = climb_from(problem, owner, theta, limits, f)
        if arrived and f.at(inside).value >= f.at(theta).value - 1e-9:
            return inside, True
    return theta, reached


def _is_as_high(height: float, best: _End) -> bool:
    return height >= best.height - _LEVEL * (1 + abs(best.height))


def _require_end(f: LogPosterior, family: SetFamily, best: _End) -> None:
    """Raise `NoEnd` where the density is no lower with some groups much further apart."""
    groups = winning_groups(family, f.shape, f.total_shape, best.theta)
    for number in range(1, sum(bool((best.theta[group] > -np.inf).any()) for group in groups)):
        further = best.theta.copy()
        further[np.concatenate(groups[number:])] -= _FAR
        if _is_as_high(f.at(further).value, best):
            raise NoEnd(groups)


def _require(reached: bool) -> None:
    if not reached:
        raise NoMaximumError(
            "the maximum was not reached: it may be flat in some direction, not a single point. "
            "Use a concentration above 1, or draws."
        )


def _shares(theta: FloatArray) -> FloatArray:
    p = np.exp(theta - theta.max())
    return np.asarray(p / p.sum())


def winning_groups(
    family: SetFamily, power: FloatArray, total_power: float, theta: FloatArray
) -> list[IntArray]:
    """Split the atoms into groups so that no later group ever won against an earlier one.

    Σ_{i ∈ F} k_i + Σ_{S meets F} e_S = A says that whenever a member of F took part, a member of F
    won or may have won.  The prefixes F of the order of θ are tested; a climb without an end
    separates the groups in that order.

    Parameters
    ----------
    family
        The sets and e_S.
    power, total_power
        k_i and A = Σ k_i + Σ e_S.
    theta
        The place where the climb was stopped.
    """
    order, first = _along(family, theta)
    won = np.cumsum(power[order])
    taken = total_power + np.cumsum(np.bincount(first, -family.exponent, family.n))
    size = won[-1] + total_power
    tight = np.flatnonzero(np.abs(won - taken)[:-1] <= 1e-13 * size) + 1
    return np.split(order, tight)


def _grows(family: SetFamily, power: FloatArray, theta: FloatArray) -> bool:
    """Tell whether the density grows as the atoms F with the smallest θ go to 0 together.

    It is proportional to p(F)^(Σ_{i ∈ F} k_i + Σ_{S ⊆ F} e_S).
    """
    order, first = _along(family, theta)
    inside = np.bincount(first, family.exponent, family.n)  # by the least rank in each set
    total = np.cumsum((power[order] + inside)[::-1])[:-1]
    return bool((total < -1e-9 * (1 + np.abs(power).sum())).any())


def _along(family: SetFamily, theta: FloatArray) -> tuple[IntArray, IntArray]:
    """Sort atoms by decreasing θ; return the order, and the least rank in each set."""
    n = family.n
    order = np.argsort(-theta, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first = np.empty(family.n_sets, np.int64)
    for k in range(family.n_nests):
        ranks = rank[family.members[family.nest_start[k] : family.nest_start[k + 1]]]
        sets = slice(family.set_start[k], family.set_start[k + 1])
        ends = family.set_end[sets] - family.nest_start[k]
        if family.complement[k]:
            for t, end in enumerate(ends.tolist(), family.set_start[k]):
                listed = np.sort(ranks[:end])  # the least rank not listed is the first gap
                gaps = np.flatnonzero(listed != np.arange(end))
                first[t] = gaps[0] if len(gaps) else end
        else:
            first[sets] = np.minimum.accumulate(ranks)[ends - 1]
    return order, first
