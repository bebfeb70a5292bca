"""Exact and fast posterior draws of probabilities seen only through subsets."""

from luce import diagnostics
from luce.conditional_counts import ConditionalCounts
from luce.errors import ConvergenceWarning, DataError, LuceError, MethodError, NotExactError
from luce.posterior import Posterior
from luce.summaries import summary
from luce.version import __version__

__all__ = [
    "ConditionalCounts",
    "ConvergenceWarning",
    "DataError",
    "LuceError",
    "MethodError",
    "NotExactError",
    "Posterior",
    "__version__",
    "diagnostics",
    "summary",
]
