"""Where the density of a core is largest: by Newton's method, from one start or from several.

Without grouped outcomes the density is concave in θ = log p, so that one climb finds the maximum,
or goes on for ever: then some atoms never won against others, and the data says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from luce import laplace
from luce._types import FloatArray, IntArray
from luce.errors import NoMaximumError
from luce.set_family import SetFamily
from luce.structure import Core

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Where the largest θ of a core is this far above the smallest, the climb may have been one without
# an end, and the data are asked whether it was.
_FAR = 12.0

# Of a climb with grouped outcomes: how many more starts it gets, when two ends are the same (as
# shares), and a share that may be none.
_MORE_STARTS, _SAME, _NEGLIGIBLE = 8, 1e-6, 1e-5


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
    active = laplace.supported(problem)
    if problem.groups.any():
        return _best_of_several(problem, core, active, single)
    theta, reached = laplace.climb_from(problem, _numbered(active), _guess(problem, core))
    finite = theta[active]
    if finite.max() - finite.min() > _FAR or not reached:
        groups = winning_groups(core.sets, problem.shape, problem.total_shape, theta)
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


def _best_of_several(
    problem: Problem, core: Core, active: Any, single: bool
) -> tuple[FloatArray, int]:
    """Climb from several starts, and put atoms at 0 that lose nothing there."""
    from luce.kernels.curvature import slope

    rng, n, plain = np.random.default_rng(0), len(active), problem._replace(wide=None)
    nothing = np.empty(n)
    ends: list[tuple[float, FloatArray]] = []  # heights, and θ
    for k in range(1 + _MORE_STARTS):
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
    _require(bool(ends))
    ends.sort(key=lambda end: -end[0])
    highest, best = ends[0]
    groups = winning_groups(core.sets, problem.shape, problem.total_shape, best)
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
    n = family.n
    order = np.argsort(-theta, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first = np.empty(family.n_sets, np.int64)  # the least rank in each set
    for k in range(family.n_chains):
        ranks = rank[family.members[family.chain_start[k] : family.chain_start[k + 1]]]
        sets = slice(family.set_start[k], family.set_start[k + 1])
        ends = family.set_end[sets] - family.chain_start[k]
        if family.complement[k]:
            for t, end in enumerate(ends.tolist(), family.set_start[k]):
                # The least of 0..n-1 that is not among so many.
                listed = np.sort(ranks[:end])
                gaps = np.flatnonzero(listed != np.arange(end))
                first[t] = gaps[0] if len(gaps) else end
        else:
            first[sets] = np.minimum.accumulate(ranks)[ends - 1]
    won = np.cumsum(power[order])
    taken = total_power + np.cumsum(np.bincount(first, -family.exponent, n))
    size = won[-1] + total_power
    tight = np.flatnonzero(np.abs(won - taken)[:-1] <= 1e-13 * size) + 1
    return np.split(order, tight)
