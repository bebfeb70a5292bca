"""The Laplace fit: a normal approximation in log-odds around a maximum.

In θ = log λ the precision at the maximum is H (`kernels.curvature`).  A contrast w, w'1 = 0, has
the variance w'H^(-1)w; the scale of λ, which p does not determine, cancels.

    log p_i - log p_r         w = e_i - e_r
    log p_i - mean of log p   w = e_i - 1/n
    p_i, to first order       w = p_i (e_i - p)

Contests and rankings with ties have parameters too, and their precision is that of (log λ,
logarithms of the parameters).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories
from luce.errors import MethodError
from luce.estimates.estimate import by_category
from luce.estimates.event_density import EventDensity, EventMaximum
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

    def parameter_standard_errors(self, scale: str = "natural") -> dict[str, float]:
        """Return no standard errors: there are no parameters beside the probabilities."""
        _check_parameter_scale(scale)
        return {}

    def _variances(self, contrasts: FloatArray) -> FloatArray:
        """Compute W H^(-1) W' for the rows W of `contrasts`, over the active categories."""
        problem = raw_problem(self.counts, self.prior)._replace(wide=None)
        with np.errstate(divide="ignore"):
            theta = np.log(self.maximum * (problem.total_shape or 1.0))
        if len(theta) <= self.most_dense:
            return _by_factors(problem, theta, self._active, contrasts)
        return _by_products(problem, theta, self._active, contrasts)


@dataclass(frozen=True, eq=False)
class EventFit(LaplaceFit):
    """The normal approximation around a maximum of contests or rankings, with their parameters.

    Attributes
    ----------
    found
        The maximum, with its precision.
    held
        Names of the parameters that are known, and have no standard errors.
    """

    found: EventMaximum = field(kw_only=True)
    held: frozenset[str] = field(default=frozenset(), kw_only=True)

    @classmethod
    def of_maximum(cls, density: EventDensity, found: EventMaximum) -> EventFit:
        """Make the fit around a maximum."""
        held = frozenset(density.known)
        return cls(density.counts, density.prior, found.p, found=found, held=held)

    def parameter_standard_errors(self, scale: str = "natural") -> dict[str, float]:
        """Compute standard errors by name; nan for a parameter on its boundary."""
        _check_parameter_scale(scale)
        known, names = self.found.parameters, self.found.names
        wanted = np.zeros((len(names), len(self.found.precision)))
        for row, column in enumerate(range(len(self.maximum), wanted.shape[1])):
            wanted[row, column] = 1.0
        variances = np.diag(self._solved(wanted)) if names else np.empty(0)
        errors = dict(zip(names, np.sqrt(variances).tolist(), strict=True))
        if scale == "natural":
            errors = {name: error * known[name] for name, error in errors.items()}
        return {name: errors.get(name, np.nan) for name in known if name not in self.held}

    def _variances(self, contrasts: FloatArray) -> FloatArray:
        """Compute W H^(-1) W' for rows W over the active categories."""
        wide = np.zeros((len(contrasts), len(self.found.precision)))
        wide[:, np.flatnonzero(self._active)] = contrasts
        return self._solved(wide)

    def _solved(self, contrasts: FloatArray) -> FloatArray:
        """Compute W H^(-1) W' for rows W over all categories and parameters."""
        n = len(self.maximum)
        kept = np.r_[self._active, np.ones(len(self.found.names), np.bool_)]
        inside = self.found.precision[np.ix_(kept, kept)].copy()
        number = int(self._active.sum())
        # p does not determine the scale of λ, and contrasts do not depend on it.
        inside[:number, :number] += np.diag(inside)[:number].mean() / n
        return _solve_definite(inside, contrasts[:, kept])


def _check_parameter_scale(scale: str) -> None:
    """Refuse a scale of parameters other than "natural" and "log"."""
    if scale not in ("natural", "log"):
        raise MethodError(f"scale = {scale!r}; choose one of natural, log.")


def _scale_is_free(problem: Problem) -> bool:
    """Tell whether f does not depend on the scale of λ, so that H is singular along it.

    Any positive term in that direction makes H regular, and contrasts do not depend on the term.
    """
    return not problem.total_shape > 0


def _by_factors(
    problem: Problem, theta: FloatArray, active: BoolArray, contrasts: FloatArray
) -> FloatArray:
    """Solve by Cholesky factors of the dense precision."""
    f = LogPosterior(problem)
    inside = f.precision(f.at(theta))[np.ix_(active, active)]
    if _scale_is_free(problem):
        inside += np.diag(inside).mean() / len(theta)
    return _solve_definite(inside, contrasts)


def _solve_definite(inside: FloatArray, contrasts: FloatArray) -> FloatArray:
    """Compute W H^(-1) W' for the rows W of `contrasts`, or refuse a singular H."""
    from scipy.linalg import cho_solve, cholesky

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
