"""Which method draws a posterior, and why: decided from the posterior alone, never by the clock."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.priors import Gamma
from luce.model.shapes import ModuleShapes, raw_problem
from luce.sampling import envelope, laplace
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.problem import Problem

# Starts are drawn from a prior whose shapes are at least this, unless the problem is kept in
# logarithms: a smaller one might underflow to a start that no chain can leave.
_LEAST_START_SHAPE = 0.05

# A start nearer to the boundary than this share of an equal one is moved inside: Dirichlet
# proposals from there would collapse, and hidden counts take long to leave.
_LEAST_START = 1e-3

# What the parts of a sweep cost, in units of one addition: a random gamma or exponential, an
# exponential or division, and a number read from or written to a list.
_GAMMA, _FUNCTION, _LISTED = 12.0, 5.0, 2.0

# Effective share of Hamiltonian moves, from many problems; a curvature is fitted up to so many
# atoms, since a move then costs the square of that.
_HAMILTONIAN_SHARE, _MOST_HAMILTONIAN = 0.7, 1000

# A share of draws kept below which rejection takes too long even if asked for.
_LEAST_FORCED = 0.001

# How much better Hamiltonian moves must look: with many atoms they may take more than one step.
_MARGIN = 1.5


@dataclass(frozen=True)
class Part:
    """How one core, or the raw categories, is drawn.

    Parameters
    ----------
    name, reason
        What is reported.
    kernel
        What simulates it.
    problem
        What is simulated.
    prior
        The prior's shapes on its atoms.
    """

    name: str
    reason: str
    kernel: Kernel
    problem: Problem
    prior: FloatArray

    def draw_start(self, rng: np.random.Generator) -> FloatArray:
        """Draw a state from the prior."""
        # A named atom of a Dirichlet process has no prior mass of its own; any start will do.
        shape = np.where(self.prior > 0, self.prior, 1.0)
        if not self.problem.wide:
            shape = np.maximum(shape, _LEAST_START_SHAPE)
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(len(shape))) / shape
        return self._state(logs - np.logaddexp.reduce(logs))

    def start_at(self, p: FloatArray) -> FloatArray:
        """Turn probabilities of the atoms into a state."""
        p = np.maximum(p, _LEAST_START / len(p))
        return self._state(np.log(p / p.sum()))

    def _state(self, log_p: FloatArray) -> FloatArray:
        return log_p if self.problem.wide else np.exp(log_p)


@dataclass(frozen=True)
class Method:
    """How the draws are made: part by part, and then split among categories.

    `splits` are the exact ones around the cores; None where the raw categories are simulated.
    """

    parts: tuple[Part, ...]
    splits: SplitPlan | None

    @property
    def name(self) -> str:
        """The methods used, "exact" where there is nothing to simulate."""
        return ", ".join(dict.fromkeys(part.name for part in self.parts)) or "exact"

    @property
    def reason(self) -> str:
        """Why; of several parts, each distinct reason once."""
        if not self.parts:
            return "the sets nest, so the posterior is a tree of Dirichlet splits"
        return "; ".join(dict.fromkeys(part.reason for part in self.parts))

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return all(part.kernel.independent for part in self.parts)


def choose_method(model: Model, settings: Settings) -> Method:
    """Choose the method that draws a model under some settings."""
    counts, concentration, name = model.counts, model.concentration, settings.method
    hyperprior = model.hyperprior
    if hyperprior is not None:
        return Method((_with_concentration(counts, concentration, name, hyperprior),), None)
    if not settings.reduce:
        if name == "exact":
            raise MethodError("method='exact' is the reduction; it cannot run with reduce=False.")
        problem = raw_problem(counts, concentration)
        name = "waiting-times" if name == "auto" else name
        return Method((_asked_for(name, problem, concentration, "the raw categories"),), None)
    shapes = model.shapes
    splits = shapes.split_plan()
    if model.structure.is_exact:
        return Method((), splits)
    if name == "exact":
        raise MethodError(
            f"method='exact' needs sets that nest, but: {model.structure!r} "
            "Leave method='auto' to simulate the cores and keep the rest exact."
        )
    return Method(parts_of(shapes, name), splits)


def parts_of(shapes: ModuleShapes, name: str = "auto") -> tuple[Part, ...]:
    """Prepare each core of a posterior for a method, or choose one for it."""
    if name not in shapes.memo:
        parts = []
        for q, core in enumerate(shapes.structure.cores):
            problem, prior = shapes.core_problem(q), shapes.prior[core.cells]
            if name == "auto":
                parts.append(_chosen_for(problem, prior))
            else:
                parts.append(_asked_for(name, problem, prior, f"core {q + 1}"))
        shapes.memo[name] = tuple(parts)
    found: tuple[Part, ...] = shapes.memo[name]
    return found


def _chosen_for(problem: Problem, prior: FloatArray) -> Part:
    """Rejection where it accepts enough, else what costs least for an effective draw."""
    from luce.kernels import KERNELS

    enveloped = envelope.fit_envelope(problem)
    if enveloped is not None and enveloped[1] >= envelope.LEAST_ACCEPTED:
        fit, accepted = enveloped
        reason = f"a Dirichlet lies close above the posterior: {accepted:.0%} of its draws are kept"
        return Part("rejection", reason, KERNELS["rejection"], problem._replace(fit=fit), prior)
    sweep = KERNELS["waiting-times"]
    n = len(problem.shape)
    if n > _MOST_HAMILTONIAN or problem.wide or (problem.groups > 0).any():
        reason = "overlapping sets must be simulated, and waiting times suit all of them"
        return Part("waiting-times", reason, sweep, problem, prior)
    try:
        curvature, share = laplace.fit_curvature(problem)
    except np.linalg.LinAlgError:
        reason = "its curvature is beyond doubles, and waiting times need none"
        return Part("waiting-times", reason, sweep, problem, prior)
    listed, n_sets = len(problem.members), len(problem.waits)
    cost_of_sweep = 2 * _LISTED * listed + _GAMMA * (n_sets + n)
    cost_of_slope = 2 * _LISTED * listed + _FUNCTION * (n_sets + n) + n * n / 2
    # A move takes two slopes and one more product with the curvature.
    cost_of_move = 2 * cost_of_slope + n * n / 4 + _GAMMA * n
    if _HAMILTONIAN_SHARE / cost_of_move > _MARGIN * share / cost_of_sweep:
        reason = f"weakly connected: a waiting-time sweep would be worth {share:.2g} draws"
        problem = problem._replace(fit=curvature)
        return Part("hamiltonian", reason, KERNELS["hamiltonian"], problem, prior)
    reason = f"well connected: a waiting-time sweep is worth about {share:.2g} draws"
    return Part("waiting-times", reason, sweep, problem, prior)


def _asked_for(name: str, problem: Problem, prior: FloatArray, what: str) -> Part:
    """Prepare a method that was asked for by name, or say why it cannot be had."""
    from luce.kernels import KERNELS

    if name == "rejection":
        enveloped = envelope.fit_envelope(problem)
        if enveloped is None or enveloped[1] < _LEAST_FORCED:
            raise MethodError(
                f"method='rejection' does not fit {what}: it needs sets that each leave out one "
                f"of at most {envelope.MOST_ATOMS} atoms, shapes above 0.2, no grouped outcomes, "
                f"and an envelope that keeps {_LEAST_FORCED} of its draws. Leave method='auto'."
            )
        problem = problem._replace(fit=enveloped[0])
    elif name == "hamiltonian":
        fit = None
        plain = not (problem.groups > 0).any() and not problem.wide
        if plain and len(problem.shape) <= laplace.MOST_DENSE:
            with suppress(np.linalg.LinAlgError):
                fit = laplace.fit_curvature(problem)[0]
        if fit is None:
            raise MethodError(
                f"method='hamiltonian' does not fit {what}: it needs at most "
                f"{laplace.MOST_DENSE:,} atoms, no grouped outcomes, and probabilities and "
                "curvature within the range of doubles. Leave method='auto'."
            )
        problem = problem._replace(fit=fit)
    reason = "asked for" + (" on the raw categories" if what == "the raw categories" else "")
    return Part(name, reason, KERNELS[name], problem, prior)


def _with_concentration(
    counts: ConditionalCounts, concentration: FloatArray, name: str, hyperprior: Gamma
) -> Part:
    """Draw the concentration too: shapes change with every sweep, so nothing can be fitted."""
    from luce.kernels import RANDOM_CONCENTRATION
    from luce.kernels.random_concentration import make_hyperprior

    if name not in ("auto", "waiting-times"):
        raise MethodError(
            f"method={name!r} needs a concentration that is a number; with a gamma prior on it, "
            "probabilities are drawn by waiting times. Leave method='auto'."
        )
    net = max(float(counts.category_counts.sum() + counts.sets.exponent.sum()), 0.0)
    fit = make_hyperprior(
        np.array(counts.category_counts), net, hyperprior.shape, hyperprior.rate,
        concentration / hyperprior.mean,
    )  # fmt: skip
    # Logarithms throughout, since the concentration may become as small as it likes.
    problem = raw_problem(counts, concentration)._replace(wide=True, fit=fit)
    reason = "the concentration is drawn too, which changes every shape"
    return Part("waiting-times", reason, RANDOM_CONCENTRATION, problem, concentration)
