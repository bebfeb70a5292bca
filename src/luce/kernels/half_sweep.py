"""The two halves of a waiting-time sweep, shared by every kernel that draws waiting times.

    over the sets        u_t ~ Gamma(m_t) / p(S_t),   R_i = Σ_{t ∋ i} u_t,   k_i grouped outcomes
    over the categories  Λ ~ Gamma(A),                p_i ∝ Gamma(c_i + k_i) / (Λ + R_i)

The first half is `set_sums`, `draw_times` and `member_sums`, with `split_groups` where outcomes are
grouped; the second is `draw_probabilities`.  `kernels.waiting_times` derives the sweep.

No function here takes a whole `Problem`: passing one counts a reference to each of its arrays,
which takes a quarter of the time of a sweep over six categories.
"""

from typing import Literal

from luce._types import FloatArray, WordArray
from luce.kernels.jit import embedded
from luce.kernels.problem import Wide
from luce.kernels.random import scaled_gamma
from luce.kernels.set_sums import normalise, plus, zero


@embedded
def draw_times(
    bits: WordArray,
    waits: FloatArray,
    spread: FloatArray,
    times: FloatArray,
    summed: Literal[True] | None,
    wide: Wide,
) -> float:
    """Draw waiting times: replace p(S_t) in `times` by u_t ~ Gamma(m_t) / p(S_t).

    Sets with m_t = 0 have u_t = 0.

    Parameters
    ----------
    bits
        Generator.
    waits, spread
        m_t and its `gamma_spread`.
    times
        p(S_t), replaced by u_t; logarithms if `wide`.
    summed
        True to return Σ_t u_t; None to return 0 and compile no sum.
    wide
        As in a `Problem`.
    """
    waited = zero(wide)
    for t in range(len(times)):
        if waits[t] > 0.0:
            times[t] = scaled_gamma(bits, waits[t], spread[t], times[t], wide)
            if summed is not None:
                waited = plus(waited, times[t], wide)
        else:
            times[t] = zero(wide)
    return waited


@embedded
def draw_probabilities(
    bits: WordArray,
    shape: FloatArray,
    spread: FloatArray,
    total: float,
    rates: FloatArray,
    wide: Wide,
    p: FloatArray,
) -> None:
    """Draw p_i ∝ Gamma(c_i) / (Λ + R_i), the half of a sweep over the categories.

    Parameters
    ----------
    bits
        Generator.
    shape, spread
        c_i, grouped outcomes included, and its `gamma_spread`.
    total, rates
        Λ and R_i.
    wide
        As in a `Problem`.
    p
        Receives p, or log p if `wide`.
    """
    for i in range(len(p)):
        p[i] = scaled_gamma(bits, shape[i], spread[i], plus(total, rates[i], wide), wide)
    normalise(p, wide)
