"""Agreement of segmentations: brute force, axioms of a metric, and words where chains disagree."""

from math import log
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.segmentation_runs import jittered, permuted, random_states, run_of

from luce.errors import DataError
from luce.sequences import agreement, doubts
from luce.sequences.agreement import (
    Pieces,
    between_and_within,
    variation_of_information,
    variations,
)
from luce.sequences.doubts import doubts_about, doubts_of


def brute_force(a: Any, b: Any) -> float:
    """Add H(a | b) and H(b | a) up, time by time."""
    pairs = list(zip(a, b, strict=True))
    total = 0.0
    for x, y in pairs:
        both = sum(p == (x, y) for p in pairs)
        total += log(sum(u == x for u, _ in pairs) / both)
        total += log(sum(v == y for _, v in pairs) / both)
    return total / len(pairs)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng([SEED, 20])


@pytest.mark.parametrize(("times", "labels"), [(1, 1), (7, 2), (40, 3), (90, 11)])
def test_variation_is_that_of_a_double_loop(
    times: int, labels: int, rng: np.random.Generator
) -> None:
    for _ in range(5):
        a, b = rng.integers(labels, size=times), rng.integers(2 * labels, size=times) ** 3 - 5
        assert variation_of_information(a, b) == pytest.approx(brute_force(a, b), abs=1e-12)


def test_variation_is_a_metric_of_partitions(rng: np.random.Generator) -> None:
    x = np.stack([random_states(rng, [0, 60], 4, 5.0) for _ in range(12)])
    x[5] = rng.permutation(4)[x[2]]
    d = variations(x)
    assert (d == d.T).all()
    assert (d.diagonal() == 0).all()
    assert d[2, 5] == 0
    rest = np.delete(np.arange(12), 5)
    apart = d[np.ix_(rest, rest)] + np.eye(11)
    assert (apart > 0).all()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()
    np.testing.assert_allclose(d, variations(permuted(rng, x, 4)), atol=1e-12)
    assert d.max() <= 2 * log(4)


def test_matrix_is_that_of_single_pairs(rng: np.random.Generator) -> None:
    truth = random_states(rng, [0, 50, 300], 6, 20.0)
    x = np.stack([jittered(rng, truth, [0, 50, 300], 3) for _ in range(6)])
    one_by_one = [[variation_of_information(a, b) for b in x] for a in x]
    np.testing.assert_allclose(variations(x), one_by_one, atol=1e-12)
    np.testing.assert_allclose(variations(x[:2], x[2:]), np.array(one_by_one)[:2, 2:], atol=1e-12)


def test_labels_may_be_of_any_type_and_any_size() -> None:
    words, numbers = ["b", "b", "a", "c"], [10**12, 10**12, -(10**12), 7]
    assert variation_of_information(words, numbers) == 0
    far = np.array([[10**12, 5, 5], [0, 1, 0]])
    assert variations(far)[0, 1] == pytest.approx(brute_force(*far))


def test_evenly_spaced_times_stand_for_all_where_there_are_many(rng: np.random.Generator) -> None:
    n = 3 * agreement.TIMES_COMPARED
    x = rng.integers(3, size=(2, n))
    x[1, n // 2 :] = x[0, n // 2 :]
    pieces = Pieces.of(x, most=agreement.TIMES_COMPARED)
    assert pieces.labels.shape == (2, agreement.TIMES_COMPARED)
    exact = variation_of_information(*x)
    assert variations(x)[0, 1] == pytest.approx(exact, rel=0.05)
    assert variations(x)[0, 1] != exact


def test_pieces_are_what_no_segmentation_cuts() -> None:
    pieces = Pieces.of(np.array([[4, 4, 4, 9, 9], [1, 1, 0, 0, 0]]), np.array([0, 1, 5]))
    assert pieces.lengths.tolist() == [1, 1, 1, 2]
    assert pieces.labels.tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]
    assert pieces.spread(np.array([3, 1, 4, 1])).tolist() == [3, 1, 4, 1, 1]


def test_between_and_within_are_means_over_pairs(rng: np.random.Generator) -> None:
    x = np.stack([[random_states(rng, [0, 40], 3, 6.0) for _ in range(3)] for _ in range(2)])
    found = between_and_within(x)
    between = np.mean([brute_force(a, b) for a in x[0] for b in x[1]])
    own = [np.mean([brute_force(c[i], c[j]) for i, j in ((0, 1), (0, 2), (1, 2))]) for c in x]
    assert found.between == pytest.approx(between)
    assert found.within == pytest.approx(np.mean(own))
    np.testing.assert_allclose(found.by_chains, [[own[0], between], [between, own[1]]])


def test_one_chain_and_one_draw_leave_figures_unknown(rng: np.random.Generator) -> None:
    x = random_states(rng, [0, 40], 3, 6.0)
    one = between_and_within(np.array([[x, x]]))
    assert np.isnan(one.between)
    assert one.within == 0
    two = between_and_within(np.array([[x], [x]]))
    assert two.between == 0
    assert np.isnan(two.within)


@pytest.mark.parametrize(
    ("a", "b"), [([0, 1], [0]), ([], []), ([[0]], [[0]])], ids=["lengths", "none", "dimensions"]
)
def test_labels_that_cannot_be_compared_are_refused(a: Any, b: Any) -> None:
    with pytest.raises(DataError, match="one label for each time"):
        variation_of_information(a, b)


def test_states_that_are_no_labels_are_refused() -> None:
    with pytest.raises(DataError, match=r"whole numbers of shape \(segmentation, time\)"):
        variations([[0.5, 1.0]])
    with pytest.raises(DataError, match=r"of shape \(chain, draw, time\)"):
        between_and_within([[0, 1]])
    with pytest.raises(DataError, match="of 2 and of 3 times"):
        variations([[0, 1]], [[0, 1, 2]])


# -- words -----------------------------------------------------------------------------------------

BORDERS, CHAINS, DRAWS = (0, 150, 400), 4, 150


def draws_about(rng: np.random.Generator, truths: list[Any]) -> Any:
    """Make a chain about each of some segmentations, each draw with labels of its own."""
    x = [[jittered(rng, truth, BORDERS, 2) for _ in range(DRAWS)] for truth in truths]
    return permuted(rng, np.array(x), 9)


@pytest.fixture
def truth(rng: np.random.Generator) -> Any:
    return random_states(rng, BORDERS, 6, 15.0)


def test_chains_that_agree_leave_no_doubt(rng: np.random.Generator, truth: Any) -> None:
    run = run_of(draws_about(rng, [truth] * CHAINS), BORDERS, concentration=np.ones((4, DRAWS)))
    found = doubts_of(run)
    assert found.sentences == ()
    assert found.kind == "good"
    assert found.between == pytest.approx(found.within, rel=0.05)
    assert set(found.scalars) <= {"log_likelihood", "states_used", "segments"}
    assert {"log_likelihood", "segments"} <= set(found.scalars)  # the constant one is left out
    assert all(own.rhat < 1.05 and own.ess > 400 for own in found.scalars.values())
    assert 0 < found.pairs < 100
    assert str(found) == "The draws can be trusted."


def test_chains_that_disagree_are_told(rng: np.random.Generator, truth: Any) -> None:
    others = [random_states(rng, BORDERS, 6, 15.0) for _ in range(CHAINS)]
    found = doubts_of(run_of(draws_about(rng, others), BORDERS))
    assert found.kind == "bad"
    words = (
        f"differ by {found.between:.2f} nats of variation of information, two draws of one chain "
        f"by {found.within:.2f}"
    )
    assert found.problems[0].startswith("The chains disagree on what is one state")
    assert words in found.problems[0]
    assert any("pairs of times" in sentence for sentence in found.cares)
    assert found.together.rhat > 1.5
    assert str(found).startswith("Do not trust these draws yet. The chains disagree")


def test_pairs_of_times_tell_what_the_variation_does_not(
    rng: np.random.Generator, truth: Any
) -> None:
    """One chain has one state where the others have two; it uses fewer states, and merges pairs."""
    one, other = np.bincount(truth).argsort()[-2:]
    merged = np.where(truth == one, other, truth)
    found = doubts_of(run_of(draws_about(rng, [truth, truth, merged, truth]), BORDERS))
    assert found.kind == "bad"
    assert found.scalars["states_used"].rhat > 1.05
    assert any("in one state more often in some chains" in words for words in found.cares)


@pytest.mark.parametrize("far", [True, False])
def test_pairs_of_chains_are_judged_where_the_mean_is_small(far: bool) -> None:
    x = np.zeros((4, 6, 100), np.int16)
    x[3, :, : 50 if far else 5] = 1
    found = doubts_about(x, {}, n_states=9)
    assert found.between == pytest.approx((log(2) if far else brute_force(x[0, 0], x[3, 0])) / 2)
    told = any("The chains 0 and 3 of 4 disagree" in sentence for sentence in found.problems)
    assert told == far


def test_much_variation_within_chains_is_no_disagreement(rng: np.random.Generator) -> None:
    x = rng.integers(5, size=(4, 40, 200))
    found = doubts_about(x, {}, n_states=9)
    assert found.between > 2
    assert found.sentences == ()


def test_full_weak_limit_is_told(rng: np.random.Generator, truth: Any) -> None:
    x = draws_about(rng, [truth] * CHAINS)
    most = int(max(len(np.unique(own)) for chain in x for own in chain))
    full = doubts_of(run_of(x, BORDERS, n_states=most))
    assert full.kind == "mixed"
    assert full.sentences == full.cares
    assert f"All {most} states are used in" in full.sentences[0]
    assert doubts_of(run_of(x, BORDERS, n_states=most + 1)).sentences == ()


def test_segments_that_are_cut_off_are_told(rng: np.random.Generator, truth: Any) -> None:
    x = draws_about(rng, [truth] * CHAINS)
    cut = doubts_of(run_of(x, BORDERS, longest=60, at_longest=1))
    assert cut.kind == "mixed"
    assert "of the segments are as long as longest = 60 allows" in cut.sentences[0]
    few = np.zeros((CHAINS, DRAWS), int)
    few[0, :3] = 1
    rare = doubts_of(run_of(x, BORDERS, longest=60, at_longest=few))
    assert 0 < rare.at_longest < 0.001
    assert rare.sentences == ()
    assert doubts_of(run_of(x, BORDERS, longest=0, at_longest=1)).sentences == ()


def test_scalars_are_judged_by_the_limits_of_all_runs(rng: np.random.Generator, truth: Any) -> None:
    x = draws_about(rng, [truth] * CHAINS)
    drifting = rng.normal(size=(CHAINS, DRAWS)) + np.arange(CHAINS)[:, None]
    found = doubts_of(run_of(x, BORDERS, concentration=drifting))
    assert found.kind == "bad"
    assert "of concentration (at most 1.05 is wanted)" in found.sentences[0]
    still = doubts_of(run_of(x, BORDERS, concentration=np.arange(4.0)[:, None] + np.zeros(DRAWS)))
    assert still.scalars["concentration"] == doubts.Figures(float("inf"), 4.0)
    assert still.kind == "bad"


def test_few_chains_and_draws_are_told(rng: np.random.Generator, truth: Any) -> None:
    one = doubts_about(draws_about(rng, [truth]), {}, n_states=9)
    assert one.sentences == ("One chain has no other to agree with: take several.",)
    few = doubts_about(draws_about(rng, [truth] * 2)[:, :3], {"x": np.eye(2)}, n_states=9)
    assert few.kind == "mixed"
    assert "The states of 3 draws a chain were kept" in few.sentences[0]
    assert np.isnan(few.scalars["x"].rhat)


def test_limit_of_pairs_is_rarely_passed_by_independent_draws(rng: np.random.Generator) -> None:
    """100 pairs pass it together in one of a hundred runs; twenty runs pass it less than thrice."""
    alarms = 0
    for _ in range(20):
        x = rng.integers(2, size=(4, 24, 300))
        alarms += any("pairs of times" in s for s in doubts_about(x, {}, n_states=9).cares)
    assert alarms < 3
    assert doubts.largest_rhat_of_pairs(4, 24) > 1.05
    assert doubts.largest_rhat_of_pairs(4, 4000) == 1.05


def test_other_runs_are_refused() -> None:
    import xarray as xr

    with pytest.raises(DataError, match=r"give what SemiMarkov\.fit returned"):
        doubts_of(xr.DataTree())
