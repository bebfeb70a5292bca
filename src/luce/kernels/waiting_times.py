"""The waiting-time Gibbs sampler (Caron and Doucet 2012), with its total redrawn.

With λ_i independent gammas and p = λ / Λ, Λ = Σ λ_i, one sweep is

    u'_t ~ Gamma(m_t) / λ(S_t),   λ_i ~ Gamma(c_i + k_i) / (1 + Σ_{t ∋ i} u'_t),   Λ ~ Gamma(A)

where k_i is the number of grouped outcomes that fell on i.  Given the data, Λ is independent of p.
Writing u_t = Λ u'_t and p_i = λ_i / Λ leaves Λ in one place only, so redrawing it costs one gamma:

    Λ ~ Gamma(A),   u_t ~ Gamma(m_t) / p(S_t),   p_i ∝ Gamma(c_i + k_i) / (Λ + Σ_{t ∋ i} u_t)

In wide problems with groups of categories whose distance data does not bound, each sweep begins
with shifts of these groups (`kernels.shifts`); where some items dominate their sets, it begins with
moves of these items (`kernels.single_items`).
"""

from typing import Any

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_probabilities, draw_rates, draw_times
from luce.kernels.jit import borrowed, compile_by_type, compiled, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.random import gamma_spread, scaled_gamma
from luce.kernels.set_sums import as_log, member_sums, one, set_sums
from luce.kernels.shifts import Shifts, shift_groups
from luce.kernels.single_items import SingleItems, move_items


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Shifts | SingleItems | None,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make waiting-time sweeps; arguments as in `luce.kernels.Advance`.

    `fit` holds the groups to shift in a wide problem, which is then a `Problem`, or the items to
    move one by one in one that is not wide, without grouped outcomes.  `stat` receives log Σ_t u_t,
    the total waiting time.  `tuning` and `adapt` are unused.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, n, total_shape = problem.wide, len(state), problem.total_shape
    total_spread = gamma_spread(total_shape)
    times, rates, grouped = np.empty(len(problem.waits)), np.empty(n), np.empty(n)
    shape = problem.shape.copy() if space is not None else problem.shape
    spread = problem.spread.copy() if space is not None else problem.spread
    for d in range(len(out)):
        if fit is None:
            waited = draw_rates(problem, own, state, times, rates)
        else:
            waited = _move_and_draw(fit, own, problem, space, state, times, rates)
        if space is not None:
            for i in range(n):
                grouped[i] = 0.0
            split_groups(own, problem, state, space, grouped)
            for i in range(n):
                shape[i] = problem.shape[i] + grouped[i]
                spread[i] = gamma_spread(shape[i])
        total = scaled_gamma(own, total_shape, total_spread, one(wide), wide)
        draw_probabilities(own, shape, spread, total, rates, wide, state)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = as_log(waited, wide)
    for k in range(4):
        bits[k] = own[k]


def _move_and_draw(
    fit: Shifts | SingleItems,
    bits: WordArray,
    problem: Any,
    space: SplitSpace | None,
    p: FloatArray,
    times: FloatArray,
    rates: FloatArray,
) -> float:
    """Move p as the fit demands, then draw waiting times; returns their sum."""
    chosen = _move_items_first if isinstance(fit, SingleItems) else _shift_first
    return chosen(fit, bits, problem, space, p, times, rates)


def _shift_first(
    fit: Any, bits: WordArray, problem: Any, space: Any, p: Any, times: Any, rates: Any
) -> float:
    shift_groups(bits, problem, fit, space, problem.wide, p)
    return draw_rates(problem, bits, p, times, rates)


def _move_items_first(
    fit: Any, bits: WordArray, problem: Any, space: Any, p: Any, times: Any, rates: Any
) -> float:
    """Draw from the sums over sets that the moves have kept up to date."""
    set_sums(problem, p, times)
    move_items(bits, fit, problem.shape, problem.total_shape, times, p)
    waited = draw_times(bits, problem.waits, problem.wait_spread, times, True, problem.wide)
    member_sums(problem, times, rates)
    return waited


compile_by_type(_move_and_draw, {SingleItems: _move_items_first}, _shift_first)
