"""How the evidence is asked for, what it says of itself, and when it warns."""

import copy
import os
import pickle
import warnings

import numpy as np
import pytest
from test_evidence import FEW, PAIRS, quietly
from test_mode import along_a_path, drivers

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, EvidenceWarning, MethodError
from luce.estimates import evidence

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))


def test_one_method_at_a_time() -> None:
    posterior = Posterior(PAIRS, 1.0)
    both = quietly(posterior, 1)
    assert list(both.estimates) == ["bridge", "chib"]
    for method in ("bridge", "chib"):
        found = quietly(posterior, 1, method=method)
        assert (found.method, list(found.estimates)) == (method, [method])
        assert found.estimates[method] == both.estimates[method]
        assert (found.value, found.standard_error) == tuple(both.estimates[method][:2])
        _, error, draws = found.estimates[method]
        assert 0 < error < 1
        assert 50 < draws <= 4000
    for method in ("laplace", "Bridge", "", None):
        with pytest.raises(MethodError, match="choose one of auto, exact, bridge, chib"):
            posterior.log_evidence(method=method)  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="draws = 0"):
        posterior.log_evidence(0)


@pytest.mark.parametrize("method", ["auto", "exact", "bridge", "chib"])
def test_where_sets_nest_there_is_nothing_to_estimate(method: str) -> None:
    found = Posterior(ConditionalCounts("ab").observe({"a": 1}), [3.0, 1.0]).log_evidence(
        method=method
    )
    assert found == pytest.approx(np.log(3 / 4), rel=1e-14)
    assert (found.standard_error, found.method, dict(found.estimates)) == (0.0, "exact", {})


def test_the_evidence_travels_with_its_estimates() -> None:
    found = quietly(Posterior(PAIRS, 1.0), 2)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (other, other.standard_error, other.method) == (
            found, found.standard_error, "bridge",
        )  # fmt: skip
        assert other.estimates == found.estimates
    assert repr(found).endswith(f"standard_error={found.standard_error!r}, method='bridge')")


def test_the_same_seed_gives_the_same_evidence() -> None:
    posterior = Posterior(FEW, [0.4, 1.0, 0.7])
    one, again, other = (quietly(posterior, seed) for seed in (3, 3, 4))
    assert (one, one.estimates) == (again, again.estimates)
    assert one != other
    assert one.estimates["chib"] != other.estimates["chib"]
    seed = np.random.SeedSequence(SEED + 5)
    first, second = (posterior.log_evidence(seed=seed, progress=False) for _ in range(2))
    assert first == second


def test_a_concentration_that_is_not_known_has_no_evidence() -> None:
    with pytest.raises(DataError, match="a concentration that is a number"):
        Posterior(PAIRS, luce.Gamma(2.0, 1.0)).log_evidence()


def test_too_many_atoms_are_refused() -> None:
    counts = along_a_path([(2, 1)] * 2000)
    with pytest.raises(MethodError, match=r"2,001 atoms is out of reach.*luce\.loo"):
        Posterior(counts).log_evidence()


# -- warnings ---------------------------------------------------------------------------


def sparse(seed: int) -> ConditionalCounts:
    """200 players; each played one who came before, won by whom it pleased, and 40 games more."""
    rng = np.random.default_rng([SEED, seed])
    counts = ConditionalCounts(200)
    games = [(i, int(rng.integers(i))) for i in range(1, 200)]
    games += [tuple(rng.choice(200, 2, replace=False).tolist()) for _ in range(40)]
    for pair in games:
        counts = counts.observe({int(rng.choice(pair)): 1}, within=list(pair))
    return counts


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_sparse_league_is_warned_about(seed: int) -> None:
    with pytest.warns(EvidenceWarning, match="Chib's method") as caught:
        found = Posterior(sparse(seed)).log_evidence(seed=1000 * SEED + seed, progress=False)
    (warning,) = (w.message for w in caught if isinstance(w.message, EvidenceWarning))
    assert warning.estimates == found.estimates
    assert found.method == "bridge"
    assert "The first is returned" in str(warning)
    assert caught[0].filename == __file__
    assert pickle.loads(pickle.dumps(warning)).estimates == warning.estimates
    with pytest.warns(EvidenceWarning, match="Take more draws, or another method"):
        Posterior(sparse(seed)).log_evidence(seed=1000 * SEED + seed, progress=False, method="chib")


def rankings_of_four(seed: int) -> ConditionalCounts:
    rng = np.random.default_rng([SEED, 10 + seed])
    counts = ConditionalCounts("abcd")
    for _ in range(30):
        order = np.argsort(-(np.array([1.0, 0.3, 0.0, -0.8]) + rng.gumbel(size=4)))
        counts = counts.observe_ranking(["abcd"[i] for i in order])
    return counts


@pytest.mark.parametrize("seed", range(2))
def test_races_and_rankings_are_not_warned_about(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for counts in (drivers(seed), rankings_of_four(seed)):
            found = Posterior(counts).log_evidence(seed=1000 * SEED + seed, progress=False)
            assert found.standard_error < 0.1


def test_estimates_that_disagree_are_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(*given: object) -> evidence.Estimate:
        value, error, draws = chib(*given)  # type: ignore[arg-type]
        return evidence.Estimate(value + 10 * error, error, draws)

    chib = evidence._chib
    monkeypatch.setattr(evidence, "_chib", off)
    with pytest.warns(EvidenceWarning, match="the two disagree"):
        Posterior(PAIRS, 1.0).log_evidence(seed=1000 * SEED + 6, progress=False)
