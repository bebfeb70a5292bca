"""Metropolis-Hastings with Dirichlet proposals centred at the current probabilities.

    q ~ Dir(β p),   accept with probability min(1, r)

    log r = Σ_i c_i (log q_i - log p_i) + Σ_t (n_t - m_t) (log q(S_t) - log p(S_t))
            + Σ_i (β q_i log p_i - log Γ(β q_i)) - Σ_i (β p_i log q_i - log Γ(β p_i))

The exponents c_i - 1 of the target and β p_i - 1, β q_i - 1 of the two proposals share a -1, which
is left out: where log p_i is huge, cancelling it would cost digits.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Problem
from luce.kernels.random import log_gamma, uniform
from luce.kernels.set_sums import as_log, from_log, normalise, set_sums

_ACCEPTANCE = 0.24  # target of the adaptation
_LOG_BETA_MIN, _LOG_BETA_MAX = math.log(1e-2), math.log(1e17)

# Adaptation step s changes log β by up to 2 / (1 + s)^0.6.  β can grow a million-fold in a thousand
# steps without acceptance; after them the acceptance, which rises by about 0.2 per unit of log β,
# has a standard error of 0.02.
_GAIN, _DECAY = 2.0, 0.6

# Concentration β of the proposals in the paper.
PAPER_PROPOSAL = 160.0


def first_tuning(problem: Problem, fit: None) -> float:
    """Start log β at the sum of the shapes: proposals are then about as narrow as the posterior."""
    return math.log(max(PAPER_PROPOSAL, float(problem.shape.sum())))


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: None,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Propose q ~ Dir(β p) and accept it with probability min(1, r).

    Arguments as in `luce.kernels.Advance`; `space` is unused, since the density needs no splitting.

    Parameters
    ----------
    tuning
        log β of the next adaptation step, number of adaptation steps so far, and log β for use
        without adaptation: an average that favours late steps (Polyak and Ruppert).
    adapt
        Whether to adapt log β towards an acceptance of 0.24 (Robbins and Monro).
    stat
        Receives 1 if the proposal was accepted, else 0.
    """
    problem, own = borrowed(problem), on_stack(bits)
    n, wide = len(state), problem.wide
    here, there, plain = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        here[i] = as_log(state[i], wide)
    here_sets, there_sets = np.empty(len(problem.waits)), np.empty(len(problem.waits))
    _log_set_sums(problem, here, plain, here_sets)
    for d in range(len(out)):
        log_beta = tuning[0] if adapt else tuning[2]
        for i in range(n):
            there[i] = log_gamma(own, math.exp(log_beta + here[i]))
        normalise(there, True)
        _log_set_sums(problem, there, plain, there_sets)
        log_ratio = 0.0
        for t in range(len(there_sets)):
            net = problem.groups[t] - problem.waits[t]
            log_ratio += net * (there_sets[t] - here_sets[t])
        for i in range(n):
            log_ratio += problem.shape[i] * (there[i] - here[i])
            log_ratio += log_proposal(log_beta + there[i], here[i])
            log_ratio -= log_proposal(log_beta + here[i], there[i])
        # A proposal whose ratio is infinite or NaN is rejected.
        probability = min(1.0, math.exp(log_ratio)) if math.isfinite(log_ratio) else 0.0
        accepted = uniform(own) < probability
        if accepted:
            here, there, here_sets, there_sets = there, here, there_sets, here_sets
        if adapt:
            gain = _GAIN / (1.0 + tuning[1]) ** _DECAY
            log_beta += gain * (_ACCEPTANCE - probability)
            tuning[0] = min(max(log_beta, _LOG_BETA_MIN), _LOG_BETA_MAX)
            tuning[1] += 1.0
            tuning[2] += (tuning[0] - tuning[2]) * 2.0 / (tuning[1] + 1.0)
        for i in range(n):
            out[d, i] = from_log(here[i], wide)
        stat[d] = 1.0 if accepted else 0.0
    for i in range(n):
        state[i] = from_log(here[i], wide)
    for k in range(4):
        bits[k] = own[k]


@internal
def _log_set_sums(
    problem: AnyProblem, log_p: FloatArray, plain: FloatArray, out: FloatArray
) -> None:
    """Compute log p(S_t), from plain sums in problems that are not wide, which are cheaper."""
    wide = problem.wide
    for i in range(len(log_p)):
        plain[i] = from_log(log_p[i], wide)
    set_sums(problem, plain, out)
    for t in range(len(out)):
        out[t] = as_log(out[t], wide)


@internal
def log_proposal(log_shape: float, log_x: float) -> float:
    """Evaluate a log x - log Γ(a) from log a; log Γ(a) ≈ -log a if a is too small for a double."""
    a = math.exp(log_shape)
    return a * log_x + log_shape if a < 1e-300 else a * log_x - math.lgamma(a)
