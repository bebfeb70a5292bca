"""Simulation-based calibration of the semi-Markov sampler, on quantities without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED
from lib.semi_markov_cases import DURATIONS, EMISSIONS
from lib.semi_markov_joint import joint_model, last_segment_dropped, right
from lib.semi_markov_oracles import Floats

from luce import SemiMarkov
from luce.answers.rank_uniformity import p_value_of, ranks_of
from luce.sequences import Geometric, SemiMarkovState

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

LENGTHS = [12, 9]

# Draws that a truth is ranked among, and sweeps between two of them: enough that they are nearly
# independent in series as short as these.
DRAWS, APART, BEFORE = 31, 6, 30


def quantities(model: SemiMarkov, state: SemiMarkovState) -> list[float]:
    """Segments, states, concentrations, last durations, agreement of rows, mean parameters."""
    z = state.labels
    out = [
        float((z[1:] != z[:-1]).sum()),
        float(len(set(z.tolist()))),
        state.concentration,
        state.base_concentration,
        float(np.log(state.last_lengths).sum()),
        float((z[0] == z[8]) + (z[3] == z[15]) + (z[6] == z[20])),
        float((state.rows * state.base).sum()),
        float((state.base**2).sum()),
    ]
    for name, value in state.duration.items():
        if name == "r" and isinstance(model.duration, Geometric):
            continue  # it is 1
        flat = value if value.ndim == 1 else value @ np.arange(value.shape[1])
        out += [float(flat.mean()), float(flat[z].mean())]
    for value in state.emission.values():
        out += [float(value.mean()), float(value.max()), float(value[z].mean())]
    return out


def ranks_for(duration: str, emission: str, replications: int, options: Any, sweep: Any) -> Floats:
    case = EMISSIONS[emission]
    model = joint_model(DURATIONS[duration], case, **options)
    rng = np.random.default_rng([SEED, replications])
    borders = np.r_[0, np.cumsum(LENGTHS)]
    out = []
    for _ in range(replications):
        drawn = model.simulate(rng, LENGTHS, channels=case.channels)
        series = case.read(model, np.concatenate(drawn.series), borders)
        state = model.initial_state(rng, series)
        kept = []
        for k in range(BEFORE + DRAWS * APART):
            state = sweep(rng, model, series, state)
            if k >= BEFORE and (k - BEFORE) % APART == 0:
                kept.append(quantities(model, state))
        truth = np.array(quantities(model, drawn.state))
        out.append(ranks_of(truth, np.array(kept), rng))
    return np.array(out)


def least_p(ranks: Any) -> float:
    return min(p_value_of(column, DRAWS) for column in ranks.T) * ranks.shape[1]


@pytest.mark.parametrize(
    ("duration", "emission", "replications", "options"),
    [
        ("poisson", "gaussian", 200, {}),
        ("whole", "autoregressive", 200, {"start": "base"}),
        ("histogram", "categories", 200, {"start": "uniform"}),
        ("real", "diagonal-gaussian", 80, {}),
        ("geometric", "counts", 80, {"start": "base"}),
        ("poisson", "custom", 80, {"longest": 6}),
    ],
)
def test_ranks_are_uniform(
    duration: str, emission: str, replications: int, options: dict[str, Any]
) -> None:
    ranks = ranks_for(duration, emission, replications, options, right)
    print(duration, emission, replications, ranks.shape[1], least_p(ranks))
    assert least_p(ranks) > FALSE_ALARM


def test_a_dropped_last_segment_is_rejected() -> None:
    ranks = ranks_for("poisson", "gaussian", 200, {}, last_segment_dropped)
    assert least_p(ranks) <= FALSE_ALARM
