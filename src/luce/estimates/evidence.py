"""The evidence where sets overlap: of each core, by bridge sampling and by Chib's method.

Outside of the cores the evidence is a product of Beta functions.  Each core contributes a factor

    Z = ∫ Π_i p_i^(c_i - 1) Π_S p(S)^(e_S) dp = √n ∫ exp h(y) dy
    h = Σ_i c_i log p_i + Σ_S e_S log p(S)

with n - 1 orthonormal contrasts y of log p, in which the posterior is close to normal.

Bridge sampling (Meng and Wong 1996) compares draws of the posterior with draws of a Student t that
has the posterior's mode and curvature.  With y measured from the mode, the integrand is replaced by
(exp h(y) + exp h(-y)) / 2, which has the same integral without the skewness (Meng and Schilling
2002).

Where data does not bound the distance of some groups (`sampling.shifts`), a small concentration a
lets log p reach -1 / a, far from any Student t.  The evidence is then found for the prior's
parameters times t = 2^k, large enough that they reach 0.1, and carried down by bridge sampling
between draws of neighbouring posteriors, which overlap.

Chib's method (1995): Z is exp h over the posterior's density, at any point.  That density is the
mean, over draws, of the density of the next sweep of waiting times, which is in closed form.  It is
right where that sweep forgets where it came from, and silently wrong where it does not.

A core that is a single set with weights has a one-dimensional integral, which is computed by
quadrature (`sampling.single_weighted_set`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.errors import EvidenceWarning, MethodError, NotExactError, warn_user
from luce.estimates.bridge import bridge_ratio, bridge_to_student, effective_draws, fewest_draws
from luce.estimates.densities import log_heights, log_scaled_dirichlet, next_gammas
from luce.estimates.estimate import Estimate
from luce.estimates.event_evidence import event_evidence
from luce.estimates.weights import LARGEST_K, basis, log_mean
from luce.model.exact import log_evidence_around
from luce.model.model import Model
from luce.model.shapes import ModuleShapes, shapes_of
from luce.sampling.choice import choose_for_core
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.log_posterior import LogPosterior
from luce.sampling.maximum import core_mode
from luce.sampling.memory import draw_core
from luce.sampling.settings import Settings
from luce.sampling.shifts import find_shifts
from luce.sampling.single_weighted_set import is_single_weighted_set, log_integral

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

METHODS = ("auto", "exact", "bridge", "chib")

_QUADRATURE = "quadrature"  # method of a core that has a one-dimensional integral

_NAMES = {"bridge": "bridge sampling", "chib": "Chib's method"}

# Least parameter of the prior for which a Student t serves, where distances are not bound; and the
# factor between neighbouring priors otherwise.
_LEAST_FOR_STUDENT, _RUNG = 0.1, 2.0

# Relative rounding error of logarithms of gamma functions and of their sums.
_ROUNDING = 2.0**-50

# Effective draws below which an evidence is warned about: with as many, errors of means are about
# 5 % too small (`weights`).
FEWEST_DRAWS = 50.0

# Combined standard errors between the two methods beyond which they disagree; two right estimates
# differ by more once in 16,000 times.
_MOST_ERRORS = 4.0

LogHeights = Callable[["Problem", FloatArray], FloatArray]


def log_evidence(model: Model, settings: Settings, method: str) -> Estimate:
    """Estimate the log evidence, in closed form where there are no cores.

    The evidence is the integral of the likelihood, without multinomial coefficients, times the
    normalised prior.  `details` of the result holds the estimate of each method.
    """
    if method not in METHODS:
        raise MethodError(f"method = {method!r}; choose one of {', '.join(METHODS)}.")
    if model.counts.events is not None:
        found = event_evidence(model, settings, method)
        warn_of_doubt(found.details)
        return found
    shapes, cores = model.shapes, model.structure.cores
    around = log_evidence_around(shapes, model.concentration, model.remainder)
    around += model.counts.log_constant
    if not cores:
        return Estimate(around, 0.0, "exact")
    rounding = _rounding_error(model)
    integrals = _integrals(shapes) if method in ("auto", "exact") else {}
    if len(integrals) == len(cores):
        return _total(around, list(integrals.values()), rounding)
    if method == "exact":
        raise NotExactError(
            f"the evidence has a closed form only where the sets nest, but here: "
            f'{model.structure!r} Use method="auto", which estimates it from draws.',
            cores=len(cores),
        )
    require_within_reach(max(core.n_atoms for core in cores))
    names = ("bridge", "chib") if method == "auto" else (method,)
    seeds = settings.seed_sequence().spawn(len(cores))
    factors = [
        dict.fromkeys(names, integrals[q])
        if q in integrals
        else _of_core(model, q, seed, settings, names)
        for q, seed in enumerate(seeds)
    ]
    estimates = {name: _total(around, [each[name] for each in factors], rounding) for name in names}
    warn_of_doubt(estimates)
    return replace(estimates[names[0]], details=estimates)


def require_within_reach(atoms: int, most: int = MOST_DENSE) -> None:
    """Refuse the evidence of a core whose curvature is too large for a dense matrix."""
    if atoms > most:
        raise MethodError(
            f"the evidence of a core of {atoms:,} atoms is out of reach: its curvature is a "
            f"table of their square, and at most {most:,} are worked with. Compare models by "
            "luce.loo, or by log_predictive on data that was held out."
        )


def _rounding_error(model: Model) -> float:
    """Bound the error of sums of logarithms of gamma functions, the largest of which cancel."""
    from scipy.special import gammaln

    whole = model.concentration.sum() + model.counts.category_counts.sum()
    return _ROUNDING * abs(float(gammaln(whole)))


def _total(around: float, cores: list[Estimate], rounding: float = 0.0) -> Estimate:
    """Add the logarithms of independent factors; keep the details of the worst core."""
    value = around + sum(float(core) for core in cores)
    error = float(np.sqrt(rounding**2 + sum(core.standard_error**2 for core in cores)))
    details = fewest_draws(*cores)
    drawn = [core for core in cores if core.method != _QUADRATURE]
    if any("pareto_k" in core.details for core in drawn):
        details["pareto_k"] = max(core.details.get("pareto_k", -np.inf) for core in drawn)
    return Estimate(value, error, (drawn or cores)[0].method, details)


def _integrals(shapes: ModuleShapes) -> dict[int, Estimate]:
    """Integrate the cores that are a single set with weights, by their numbers."""
    found = {}
    for q in range(len(shapes.structure.cores)):
        problem = shapes.core_problem(q)
        if is_single_weighted_set(problem):
            value, error = log_integral(problem)
            found[q] = Estimate(value, error, _QUADRATURE, {"effective_draws": np.inf})
    return found


def _of_core(
    model: Model,
    q: int,
    seed: np.random.SeedSequence,
    settings: Settings,
    names: tuple[str, ...],
) -> dict[str, Estimate]:
    """Estimate log Z of core q by each method."""
    for_draws, for_bridge, for_chib = seed.spawn(3)
    scale = _scale_for_student(model.shapes, q)
    shapes = model.shapes if scale == 1.0 else _scaled(model, scale)
    logs, problem = _draws(shapes, q, settings.reseeded(for_draws)), shapes.core_problem(q)
    mode = core_mode(problem, shapes.structure.cores[q])
    found = {}
    if "bridge" in names:
        found["bridge"] = bridge_estimate(problem, mode, logs, np.random.default_rng(for_bridge))
    if "chib" in names:
        found["chib"] = chib_estimate(problem, mode, logs, for_chib)
    if scale == 1.0:
        return found
    carried = _log_ratio_of_scales(model, q, scale, settings.reseeded(for_draws.spawn(1)[0]))
    return {name: _total(0.0, [estimate, *carried]) for name, estimate in found.items()}


def _draws(shapes: ModuleShapes, q: int, settings: Settings) -> FloatArray:
    """Draw log shares of core q, shape (chain, draw, cell), by another method than independence.

    A chain of independent proposals stays longest where the posterior is highest above a Student t,
    and the means of a bridge are those of just this ratio.
    """
    name, _ = choose_for_core(shapes, q)
    return draw_core(
        shapes, q, replace(settings, method="hamiltonian" if name == "independence" else name)
    )


def _scale_for_student(shapes: ModuleShapes, q: int) -> float:
    """Return the factor of the prior with which a Student t lies close to core q's posterior."""
    problem, prior = shapes.core_problem(q), shapes.prior[shapes.structure.cores[q].cells]
    if not problem.wide or find_shifts(problem, prior) is None:
        return 1.0
    least = prior[prior > 0].min()
    steps = np.ceil(np.log(_LEAST_FOR_STUDENT / least) / np.log(_RUNG))
    return float(_RUNG ** max(0.0, steps))


def _scaled(model: Model, scale: float) -> ModuleShapes:
    return shapes_of(model.structure, model.counts, scale * model.concentration)


def _log_ratio_of_scales(model: Model, q: int, scale: float, settings: Settings) -> list[Estimate]:
    """Estimate log Z(t) - log Z(2 t) for t = 1, 2, 4 ... scale / 2, t a factor of the prior.

    The two densities of log p differ by the factor Π_i p_i^(-t a_i), a_i the prior's parameters.
    Each half of a chain serves one ratio, so that the errors of neighbours are independent.
    """
    prior = model.shapes.prior[model.structure.cores[q].cells]
    rungs = _RUNG ** np.arange(round(np.log(scale) / np.log(_RUNG)) + 1)
    seeds = settings.seed_sequence().spawn(len(rungs))
    tilts = [
        _draws(_scaled(model, t), q, settings.reseeded(seed)) @ prior
        for t, seed in zip(rungs.tolist(), seeds, strict=True)
    ]
    half = settings.draws // 2
    return [
        bridge_ratio(-t * upper[:, half:], -t * lower[:, :half])
        for t, upper, lower in zip(rungs.tolist(), tilts, tilts[1:], strict=False)
    ]


def bridge_estimate(
    problem: Problem,
    mode: FloatArray,
    logs: FloatArray,
    rng: np.random.Generator,
    heights: LogHeights = log_heights,
) -> Estimate:
    """Estimate log Z by bridge sampling.

    Parameters
    ----------
    problem
        c, e and the sets.
    mode
        The shares at which exp h is largest.
    logs
        Draws of log p, shape (chain, draw, atom).
    rng
        The source of the Student t's draws.
    heights
        Computes h of rows of log p.
    """
    from scipy.linalg import helmert

    n = len(mode)
    contrasts = helmert(n)

    def of_contrasts(y: FloatArray) -> FloatArray:
        log_p = y @ contrasts
        log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
        return heights(problem, log_p)

    covariance = _covariance(problem, mode, contrasts)
    peak, draws = contrasts @ np.log(mode), logs @ contrasts.T
    found = bridge_to_student(of_contrasts, peak, covariance, draws, rng)
    return replace(found, value=float(found) + 0.5 * np.log(n))


def chib_estimate(
    problem: Problem,
    mode: FloatArray,
    logs: FloatArray,
    seed: np.random.SeedSequence,
    heights: LogHeights = log_heights,
) -> Estimate:
    """Estimate log Z by Chib's method at the mode; the arguments are those of `bridge_estimate`."""
    point = np.log(mode)
    chains, draws, n = logs.shape
    shape, log_rate = next_gammas(problem, logs.reshape(-1, n), seed)
    ordinates = log_scaled_dirichlet(point, shape, log_rate) + point.sum()  # of log p
    density = log_mean(ordinates.reshape(chains, draws), "chib")
    return replace(density, value=float(heights(problem, point[None])[0]) - float(density))


def _covariance(problem: Problem, mode: FloatArray, contrasts: FloatArray) -> FloatArray:
    """Compute the covariance of contrasts of log p, to second order around the mode."""
    f = LogPosterior(problem)
    matrix = f.precision(f.at(np.log(mode * problem.total_shape)))
    return np.asarray(contrasts @ np.linalg.solve(matrix, contrasts.T))


def warn_of_doubt(estimates: Mapping[str, Estimate]) -> None:
    """Warn where an estimate rests on few draws, or where the two methods disagree."""
    doubts = [
        f"{_NAMES[name]} {basis(found)}"
        for name, found in estimates.items()
        if effective_draws(found) < FEWEST_DRAWS
        or found.details.get("pareto_k", -np.inf) > LARGEST_K
    ]
    if len(estimates) == 2 and _disagree(*estimates.values()):
        doubts.append("the two disagree")
    if not doubts:
        return
    told = ", ".join(
        f"{_NAMES[name]} {float(found):.3f} ± {found.standard_error:.3f}"
        for name, found in estimates.items()
    )
    advice = (
        "The first is returned; Chib's method fails where sweeps of waiting times mix slowly."
        if len(estimates) == 2
        else "Take more draws, or another method."
    )
    warn_user(EvidenceWarning(f"log evidence: {told}; {'; '.join(doubts)}. {advice}", estimates))


def _disagree(one: Estimate, other: Estimate) -> bool:
    allowed = _MOST_ERRORS * np.hypot(one.standard_error, other.standard_error)
    return bool(abs(float(one) - float(other)) > allowed)
