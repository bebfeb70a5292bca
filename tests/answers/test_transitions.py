"""Rows of a transition matrix put together."""

from __future__ import annotations

import numpy as np
import pytest
from lib.answer_cases import draws_of

import luce
from luce import Posterior
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_rows_make_a_matrix_with_exact_zeros() -> None:
    rows = luce.from_transitions("abcabcacb", rows="separate", self_loops="removed")
    runs = {
        s: Posterior(row).sample(300, seed=k, progress=False)
        for k, (s, row) in enumerate(rows.items())
    }
    matrix = luce.answers.transition_matrix(runs)
    assert matrix.dims == ("chain", "draw", "source", "target")
    np.testing.assert_allclose(matrix.sum("target"), 1.0)
    for state in "abc":
        assert (matrix.sel(source=state, target=state) == 0.0).all()
        np.testing.assert_array_equal(
            matrix.sel(source=state, target=list(rows[state].categories)),
            runs[state]["posterior"]["probabilities"],
        )


def test_rows_are_put_together_with_zeros_where_nothing_goes() -> None:
    rng = np.random.default_rng(3)
    two = {s: rng.dirichlet(np.ones(2), (1, 4)) for s in "abc"}
    runs = {s: draws_of(two[s], [t for t in "abc" if t != s]) for s in "abc"}
    found = luce.answers.transition_matrix(runs)
    assert found.dims == ("chain", "draw", "source", "target")
    np.testing.assert_allclose(found.sum("target"), 1, rtol=1e-12)
    assert (found.sel(source="b", target="b") == 0).all()
    np.testing.assert_array_equal(found.sel(source="b", target="c"), two["b"][..., 1])
    numbered = luce.answers.transition_matrix(
        {0: draws_of(two["a"], [0, 1]), 1: draws_of(two["b"], [0, 1])}
    )
    assert numbered["source"].values.tolist() == [0, 1]


def test_rows_that_do_not_fit_are_refused() -> None:
    rows = luce.from_transitions("abcabcacb", rows="separate")
    runs = {state: Posterior(row).sample(10, seed=1, progress=False) for state, row in rows.items()}
    with pytest.raises(DataError, match="drawn with the same seed"):
        luce.answers.transition_matrix(runs)
    for nothing, words in (({}, "a mapping from states"), ([], "these are not draws")):
        with pytest.raises(DataError, match=words):
            luce.answers.transition_matrix(nothing)
    p = np.full((1, 4, 2), 0.5)
    with pytest.raises(DataError, match="differ in chains and draws"):
        luce.answers.transition_matrix({"a": draws_of(p), "b": draws_of(p[:, :2])})
    with pytest.raises(DataError, match="lead to 'c', for which there are no draws"):
        luce.answers.transition_matrix({"a": draws_of(p), "b": draws_of(p, ["b", "c"])})


FILM = ["walk", "sniff", "rest", "walk", "rear", "sniff", "walk", "rest", "sniff", "rear", "walk"]
NEVER = {"rest": ["rear"], "rear": ["rest"]}


def test_rows_of_one_vector_are_its_shares() -> None:
    counts = luce.from_transitions(FILM, forbidden=NEVER)
    run = Posterior(counts).sample(200, seed=1, progress=False)
    found = luce.answers.transition_matrix(run, forbidden=NEVER)
    p = run.posterior["probabilities"]
    states = p["category"].values.tolist()
    for i in states:
        allowed = [j for j in states if j != i and j not in NEVER.get(i, [])]
        own = p.sel(category=allowed) / p.sel(category=allowed).sum("category")
        row = found.sel(source=i)
        np.testing.assert_allclose(row.sel(target=allowed).values, own.values, rtol=1e-12)
        assert row["forbidden"].values.tolist() == [j not in allowed for j in states]
        assert (row.values[..., row["forbidden"].values] == 0).all()
    kept = luce.from_transitions(FILM, self_loops="kept")
    run = Posterior(kept).sample(20, seed=1, progress=False)
    found = luce.answers.transition_matrix(run, self_loops="kept")
    for i in range(4):
        np.testing.assert_allclose(found[:, :, i].values, run.posterior["probabilities"].values)


def test_masks_that_the_data_contradicts_are_refused() -> None:
    run = Posterior(luce.from_transitions(FILM, forbidden=NEVER)).sample(5, seed=1, progress=False)
    kept = Posterior(luce.from_transitions(FILM, self_loops="kept")).sample(5, seed=1)
    pairs = luce.from_pairs([("a", "b"), ("b", "c"), ("c", "d")])
    duels = Posterior(pairs).sample(5, seed=1, progress=False)
    some = Posterior(luce.from_transitions(FILM)).sample(5, seed=1, keep=["walk"], progress=False)
    matrix = luce.answers.transition_matrix
    for call, words in (
        (lambda: matrix(run), "has 4 outcomes given {sniff, walk}"),
        (lambda: matrix(run, forbidden={"rest": ["walk"]}), "no state has these"),
        (lambda: matrix(kept), "outcomes given all states"),
        (lambda: matrix(duels), "other data than transitions"),
        (lambda: matrix(some), "only some probabilities were kept"),
        (lambda: matrix(run, self_loops="none"), "'removed' or 'kept' is needed"),
        (lambda: matrix(run, forbidden={"rest": ["walk", "rear", "sniff"]}), "from 'rest' nothing"),
    ):
        with pytest.raises(DataError, match=words):
            call()


def test_runs_with_rows_and_matrices_are_read_as_they_are() -> None:
    model = luce.HDPTransitions("nonparametric", 2.0, 2.0)
    run = model.fit([FILM], 20, chains=1, warmup=5, seed=1, progress=False)
    found = luce.answers.transition_matrix(run)
    np.testing.assert_array_equal(found.values, run.posterior["rows"].values)
    assert found["target"].values.tolist()[-1] == "remainder"
    assert found["forbidden"].values.sum() == 4
    assert luce.answers.transition_matrix(found).identical(found)
    bare = found.drop_vars("forbidden").rename(target="state")
    assert luce.answers.transition_matrix(bare).identical(found)  # 0 in all draws
    matrix = luce.answers.transition_matrix
    thin = model.fit([FILM], 20, chains=1, warmup=5, seed=1, progress=False, rows=False)
    for call, words in (
        (lambda: matrix(run, self_loops="kept"), "draws have rows"),
        (lambda: matrix(thin), "rows=True"),
        (lambda: matrix(found * 0.9), "must add up to 1"),
        (lambda: matrix(found.rename(source="from")), "are needed, each row"),
        (lambda: matrix(found[:, :0]), "holds no draws"),
    ):
        with pytest.raises(DataError, match=words):
            call()
