"""Posteriors of three and of four categories, and hypotheses about them with known answers."""

from typing import Any

import numpy as np
from lib.bounds import SEED
from lib.hypothesis_oracles import Three
from lib.size import draws as number_of_draws

from luce import ConditionalCounts, Posterior, hypothesis
from luce.hypotheses import HypothesisTest

DRAWS = number_of_draws(compiled=1000, plain=60)


def ask(posterior: Posterior, seed: int = 1, draws: Any = DRAWS, **asked: Any) -> HypothesisTest:
    """Test a hypothesis without a bar."""
    return hypothesis(posterior, draws=draws, seed=1000 * SEED + seed, progress=False, **asked)


# Plain data: everything is in closed form.
PRIOR, SEEN = np.array([0.8, 1.5, 2.0, 1.1]), np.array([5.0, 2.0, 0.0, 7.0])
PLAIN = Posterior(ConditionalCounts("abcd").observe(dict(zip("abcd", SEEN, strict=True))), PRIOR)

# Overlapping sets, without and with grouped outcomes: truths are by quadrature.
PRIOR_OF_THREE = [0.9, 1.4, 0.8]
COUNTS = ConditionalCounts("abc").observe({"a": 6, "b": 3}, within="ab")
COUNTS = COUNTS.observe({"b": 4, "c": 2}, within="bc").observe({"c": 3, "a": 1})
CORE = Posterior(COUNTS, PRIOR_OF_THREE)
TEAMS = Posterior(COUNTS.observe_group("bc", 5), PRIOR_OF_THREE)
BEFORE = Three(PRIOR_OF_THREE, {})
AFTER = Three([0.9 + 7, 1.4 + 7, 0.8 + 5], {(0, 1): -9.0, (1, 2): -6.0})
AFTER_TEAMS = Three(AFTER.shape, {(0, 1): -9.0, (1, 2): -1.0})
