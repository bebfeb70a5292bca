"""Shapes of the Dirichlet splits and of the cores' cells, from data and prior.

With module A, a_A the sum of its concentrations and k_A the sum of its counts plus the exponents
of the sets inside it, the mass of A behaves as that of one category with shape a_A + k_A.
a_A and k_A are summed apart and added last: (1e-3 + 1e15) - 1e15 would lose the prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.counts import ConditionalCounts
from luce.counts.family import fields
from luce.errors import DataError
from luce.model.structure import Structure

if TYPE_CHECKING:
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.problem import Problem

# Shape below which gamma variates may underflow (see kernels.problem).
_TINY = 0.05

# Relative rounding error of a sum of fractions, of up to a million terms.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class ModuleShapes:
    """Dirichlet splits and core problems of a posterior.

    Parameters
    ----------
    start, target, shape
        Owner o shares its mass among items ``start[o]:start[o + 1]`` in proportions
        Dirichlet(`shape`); an item is category ``target[i]``, or module ``-1 - target[i]``.
    total
        Per module: its shape as one category, a_A + k_A.
    prior
        Per module: a_A alone.
    memo
        Fits that samplers made of the cores, kept as long as the shapes are.
    """

    structure: Structure
    start: IntArray
    target: IntArray
    shape: FloatArray
    total: FloatArray
    prior: FloatArray
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def owner(self) -> IntArray:
        """The module that each item takes its mass from."""
        return self.structure.splits.owner

    def split_plan(self) -> SplitPlan:
        """Lay the splits out for the drawing kernel: steps in the order of their modules."""
        from luce.kernels.dirichlet_tree import CORE, SPLIT, SPLIT_TINY, SplitPlan
        from luce.kernels.problem import gamma_spreads

        tree = self.structure.tree
        number = np.diff(self.start)
        tiny = np.zeros(len(number), np.bool_)
        tiny[self.owner[self.shape < _TINY]] = True
        # A module with one item is replaced by that item, except a root over a single category.
        alone = number == 1
        alone[0] &= self.target[0] < 0
        item = self.target[np.minimum(self.start[:-1], len(self.target) - 1)]

        def settle(target: IntArray) -> IntArray:
            while (through := (target < 0) & alone[-1 - np.minimum(target, -1)]).any():
                target = np.where(through, item[-1 - np.minimum(target, -1)], target)
            return target

        kept = ~alone[self.owner]
        union = np.repeat(tree.union, np.diff(tree.cell_start))
        owner = np.r_[self.owner[kept], union]
        order = np.argsort(owner, kind="stable")
        target = np.r_[self.target[kept], -1 - tree.cells][order]
        shape = np.r_[self.shape[kept], self.total[tree.cells]][order]
        module, first = np.unique(owner[order], return_index=True)
        kind = np.where(tiny[module], SPLIT_TINY, SPLIT)
        kind[np.isin(module, tree.union)] = CORE
        start = np.r_[first, len(target)]
        return SplitPlan(
            module, kind, start, settle(target), shape, gamma_spreads(shape), len(number)
        )

    def core_masses(self, probabilities: FloatArray, q: int) -> FloatArray:
        """Add up category probabilities over the cells of core q."""
        from luce.kernels.dirichlet_tree import add_up

        tree = self.structure.tree
        mass = _sum_by(tree.holder, probabilities, len(tree.parent))
        add_up(tree.parent, mass)
        return np.asarray(mass[self.structure.cores[q].cells])

    def core_problem(self, q: int) -> Problem:
        """Build the kernels' problem of core q."""
        from luce.kernels.problem import with_shapes

        core = self.structure.cores[q]
        return with_shapes(core.laid_out, self.total[core.cells], float(self.total[core.union]))


def shapes_of(
    structure: Structure, counts: ConditionalCounts, concentration: FloatArray
) -> ModuleShapes:
    """Sum counts and prior over the modules, and compute the shapes of all splits."""
    require_no_events(counts)
    from luce.kernels.dirichlet_tree import add_up

    tree = structure.tree
    n_modules = len(tree.parent)
    prior = _sum_by(tree.holder, concentration, n_modules)
    net = _sum_by(tree.holder, counts.category_counts, n_modules)
    alone = tree.set >= 0
    net[alone] += counts.sets.exponent[tree.set[alone]]
    for core in structure.cores:
        net[core.union] += core.sets.exponent.sum()
    add_up(tree.parent, prior)
    add_up(tree.parent, net)
    # At least as many outcomes lie inside a module as were conditioned on sets inside it.  Whole
    # counts satisfy this exactly; the difference of fractions may be rounding error.
    net = net.clip(min=0)
    if not counts.is_whole:
        size = _sum_by(tree.holder, counts.category_counts, n_modules)
        size[alone] += np.abs(counts.sets.exponent[tree.set[alone]])
        for core in structure.cores:
            size[core.union] += np.abs(core.sets.exponent).sum()
        add_up(tree.parent, size)
        net[net <= _ROUNDING * size] = 0.0
    total = prior + net

    splits = structure.splits
    single = concentration + counts.category_counts
    shape = np.concatenate([single, total[splits.modules]])[splits.order]
    return ModuleShapes(structure, splits.start, splits.target, shape, total, prior)


def require_no_events(counts: ConditionalCounts, what: str = "this") -> None:
    """Refuse data with a model of its own, whose posterior is more than powers of sums."""
    if counts.events is not None:
        raise DataError(
            f"{what} is not offered for data with {counts.events.model}: its likelihood is more "
            "than powers of probabilities of sets. Use Posterior.sample, mode or log_evidence, and "
            "the draws."
        )


def raw_problem(counts: ConditionalCounts, prior: FloatArray) -> Problem:
    """Build the kernels' problem over all categories, without reduction to cores."""
    require_no_events(counts)
    from luce.kernels.problem import make_problem

    net = counts.category_counts.sum() + counts.sets.exponent.sum()
    total_shape = float(prior.sum() + max(net, 0.0))
    return make_problem(*fields(counts.sets)[1:], prior + counts.category_counts, total_shape)


def _sum_by(holder: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.bincount(holder, values, n).astype(np.float64, copy=False)
