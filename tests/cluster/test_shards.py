"""Blocks of terms held by workers: sums that do not depend on who holds them, and lost workers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.terms import many_sets, same_draws, small_piece
from lib.workers import DASK_WARNINGS, killing

import luce
from luce import LuceError
from luce.cluster.connect import workers_of
from luce.cluster.shards import Shard, Shards, ask
from luce.cluster.tree_sums import nodes_of, sum_of, total_of
from luce.kernels.shards import block_bits

pytestmark = DASK_WARNINGS


@settings(deadline=None)
@given(st.data(), st.integers(1, 40))
def test_sums_do_not_depend_on_who_holds_which_blocks(data: st.DataObject, n: int) -> None:
    values = np.random.default_rng(n).lognormal(0, 9, (n, 3))  # in another order they would differ

    def leaf(block: int) -> list[np.ndarray]:
        return [values[block].copy()]

    (alone,) = total_of(n, [(node, sum_of(node, leaf)) for node in nodes_of(0, n)])
    cuts = sorted(data.draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=6)))
    edges = [0, *(c for c in cuts if c < n), n]
    found = [(node, sum_of(node, leaf)) for a, b in pairwise(edges) for node in nodes_of(a, b)]
    assert sorted(b for (a, k), _ in found for b in range(a, a + k)) == list(range(n))
    np.testing.assert_array_equal(total_of(n, found)[0], alone)
    np.testing.assert_allclose(alone, values.sum(axis=0), rtol=1e-12)


def test_plain_sums_would_depend_on_it() -> None:
    """The control: added up worker by worker, the last bits differ."""
    values = np.random.default_rng(3).lognormal(0, 9, (40, 50))
    in_a_row = values.sum(axis=0)
    by_two = values[:13].sum(axis=0) + values[13:].sum(axis=0)
    assert (in_a_row != by_two).any()


def test_bits_of_a_block_are_its_own() -> None:
    assert (block_bits(7, 0) != block_bits(7, 1)).all()
    assert (block_bits(7, 1) == block_bits(7, 1)).all()
    # The first word that splitmix64 makes of 1234567, after its authors.
    assert int(block_bits(1234567, 0)[0]) == 6457827717110365317


def test_a_function_is_called_where_the_block_is_held() -> None:
    held = Shards([partial(many_sets, k) for k in range(3)], None)
    whole = many_sets(0) + many_sets(1) + many_sets(2)
    np.testing.assert_array_equal(held.category_counts, whole.category_counts)
    assert held.net == 0.0


# -- lost workers ----------------------------------------------------------------------------------

P = np.full(5, 0.2)


def pieces(number: int) -> list[Any]:
    return [small_piece(block) for block in range(number)]


@pytest.mark.cluster
def test_blocks_that_are_lost_are_built_again(
    threads_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rates come back, from the same bits, whoever holds the blocks."""
    expected = Shards(pieces(4), None).sweep(P, 99)
    shards = Shards(pieces(4), threads_client)
    assert {worker for _, worker in shards.assigned} == set(workers_of(threads_client))
    sweep, lost = Shard.sweep, [0]

    def swept(self: Shard, *arguments: Any) -> Any:
        if self.first == 0 and not lost[0]:
            lost[0] = 1
            raise OSError("the worker is gone")
        return sweep(self, *arguments)

    monkeypatch.setattr(Shard, "sweep", swept)
    for found, known in zip(shards.sweep(P, 99), expected, strict=True):
        np.testing.assert_array_equal(found, known)
    assert [first for first, _ in shards.assigned] == [0, 2, 0]


@pytest.mark.cluster
def test_blocks_that_two_chains_miss_are_built_once(
    threads_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Shards(pieces(4), None).sweep(P, 99)
    shards = Shards(pieces(4), threads_client)
    sweep, lost, asked, both = Shard.sweep, [0], [0], threading.Event()

    def asking(*arguments: Any) -> Any:
        answer = ask(*arguments)
        asked[0] += 1
        if asked[0] == 4:  # two chains asked two workers each
            both.set()
        return answer

    def swept(self: Shard, *arguments: Any) -> Any:
        assert both.wait(timeout=30)
        if self.first == 0 and lost[0] < 2:
            lost[0] += 1
            raise OSError("the worker is gone")
        return sweep(self, *arguments)

    monkeypatch.setattr("luce.cluster.shards.ask", asking)
    monkeypatch.setattr(Shard, "sweep", swept)
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda _: shards.sweep(P, 99), range(2)):
            for values, known in zip(found, expected, strict=True):
                np.testing.assert_array_equal(values, known)
    assert lost[0] == 2
    assert [first for first, _ in shards.assigned] == [0, 2, 0]


@pytest.mark.cluster
def test_blocks_that_are_lost_again_and_again_are_given_up(
    threads_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = Shards(pieces(3), threads_client)

    def lost(self: Shard, *_: Any) -> None:
        raise OSError("the worker is gone")

    monkeypatch.setattr(Shard, "sweep", lost)
    with pytest.raises(LuceError, match="blocks 0 to 0 were lost 5 times in a row"):
        shards.sweep(P, 1)
    with pytest.raises(OSError, match="the worker is gone"):  # here there is nobody else to ask
        Shards(pieces(3), None).sweep(P, 1)


def test_a_worker_known_to_be_lost_fails_only_when_it_is_waited_for() -> None:
    class Lost:
        def __getattr__(self, name: str) -> None:
            raise RuntimeError("Worker holding Actor was lost")

    answer = ask(Lost(), "sweep", ())
    with pytest.raises(RuntimeError, match="was lost"):
        answer.result()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_shard_whose_worker_is_killed_is_built_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [partial(many_sets, block) for block in range(5)]
    options: dict[str, Any] = {"draws": 150, "chains": 2, "seed": 5, "progress": False}
    here = luce.sample_sharded(given, cluster=None, **options)
    sweeps, made = [0], []
    sweep = Shards.sweep

    def counted(self: Shards, p: Any, word: int) -> Any:
        sweeps[0] += 1
        if not made:
            made.append(self)
        return sweep(self, p, word)

    monkeypatch.setattr(Shards, "sweep", counted)
    killer = killing(client, lambda: sweeps[0] > 100)  # in the middle of the chains
    there = luce.sample_sharded(given, cluster=client, **options)
    killer.join()
    assert same_draws(here, there)
    built = made[0].assigned
    assert len(built) == 3  # two, and one of them again
    assert len({first for first, _ in built}) == 2
