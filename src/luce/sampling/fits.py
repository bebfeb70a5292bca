"""Fits of a core that samplers need: envelope, metric and proposal, with what a draw is worth.

Each is fitted when it is first asked for.  Worth is the number of independent draws that a draw
replaces, predicted from the fit.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.sampling import concave_envelope, envelope, from_the_past, laplace
from luce.sampling.log_posterior import LogPosterior
from luce.sampling.single_items import choose_items

if TYPE_CHECKING:
    from luce.kernels.concave_rejection import ConcaveEnvelope
    from luce.kernels.from_the_past import Past
    from luce.kernels.hamiltonian import Metric
    from luce.kernels.independence import Proposal
    from luce.kernels.log_powers import Powers
    from luce.kernels.problem import Problem
    from luce.kernels.rejection import Envelope
    from luce.kernels.single_items import SingleItems
    from luce.kernels.single_weighted_set import Tangents

# Length of a Hamiltonian move in a dense metric, and its random relative change.  A quarter turn of
# a quadratic density is π/2; a longer move makes the error of the mean smaller.
_LENGTH, _JITTER = 1.8, 0.1

# The same in a diagonal metric, where directions differ in width: length times the root of the
# least curvature, at most so long; and more random, so that no direction comes back to its start.
_TURN, _LONGEST, _DIAGONAL_JITTER = 2.6, 6.0, 0.3

# A step h of n atoms is accepted often enough up to about this number times n^(-1/4), in units of
# the most curved direction, in a dense and a diagonal metric; and is at most this multiple of the
# length.
_DENSE_STEP, _STEP, _LARGEST_STEP = 6.0, 7.0, 1.5

# Stored members from which items that dominate their sets are looked for.
_MUCH_DATA = 20_000

# Draws from which the worth of a proposal is estimated, and the proposal's degrees of freedom as a
# multiple of the number of atoms: tails just heavy enough.
_PILOT, _DEGREES = 60, 4.0


class Start(NamedTuple):
    """A distribution of starting points: centre and a root of the covariance of log p."""

    centre: FloatArray
    root: FloatArray

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw log p, up to a constant."""
        z = rng.standard_normal(len(self.centre))
        return self.centre + (self.root * z if self.root.ndim == 1 else z @ self.root)


class Fits:
    """Fits of one core, each made when it is first asked for."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.grouped = bool((problem.groups > 0).any())

    @cached_property
    def envelope(self) -> tuple[Envelope, float] | None:
        """Dirichlet above the posterior, and the share of its draws that is kept; None if none."""
        return envelope.fit_envelope(self.problem)

    @cached_property
    def tangents(self) -> Tangents | None:
        """Envelope of the scalar behind a single weighted set; None for all other cores."""
        from luce.sampling.single_weighted_set import fit_tangents, is_single_weighted_set

        return fit_tangents(self.problem) if is_single_weighted_set(self.problem) else None

    @cached_property
    def concave_envelope(self) -> tuple[ConcaveEnvelope, float] | None:
        """Dirichlet above the posterior of any sets, and the share of its draws that is kept."""
        if self.curvature is None:
            return None
        return concave_envelope.fit_concave_envelope(self.problem, self.curvature.mode)

    @cached_property
    def past(self) -> Past | str:
        """Starting points of couplings from the past, or the reason why there are none."""
        return from_the_past.fit_past(self.problem)

    @cached_property
    def curvature(self) -> laplace.CurvatureFit | None:
        """Dense curvature at a mode; None where it is beyond doubles or there are many atoms."""
        if self.problem.wide or len(self.problem.shape) > laplace.MOST_DENSE:
            return None
        try:
            return laplace.fit_curvature(self.problem)
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def diagonal(self) -> laplace.DiagonalFit | None:
        """Diagonal of the curvature at a mode; None where numbers are kept as logarithms."""
        return None if self.problem.wide else laplace.fit_diagonal(self.problem)

    @cached_property
    def dense_metric(self) -> Metric | None:
        """Metric of Hamiltonian moves in all directions."""
        return None if self.curvature is None else dense_metric(self.curvature.root, self.problem)

    @cached_property
    def diagonal_metric(self) -> Metric | None:
        """Metric of Hamiltonian moves in units of each atom's own width."""
        fit = self.diagonal
        if fit is None:
            return None
        return diagonal_metric(fit.precision, (fit.least, fit.most), self.problem)

    @cached_property
    def dominant_items(self) -> tuple[SingleItems, float] | None:
        """Items to move by themselves before each sweep, and the predicted gain; None if none.

        None for little data too, where sweeps are short.
        """
        if self.problem.wide or len(self.problem.members) < _MUCH_DATA:
            return None
        fit = self.curvature or self.diagonal
        return None if fit is None else choose_items(self.problem, fit.mode)

    @cached_property
    def proposal(self) -> tuple[Proposal, float] | None:
        """Student t around the mode, and the worth of a draw proposed by it.

        None with grouped outcomes: there may be other modes, which it would never propose.
        """
        if self.curvature is None or self.grouped:
            return None
        try:
            return _fit_proposal(self.problem, self.curvature, _exponents(self.problem)[1])
        except np.linalg.LinAlgError:
            return None


def dense_metric(root: FloatArray, problem: Problem) -> Metric:
    """Make a metric in all directions, from the inverse of the precision's Cholesky factor."""
    from luce.kernels.hamiltonian import Metric

    step = _step(_DENSE_STEP / len(root) ** 0.25, _LENGTH)
    back = np.ascontiguousarray(root.T)
    return Metric(root, back, None, *_exponents(problem), _LENGTH, _JITTER, step)


def diagonal_metric(
    precision: FloatArray, extremes: tuple[float, float], problem: Problem
) -> Metric:
    """Make a metric in units of each coordinate's own width.

    `extremes` are the extreme eigenvalues of the precision in these units.
    """
    from luce.kernels.hamiltonian import Metric

    scale, (least, most) = 1.0 / np.sqrt(precision), extremes
    length = float(np.clip(_TURN / np.sqrt(max(least, 1e-9)), _LENGTH, _LONGEST))
    step = _step(_STEP / len(scale) ** 0.25 / np.sqrt(most), length)
    return Metric(None, None, scale, *_exponents(problem), length, _DIAGONAL_JITTER, step)


def _exponents(problem: Problem) -> tuple[FloatArray, Powers]:
    from luce.kernels.log_powers import make_powers

    exponent = problem.waits - problem.groups
    return exponent, make_powers(exponent)


def _step(accepted: float, length: float) -> float:
    """Guess the first step: one that is accepted often enough, or the whole move."""
    return float(min(accepted, _LARGEST_STEP * length))


def _fit_proposal(
    problem: Problem, fit: laplace.CurvatureFit, powers: Powers
) -> tuple[Proposal, float]:
    """Place a Student t at the mode, and estimate from a pilot what its draws are worth."""
    from luce.kernels.independence import Proposal

    n, mode = len(fit.mode), fit.mode
    contrast = fit.root[:, :-1] - fit.root[:, -1:]
    root = np.asarray(np.linalg.cholesky(contrast.T @ contrast), np.float64)
    degrees = _DEGREES * n
    centre = np.append(mode[:-1] - mode[-1], 0.0)
    return Proposal(centre, root, degrees, powers), _worth(problem, centre, root, degrees)


def _worth(problem: Problem, centre: FloatArray, root: FloatArray, degrees: float) -> float:
    """Estimate the worth of an independence draw from a pilot of fixed seed.

    A state of weight w is left with probability a(w) = E min(1, w' / w); for functionals
    unrelated to w the mean of (2 - a) / a over the posterior is the number of draws that replace an
    independent one.
    """
    f, rng, n = LogPosterior(problem), np.random.default_rng(0), len(centre)
    z = rng.standard_normal((_PILOT, n - 1))
    stretch = degrees / rng.chisquare(degrees, _PILOT)
    phi = np.tile(centre, (_PILOT, 1))
    phi[:, :-1] += np.sqrt(stretch)[:, None] * (z @ root.T)
    logs = np.array([_log_density(f, row) for row in phi])
    square = stretch * (z**2).sum(axis=1)
    logs += 0.5 * (degrees + n - 1) * np.log1p(square / degrees)
    weight = np.exp(logs - logs.max())
    left = np.minimum(1.0, weight[None, :] / weight[:, None]).mean(axis=1)
    return float(weight.sum() / (weight * (2.0 - left) / left).sum())


def _log_density(f: LogPosterior, phi: FloatArray) -> float:
    """Evaluate the log density of log ratios, the total of λ integrated out."""
    at = f.at(phi)
    total = at.x.sum()
    return float(at.value + f.scale * total - f.total_shape * np.log(total))
