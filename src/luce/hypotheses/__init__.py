"""Hypotheses, Bayes factors and likelihood-ratio tests."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.hypotheses.bayes_factors import bayes_factor as bayes_factor
    from luce.hypotheses.questions import hypothesis as hypothesis

_HOMES = {
    "bayes_factor": "bayes_factors",
    "hypothesis": "questions",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
