"""Replicates on workers: the same as here, also when workers are killed."""

import os
from typing import Any

import numpy as np
import pytest
from distributed import Client
from lib.workers import DASK_WARNINGS, killing

import luce
from luce import ConditionalCounts, Posterior
from luce.cluster.replicates import repeat_on
from luce.sampling.coupled_chains import NotMetError
from luce.sampling.meeting_times import Meetings
from luce.sampling.replicates import BLOCK, repeat

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]


def row() -> Posterior:
    counts = ConditionalCounts("abcd").observe({"a": 4, "b": 1}, within="ab")
    counts = counts.observe({"b": 3, "c": 2}, within="bc")
    return Posterior(counts.observe({"c": 1, "d": 6}, within="cd"), 1.5)


class Slow:
    """An experiment that waits, so that a worker can be killed meanwhile."""

    replicates = 6 * BLOCK

    def once(self, number: int) -> Any:
        import time

        time.sleep(0.01)
        return np.random.default_rng(number).random(2)


@pytest.mark.compiled
def test_estimates_of_workers_are_the_estimates_here(client: Client) -> None:
    options: dict[str, Any] = {"replicates": 2 * BLOCK + 3, "seed": 4, "progress": False}
    here = luce.unbiased(row(), lambda p: p**2, **options)
    there = luce.unbiased(row(), lambda p: p**2, cluster=client, **options)
    np.testing.assert_array_equal(here.value, there.value)
    np.testing.assert_array_equal(here.standard_error, there.standard_error)
    bounds = {"replicates": 100, "seed": 4, "progress": False}
    near = luce.distance_to_posterior(row(), [3, 9], **bounds)
    far = luce.distance_to_posterior(row(), [3, 9], cluster=client, **bounds)
    np.testing.assert_array_equal(near.meeting_times, far.meeting_times)
    np.testing.assert_array_equal(near.wasserstein.value, far.wasserstein.value)


def test_a_killed_worker_loses_nothing(client: Client) -> None:
    began = set(client.run(os.getpid).values())
    seen = iter(range(10**6))
    thread = killing(client, lambda: next(seen) > 30)
    found = repeat_on(client, Slow(), 1, False)
    thread.join()
    client.wait_for_workers(2)
    assert began != set(client.run(os.getpid).values())
    np.testing.assert_array_equal(found, repeat(Slow()))


@pytest.mark.compiled
def test_pairs_that_do_not_meet_are_told_of_by_workers_too(client: Client) -> None:
    pairs = Meetings(row().model, np.random.SeedSequence(1), 2 * BLOCK, 1, 1)
    with pytest.raises(NotMetError, match="has not met after 1 sweep"):
        repeat_on(client, pairs, 1, False)
