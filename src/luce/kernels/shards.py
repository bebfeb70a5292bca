"""A sweep of waiting times in two halves: over a block of terms, and over the categories.

    block     R_i = Σ_{t ∋ i} u_t,  u_t ~ Gamma(m_t) / p(S_t);   k_i grouped outcomes that fell on i
    driver    Λ ~ Gamma(A),  p_i ∝ Gamma(c_i + Σ k_i) / (Λ + Σ R_i),  sums over all blocks

The bits of a block come from a word that the driver draws for each sweep, and the block's number:
whoever works on the block, and however often, draws the same.
"""

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.problem import Problem
from luce.kernels.random import gamma_of, gamma_spread, next_word, scaled_gamma
from luce.kernels.set_sums import LEAST, member_sums, set_sums


@compiled
def new_word(bits: WordArray) -> np.uint64:
    """Draw 64 bits."""
    return next_word(bits)


def block_bits(word: int, block: int) -> WordArray:
    """Bits of a block in a sweep: splitmix64 from the two numbers."""
    mask, state = (1 << 64) - 1, (word + block * 0xD1342543DE82EF95) & ((1 << 64) - 1)
    words = []
    for _ in range(4):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        words.append(z ^ (z >> 31))
    return np.array(words, np.uint64)


@compiled
def term_rates(
    bits: WordArray,
    problem: Problem,
    p: FloatArray,
    space: SplitSpace | None,
    rates: FloatArray,
    extra: FloatArray,
) -> float:
    """Write R and, where outcomes are grouped, k of a block; returns Σ_t u_t."""
    problem, own = borrowed(problem), on_stack(bits)
    waits, waited = problem.waits, 0.0
    times = np.empty(len(waits))
    set_sums(problem, p, times)
    for t in range(len(times)):
        if waits[t] > 0.0:
            times[t] = scaled_gamma(own, waits[t], problem.wait_spread[t], times[t], None)
            waited += times[t]
        else:
            times[t] = 0.0
    if space is not None:
        for i in range(len(p)):
            extra[i] = 0.0
        split_groups(own, problem, p, space, extra)
    member_sums(problem, times, False, rates)
    for k in range(4):
        bits[k] = own[k]
    return waited


@compiled
def draw_strengths(
    bits: WordArray,
    shape: FloatArray,
    extra: FloatArray,
    rates: FloatArray,
    total_shape: float,
    p: FloatArray,
) -> None:
    """The driver's half; `extra` may be empty."""
    own, n, total = on_stack(bits), len(p), 0.0
    scale = gamma_of(own, total_shape, gamma_spread(total_shape))
    for i in range(n):
        c = shape[i] + extra[i] if len(extra) > 0 else shape[i]
        p[i] = gamma_of(own, c, gamma_spread(c)) / (scale + rates[i])
        total += p[i]
    for i in range(n):
        p[i] = max(p[i] / total, LEAST)
    for k in range(4):
        bits[k] = own[k]
