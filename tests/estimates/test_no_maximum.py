"""Maxima that are not there: who stands in the way, against brute force over all subsets."""

import itertools
import os

import numpy as np
import pytest
from lib.maximum_oracles import Data, Seen, has_a_maximum, never_lost, races, random_data
from scipy.optimize import minimize
from scipy.special import softmax
from test_maximum import counts_of

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import MethodError, NoMaximumError
from luce.sampling.maximum import winning_groups

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


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
            mode = luce.maximum_likelihood(counts).probabilities
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


@pytest.mark.parametrize("seed", range(8))
def test_winning_groups_are_those_that_brute_force_finds(seed: int) -> None:
    """Along any order of the atoms: no group too many, and none too few."""
    rng = np.random.default_rng([SEED, 400 + seed])
    n, found = int(rng.integers(3, 7)), 0
    for _ in range(25):
        data = random_data(rng, n, int(rng.integers(1, 6)), grouped=0.3 if seed % 2 else 0.0)
        counts, everybody = counts_of(n, data), frozenset(range(n))
        power, family = counts.category_counts, counts.sets
        total = float(power.sum() + family.exponent.sum())
        for _ in range(8):
            theta = rng.normal(size=n)
            order = np.argsort(-theta)
            groups = winning_groups(family, power, total, theta)
            assert np.concatenate(groups).tolist() == order.tolist()
            cuts = np.cumsum([len(g) for g in groups])[:-1].tolist()
            prefixes = {k: frozenset(order[:k].tolist()) for k in range(1, n)}
            expected = [k for k, f in prefixes.items() if never_lost(f, data, everybody)]
            assert cuts == expected
            found += len(cuts)
    assert found > 0


def test_groups_that_were_never_compared() -> None:
    apart = ConditionalCounts(list("abcxyz"))
    for one, two, three in ("abc", "xyz"):
        apart = apart.observe({one: 3, two: 1}, within=[one, two])
        apart = apart.observe({two: 2, three: 1}, within=[two, three])
    with pytest.raises(NoMaximumError, match="never compared") as caught:
        luce.maximum_likelihood(apart)
    assert [sorted(group) for group in caught.value.groups] == [list("abc"), list("xyz")]
    assert Posterior(apart, 1.5).mode().min() > 0


def test_who_always_won_and_who_never_did() -> None:
    labels = ["Ann", "Bo", "Cy", "Di"]
    data = [Seen((0,), (0, 1), 3), Seen((1,), (0, 1), 2), Seen((1,), (1, 2), 1),
            Seen((2,), (0, 2), 4), Seen((3,), (2, 3), 1), Seen((3,), (0, 3), 2)]  # fmt: skip
    counts = ConditionalCounts(labels)
    for (winner,), within, count in data:
        counts = counts.observe({labels[winner]: count}, within=[labels[i] for i in within])
    with pytest.raises(NoMaximumError, match="'Di' never lost") as caught:
        luce.maximum_likelihood(counts)
    assert [sorted(g) for g in caught.value.groups] == [["Di"], ["Ann", "Bo", "Cy"]]
    # Turned around, Di never won: then Di is at 0, and that is a maximum.
    turned = ConditionalCounts(labels)
    for (winner,), within, count in data:
        (loser,) = set(within) - {winner}
        turned = turned.observe({labels[loser]: count}, within=[labels[i] for i in within])
    assert luce.maximum_likelihood(turned).probabilities.at_zero == ("Di",)


def test_losers_of_one_atom_are_at_0_together() -> None:
    # d and e were always there together, and never chosen.
    counts = ConditionalCounts(list("abcde")).observe({"a": 3, "b": 1}, within="abde")
    counts = counts.observe({"b": 2, "c": 1}, within="bc").observe({"c": 2, "a": 1}, within="ca")
    mode = luce.maximum_likelihood(counts).probabilities
    assert mode.at_zero == ("d", "e")
    without = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    without = without.observe({"b": 2, "c": 1}, within="bc").observe({"c": 2, "a": 1}, within="ca")
    np.testing.assert_allclose(mode[:3], luce.maximum_likelihood(without).probabilities, rtol=1e-9)


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
    assert Posterior(counts, 1.5).mode().min() > 0


# -- tiers ------------------------------------------------------------------------------

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
    # One win from below, and there is a maximum.
    assert luce.maximum_likelihood(counts.observe({6: 1}, within=[4, 6])).probabilities.min() > 0


def test_tiers_of_sets_that_leave_one_out() -> None:
    rng = np.random.default_rng([SEED, 500])
    counts = ConditionalCounts(8)
    for out in range(8):
        others = {i: int(rng.integers(1, 5)) for i in range(8) if i not in (3, out)}
        # 3 comes whenever it can.
        counts = counts.observe(others if out == 3 else {3: 4}, without=[out])
    assert counts.sets.complement.all()
    assert groups_of(counts) == [[3], [0, 1, 2, 4, 5, 6, 7]]
    mode = luce.maximum_likelihood(counts.observe({5: 1}, without=[2])).probabilities
    assert mode.at_zero == ()
    assert mode.argmax() == 3


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


def test_a_season_has_a_maximum() -> None:
    assert luce.maximum_likelihood(season([], [])).probabilities.min() > 0


def test_drivers_who_always_came_first_or_last() -> None:
    assert groups_of(season([70], [])) == [[70], everybody_but(70)]
    assert groups_of(season([70, 2], [])) == [[70], [2], everybody_but(2, 70)]
    # The last has won against nobody, and is at 0; the last but one won against the last alone.
    assert luce.maximum_likelihood(season([], [11])).probabilities.at_zero == (11,)
    assert groups_of(season([], [40, 11])) == [everybody_but(11, 40), [11, 40]]
    assert groups_of(season([70], [11])) == [[70], everybody_but(11, 70), [11]]


# -- words ------------------------------------------------------------------------------


def test_a_missing_mode_is_said() -> None:
    pairs = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    pairs = pairs.observe({"b": 2}, within="bc")
    with pytest.raises(MethodError, match=r"grows without bound.*'c'.*below 1"):
        Posterior(pairs, 0.5).mode()
    with pytest.raises(NoMaximumError, match="without data all probabilities are equally good"):
        Posterior(ConditionalCounts(2), 1.0).mode()
    with pytest.raises(NoMaximumError, match="there is no maximum-likelihood estimate: without"):
        luce.maximum_likelihood(ConditionalCounts(2))
    assert Posterior(ConditionalCounts(2), 0.5).mode("log-odds").tolist() == [0.5, 0.5]


def test_maximum_likelihood_is_of_counts() -> None:
    with pytest.raises(luce.errors.DataError, match="Posterior was given"):
        luce.maximum_likelihood(Posterior(ConditionalCounts(2)))  # type: ignore[arg-type]


def test_a_mode_below_concentration_1_is_the_largest_or_is_refused() -> None:
    """The total has a power below 0: not concave, and without bound where a subset's power is too.

    Of that power, Σ_{i ∈ F} k_i + Σ_{S ⊆ F} e_S, all subsets are asked; of a mode, scipy.
    """
    rng, n, a = np.random.default_rng(77), 5, 0.4  # not swept: starts are finite in number
    met = {True: 0, False: 0}
    for _ in range(60):
        data = random_data(rng, n, int(rng.integers(4, 14)))
        posterior = Posterior(counts_of(n, data), a)
        power = np.full(n, a - 1)
        for (winner,), _, count in data:
            power[winner] += count
        proper = [f for k in range(1, n) for f in itertools.combinations(range(n), k)]
        least = min(
            power[list(f)].sum() - sum(c for _, within, c in data if set(within) <= set(f))
            for f in proper
        )
        met[least > 0] += 1
        if least < 0:
            with pytest.raises(NoMaximumError):
                posterior.mode()
            continue
        mode = posterior.mode()
        best = posterior.log_density(np.asarray(mode))
        for start in rng.normal(size=(3, n)):
            found = minimize(lambda t, it=posterior: -it.log_density(softmax(t)), start)
            assert -found.fun <= best + 1e-6
            closest = min(np.abs(softmax(found.x) - mode).max(), best + found.fun)
            assert closest < 1e-4  # the same place, or a lower one
    assert min(met.values()) >= 10


def test_groups_that_never_met_below_concentration_1() -> None:
    """p(ab)^-1 p(cd)^-1 has a stationary place, which is its least."""
    data = [
        Seen((0,), (0, 1), 3),
        Seen((1,), (0, 1), 1),
        Seen((2,), (2, 3), 2),
        Seen((3,), (2, 3), 5),
    ]
    with pytest.raises(NoMaximumError, match=r"0, 1 together goes to 0"):
        Posterior(counts_of(4, data), 0.5).mode()
    assert Posterior(counts_of(4, data), 2.0).mode() == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 3])
