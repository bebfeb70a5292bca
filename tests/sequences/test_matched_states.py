"""Parameters, transitions and durations of states whose numbers differ from draw to draw."""

import numpy as np
import pytest
import xarray as xr
from lib.segmented_runs import FIRST, SECOND_WAY, by_hand, duration_name, fit
from scipy import stats

import luce
from luce.sequences import Geometric, Histogram, NegativeBinomial, Poisson
from luce.sequences.matched_states import MatchedStates


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return by_hand()


@pytest.fixture(scope="module")
def found(run: xr.DataTree) -> MatchedStates:
    return MatchedStates.of(run)


def test_states_are_found_under_their_numbers(found: MatchedStates) -> None:
    assert found.estimate.tolist() == FIRST
    assert (found.n, found.names) == (2, ["state 0", "state 1"])
    np.testing.assert_allclose(found.held, [7 / 12, 5 / 12])
    way = SECOND_WAY.ravel()[:, None]
    np.testing.assert_array_equal(found.numbers, np.where(way, [3, 2], [0, 1]))
    assert MatchedStates.of(found) is found


def test_parameters_are_those_of_the_numbers(found: MatchedStates) -> None:
    mean = found.emission_parameter("mean")
    assert mean.shape == (8, 2, 2)
    expected = 10 * np.where(SECOND_WAY.ravel()[:, None], [3, 2], [0, 1]) + np.arange(8)[:, None]
    np.testing.assert_array_equal(mean, np.repeat(expected[:, :, None], 2, axis=2))


def test_a_state_that_a_draw_has_not_is_nan(run: xr.DataTree) -> None:
    lacking = run.copy(deep=True)
    lacking["states"]["states"][0, 0] = 2  # one state in all rows
    found = MatchedStates.of(lacking)
    assert (found.numbers[0] >= 0).sum() == 1
    absent = int(np.argmin(found.numbers[0]))
    assert np.isnan(found.emission_parameter("mean")[0, absent]).all()
    assert np.isnan(found.transitions[0, absent]).all()
    present = found.transitions[0, 1 - absent]
    np.testing.assert_allclose(present[:2], 0.0)  # nowhere to go but to others
    assert present[2] == pytest.approx(1.0)
    assert len(found.duration_probabilities(absent, np.array([1]))) == 7


def test_transitions_are_matched_and_the_rest_goes_to_others(found: MatchedStates) -> None:
    # The first way moves by rows 0 and 1, the second by rows 3 and 2.
    first, second = [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0.8, 0.2], [0.7, 0, 0.3]]
    np.testing.assert_allclose(found.transitions[0], first)
    np.testing.assert_allclose(found.transitions[1], second, atol=1e-15)
    mean = 0.75 * np.array(first) + 0.25 * np.array(second)
    np.testing.assert_allclose(found.mean_transitions, mean)
    assert found.forbidden.tolist() == [[True, False, False], [False, True, False]]
    # From "a" to "b" there is no move.
    assert found.moves_seen.tolist() == [[0, 1], [1, 0]]
    assert found.destinations == ["state 0", "state 1", "others"]


def test_segments_that_may_go_on_are_the_last_of_sequences(run: xr.DataTree) -> None:
    states, lengths, may_go_on = MatchedStates.of(run).segments
    assert states.tolist() == [0, 1, 1, 0]
    assert lengths.tolist() == [4, 3, 2, 3]
    assert may_go_on.tolist() == [False, True, False, True]
    ended = run.copy()
    ended.attrs["end"] = "complete"
    assert not MatchedStates.of(ended).segments[2].any()


@pytest.mark.parametrize(
    "law",
    [Poisson(mean=4.0), NegativeBinomial(mean=4.0), Geometric(mean=4.0), Histogram(np.ones(9))],
    ids=["poisson", "negative-binomial", "geometric", "histogram"],
)
def test_durations_have_the_law_that_was_drawn(law: luce.sequences.durations.Duration) -> None:
    rng = np.random.default_rng(1)
    level = np.repeat([0.0, 8.0, 0.0, 8.0], 6) + rng.normal(size=24)
    run = fit(luce.SemiMarkov(3, duration=law), level, 4, chains=1)
    found = MatchedStates.of(run)
    at = np.arange(1, 13)
    held = run["states"].to_dataset()

    def drawn(name: str, state: int) -> np.ndarray:
        values = held[duration_name(held, name)].values[0]
        return np.stack([values[d, k] for d, k in enumerate(found.numbers[:, state]) if k >= 0])

    for state in range(found.n):
        match law.name:
            case "poisson":
                laws = [stats.poisson(rate, loc=1) for rate in drawn("rate", state)]
            case "histogram":
                laws = [
                    stats.rv_discrete(values=(at[:9], p)) for p in drawn("probabilities", state)
                ]
            case _:
                both = zip(drawn("r", state), drawn("stop", state), strict=True)
                laws = [stats.nbinom(r, stop, loc=1) for r, stop in both]
        expected = np.array([one.pmf(at) for one in laws])
        there = found.numbers[:, state] >= 0
        np.testing.assert_allclose(found.duration_probabilities(state, at), expected, atol=1e-14)
        means = [one.mean() for one in laws]
        np.testing.assert_allclose(found.mean_durations[there, state], means)
