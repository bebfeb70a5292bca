"""luce: `Posterior.sample`, one chain, one thread; the whole call counts, warm-up included.

luce imports numba and xarray when they are first used; here they are imported at the top, as the
other samplers import theirs, so that imports are measured apart for all.
"""

import pickle
import time
import warnings
from typing import NamedTuple

import arviz_stats.base  # noqa: F401
import numba  # noqa: F401
import numpy as np
import xarray
from problem import Problem

from luce.errors import ConvergenceWarning
from samplers import Drawn, as_log, most_kept

# One call must hold all categories, also those that are not monitored.
_MOST_NUMBERS = 50_000_000
_MOST_DRAWS = 100_000  # of one call


class Call(NamedTuple):
    """What one call of `sample` drew, in how many CPU seconds, by which method.

    `log_p` is as in `Drawn`; `warned` tells whether luce doubted the draws.
    """

    log_p: np.ndarray
    seconds: float
    method: str
    reason: str
    warned: bool


def prepare(problem: Problem, seed: int, variant: str) -> "LuceSample":
    return LuceSample(problem, seed, variant)


class LuceSample:
    """The posterior, and a first call that compiles and finds the structure.

    With `fresh`, every call has a posterior of which nothing is known, and finds the structure too.
    """

    def __init__(self, problem: Problem, seed: int, method: str, fresh: bool = False) -> None:
        self.problem, self.seed, self.method = problem, seed, method
        self.posterior = problem.posterior()
        self.stored = pickle.dumps(self.posterior) if fresh else None
        self.sample(20)

    def sample(self, draws: int) -> Call:
        """Sample once, from another seed each time."""
        self.seed += 1
        posterior = pickle.loads(self.stored) if self.stored else self.posterior
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.process_time()
            tree = posterior.sample(
                draws, chains=1, threads=1, seed=self.seed, method=self.method, progress=False
            )
            taken = time.process_time() - began
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        log_p = self.logs(tree.posterior)
        return Call(log_p, taken, tree.attrs["method"], tree.attrs["reason"], warned)

    def logs(self, found: "xarray.Dataset") -> np.ndarray:
        """Logarithms of the draws, shape (chain, draw, category)."""
        kept = self.problem.monitored
        if "log_probabilities" in found:
            log_p = found["log_probabilities"].to_numpy()[:, :, kept]
        else:
            log_p = as_log(found["probabilities"].to_numpy()[:, :, kept])
        if self.problem.hyperprior is None:
            return log_p
        return np.concatenate([log_p, np.log(found["concentration"].to_numpy())[..., None]], axis=2)

    def draws_in(self, seconds: float) -> int:
        """Draws of a call that takes about so long, warm-up included; at most 100,000."""
        most = min(_MOST_DRAWS, _MOST_NUMBERS // self.problem.n)
        draws = 100
        while (taken := self.sample(draws).seconds) < seconds / 3 and draws < most:
            draws = min(most, int(draws * np.clip(seconds / taken / 2, 2, 10)))
        return min(most, int(draws * max(1.0, 0.9 * seconds / taken)))

    def draw(self, seconds: float) -> Drawn:
        """Call again and again, each call a chain, each about a third of the time."""
        draws = self.draws_in(seconds / 3)
        kept, made, spent, warned = [], 0, 0.0, False
        while made == 0 or spent < 0.8 * seconds:
            call = self.sample(draws)
            made += draws
            spent += call.seconds
            warned |= call.warned
            if len(kept) * draws < most_kept(self.problem):
                kept.append(call.log_p)
        note = f"{call.method}: {call.reason}" + ("; warned" if warned else "")
        return Drawn(np.concatenate(kept), made, spent, note)
