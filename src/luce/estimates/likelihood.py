"""Maximum likelihood: the estimate without a prior, for those who want it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.estimates.curvature import covariance_at
from luce.estimates.modes import Mode, check_scale, largest_at
from luce.sampling.progress import announce_compilation


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """The maximum-likelihood estimate, and what goes with it.

    Attributes
    ----------
    counts
        The data.
    probabilities
        Where the likelihood is largest; `at_zero` names those whose estimate is 0.
    """

    counts: ConditionalCounts
    probabilities: Mode

    @cached_property
    def log_likelihood(self) -> float:
        """Its logarithm there, without multinomial coefficients."""
        return float(self.counts.log_likelihood(self.probabilities))

    def covariance(
        self, scale: str = "simplex", reference: Label = "mean", among: Labels | None = None
    ) -> FloatArray:
        """Inverse of the observed information; the arguments are those of `Posterior.covariance`.

        Entries of categories estimated at 0 are nan.
        """
        check_scale(scale)
        none = np.zeros(self.counts.n_categories)
        return covariance_at(self.counts, none, self.probabilities, scale, reference, among)

    def standard_errors(
        self, scale: str = "simplex", reference: Label = "mean", among: Labels | None = None
    ) -> FloatArray:
        """Square roots of the diagonal of `covariance`."""
        return np.sqrt(np.diag(self.covariance(scale, reference, among)))


def maximum_likelihood(counts: ConditionalCounts) -> MaximumLikelihood:
    """Find the probabilities under which the data is most probable.

    Parameters
    ----------
    counts
        The data.

    Raises
    ------
    NoMaximumError
        Where the likelihood has no maximum, or more than one: some categories were never compared
        with the others, or never won against them.  `groups` says which.

    Examples
    --------
    Bo won 6 of 8 duels with Ann, Cy 3 of 4 with Bo.

    >>> import luce
    >>> counts = luce.ConditionalCounts(["Ann", "Bo", "Cy"])
    >>> counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
    >>> counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
    >>> found = luce.maximum_likelihood(counts)
    >>> found.probabilities
    Mode(likelihood: Ann: 0.07692, Bo: 0.2308, Cy: 0.6923)
    >>> found.standard_errors("log-odds", reference="Bo").round(3)
    array([0.816, 0.   , 1.155])
    """
    if not isinstance(counts, ConditionalCounts):
        raise DataError(f"counts must be ConditionalCounts; {type(counts).__name__} was given.")
    announce_compilation()
    best = largest_at(counts, np.zeros(counts.n_categories), "likelihood")
    return MaximumLikelihood(counts, best)
