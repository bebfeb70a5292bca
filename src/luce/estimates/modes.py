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
from typing import Any

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import some
from luce.errors import MethodError, NoMaximumError
from luce.model.shapes import ModuleShapes, shapes_of
from luce.model.structure import Structure, structure_of
from luce.sampling.maximum import NoEnd, core_shares

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
        """Log p_i less the mean of all; -inf where p_i is 0, which is left out of the mean."""
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
        if not hasattr(self, "scale"):
            return np.asarray, (np.asarray(self),)
        return Mode, (np.asarray(self), self.scale, self.categories, self.maxima)

    def __copy__(self) -> Any:
        make, (numbers, *names) = self.__reduce__()
        return make(numbers.copy(), *names)

    def __deepcopy__(self, memo: object) -> Any:
        return self.__copy__()


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
        raise _unbounded(some(unbounded), "concentration plus count is below 1")
    shapes = shapes_of(structure, counts, prior)
    if prior.min() < 0:
        _require_bounded(shapes, counts)
    descent = structure.descent
    outside, undecided = _exact_shares(shapes, counts, scale)
    parts, maxima = [outside], 1
    for core in structure.cores:
        shape = shapes.total[core.cells]
        if not shape.any() and not (core.sets.exponent > 0).any():
            # Powers of sets alone are left, all below 0: there is no bound where a set is empty.
            raise _unbounded_of(structure, counts, core.cells[core.sets.set_members(0)])
        # The layout as it is: spreads, which only samplers need, are not worked out.
        problem = core.laid_out._replace(shape=shape, total_shape=float(shapes.total[core.union]))
        try:
            shares, found = core_shares(problem, core)
        except NoEnd as none:
            groups = [_labels_of(structure, counts, core.cells[list(g)]) for g in none.groups]
            raise _never_won(groups, scale) from None
        for cell in core.cells[shares == 0].tolist() if shares.min() == 0 else ():
            below = _numbers_of(structure, np.array([cell]))
            if power[below].any():  # they won among themselves, but never against others
                raise _lost_to_the_rest(counts, below, scale)
        parts.append(shares)
        maxima *= found
    shares = np.concatenate(parts)[descent.order]
    mode, _ = pass_down(descent.start, descent.target, shares, np.zeros(len(shares)))
    _require_decided(undecided, shapes, counts, scale, mode)
    return Mode(mode, scale, counts.categories, maxima)


def _require_bounded(shapes: ModuleShapes, counts: ConditionalCounts) -> None:
    """Refuse powers below 0 of whole modules, whose own outcomes say nothing of their total."""
    structure = shapes.structure
    shared = structure.splits.shared
    items = shapes.target[shared[shapes.shape[shared] < 0]]  # single categories are not below 0
    cells = [core.cells[shapes.total[core.cells] < 0] for core in structure.cores]
    for module in [*(-1 - items), *np.concatenate([items[:0], *cells])]:
        raise _unbounded_of(structure, counts, np.array([module]))


def _unbounded_of(
    structure: Structure, counts: ConditionalCounts, modules: IntArray
) -> NoMaximumError:
    who = some(_labels_of(structure, counts, modules))
    why = "the outcomes among them say nothing of it, and the concentration is below 1"
    return _unbounded(f"{who} together", why)


def _unbounded(who: str, why: str) -> NoMaximumError:
    return NoMaximumError(
        f"there is no mode: the density grows without bound as the probability of {who} goes to "
        f"0, since {why}. Use a concentration of at least 1, or the mode in log-odds, or draws."
    )


def _exact_shares(
    shapes: ModuleShapes, counts: ConditionalCounts, scale: str
) -> tuple[FloatArray, IntArray]:
    """Shares of the items outside of cores, and the owners of whose items nothing says the shares.

    Those are equal here.
    """
    structure, shape = shapes.structure, shapes.shape
    shared = structure.splits.shared
    shares, none = np.ones(len(shape)), np.empty(0, np.int64)
    if len(shared) == 0:
        return shares, none
    owner, own = shapes.owner[shared], shape[shared]
    total = np.bincount(owner, own, len(shapes.start) - 1)[owner]
    # A module is at 0 here if all outcomes inside were recorded given that they lay inside.
    empty = np.flatnonzero((own == 0) & (shapes.target[shared] < 0) & (total > 0))
    if len(empty):
        module = -1 - shapes.target[shared[empty[0]]]
        raise _lost_to_the_rest(counts, _numbers_of(structure, np.array([module])), scale)
    undecided = total == 0
    if not undecided.any():
        shares[shared] = own / total
        return shares, none
    number = np.diff(shapes.start)[owner]
    shares[shared] = np.where(undecided, 1.0, own) / np.where(undecided, number, total)
    return shares, np.unique(owner[undecided])


def _require_decided(
    owners: IntArray,
    shapes: ModuleShapes,
    counts: ConditionalCounts,
    scale: str,
    mode: FloatArray,
) -> None:
    """Refuse a maximum where nothing says how some items share what they have."""
    for owner in owners:
        items = shapes.target[shapes.owner == owner]
        groups = [_numbers_under(shapes.structure, int(item)) for item in items]
        if not mode[np.concatenate(groups)].any():  # they have nothing to share
            continue
        named = [[counts.categories[int(i)] for i in group] for group in groups]
        what, remedy = _SOUGHT[scale]
        if not counts.n_outcomes:
            raise NoMaximumError(
                f"there is no {what}: without data all probabilities are equally good. {remedy}",
                named,
            )
        raise NoMaximumError(
            f"there is no single {what}: {_listed(named)} were never compared with each other, so "
            f"nothing says how they share. {remedy}",
            named,
        )


def _lost_to_the_rest(counts: ConditionalCounts, below: IntArray, scale: str) -> NoMaximumError:
    rest = np.setdiff1d(np.arange(counts.n_categories), below)
    return _never_won([[counts.categories[int(i)] for i in g] for g in (rest, below)], scale)


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
        f"there is no {what} inside the simplex: {how}, so the smaller the probability of "
        f"those who lost, the better. {remedy}",
        groups,
    )


def _listed(groups: list[list[Label]]) -> str:
    return ", ".join(f"[{some(group, 4)}]" for group in groups[:4]) + (
        ", ..." if len(groups) > 4 else ""
    )


def _numbers_under(structure: Structure, target: int) -> IntArray:
    """Numbers of an item's categories: one, or all those of a module."""
    return np.array([target]) if target >= 0 else _numbers_of(structure, np.array([-1 - target]))


def _labels_of(structure: Structure, counts: ConditionalCounts, modules: IntArray) -> list[Label]:
    return [counts.categories[int(i)] for i in _numbers_of(structure, modules)]


def _numbers_of(structure: Structure, modules: IntArray) -> IntArray:
    tree = structure.tree
    inside = np.zeros(len(tree.parent), np.bool_)
    inside[modules] = True
    for module in range(1, len(inside)):  # owners come before what they own
        inside[module] |= inside[tree.parent[module]]
    return np.flatnonzero(inside[tree.holder])
