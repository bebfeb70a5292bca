"""The most probable probabilities: where the posterior's density is largest, on either scale.

    on the simplex    Π_i p_i^(c_i - 1) · Π_S p(S)^(e_S)
    in log-odds       Π_i p_i^(c_i)     · Π_S p(S)^(e_S)        per unit of θ = log p

Both have the form of the posterior's density in θ, with powers of their own.  So both factor along
the module tree: an exact split is largest at its powers over their sum, and in a core Newton's
method finds the one maximum.  Where outcomes are grouped there may be several, and the climb starts
from several places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luce import laplace
from luce._types import FloatArray, IntArray, Label
from luce.conditional_counts import ConditionalCounts
from luce.errors import MethodError, NoMaximumError
from luce.labels import some
from luce.module_shapes import ModuleShapes, shapes_of
from luce.set_family import SetFamily
from luce.structure import Core, Structure, structure_of

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

SCALES = ("simplex", "log-odds")

# What is looked for, and what to do where there is none.
_SOUGHT = {
    "simplex": ("mode", "Use a concentration above 1, or the mode in log-odds, or draws."),
    "log-odds": ("mode in log-odds", "Use draws."),
    "likelihood": (
        "maximum-likelihood estimate",
        "A prior decides it: luce.Posterior(counts, 1.0) has draws, and a mode in log-odds.",
    ),
}

# Where the largest θ of a core is this far above the smallest, the climb may have been one without
# an end, and the data are asked whether it was.
_FAR = 12.0

# Of a climb with grouped outcomes: how many more starts it gets, when two ends are the same (as
# shares), and a share that may be none.
_MORE_STARTS, _SAME, _NEGLIGIBLE = 8, 1e-6, 1e-5


class Mode(np.ndarray[Any, np.dtype[np.float64]]):
    """Probabilities, shape (n_categories,), where a density is largest; an array that knows more.

    Attributes
    ----------
    scale
        "simplex" or "log-odds": which density; or "likelihood".
    categories
        The labels.
    at_zero
        Labels whose probability is 0: the maximum is on the boundary of the simplex.
    maxima
        How many local maxima were found, the largest being this one; 1 where there can be no more.
    """

    scale: str
    categories: Sequence[Label]
    at_zero: tuple[Label, ...]
    maxima: int

    def __new__(
        cls, values: FloatArray, scale: str, categories: Sequence[Label], maxima: int = 1
    ) -> Mode:
        """Name what the numbers are."""
        new = np.asarray(values, np.float64).view(cls)
        new.scale, new.categories, new.maxima = scale, categories, maxima
        new.at_zero = tuple(categories[int(i)] for i in np.flatnonzero(values == 0))
        return new

    @property
    def log_odds(self) -> FloatArray:
        """log p_i less the mean of all; -inf where p_i is 0, which is left out of the mean."""
        p = np.asarray(self)
        with np.errstate(divide="ignore"):
            logs = np.log(p)
        return np.asarray(logs - logs[p > 0].mean())

    # What is made of a mode is no mode.
    def __array_finalize__(self, source: object) -> None:
        """Views and copies keep the numbers alone until they are named."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of arithmetic are plain arrays."""
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        if not hasattr(self, "scale"):
            return repr(np.asarray(self))
        numbers = ", ".join(
            f"{label}: {value:.4g}"
            for _, label, value in zip(range(6), self.categories, self.tolist(), strict=False)
        )
        more = ", ..." if len(self) > 6 else ""
        zero = f"; at 0: {some(self.at_zero, quote=False)}" if self.at_zero else ""
        maxima = f"; largest of {self.maxima} maxima found" if self.maxima > 1 else ""
        return f"Mode({self.scale}: {numbers}{more}{zero}{maxima})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return Mode, (np.asarray(self), self.scale, self.categories, self.maxima)


def check_scale(scale: str) -> None:
    """Refuse scales that there are not."""
    if scale not in SCALES:
        raise MethodError(f"scale = {scale!r}; choose one of {', '.join(SCALES)}.")


def find_mode(counts: ConditionalCounts, concentration: FloatArray, scale: str) -> Mode:
    """Most probable probabilities.

    On the simplex a category with c_i = 1 exactly, such as one never chosen under concentration 1,
    is at 0.
    """
    check_scale(scale)
    return largest_at(counts, concentration - 1 if scale == "simplex" else concentration, scale)


def largest_at(counts: ConditionalCounts, prior: FloatArray, scale: str) -> Mode:
    """Where Π_i p_i^(prior_i + n_i) · Π_S p(S)^(e_S) is largest."""
    from luce.kernels.dirichlet_tree import pass_down

    structure = structure_of(counts.sets)

    power = prior + counts.category_counts
    if power.min() < 0:
        unbounded = [counts.categories[i] for i in np.flatnonzero(power < 0)]
        raise NoMaximumError(
            f"there is no mode: the density grows without bound as the probability of "
            f"{some(unbounded)} goes to 0, since concentration plus count is below 1. Use a "
            "concentration of at least 1, or the mode in log-odds, or draws."
        )
    shapes = shapes_of(structure, counts, prior)
    descent = structure.descent
    parts, maxima = [_exact_shares(shapes, counts, scale)], 1
    for core in structure.cores:
        if not shapes.total[core.cells].any() and not (core.sets.exponent > 0).any():
            parts.append(np.zeros(core.n_atoms))
            continue
        # The layout as it is: spreads, which only samplers need, are not worked out.
        problem = core.laid_out._replace(
            shape=shapes.total[core.cells], total_shape=float(shapes.total[core.union])
        )
        try:
            shares, found = _core_shares(problem, core)
        except _NoMaximum as none:
            groups = [_labels_of(structure, counts, core.cells[list(g)]) for g in none.groups]
            raise _never_won(groups, scale) from None
        parts.append(shares)
        maxima *= found
    shares = np.concatenate(parts)[descent.order]
    mode, _ = pass_down(descent.start, descent.target, shares, np.zeros(len(shares)))
    return Mode(mode, scale, counts.categories, maxima)


def _exact_shares(shapes: ModuleShapes, counts: ConditionalCounts, scale: str) -> FloatArray:
    """Shares of the items outside of cores, or the reason why they have none."""
    structure, shape = shapes.structure, shapes.shape
    shared = structure.splits.shared
    shares = np.ones(len(shape))
    if len(shared) == 0:
        return shares
    owner, own = shapes.owner[shared], shape[shared]
    total = np.bincount(owner, own, len(shapes.start) - 1)[owner]
    undecided = np.flatnonzero(total == 0)
    if len(undecided):
        items = shapes.target[shapes.owner == owner[undecided[0]]]
        groups = [_labels_under(structure, counts, int(item)) for item in items]
        what, remedy = _SOUGHT[scale]
        if not counts.n_outcomes:
            raise NoMaximumError(
                f"there is no {what}: without data all probabilities are equally good. {remedy}",
                groups,
            )
        raise NoMaximumError(
            f"there is no single {what}: {_listed(groups)} were never compared with each other, so "
            f"nothing says how they share. {remedy}",
            groups,
        )
    # A module is at 0 here if all outcomes inside were recorded given that they lay inside.
    empty = np.flatnonzero((own == 0) & (shapes.target[shared] < 0))
    if len(empty):
        below = _labels_under(structure, counts, int(shapes.target[shared[empty[0]]]))
        inside = set(below)
        rest = [label for label in counts.categories if label not in inside]
        raise _never_won([rest, below], scale)
    shares[shared] = own / total
    return shares


def core_mode(problem: Problem, core: Core) -> FloatArray:
    """Shares of a core's atoms where Π_i p_i^(c_i) Π_S p(S)^(e_S) is largest: its mode in log-odds."""
    return _core_shares(problem, core)[0]


class _NoMaximum(Exception):
    """The climb has no end; `groups` are atoms, those that win against all the others first."""

    def __init__(self, groups: list[IntArray]) -> None:
        super().__init__()
        self.groups = groups


def _core_shares(problem: Problem, core: Core) -> tuple[FloatArray, int]:
    """Shares of a core's atoms where its density is largest, and how many maxima were found."""
    active = laplace.supported(problem)
    if problem.groups.any():
        return _best_of_several(problem, active)
    theta, reached = laplace.climb_from(problem, _numbered(active), _guess(problem, core))
    finite = theta[active]
    if finite.max() - finite.min() > _FAR or not reached:
        groups = winning_groups(core.sets, problem.shape, problem.total_shape, theta)
        if len(groups) > 1:
            raise _NoMaximum(groups)
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


def _best_of_several(problem: Problem, active: Any) -> tuple[FloatArray, int]:
    """Climb from several starts, and put atoms at 0 that lose nothing there."""
    from luce.kernels.curvature import slope

    rng, n, plain = np.random.default_rng(0), len(active), problem._replace(wide=None)
    nothing = np.empty(n)
    ends: list[tuple[float, FloatArray]] = []
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
            ends.append((slope(plain, theta, nothing), _shares(theta)))
    _require(bool(ends))
    distinct: list[FloatArray] = []
    for _, shares in ends:
        if all(np.abs(shares - other).max() > _SAME for other in distinct):
            distinct.append(shares)
    return max(ends, key=lambda end: end[0])[1], len(distinct)


def _require(reached: bool) -> None:
    if not reached:
        raise MethodError(
            "the maximum was not reached: it may be flat in some direction, and not a single point. "
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

    For the atoms F with the largest θ, Σ_{i ∈ F} k_i = A + Σ_{S meets F} m_S says that whenever
    somebody of F took part, somebody of F won.  Such F are looked for along the order of θ: where
    the climb has no end, that is the order in which it drew the groups apart.

    Parameters
    ----------
    family
        The sets, none with grouped outcomes.
    power, total_power
        k_i and A = Σ k_i - Σ m_S.
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
    tight = np.flatnonzero(np.abs(won - taken)[:-1] <= 1e-9 * size) + 1
    return np.split(order, tight)


def _never_won(groups: list[list[Label]], scale: str) -> NoMaximumError:
    what, remedy = _SOUGHT[scale]
    best, rest = groups[0], [label for group in groups[1:] for label in group]
    if len(groups) == 2 and len(best) > len(rest):
        how = f"{some(rest)} never won against any of the other {len(best):,}"
    elif len(groups) == 2:
        how = f"{some(best)} never lost against any of the other {len(rest):,}"
    else:
        how = (
            f"of the {len(groups)} groups {_listed(groups)} none of a later one ever won against "
            "any of an earlier one"
        )
    return NoMaximumError(
        f"there is no {what} inside the simplex: {how}, so it keeps growing as the probability of "
        f"those below goes to 0. {remedy}",
        groups,
    )


def _listed(groups: list[list[Label]]) -> str:
    return ", ".join(f"[{some(group, 4)}]" for group in groups[:4]) + (
        ", ..." if len(groups) > 4 else ""
    )


def _labels_under(structure: Structure, counts: ConditionalCounts, target: int) -> list[Label]:
    """Labels of an item: one category, or all those of a module."""
    if target >= 0:
        return [counts.categories[target]]
    return _labels_of(structure, counts, np.array([-1 - target]))


def _labels_of(structure: Structure, counts: ConditionalCounts, modules: IntArray) -> list[Label]:
    tree = structure.tree
    inside = np.zeros(len(tree.parent), np.bool_)
    inside[modules] = True
    for module in range(1, len(inside)):  # owners come before what they own
        inside[module] |= inside[tree.parent[module]]
    return [counts.categories[int(i)] for i in np.flatnonzero(inside[tree.holder])]
