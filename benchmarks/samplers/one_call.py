"""Samplers that warm up and draw in one call, and cannot go on afterwards.

The same seed warms up the same way, so what a longer call takes more than a short one is the time
of the draws that it makes more.
"""

import time
from collections.abc import Callable

import numpy as np
from problem import Problem

from samplers import Drawn, most_kept

_SHORT, _MOST_CALLS = 100, 4


class OneCall:
    """`call(draws)` returns log p of the monitored categories, shape (draws, category)."""

    def __init__(
        self,
        problem: Problem,
        call: Callable[[int], np.ndarray],
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.problem, self.call, self.clock = problem, call, clock
        began = clock()
        call(_SHORT)
        self.short_seconds = clock() - began

    def draw(self, seconds: float) -> Drawn:
        """Make longer and longer calls until one takes about so long, and count that one."""
        draws = 10 * _SHORT
        for _ in range(_MOST_CALLS):
            began = self.clock()
            log_p = self.call(draws)
            spent = max(self.clock() - began - self.short_seconds, 1e-3)
            if spent > seconds / 2 or draws >= most_kept(self.problem):
                break
            draws = min(int(draws * min(seconds / spent, 30)), most_kept(self.problem))
        made = len(log_p) - _SHORT
        return Drawn(log_p[None, -made:], made, spent)
