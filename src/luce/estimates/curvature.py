"""The Laplace fit around a maximum: how uncertain probabilities are, to second order.

In θ = log λ the precision at the maximum is H (`kernels.curvature`).  Any contrast w, w'1 = 0, has
the variance w'H^(-1)w: the scale of λ, which p does not have, drops out.

    log p_i - log p_r         w = e_i - e_r
    log p_i - mean of log p   w = e_i - 1/n
    p_i, to first order       w = p_i (e_i - p)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories
from luce.errors import MethodError
from luce.estimates.modes import Mode
from luce.model.shapes import raw_problem
from luce.sampling.laplace import MOST_DENSE

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Columns of the inverse that are worth solving for one by one.
_MOST_COLUMNS = 2000


def covariance_at(
    counts: ConditionalCounts,
    prior: FloatArray,
    maximum: Mode,
    scale: str,
    reference: Label,
    among: Labels | None,
) -> FloatArray:
    """Covariance of some categories, shape (k, k), around a maximum of Π p^(prior + n) Π p(S)^e.

    A category at 0 has no curvature in log p: its entries are nan.
    """
    categories, p = Categories(counts.categories), np.asarray(maximum)
    n = len(p)
    numbers = np.arange(n) if among is None else categories.numbers(among, "among")
    if len(numbers) > _MOST_COLUMNS:
        raise MethodError(
            f"the covariance of {len(numbers):,} categories is a table of their square; at most "
            f"{_MOST_COLUMNS:,} can be asked for at once. Name those you want with among=[...]."
        )
    active = p > 0
    wanted = numbers[active[numbers]]
    contrasts = np.zeros((len(wanted), n))
    if scale == "simplex":
        contrasts -= p[wanted, None] * p
        contrasts[np.arange(len(wanted)), wanted] += p[wanted]
    else:
        contrasts[:, _reference(categories, reference, active)] -= 1.0
        if isinstance(reference, str) and reference == "mean" and "mean" not in categories.index:
            contrasts /= active.sum()
        contrasts[np.arange(len(wanted)), wanted] += 1.0
    problem = raw_problem(counts, prior)._replace(wide=None)
    found = _variances(problem, p, active, contrasts[:, active])
    out = np.full((len(numbers), len(numbers)), np.nan)
    out[np.ix_(active[numbers], active[numbers])] = found
    return out


def _reference(categories: Categories, reference: Label, active: BoolArray) -> IntArray:
    """Numbers of the categories that the reference is made of."""
    if isinstance(reference, str) and reference == "mean" and "mean" not in categories.index:
        return np.flatnonzero(active)
    number = categories.numbers([reference], "reference")
    if not active[number[0]]:
        raise MethodError(
            f"reference = {reference!r} has probability 0 at the maximum, so there are no odds "
            "against it. Choose another reference."
        )
    return number


def _variances(
    problem: Problem, p: FloatArray, active: BoolArray, contrasts: FloatArray
) -> FloatArray:
    """W H^(-1) W' for the rows W of `contrasts`, over the active categories."""
    from luce.kernels.curvature import precision, times_precision

    n, scale = len(p), problem.total_shape or 1.0
    with np.errstate(divide="ignore"):
        theta = np.log(p * scale)
    # Where f does not change with the scale of λ, that direction is held; no contrast sees it.
    held = not problem.total_shape > 0
    if n <= MOST_DENSE:
        from scipy.linalg import cho_solve, cholesky

        matrix = np.empty((n, n))
        precision(problem, theta, matrix)
        inside = matrix[np.ix_(active, active)]
        if held:
            inside += np.diag(inside).mean() / n
        try:
            factor = cholesky(inside, lower=True)
        except np.linalg.LinAlgError:
            factor = np.zeros_like(inside)
        if not (np.diag(factor) ** 2 > 1e-14 * np.diag(inside)).all():  # less is rounding
            raise MethodError(
                "the maximum is flat in some direction, so there is no Laplace fit: some "
                "categories are told apart by nothing. Use a concentration above 1, or draws."
            )
        return np.asarray(contrasts @ cho_solve((factor, True), contrasts.T))
    from scipy.sparse.linalg import LinearOperator, cg

    hold = problem.shape.mean() / n if held else 0.0

    def times(v: FloatArray) -> FloatArray:
        whole, out = np.zeros(n), np.empty(n)
        whole[active] = v
        times_precision(problem, theta, whole, out)
        return np.asarray(out[active] + hold * v.sum())

    size = (int(active.sum()),) * 2
    # At the mode the diagonal is about c, the information if waiting times were known.
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
