"""luce: `Posterior.sample`, the whole call, one chain, one thread.

luce imports numba and xarray when they are first used; here they are imported at the top, as the
other samplers import theirs, so that imports are measured apart for all.
"""

import time
import warnings

import arviz_stats.base  # noqa: F401
import numba  # noqa: F401
import numpy as np
import xarray  # noqa: F401
from problem import Problem

from luce.errors import ConvergenceWarning
from samplers import Drawn, as_log, most_kept

# One call must hold all categories, also those that are not monitored.
_MOST_NUMBERS = 50_000_000


def prepare(problem: Problem, seed: int, variant: str) -> "LuceSample":
    return LuceSample(problem, seed, variant)


class LuceSample:
    """Posterior and structure, and a first call that compiles."""

    def __init__(self, problem: Problem, seed: int, method: str) -> None:
        self.problem, self.seed, self.method = problem, seed, method
        self.posterior = problem.posterior()
        self.note = ""
        self.sample(10)

    def sample(self, draws: int, warmup: int | None = None) -> tuple[np.ndarray, int, float]:
        """Log probabilities of the monitored, warm-up used, seconds; each call another seed."""
        self.seed += 1
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            tree = self.posterior.sample(
                draws, chains=1, threads=1, warmup=warmup, seed=self.seed, method=self.method,
                progress=False,
            )  # fmt: skip
        taken = time.perf_counter() - began
        self.note = f"{tree.attrs['method']}: {tree.attrs['reason']}"
        if any(issubclass(w.category, ConvergenceWarning) for w in warned):
            self.note += "; warned"
        found = tree.posterior
        if "log_probabilities" in found:
            log_p = found["log_probabilities"].to_numpy()[:, :, self.problem.monitored]
        else:
            log_p = as_log(found["probabilities"].to_numpy()[:, :, self.problem.monitored])
        return log_p, tree.attrs["warmup"], taken

    def draw(self, seconds: float) -> Drawn:
        """Call again and again, each call a chain, and take away what warming up takes."""
        most = min(_MOST_NUMBERS // self.problem.n, most_kept(self.problem))
        draws = min(100, most)
        log_p, warmup, taken = self.sample(draws)
        while taken < seconds / 6 and draws < most:
            draws = min(most, int(draws * np.clip(seconds / 3 / taken, 2, 10)))
            log_p, warmup, taken = self.sample(draws)
        kept, made, spent = [log_p], 0, 0.0
        warming = min(self.sample(1, warmup)[2] for _ in range(3))
        while made == 0 or spent < seconds:
            log_p, _, taken = self.sample(draws)
            made += draws
            spent += taken - warming
            if len(kept) * draws < most_kept(self.problem):
                kept.append(log_p)
        return Drawn(np.concatenate(kept), made, spent, self.note)
