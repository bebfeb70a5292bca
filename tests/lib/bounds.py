"""Seeds and thresholds of statistical tests, each said once.

A test with k comparisons rejects a right sampler with probability FALSE_ALARM at most, so each
comparison is allowed FALSE_ALARM / k.  LUCE_TEST_SEED sweeps the seeds of all tests.
"""

import os

from scipy.special import ndtri

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))

FALSE_ALARM = 1e-4


def z_limit(comparisons: int = 1) -> float:
    """Return the two-sided normal quantile that `comparisons` z-scores may reach together."""
    return float(-ndtri(FALSE_ALARM / comparisons / 2))
