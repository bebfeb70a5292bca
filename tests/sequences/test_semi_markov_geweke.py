"""Joint tests of the semi-Markov sampler: sweeps and new data in turn keep the joint law."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from lib import semi_markov_joint as joint
from lib.bounds import SEED, z_limit
from lib.semi_markov_cases import DURATIONS, EMISSIONS
from lib.semi_markov_oracles import Floats

pytestmark = pytest.mark.compiled

LENGTHS = [6, 4]

PAIRS = list(product(DURATIONS, EMISSIONS))


def gaps_of(emission: str) -> Any:
    """Rows and entries that are missing: a whole row, and one entry of another."""
    case = EMISSIONS[emission]
    gaps = np.zeros((sum(LENGTHS), case.channels), bool)
    if case.takes_missing:
        gaps[3] = gaps[7, 0] = True
    return gaps


def options_of(duration: str, emission: str) -> dict[str, Any]:
    """Starts, ends, limits and forbidden transitions, spread over the pairs."""
    k = PAIRS.index((duration, emission))
    options: dict[str, Any] = {
        "start": ("own", "base", "uniform")[(k + k // len(EMISSIONS)) % 3],
        "end": ("censored", "complete")[k % 5 == 3],
    }
    if duration != "histogram" and k % 2 == 0:
        options["longest"] = 4
    if k % 4 == 1:
        options["forbidden"] = [(0, 2)]
    return options


def drawn_from_prior(duration: str, emission: str, n: int, **options: Any) -> tuple[Any, Floats]:
    case = EMISSIONS[emission]
    model = joint.joint_model(DURATIONS[duration], case, **options)
    return model, joint.prior_draws(model, case, LENGTHS, gaps_of(emission), n, SEED + 1)


def scores_of(
    duration: str, emission: str, n: int, sweep: joint.Sweep, model: Any, prior: Floats
) -> Floats:
    gaps = gaps_of(emission)
    case = EMISSIONS[emission]
    chain = joint.successive_draws(model, case, LENGTHS, gaps, n, SEED + 2, sweep)
    return joint.joint_scores(prior, chain)


@cache
def controlled(n: int) -> tuple[Any, Floats]:
    return drawn_from_prior("poisson", "counts", n)


def test_the_joint_law_is_kept() -> None:
    model, prior = controlled(4_000)
    z = scores_of("poisson", "counts", 3_000, joint.right, model, prior)
    assert z.max() < z_limit(len(z)), z


@pytest.mark.parametrize("wrong", ["last_segment_dropped", "rows_before_base"])
def test_wrong_sweeps_are_rejected(wrong: str) -> None:
    model, prior = controlled(4_000)
    z = scores_of("poisson", "counts", 3_000, getattr(joint, wrong), model, prior)
    assert z.max() > z_limit(len(z))


@pytest.mark.slow
@pytest.mark.parametrize(("duration", "emission"), PAIRS)
def test_the_joint_law_is_kept_by_every_pair(duration: str, emission: str) -> None:
    options = options_of(duration, emission)
    model, prior = drawn_from_prior(duration, emission, 8_000, **options)
    z = scores_of(duration, emission, 10_000, joint.right, model, prior)
    print(duration, emission, options, len(z), z.max(), z.argmax())
    assert z.max() < z_limit(len(z)), z


@pytest.mark.slow
@pytest.mark.parametrize(
    "sweep",
    [
        "pieces",
        "last_segment_dropped",
        "ends_from_new_durations",
        "rows_before_base",
        "loops_from_one",
    ],
)
def test_sweeps_made_of_pieces(sweep: str) -> None:
    """The sweep made of the public pieces is right, and each of its mutations is rejected."""
    model, prior = controlled(20_000)
    z = scores_of("poisson", "counts", 15_000, getattr(joint, sweep), model, prior)
    print(sweep, len(z), z.max())
    assert (z.max() < z_limit(len(z))) == (sweep == "pieces"), z
