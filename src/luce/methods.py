"""Which method draws a posterior, and why: decided from its structure alone, never by the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.conditional_counts import ConditionalCounts
from luce.errors import MethodError
from luce.module_shapes import ModuleShapes
from luce.settings import Settings

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


@dataclass(frozen=True)
class Method:
    """How the draws are made.

    Parameters
    ----------
    name, reason
        What is reported.
    kernel
        What simulates the problems; None where there is nothing to simulate.
    problems
        What is simulated: the cores, or the raw categories as one.
    priors
        The prior's shapes on the atoms of each problem.
    plan
        The exact splits around the cores; None where the raw categories are simulated.
    """

    name: str
    reason: str
    kernel: Kernel | None
    problems: tuple[Problem, ...]
    priors: tuple[FloatArray, ...]
    plan: SplitPlan | None

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return self.kernel is None

    def draw_start(self, rng: np.random.Generator, q: int) -> FloatArray:
        """Draw a state of problem q from the prior."""
        shape = self.priors[q]
        if not self.problems[q].wide:
            shape = np.maximum(shape, _LEAST_START_SHAPE)
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(len(shape))) / shape
        return self._state(logs - np.logaddexp.reduce(logs), q)

    def start_at(self, probabilities: FloatArray, shapes: ModuleShapes, q: int) -> FloatArray:
        """Turn category probabilities into a state of problem q."""
        p = probabilities if self.plan is None else shapes.core_masses(probabilities, q)
        p = np.maximum(p, _LEAST_START / len(p))
        return self._state(np.log(p / p.sum()), q)

    def _state(self, log_p: FloatArray, q: int) -> FloatArray:
        return log_p if self.problems[q].wide else np.exp(log_p)


def choose_method(
    counts: ConditionalCounts, concentration: FloatArray, shapes: ModuleShapes, settings: Settings
) -> Method:
    """Decide how to draw."""
    from luce.kernels import KERNELS

    structure = shapes.structure
    if not settings.reduce:
        if settings.method == "exact":
            raise MethodError("method='exact' is the reduction; it cannot run with reduce=False.")
        name = "waiting-times" if settings.method == "auto" else settings.method
        problem = _raw_problem(counts, concentration)
        reason = "asked for on the raw categories"
        return Method(name, reason, KERNELS[name], (problem,), (concentration,), None)
    plan = shapes.split_plan()
    if structure.is_exact:
        reason = "the sets nest, so the posterior is a tree of Dirichlet splits"
        return Method("exact", reason, None, (), (), plan)
    if settings.method == "exact":
        raise MethodError(
            f"method='exact' needs sets that nest, but: {structure!r} "
            "Leave method='auto' to simulate the cores and keep the rest exact."
        )
    problems = tuple(shapes.core_problem(q) for q in range(len(structure.cores)))
    priors = tuple(shapes.prior[core.cells] for core in structure.cores)
    name, reason = settings.method, "asked for"
    if name == "auto":
        name = "waiting-times"
        reason = "overlapping sets must be simulated, and waiting times mix best on them"
    return Method(name, reason, KERNELS[name], problems, priors, plan)


def _raw_problem(counts: ConditionalCounts, concentration: FloatArray) -> Problem:
    """The whole posterior as one problem over the raw categories."""
    from luce.kernels.problem import make_problem

    f = counts.sets
    net = counts.category_counts.sum() + f.exponent.sum()
    return make_problem(
        f.members, f.chain_start, f.complement, f.set_start, f.set_end, f.exponent,
        concentration + counts.category_counts, float(concentration.sum() + max(net, 0.0)),
    )  # fmt: skip
