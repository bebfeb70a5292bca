"""What is measured: effective draws, convergence, moments, and the limit."""

import time

import numpy as np
from arviz_stats.base import array_stats
from problem import Problem

# A run with fewer effective draws, or a larger R-hat, has not converged.
LEAST_ESS, MOST_RHAT = 100, 1.05

_AXES = {"chain_axis": 0, "draw_axis": 1}


def limit_rate(problem: Problem, seconds: float = 0.5) -> float:
    """Independent Dirichlet draws a CPU second, by NumPy, at this size: nothing draws faster."""
    rng = np.random.default_rng(0)
    at_once = max(1, 2_000_000 // problem.n)
    shape, made = problem.shape, 0
    began = time.process_time()
    while (spent := time.process_time() - began) < seconds:
        rng.dirichlet(shape, at_once)
        made += at_once
    return made / spent


def ess(x: np.ndarray, method: str = "bulk") -> np.ndarray:
    """Effective draws of each category, at most as many as there are; x is (chain, draw, ...)."""
    found = np.minimum(array_stats.ess(x, method=method, **_AXES), x.shape[0] * x.shape[1])
    # A chain that never moved is called perfect.
    return np.where(np.ptp(x, axis=(0, 1)) == 0, 1.0, found)


def rhat(x: np.ndarray) -> float:
    """R-hat of split chains, the worst."""
    half = x.shape[1] // 2
    split = np.concatenate([x[:, :half], x[:, half : 2 * half]])
    with np.errstate(invalid="ignore"):  # NaN for a chain that never moved: not converged, either
        return float(np.max(array_stats.rhat(split, **_AXES)))


def moments(log_p: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and sd of p, mean of log p, each with its Monte Carlo standard error, by category."""
    p = np.exp(log_p)
    mean, sd, log_sd = p.mean(axis=(0, 1)), p.std(axis=(0, 1)), log_p.std(axis=(0, 1))
    squares = (p - mean) ** 2
    with np.errstate(invalid="ignore"):  # NaN for a chain that never moved
        sd_se = squares.std(axis=(0, 1)) / np.sqrt(ess(squares, "mean")) / (2 * sd)
    return {
        "mean": mean,
        "mean_se": sd / np.sqrt(ess(p, "mean")),
        "sd": sd,
        "sd_se": sd_se,
        "log_mean": log_p.mean(axis=(0, 1)),
        "log_mean_se": log_sd / np.sqrt(ess(log_p, "mean")),
        "log_ess": ess(log_p, "mean"),
    }
