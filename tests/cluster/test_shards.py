"""Terms in blocks: sums that do not depend on who makes them, and the right posterior."""

import os
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.bounds import z_limit
from lib.oracles import Family, simplex_quadrature
from lib.sampling_oracles import Moments, chain_moments, z_scores

import luce
from luce import ConditionalCounts, LuceError
from luce.cluster.sharded import _cut
from luce.cluster.shards import Shards
from luce.cluster.tree_sums import nodes_of, sum_of, total_of
from luce.errors import DataError, MethodError

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


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


def test_plain_sums_would_depend_on_it() -> None:
    """The control: added up worker by worker, the last bits differ."""
    values = np.random.default_rng(3).lognormal(0, 9, (40, 50))
    in_a_row = values.sum(axis=0)
    by_two = values[:13].sum(axis=0) + values[13:].sum(axis=0)
    assert (in_a_row != by_two).any()


def small() -> tuple[list[ConditionalCounts], Family]:
    """Three categories in four pieces, with a grouped outcome, and the same as exponents."""
    none = ConditionalCounts(["a", "b", "c"])
    pieces = [
        none.observe({"a": 4, "b": 1}, within=["a", "b"]),
        none.observe({"b": 2, "c": 3}, within=["b", "c"]).observe({"a": 1}),
        none.observe({"a": 2, "b": 2}, within=["a", "b"]),  # a set that another piece has too
        none.observe_group(["a", "c"], 3).observe({"c": 1}, within=["a", "c"]),
    ]
    powers = {(0,): 7, (1,): 5, (2,): 4, (0, 1): -9, (1, 2): -5, (0, 2): 3 - 1}
    return pieces, {frozenset(k): float(v) for k, v in powers.items()}


def drawn(pieces: list[ConditionalCounts]) -> Moments:
    run = luce.sample_sharded(
        pieces, [1.2, 0.7, 2.0], 150, chains=30, warmup=20,
        seed=np.random.SeedSequence([SEED, 8]), cluster=None, progress=False,
    )  # fmt: skip
    return chain_moments(run.posterior["probabilities"].values)


@pytest.mark.slow
def test_pieces_give_the_posterior_of_their_sum() -> None:
    pieces, exponents = small()
    truth = simplex_quadrature(exponents, [1.2, 0.7, 2.0])
    exact = Moments(np.stack([truth.mean, truth.variance]), np.zeros((2, 3)), np.inf)
    assert z_scores(drawn(pieces), exact).max() < z_limit(6)
    # The control: one piece missing.
    assert z_scores(drawn(pieces[:3]), exact).max() > z_limit(6)


@pytest.mark.slow
def test_blocks_have_bits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one generator for all blocks waits are not independent.

    Equal pieces then wait equally long, and the posterior comes out wrong.
    """
    none = ConditionalCounts(["a", "b", "c"])
    piece = none.observe({"a": 6, "b": 3}, within=["a", "b"])
    piece = piece.observe({"b": 4, "c": 5}, within=["b", "c"])
    exponents = {frozenset(k): 8 * v for k, v in {
        (0,): 6.0, (1,): 7.0, (2,): 5.0, (0, 1): -9.0, (1, 2): -9.0}.items()}  # fmt: skip
    truth = simplex_quadrature(exponents, [1.2, 0.7, 2.0])
    exact = Moments(np.stack([truth.mean, truth.variance]), np.zeros((2, 3)), np.inf)
    assert z_scores(drawn([piece] * 8), exact).max() < z_limit(6)
    from luce.kernels import shards

    right = shards.block_bits
    monkeypatch.setattr(shards, "block_bits", lambda word, block: right(word, 0))
    assert z_scores(drawn([piece] * 8), exact).max() > z_limit(6)


def many_sets(block: int, n: int = 300, sets: int = 200) -> ConditionalCounts:
    rng = np.random.default_rng([9, block])
    counts = ConditionalCounts(n)
    for _ in range(sets):
        members = rng.choice(n, 5, replace=False).tolist()
        counts = counts.observe({members[0]: 1}, within=members)
    return counts


def test_counts_are_cut_into_blocks_that_add_up() -> None:
    counts = many_sets(0) + many_sets(1) + ConditionalCounts(300).observe_ranking(range(40))
    pieces = _cut(counts, 150)
    assert len(pieces) > 5
    assert sum(pieces, ConditionalCounts(300)) == counts
    assert max(len(piece.sets.members) for piece in pieces) < 300


def test_a_function_is_called_where_the_block_is_held() -> None:
    pieces = [partial(many_sets, k) for k in range(3)]
    held = Shards(pieces, None)
    whole = many_sets(0) + many_sets(1) + many_sets(2)
    np.testing.assert_array_equal(held.category_counts, whole.category_counts)
    assert held.net == 0.0
    options = {"draws": 20, "chains": 2, "seed": 1, "cluster": None, "progress": False}
    called = luce.sample_sharded(pieces, **options)
    given = luce.sample_sharded([many_sets(k) for k in range(3)], **options)
    np.testing.assert_array_equal(
        called.posterior["probabilities"], given.posterior["probabilities"]
    )
    assert called.attrs["data_pieces"] == 3
    with pytest.raises(DataError, match="3 pieces"):
        luce.posterior_of(called)


def test_a_sharded_run_goes_to_a_disk_and_is_the_same(tmp_path: object) -> None:
    pieces = [many_sets(k) for k in range(3)]
    options = {"draws": 40, "chains": 2, "seed": 1, "cluster": None, "progress": False, "thin": 2}
    memory = luce.sample_sharded(pieces, **options)
    disk = luce.sample_sharded(pieces, to=f"{tmp_path}/run.zarr", quantiles=[0.5], **options)
    np.testing.assert_array_equal(
        memory.posterior["probabilities"], disk.posterior["probabilities"]
    )
    loaded = luce.load(f"{tmp_path}/run.zarr")
    assert loaded.attrs["data_pieces"] == 3
    whole = luce.sample_sharded(sum(pieces), **options)
    assert luce.posterior_of(whole).counts == sum(pieces)


def test_what_cannot_be_sharded_is_refused() -> None:
    piece = many_sets(0)
    for wrong in ([], "pieces", 3, [piece, 4]):
        with pytest.raises(DataError, match="piece"):
            luce.sample_sharded(wrong, cluster=None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="piece 1 has other categories"):
        luce.sample_sharded([piece, many_sets(1, n=301)], cluster=None)
    with pytest.raises(DataError, match="piece 1 gave int"):
        luce.sample_sharded([piece, lambda: 3], cluster=None)  # type: ignore[list-item,return-value]
    with pytest.raises(MethodError, match=r"at least 0\.05"):
        luce.sample_sharded([piece], 0.001, cluster=None)
    with pytest.raises(LuceError, match="cluster = 5"):
        luce.sample_sharded([piece], cluster=5)  # type: ignore[arg-type]
