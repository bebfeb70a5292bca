"""The experiment with three categories: densities over a mesh, and draws of the sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.counts import ConditionalCounts
from luce.paper.samplers import HIDDEN, sample
from luce.posterior import Posterior

SIDE = 40  # triangles along a side of the mesh that is shown
_FINER = 10  # triangles along a side of each of these, on which its mass is summed

_DRAWS_APART = 10  # sweeps of the paper's sampler between draws that count as independent


@dataclass(frozen=True)
class Densities:
    """Masses of the triangles of a mesh over the simplex, under three densities and of draws.

    `corners` has shape (triangle, corner, category); the masses have shape (triangle,).
    """

    corners: FloatArray
    prior: FloatArray
    plain: FloatArray
    truncated: FloatArray
    draws: FloatArray
    n_draws: int
    chi_square: float
    freedom: int
    mesh_mean: FloatArray
    closed_mean: FloatArray
    printed_mean: FloatArray

    @property
    def p_value(self) -> float:
        """Probability that draws of the mesh's masses have a larger chi-square statistic."""
        return float(chdtrc(self.freedom, self.chi_square))


def measure_densities(chains: int, draws: int, seed: int) -> Densities:
    """Compute prior, posterior without truncation and posterior with it, for three categories.

    Concentration 2; two outcomes at the second category; the first one truncated, or not.
    """
    empty = ConditionalCounts(3)
    truncated = Posterior(empty.observe({1: 2}, without=[0]), 2.0)
    own = np.random.SeedSequence([seed, 3])
    tree = sample(truncated, HIDDEN.options, chains, _DRAWS_APART * draws, seed=own, warmup=100)
    p = tree["posterior"]["probabilities"].to_numpy()[:, ::_DRAWS_APART].reshape(-1, 3)

    corners = triangles(SIDE)
    fine, parent = _refined(corners)
    mass = {
        name: _masses(posterior, fine)
        for name, posterior in {
            "prior": Posterior(empty, 2.0),
            "plain": Posterior(empty.observe({1: 2}), 2.0),
            "truncated": truncated,
        }.items()
    }
    coarse = {name: np.bincount(parent, m).astype(np.float64) for name, m in mass.items()}
    counts = np.bincount(triangle_of(p, SIDE), minlength=len(corners))
    statistic, freedom = chi_square(counts, len(p) * coarse["truncated"])
    # The paper's formula for one truncated term, as printed: no Beta factor for the truncated
    # mass, and the truncated part divided by the kept one.  That argument does not add up to 1;
    # Dir(x | a) is read as the product of x^(a - 1) there too.
    kept = 1 - fine[:, 0]
    printed = (fine[:, 0] / kept) * (fine[:, 1] / kept) ** 3 * (fine[:, 2] / kept)
    return Densities(
        corners=corners,
        prior=coarse["prior"],
        plain=coarse["plain"],
        truncated=coarse["truncated"],
        draws=counts / counts.sum(),
        n_draws=len(p),
        chi_square=statistic,
        freedom=freedom,
        mesh_mean=mass["truncated"] @ fine,
        closed_mean=truncated.mean().values,
        printed_mean=printed @ fine / printed.sum(),
    )


def triangles(side: int) -> FloatArray:
    """Cut the simplex into side**2 equal triangles; shape (triangle, corner, category)."""
    i, j, upper = np.nonzero(_cells(side))
    first = np.stack([i + upper, j + upper], axis=1)
    second, third = np.stack([i + 1, j], axis=1), np.stack([i, j + 1], axis=1)
    grid = np.stack([first, second, third], axis=1)
    return np.concatenate([grid, side - grid.sum(axis=2, keepdims=True)], axis=2) / side


def triangle_of(p: FloatArray, side: int) -> IntArray:
    """Return the number of the triangle, of `triangles(side)`, that each point lies in."""
    cells = _cells(side)
    number = np.cumsum(cells).reshape(cells.shape) - 1
    scaled = side * p[:, :2]
    i, j = np.floor(scaled).astype(np.int64).T
    upper = (scaled - np.stack([i, j], axis=1)).sum(axis=1) > 1
    return np.asarray(number[i, j, upper.astype(np.int64)])


def _cells(side: int) -> BoolArray:
    """Mark the half squares (column, row, upper half) of a grid that lie below its diagonal."""
    total = np.add.outer(np.arange(side), np.arange(side))
    return np.stack([total < side, total < side - 1], axis=2)


def _refined(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    """Cut each triangle into smaller ones; return their centres and the triangle each is of."""
    inside = triangles(_FINER).mean(axis=1)
    return (inside @ corners).reshape(-1, 3), np.repeat(np.arange(len(corners)), _FINER**2)


def _masses(posterior: Posterior, points: FloatArray) -> FloatArray:
    """Return the posterior's density at the points, scaled to add up to 1."""
    logs = posterior.log_density(points)
    mass = np.exp(logs - logs.max())
    return np.asarray(mass / mass.sum())


def chi_square(counts: IntArray, expected: FloatArray) -> tuple[float, int]:
    """Return Pearson's statistic and its degrees of freedom, cells below 5 joined."""
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    return float(((observed - wanted) ** 2 / wanted).sum()), len(wanted) - 1
