"""The Laplace fit: a normal approximation in log-odds around a maximum.

In θ = log λ the precision at the maximum is H (`kernels.curvature`).  A contrast w, w'1 = 0, has
the variance w'H^(-1)w; the scale of λ, which p does not determine, cancels.

    log p_i - log p_r         w = e_i - e_r
    log p_i - mean of log p   w = e_i - 1/n
    p_i, to first order       w = p_i (e_i - p)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories
from luce.errors import MethodError
from luce.estimates.estimate import by_category
from luce.estimates.modes import check_scale
from luce.model.shapes import raw_problem
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.log_posterior import LogPosterior

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.kernels.problem import Problem

# A pivot below this fraction of its diagonal entry is rounding error of a singular matrix.
_SINGULAR = 1e-14


@dataclass(frozen=True, eq=False)
class LaplaceFit:
    """The normal approximation around a maximum of Π_i p_i^(prior_i + n_i) Π_S p(S)^(e_S).

    Attributes
    ----------
    counts
        The data: n_i and e_S.
    prior
        Powers of the single categories besides the data's, shape (n_categories,).
    maximum
        The probabilities at the maximum.  A category at 0 has no curvature in log p, so its
        variances are nan.
    most_columns
        The largest number of categories in one covariance matrix.
    most_dense
        Categories up to which the precision is a dense matrix; beyond, it is solved by conjugate
        gradients.
    """

    counts: ConditionalCounts
    prior: FloatArray
    maximum: FloatArray
    most_columns: int = 2000
    most_dense: int = MOST_DENSE

    def covariance(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the covariance of probabilities or of log-odds."""
        matrix, labels = self._matrix(scale, reference, among)
        return by_category(matrix, labels, "covariance")

    def standard_errors(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the square roots of the diagonal of `covariance`."""
        matrix, labels = self._matrix(scale, reference, among)
        return by_category(np.sqrt(np.diag(matrix)), labels, "standard_error")

    @cached_property
    def _active(self) -> BoolArray:
        return np.asarray(self.maximum > 0)

    def _matrix(
        self, scale: str, reference: Label | None, among: Labels | None
    ) -> tuple[FloatArray, list[Label]]:
        """Return the covariance matrix of some categories, and their labels."""
        check_scale(scale)
        categories = Categories(self.counts.categories)
        n = len(categories)
        numbers = np.arange(n) if among is None else categories.numbers(among, "among")
        if len(numbers) > self.most_columns:
            raise MethodError(
                f"the covariance of {len(numbers):,} categories is a table of their square; at "
                f"most {self.most_columns:,} can be asked for at once. Name those you want with "
                "among=[...]."
            )
        inside = self._active[numbers]
        if scale == "simplex":
            contrasts = self._of_probabilities(numbers[inside])
        else:
            contrasts = self._of_log_odds(numbers[inside], self._reference(categories, reference))
        out = np.full((len(numbers), len(numbers)), np.nan)
        out[np.ix_(inside, inside)] = self._variances(contrasts[:, self._active])
        return out, [categories[int(i)] for i in numbers]

    def _of_probabilities(self, wanted: IntArray) -> FloatArray:
        """Return rows p_i (e_i - p)."""
        p = self.maximum
        contrasts = -p[wanted, None] * p
        contrasts[np.arange(len(wanted)), wanted] += p[wanted]
        return np.asarray(contrasts)

    def _of_log_odds(self, wanted: IntArray, reference: IntArray) -> FloatArray:
        """Return rows e_i minus the mean of the reference's e_r."""
        contrasts = np.zeros((len(wanted), len(self.maximum)))
        contrasts[:, reference] = -1 / len(reference)
        contrasts[np.arange(len(wanted)), wanted] += 1.0
        return contrasts

    def _reference(self, categories: Categories, reference: Label | None) -> IntArray:
        """Return the numbers of the categories that log-odds are taken against."""
        if reference is None:
            return np.flatnonzero(self._active)
        number = categories.numbers([reference], "reference")
        if not self._active[number[0]]:
            raise MethodError(
                f"reference = {reference!r} has probability 0 at the maximum, so there are no odds "
                "against it. Choose another reference."
            )
        return number

    def _variances(self, contrasts: FloatArray) -> FloatArray:
        """Compute W H^(-1) W' for the rows W of `contrasts`, over the active categories."""
        problem = raw_problem(self.counts, self.prior)._replace(wide=None)
        with np.errstate(divide="ignore"):
            theta = np.log(self.maximum * (problem.total_shape or 1.0))
        if len(theta) <= self.most_dense:
            return _by_factors(problem, theta, self._active, contrasts)
        return _by_products(problem, theta, self._active, contrasts)


def _scale_is_free(problem: Problem) -> bool:
    """Tell whether f does not depend on the scale of λ, so that H is singular along it.

    Any positive term in that direction makes H regular, and contrasts do not depend on the term.
    """
    return not problem.total_shape > 0


def _by_factors(
    problem: Problem, theta: FloatArray, active: BoolArray, contrasts: FloatArray
) -> FloatArray:
    """Solve by Cholesky factors of the dense precision."""
    from scipy.linalg import cho_solve, cholesky

    f = LogPosterior(problem)
    inside = f.precision(f.at(theta))[np.ix_(active, active)]
    if _scale_is_free(problem):
        inside += np.diag(inside).mean() / len(theta)
    try:
        factor = cholesky(inside, lower=True)
    except np.linalg.LinAlgError:
        factor = np.zeros_like(inside)
    if not (np.diag(factor) ** 2 > _SINGULAR * np.diag(inside)).all():
        raise MethodError(
            "the maximum is flat in some direction, so there is no Laplace fit: some "
            "categories are told apart by nothing. Use a concentration above 1, or draws."
        )
    return np.asarray(contrasts @ cho_solve((factor, True), contrasts.T))


def _by_products(
    problem: Problem, theta: FloatArray, active: BoolArray, contrasts: FloatArray
) -> FloatArray:
    """Solve by conjugate gradients, with products of the precision and a vector alone."""
    from scipy.sparse.linalg import LinearOperator, cg

    from luce.kernels.curvature import times_precision
    from luce.kernels.layouts import loops_take

    n, arrays = len(theta), loops_take(problem)
    hold = problem.shape.mean() / n if _scale_is_free(problem) else 0.0

    def times(v: FloatArray) -> FloatArray:
        whole, out = np.zeros(n), np.empty(n)
        whole[active] = v
        times_precision(arrays, theta, whole, out)
        return np.asarray(out[active] + hold * v.sum())

    size = (int(active.sum()),) * 2
    # At the mode the diagonal of H is about c, the information given the waiting times.
    rough = LinearOperator(size, lambda v: v / np.maximum(problem.shape[active], 1e-6))
    solved = np.empty_like(contrasts)
    for row, contrast in enumerate(contrasts):
        solved[row], left = cg(
            LinearOperator(size, times), contrast, rtol=1e-10, maxiter=10 * n, M=rough
        )
        if left:
            raise MethodError(
                "the Laplace fit was not solved to 10 digits: the data hang together by too little."
            )
    return np.asarray(contrasts @ solved.T)
