"""What a Gibbs step is given: read as it comes, or refused in words."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from luce import ConditionalCounts, GibbsStep
from luce.errors import DataError
from luce.kernels import changing_counts

STEP = GibbsStep(4, within=[[0, 1, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3]])


def test_the_same_state_gives_the_same_step() -> None:
    p, counts = np.full(4, 0.25), (np.ones(4), np.ones(4))
    for source in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        rng = np.random.Generator(source(1))
        state = rng.bit_generator.state
        one, two = STEP(rng, p, counts, 1.0), STEP(rng, p, counts, 1.0)
        assert not np.array_equal(one, two)
        rng.bit_generator.state = state
        np.testing.assert_array_equal(STEP(rng, p, counts, 1.0), one)
        assert len(set(GibbsStep.bits(rng) >> np.uint64(32))) == 4
    np.testing.assert_array_equal(p, 0.25)  # input is left alone


def test_inputs_of_any_kind_are_read() -> None:
    step, p = GibbsStep(2, within=[[0, 1]]), np.array([0.3, 0.7])
    frozen = p.copy()
    frozen.setflags(write=False)
    wanted = step(np.random.default_rng(1), p, [[3, 4]], 1.0)
    for other in ([0.3, 0.7], frozen, np.repeat(p, 2)[::2]):
        for a in (1, [1, 1], np.ones(2)):
            for counts in (([3, 4], [7]), np.array([[3, 4]]), ((3, 4), (7,))):
                got = step(np.random.default_rng(1), other, counts, a)
                np.testing.assert_array_equal(got, wanted)


def test_tables_and_totals_are_the_same_step() -> None:
    step = GibbsStep("abcd", without=[["a"], ["b"], ["c"], ["d"]])
    table = np.array([[0, 3, 1, 2], [4, 0, 0, 1], [2, 2, 0, 5], [1, 0, 3, 0]])
    totals = (table.sum(axis=0).astype(float), table.sum(axis=1).astype(float))
    p = np.full(4, 0.25)
    one = step(np.random.default_rng(2), p, table, 1.3)
    other = step(np.random.default_rng(2), p, totals, 1.3)
    np.testing.assert_array_equal(one, other)
    small = step.log_step(np.random.default_rng(2), np.log(p), table, 1e-4)
    assert np.isfinite(small).all()
    np.testing.assert_allclose(np.exp(small).sum(), 1, rtol=1e-12)
    with pytest.raises(DataError, match="shape"):
        step(np.random.default_rng(2), p, np.ones((3, 4)), 1.0)


def test_pickled_it_is_the_same() -> None:
    again = pickle.loads(pickle.dumps(STEP))
    np.testing.assert_array_equal(again.arrays, STEP.arrays)
    assert repr(again) == "GibbsStep(4 categories, 4 terms)"


P, N, M = np.full(4, 0.25), np.ones(4), np.ones(4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((P[:3], (N, M), 1.0), r"probabilities of shape \(3,\)"),
        ((0.5, (N, M), 1.0), "probabilities of shape"),
        ((P * 2, (N, M), 1.0), "add up to 1"),
        ((P - [1, -1, 0, 0], (N, M), 1.0), "must be positive"),
        ((P * np.nan, (N, M), 1.0), "must be positive"),
        (("abcd", (N, M), 1.0), "probabilities must be numbers"),
        ((P, (N[:2], M), 1.0), "totals by category have shape"),
        ((P, (N, M[:2]), 1.0), "totals by term have shape"),
        ((P, (N[:, None], M), 1.0), "totals by category have shape"),
        ((P, (-N, M), 1.0), "a count is -1"),
        ((P, (N, M * np.inf), 1.0), "a count is inf"),
        ((P, (N, M * np.nan), 1.0), "a count is nan"),
        ((P, (N, 3 * M), 1.0), "more outcomes are conditioned on sets"),
        ((P, np.ones((4, 3)), 1.0), r"\(4, 4\) is needed"),
        ((P, np.ones((4, 4)), 1.0), "outcomes of 3 in term 0, whose set does not hold it"),
        ((P, (N, M), 0.0), "a concentration is 0"),
        ((P, (N, M), [1, 1, 1, -2]), "a concentration is -2"),
        ((P, (N, M), [1, 1, 1, np.nan]), "a concentration is nan"),
        ((P, (N, M), [1, 1]), "concentration has shape"),
    ],
)
def test_what_cannot_be_right_is_put_into_words(arguments: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        STEP(np.random.default_rng(1), *arguments)


def test_families_that_cannot_be_right() -> None:
    with pytest.raises(DataError, match=r"within\[1\] is empty"):
        GibbsStep(3, within=[[0], []])
    with pytest.raises(DataError, match=r"without\[0\] names every category"):
        GibbsStep(3, without=[[0, 1, 2]])
    with pytest.raises(DataError, match=r"'x' in within\[0\] is not a category"):
        GibbsStep("abc", within=["ax"])
    with pytest.raises(DataError, match="list of lists of labels"):
        GibbsStep(3, within=3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="takes no grouped outcomes"):
        GibbsStep.of(ConditionalCounts("abc").observe_group("ab", 2))
    with pytest.raises(DataError, match="none of the step's"):
        STEP.totals(ConditionalCounts(4).observe({0: 1}, within=[0, 1]))
    with pytest.raises(DataError, match="other categories"):
        STEP.totals(ConditionalCounts("abcd"))
    with pytest.raises(DataError, match="must be a NumPy Generator"):
        STEP(7, P, (N, M), 1.0)  # type: ignore[arg-type]


def test_compiled_code_is_told_what_is_wrong_before_anything_is_written() -> None:
    out, bits = np.zeros(4), GibbsStep.bits(np.random.default_rng(1))
    before = bits.copy()
    codes = [
        STEP.compiled(bits, STEP.arrays, P[:3], N, M, N, out, None),
        STEP.compiled(bits, STEP.arrays, P, N, M, 1e-3 * N, out, None),
        STEP.compiled(bits, STEP.arrays, P, N, M, np.ones(2), out, None),
    ]
    kernel = changing_counts
    assert codes == [kernel.WRONG_SIZE, kernel.NEEDS_LOGS, kernel.WRONG_SIZE]
    assert not out.any()
    np.testing.assert_array_equal(bits, before)
