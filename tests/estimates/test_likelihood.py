"""Maximum likelihood: estimates of pairs and groups, and who stands in the way where there is none.

Missing maxima are compared with brute force over all subsets.
"""

import pickle

import numpy as np
import pytest
from lib.bounds import SEED
from lib.maximum_cases import MIXED, RIDGE, TWO_PEAKS, along_a_path, counts_of
from lib.maximum_oracles import Data, Seen, has_a_maximum, log_height, peaks, races, random_data

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import NoMaximumError


def test_maximum_likelihood_of_pairs() -> None:
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di"])
    counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 5}, within=["Cy", "Di"])  # Di never won
    np.testing.assert_allclose(Posterior(counts).mode(), [1 / 13, 3 / 13, 9 / 13, 0], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_maximum_likelihood_is_the_mode_of_a_uniform_prior(seed: int) -> None:
    rng = np.random.default_rng([SEED, 200 + seed])
    n = int(rng.integers(4, 9))
    circle = [Seen((k,), (k, (k + 1) % n), int(rng.integers(1, 4))) for k in range(n)]
    counts = counts_of(n, circle + random_data(rng, n, 6)).observe_ranking([2, 0, 1], 2)
    found, mode = luce.maximum_likelihood(counts), Posterior(counts, 1.0).mode()
    np.testing.assert_allclose(found, mode, rtol=1e-9)
    assert found.log_likelihood == pytest.approx(float(counts.log_likelihood(mode)), abs=1e-9)
    assert (found.scale, mode.scale) == ("likelihood", "simplex")
    assert np.abs(mode.values - Posterior(counts, 1.3).mode().values).max() > 1e-4


def test_estimates_are_modes_with_labels() -> None:
    found = luce.maximum_likelihood(MIXED)
    assert found.log_likelihood == float(MIXED.log_likelihood(found))
    assert float(found.sel(category="d")) == found.values[3]
    assert found.probabilities["category"].values.tolist() == list("abcde")
    assert dict(found.parameters) == {}
    assert repr(found).startswith("Mode(likelihood: a: ")
    again = pickle.loads(pickle.dumps(found))
    assert again.log_likelihood == found.log_likelihood
    np.testing.assert_array_equal(again.covariance(), found.covariance())


def test_maximum_likelihood_is_of_counts() -> None:
    with pytest.raises(luce.errors.DataError, match="Posterior was given"):
        luce.maximum_likelihood(Posterior(ConditionalCounts(2)))  # type: ignore[arg-type]


# -- extreme counts ---------------------------------------------------------------------
PATHS: list[list[tuple[float, float]]] = [
    [(2, 6), (1, 3)],
    [(1e12, 1), (5, 4)],
    [(1e12, 1), (1e12, 1)],
    [(5, 4), (1, 1e12), (1e5, 3), (2, 7), (1e9, 1e9)],
    [(1e7, 2), (3, 1), (1, 1e7), (11, 1e6), (1, 2), (4, 3), (1e5, 1)],
]


@pytest.mark.parametrize("wins", PATHS, ids=range(len(PATHS)))
def test_extreme_counts_have_their_maximum(wins: list[tuple[float, float]]) -> None:
    """Along a path the odds of each two are their wins: nothing else binds them.

    The power of an item is known to eps times itself, and log odds move by that over what is known
    of them, half the fewer wins at least.
    """
    mode = luce.maximum_likelihood(along_a_path(wins)).values
    odds = mode[:-1] / mode[1:]
    expected = [a / b for a, b in wins]
    most, known = np.max(wins), np.min(wins, axis=1) / 2
    off = np.abs(np.log(odds) - np.log(expected))
    assert (off < 1e-9 + 8 * np.finfo(float).eps * most / known).all()


def test_who_never_won_is_no_reason_to_doubt_extreme_counts() -> None:
    counts = along_a_path([(1e6, 1), (5, 4), (3, 0)])
    mode = luce.maximum_likelihood(counts)
    np.testing.assert_allclose(mode.values[:3], np.array([1.25e6, 1.25, 1]) / 1250002.25, rtol=1e-8)
    assert mode.at_zero == (3,)


# -- grouped outcomes -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_estimates_from_grouped_outcomes_are_the_highest_peaks(seed: int) -> None:
    """Or refused: then the peak is a ridge, or somebody who won is at 0 on it."""
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
        won_by_zeros = any({*s.outcome} <= {*zeros} for s in data)
        assert len(level) > 1 or counts.category_counts[zeros].any() or won_by_zeros
        return
    assert len(level) == 1
    assert list(best.at_zero) == zeros
    assert best.log_likelihood > found[0].height - 1e-7
    assert best.log_likelihood == pytest.approx(log_height(np.asarray(best), data), abs=1e-9)
    np.testing.assert_allclose(best, found[0].p, atol=1e-4)


def test_a_maximum_on_the_boundary_is_returned() -> None:
    """With 2 at 0, p_0^(12 + 6) p_1^37 is largest at 18 to 37; with 1 at 0 it is lower."""
    found = luce.maximum_likelihood(counts_of(3, TWO_PEAKS))
    assert found.at_zero == (2,)
    assert found.maxima == 2
    np.testing.assert_allclose(found, [18 / 55, 37 / 55, 0], atol=1e-9)
    assert found.log_likelihood == pytest.approx(18 * np.log(18 / 55) + 37 * np.log(37 / 55))
    assert found.log_likelihood > 21 * np.log(21 / 58) + 37 * np.log(37 / 58)  # with 1 at 0
    for less in (1e-2, 1e-4, 1e-6):  # 2 has nothing to gain
        moved = (1 - less) * found.values + [0, 0, less]
        assert log_height(moved, TWO_PEAKS) < found.log_likelihood


def test_ridges_and_equal_peaks_have_no_single_maximum() -> None:
    for b in (0.1, 0.2, 0.3):
        p = np.array([0.6 - b, b, 0.4, 0.6 - b])
        assert log_height(p / p.sum(), RIDGE) == pytest.approx(-6.7301167)
    equal = [*TWO_PEAKS[:2], Seen((0,), (0, 2), 6), Seen((0,), (0, 1), 6)]
    for n, data in ((4, RIDGE), (3, equal)):
        with pytest.raises(NoMaximumError, match="not a single point"):
            luce.maximum_likelihood(counts_of(n, data))


def test_grouped_outcomes_may_leave_a_climb_without_an_end() -> None:
    # 1 beat 2 twice, 2 beat 1 7 times; where 0 took part, 0 or 2 won.
    data = [
        Seen((0,), (0, 2), 1),
        Seen((0, 2), (0, 1, 2), 3),
        Seen((1,), (1, 2), 2),
        Seen((2,), (1, 2), 7),
    ]
    with pytest.raises(NoMaximumError) as caught:
        luce.maximum_likelihood(counts_of(3, data))
    assert caught.value.groups[0] == [0]
    assert sorted(i for group in caught.value.groups for i in group) == [0, 1, 2]
    heights = [log_height(np.array([1, 2 * x, 7 * x]) / (1 + 9 * x), data) for x in (1, 1e-3, 1e-6)]
    assert heights == sorted(heights)
    assert Posterior(counts_of(3, data), 1.5).mode().values.min() > 0


# -- no maximum -------------------------------------------------------------------------


def groups_of(counts: ConditionalCounts) -> list[list[object]]:
    """The groups that there is no maximum for, each in order."""
    with pytest.raises(NoMaximumError) as caught:
        luce.maximum_likelihood(counts)
    return [sorted(group) for group in caught.value.groups]  # type: ignore[type-var]


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_there_is_a_maximum_where_brute_force_says_so(n: int) -> None:
    rng = np.random.default_rng([SEED, 300 + n])
    met = {True: 0, False: 0}
    for _ in range(60):
        data = random_data(rng, n, int(rng.integers(1, 3 * n)))
        expected = has_a_maximum(n, data)
        met[expected] += 1
        counts = counts_of(n, data)
        if expected:
            mode = luce.maximum_likelihood(counts)
            won = {i for outcome, _, _ in data for i in outcome}
            assert set(mode.at_zero) == set(range(n)) - won
        else:
            with pytest.raises(NoMaximumError) as caught:
                luce.maximum_likelihood(counts)
            check_groups(caught.value, data)
    assert min(met.values()) >= 5


def check_groups(none: NoMaximumError, data: Data) -> None:
    """No later group won against an earlier one; or they never met."""
    place = {label: k for k, group in enumerate(none.groups) for label in group}
    assert len(place) == sum(map(len, none.groups))
    assert len(none.groups) > 1
    for (winner,), within, _ in data:
        met = {place[i] for i in within if i in place}
        if "never compared" in str(none):
            assert len(met) < 2 or not set(within) <= set(place)
        elif winner in place:
            assert min(met) == place[winner]


def test_groups_that_were_never_compared() -> None:
    apart = ConditionalCounts(list("abcxyz"))
    for one, two, three in ("abc", "xyz"):
        apart = apart.observe({one: 3, two: 1}, within=[one, two])
        apart = apart.observe({two: 2, three: 1}, within=[two, three])
    with pytest.raises(NoMaximumError, match="never compared") as caught:
        luce.maximum_likelihood(apart)
    assert [sorted(group) for group in caught.value.groups] == [list("abc"), list("xyz")]
    assert Posterior(apart, 1.5).mode().values.min() > 0


def test_groups_are_named_in_the_message() -> None:
    apart = ConditionalCounts("abcd").observe({"a": 3, "b": 2}, within="ab")
    apart = apart.observe({"c": 1, "d": 1}, within="cd")
    with pytest.raises(NoMaximumError, match=r"\['a', 'b'\], \['c', 'd'\] were never compared"):
        luce.maximum_likelihood(apart)
    with pytest.raises(NoMaximumError, match=r"\[0\], \[1\], \[2\], \[3\], \.\.\. were never"):
        luce.maximum_likelihood(ConditionalCounts(7).observe({5: 1, 6: 2}, within=[5, 6]))


def test_who_always_won_and_who_never_did() -> None:
    labels = ["Ann", "Bo", "Cy", "Di"]
    data = [
        Seen((0,), (0, 1), 3),
        Seen((1,), (0, 1), 2),
        Seen((1,), (1, 2), 1),
        Seen((2,), (0, 2), 4),
        Seen((3,), (2, 3), 1),
        Seen((3,), (0, 3), 2),
    ]
    counts = ConditionalCounts(labels)
    for (winner,), within, count in data:
        counts = counts.observe({labels[winner]: count}, within=[labels[i] for i in within])
    with pytest.raises(
        NoMaximumError, match="'Di' never lost against any of the other 3"
    ) as caught:
        luce.maximum_likelihood(counts)
    assert [sorted(g) for g in caught.value.groups] == [["Di"], ["Ann", "Bo", "Cy"]]
    # Turned around, Di never won: then Di is at 0, and that is a maximum.
    turned = ConditionalCounts(labels)
    for (winner,), within, count in data:
        (loser,) = set(within) - {winner}
        turned = turned.observe({labels[loser]: count}, within=[labels[i] for i in within])
    assert luce.maximum_likelihood(turned).at_zero == ("Di",)


def test_losers_of_one_atom_are_at_0_together() -> None:
    # d and e were always there together, and never chosen.
    counts = ConditionalCounts(list("abcde")).observe({"a": 3, "b": 1}, within="abde")
    counts = counts.observe({"b": 2, "c": 1}, within="bc").observe({"c": 2, "a": 1}, within="ca")
    mode = luce.maximum_likelihood(counts)
    assert mode.at_zero == ("d", "e")
    without = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    without = without.observe({"b": 2, "c": 1}, within="bc").observe({"c": 2, "a": 1}, within="ca")
    np.testing.assert_allclose(mode.values[:3], luce.maximum_likelihood(without), rtol=1e-9)
    # Nobody of d, e and f, a core of their own, was ever chosen: their shares do not matter.
    lost = ConditionalCounts("abcdef").observe({"a": 3, "b": 1, "c": 2})
    lost = lost.observe({"a": 1}, within="ade").observe({"b": 2}, within="bef")
    assert luce.maximum_likelihood(lost).at_zero == ("d", "e", "f")


@pytest.mark.parametrize("inside", ["a core", "a cell", "a tree"])
def test_a_team_that_never_won_has_no_place_to_be(inside: str) -> None:
    """d and e won against each other, and against nobody else: at 0 they could not have."""
    counts = ConditionalCounts(list("abcde")).observe({"d": 2, "e": 3}, within="de")
    if inside == "a tree":
        counts = counts.observe({"a": 3, "b": 1, "c": 2})
    else:
        for one, two in ("ab", "bc", "ca"):
            counts = counts.observe({one: 2, two: 1}, within=[one, two])
        for lost in ("de",) if inside == "a cell" else ("d", "e"):
            counts = counts.observe({"a": 4}, within=["a", *lost])
    for ask in (Posterior(counts, 1.0).mode, lambda: luce.maximum_likelihood(counts)):
        with pytest.raises(
            NoMaximumError, match="'d', 'e' never won against any of the other 3"
        ) as caught:
            ask()
        assert [sorted(g) for g in caught.value.groups] == [list("abc"), list("de")]
    assert Posterior(counts, 1.5).mode().values.min() > 0


TIERS = [[4, 0, 7], [2, 5], [1, 3, 6]]


@pytest.mark.parametrize("odds", [2, 1000])
@pytest.mark.parametrize("skipped", [True, False], ids=["neighbours only", "all"])
def test_tiers_are_told_in_order(odds: int, skipped: bool) -> None:
    """Inside a tier everybody won against the next; no tier ever won against one above."""
    counts = ConditionalCounts(8)
    for tier in TIERS:
        for k, one in enumerate(tier):
            counts = counts.observe({one: odds + k, tier[k - 1]: 1}, within=[one, tier[k - 1]])
    for k, tier in enumerate(TIERS):
        for lower in TIERS[k + 1 : k + 2] if skipped else TIERS[k + 1 :]:
            for one, other in zip(tier, lower, strict=False):
                counts = counts.observe({one: 3}, within=[one, other])
    assert groups_of(counts) == [sorted(tier) for tier in TIERS]
    with pytest.raises(NoMaximumError, match=r"of the 3 groups .* ever won against"):
        luce.maximum_likelihood(counts)
    # One win from below, and there is a maximum.
    assert luce.maximum_likelihood(counts.observe({6: 1}, within=[4, 6])).at_zero == ()


def test_tiers_of_sets_that_leave_one_out() -> None:
    rng = np.random.default_rng([SEED, 500])
    counts = ConditionalCounts(8)
    for out in range(8):
        others = {i: int(rng.integers(1, 5)) for i in range(8) if i not in (3, out)}
        # 3 comes whenever it can.
        counts = counts.observe(others if out == 3 else {3: 4}, without=[out])
    assert counts.sets.complement.all()
    assert groups_of(counts) == [[3], [0, 1, 2, 4, 5, 6, 7]]
    mode = luce.maximum_likelihood(counts.observe({5: 1}, without=[2]))
    assert mode.at_zero == ()
    assert mode.values.argmax() == 3


DRIVERS = 83


def season(first: list[int], last: list[int]) -> ConditionalCounts:
    """36 races of 43; some drivers are in all of them, at one end and in this order.

    Two more races, of everybody, in opposite orders: so anybody else has beaten anybody else.
    """
    rng = np.random.default_rng([SEED, 600])
    orders = [*races(rng, DRIVERS, 36, 43), list(range(DRIVERS)), list(range(DRIVERS))[::-1]]
    counts = ConditionalCounts(DRIVERS)
    for order in orders:
        middle = [i for i in order if i not in first + last]
        counts = counts.observe_ranking([*first, *middle, *last])
    return counts


def everybody_but(*out: int) -> list[int]:
    return [i for i in range(DRIVERS) if i not in out]


@pytest.mark.compiled
def test_a_season_has_a_maximum() -> None:
    assert luce.maximum_likelihood(season([], [])).at_zero == ()


@pytest.mark.compiled
def test_drivers_who_always_came_first_or_last() -> None:
    assert groups_of(season([70], [])) == [[70], everybody_but(70)]
    assert groups_of(season([70, 2], [])) == [[70], [2], everybody_but(2, 70)]
    # The last has won against nobody, and is at 0; the last but one won against the last alone.
    assert luce.maximum_likelihood(season([], [11])).at_zero == (11,)
    assert groups_of(season([], [40, 11])) == [everybody_but(11, 40), [11, 40]]
    assert groups_of(season([70], [11])) == [[70], everybody_but(11, 70), [11]]


def test_a_missing_mode_is_said() -> None:
    pairs = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    pairs = pairs.observe({"b": 2}, within="bc")
    with pytest.raises(NoMaximumError, match=r"grows without bound.*'c'.*below 1"):
        Posterior(pairs, 0.5).mode()
    with pytest.raises(NoMaximumError, match="without data all probabilities are equally good"):
        Posterior(ConditionalCounts(2), 1.0).mode()
    with pytest.raises(NoMaximumError, match="there is no maximum-likelihood estimate: without"):
        luce.maximum_likelihood(ConditionalCounts(2))
    assert Posterior(ConditionalCounts(2), 0.5).mode("log-odds").values.tolist() == [0.5, 0.5]
