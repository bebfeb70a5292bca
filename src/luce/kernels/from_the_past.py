"""Independent draws by monotone coupling from the past (Propp and Wilson 1996).

The sweep is that of waiting times with the total left as it is.  With gammas common to all chains,

    E_t ~ Gamma(m_t),   G_i ~ Gamma(c_i),      λ'_i = G_i / (1 + Σ_{t ∋ i} E_t / λ(S_t)),

it is increasing: larger λ give larger λ'.  Two chains start in the distant past, one above all
states and one at `low`, and make the same sweeps up to the present.  Where they end at the same
point, so does every chain between them, that of the posterior among them.  Where they do not, both
start further back, and the sweeps that were made before are made again, with the same gammas.

Only the chance that the posterior's chain was below `low` is left; `sampling.from_the_past` makes
it as small as wanted, and docs/model.md has the proofs.
"""

from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.random import gamma_of, next_word
from luce.kernels.set_sums import member_sums, normalise, set_sums

# Relative distance of the two chains below which they are treated as one: rounding leaves more than
# a double's last digit of two chains that approach each other over thousands of sweeps.
MERGED = 1e-12

# Stretches of sweeps, each as long as all later ones together, that a draw can need.
_MOST_STRETCHES = 60


class Past(NamedTuple):
    """Starting points in the past; the `fit` of the kernel.

    Attributes
    ----------
    low
        λ of the lower chain: the posterior's is almost never below, in any of its coordinates.
    sweeps
        Sweeps of the first stretch; twice as many are made where they do not suffice, and so on.
    """

    low: FloatArray
    sweeps: int


class _Scratch(NamedTuple):
    """Gammas of one sweep, and sums over sets and members."""

    waits: FloatArray
    gammas: FloatArray
    times: FloatArray
    rates: FloatArray


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Past,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw independently for each row of `out`; arguments as in `luce.kernels.Advance`.

    The problem is not wide and has no grouped outcomes; `fit` is a `Past`.  `stat` receives the
    sweeps from the starting point to the present.  `tuning`, `adapt` and `space` are unused.
    """
    problem, own, low = borrowed(problem), on_stack(bits), borrowed(fit).low
    n, n_sets = len(state), len(problem.waits)
    scratch = _Scratch(np.empty(n_sets), np.empty(n), np.empty(n_sets), np.empty(n))
    seeds = np.empty((_MOST_STRETCHES, 4), np.uint64)  # the latest stretch first
    upper, lower = np.empty(n), np.empty(n)
    for d in range(len(out)):
        stretches, sweeps = 0, fit.sweeps
        while True:
            for k in range(4):
                seeds[stretches, k] = next_word(own)
            stretches += 1
            _come_from(problem, seeds[:stretches], fit.sweeps, low, upper, lower, scratch)
            if _have_merged(upper, lower):
                break
            sweeps *= 2
        for i in range(n):
            state[i] = upper[i]
        normalise(state, None)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = sweeps
    for k in range(4):
        bits[k] = own[k]


@internal
def _come_from(
    problem: AnyProblem,
    seeds: WordArray,
    shortest: int,
    low: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
    scratch: _Scratch,
) -> None:
    """Make all stretches from the earliest to the latest, with the gammas of their seeds.

    The latest stretch and the one before it have `shortest` sweeps; each earlier one twice as many
    as the one after it.
    """
    own = np.empty(4, np.uint64)
    for i in range(len(low)):
        lower[i] = low[i]
    first = True
    for stretch in range(len(seeds) - 1, -1, -1):
        for k in range(4):
            own[k] = seeds[stretch, k]
        for _ in range(shortest << max(stretch - 1, 0)):
            for t in range(len(scratch.waits)):
                wait = problem.waits[t]
                scratch.waits[t] = (
                    gamma_of(own, wait, problem.wait_spread[t]) if wait > 0.0 else 0.0
                )
            for i in range(len(low)):
                scratch.gammas[i] = gamma_of(own, problem.shape[i], problem.spread[i])
            if first:  # from infinity, all waiting times are 0
                for i in range(len(low)):
                    upper[i] = scratch.gammas[i]
                first = False
            else:
                _sweep(problem, upper, scratch)
            _sweep(problem, lower, scratch)


@internal
def _sweep(problem: AnyProblem, x: FloatArray, scratch: _Scratch) -> None:
    """Replace λ by G_i / (1 + Σ_{t ∋ i} E_t / λ(S_t))."""
    times, rates = scratch.times, scratch.rates
    set_sums(problem, x, times)
    for t in range(len(times)):
        times[t] = scratch.waits[t] / times[t]
    member_sums(problem, times, rates)
    for i in range(len(x)):
        x[i] = scratch.gammas[i] / (1.0 + rates[i])


@internal
def _have_merged(upper: FloatArray, lower: FloatArray) -> bool:
    """Tell whether both chains are at the same point, but for rounding."""
    met = True
    for i in range(len(upper)):
        met &= upper[i] - lower[i] <= MERGED * upper[i]
    return met
