"""Closed forms for posteriors whose sets nest: a tree of Dirichlet splits.

A category's probability is the product of its shares along the path from the root, and shares of
different owners are independent.  With s the shape of an item and S the total shape of its owner,

    E[share] = s / S,        Var[share] / E[share]^2 = (S - s) / (s (S + 1)).
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import NotExactError
from luce.model.shapes import ModuleShapes
from luce.model.structure import Structure


def require_exact(structure: Structure, what: str) -> None:
    """Raise unless the whole posterior is a Dirichlet tree."""
    if not structure.is_exact:
        weights = " and have no weights" if structure.has_weights else ""
        raise NotExactError(
            f"{what} has a closed form only where the sets nest{weights}, but here: {structure!r} "
            "Use sample() and average over the draws.",
            cores=len(structure.cores),
        )


def mean_and_variance(shapes: ModuleShapes) -> tuple[FloatArray, FloatArray]:
    """Compute the posterior mean and variance of every category."""
    from luce.kernels.dirichlet_tree import pass_down

    rest = _rest_of_owner(shapes)
    share = shapes.shape / (shapes.shape + rest)
    spread = rest / (shapes.shape * (shapes.shape + rest + 1))
    mean, relative = pass_down(shapes.start, shapes.target, share, spread)
    return mean, relative * mean**2


def log_evidence_around(
    shapes: ModuleShapes, concentration: FloatArray, remainder: int | None = None
) -> float:
    """Compute the closed-form part of the log evidence: all of it where there is no core.

    The part is the log of the splits' Beta functions over the prior's.  In a Dirichlet process each
    named category without base mass contributes a factor: the concentration of the remainder.
    """
    from scipy.special import gammaln

    def log_beta(shape: FloatArray, start: IntArray) -> float:
        if len(start) == 0:  # there is nothing outside of one core
            return 0.0
        totals = np.add.reduceat(shape, start)
        return float(gammaln(shape).sum() - gammaln(totals).sum())

    owners = shapes.start[:-1][np.diff(shapes.start) > 0]
    own = concentration[concentration > 0]
    value = log_beta(shapes.shape, owners) - log_beta(own, np.zeros(1, np.int64))
    if remainder is not None:
        value += (len(concentration) - len(own)) * float(np.log(concentration[remainder]))
    return value


def _rest_of_owner(shapes: ModuleShapes) -> FloatArray:
    """Compute S - s for each item: the total shape of its owner without the item.

    For the largest item of an owner the others are summed, since subtracting it could cancel.
    """
    owner = shapes.owner
    n_modules = len(shapes.start) - 1
    order = np.lexsort((shapes.shape, owner))
    largest = order[np.r_[owner[order][1:] != owner[order][:-1], True]]
    others = shapes.shape.copy()
    others[largest] = 0.0
    rest = np.bincount(owner, shapes.shape, n_modules)[owner] - shapes.shape
    rest[largest] = np.bincount(owner, others, n_modules)[owner[largest]]
    return rest
