"""Segments, changes and similarities of runs that were made up, so that the answers are known."""

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED
from lib.segmentation_runs import jittered, permuted, random_states, run_of

from luce.errors import DataError
from luce.sequences.agreement import variation_of_information, variations
from luce.sequences.point_estimates import by_time_held, point_estimate
from luce.sequences.segmentations import (
    KeptStates,
    change_probability,
    match,
    matched,
    segments,
    similarity,
    states_counted,
    summary,
)

BORDERS = (0, 3, 8)
# Two chains of two draws of a sequence of 3 rows and one of 5.
SMALL = [
    [[0, 0, 1, 1, 1, 2, 2, 2], [3, 3, 1, 1, 1, 1, 0, 0]],
    [[1, 1, 1, 1, 0, 2, 2, 2], [5, 5, 4, 4, 4, 2, 2, 2]],
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng([SEED, 21])


@pytest.fixture
def small() -> xr.DataTree:
    return run_of(SMALL, BORDERS, clock=True)


# -- answers without labels ------------------------------------------------------------------------


def test_changes_are_counted_and_borders_are_none(small: xr.DataTree) -> None:
    found = change_probability(small)
    assert found.values.tolist() == [0, 0, 0.75, 0, 0.25, 0.75, 0.25, 0]
    assert found.dims == ("time",)
    assert found["sequence"].values.tolist() == ["s0"] * 3 + ["s1"] * 5
    assert found["clock"].values.tolist() == [0.5 * t for t in range(8)]
    joined = change_probability(run_of(SMALL))
    assert joined.values.tolist() == found.values.tolist()  # no draw changes at row 3


def test_a_change_of_state_between_sequences_is_none() -> None:
    states = [[[0, 0, 0, 1, 1, 1, 1, 1]] * 2]
    assert change_probability(run_of(states, BORDERS)).values.tolist() == [0.0] * 8
    assert change_probability(run_of(states)).values.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


def test_similarity_counts_draws_with_both_rows_in_one_state(small: xr.DataTree) -> None:
    found = similarity(small)
    flat = np.array(SMALL).reshape(4, 8)
    by_hand = [[np.mean([d[t] == d[u] for d in flat]) for u in range(8)] for t in range(8)]
    assert found.dims == ("time", "other_time")
    assert found.values.tolist() == by_hand
    some = similarity(small, [6, 1])
    assert some.values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert some["time"].values.tolist() == some["other_time"].values.tolist() == [6, 1]
    assert some["sequence"].values.tolist() == ["s1", "s0"]


def test_similarity_takes_evenly_spaced_rows_of_long_series(rng: np.random.Generator) -> None:
    x = random_states(rng, [0, 1000], 4, 30.0)
    found = similarity(run_of([[x]]))
    assert found.shape == (200, 200)
    assert found["time"].values[[0, -1]].tolist() == [0, 999]
    assert (np.diff(found["time"].values) > 0).all()


@pytest.mark.parametrize(
    ("times", "message"), [([8], "rows 0 to 7"), ([-1], "rows 0 to 7"), ([0.5], "row numbers")]
)
def test_rows_that_are_none_are_refused(times: Any, message: str, small: xr.DataTree) -> None:
    with pytest.raises(DataError, match=message):
        similarity(small, times)


# -- the point estimate ----------------------------------------------------------------------------


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """List all partitions of n things."""

    def longer(start: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(start) == n:
            yield start
            return
        for label in range(max(start) + 2):
            yield from longer((*start, label))

    return longer((0,))


def least_probability(partition: np.ndarray, draws: np.ndarray) -> float:
    """Match by trying all permutations; the least probability that rows of a state are in it."""
    n, width = partition.max() + 1, max(partition.max(), draws.max()) + 1
    same = np.zeros((len(draws), n))
    for row, own in zip(same, draws, strict=True):
        agree = np.array(
            [[np.sum((partition == k) & (own == j)) for j in range(width)] for k in range(n)]
        )
        best = max(permutations(range(width), int(n)), key=lambda p: agree[range(n), p].sum())
        row[:] = agree[range(n), best]
    return float((same.mean(axis=0) / np.bincount(partition)).min())


def noisy_cases(rng: np.random.Generator, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Make draws of 6 segments of unequal length, and these lengths."""
    for _ in range(n):
        lengths = rng.integers(1, 9, size=6)
        truth = rng.integers(4, size=6)
        draws = np.where(rng.random((9, 6)) < 0.5, rng.integers(5, size=(9, 6)), truth)
        yield np.repeat(draws, lengths, axis=1), lengths


def expected_variation(segmentations: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Compute mean variations of information of segmentations from draws, with indicators."""
    ones = [x[:, :, None] == np.arange(x.max() + 1) for x in (segmentations, draws)]
    both = np.einsum("ptk,dtj->pdkj", *(one.astype(float) for one in ones)) / draws.shape[1]

    def entropy(p: np.ndarray) -> Any:
        return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)

    joint = entropy(both).sum(axis=(2, 3))
    margins = entropy(both.sum(axis=3)).sum(axis=2) + entropy(both.sum(axis=2)).sum(axis=2)
    return np.asarray((2 * joint - margins).mean(axis=1))


def test_point_estimate_is_the_best_of_all_partitions_or_close(rng: np.random.Generator) -> None:
    gaps, gaps_of_draws = [], []
    for draws, lengths in noisy_cases(rng, 25):
        every = np.repeat(np.array(list(partitions(6))), lengths, axis=1)
        expected = expected_variation(every, draws)
        allowed = [least_probability(one, draws) >= 0.1 for one in every[expected.argsort()[:8]]]
        least = np.sort(expected)[int(np.argmax(allowed))]
        gaps.append(expected_variation(point_estimate(draws)[None], draws)[0] - least)
        gaps_of_draws.append(expected_variation(draws, draws).min() - least)
    # 97 of 100 are found in the long run, and a quarter by the control: the best draw, unmoved.
    assert np.mean(np.array(gaps) < 1e-9) >= 0.75
    assert max(gaps) < 0.2
    assert np.mean(np.array(gaps_of_draws) < 1e-9) < 0.75


def test_moves_improve_on_every_draw_and_find_the_truth(rng: np.random.Generator) -> None:
    borders = [0, 400, 1500]
    truth = random_states(rng, borders, 6, 30.0)
    draws = permuted(rng, np.stack([jittered(rng, truth, borders, 3) for _ in range(60)]), 9)
    found = point_estimate(draws, np.array(borders))
    best = variations(draws).mean(axis=1).min()
    assert variations(found[None], draws).mean() < 0.9 * best
    assert variation_of_information(found, truth) < 0.5 * best


def test_states_are_numbered_by_the_time_they_hold() -> None:
    assert by_time_held(np.array([7, 7, 3, 3, 3, 9])).tolist() == [1, 1, 0, 0, 0, 2]
    assert by_time_held(np.array([5, 2]), np.array([1, 1])).tolist() == [0, 1]
    assert by_time_held(np.array([5, 2]), np.array([1, 4])).tolist() == [1, 0]


def test_states_that_no_draw_has_are_given_up(rng: np.random.Generator) -> None:
    """A row that every draw puts into one of two states, half of them each, gets no third state."""
    borders = [0, 2000]
    truth = random_states(rng, borders, 8, 25.0)
    draws = []
    for _ in range(40):
        own = jittered(rng, truth, borders, 5)
        places = np.flatnonzero(np.diff(own)) + 1
        for start, end in pairwise(places):
            if rng.random() < 0.1:
                own[start:end] = rng.integers(12)
        draws.append(own)
    x = np.stack(draws)
    found = point_estimate(x)
    names, _ = match(x, found)
    agree = (names == found).mean(axis=0)
    assert (np.bincount(found, agree) / np.bincount(found)).min() >= 0.1


def test_point_estimate_of_more_pieces_than_are_compared(rng: np.random.Generator) -> None:
    truth = random_states(rng, [0, 40_000], 5, 8.0)
    draws = np.stack([truth] * 3 + [rng.permutation(5)[truth] for _ in range(2)])
    noisy = draws.copy()
    places = rng.random(draws.shape) < 0.3
    noisy[places] = rng.integers(5, size=int(places.sum()))
    found = point_estimate(noisy)
    assert variation_of_information(found, truth) < variation_of_information(noisy[0], truth)


# -- matching --------------------------------------------------------------------------------------


def test_other_names_of_states_change_nothing(rng: np.random.Generator) -> None:
    borders = [0, 100, 300]
    truth = random_states(rng, borders, 5, 12.0)
    x = np.stack([jittered(rng, truth, borders, 2) for _ in range(20)]).reshape(2, 10, -1)
    one, other = run_of(x, borders), run_of(permuted(rng, x, 8), borders)
    xr.testing.assert_identical(change_probability(one), change_probability(other))
    xr.testing.assert_identical(similarity(one), similarity(other))
    assert segments(one).to_text() == segments(other).to_text()
    xr.testing.assert_allclose(matched(one), matched(other))
    assert summary(one).to_text() == summary(other).to_text()


def test_draws_that_differ_in_names_only_agree_wholly(rng: np.random.Generator) -> None:
    truth = random_states(rng, [0, 200], 5, 12.0)
    found = matched(run_of(permuted(rng, np.array([[truth] * 4] * 2), 9)))
    assert (found["disagreement"] == 0).all()
    assert (found["states"] == found["estimate"]).all()
    assert variation_of_information(found["estimate"].values, truth) == 0
    assert found["states"].dims == ("chain", "draw", "time")


def test_states_are_matched_for_the_longest_time_in_common() -> None:
    estimate = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    draws = np.array([[4, 4, 4, 7, 7, 7, 7, 1, 9], [3, 3, 3, 3, 3, 3, 3, 3, 3]])
    names, disagreement = match(draws, estimate)
    assert names.tolist()[0][:7] == [0, 0, 0, 1, 1, 1, 1]
    assert sorted(names.tolist()[0][7:]) == [2, 3]  # one of both is left over
    assert names.tolist()[1] == [0] * 9
    assert disagreement.tolist() == pytest.approx([2 / 9, 5 / 9])


# -- tables ----------------------------------------------------------------------------------------


def test_segments_are_rows_of_the_point_estimate(small: xr.DataTree) -> None:
    table = segments(small)
    assert list(table.columns) == ["sequence", "start", "end", "state", "probability"]
    assert table["sequence"].tolist() == ["s0", "s0", "s1", "s1"]
    assert table.start.tolist() == [0, 2, 0, 2]
    assert table.end.tolist() == [2, 3, 2, 5]
    assert table.state.tolist() == [2, 0, 0, 1]
    # By hand: the first draw is the estimate, and the last is with other names.  The second has row
    # 5 in state 0.  The third has rows 0 to 3 in one state, which is state 2: with state 0 as its
    # match, row 4 would be lost.
    assert table.probability.tolist() == pytest.approx([1, 3 / 4, 7 / 8, 11 / 12])
    assert len(table) == 4
    assert "<table>" in table._repr_html_()


def test_segments_come_as_frames(small: xr.DataTree) -> None:
    table = segments(small)
    frame, polar = table.to_pandas(), table.to_polars()
    assert frame["end"].tolist() == polar["end"].to_list() == [2, 3, 2, 5]
    assert list(frame.columns) == polar.columns == table.keys() == list(table)
    assert "state" in table
    assert repr(table).splitlines()[0].split() == table.keys()
    assert table.to_text(most=1).endswith("... and 3 more segments")
    with pytest.raises(AttributeError, match="no column 'length'"):
        _ = table.length


def test_sequences_cut_segments_of_one_state() -> None:
    table = segments(run_of([[[4] * 8] * 3], BORDERS))
    assert table.sequence.tolist() == ["s0", "s1"]
    assert table.start.tolist() == [0, 0]
    assert table.end.tolist() == [3, 5]
    assert table.state.tolist() == [0, 0]
    assert table.probability.tolist() == [1, 1]


def test_summary_tells_shares_visits_and_durations(small: xr.DataTree) -> None:
    table = summary(small, ci_prob=0.5)
    names = matched(small)["states"].values.reshape(4, 8)
    assert table.state.tolist() == [0, 1, 2]
    assert table.share.tolist() == pytest.approx([np.mean(names == k) for k in range(3)])
    shares = (names == 1).mean(axis=1)
    assert table["share_eti50_lb"][1] == pytest.approx(np.quantile(shares, 0.25))
    assert table["share_eti50_ub"][1] == pytest.approx(np.quantile(shares, 0.75))
    # State 0 has segments at row 2 and, in a new sequence, at row 3; in the third draw at row 4.
    assert table.visits[0] == 7 / 4
    assert table.visits[1] == 1
    assert table.duration[1] == pytest.approx(8 * shares.mean())
    assert table.counted.all()
    assert "States that hold at least 1% of the time: 3 in 100% of the draws." in table.header


def test_summary_never_tells_the_number_of_states_but_their_law(rng: np.random.Generator) -> None:
    x = np.zeros((2, 5, 1000), np.int16)
    x[:, :, 500:] = 1
    x[0, :3, :9] = 2  # less than 1 %
    x[1, :2, :30] = 2
    run = run_of(x)
    assert states_counted(run).values.tolist() == [[2] * 5, [3, 3, 2, 2, 2]]
    assert "2 in 80%, 3 in 20% of the draws." in summary(run).header[0]
    assert "after matching" in summary(run).header[1]
    assert "Log-likelihood: R-hat" in summary(run).header[2]


def test_summary_says_in_words_that_chains_disagree(rng: np.random.Generator) -> None:
    truths = [random_states(rng, [0, 300], 5, 12.0) for _ in range(2)]
    x = np.array([[jittered(rng, own, [0, 300], 1) for _ in range(300)] for own in truths])
    assert "The chains disagree" in summary(run_of(x)).to_text()
    same = np.array([[jittered(rng, truths[0], [0, 300], 1) for _ in range(300)] for _ in range(2)])
    assert summary(run_of(same)).notes == ()


def test_runs_are_read_once_for_several_questions(small: xr.DataTree) -> None:
    kept = KeptStates.of(small)
    assert KeptStates.of(kept) is kept
    assert segments(kept).to_text() == segments(small).to_text()
    assert kept.matched is kept.matched


def test_other_runs_are_refused() -> None:
    with pytest.raises(DataError, match=r"Give what SemiMarkov\.fit returned"):
        segments(xr.DataTree())
    with pytest.raises(DataError, match="keeps no states"):
        segments(run_of(np.zeros((2, 0, 5))))
