"""Attributes of a run: data, prior, method, settings."""

from __future__ import annotations

import numpy as np
import pytest

import luce
from luce import ConditionalCounts, Posterior

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_a_run_knows_where_it_came_from() -> None:
    pairs = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    pairs = pairs.observe({"b": 2, "c": 2}, within="bc")
    run = Posterior(pairs, [1.0, 2.0, 0.5]).sample(
        10, method="metropolis", warmup=5, thin=2, keep=["c", "a"], chains=2, progress=False,
        seed=np.random.SeedSequence(7).spawn(2)[1],
    )  # fmt: skip
    attributes = run.attrs
    assert attributes["method"] == "metropolis"
    assert (attributes["warmup"], attributes["thin"], attributes["kept_categories"]) == (5, 2, 2)
    assert (attributes["seed"], list(attributes["seed_spawn_key"])) == ("7", [1])
    assert attributes["prior"] == "Dirichlet, see constant_data"
    assert attributes["core_methods"] == ["metropolis"]
    assert len(attributes["proposal_concentration"]) == 2
    assert attributes["data_digest"] == pairs.digest
    assert sorted(run["posterior"]["category"].values.tolist()) == ["a", "c"]
    np.testing.assert_array_equal(run["constant_data"]["concentration"], [1.0, 2.0, 0.5])
    drawn = Posterior(pairs, luce.Gamma(2.0, 1.0)).sample(
        10, warmup=5, chains=2, seed=1, progress=False
    )
    assert list(drawn.attrs["concentration_prior"]) == [2.0, 1.0]
    assert (drawn["posterior"]["concentration"] > 0).all()
