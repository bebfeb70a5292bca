"""Blocks of weighted terms, held in this process: the moments of quadrature."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.size import draws
from lib.weighted_cases import TEAMS, counts_of, quadrature

import luce
from luce import ConditionalCounts
from luce.cluster.sharded import cut_into_pieces

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_blocks_add_up_to_the_data() -> None:
    counts = counts_of(TEAMS)
    pieces = cut_into_pieces(counts, members=3)
    assert len(pieces) > 1
    assert sum(pieces) == counts


def test_sharded_draws() -> None:
    counts = counts_of(TEAMS)
    pieces = cut_into_pieces(counts, members=3)
    number = draws(compiled=300, plain=40)
    run = luce.sample_sharded(pieces, draws=number, seed=SEED, progress=False)
    p = run.posterior["probabilities"].to_numpy()
    error = luce.answers.diagnostics.mcse(p).to_numpy()
    z = (p.mean(axis=(0, 1)) - quadrature(TEAMS, 1.0).mean) / error
    assert np.abs(z).max() < 1.3 * z_limit(3)
    assert isinstance(counts, ConditionalCounts)
