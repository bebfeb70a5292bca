"""Maxima of grouped outcomes, against other optimisers from many starts.

The likelihoods are those of `maximum_oracles`, from the outcomes one by one.
"""

import os

import numpy as np
import pytest
from lib.maximum_oracles import Data, Seen, log_height, peaks, random_data

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import NoMaximumError

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


def counts_of(n: int, data: Data) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for outcome, within, count in data:
        if len(outcome) == 1:
            counts = counts.observe({outcome[0]: count}, within=within)
        else:
            counts = counts.observe_group(outcome, count, within=within)
    return counts


# -- grouped outcomes -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_modes_of_grouped_outcomes_are_the_highest_peaks(seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    n = int(rng.integers(3, 6))
    data, concentration = random_data(rng, n, 9, grouped=0.6), rng.uniform(1.1, 2.5, n)
    posterior = Posterior(counts_of(n, data), concentration)
    for scale, powers in (("simplex", concentration - 1), ("log-odds", concentration)):
        found = posterior.mode(scale)
        highest = peaks(data, powers, rng)[0]
        height = log_height(np.asarray(found), data, powers)
        assert height > highest.height - 1e-8
        if height < highest.height + 1e-6:  # else the others missed it
            np.testing.assert_allclose(found, highest.p, atol=1e-4)
        # The same assertion tells a point a hundredth off.
        off = found * np.exp(rng.normal(0, 1e-2, n))
        assert log_height(off / off.sum(), data, powers) < highest.height - 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_estimates_from_grouped_outcomes_are_the_highest_peaks(seed: int) -> None:
    """Or not there: then the peak is a ridge, or goes on where somebody of the winners is at 0."""
    rng = np.random.default_rng([SEED, 100 + seed])
    n = int(rng.integers(3, 6))
    data = random_data(rng, n, 10, grouped=0.5)
    found = peaks(data, np.zeros(n), rng)
    counts = counts_of(n, data)
    level = [peak for peak in found if peak.height > found[0].height - 1e-6]
    zeros = [i for i in range(n) if found[0].p[i] < 1e-6]
    try:
        best = luce.maximum_likelihood(counts)
    except NoMaximumError:
        assert len(level) > 1 or counts.category_counts[zeros].any() or (
            any({*s.outcome} <= {*zeros} for s in data)
        )  # fmt: skip
        return
    assert len(level) == 1
    assert list(best.probabilities.at_zero) == zeros
    assert best.log_likelihood > found[0].height - 1e-7
    assert best.log_likelihood == pytest.approx(
        log_height(np.asarray(best.probabilities), data), abs=1e-9
    )
    np.testing.assert_allclose(best.probabilities, found[0].p, atol=1e-4)


# a has a quarter, b and c the rest, but a beats either alone: so one of b and c is next to nothing.
TWO_PEAKS = [Seen((0,), (0, 1, 2), 12), Seen((1, 2), (0, 1, 2), 37), Seen((0,), (0, 2), 9),
             Seen((0,), (0, 1), 6)]  # fmt: skip


def test_the_larger_of_two_maxima_is_found() -> None:
    concentration = np.array([1.3, 1.2, 1.4])
    both = peaks(TWO_PEAKS, concentration - 1, np.random.default_rng([SEED, 200]), starts=30)
    assert len(both) == 2
    assert both[0].height > both[1].height + 1
    mode = Posterior(counts_of(3, TWO_PEAKS), concentration).mode()
    assert mode.maxima == 2
    assert "largest of 2 maxima found" in repr(mode)
    np.testing.assert_allclose(mode, both[0].p, atol=1e-5)
    assert np.abs(mode - both[1].p).max() > 0.5
    # Without the games of a alone there is one.
    assert Posterior(counts_of(3, TWO_PEAKS[:2]), concentration).mode().maxima == 1


def test_a_maximum_on_the_boundary_is_returned() -> None:
    """Without a prior b or c is at 0; with c at 0, a^(12 + 6) b^37 is largest at 18 to 37."""
    found = luce.maximum_likelihood(counts_of(3, TWO_PEAKS))
    assert found.probabilities.at_zero == (2,)
    assert found.probabilities.maxima == 2
    np.testing.assert_allclose(found.probabilities, [18 / 55, 37 / 55, 0], atol=1e-9)
    assert found.log_likelihood == pytest.approx(18 * np.log(18 / 55) + 37 * np.log(37 / 55))
    assert found.log_likelihood > 21 * np.log(21 / 58) + 37 * np.log(37 / 58)  # with b at 0
    for less in (1e-2, 1e-4, 1e-6):  # c has nothing to gain
        moved = (1 - less) * np.asarray(found.probabilities) + [0, 0, less]
        assert log_height(moved, TWO_PEAKS) < found.log_likelihood


def test_ridges_and_equal_peaks_have_no_single_maximum() -> None:
    ridge = [Seen((0, 1), (0, 1, 2), 3), Seen((2,), (0, 1, 2), 2), Seen((1, 3), (1, 2, 3), 3),
             Seen((2,), (1, 2, 3), 2)]  # fmt: skip
    for b in (0.1, 0.2, 0.3):  # anything goes, if a and b, and b and d, are to c as 3 to 2
        p = np.array([0.6 - b, b, 0.4, 0.6 - b])
        assert log_height(p / p.sum(), ridge) == pytest.approx(-6.7301167)
    equal = [Seen((0,), (0, 1, 2), 12), Seen((1, 2), (0, 1, 2), 37), Seen((0,), (0, 2), 6),
             Seen((0,), (0, 1), 6)]  # fmt: skip
    for n, data in ((4, ridge), (3, equal)):
        with pytest.raises(NoMaximumError, match="not a single point"):
            luce.maximum_likelihood(counts_of(n, data))


def test_grouped_outcomes_may_leave_a_climb_without_an_end() -> None:
    # b beat c twice, c beat b 7 times; where 0 took part, 0 or c won.
    data = [Seen((0,), (0, 2), 1), Seen((0, 2), (0, 1, 2), 3), Seen((1,), (1, 2), 2),
            Seen((2,), (1, 2), 7)]  # fmt: skip
    with pytest.raises(NoMaximumError) as caught:
        luce.maximum_likelihood(counts_of(3, data))
    assert caught.value.groups[0] == [0]
    assert sorted(i for group in caught.value.groups for i in group) == [0, 1, 2]
    heights = [log_height(np.array([1, 2 * x, 7 * x]) / (1 + 9 * x), data) for x in (1, 1e-3, 1e-6)]
    assert heights == sorted(heights)
    assert Posterior(counts_of(3, data), 1.5).mode().min() > 0
