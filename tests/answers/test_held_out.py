"""Predicted against observed shares of held-out outcomes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from lib.answer_cases import NAMES, SEED, dirichlet, draws_of
from lib.bounds import FALSE_ALARM
from scipy.stats import chi2, norm

import luce
from luce.errors import EvidenceWarning


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")  # few draws
def test_reliability_is_that_of_loops() -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0])
    outcomes: list[tuple[str, Any, float]] = [
        ("a", "abc", 2),
        ("b", ["c", "b", "a"], 1),
        ("d", None, 3),
        ("c", None, 2.5),
        ("d", "ad", 4),
    ]
    bins = 4
    found = luce.answers.reliability(draws_of(x), outcomes, bins=bins)
    sets: dict[frozenset[str], dict[str, float]] = {}
    for label, within, count in outcomes:
        counted = sets.setdefault(frozenset(within or "abcd"), {})
        counted[label] = counted.get(label, 0) + count
    cells = []
    log_score = brier = total = 0.0
    for s, (members, counted) in enumerate(sets.items()):
        names = sorted(members)
        places = [NAMES.index(name) for name in names]
        q = {
            name: math.fsum(p[i] / sum(p[j] for j in places) for p in x.reshape(-1, 4)) / 100
            for name, i in zip(names, places, strict=True)
        }
        m = sum(counted.values())
        cells += [(s, name, q[name], counted.get(name, 0) / m, m) for name in names]
        for name, count in counted.items():
            total += count
            log_score += count * math.log(q[name])
            brier += count * sum((q[other] - (other == name)) ** 2 for other in names)
    assert found["set"].values.tolist() == [c[0] for c in cells]
    assert found["category"].values.tolist() == [c[1] for c in cells]
    for k, name in enumerate(["predicted", "observed", "number"], 2):
        np.testing.assert_allclose(found[name], [c[k] for c in cells], rtol=1e-12)
    assert float(found["log_score"]) == pytest.approx(log_score / total)
    assert float(found["brier_score"]) == pytest.approx(brier / total)
    for b in range(bins):
        inside = [c for c in cells if b / bins <= c[2] < (b + 1) / bins]
        weight = sum(c[4] for c in inside)
        assert float(found["bin_number"][b]) == weight
        assert float(found["bin_lower"][b]) == b / bins
        if not inside:
            assert np.isnan(found["bin_observed"][b])
            continue
        predicted = sum(c[4] * c[2] for c in inside) / weight
        observed = sum(c[4] * c[3] for c in inside) / weight
        spread = 0.0
        for s in range(len(sets)):
            here = [c for c in inside if c[0] == s]
            if here:
                q_here = sum(c[2] for c in here)
                spread += here[0][4] * q_here * (1 - q_here)
        assert float(found["bin_predicted"][b]) == pytest.approx(predicted)
        assert float(found["bin_observed"][b]) == pytest.approx(observed)
        assert float(found["bin_error"][b]) == pytest.approx(math.sqrt(spread) / weight)


def test_true_predictions_are_calibrated_and_wrong_ones_not() -> None:
    rng = np.random.default_rng(SEED + 8)
    p = np.array([0.05, 0.1, 0.2, 0.25, 0.4])
    outcomes = []
    for size, _ in itertools.product([2, 3, 4, 5], range(40)):
        members = np.sort(rng.choice(5, size, replace=False))
        counts = rng.multinomial(50, p[members] / p[members].sum())
        within = [NAMES[i] for i in members]
        outcomes += [(NAMES[i], within, int(k)) for i, k in zip(members, counts, strict=True)]
    z = {}
    for name, q in (("right", p), ("wrong", p**0.8 / (p**0.8).sum())):
        found = luce.answers.reliability(draws_of(q[None, None]), outcomes, bins=5)
        off = abs(found["bin_observed"] - found["bin_predicted"]) / found["bin_error"]
        z[name] = float(off.max())
        if name == "right":
            score = float(found["log_score"]), float(found["brier_score"])
    bound = norm.isf(FALSE_ALARM / 10)
    assert z["right"] < bound < z["wrong"]
    assert score[0] > float(found["log_score"])
    assert score[1] < float(found["brier_score"])


def test_the_error_of_a_log_score_is_as_large_as_it_says() -> None:
    """Means of shares of a Dirichlet are known; the control takes a third of the errors."""
    a, runs = [0.4, 3.0, 1.5], 40
    held_out = [("a", "ab", 3), ("b", "ab", 1), ("c", None, 2)]
    truth = (3 * np.log(0.4 / 3.4) + np.log(3.0 / 3.4) + 2 * np.log(1.5 / 4.9)) / 6
    squares = 0.0
    for seed in range(runs):
        draws = draws_of(dirichlet(a, draws=500, chains=2, seed=300 + seed))
        found = luce.answers.reliability(draws, held_out)
        squares += float((found["log_score"] - truth) / found["log_score_error"]) ** 2
    low, high = chi2.ppf(FALSE_ALARM / 2, runs), chi2.isf(FALSE_ALARM / 2, runs)
    assert low < squares < high
    assert not low < 9 * squares < high


def test_a_log_score_that_rests_on_few_draws_is_told() -> None:
    odds = np.exp(-9 + 3 * np.random.default_rng(SEED + 9).normal(size=(4, 500)))
    draws = draws_of(np.stack([odds, np.ones_like(odds)], axis=2) / (1 + odds)[..., None])
    with pytest.warns(EvidenceWarning, match=r"the log score rests on \d+ of the draws alone"):
        found = luce.answers.reliability(draws, [("a", "ab", 4), ("b", "ab", 1)])
    assert np.isnan(found["log_score_error"])
    usual = luce.answers.reliability(draws, [("b", "ab", 5)])
    assert 0 < usual["log_score_error"] < 0.01
    never = luce.answers.reliability([[[1.0, 0.0]]], [(1, [0, 1], 1)])
    assert np.isneginf(never["log_score"])
    assert np.isnan(never["log_score_error"])
