"""Exact and fast posterior draws of probabilities seen only through subsets."""

from luce.conditional_counts import ConditionalCounts
from luce.posterior import Posterior
from luce.version import __version__

__all__ = ["ConditionalCounts", "Posterior", "__version__"]
