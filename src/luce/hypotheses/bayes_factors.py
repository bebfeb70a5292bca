"""Bayes factors: ratios of evidences, or of densities at a point (Savage and Dickey)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.errors import DataError, EvidenceWarning, warn_user
from luce.estimates.estimate import Estimate, with_error
from luce.estimates.weights import basis, is_trusted, log_mean
from luce.posterior import Posterior


@dataclass(frozen=True, repr=False)
class BayesFactor(Estimate):
    """The factor by which one model makes the data more probable than another.

    An `Estimate`: `float(factor)` is the factor itself, `standard_error` its error to first order.

    Attributes
    ----------
    log
        Its logarithm with a standard error, finite where the factor overflows.
    """

    log: Estimate = field(kw_only=True)

    @classmethod
    def of_log(cls, log: Estimate) -> BayesFactor:
        """Make the Bayes factor with this logarithm."""
        with np.errstate(over="ignore"):
            value = float(np.exp(float(log)))
        error = value * log.standard_error if log.standard_error else 0.0
        return cls(value, error, log.method, log.details, log=log)

    def __repr__(self) -> str:
        logarithm = with_error(float(self.log), float(self.log.standard_error))
        value = with_error(float(self), float(self.standard_error))
        return f"{value} (log {logarithm}, {self.method})"


def bayes_factor(a: Posterior | Estimate, b: Posterior | Estimate, **options: Any) -> BayesFactor:
    """Compare two models of the same data: how many times more probable a makes it than b.

    Parameters
    ----------
    a, b
        Posteriors, or their log evidence.
    options
        Those of `Posterior.log_evidence`: draws, chains, seed and so on.

    Returns
    -------
    BayesFactor
        `details` holds both log evidences, as "a" and "b".

    Examples
    --------
    Was it a fair coin?  Five heads out of six under a prior that is nearly sure of that, and under
    one that is not.

    >>> import luce
    >>> counts = luce.ConditionalCounts("ht").observe({"h": 5, "t": 1})
    >>> luce.bayes_factor(luce.Posterior(counts, 1000.0), luce.Posterior(counts, 1.0))
    0.6578873478 (log -0.4187215662, exact)
    """
    _require_comparable(a, b)
    one, other = (
        model.log_evidence(**options) if isinstance(model, Posterior) else model for model in (a, b)
    )
    error = float(np.hypot(one.standard_error, other.standard_error))
    methods = " and ".join(dict.fromkeys((one.method, other.method)))
    log_factor = Estimate(float(one) - float(other), error, methods, {"a": one, "b": other})
    return BayesFactor.of_log(log_factor)


def _require_comparable(a: object, b: object) -> None:
    """Refuse anything but posteriors and evidences, and posteriors of data of different size."""
    for model in (a, b):
        if not isinstance(model, Posterior | Estimate):
            raise DataError(
                "a Bayes factor compares two posteriors, or what log_evidence() gave for them; "
                f"{type(model).__name__} was given."
            )
    if isinstance(a, Posterior) and isinstance(b, Posterior):
        ours, theirs = a.counts.n_outcomes, b.counts.n_outcomes
        if abs(ours - theirs) > 1e-9 * max(ours, theirs):
            raise DataError(
                f"the two posteriors are not of the same data: one has {ours:g} outcomes, the "
                f"other {theirs:g}. Evidences compare models of one and the same data. Whether "
                "groups of data share their probabilities is asked by luce.compare_groups."
            )


def savage_dickey(log_densities: FloatArray, log_prior: float) -> BayesFactor:
    """Estimate the Bayes factor of a point: posterior over prior density there.

    Parameters
    ----------
    log_densities
        Log densities at the point of the next sweep from each draw, shape (chain, draw); their
        average is the posterior density.
    log_prior
        The log prior density at the point.
    """
    density = log_mean(log_densities, "savage-dickey")
    found = replace(density, value=float(density) - log_prior)
    if not is_trusted(density, log_densities.size):
        found = replace(found, standard_error=float("nan"))
        warn_user(
            EvidenceWarning(
                f"the density at the point {basis(density)}, so the error of its Bayes "
                "factor is not known. Take more draws. A point far out in the posterior needs very "
                "many; then only conclude that the factor is small.",
                {"savage-dickey": found},
            )
        )
    return BayesFactor.of_log(found)
