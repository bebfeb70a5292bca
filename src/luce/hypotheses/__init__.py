"""Hypotheses, Bayes factors and likelihood-ratio tests."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.hypotheses.bayes_factors import BayesFactor as BayesFactor
    from luce.hypotheses.bayes_factors import bayes_factor as bayes_factor
    from luce.hypotheses.hypothesis_tests import HypothesisTest as HypothesisTest
    from luce.hypotheses.hypothesis_tests import hypothesis as hypothesis

_HOMES = {
    "BayesFactor": "bayes_factors",
    "HypothesisTest": "hypothesis_tests",
    "bayes_factor": "bayes_factors",
    "hypothesis": "hypothesis_tests",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
