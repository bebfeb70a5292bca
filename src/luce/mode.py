"""The most probable probabilities: the mode of the posterior's density on the simplex.

    Π_i p_i^(c_i - 1) · Π_S p(S)^(e_S)   is, in θ = log p,   Π_i e^(θ_i (c_i - 1)) · Π_S p(S)^(e_S)

which has the form of the posterior's density in θ with c_i - 1 for c_i.  So it factors along the
module tree as that does: an exact split is largest at its shapes over their sum, and in a core
Newton's method finds the one maximum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce import laplace
from luce._types import FloatArray
from luce.conditional_counts import ConditionalCounts
from luce.errors import MethodError
from luce.labels import some
from luce.module_shapes import shapes_of
from luce.structure import Structure

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# A category this much less probable than the most probable one of its core is on its way to 0.
_VANISHED = 1e-13


def simplex_mode(
    structure: Structure, counts: ConditionalCounts, concentration: FloatArray
) -> FloatArray:
    """Most probable probabilities, shape (n_categories,).

    A category with c_i = 1 exactly, such as one never chosen under concentration 1, is at 0.
    """
    from luce.kernels.dirichlet_tree import pass_down

    power = concentration - 1 + counts.category_counts
    if (power < 0).any():
        unbounded = [counts.categories[i] for i in np.flatnonzero(power < 0)]
        raise MethodError(
            f"there is no mode: the density grows without bound as the probability of "
            f"{some(unbounded)} goes to 0, since concentration plus count is below 1. Use a "
            "concentration of at least 1, or the mean of draws."
        )
    if not (power > 0).any():
        raise MethodError("there is no mode: without data and with concentration 1 all are equal.")
    if any((core.sets.exponent > 0).any() for core in structure.cores):
        raise MethodError(
            "the mode of a core with grouped outcomes is not implemented: the density may have "
            "several. Use draws."
        )
    shapes = shapes_of(structure, counts, concentration - 1)
    owner, tree = shapes.owner, structure.tree
    total = np.bincount(owner, shapes.shape, len(shapes.start) - 1)[owner]
    alone = np.diff(shapes.start)[owner] == 1
    if ((total == 0) & ~alone).any():
        raise MethodError(
            "there is no single mode: some groups of categories were never compared, and with "
            "concentration 1 nothing says how they share. Use a concentration above 1."
        )
    share = np.where(alone, 1.0, shapes.shape / np.where(total > 0, total, 1.0))
    owners, targets, parts = [owner], [shapes.target], [share]
    for q, core in enumerate(structure.cores):
        owners.append(np.full(core.n_atoms, core.union))
        targets.append(-1 - tree.cells[tree.cell_start[q] : tree.cell_start[q + 1]])
        if not shapes.total[core.cells].any():
            parts.append(np.zeros(core.n_atoms))
            continue
        parts.append(_core_mode(shapes.core_problem(q)))
    everyone = np.concatenate(owners)
    order = np.argsort(everyone, kind="stable")
    start = np.searchsorted(everyone[order], np.arange(len(shapes.start)))
    shares = np.concatenate(parts)[order]
    mode, _ = pass_down(start, np.concatenate(targets)[order], shares, np.zeros_like(shares))
    return mode


def _core_mode(problem: Problem) -> FloatArray:
    """Shares of a core's atoms where its density is largest."""
    try:
        theta = laplace.log_mode(problem)
        p = np.exp(theta - theta.max())
        vanished = bool((p[problem.shape > 0] < _VANISHED).any())
    except np.linalg.LinAlgError:  # flat in some direction, as far as doubles can tell
        vanished = True
    if vanished:
        raise MethodError(
            "there is no mode inside the simplex: some categories never won against others, "
            "and their probability goes to 0. Use a concentration above 1."
        )
    return np.asarray(p / p.sum())
