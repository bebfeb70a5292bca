"""Starting points of couplings from the past: below them the posterior almost never is.

The chain that `kernels.from_the_past` follows has λ = Λ p with Λ ~ Gamma(A) independent of p, and

    p ~ f(p) / ∫ f,      f(p) = Π_i p_i^(c_i - 1) Π_t p(S_t)^(-m_t).

P(p_i < ε) is bounded by bounds of the two integrals.  Above: each m_t is shared out among members
of S_t, a maximum flow, so that atom i receives d_i = c_i - a_i < c_i; since p_j <= p(S_t) for a
member j, f is at most Π_i p_i^(a_i - 1), and p_i of a Dirichlet is a Beta variate.  Below: by
Jensen's inequality, for any Dirichlet q,

    log ∫ f  >=  E_q[log f] - E_q[log q],

which has a closed form in digammas and is maximised over q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.kernels.from_the_past import MERGED

if TYPE_CHECKING:
    from luce.kernels.from_the_past import Past
    from luce.kernels.problem import Problem

# Largest probability that a draw comes from below the lower chain's start: the distance in total
# variation between the law of a draw and the posterior is at most this.
LARGEST_DISTANCE = 2.0**-60

# Most sweeps of a draw: with more, rounding keeps chains apart that approach each other slowly.
MOST_SWEEPS = 1 << 14

# Entries of the table of sets and atoms, with which the sweeps of the pilot take some seconds.
_MOST_ENTRIES = 40_000

# Couplings of the pilot, and the share of them that the first stretch of sweeps suffices for.
_PILOT, _ENOUGH = 16, 0.9

# Logarithm of the smallest λ of the lower chain; sums over sets and their inverses stay doubles.
_LEAST_LOG = -600.0

# Halvings that find the largest shapes of the dominating Dirichlet, and the smallest as a share.
_HALVINGS, _LEAST_SHARE = 30, 1e-6


def fit_past(problem: Problem) -> Past | str:
    """Find the lower chain's start, and how many sweeps bring the chains together.

    Returns the reason, to end a sentence with, where one of these cannot be had.
    """
    from luce.kernels.from_the_past import Past

    too_much = f"with so much data a draw needs over {MOST_SWEEPS:,} sweeps"
    if problem.wide is not None:
        return "probabilities are too small for plain doubles"
    if problem.groups.any():
        return "there are grouped outcomes, whose split is not monotone"
    if len(problem.waits) * len(problem.shape) > _MOST_ENTRIES:
        return f"sets times atoms are more than {_MOST_ENTRIES:,}"
    # The ratio of the chains' totals falls by about A / (A + Σ m) a sweep, or by less.
    if -np.log(MERGED) * (1.0 + problem.waits.sum() / problem.total_shape) > MOST_SWEEPS:
        return too_much
    table = table_of_sets(problem)
    bound = lower_start(problem, table)
    if bound is None:
        return "some data would have to be seen less often than never"
    if bound.min() < _LEAST_LOG:
        return "the prior allows probabilities so small that no start is below them"
    sweeps = _sweeps_needed(problem, table, np.exp(bound))
    return too_much if sweeps is None else Past(np.exp(bound), sweeps)


def table_of_sets(problem: Problem) -> FloatArray:
    """Return the weights of atoms in sets, 0 for those outside, shape (sets, atoms)."""
    n, number = len(problem.shape), np.diff(problem.set_start)
    table = np.zeros((len(problem.waits), n))
    weights = np.ones(len(problem.members)) if problem.weights is None else problem.weights
    for t, k in enumerate(np.repeat(np.arange(len(number)), number).tolist()):
        listed = slice(problem.nest_start[k], problem.set_end[t])
        table[t, problem.members[listed]] = weights[listed]
        if problem.complement[k]:
            table[t] = 1.0 - table[t]
    return table


def lower_start(problem: Problem, table: FloatArray) -> FloatArray | None:
    """Find log λ_i below which the posterior is with probability `LARGEST_DISTANCE` at most.

    None where the exponents are not those of any data.
    """
    from scipy.special import betaln, gammaln

    a = _dominating_shape(problem, table)
    if a is None:
        return None
    n, total = len(a), problem.total_shape
    target = np.log(LARGEST_DISTANCE / 2)  # one half for Λ, the other shared out among the p_i
    log_total = min((target + gammaln(total + 1.0)) / total, 0.0)
    above = gammaln(a).sum() - gammaln(a.sum()) + _log_scale(problem, table)
    # P(Beta(a, b) < ε) <= 2 ε^a / (a B(a, b)) for ε <= 1/2: (1 - x)^(b - 1) <= 2 there, or b >= 1.
    edge = np.log(a) + betaln(a, a.sum() - a) - np.log(2.0)
    log_p = (target - np.log(n) + _log_integral_below(problem, table) - above + edge) / a
    return np.asarray(log_total + np.minimum(log_p, -np.log(2.0)))


def _dominating_shape(problem: Problem, table: FloatArray) -> FloatArray | None:
    """Share the exponents of sets out among members, so that the least shape left is largest."""
    from luce.kernels.structure.max_flow import transport

    sets, atoms = np.nonzero(table)
    start = np.searchsorted(sets, np.arange(len(table) + 1)).astype(np.int64)
    links, demand = atoms.astype(np.int64), np.asarray(problem.waits, np.float64)
    even = problem.total_shape / len(problem.shape)
    dust = 1e-12 * (1.0 + demand.sum())

    def left_over(share: float) -> FloatArray | None:
        kept = np.minimum(share * even, problem.shape)
        flow, left = transport(problem.shape - kept, demand, start, links, dust)
        met = flow.sum() >= demand.sum() - 1e-9 * (1.0 + demand.sum())
        return left + kept if met else None

    low, high, found = _LEAST_SHARE, 1.0, left_over(_LEAST_SHARE)
    for _ in range(_HALVINGS if found is not None else 0):
        middle = (low + high) / 2
        better = left_over(middle)
        if better is None:
            high = middle
        else:
            low, found = middle, better
    return found


def _log_scale(problem: Problem, table: FloatArray) -> float:
    """Bound the constant that weights add: a_j p_j <= p(S) for the member j, whatever it is."""
    if problem.weights is None:
        return 0.0
    least = np.where(table > 0, table, np.inf).min(axis=1)
    return float(-(problem.waits * np.log(least)).sum())


def _log_integral_below(problem: Problem, table: FloatArray) -> float:
    """Bound log ∫ f from below by the best Dirichlet that a few steps find; any one is a bound."""
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln, polygamma

    c, m = problem.shape, problem.waits
    plain = problem.weights is None

    def loss(log_b: FloatArray) -> tuple[float, FloatArray]:
        b = np.exp(log_b)
        total, sums = b.sum(), table @ b
        value = (c - b) @ digamma(b) - (c.sum() - total) * digamma(total)
        value += gammaln(b).sum() - gammaln(total)
        slope = (c - b) * polygamma(1, b) - (c.sum() - total) * polygamma(1, total)
        if plain:  # E log p(S) = ψ(b(S)) - ψ(b)
            value -= m @ digamma(sums) - m.sum() * digamma(total)
            slope += m.sum() * polygamma(1, total) - (m * polygamma(1, sums)) @ table
        else:  # E log Σ a_i p_i <= log Σ a_i E p_i
            value -= m @ np.log(sums) - m.sum() * np.log(total)
            slope += m.sum() / total - (m / sums) @ table
        return -float(value), -slope * b

    start = np.log(c * (problem.total_shape / c.sum()) + 0.5)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-7.0, 40.0)] * len(c))
    return -float(min(found.fun, loss(start)[0]))


def _sweeps_needed(problem: Problem, table: FloatArray, low: FloatArray) -> int | None:
    """Count the sweeps after which most pairs of chains have met; None if some take too many.

    The time at which chains meet forwards has the law of the time that is needed from the past.
    """
    rng, number = np.random.default_rng(0), _PILOT
    upper, lower = np.full((number, len(low)), np.inf), np.tile(low, (number, 1))
    met = np.zeros(number, np.int64)
    for sweep in range(1, MOST_SWEEPS + 1):
        waits = rng.standard_gamma(problem.waits, (number, len(problem.waits)))
        gammas = rng.standard_gamma(problem.shape, (number, len(low)))
        sums = np.full(waits.shape, np.inf) if sweep == 1 else upper @ table.T
        upper = gammas / (1.0 + (waits / sums) @ table)
        lower = gammas / (1.0 + (waits / (lower @ table.T)) @ table)
        new = (met == 0) & (upper - lower <= MERGED * upper).all(axis=1)
        met[new] = sweep
        if met.all():
            return int(np.ceil(np.quantile(met, _ENOUGH)))
    return None


def direct(problem: Problem) -> Problem:
    """Store complements as the sets themselves, whose sums lose no digits."""
    from luce.kernels.problem import make_problem

    if not problem.complement.any():
        return problem
    sets = (problem.members, problem.nest_start, problem.complement)
    ends = (problem.set_start, problem.set_end, -problem.waits)
    ones = np.ones(len(problem.members))
    return make_problem(*sets, *ends, problem.shape, problem.total_shape, weights=ones)
