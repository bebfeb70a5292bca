"""The two halves of a waiting-time sweep as separate calls, for blocks of terms on workers.

    block     R_i = Σ_{t ∋ i} u_t,  u_t ~ Gamma(m_t) / p(S_t);   k_i grouped outcomes that fell on i
    driver    Λ ~ Gamma(A),  p_i ∝ Gamma(c_i + Σ k_i) / (Λ + Σ R_i),  sums over all blocks

The generator of a block is seeded by a word that the driver draws for each sweep and by the block's
number: any worker draws the same for a block, in the first attempt and in a repeated one.
"""

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_probabilities, draw_rates
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.random import gamma, gamma_spread, next_word


@compiled
def new_word(bits: WordArray) -> np.uint64:
    """Draw 64 random bits."""
    return next_word(bits)


def block_bits(word: int, block: int) -> WordArray:
    """Seed a block's generator for one sweep: splitmix64 from the sweep's word and the number."""
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
    problem: AnyProblem,
    p: FloatArray,
    space: SplitSpace | None,
    rates: FloatArray,
    grouped: FloatArray,
) -> float:
    """Run the block's half: write R and, with `space`, k; returns Σ_t u_t."""
    problem, own = borrowed(problem), on_stack(bits)
    times = np.empty(len(problem.waits))
    waited = draw_rates(problem, own, p, times, rates)
    if space is not None:
        for i in range(len(p)):
            grouped[i] = 0.0
        split_groups(own, problem, p, space, grouped)
    for k in range(4):
        bits[k] = own[k]
    return waited


@compiled
def draw_strengths(
    bits: WordArray,
    shape: FloatArray,
    grouped: FloatArray,
    rates: FloatArray,
    total_shape: float,
    p: FloatArray,
) -> None:
    """Run the driver's half: write p; `grouped` is empty where no outcome is grouped."""
    own, n = on_stack(bits), len(p)
    total = gamma(own, total_shape)
    space = np.empty((2, n))
    full, spread = space[0], space[1]
    for i in range(n):
        full[i] = shape[i] + grouped[i] if len(grouped) > 0 else shape[i]
        spread[i] = gamma_spread(full[i])
    draw_probabilities(own, full, spread, total, rates, None, p)
    for k in range(4):
        bits[k] = own[k]
