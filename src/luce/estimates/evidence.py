"""The evidence where sets overlap: of each core, by bridge sampling and by Chib's method.

Off the cores the evidence is a product of Beta functions.  What is left for each core is

    Z = ∫ Π_i p_i^(c_i - 1) Π_S p(S)^(e_S) dp = √n ∫ exp h(y) dy
    h = Σ_i c_i log p_i + Σ_S e_S log p(S)

y being n - 1 orthonormal contrasts of log p, in which the posterior is close to normal.

Bridge sampling (Meng and Wong 1996) compares draws of the posterior with draws of a Student t that
has the posterior's mode and curvature.  What is compared is (exp h(y) + exp h(-y)) / 2, y counted
from the mode: the same integral, without the skewness (Meng and Schilling 2002).

Chib (1995): Z is exp h over the posterior's density, at any point.  That density is the mean, over
draws, of the density of the next sweep of waiting times, which is in closed form.  It is right
where that sweep forgets where it came from, and silently wrong where it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.errors import EvidenceWarning, MethodError, NotExactError, warn_user
from luce.estimates.ordinates import heights, log_scaled_dirichlet, next_gammas, rests_on
from luce.model.exact import LogEvidence, log_evidence_around
from luce.model.shapes import ModuleShapes
from luce.sampling.convergence import ess_of_mean
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.maximum import core_mode
from luce.sampling.memory import draw_core
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

METHODS = ("auto", "exact", "bridge", "chib")

# Of the Student t: tails a little longer than a normal's.
_FREEDOM = 30.0

# Draws that an estimate must rest on, and standard errors that two may differ by: beyond these
# there is a warning.  Estimates that are both right differ by more once in 16,000 times.
_FEWEST, _MOST_ERRORS = 50.0, 4.0


class Estimate(NamedTuple):
    """A logarithm, its standard error, and how many draws it rests on, the fewest of any core."""

    value: float
    standard_error: float
    effective_draws: float


def log_evidence(
    shapes: ModuleShapes,
    concentration: FloatArray,
    remainder: int | None,
    settings: Settings,
    method: str,
) -> LogEvidence:
    """Log integral of likelihood times normalised prior, without multinomial coefficients."""
    if method not in METHODS:
        raise MethodError(f"method = {method!r}; choose one of {', '.join(METHODS)}.")
    around = log_evidence_around(shapes, concentration, remainder)
    cores = shapes.structure.cores
    if not cores:
        return LogEvidence(around, 0.0)
    if method == "exact":
        raise NotExactError(
            f"the evidence has a closed form only where the sets nest, but here: "
            f'{shapes.structure!r} Use method="auto", which estimates it from draws.',
            cores=len(cores),
        )
    largest = max(core.n_atoms for core in cores)
    if largest > MOST_DENSE:
        raise MethodError(
            f"the evidence of a core of {largest:,} atoms is out of reach: its curvature is a "
            f"table of their square, and at most {MOST_DENSE:,} are worked with. Compare models by "
            "luce.loo, or by log_predictive on data that was held out."
        )
    names = ("bridge", "chib") if method == "auto" else (method,)
    seeds = settings.seed_sequence().spawn(len(cores))
    found = [_of_core(shapes, q, seed, settings, names) for q, seed in enumerate(seeds)]
    estimates = {
        name: Estimate(
            around + sum(core[name].value for core in found),
            float(np.sqrt(sum(core[name].standard_error ** 2 for core in found))),
            min(core[name].effective_draws for core in found),
        )
        for name in names
    }
    _warn(estimates)
    value, error, _ = estimates[names[0]]
    return LogEvidence(value, error, names[0], estimates)


def _of_core(
    shapes: ModuleShapes,
    q: int,
    seed: np.random.SeedSequence,
    settings: Settings,
    names: tuple[str, ...],
) -> dict[str, Estimate]:
    """Estimates of log Z of core q."""
    for_draws, for_bridge, for_chib = seed.spawn(3)
    logs, problem = draw_core(shapes, q, settings.reseeded(for_draws)), shapes.core_problem(q)
    mode = core_mode(problem, shapes.structure.cores[q])
    found = {}
    if "bridge" in names:
        found["bridge"] = _bridge(problem, mode, logs, np.random.default_rng(for_bridge))
    if "chib" in names:
        found["chib"] = _chib(problem, mode, logs, for_chib)
    return found


def _bridge(
    problem: Problem, mode: FloatArray, logs: FloatArray, rng: np.random.Generator
) -> Estimate:
    """Bridge sampling; `logs` has shape (chain, draw, atom)."""
    from scipy.linalg import helmert, solve_triangular
    from scipy.special import gammaln

    n, peak = len(mode), np.log(mode)
    contrasts = helmert(n)
    root = np.linalg.cholesky(_covariance(problem, mode, contrasts))
    size = np.log(np.diag(root)).sum() + 0.5 * np.log(n)
    freedom, d = _FREEDOM, n - 1
    constant = gammaln((freedom + d) / 2) - gammaln(freedom / 2) - d / 2 * np.log(freedom * np.pi)

    def log_ratio(y: FloatArray) -> FloatArray:
        """Log of the symmetrised posterior over the Student t."""
        both = []
        for sign in (1.0, -1.0):
            log_p = peak + (sign * y) @ (contrasts.T @ root).T
            log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
            both.append(heights(problem, log_p))
        student = constant - (freedom + d) / 2 * np.log1p((y**2).sum(axis=1) / freedom)
        return np.asarray(np.logaddexp(*both) - np.log(2) + size - student)

    chains, draws, _ = logs.shape
    flat = (logs.reshape(-1, n) - peak) @ contrasts.T
    ours = log_ratio(np.ascontiguousarray(solve_triangular(root, flat.T, lower=True).T))
    number = chains * draws
    proposed = rng.standard_normal((number, d))
    proposed /= np.sqrt(rng.chisquare(freedom, (number, 1)) / freedom)
    theirs = log_ratio(proposed)
    return _bridged(ours.reshape(chains, draws), theirs)


def _bridged(ours: FloatArray, theirs: FloatArray) -> Estimate:
    """Find r = Z with mean of f/(s f + (1 - s) r g) over g's draws = mean of r g/(...) over f's.

    `ours` are log f - log g at the posterior's draws, shape (chain, draw), `theirs` at g's.
    """
    share = ess_of_mean(ours)
    share /= share + len(theirs)
    top = float(np.median(ours))
    a, b, log_r = ours - top, theirs - top, 0.0
    log_share, log_rest = np.log(share), np.log1p(-share)
    for _ in range(1000):
        before = log_r
        above = b - np.logaddexp(log_share + b, log_rest + log_r)
        below = -np.logaddexp(log_share + a, log_rest + log_r)
        log_r = _log_mean(above) - _log_mean(below)
        if abs(log_r - before) < 1e-12 * max(1.0, abs(log_r)):
            break
    above, below = np.exp(above - above.max()), np.exp(below - below.max())
    spread = above.var() / above.mean() ** 2 / above.size
    spread += below.var() / below.mean() ** 2 / ess_of_mean(below)
    return Estimate(top + log_r, float(np.sqrt(spread)), min(rests_on(above), rests_on(below)))


def _chib(
    problem: Problem, mode: FloatArray, logs: FloatArray, seed: np.random.SeedSequence
) -> Estimate:
    """Chib's method at the mode; `logs` has shape (chain, draw, atom)."""
    point = np.log(mode)
    chains, draws, n = logs.shape
    shape, log_rate = next_gammas(problem, logs.reshape(-1, n), seed)
    ordinates = log_scaled_dirichlet(point, shape, log_rate) + point.sum()  # of log p
    weights = np.exp(ordinates - ordinates.max()).reshape(chains, draws)
    value = heights(problem, point[None])[0] - ordinates.max() - np.log(weights.mean())
    error = weights.std() / weights.mean() / np.sqrt(ess_of_mean(weights))
    return Estimate(float(value), float(error), rests_on(weights))


def _covariance(problem: Problem, mode: FloatArray, contrasts: FloatArray) -> FloatArray:
    """Covariance of contrasts of log p, to second order around the mode."""
    from luce.kernels.curvature import precision

    matrix = np.empty((len(mode), len(mode)))
    precision(problem._replace(wide=None, fit=None), np.log(mode * problem.total_shape), matrix)
    return np.asarray(contrasts @ np.linalg.solve(matrix, contrasts.T))


def _log_mean(x: FloatArray) -> float:
    top = float(x.max())
    return top + float(np.log(np.exp(x - top).mean()))


def _warn(estimates: dict[str, Estimate]) -> None:
    """Say it where an estimate rests on few draws, or two disagree."""
    words = []
    for name, (_, _, draws) in estimates.items():
        if draws < _FEWEST:
            words.append(f"{_NAMES[name]} rests on {draws:.0f} of the draws alone")
    if len(estimates) == 2:
        one, other = estimates.values()
        apart = abs(one.value - other.value)
        if apart > _MOST_ERRORS * np.hypot(one.standard_error, other.standard_error):
            words.append("the two disagree")
    if words:
        told = ", ".join(
            f"{_NAMES[name]} {value:.3f} ± {error:.3f}"
            for name, (value, error, _) in estimates.items()
        )
        which = next(iter(estimates))
        advice = (
            "The first is returned; Chib's method fails where sweeps of waiting times mix slowly."
            if which == "bridge" and len(estimates) == 2
            else "Take more draws, or another method."
        )
        warn_user(EvidenceWarning(f"log evidence: {told}; {'; '.join(words)}. {advice}", estimates))


_NAMES = {"bridge": "bridge sampling", "chib": "Chib's method"}
