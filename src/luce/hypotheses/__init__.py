"""Hypotheses, Bayes factors, likelihood-ratio tests, and goodness of fit."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.hypotheses.bayes_factors import BayesFactor as BayesFactor
    from luce.hypotheses.bayes_factors import bayes_factor as bayes_factor
    from luce.hypotheses.fit_tests import FitTest as FitTest
    from luce.hypotheses.fit_tests import goodness_of_fit as goodness_of_fit
    from luce.hypotheses.hypothesis_tests import HypothesisTest as HypothesisTest
    from luce.hypotheses.hypothesis_tests import hypothesis as hypothesis
    from luce.hypotheses.independence import IndependenceTest as IndependenceTest
    from luce.hypotheses.independence import independence_test as independence_test

_HOMES = {
    "BayesFactor": "bayes_factors",
    "FitTest": "fit_tests",
    "HypothesisTest": "hypothesis_tests",
    "IndependenceTest": "independence",
    "bayes_factor": "bayes_factors",
    "goodness_of_fit": "fit_tests",
    "hypothesis": "hypothesis_tests",
    "independence_test": "independence",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
