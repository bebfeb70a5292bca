"""Bayes factors: how many times more probable one model makes the data than another."""

from __future__ import annotations

from typing import Any

import numpy as np

from luce.errors import DataError
from luce.model.exact import LogEvidence
from luce.posterior import Posterior


class BayesFactor(float):
    """How many times more probable one model makes the data than another.

    Attributes
    ----------
    log
        Its logarithm, which is finite where the number itself is not.
    standard_error
        Of the logarithm, from Monte Carlo.
    """

    log: float
    standard_error: float

    def __new__(cls, log: float, standard_error: float) -> BayesFactor:
        """Make one of its logarithm."""
        with np.errstate(over="ignore"):
            new = super().__new__(cls, float(np.exp(log)))
        new.log, new.standard_error = float(log), float(standard_error)
        return new

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    def __repr__(self) -> str:
        return f"BayesFactor({float(self):.6g}, log={self.log:.6g} ± {self.standard_error:.2g})"

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return self.log, self.standard_error


def bayes_factor(
    a: Posterior | LogEvidence, b: Posterior | LogEvidence, **options: Any
) -> BayesFactor:
    """Compare two models of the same data: how many times more probable a makes it than b.

    Parameters
    ----------
    a, b
        Posteriors, or their log evidence.
    options
        Those of `Posterior.log_evidence`: draws, chains, seed and so on.

    Examples
    --------
    Was it a fair coin?  Five heads out of six under a prior that is nearly sure of that, and under
    one that is not.

    >>> import luce
    >>> counts = luce.ConditionalCounts("ht").observe({"h": 5, "t": 1})
    >>> luce.bayes_factor(luce.Posterior(counts, 1000.0), luce.Posterior(counts, 1.0))
    BayesFactor(0.657887, log=-0.418722 ± 0)
    """
    if isinstance(a, Posterior) and isinstance(b, Posterior):
        ours, theirs = a.counts.n_outcomes, b.counts.n_outcomes
        if abs(ours - theirs) > 1e-9 * max(ours, theirs):
            raise DataError(
                f"the two posteriors are not of the same data: one has {ours:g} outcomes, the "
                f"other {theirs:g}. Evidences compare models of one and the same data."
            )
    found = []
    for model in (a, b):
        if not isinstance(model, Posterior | LogEvidence):
            raise DataError(
                "a Bayes factor compares two posteriors, or what log_evidence() gave for them; "
                f"{type(model).__name__} was given."
            )
        found.append(model.log_evidence(**options) if isinstance(model, Posterior) else model)
    one, other = found
    error = float(np.hypot(one.standard_error, other.standard_error))
    return BayesFactor(one.value - other.value, error)
