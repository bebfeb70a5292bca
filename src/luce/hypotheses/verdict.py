"""What data and prior make of a hypothesis: the answer, and how it is put together."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from luce._types import FloatArray
from luce.errors import EvidenceWarning, warn_user
from luce.estimates.ordinates import rests_on
from luce.hypotheses.bayes_factors import BayesFactor
from luce.hypotheses.likelihood_ratio import LikelihoodRatio
from luce.sampling.convergence import ess_of_mean

# An average that rests on fewer draws than this is not to be trusted.
_FEWEST = 50.0


@dataclass(frozen=True)
class HypothesisTest:
    """What data and prior make of a hypothesis.

    Attributes
    ----------
    statement
        The hypothesis.
    probability, standard_error
        Its posterior probability, and the Monte Carlo error of that.
    prior_probability
        What it was before; of a point hypothesis, which has none, 1/2 by convention.
    bayes_factor
        Against its contrary; of a point hypothesis, against the model without it.
    likelihood_ratio
        The classical test, or None.
    why_none
        Why there is no classical test.
    """

    statement: str
    probability: float
    standard_error: float
    prior_probability: float
    bayes_factor: BayesFactor
    likelihood_ratio: LikelihoodRatio | None
    why_none: str = ""

    def __str__(self) -> str:
        ratio, factor = self.likelihood_ratio, self.bayes_factor
        lines = [
            self.statement,
            f"  probability       {self.probability:.4g} ± {self.standard_error:.1g}, "
            f"before the data {self.prior_probability:.4g}",
            f"  Bayes factor      {factor.value:.4g} "
            f"(log {factor.log:.2f} ± {factor.standard_error:.1g})",
        ]
        if ratio is None:
            lines.append(f"  likelihood ratio  none: {self.why_none}")
        else:
            freedom = ratio.degrees_of_freedom
            lines.append(
                f"  likelihood ratio  {ratio.statistic:.4g} on {freedom} "
                f"degree{'s' if freedom > 1 else ''} of freedom, p = {ratio.p_value:.3g}"
            )
        return "\n".join(lines)


def with_room(
    words: str,
    holds: FloatArray,
    fails: FloatArray,
    before: float,
    ratio: LikelihoodRatio | None,
    why_none: str,
) -> HypothesisTest:
    """A hypothesis with room: `holds` is its probability draw by draw, `fails` the contrary's."""
    after, against = float(holds.mean()), float(fails.mean())
    error = float(holds.std() / np.sqrt(ess_of_mean(holds)))
    odds = _log_odds(after, against) - _log_odds(before, 1 - before)
    factor = BayesFactor(odds, _error_of_odds(error, after, against))
    return HypothesisTest(words, after, error, before, factor, ratio, why_none)


def _log_odds(p: float, q: float) -> float:
    return inf if q <= 0 else -inf if p <= 0 else log(p) - log(q)


def _error_of_odds(error: float, after: float, against: float) -> float:
    """To first order; nan where all draws are on one side, since nothing is known of the other."""
    return error / (after * against) if after > 0 and against > 0 else float("nan")


def of_point(
    words: str, factor: BayesFactor, ratio: LikelihoodRatio | None, why_none: str
) -> HypothesisTest:
    """A point hypothesis, of which only the Bayes factor is known."""
    probability = 1 / (1 + exp(-factor.log)) if factor.log > -700 else 0.0
    error = factor.standard_error * probability * (1 - probability)
    return HypothesisTest(words, probability, error, 0.5, factor, ratio, why_none)


def savage_dickey(ordinates: FloatArray, before: float) -> BayesFactor:
    """Posterior over prior density; `ordinates` are the logs of what is averaged, (chain, draw)."""
    top = float(ordinates.max())
    weights = np.exp(ordinates - top)
    error = float(weights.std() / weights.mean() / np.sqrt(ess_of_mean(weights)))
    value, number = top + log(float(weights.mean())), rests_on(weights)
    if number < _FEWEST:
        warn_user(
            EvidenceWarning(
                f"the density at the point rests on {number:.0f} of the draws alone: it lies far "
                "out in the posterior. Take more draws, or only conclude that it is small.",
                {"savage-dickey": (value - before, error, number)},
            )
        )
    return BayesFactor(value - before, error)
