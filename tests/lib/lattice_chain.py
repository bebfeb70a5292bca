"""The law of a waiting-time chain of three categories after each sweep, on lattices.

The chain alternates between p and the times u of two sets, {0, 1} and {1, 2}.  Both conditional
laws have densities in closed form, one integral over the total Λ apart, so that the law after t
sweeps is a product of matrices.  Nothing here imports luce.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats = npt.NDArray[np.float64]

SETS = ((0, 1), (1, 2))


def _log_gamma_density(log_x: Floats, shape: float, log_rate: Floats) -> Floats:
    """Log density of log X, X ~ Gamma(shape, rate)."""
    z = log_x + log_rate
    return np.asarray(shape * z - np.exp(z) - gammaln(shape))


def distances(
    concentration: Floats, wins: Floats, waits: Floats, sweeps: int, points: int = 44
) -> Floats:
    """Total variation distances from the posterior after 0, 1, ... sweeps from the prior.

    Parameters
    ----------
    concentration
        The Dirichlet prior, which chains start from.
    wins
        Outcomes of each category.
    waits
        Outcomes conditioned on each of `SETS`.
    sweeps
        Last number of sweeps.
    points
        Points of each axis of the lattice of p.
    """
    shape, total = concentration + wins, concentration.sum()
    axis = np.linspace(-9.0, 9.0, points)
    s, t = (x.ravel() for x in np.meshgrid(axis, axis, indexing="ij"))
    log_p = np.stack([s, t, np.zeros(len(s))], axis=1)
    log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    log_sums = np.stack([np.logaddexp(log_p[:, i], log_p[:, j]) for i, j in SETS], axis=1)

    log_u = np.linspace(-4.5, 6.5, points)
    of_sets = [
        _log_gamma_density(log_u, m, log_sums[:, [k]]) for k, m in enumerate(waits)
    ]  # (p, u) each
    to_times = np.exp(of_sets[0][:, :, None] + of_sets[1][:, None, :]).reshape(len(s), -1)
    to_times /= to_times.sum(axis=1, keepdims=True)

    u = np.exp(log_u)
    first, second = (x.ravel() for x in np.meshgrid(u, u, indexing="ij"))
    rates = np.stack([first, first + second, second], axis=1)
    to_p = np.zeros((len(first), len(s)))
    for log_total in np.linspace(-9.0, 4.0, 27):
        weight = np.exp(_log_gamma_density(np.array(log_total), total, np.array(0.0)))
        log_rate = np.log(rates + np.exp(log_total))
        # p ∝ Gamma(shape_i) / rate_i, as a density of log-odds.
        parts = log_rate @ shape
        mixed = np.exp(log_rate) @ np.exp(log_p).T
        to_p += weight * np.exp(parts[:, None] + log_p @ shape - shape.sum() * np.log(mixed))
    to_p /= to_p.sum(axis=1, keepdims=True)

    posterior = np.exp(log_p @ shape - log_sums @ waits)
    law = np.exp(log_p @ concentration)
    posterior, law = posterior / posterior.sum(), law / law.sum()
    found = [0.5 * np.abs(law - posterior).sum()]
    for _ in range(sweeps):
        law = (law @ to_times) @ to_p
        found.append(0.5 * np.abs(law - posterior).sum())
    return np.array(found)
