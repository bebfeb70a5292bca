"""The loop of the samplers that are plain NumPy."""

import time
from collections.abc import Callable

import numpy as np
from problem import Problem

from samplers import Drawn, as_log, most_kept

_WARMUP_STEPS, _WARMUP_SECONDS = 2000, 10.0


class NumpyLoop:
    """Repeats `step`, which returns the next p; warm-up ends after enough steps or seconds."""

    def __init__(self, problem: Problem, step: Callable[[], np.ndarray]) -> None:
        self.problem, self.step = problem, step
        began = time.process_time()
        for _ in range(_WARMUP_STEPS):
            step()
            if time.process_time() - began > _WARMUP_SECONDS:
                break

    def draw(self, seconds: float) -> Drawn:
        """Make steps until the time is over."""
        kept, most, made = [], most_kept(self.problem), 0
        began = time.process_time()
        while (spent := time.process_time() - began) < seconds or made < 4:
            p = self.step()
            made += 1
            if made <= most:
                kept.append(p[self.problem.monitored])
        return Drawn(as_log(np.asarray(kept))[None], made, spent)
