"""Where the density of a core is largest: by Newton's method, from one start or from several.

Without grouped outcomes the density is concave in θ = log p, so that one climb finds the maximum,
or goes on for ever: then some atoms never won against others, and the data says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.family import SetFamily
from luce.errors import NoMaximumError
from luce.model.structure import Core
from luce.sampling import laplace

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Where the largest θ of a core is this far above the smallest, the climb may have been one without
# an end, and the data are asked whether it was.
_FAR = 12.0

# Of a climb with grouped outcomes: how many more starts it gets, when two ends are the same (as
# shares), and a share that may be none.
_MORE_STARTS, _SAME, _NEGLIGIBLE = 8, 1e-6, 1e-5


# With a concentration below 1, some outcomes may not be enough to keep a group from 0.
_UNBOUNDED = (
    "there is no mode: the density grows without bound as the probability of some categories goes "
    "to 0, since the concentration is below 1 and they won too little against the others. Use a "
    "concentration of at least 1, or the mode in log-odds, or draws."
)


def core_mode(problem: Problem, core: Core) -> FloatArray:
    """Shares of a core's atoms where Π_i p_i^(c_i) Π_S p(S)^(e_S) is largest, or one such place."""
    return core_shares(problem, core, single=False)[0]


class NoEnd(Exception):
    """The climb has no end; `groups` are atoms, those that win against all the others first."""

    def __init__(self, groups: list[IntArray]) -> None:
        super().__init__()
        self.groups = groups


def core_shares(problem: Problem, core: Core, single: bool = True) -> tuple[FloatArray, int]:
    """Shares of a core's atoms where its density is largest, and how many maxima were found.

    Two as high as each other are refused if a `single` one is wanted.
    """
    family = core.sets
    may_be_unbounded = problem.total_shape < 0
    if may_be_unbounded:
        problem, family = _with_all_grouped(problem, family)
    active = laplace.supported(problem)
    if problem.groups.any():
        return _best_of_several(problem, family, active, single, may_be_unbounded)
    theta, reached = laplace.climb_from(problem, _numbered(active), _guess(problem, core))
    if not reached or np.ptp(theta[active]) > _FAR:
        groups = winning_groups(family, problem.shape, problem.total_shape, theta)
        # Of those that are at 0 there is nothing to ask.
        if sum(bool(active[group].any()) for group in groups) > 1:
            raise NoEnd(groups)
    _require(reached)
    return _shares(theta), 1


def _guess(problem: Problem, core: Core) -> FloatArray:
    """Log odds of being the outcome when possible, less those if all atoms were equal."""
    won, (could, equal) = problem.shape, core.trials
    could, equal = could + problem.total_shape, equal + problem.total_shape / len(won)
    with np.errstate(divide="ignore"):  # who never won is at 0
        logs = np.log(won / np.maximum(could - won, 0.02 * could) * (could / equal - 1.0))
    if not problem.total_shape > 0:
        return np.asarray(logs)
    return np.asarray(logs - np.logaddexp.reduce(logs) + np.log(problem.total_shape))


def _with_all_grouped(problem: Problem, family: SetFamily) -> tuple[Problem, SetFamily]:
    """Take a power A < 0 of the total for -A outcomes known to lie among all: no scale then."""
    from luce.kernels.problem import make_problem

    n, stored = family.n, len(family.members)
    wider = SetFamily(
        n,
        np.r_[family.members, np.arange(n)],
        np.r_[family.nest_start, stored + n],
        np.r_[family.complement, False],
        np.r_[family.set_start, family.n_sets + 1],
        np.r_[family.set_end, stored + n],
        np.r_[family.exponent, -problem.total_shape],
    )
    f = wider
    laid_out = make_problem(
        f.members, f.nest_start, f.complement, f.set_start, f.set_end, f.exponent,
        np.ones(n), 1.0,
    )  # fmt: skip
    return laid_out._replace(shape=problem.shape, total_shape=0.0), wider


def _best_of_several(
    problem: Problem, family: SetFamily, active: Any, single: bool, unbounded: bool
) -> tuple[FloatArray, int]:
    """Climb from several starts, and put atoms at 0 that lose nothing there."""
    from luce.kernels.curvature import slope

    rng, n, plain = np.random.default_rng(0), len(active), problem._replace(wide=None)
    nothing = np.empty(n)
    ends: list[tuple[float, FloatArray]] = []  # heights, and θ
    # A density without bound must be found out, though it may have maxima besides.
    for k in range(1 + (4 * _MORE_STARTS if unbounded else _MORE_STARTS)):
        start = None if k == 0 else np.log(rng.dirichlet(np.ones(n))) + np.log(n)
        theta, reached = laplace.climb_from(problem, _numbered(active), start)
        doubtful = active & (problem.shape == 0) & (theta - theta.max() < np.log(_NEGLIGIBLE))
        if doubtful.any():
            kept = active & ~doubtful
            inside, arrived = laplace.climb_from(problem, _numbered(kept), theta)
            if arrived and slope(plain, inside, nothing) >= slope(plain, theta, nothing) - 1e-9:
                theta, reached = inside, True
        if reached:
            ends.append((slope(plain, theta, nothing), theta))
        if unbounded and _grows(family, problem.shape, theta):
            raise NoMaximumError(_UNBOUNDED)
    _require(bool(ends))
    ends.sort(key=lambda end: -end[0])
    highest, best = ends[0]
    groups = winning_groups(family, problem.shape, problem.total_shape, best)
    for number in range(1, sum(bool((best[group] > -np.inf).any()) for group in groups)):
        further = best.copy()
        further[np.concatenate(groups[number:])] -= _FAR
        if slope(plain, further, nothing) >= highest - 1e-9 * (1 + abs(highest)):
            raise NoEnd(groups)
    distinct: list[tuple[float, FloatArray]] = []
    for height, theta in ends:
        shares = _shares(theta)
        if all(np.abs(shares - other).max() > _SAME for _, other in distinct):
            distinct.append((height, shares))
    # Another place as high: a ridge, or two peaks of the same height.
    level = len(distinct) > 1 and distinct[1][0] >= highest - 1e-9 * (1 + abs(highest))
    _require(not (single and level))
    return distinct[0][1], len(distinct)


def _require(reached: bool) -> None:
    if not reached:
        raise NoMaximumError(
            "the maximum was not reached: it may be flat in some direction, not a single point. "
            "Use a concentration above 1, or draws."
        )


def _numbered(active: Any) -> IntArray:
    if active.all():
        return np.arange(len(active))
    return np.where(active, np.cumsum(active) - 1, -1)


def _shares(theta: FloatArray) -> FloatArray:
    p = np.exp(theta - theta.max())
    return np.asarray(p / p.sum())


def winning_groups(
    family: SetFamily, power: FloatArray, total_power: float, theta: FloatArray
) -> list[IntArray]:
    """Atoms in groups, such that no member of a later one ever won against one of an earlier.

    For the atoms F with the largest θ, Σ_{i ∈ F} k_i + Σ_{S meets F} e_S = A says that whenever
    somebody of F took part, somebody of F won, or may have.  Such F are looked for along the order
    of θ: where the climb has no end, that is the order in which it drew the groups apart.

    Parameters
    ----------
    family
        The sets and e_S.
    power, total_power
        k_i and A = Σ k_i + Σ e_S.
    theta
        Where the climb was ended.
    """
    order, first = _along(family, theta)
    won = np.cumsum(power[order])
    taken = total_power + np.cumsum(np.bincount(first, -family.exponent, family.n))
    size = won[-1] + total_power
    tight = np.flatnonzero(np.abs(won - taken)[:-1] <= 1e-13 * size) + 1
    return np.split(order, tight)


def _grows(family: SetFamily, power: FloatArray, theta: FloatArray) -> bool:
    """Does the density grow as some atoms with the smallest θ go to 0 together?

    It goes with their probability to the power Σ_{i ∈ F} k_i + Σ_{S ⊆ F} e_S.
    """
    order, first = _along(family, theta)
    inside = np.bincount(first, family.exponent, family.n)  # S lies among ranks from its least on
    total = np.cumsum((power[order] + inside)[::-1])[:-1]
    return bool((total < -1e-9 * (1 + np.abs(power).sum())).any())


def _along(family: SetFamily, theta: FloatArray) -> tuple[IntArray, IntArray]:
    """Atoms from the largest θ down, and the place in that order where each set begins."""
    n = family.n
    order = np.argsort(-theta, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first = np.empty(family.n_sets, np.int64)  # the least rank in each set
    for k in range(family.n_nests):
        ranks = rank[family.members[family.nest_start[k] : family.nest_start[k + 1]]]
        sets = slice(family.set_start[k], family.set_start[k + 1])
        ends = family.set_end[sets] - family.nest_start[k]
        if family.complement[k]:
            for t, end in enumerate(ends.tolist(), family.set_start[k]):
                # The least of 0..n-1 that is not among so many.
                listed = np.sort(ranks[:end])
                gaps = np.flatnonzero(listed != np.arange(end))
                first[t] = gaps[0] if len(gaps) else end
        else:
            first[sets] = np.minimum.accumulate(ranks)[ends - 1]
    return order, first
