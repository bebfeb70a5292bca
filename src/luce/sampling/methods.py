"""Choice of the method that draws a model: made from the model alone, never by the clock.

A choice is names and reasons, small enough to be stored with a run.  A method is the choice made
ready: kernels, problems and fits.  Model and choice together determine the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.shapes import ModuleShapes, raw_problem
from luce.sampling import envelope, laplace
from luce.sampling.concentration import choose_with_concentration, prepare_with_concentration
from luce.sampling.settings import Settings
from luce.sampling.shifts import find_shifts

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.hamiltonian import Metric
    from luce.kernels.layouts import AnyProblem
    from luce.kernels.problem import Problem
    from luce.kernels.rejection import Envelope

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

# Costs of the parts of a sweep, in units of one addition: a random gamma or exponential, an
# exponential or division, a number read from or written to a list.
_GAMMA, _FUNCTION, _LISTED = 12.0, 5.0, 2.0

# Effective draws that one Hamiltonian move is worth, measured on many problems; and the most atoms
# for which a curvature is fitted, since a move costs the square of their number.
_HAMILTONIAN_SHARE, _MOST_HAMILTONIAN = 0.7, 1000

# Smallest share of accepted draws at which rejection is carried out when it is asked for by name.
_LEAST_FORCED = 0.001

# Factor by which Hamiltonian moves must look better: with many atoms they may take several steps.
_MARGIN = 1.5

_RAW = "the raw categories"


@dataclass(frozen=True)
class Choice:
    """The method of each part of a posterior, by name, with the reason.

    Parameters
    ----------
    methods, reasons
        One for each core, or one for the raw categories; none where everything is exact.
    reduced
        Are only the cores simulated, and the rest split exactly?
    """

    methods: tuple[str, ...]
    reasons: tuple[str, ...]
    reduced: bool = True

    @property
    def name(self) -> str:
        """Names of the methods used, "exact" where there is nothing to simulate."""
        return ", ".join(dict.fromkeys(self.methods)) or "exact"

    @property
    def reason(self) -> str:
        """Reasons, each distinct one once."""
        if not self.methods:
            return "the sets nest, so the posterior is a tree of Dirichlet splits"
        return "; ".join(dict.fromkeys(self.reasons))


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
    """

    kernel: Kernel
    problem: Problem
    prior: FloatArray
    fit: Any = None

    @cached_property
    def arrays(self) -> AnyProblem:
        """The problem in the leanest form that the kernel takes."""
        from luce.kernels.layouts import lean
        from luce.kernels.shifts import Shifts

        general = self.kernel.general or isinstance(self.fit, Shifts)
        return self.problem if general else lean(self.problem)

    def draw_start(self, rng: np.random.Generator) -> FloatArray:
        """Draw a state from the prior, with shapes of at least 0.05."""
        # A named atom of a Dirichlet process has no prior mass of its own; any start will do.
        shape = np.maximum(np.where(self.prior > 0, self.prior, 1.0), _LEAST_START_SHAPE)
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(len(shape))) / shape
        return self._state(logs - np.logaddexp.reduce(logs))

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
    def statistics(self) -> list[str]:
        """Names of the statistics that the kernels record for each draw, each once."""
        return list(dict.fromkeys(part.kernel.statistic for part in self.parts))

    @property
    def work(self) -> int:
        """Elementary steps of one sweep over all parts."""
        return sum(len(p.problem.members) + len(p.problem.shape) for p in self.parts)


def choose(model: Model, settings: Settings) -> Choice:
    """Choose how to draw a model, or refuse a method that does not fit it."""
    name = settings.method
    if model.hyperprior is not None:
        name, reason = choose_with_concentration(model, name)
        return Choice((name,), (reason,), reduced=False)
    if not settings.reduce:
        if name == "exact":
            raise MethodError("method='exact' is the reduction; it cannot run with reduce=False.")
        name = "waiting-times" if name == "auto" else name
        return Choice((name,), ("asked for on the raw categories",), reduced=False)
    if model.structure.is_exact:
        return Choice((), ())
    if name == "exact":
        raise MethodError(
            f"method='exact' needs sets that nest, but: {model.structure!r} "
            "Leave method='auto' to simulate the cores and keep the rest exact."
        )
    cores = range(len(model.structure.cores))
    if name != "auto":
        return Choice((name,) * len(cores), ("asked for",) * len(cores))
    chosen = [_choose_for_core(model.shapes, q) for q in cores]
    return Choice(tuple(name for name, _ in chosen), tuple(reason for _, reason in chosen))


def prepare(model: Model, choice: Choice) -> Method:
    """Prepare the kernels of a choice, or refuse a method that does not fit."""
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


def prepare_core(shapes: ModuleShapes, q: int, name: str) -> Part:
    """Prepare core q for a method, chosen here if "auto"; fits are kept with the shapes."""
    if name == "auto":
        name, _ = _choose_for_core(shapes, q)
    key = f"part {q} {name}"
    if key not in shapes.memo:
        problem, prior = shapes.core_problem(q), shapes.prior[shapes.structure.cores[q].cells]
        shapes.memo[key] = _part(name, problem, prior, f"core {q + 1}", _fits(shapes, q))
    part: Part = shapes.memo[key]
    return part


class _Fits:
    """Envelope and curvature of one problem, each fitted when it is first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def envelope(self) -> tuple[Envelope, float] | None:
        """Dirichlet above the posterior, and the share of its draws that is kept; None if none."""
        return envelope.fit_envelope(self._problem)

    @cached_property
    def curvature(self) -> tuple[Metric, float] | None:
        """Curvature, and effective draws in a waiting-time sweep; None where beyond doubles."""
        try:
            return laplace.fit_curvature(self._problem)
        except np.linalg.LinAlgError:
            return None


def _fits(shapes: ModuleShapes, q: int) -> _Fits:
    key = f"fits {q}"
    if key not in shapes.memo:
        shapes.memo[key] = _Fits(shapes.core_problem(q))
    found: _Fits = shapes.memo[key]
    return found


def _choose_for_core(shapes: ModuleShapes, q: int) -> tuple[str, str]:
    """Choose rejection where it accepts enough, else the method of the cheaper effective draw."""
    problem, fits = shapes.core_problem(q), _fits(shapes, q)
    enveloped = fits.envelope
    if enveloped is not None and enveloped[1] >= envelope.LEAST_ACCEPTED:
        accepted = enveloped[1]
        return "rejection", (
            f"a Dirichlet lies close above the posterior: {accepted:.0%} of its draws are kept"
        )
    if len(problem.shape) > _MOST_HAMILTONIAN or problem.wide or (problem.groups > 0).any():
        reason = "overlapping sets must be simulated, and waiting times suit all of them"
        return "waiting-times", reason
    curved = fits.curvature
    if curved is None:
        return "waiting-times", "its curvature is beyond doubles, and waiting times need none"
    share = curved[1]
    sweep, move = _costs(problem)
    if _HAMILTONIAN_SHARE / move > _MARGIN * share / sweep:
        return "hamiltonian", (
            f"weakly connected: a waiting-time sweep would be worth {share:.2g} draws"
        )
    return (
        "waiting-times",
        f"well connected: a waiting-time sweep is worth about {share:.2g} draws",
    )


def _costs(problem: Problem) -> tuple[float, float]:
    """Estimate the costs of a waiting-time sweep and of a Hamiltonian move, in additions."""
    n, n_sets, listed = len(problem.shape), len(problem.waits), len(problem.members)
    sweep = 2 * _LISTED * listed + _GAMMA * (n_sets + n)
    slope = 2 * _LISTED * listed + _FUNCTION * (n_sets + n) + n * n / 2
    # A move takes two slopes and one more product with the curvature.
    return sweep, 2 * slope + n * n / 4 + _GAMMA * n


def _part(
    name: str, problem: Problem, prior: FloatArray, what: str, fits: _Fits | None = None
) -> Part:
    """Prepare a method for a problem, or refuse a method that does not fit."""
    from luce.kernels import KERNELS

    fits = fits or _Fits(problem)
    if name == "rejection":
        enveloped = fits.envelope
        if enveloped is None or enveloped[1] < _LEAST_FORCED:
            raise MethodError(
                f"method='rejection' does not fit {what}: it needs sets that each leave out one "
                f"of at most {envelope.MOST_ATOMS} atoms, shapes above 0.2, no grouped outcomes, "
                f"and an envelope that keeps {_LEAST_FORCED} of its draws. Leave method='auto'."
            )
        return Part(KERNELS[name], problem, prior, enveloped[0])
    if name == "hamiltonian":
        plain = not (problem.groups > 0).any() and not problem.wide
        fits_in = plain and len(problem.shape) <= laplace.MOST_DENSE
        curved = fits.curvature if fits_in else None
        if curved is None:
            raise MethodError(
                f"method='hamiltonian' does not fit {what}: it needs at most "
                f"{laplace.MOST_DENSE:,} atoms, no grouped outcomes, and probabilities and "
                "curvature within the range of doubles. Leave method='auto'."
            )
        return Part(KERNELS[name], problem, prior, curved[0])
    if name in ("waiting-times", "hidden-counts") and problem.wide:
        return Part(KERNELS[name], problem, prior, find_shifts(problem, prior))
    if name == "metropolis" and problem.shape.min() < _LEAST_PLAIN_METROPOLIS:
        problem = problem._replace(wide=True)
    return Part(KERNELS[name], problem, prior)
