"""Closed forms for posteriors whose sets nest: a tree of Dirichlet splits.

A category's probability is the product of its shares on the way down from the root, and shares
of different owners are independent.  With s the shape of an item and S the total of its owner,

    E[share] = s / S,        Var[share] / E[share]^2 = (S - s) / (s (S + 1)).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import NotExactError
from luce.model.shapes import ModuleShapes
from luce.model.structure import Structure


class LogEvidence(float):
    """The logarithm of the evidence: a number that knows where it comes from.

    Attributes
    ----------
    standard_error
        Of Monte Carlo; 0 for a closed form.
    method
        "exact", "bridge" or "chib".
    estimates
        By method, each estimate with its standard error and the draws it rests on; empty for a
        closed form.
    """

    standard_error: float
    method: str
    estimates: Mapping[str, tuple[float, float, float]]

    def __new__(
        cls,
        value: float,
        standard_error: float,
        method: str = "exact",
        estimates: Mapping[str, tuple[float, float, float]] | None = None,
    ) -> LogEvidence:
        """Make one."""
        new = super().__new__(cls, value)
        new.standard_error, new.method = standard_error, method
        new.estimates = dict(estimates or {})
        return new

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    def __repr__(self) -> str:
        return (
            f"LogEvidence({float(self)!r}, standard_error={self.standard_error!r}, "
            f"method={self.method!r})"
        )

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return float(self), self.standard_error, self.method, self.estimates


def require_exact(structure: Structure, what: str) -> None:
    """Raise unless the whole posterior is a Dirichlet tree."""
    if not structure.is_exact:
        raise NotExactError(
            f"{what} has a closed form only where the sets nest, but here: {structure!r} "
            "Use sample() and average over the draws.",
            cores=len(structure.cores),
        )


def mean_and_variance(shapes: ModuleShapes) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and variance of every category."""
    from luce.kernels.dirichlet_tree import pass_down

    rest = _rest_of_owner(shapes)
    share = shapes.shape / (shapes.shape + rest)
    spread = rest / (shapes.shape * (shapes.shape + rest + 1))
    mean, relative = pass_down(shapes.start, shapes.target, share, spread)
    return mean, relative * mean**2


def log_evidence_around(
    shapes: ModuleShapes, concentration: FloatArray, remainder: int | None = None
) -> float:
    """The part of the log evidence that is in closed form: all of it where there are no cores.

    The product of the splits' Beta functions over that of the prior.  In a Dirichlet process each
    named atom that the base gives no mass brings a factor: the concentration of the remainder.
    """
    from scipy.special import gammaln

    def log_beta(shape: FloatArray, start: IntArray) -> float:
        if len(start) == 0:  # one core is all there is
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
    """Per item, S - s: the total of its owner without the item itself.

    The largest item is left out by adding up the others, since subtracting it could cancel.
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
