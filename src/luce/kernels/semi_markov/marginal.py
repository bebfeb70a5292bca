"""Densities of observations and durations, the parameters of their state integrated out."""

from collections.abc import Callable
from typing import TypeAlias

from luce._types import FloatArray
from luce.kernels.jit import compile_by_type, compiled
from luce.kernels.semi_markov import (
    autoregressive,
    categories,
    counts,
    diagonal_gaussian,
    gaussian,
)
from luce.kernels.semi_markov.autoregressive import AutoregressivePrior
from luce.kernels.semi_markov.categories import CategoriesPrior
from luce.kernels.semi_markov.counts import CountsPrior
from luce.kernels.semi_markov.diagonal_gaussian import DiagonalGaussianPrior
from luce.kernels.semi_markov.durations import (
    HistogramPrior,
    NegativeBinomialPrior,
    PoissonPrior,
    histogram_marginal,
    negative_binomial_marginal,
    poisson_marginal,
)
from luce.kernels.semi_markov.gaussian import GaussianPrior

AnyPrior: TypeAlias = (
    GaussianPrior
    | DiagonalGaussianPrior
    | CountsPrior
    | CategoriesPrior
    | AutoregressivePrior
    | PoissonPrior
    | NegativeBinomialPrior
    | HistogramPrior
)


def log_marginal(prior: AnyPrior, row: FloatArray) -> float:
    """Compute the log density of what a row of statistics sums up; 0 for a row of zeros.

    Compiled code takes the function of the prior's type, and compiles no other.
    """
    return _MARGINALS.get(type(prior), _without_closed_form)(prior, row)


def _of_gaussian(prior: GaussianPrior, row: FloatArray) -> float:
    return gaussian.log_marginal(prior, row)


def _of_diagonal_gaussian(prior: DiagonalGaussianPrior, row: FloatArray) -> float:
    return diagonal_gaussian.log_marginal(prior, row)


def _of_counts(prior: CountsPrior, row: FloatArray) -> float:
    return counts.log_marginal(prior, row)


def _of_categories(prior: CategoriesPrior, row: FloatArray) -> float:
    return categories.log_marginal(prior, row)


def _of_autoregressive(prior: AutoregressivePrior, row: FloatArray) -> float:
    return autoregressive.log_marginal(prior, row)


def _of_poisson(prior: PoissonPrior, row: FloatArray) -> float:
    return poisson_marginal(prior, row)


def _of_negative_binomial(prior: NegativeBinomialPrior, row: FloatArray) -> float:
    return negative_binomial_marginal(prior, row)


def _of_histogram(prior: HistogramPrior, row: FloatArray) -> float:
    return histogram_marginal(prior, row)


def _without_closed_form(prior: object, row: FloatArray) -> float:
    raise TypeError("parameters of this prior cannot be integrated out")


_MARGINALS: dict[type, Callable[..., float]] = {
    GaussianPrior: _of_gaussian,
    DiagonalGaussianPrior: _of_diagonal_gaussian,
    CountsPrior: _of_counts,
    CategoriesPrior: _of_categories,
    AutoregressivePrior: _of_autoregressive,
    PoissonPrior: _of_poisson,
    NegativeBinomialPrior: _of_negative_binomial,
    HistogramPrior: _of_histogram,
}
compile_by_type(log_marginal, _MARGINALS, _without_closed_form)


@compiled
def log_marginals(prior: AnyPrior, rows: FloatArray, out: FloatArray) -> None:
    """Compute the log density of each row of statistics."""
    for g in range(len(rows)):
        out[g] = log_marginal(prior, rows[g])
