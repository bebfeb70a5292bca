"""Methods for contests with ties and a home advantage: the choice, and the fit that moves need."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from luce._types import FloatArray
from luce.counts.canonical import concatenate
from luce.counts.contests import Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily, set_arrays
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.priors import Gamma
from luce.sampling.contest_posterior import (
    ContestPosterior,
    Known,
    denominator_powers,
    home_power,
    numerator_powers,
)
from luce.sampling.fits import dense_metric, diagonal_metric
from luce.sampling.laplace import extreme_eigenvalues

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.contests.moves import MoveFit
    from luce.kernels.contests.sides import AnyContests, Multipliers
    from luce.kernels.contests.sweep import ContestFit
    from luce.kernels.hamiltonian import Metric
    from luce.kernels.problem import Problem

# Most categories for which the curvature is a dense matrix: a move costs the square of their
# number, and the fit the cube.
_MOST_DENSE = 400

# Nanoseconds of the parts of a sweep and of a slope, measured on one machine; only ratios count.  A
# category, a meeting, and an element of the metric.
_GAMMA, _TIME, _SLOPE, _ATOM, _PRODUCT = 20.0, 25.0, 8.0, 4.0, 0.12

# Independent draws that a move replaces.
_WORTH = 0.8

# Newton steps, halvings of a step, and the squared length of a step, in standard deviations, below
# which the mode is found.
_MOST_STEPS, _MOST_HALVINGS, _CLOSE = 200, 60, 1e-16

# Relative rounding error of f, by which a step may seem to lower it; and the squared length of a
# step, as above, that may be nothing else where no part of it raises f.
_ROUNDING, _ROUNDING_OF_STEP = 1e-12, 1e-8

# The same for each coordinate where the mode is needed roughly, for a metric.
_CLOSE_ENOUGH = 1e-6

# Relative accuracy and largest number of products of conjugate gradients; least precision by which
# they are scaled.
_ACCURACY, _MOST_PRODUCTS, _LEAST_PRECISION = 1e-3, 200, 1e-12


class Curvature(NamedTuple):
    """The width of a posterior in each direction, and the predicted worth of a sweep."""

    metric: Metric
    share: float


class ReadyContests:
    """A model of contests, as kernels take it; fits are made when they are asked for."""

    def __init__(self, model: Model) -> None:
        contests = model.counts.events
        assert isinstance(contests, Contests)
        self.model, self.contests = model, contests
        powers = numerator_powers(contests)
        own = model.counts, model.concentration, contests
        self.plain = contest_problem(*own, powers)
        if contests.ties == "davidson":
            powers = powers + np.array([0.5, 0.0])  # of the inverse Gaussian variates
        self.problem = contest_problem(*own, powers)._replace(wide=self.plain.wide)

    @cached_property
    def arrays(self) -> AnyContests:
        """The contests as kernels take them."""
        from luce.kernels.contests.sides import Davidson, NoTies, RaoKupper, SingleSides, TeamSides
        from luce.kernels.problem import gamma_spreads

        c, waits = self.contests, denominator_powers(self.contests)
        more = waits[1] if len(waits) > 1 else np.empty(0)
        sides: SingleSides | TeamSides
        if c.are_pairs:
            sides = SingleSides(*(np.ascontiguousarray(s, np.uint32) for s in c.sides))
        else:
            weights = np.ones(len(c.members)) if c.weights is None else np.array(c.weights)
            sides = TeamSides(c.members.astype(np.uint32), c.start.astype(np.uint32), weights)
        forms = {None: NoTies, "davidson": Davidson, "rao-kupper": RaoKupper}
        form: Any = forms[c.ties]
        numbers = np.array(waits[0]), np.array(more), gamma_spreads(waits[0]), gamma_spreads(more)
        ties = float(c.results[:, 2].sum())
        found: AnyContests = form(sides, np.array(c.at_home), *numbers, home_power(c), ties)
        return found

    @cached_property
    def multipliers(self) -> Multipliers:
        """Places and priors of the parameters."""
        from luce.kernels.contests.sides import Multipliers

        drawn, priors = self.model.drawn_parameters, self.model.parameter_priors
        place = {name: len(self.plain.shape) + k for k, name in enumerate(drawn)}
        known = {name: np.log(x - self.contests.least(name)) for name, x in self._known.items()}
        own = {name: prior for name, prior in priors.items() if isinstance(prior, Gamma)}
        one = Gamma(1.0, 1.0)
        home, tie = own.get("home", one), own.get("tie", one)
        return Multipliers(
            place.get("home", -1),
            place.get("tie", -1),
            float(known.get("home", 0.0)),
            float(known.get("tie", 0.0)),
            *(home.shape, home.rate, tie.shape, tie.rate),
        )

    @property
    def _known(self) -> dict[str, float]:
        return self.model.known_parameters

    @property
    def drawn_priors(self) -> list[Gamma]:
        """Priors of the drawn parameters, in the order of the state."""
        priors = (self.model.parameter_priors[name] for name in self.model.drawn_parameters)
        return [prior for prior in priors if isinstance(prior, Gamma)]

    def draw_parameters(self, rng: np.random.Generator) -> FloatArray:
        """Draw first logarithms of the parameters from their priors, none of them very small."""
        own = self.drawn_priors
        return np.array([np.log(rng.gamma(max(g.shape, 0.5)) / g.rate) for g in own]).reshape(-1)

    @cached_property
    def fit(self) -> ContestFit:
        """The fit of the sweeps' kernel."""
        from luce.kernels.contests.sweep import ContestFit

        start = np.log([prior.mean for prior in self.drawn_priors]).reshape(-1)
        return ContestFit(self.arrays, self.multipliers, start, self.contests.least("tie"))

    @cached_property
    def posterior(self) -> ContestPosterior:
        """The log posterior in log λ and the logarithms of the parameters."""
        own = {
            name: Known(prior.shape, prior.rate)
            for name, prior in zip(self.model.drawn_parameters, self.drawn_priors, strict=True)
        }
        known = {name: float(np.log(x)) for name, x in self._known.items()}
        return ContestPosterior(self.plain, self.contests, own, known)

    @cached_property
    def curvature(self) -> Curvature | None:
        """Mode and curvature there, dense or diagonal; None where they are beyond doubles."""
        if self.plain.wide:
            return None
        try:
            return self._dense() if len(self.plain.shape) <= _MOST_DENSE else self._diagonal()
        except np.linalg.LinAlgError:
            return None

    def _dense(self) -> Curvature:
        """Factor the precision, and predict the worth of a sweep."""
        from scipy.linalg import eigvalsh

        f = self.posterior
        z, precision = climb(f, first_place(f))
        scale = self._scale_of_logs(z)
        precision = precision * np.multiply.outer(scale, scale)
        root = np.tril(np.linalg.inv(np.linalg.cholesky(precision)))
        half = np.sqrt(self._precision_of_a_sweep(z))
        scaled = root * half
        unit = self._scale_of_strengths(half)
        scaled -= np.outer(scaled @ unit, unit)
        most = float(eigvalsh(scaled.T @ scaled)[-1])
        return Curvature(dense_metric(root, self.plain), 1.0 / max(2.0 * most - 1.0, 1.0))

    def _diagonal(self) -> Curvature:
        """Take the diagonal of the precision, and its extreme eigenvalues in these units."""
        f = self.posterior
        z = climb_by_products(f, first_place(f))
        at, scale = f.at(z), self._scale_of_logs(z)
        diagonal = f.precision_diagonal(at) * scale**2
        if not (np.isfinite(diagonal) & (diagonal > 0)).all():
            raise np.linalg.LinAlgError("the curvature is beyond doubles")

        def times(v: FloatArray) -> FloatArray:
            return scale * f.times_precision(at, scale * v)

        extremes = extreme_eigenvalues(times, diagonal, self._scale_of_strengths(np.sqrt(diagonal)))
        sweep = self._precision_of_a_sweep(z)
        kept, _ = extreme_eigenvalues(times, sweep, self._scale_of_strengths(np.sqrt(sweep)))
        share = 1.0 / max(2.0 / max(kept, 1e-9) - 1.0, 1.0)
        return Curvature(diagonal_metric(diagonal, extremes, self.plain), share)

    def _scale_of_logs(self, z: FloatArray) -> FloatArray:
        """Return d z / d (coordinates of the state): log θ by log(θ - 1) for Rao and Kupper."""
        scale, f = np.ones(len(z)), self.posterior
        if self.contests.ties == "rao-kupper" and "tie" in f.names:
            at = f.n + f.names.index("tie")
            scale[at] = -np.expm1(-z[at])
        return scale

    def _scale_of_strengths(self, half: FloatArray) -> FloatArray:
        """Return the direction in which all strengths grow alike, in units of `half`."""
        unit = half.copy()
        unit[self.posterior.n :] = 0.0
        return unit / np.linalg.norm(unit)

    def _precision_of_a_sweep(self, z: FloatArray) -> FloatArray:
        """Return the precision given the waiting times: the shapes of a sweep's gammas.

        The prediction from it is right where all parameters are drawn together given the times, and
        a little too large where they are drawn in turn.
        """
        at = self.posterior.base.at(z[: self.posterior.n])
        return np.concatenate([self.problem.shape + at.given, self._parameter_powers()])

    @cached_property
    def moves(self) -> MoveFit | None:
        """The fit of the moves' kernel; None where there is no curvature within doubles."""
        from luce.kernels.contests.moves import MoveFit
        from luce.kernels.layouts import lean

        if self.curvature is None:
            return None
        return MoveFit(self.fit, lean(self.plain), self.curvature.metric)

    def _parameter_powers(self) -> FloatArray:
        """Return the shape of each drawn parameter's gamma in a sweep."""
        a, halves = self.arrays, 0.5 * self.contests.at_home.sum()
        powers = {
            "home": a.home_power + (halves if self.contests.ties == "davidson" else 0.0),
            "tie": a.tie_power,
        }
        drawn = zip(self.model.drawn_parameters, self.drawn_priors, strict=True)
        return np.array([powers[name] + prior.shape for name, prior in drawn]).reshape(-1)


def contest_problem(
    counts: ConditionalCounts,
    prior: FloatArray,
    contests: Contests,
    powers: FloatArray,
) -> Problem:
    """Lay out the sets of the counts, and the contests' numerators as powers of strengths.

    Parameters
    ----------
    counts
        The data, of which the sets and the counts of single categories are taken.
    prior
        Powers of the single categories besides the data's, shape (n,).
    contests
        The contests, perhaps some of those of the data.
    powers
        Power of each side's strength, shape (meetings, 2).
    """
    from luce.kernels.problem import make_problem

    n = contests.n
    lengths = np.diff(contests.start)
    each = powers.ravel()
    single = lengths == 1
    shape = prior + counts.category_counts
    first = contests.members[contests.start[:-1]]
    shape = shape + np.bincount(first[single], each[single], n)
    families = [counts.sets]
    if not single.all():
        families.append(_teams(contests, ~single & (each > 0), each))
    family = concatenate(n, families)
    net = counts.category_counts.sum() + counts.sets.exponent.sum()
    total = float(prior.sum() + max(net, 0.0))
    return make_problem(*set_arrays(family), shape, total, weights=family.weights)


def _teams(contests: Contests, chosen: Any, powers: FloatArray) -> SetFamily:
    """Return the sides of several members as sets with their powers."""
    members = np.repeat(chosen, np.diff(contests.start))
    start = np.r_[0, np.cumsum(np.diff(contests.start)[chosen])]
    number = int(chosen.sum())
    return SetFamily(
        contests.n,
        contests.members[members],
        start,
        np.zeros(number, np.bool_),
        np.arange(number + 1),
        start[1:],
        powers[chosen],
        None if contests.weights is None else contests.weights[members],
    )


def ready_for_contests(model: Model) -> ReadyContests:
    """Make a model ready for kernels, once; what was fitted is kept with the model."""
    key = "ready for contests"
    if key not in model.memo:
        model.memo[key] = ReadyContests(model)
    found: ReadyContests = model.memo[key]
    return found


def first_place(posterior: ContestPosterior) -> FloatArray:
    """Return a place to climb from: strengths in proportion to powers, parameters near 1."""
    base = posterior.base
    shape = np.maximum(base.shape, 1e-3)
    scale = base.total_shape if base.scale > 0 else 1.0
    start = np.log(shape * (scale / shape.sum()))
    start = start / 2 + np.log(scale / len(shape)) / 2
    tie = 0.4 if posterior.contests.ties == "rao-kupper" else 0.0
    first = [tie if name == "tie" else 0.0 for name in posterior.names]
    return np.concatenate([start, first])


class Smooth(Protocol):
    """A function with its slope and minus its second derivatives."""

    def value(self, z: FloatArray) -> float:
        """Compute the function."""

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute its slope and minus its second derivatives."""


def climb(posterior: Smooth, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Climb to a maximum by Newton's method; return it, and the precision there.

    A precision that is not definite, as with teams, is raised until it is; a step is halved until f
    does not fall.
    """
    from scipy.linalg import cho_factor, cho_solve

    value = posterior.value(z)
    for _ in range(_MOST_STEPS):
        slope, precision = posterior.slope_and_precision(z)
        if not (np.isfinite(slope).all() and np.isfinite(precision).all()):
            break
        raised, factor = 0.0, None
        while factor is None:
            try:
                factor = cho_factor(precision + raised * np.diag(np.diag(precision).clip(1e-8)))
            except np.linalg.LinAlgError:
                raised = max(2 * raised, 1e-3)
                if raised > 1e12:
                    raise
        step = cho_solve(factor, slope)
        decrement = float(slope @ step)
        if decrement <= _CLOSE and raised == 0.0:
            return z, precision
        for _halving in range(_MOST_HALVINGS):
            new = posterior.value(z + step)
            if new >= value - _ROUNDING * abs(value):
                break
            step = step / 2
        else:
            if decrement < _ROUNDING_OF_STEP and raised == 0.0:
                return z, precision
            break
        z, value = z + step, new
    raise np.linalg.LinAlgError("no maximum was found")


def climb_by_products(posterior: ContestPosterior, z: FloatArray) -> FloatArray:
    """Climb to a maximum by Newton steps from conjugate gradients, for very many categories."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import LinearOperator, cg

    value, size = posterior.value(z), posterior.size
    for _ in range(_MOST_STEPS):
        at = posterior.at(z)
        slope = posterior.slope(at)
        if not np.isfinite(slope).all():
            break
        scale = 1.0 / np.maximum(posterior.precision_diagonal(at), _LEAST_PRECISION)
        product = LinearOperator((size, size), partial(posterior.times_precision, at))
        step, _ = cg(product, slope, M=diags_array(scale), rtol=_ACCURACY, maxiter=_MOST_PRODUCTS)
        if not slope @ step > 0:
            step = scale * slope
        decrement = float(slope @ step)
        if decrement < _CLOSE_ENOUGH * size:
            return z
        for _halving in range(_MOST_HALVINGS):
            new = posterior.value(z + step)
            if new > value:
                break
            step = step / 2
        else:
            break
        z, value = z + step, new
    raise np.linalg.LinAlgError("no maximum was found")


def choose_for_contests(model: Model, name: str) -> tuple[str, str]:
    """Choose a method, with the reason, or refuse one that cannot draw contests."""
    if name == "auto":
        return _choose(ready_for_contests(model))
    if name not in ("waiting-times", "hamiltonian"):
        raise MethodError(
            f"method={name!r} cannot draw contests with {ready_for_contests(model).contests.model};"
            " 'waiting-times' and 'hamiltonian' can. Leave method='auto'."
        )
    return name, "asked for"


def _choose(ready: ReadyContests) -> tuple[str, str]:
    """Choose the method of the cheaper effective draw."""
    if ready.curvature is None:
        return "waiting-times", "contests, their curvature beyond doubles: waiting times need none"
    n, meetings = len(ready.plain.shape), len(ready.contests)
    sets = len(ready.plain.members)
    times = (1 + (ready.contests.ties is not None)) * meetings
    sweep = _GAMMA * n + _TIME * times + _SLOPE * sets
    metric, share = ready.curvature.metric, ready.curvature.share
    slope = _ATOM * n + _SLOPE * (times + sets) + (metric.root is not None) * _PRODUCT * n * n
    move = 2 * max(1.0, metric.length / metric.step) * slope
    if _WORTH / move > share / sweep:
        return "hamiltonian", f"contests: a waiting-time sweep would be worth {share:.2g} draws"
    return "waiting-times", f"contests: a waiting-time sweep is worth about {share:.2g} draws"


def prepare_contests(model: Model, name: str) -> tuple[Kernel, Problem, Any]:
    """Prepare kernel, problem and fit of a method, or refuse a method that does not fit."""
    from luce.kernels import CONTESTS

    ready = ready_for_contests(model)
    kernel = CONTESTS[name]._replace(extra=model.drawn_parameters)
    if name == "waiting-times":
        return kernel, ready.problem, ready.fit
    if ready.moves is None:
        raise MethodError(
            "method='hamiltonian' needs probabilities and a curvature within the range of doubles, "
            "which this posterior does not have. Leave method='auto'."
        )
    return kernel, ready.problem, ready.moves
