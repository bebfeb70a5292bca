"""Non-negative numbers whose range exceeds that of doubles, each in one double.

A *code* is the number itself where it is at least 1e-260, and its logarithm where it is smaller:
codes below 0 are logarithms, codes from 0 on are numbers, and 0 is 0.  Numbers as small as that are
rare in messages; codes spare the logarithm of all others.
"""

import math

import numpy as np

from luce.kernels.jit import embedded

# Smallest logarithm whose number is stored as it is; exp(-600) is 3e-261.
LEAST_LOG = -600.0


@embedded
def log_of(code: float) -> float:
    """Return the logarithm of the number that a code stands for."""
    if code < 0.0:
        return code
    return math.log(code) if code > 0.0 else -np.inf


@embedded
def number_of(code: float) -> float:
    """Return the number that a code stands for, 0 where it is below the range of doubles."""
    return math.exp(code) if code < 0.0 else code


@embedded
def code_of(log_number: float) -> float:
    """Return the code of a number at most 1 that is given by its logarithm."""
    if log_number > LEAST_LOG:
        return math.exp(log_number)
    return log_number if log_number > -np.inf else 0.0
