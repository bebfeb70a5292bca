"""Ties and home advantage: effective draws of each sampler, cost of a sweep, and NumPyro's NUTS.

    python benchmarks/ties.py [--teams 20] [--seasons 10] [--draws 4000] [--without-numpyro]

Seasons of a double round robin are simulated from the model itself.  Printed are the least
effective draws a draw over the probabilities, and those of home and tie; nanoseconds for each
waiting time or inverse Gaussian of a sweep, beside those of a sweep without ties and home on pairs
of as many meetings; and least effective draws a CPU second, warm-up included, beside those of
NumPyro's NUTS on the same posterior in the coordinates log λ, log h and log ν or log(θ - 1).
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
)
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import time
import warnings
from typing import Any, NamedTuple

import measure
import numpy as np

import luce
from luce.counts.contests import Contests, contests_of_pairs, log_outcomes

# By model: the tie parameter that data is simulated from.
MODELS = {"davidson": 0.7, "rao-kupper": 1.6}
HOME, SPREAD = 1.4, 0.5
WARMUP = 500


class Measured(NamedTuple):
    """Least effective draws a draw over all p, those of the parameters, and CPU seconds."""

    least: float
    parameters: dict[str, float]
    seconds: float
    draws: int

    @property
    def rate(self) -> float:
        """Least effective draws a CPU second."""
        return min(self.least, *self.parameters.values()) * self.draws / self.seconds


def meetings(teams: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array([(i, j) for i in range(teams) for j in range(teams) if i != j])
    return pairs[:, 0], pairs[:, 1]


def simulate(teams: int, seasons: int, ties: str, seed: int) -> Contests:
    rng = np.random.default_rng(seed)
    logs = SPREAD * rng.standard_normal(teams)
    first, second = meetings(teams)
    home = np.log(HOME) + logs[first]
    p = np.exp(log_outcomes(home, logs[second], ties, np.array(MODELS[ties])))
    results = np.array([rng.multinomial(seasons, row / row.sum()) for row in p], float)
    return contests_of_pairs(teams, first, second, np.ones(len(first)), results, ties, True)


def effective(x: np.ndarray) -> float:
    return float(measure.ess(x).min()) / (x.shape[0] * x.shape[1])


def measure_luce(posterior: luce.Posterior, method: str, draws: int) -> Measured:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior.sample(10, chains=2, method=method, seed=0, progress=False)  # compiles
    began = time.process_time()
    settings: dict[str, Any] = {"chains": 4, "warmup": WARMUP, "threads": 1, "progress": False}
    run = posterior.sample(draws // 4, method=method, seed=1, **settings)
    seconds = time.process_time() - began
    names = posterior.model.drawn_parameters
    parameters = {name: effective(run.posterior[name].values) for name in names}
    return Measured(
        effective(run.posterior["probabilities"].values), parameters, seconds, draws // 4 * 4
    )


def sweep_seconds(posterior: luce.Posterior, draws: int = 20_000) -> float:
    """CPU seconds of one waiting-time sweep, the median of five runs."""
    settings: dict[str, Any] = {"chains": 1, "warmup": 0, "threads": 1, "progress": False}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior.sample(10, method="waiting-times", seed=0, **settings)
        for k in range(5):
            began = time.process_time()
            posterior.sample(draws, method="waiting-times", seed=k, **settings)
            found.append((time.process_time() - began) / draws)
    return float(np.median(found))


def measure_numpyro(contests: Contests, draws: int) -> Measured:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    n, (first, second) = contests.n, (jnp.asarray(side) for side in contests.sides)
    won, lost, tied = (jnp.asarray(x) for x in contests.results.T)

    def potential(z: jax.Array) -> jax.Array:
        theta, log_h, log_tie = z[:n], z[n], z[n + 1]
        a, b = theta[first] + log_h, theta[second]
        if contests.ties == "davidson":
            middle = log_tie + (a + b) / 2
            whole = jnp.logaddexp(jnp.logaddexp(a, b), middle)
            value = won @ (a - whole) + lost @ (b - whole) + tied @ (middle - whole)
        else:
            s = jnp.exp(log_tie)
            log_theta = jnp.log1p(s)
            one, other = jnp.logaddexp(a, log_theta + b), jnp.logaddexp(log_theta + a, b)
            value = won @ (a - one) + lost @ (b - other)
            value += tied @ (log_tie + jnp.log(s + 2) + a + b - one - other)
        prior = theta.sum() - jnp.exp(theta).sum()
        prior += 2 * log_h - 2 * jnp.exp(log_h) + log_tie - jnp.exp(log_tie)
        return -(value + prior)

    chains = []
    seconds = 0.0
    for seed in range(4):
        mcmc = MCMC(
            NUTS(potential_fn=potential),
            num_warmup=WARMUP,
            num_samples=draws // 4,
            progress_bar=False,
        )
        if seed == 0:  # compiles
            mcmc.run(jax.random.key(99), init_params=jnp.zeros(n + 2))
        began = time.process_time()
        mcmc.run(jax.random.key(seed), init_params=jnp.zeros(n + 2))
        chains.append(np.asarray(mcmc.get_samples()))
        seconds += time.process_time() - began
    z = np.stack(chains)
    log_p = z[..., :n] - np.logaddexp.reduce(z[..., :n], axis=-1, keepdims=True)
    parameters = {"home": effective(z[..., n]), "tie": effective(z[..., n + 1])}
    return Measured(effective(np.exp(log_p)), parameters, seconds, draws // 4 * 4)


def told(name: str, found: Measured) -> str:
    parameters = ", ".join(f"{k} {x:.2f}" for k, x in found.parameters.items())
    return (
        f"  {name:14} ESS a draw: least p {found.least:.2f}, {parameters}; "
        f"{found.rate:,.0f} effective draws a CPU second"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--seasons", type=int, default=10)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--without-numpyro", action="store_true")
    given = parser.parse_args()
    first, second = meetings(given.teams)
    rng = np.random.default_rng(0)
    wins = rng.integers(1, 10, len(first))
    plain = luce.from_pairs(
        {
            "winner": [*first, *second],
            "loser": [*second, *first],
            "count": [*wins, *(10 - wins)],
        }
    )
    base = sweep_seconds(luce.Posterior(plain)) / len(plain)
    print(f"{given.teams} teams, {given.seasons} seasons")
    print(f"  without ties and home: a sweep takes {base * 1e9:.1f} ns a waiting time")
    for ties in MODELS:
        contests = simulate(given.teams, given.seasons, ties, 1)
        counts = luce.ConditionalCounts(given.teams).with_events(contests)
        posterior = luce.Posterior(counts)
        each = sweep_seconds(posterior) / (2 * len(contests))
        print(
            f"{ties}\n  a sweep takes {each * 1e9:.1f} ns a variate, {each / base:.2f} times that"
        )
        for method in ("waiting-times", "hamiltonian", "auto"):
            ours = measure_luce(posterior, method, given.draws)
            print(told(method, ours))
        if not given.without_numpyro:
            theirs = measure_numpyro(contests, given.draws)
            print(told("NumPyro NUTS", theirs))
            print(f"  auto over NumPyro: {ours.rate / theirs.rate:.0f} times")


if __name__ == "__main__":
    main()
