"""Methods for a concentration that is drawn too: the choice, and the fit that moves need.

With x = log a and the θ = log λ of `kernels.hamiltonian_concentration`, let θ(x) be the mode of θ
given x, and H(x) the precision there.  Laplace's method gives the posterior of x alone,

    log p(x) ≈ f(θ(x), x) - ½ log det H(x)

whose mode and curvature S are found by parabolas.  The joint mode of θ and x would not do: with
many categories and little data it lies at far too large a concentration.  The precision of (θ, x),

    H          -a w
    -a w'      S + a² w' H^(-1) w

has S as the precision of x alone.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.shapes import raw_problem
from luce.sampling.log_posterior import LogPosterior, Place
from luce.sampling.newton import climb

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.hamiltonian_concentration import JointMetric
    from luce.kernels.problem import Problem
    from luce.kernels.random_concentration import Hyperprior

# Most categories for which a curvature is fitted, unless asked for by name, and then: a move costs
# the square of their number, and the fit the cube.
_MOST_CATEGORIES, _MOST_FORCED = 500, 1000

# Nanoseconds of the parts of a sweep in logarithms and of a slope, measured on one machine; only
# ratios count.  A slice step for the concentration, or its slope; a category; a set; a stored
# member; an element of the metric.
_SCALE, _LOG_CATEGORY, _LOG_SET, _LOG_MEMBER = 500.0, 100.0, 30.0, 20.0
_SLOPE, _CATEGORY, _SET, _MEMBER, _PRODUCT = 200.0, 25.0, 3.0, 1.0, 0.2

# Factor by which moves must look better than sweeps, which need no fit to be right.
_MARGIN = 1.3

# Independent draws that a move replaces where the precision of θ is the same for all likely
# concentrations; and how much change of it lowers that, and the worth of a sweep (both measured).
_WORTH, _LOSS_OF_MOVES, _LOSS_OF_SWEEPS = 0.9, 1.5, 0.5

# Length of a Hamiltonian move, its random relative change, and the first step.
_LENGTH, _JITTER, _STEP = 2.2, 0.1, 2.0

# Largest |log a| at which a mode is looked for.
_LARGEST = 50.0

# Most parabolas, and how near the middle of the last one its top must be, in standard deviations.
_MOST_PARABOLAS, _NEAR = 40, 0.3

# Evaluations of f in one climb, and first steps of the first climb, that never lower f.
_MOST_LOOKS, _CAUTIOUS_STEPS = 200, 4


def choose_with_concentration(model: Model, name: str) -> tuple[str, str]:
    """Choose a method, with the reason, or refuse one that cannot draw a concentration."""
    if name == "auto":
        return _choose(ready_for_concentration(model))
    if name not in ("waiting-times", "hamiltonian"):
        raise MethodError(
            f"method={name!r} needs a concentration that is a number; with a gamma prior on it, "
            "'waiting-times' and 'hamiltonian' can be used. Leave method='auto'."
        )
    return name, "asked for"


def prepare_with_concentration(model: Model, name: str) -> tuple[Kernel, Problem, Any]:
    """Prepare kernel, problem and fit of a method, or refuse a method that does not fit."""
    from luce.kernels import HAMILTONIAN_CONCENTRATION, RANDOM_CONCENTRATION

    ready = ready_for_concentration(model)
    if name == "waiting-times":
        return RANDOM_CONCENTRATION, ready.problem, ready.hyper
    joint = ready.joint_metric if _MOST_FORCED >= len(ready.hyper.weights) > 1 else None
    if joint is None:
        raise MethodError(
            f"method='hamiltonian' needs 2 to {_MOST_FORCED:,} categories, and a curvature "
            f"within the range of doubles; there are {len(ready.hyper.weights):,} categories. "
            "Leave method='auto'."
        )
    return HAMILTONIAN_CONCENTRATION, ready.problem, joint


class ReadyModel:
    """A model whose concentration is drawn, as kernels take it; fits are made when asked for."""

    def __init__(self, model: Model) -> None:
        # Logarithms throughout, since the concentration may become arbitrarily small.
        self.problem = raw_problem(model.counts, model.concentration)._replace(wide=True)
        self.hyper = hyperprior_of(model)

    @cached_property
    def fit(self) -> ConcentrationFit | None:
        """Widths of the posterior; None where they are beyond doubles."""
        try:
            return fit_concentration(self.problem, self.hyper)
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def joint_metric(self) -> JointMetric | None:
        """Fit of joint moves; None where it is beyond doubles."""
        from luce.kernels.hamiltonian import Metric
        from luce.kernels.hamiltonian_concentration import JointMetric
        from luce.kernels.layouts import lean
        from luce.kernels.log_powers import make_powers

        if self.fit is None:
            return None
        root, exponent = self.fit.root, self.problem.waits - self.problem.groups
        back, powers = np.ascontiguousarray(root.T), make_powers(exponent)
        metric = Metric(root, back, None, exponent, powers, _LENGTH, _JITTER, _STEP)
        return JointMetric(lean(self.problem._replace(wide=None)), metric, self.hyper)


def ready_for_concentration(model: Model) -> ReadyModel:
    """Make a model ready for kernels, once; what was fitted is kept with the model."""
    key = "ready for concentration"
    if key not in model.memo:
        model.memo[key] = ReadyModel(model)
    found: ReadyModel = model.memo[key]
    return found


def _choose(ready: ReadyModel) -> tuple[str, str]:
    """Choose the method of the cheaper effective draw."""
    if not 1 < len(ready.hyper.weights) <= _MOST_CATEGORIES:
        return "waiting-times", "the concentration is drawn too, and waiting times suit any data"
    fit = ready.fit
    if fit is None:
        return "waiting-times", "its curvature is beyond doubles, and waiting times need none"
    sweep, move = _costs(ready.problem)
    worth = f"the concentration is drawn too: a waiting-time sweep is worth about {fit.share:.2g}"
    if fit.worth / move > _MARGIN * fit.share / sweep:
        return "hamiltonian", f"{worth} draws, and a joint move about {fit.worth:.2g}"
    return "waiting-times", f"{worth} draws"


def _costs(problem: Problem) -> tuple[float, float]:
    """Estimate the costs of a waiting-time sweep in logarithms and of a joint move."""
    n, n_sets, listed = len(problem.shape), len(problem.waits), len(problem.members)
    sweep = _SCALE + _LOG_CATEGORY * n + _LOG_SET * n_sets + _LOG_MEMBER * listed
    slope = _SLOPE + _CATEGORY * n + _SET * n_sets + _MEMBER * listed + _PRODUCT * n * n
    return sweep, 4 * slope  # most moves have two steps of two slopes each


def hyperprior_of(model: Model) -> Hyperprior:
    """Read the prior of the concentration and the data that it needs from a model."""
    from luce.kernels.random_concentration import make_hyperprior

    counts, hyperprior = model.counts, model.hyperprior
    assert hyperprior is not None
    net = max(float(counts.category_counts.sum() + counts.sets.exponent.sum()), 0.0)
    weights = model.concentration / hyperprior.mean
    single = np.array(counts.category_counts)
    return make_hyperprior(single, net, hyperprior.shape, hyperprior.rate, weights)


class Slice(NamedTuple):
    """The posterior given log a = `x`: its mode, and the Cholesky factor of its precision.

    `log_density` is that of log a, by Laplace's method, up to a constant.
    """

    x: float
    mode: Place
    factor: FloatArray
    log_density: float


class Summit(NamedTuple):
    """The mode of x = log a, with its precision S, and the slices of the last parabola around."""

    top: Slice
    precision: float
    around: tuple[Slice, Slice]

    @property
    def change(self) -> float:
        """How much the precision of θ changes over one standard deviation of x.

        It is the mean of |F^(-1) H(x ± s) F'^(-1) - I|² (Frobenius), H = FF' that at the mode.
        """
        from scipy.linalg import solve_triangular

        total = 0.0
        for other in self.around:
            ratio = solve_triangular(self.top.factor, other.factor, lower=True)
            change = ratio @ ratio.T - np.eye(len(ratio))
            total += float((change**2).sum()) / (other.x - self.top.x) ** 2
        return total / 2 / self.precision


class Marginal:
    """The posterior of x = log a alone, by Laplace's method.

    Parameters
    ----------
    problem, hyper
        The data, and the prior of the concentration.
    """

    def __init__(self, problem: Problem, hyper: Hyperprior) -> None:
        self._f, self._hyper = LogPosterior(problem), hyper
        self._slices: dict[float, Slice] = {}

    def at(self, x: float) -> Slice:
        """Climb to the mode given x."""
        if x not in self._slices:
            self._slices[x] = self._climb(x)
        return self._slices[x]

    def _climb(self, x: float) -> Slice:
        from scipy.linalg import cholesky

        hyper, f, a = self._hyper, copy.copy(self._f), math.exp(x)
        f.shape, f.scale = a * hyper.weights + hyper.counts, 1.0
        f.total_shape = a * float(hyper.weights.sum()) + hyper.net
        if self._slices:
            near = min(self._slices.values(), key=lambda known: abs(known.x - x)).mode
            start, first = near.theta + math.log(f.total_shape / near.x.sum()), 0
        else:
            start, first = np.log(f.shape * (f.total_shape / f.shape.sum())), _CAUTIOUS_STEPS
        theta, _ = climb(f, np.arange(len(start)), start, first, _MOST_LOOKS)
        mode = f.at(theta)
        precision = f.precision(mode)
        if not np.isfinite(precision).all():
            raise np.linalg.LinAlgError("the curvature is beyond doubles")
        factor = np.asarray(cholesky(precision, lower=True))
        log_density = mode.value + _log_prior(hyper, x, 0.0) - np.log(np.diag(factor)).sum()
        log_density -= _log_gamma(f.total_shape)
        return Slice(x, mode, factor, float(log_density))

    def summit(self) -> Summit:
        """Find the mode of x by parabolas about as wide as the posterior."""
        x, width = math.log(self._hyper.shape / self._hyper.rate), 1.0
        for _ in range(_MOST_PARABOLAS):
            if abs(x) + width > _LARGEST:
                break
            below, here, above = (self.at(z) for z in (x - width, x, x + width))
            low, middle, high = (z.log_density for z in (below, here, above))
            if middle < max(low, high):
                x += width if high > low else -width
                continue
            precision = (2 * middle - low - high) / width**2
            if not precision > 0:
                break
            spread = 1 / math.sqrt(precision)
            shift = (high - low) / (2 * width * precision)
            if abs(shift) < _NEAR * spread and 0.5 < width / spread < 2:
                return Summit(here, precision, (below, above))
            x, width = x + shift, min(max(spread, width / 4), 4 * width)
        raise np.linalg.LinAlgError("the posterior of the concentration has no mode")


def _log_gamma(a: float) -> float:
    return math.lgamma(a + 1.0) - math.log(a)


def _log_prior(hyper: Hyperprior, x: float, total: float) -> float:
    """Evaluate the log prior density of p and x, up to a constant; `total` is Σ w_i log p_i."""
    a = math.exp(x)
    value = _log_gamma(a * float(hyper.weights.sum())) + a * total
    for weight, times in zip(hyper.values.tolist(), hyper.times.tolist(), strict=True):
        value -= times * _log_gamma(a * weight)
    return value + (hyper.shape + hyper.named) * x - hyper.rate * a


class ConcentrationFit(NamedTuple):
    """Widths of a posterior, and what draws are worth: how many independent ones they replace.

    Attributes
    ----------
    root
        B, the inverse of the Cholesky factor of the precision of (θ, x): lower triangular.
    worth, share
        Worth of a joint move, and of a sweep of waiting times, predicted.
    """

    root: FloatArray
    worth: float
    share: float


def fit_concentration(problem: Problem, hyper: Hyperprior) -> ConcentrationFit:
    """Fit the widths of the posterior in each direction of (θ, x); raise LinAlgError if none.

    The posterior of a category with few outcomes is skewed, and wider than its precision at the
    mode tells: as log G of a gamma variate of shape c, whose variance is ψ'(c) and not 1 / c.  So
    widths of θ_i are multiplied by √(c ψ'(c)).
    """
    from scipy.linalg import solve_triangular

    summit = Marginal(problem, hyper).summit()
    at, change = summit.top, summit.change
    n, a, taken = len(hyper.weights), math.exp(at.x), at.mode.taken
    factor = np.zeros((n + 1, n + 1))
    factor[:n, :n] = at.factor
    factor[n, :n] = solve_triangular(at.factor, -a * hyper.weights, lower=True)
    factor[n, n] = math.sqrt(summit.precision)
    root = np.tril(solve_triangular(factor, np.eye(n + 1), lower=True))
    root[:, :n] *= np.sqrt(taken * _trigamma(taken))
    share = min(_share_of_sets(at), _share_of_scale(summit, hyper) / (1 + _LOSS_OF_SWEEPS * change))
    return ConcentrationFit(root, _WORTH / (1 + _LOSS_OF_MOVES * change), share)


def _trigamma(c: FloatArray) -> FloatArray:
    """Compute ψ'(c), the variance of the logarithm of a gamma variate of shape c."""
    below = sum(1.0 / (c + k) ** 2 for k in range(8))
    y = 1.0 / (c + 8)
    return np.asarray(below + y + y**2 / 2 + y**3 / 6 - y**5 / 30 + y**7 / 42)


def _share_of_sets(at: Slice) -> float:
    """Predict the worth of a sweep for the slowest functional of p, as `sampling.laplace` does."""
    from scipy.linalg import solve_triangular

    half = np.sqrt(at.mode.taken)
    scaled = solve_triangular(at.factor, np.diag(half), lower=True)
    unit = half / np.linalg.norm(half)
    scaled -= np.outer(scaled @ unit, unit)
    most = float(np.linalg.eigvalsh(scaled.T @ scaled)[-1])
    return 1.0 / max(2.0 * most - 1.0, 1.0)


def _share_of_scale(summit: Summit, hyper: Hyperprior) -> float:
    """Predict the worth of a sweep for x, from its precisions given p and alone."""
    at, width = summit.top, 1e-2
    log_p = at.mode.theta - math.log(at.mode.x.sum())
    total = float(hyper.weights @ log_p)
    low, middle, high = (_log_prior(hyper, at.x + k * width, total) for k in (-1, 0, 1))
    given_p = (2 * middle - low - high) / width**2
    return 1.0 / max(2.0 * given_p / summit.precision - 1.0, 1.0)
