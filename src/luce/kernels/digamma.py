"""The derivative of log Γ, for compiled code."""

import math

from luce.kernels.jit import embedded

_ASYMPTOTIC = 8.0  # from here on the series below is exact to a few units of the last digit


@embedded
def digamma(x: float) -> float:
    """Compute ψ(x) for x >= 1: ψ(x) = ψ(x + 1) - 1 / x, until an asymptotic series is exact."""
    value = 0.0
    while x < _ASYMPTOTIC:
        value -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    # Bernoulli numbers B_2k over 2k, k = 1..7.
    series = 1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12))
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * series)))
    return value + math.log(x) - 0.5 / x - series
