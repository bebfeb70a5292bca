"""Methods: a choice made ready, with kernels, problems, fits and starting points.

Model and choice together determine the method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray
from luce.counts.placings import Placings
from luce.errors import ConvergenceWarning, MethodError, warn_user
from luce.model.model import Model
from luce.model.shapes import ModuleShapes, raw_problem
from luce.sampling.choice import SINGLE_SET, Choice, best_metric, choose_for_core, fits_of
from luce.sampling.concentration import prepare_with_concentration
from luce.sampling.contests import prepare_contests, ready_for_contests
from luce.sampling.fits import Fits, Start
from luce.sampling.from_the_past import direct
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.rankings import prepare_rankings, ready_for_rankings
from luce.sampling.shifts import find_shifts

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.layouts import AnyProblem
    from luce.kernels.problem import Problem

# Smallest shape of the distribution that starts are drawn from.  Starts then differ by up to a
# hundred nats, and sweeps return from there.  With smaller shapes log p reaches -1 / shape, further
# than sweeps can travel.
_LEAST_START_SHAPE = 0.05

# Smallest starting probability, as a share of an equal one: Dirichlet proposals from nearer to the
# boundary would collapse, and hidden counts take long to leave it.
_LEAST_START = 1e-3

# Smallest shape for which Metropolis keeps plain probabilities: its proposals from near a corner
# may be smaller than any double, and a chain cannot leave a probability of exactly 0.
_LEAST_PLAIN_METROPOLIS = 0.1

# Smallest share of accepted draws at which rejection is carried out when it is asked for by name.
_LEAST_FORCED = 0.001

# Worth of an independence draw, predicted from a pilot, below which its use by name is warned of.
_LEAST_WORTH = 0.2

# Atoms up to which methods that know the mode start from draws of the prior nevertheless.
_FEW = 100

_RAW = "the raw categories"


@dataclass(frozen=True)
class Part:
    """One core, or the raw categories, made ready to be simulated.

    Parameters
    ----------
    kernel
        Simulates it.
    problem
        The posterior.
    prior
        Shapes of the prior on its atoms.
    fit
        Quantities that the kernel must know about the posterior beforehand.
    start
        Distribution of starting points near the mode; draws of the prior where this is None.
    extras
        Draws first states of the kernel's extra parameters; the kernel's own where this is None.
    more_work
        Elementary steps of a sweep beside those over the problem's sets and categories.
    """

    kernel: Kernel
    problem: Problem
    prior: FloatArray
    fit: Any = None
    start: Start | None = None
    extras: Callable[[np.random.Generator], FloatArray] | None = None
    more_work: int = 0

    @cached_property
    def arrays(self) -> AnyProblem:
        """The problem in the leanest form that the kernel takes."""
        from luce.kernels.layouts import lean
        from luce.kernels.shifts import Shifts

        general = self.kernel.general or isinstance(self.fit, Shifts)
        weighted = self.problem.weights is not None
        return lean(self.problem) if weighted or not general else self.problem

    def draw_start(self, rng: np.random.Generator) -> FloatArray:
        """Draw a state near the mode, or from the prior with shapes of at least 0.05."""
        if self.start is not None:
            logs = self.start.draw(rng)
            return self._state(logs - np.logaddexp.reduce(logs))
        # A named atom of a Dirichlet process has no prior mass of its own; any start will do.
        shape = np.maximum(np.where(self.prior > 0, self.prior, 1.0), _LEAST_START_SHAPE)
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(len(shape))) / shape
        state = self._state(logs - np.logaddexp.reduce(logs))
        if self.extras is not None:
            state[len(logs) :] = self.extras(rng)
        return state

    def start_at(self, p: FloatArray) -> FloatArray:
        """Turn probabilities of the atoms into a state."""
        p = np.maximum(p, _LEAST_START / len(p))
        return self._state(np.log(p / p.sum()))

    def _state(self, log_p: FloatArray) -> FloatArray:
        atoms = log_p if self.problem.wide else np.exp(log_p)
        if self.kernel.first_extra is None:
            return atoms
        return np.concatenate([atoms, self.kernel.first_extra(self.fit)])


@dataclass(frozen=True)
class Method:
    """Kernels for all parts of a posterior, and the exact splits around them.

    `splits` is None where the raw categories are simulated.
    """

    parts: tuple[Part, ...]
    splits: SplitPlan | None

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return all(part.kernel.independent for part in self.parts)

    @property
    def starts_near_the_mode(self) -> bool:
        """Do all chains start where the posterior has its mass?"""
        return all(part.start is not None for part in self.parts)

    @property
    def statistics(self) -> list[str]:
        """Names of the statistics that the kernels record for each draw, each once."""
        return list(dict.fromkeys(part.kernel.statistic for part in self.parts))

    @property
    def work(self) -> int:
        """Elementary steps of one sweep over all parts."""
        own = sum(len(p.problem.members) + len(p.problem.shape) for p in self.parts)
        return own + sum(p.more_work for p in self.parts)


def prepare(model: Model, choice: Choice) -> Method:
    """Prepare the kernels of a choice, or refuse a method that does not fit."""
    if model.counts.events is not None:
        return Method((_part_with_events(model, *choice.methods),), None)
    if model.hyperprior is not None:
        (name,) = choice.methods
        kernel, problem, fit = prepare_with_concentration(model, name)
        return Method((Part(kernel, problem, model.concentration, fit),), None)
    if not choice.reduced:
        (name,) = choice.methods
        problem = raw_problem(model.counts, model.concentration)
        return Method((_part(name, problem, model.concentration, _RAW),), None)
    parts = [prepare_core(model.shapes, q, name) for q, name in enumerate(choice.methods)]
    return Method(tuple(parts), model.shapes.split_plan())


def _part_with_events(model: Model, name: str) -> Part:
    """Prepare a method for data with a model of its own."""
    if isinstance(model.counts.events, Placings):
        ranked = ready_for_rankings(model)
        kernel, problem, fit = prepare_rankings(model, name)
        extras = ranked.draw_parameters if model.drawn_parameters else None
        work = ranked.work
    else:
        kernel, problem, fit = prepare_contests(model, name)
        extras, work = ready_for_contests(model).draw_parameters, 0
    return Part(kernel, problem, model.concentration, fit, extras=extras, more_work=work)


def prepare_core(shapes: ModuleShapes, q: int, name: str) -> Part:
    """Prepare core q for a method, chosen here if "auto"; fits are kept with the shapes."""
    if name == "auto":
        name, _ = choose_for_core(shapes, q)
    key = f"part {q} {name}"
    if key not in shapes.memo:
        problem, prior = shapes.core_problem(q), shapes.prior[shapes.structure.cores[q].cells]
        shapes.memo[key] = _part(name, problem, prior, f"core {q + 1}", fits_of(shapes, q))
    part: Part = shapes.memo[key]
    return part


def _part(
    name: str, problem: Problem, prior: FloatArray, what: str, fits: Fits | None = None
) -> Part:
    """Prepare a method for a problem, or refuse a method that does not fit."""
    from luce.kernels import KERNELS

    fits = fits or Fits(problem)
    if problem.weights is not None:
        _refuse_for_weights(name, what)
    if name == SINGLE_SET:
        if fits.tangents is None:
            raise MethodError(
                f"method={name!r} does not fit {what}: it needs a single set with weights, which "
                "outcomes were recorded in, and no other set. Leave method='auto'."
            )
        return Part(KERNELS[name], problem, prior, fits.tangents)
    if name == "rejection":
        return _part_by_rejection(fits, prior, what)
    if name == "from-the-past":
        found = fits.past
        if isinstance(found, str):
            raise MethodError(
                f"method='from-the-past' does not fit {what}: {found}. Leave method='auto'."
            )
        return Part(KERNELS[name], direct(problem), prior, found)
    if name in ("hamiltonian", "independence"):
        return _part_with_curvature(name, fits, prior, what)
    if name == "waiting-times" and fits.dominant_items is not None:
        return Part(KERNELS[name], problem, prior, fits.dominant_items[0])
    if name in ("waiting-times", "hidden-counts") and problem.wide:
        return Part(KERNELS[name], problem, prior, find_shifts(problem, prior))
    if name == "metropolis" and problem.shape.min() < _LEAST_PLAIN_METROPOLIS:
        problem = problem._replace(wide=True)
    return Part(KERNELS[name], problem, prior)


def _part_by_rejection(fits: Fits, prior: FloatArray, what: str) -> Part:
    """Prepare rejection: from the envelope for sets that leave out one atom, or that for any."""
    from luce.kernels import CONCAVE_REJECTION, KERNELS

    one_left_out = fits.envelope
    if one_left_out is not None and one_left_out[1] >= _LEAST_FORCED:
        return Part(KERNELS["rejection"], fits.problem, prior, one_left_out[0])
    any_sets = fits.concave_envelope
    if any_sets is not None and any_sets[1] >= _LEAST_FORCED:
        return Part(CONCAVE_REJECTION, fits.problem, prior, any_sets[0])
    kept = "" if any_sets is None else f" (here {any_sets[1]:.1g})"
    raise MethodError(
        f"method='rejection' does not fit {what}: it needs probabilities within the range of "
        f"doubles, no grouped outcomes, and so little data that an envelope keeps {_LEAST_FORCED} "
        f"of its draws{kept}. method='from-the-past' draws exactly with more data, and 'auto' with "
        "any."
    )


def _refuse_for_weights(name: str, what: str) -> None:
    """Refuse methods whose kernels do not know weights."""
    if name == "hidden-counts":
        raise MethodError(
            f"method={name!r} does not fit {what}, which has weighted sets: 'waiting-times', "
            "'hamiltonian', 'independence', 'metropolis', 'rejection' and 'from-the-past' take "
            "them. Leave method='auto'."
        )


def _part_with_curvature(name: str, fits: Fits, prior: FloatArray, what: str) -> Part:
    """Prepare a method that starts from a mode and the curvature there."""
    from luce.kernels import KERNELS

    problem = fits.problem
    if fits.curvature is None and fits.diagonal is None:
        raise MethodError(
            f"method={name!r} does not fit {what}: it needs probabilities and a curvature within "
            "the range of doubles. Leave method='auto'."
        )
    if name == "hamiltonian":
        metric, _ = best_metric(fits)
        return Part(KERNELS[name], problem, prior, metric, _start(fits))
    if fits.proposal is None:
        raise MethodError(
            f"method='independence' does not fit {what}: it needs at most {MOST_DENSE:,} atoms, "
            "a curvature within the range of doubles, and no grouped outcomes, which may have "
            "several modes. Leave method='auto'."
        )
    proposal, worth = fits.proposal
    if worth < _LEAST_WORTH:
        warn_user(
            ConvergenceWarning(
                f"method='independence' hardly suits {what}: a draw is predicted to be worth "
                f"{worth:.2g} independent ones, and draws may never reach where the posterior lies "
                "furthest above its proposals. Leave method='auto'."
            )
        )
    return Part(KERNELS[name], problem, prior, proposal, _near(fits))


def _start(fits: Fits) -> Start | None:
    """Start near the mode where there are many atoms, or nothing would be accepted.

    With fewer, draws of the prior lie further apart, so that chains which do not mix are told.
    """
    return None if len(fits.problem.shape) <= _FEW else _near(fits)


def _near(fits: Fits) -> Start:
    """Start at draws of the normal approximation around the mode."""
    if fits.curvature is not None:
        return Start(fits.curvature.mode, fits.curvature.root)
    assert fits.diagonal is not None
    return Start(fits.diagonal.mode, 1.0 / np.sqrt(fits.diagonal.precision))
