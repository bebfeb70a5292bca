"""Modes: the probabilities at which a posterior density or a likelihood is largest.

    on the simplex    Π_i p_i^(c_i - 1) · Π_S p(S)^(e_S)
    in log-odds       Π_i p_i^(c_i)     · Π_S p(S)^(e_S)        per unit of θ = log p

Both factor along the tree of modules.  A split without overlapping sets is largest at its powers
over their sum; in a core, Newton's method finds the maximum (`sampling.maximum`).  Grouped outcomes
may leave several maxima, so cores with grouped outcomes are climbed from several starts.
Contests with ties or a home advantage, and rankings with ties, have densities of their own
(`event_modes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import printable, some
from luce.errors import MethodError, NoMaximumError
from luce.estimates.estimate import by_category
from luce.estimates.no_maximum import REMEDIES, listed, unbounded
from luce.model.shapes import ModuleShapes, shapes_of
from luce.model.structure import Structure, structure_of
from luce.sampling.laplace import LIMITS, ClimbLimits
from luce.sampling.maximum import NoEnd, core_shares

if TYPE_CHECKING:
    from xarray import DataArray

SCALES = ("simplex", "log-odds")

# Categories that a printed mode shows.
_MOST_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """Probabilities at which a density is largest; `np.asarray(mode)` gives them as an array.

    Attributes
    ----------
    values
        The probabilities, shape (n_categories,), as a plain array.
    scale
        "simplex" or "log-odds": the density that was maximised; or "likelihood".
    categories
        The labels, in the order of `values`.
    maxima
        The number of local maxima found, of which this one is the largest.
    parameters
        The parameters beside the probabilities at the maximum, `home` and `tie` of contests, `tie2`
        and so on of rankings, known ones included; empty for models of probabilities alone.
    """

    values: FloatArray
    scale: str
    categories: Sequence[Label]
    maxima: int = 1
    parameters: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def probabilities(self) -> DataArray:
        """The probabilities with the categories as coordinates."""
        return by_category(self.values, self.categories, "probabilities")

    @cached_property
    def at_zero(self) -> tuple[Label, ...]:
        """Labels of the categories with probability 0, on the boundary of the simplex."""
        return tuple(self.categories[int(i)] for i in np.flatnonzero(self.values == 0))

    @cached_property
    def log_odds(self) -> DataArray:
        """Log p_i minus the mean of log p over the positive p; -inf where p_i is 0."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.values)
        return by_category(logs - logs[self.values > 0].mean(), self.categories, "log_odds")

    def sel(self, **labels: Any) -> DataArray:
        """Select probabilities by label, as in ``mode.sel(category="Boston")``."""
        return self.probabilities.sel(**labels)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype) if copy else np.asarray(self.values, dtype)

    def __repr__(self) -> str:
        pairs = zip(self.categories, self.values[:_MOST_SHOWN].tolist(), strict=False)
        numbers = ", ".join(f"{printable(label)}: {value:.4g}" for label, value in pairs)
        more = ", ..." if len(self.values) > _MOST_SHOWN else ""
        zero = f"; at 0: {some(self.at_zero, quote=False)}" if self.at_zero else ""
        maxima = f"; largest of {self.maxima} maxima found" if self.maxima > 1 else ""
        parameters = "".join(f"; {name} {x:.4g}" for name, x in self.parameters.items())
        return f"Mode({self.scale}: {numbers}{more}{parameters}{zero}{maxima})"


def check_scale(scale: str) -> None:
    """Refuse a scale other than "simplex" and "log-odds"."""
    if scale not in SCALES:
        raise MethodError(f"scale = {scale!r}; choose one of {', '.join(SCALES)}.")


def find_mode(
    counts: ConditionalCounts,
    concentration: FloatArray,
    scale: str,
    limits: ClimbLimits = LIMITS,
) -> Mode:
    """Find the most probable probabilities.

    On the simplex, a category with c_i = 1 is at 0, such as one never chosen under concentration 1.
    """
    check_scale(scale)
    prior = concentration - 1 if scale == "simplex" else concentration
    values, maxima = maximise(counts, prior, scale, limits)
    return Mode(values, scale, counts.categories, maxima)


def maximise(
    counts: ConditionalCounts, prior: FloatArray, scale: str, limits: ClimbLimits = LIMITS
) -> tuple[FloatArray, int]:
    """Maximise Π_i p_i^(prior_i + n_i) · Π_S p(S)^(e_S); return p, and the number of maxima."""
    from luce.kernels.dirichlet_tree import pass_down

    structure = structure_of(counts.sets)
    power = prior + counts.category_counts
    if power.min() < 0:
        who = some([counts.categories[i] for i in np.flatnonzero(power < 0)])
        raise unbounded(f"the probability of {who}", "concentration plus count is below 1")
    shapes = shapes_of(structure, counts, prior)
    if prior.min() < 0:
        _require_bounded(shapes, counts)
    outside, undecided = _exact_shares(shapes, counts, scale)
    parts, maxima = [outside], 1
    for number in range(len(structure.cores)):
        shares, found = _core_shares(shapes, number, counts, scale, limits)
        _require_winners(shapes, number, shares, power, counts, scale)
        parts.append(shares)
        maxima *= found
    descent = structure.descent
    shares = np.concatenate(parts)[descent.order]
    mode, _ = pass_down(descent.start, descent.target, shares, np.zeros(len(shares)))
    _require_decided(undecided, shapes, counts, scale, mode)
    return mode, maxima


def _core_shares(
    shapes: ModuleShapes, number: int, counts: ConditionalCounts, scale: str, limits: ClimbLimits
) -> tuple[FloatArray, int]:
    """Return the shares of a core's cells at its maximum, and the number of maxima found."""
    structure = shapes.structure
    core = structure.cores[number]
    shape = shapes.total[core.cells]
    if not shape.any() and not (core.sets.exponent > 0).any():
        # Only negative powers of sets are left: the density has no bound as a set goes to 0.
        raise _unbounded_of(structure, counts, core.cells[core.sets.set_members(0)])
    # The stored layout is used directly: only samplers need the spreads of `core_problem`.
    problem = core.laid_out._replace(shape=shape, total_shape=float(shapes.total[core.union]))
    try:
        return core_shares(problem, core, limits=limits)
    except NoEnd as none:
        groups = [_labels_of(structure, counts, core.cells[list(g)]) for g in none.groups]
        raise _never_won(groups, scale) from None


def _require_winners(
    shapes: ModuleShapes,
    number: int,
    shares: FloatArray,
    power: FloatArray,
    counts: ConditionalCounts,
    scale: str,
) -> None:
    """Refuse a cell at 0 whose members won among themselves, but never against others."""
    if shares.min() > 0:
        return
    structure = shapes.structure
    for cell in structure.cores[number].cells[shares == 0].tolist():
        below = _numbers_of(structure, np.array([cell]))
        if power[below].any():
            raise _lost_to_the_rest(counts, below, scale)


def _require_bounded(shapes: ModuleShapes, counts: ConditionalCounts) -> None:
    """Refuse negative powers of whole modules: the density has no bound as a module goes to 0."""
    structure = shapes.structure
    shared = structure.splits.shared
    # Powers of single categories were checked before, so these items are modules.
    items = shapes.target[shared[shapes.shape[shared] < 0]]
    cells = [core.cells[shapes.total[core.cells] < 0] for core in structure.cores]
    for module in [*(-1 - items), *np.concatenate([items[:0], *cells])]:
        raise _unbounded_of(structure, counts, np.array([module]))


def _unbounded_of(
    structure: Structure, counts: ConditionalCounts, modules: IntArray
) -> NoMaximumError:
    who = some(_labels_of(structure, counts, modules))
    why = "the outcomes among them say nothing of it, and the concentration is below 1"
    return unbounded(f"the probability of {who} together", why)


def _exact_shares(
    shapes: ModuleShapes, counts: ConditionalCounts, scale: str
) -> tuple[FloatArray, IntArray]:
    """Return the shares of items outside of cores, and the owners whose items are undecided.

    Items of an owner are undecided where the data says nothing of their shares; they are then
    returned as equal.
    """
    structure, shape = shapes.structure, shapes.shape
    shared = structure.splits.shared
    shares, none = np.ones(len(shape)), np.empty(0, np.int64)
    if len(shared) == 0:
        return shares, none
    owner, own = shapes.owner[shared], shape[shared]
    total = np.bincount(owner, own, len(shapes.start) - 1)[owner]
    # A module is at 0 if each outcome inside was recorded given that it lay inside.
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
    """Refuse a maximum at which items with positive probability have undecided shares."""
    for owner in owners:
        items = shapes.target[shapes.owner == owner]
        groups = [_numbers_under(shapes.structure, int(item)) for item in items]
        if not mode[np.concatenate(groups)].any():  # all of them are at 0
            continue
        named = [[counts.categories[int(i)] for i in group] for group in groups]
        what, remedy = REMEDIES[scale]
        if not counts.n_outcomes:
            raise NoMaximumError(
                f"there is no {what}: without data all probabilities are equally good. {remedy}",
                named,
            )
        raise NoMaximumError(
            f"there is no single {what}: {listed(named)} were never compared with each other, so "
            f"nothing says how they share. {remedy}",
            named,
        )


def _lost_to_the_rest(counts: ConditionalCounts, below: IntArray, scale: str) -> NoMaximumError:
    rest = np.setdiff1d(np.arange(counts.n_categories), below)
    return _never_won([[counts.categories[int(i)] for i in g] for g in (rest, below)], scale)


def _never_won(groups: list[list[Label]], scale: str) -> NoMaximumError:
    what, remedy = REMEDIES[scale]
    best, rest = groups[0], [label for group in groups[1:] for label in group]
    if len(groups) == 2 and len(best) > len(rest):
        how = f"{some(rest)} never won against any of the other {len(best):,}"
    elif len(groups) == 2:
        how = f"{some(best)} never lost against any of the other {len(rest):,}"
    else:
        how = (
            f"of the {len(groups)} groups {listed(groups)} none of a later one ever won against "
            "any of an earlier one"
        )
    return NoMaximumError(
        f"there is no {what} inside the simplex: {how}, so the smaller the probability of "
        f"those who lost, the better. {remedy}",
        groups,
    )


def _numbers_under(structure: Structure, target: int) -> IntArray:
    """Return the numbers of an item's categories: its own, or those of all below a module."""
    return np.array([target]) if target >= 0 else _numbers_of(structure, np.array([-1 - target]))


def _labels_of(structure: Structure, counts: ConditionalCounts, modules: IntArray) -> list[Label]:
    return [counts.categories[int(i)] for i in _numbers_of(structure, modules)]


def _numbers_of(structure: Structure, modules: IntArray) -> IntArray:
    """Return the numbers of the categories below any of these modules."""
    tree = structure.tree
    inside = np.zeros(len(tree.parent), np.bool_)
    inside[modules] = True
    for module in range(1, len(inside)):  # owners come before what they own
        inside[module] |= inside[tree.parent[module]]
    return np.flatnonzero(inside[tree.holder])
