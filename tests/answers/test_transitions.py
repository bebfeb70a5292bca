"""Rows of a transition matrix put together."""

from __future__ import annotations

import numpy as np
import pytest
from lib.answer_cases import draws_of

import luce
from luce import Posterior
from luce.errors import DataError


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
