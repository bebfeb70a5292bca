"""Bounds on the distance of a chain's law from the posterior, and certified warm-ups."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.contest_cases import ALL, posterior_of
from lib.lattice_chain import distances
from lib.size import draws

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, MethodError
from luce.sampling.meeting_times import check_tail, sentence, steps_left, upper_limits
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

# Short runs, whose warm-up alone is looked at.
pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

PAIRS = draws(compiled=2000, plain=100)

# Prior, wins of each category in {0, 1} and {1, 2}, not symmetric; the second mixes slowly.
CHAINS = {
    "quick": ((1.5, 1.8, 2.0), (4, 1), (3, 2)),
    "slow": ((1.6, 1.5, 1.7), (9, 3), (1, 8)),
}


def posterior(name: str) -> Posterior:
    alpha, (a, b), (c, d) = CHAINS[name]
    counts = ConditionalCounts("abc").observe({"a": a, "b": b}, within="ab")
    return Posterior(counts.observe({"b": c, "c": d}, within="bc"), alpha)


def true_distances(name: str, sweeps: int) -> Any:
    alpha, (a, b), (c, d) = CHAINS[name]
    wins, waits = np.array([a, b + c, d], float), np.array([a + b, c + d], float)
    return distances(np.array(alpha), wins, waits, sweeps, 40)


def path(length: int = 6) -> Posterior:
    counts = ConditionalCounts(length)
    for i in range(length - 1):
        counts = counts.observe({i: 3 + i % 4, i + 1: 4}, within=[i, i + 1])
    return Posterior(counts, 1.0)


@pytest.mark.compiled
@pytest.mark.parametrize("name", CHAINS)
def test_the_bound_is_above_the_true_distance_and_not_far(name: str) -> None:
    sweeps = np.arange(25)
    true = true_distances(name, sweeps[-1])
    found = luce.distance_to_posterior(
        posterior(name), sweeps, replicates=PAIRS, seed=SEED, progress=False
    )
    bound = found.total_variation
    noise = z_limit(len(sweeps)) * np.maximum(bound.standard_error.values, 1 / PAIRS)
    assert (bound.value.values + noise >= true).all()
    assert (found.limit.values >= np.minimum(true, 1.0)).all()
    assert found.sweeps_until(0.01) <= 5 * int(np.argmax(true <= 0.01))
    # Pairs that meet three times as soon would prove too much, and the same comparison finds it.
    wrong = steps_left(found.meeting_times // 3, found.lag, sweeps).mean(axis=0)
    assert (wrong + noise < true).any()


@pytest.mark.compiled
def test_distances_of_means_are_below_the_bound_on_wassersteins_distance() -> None:
    """Means of single probabilities change by at most the sum of all changes, and half of it."""
    case, sweeps = posterior("slow"), [0, 1, 2, 4]
    found = luce.distance_to_posterior(case, sweeps, replicates=PAIRS, seed=SEED, progress=False)
    exact = luce.unbiased(case, replicates=1000, seed=SEED, progress=False)
    for t, bound, error in zip(
        sweeps, found.wasserstein.value.values, found.wasserstein.standard_error.values, strict=True
    ):
        run = case.sample(
            1, chains=4000, warmup=max(t - 1, 0), method="waiting-times", seed=SEED, progress=False
        )
        p = run["posterior"]["probabilities"].values[:, 0]
        if t == 0:
            p = np.random.default_rng(SEED).dirichlet(CHAINS["slow"][0], 4000)
        apart = np.abs(p.mean(axis=0) - exact.value.values)
        noise = z_limit(12) * np.hypot(p.std(axis=0) / np.sqrt(len(p)), error)
        assert (2 * apart <= bound + 2 * noise).all()


def test_limits_hold_as_often_as_they_say() -> None:
    """Of geometric meeting times, whose mean number of steps left is known."""
    rng, lag, t, share = np.random.default_rng(SEED), 8, np.array([6]), 0.25
    tail = (1 - share) ** (t + lag * np.arange(400))
    truth = tail.sum()
    missed = wrong = 0
    for _ in range(1500):
        met = rng.geometric(share, 300)
        missed += upper_limits(met, lag, t)[0] < truth
        wrong += (met > t).mean() < truth
    assert missed <= 1500 * 0.01 + z_limit() * np.sqrt(1500 * 0.01)
    assert wrong > 1500 * 0.01 + z_limit() * np.sqrt(1500 * 0.01)


def test_steps_left_are_counted_as_they_are_defined() -> None:
    met, sweeps = np.array([1, 5, 12]), np.arange(14)
    for lag in (1, 3, 8):
        wanted = [[max(0, -(-(m - t) // lag)) for t in sweeps] for m in met]
        np.testing.assert_array_equal(steps_left(met, lag, sweeps), wanted)


def test_heavy_tails_are_refused() -> None:
    rng = np.random.default_rng(SEED)
    check_tail(rng.geometric(0.3, 2000), 8)
    few = np.where(rng.random(2000) < 0.05, rng.geometric(0.001, 2000), rng.geometric(0.3, 2000))
    with pytest.raises(MethodError, match="no limit can be given"):
        check_tail(few, 8)


def test_exact_draws_are_at_no_distance() -> None:
    exact = Posterior(ConditionalCounts("abc").observe({"b": 2}, without="a"), 2.0)
    for given in (exact, exact.sample(10, seed=1, progress=False)):
        found = luce.distance_to_posterior(given, progress=False)
        assert float(found.limit.max()) == 0.0
        assert found.sweeps_until(1e-9) == 0
        assert str(found).startswith("Every draw is an exact draw")


def test_sentences_are_true() -> None:
    assert sentence(40, 0.0073) == (
        "After 40 warm-up sweeps each chain's law is within 0.008 (99 % sure) of the posterior."
    )
    assert "1 sweep a" in sentence(1, 0.5, False)
    assert "may be at any distance" in sentence(1, 1.0)
    found = luce.distance_to_posterior(
        posterior("quick"), 6, replicates=100, seed=1, progress=False
    )
    told = float(str(found).split("within ")[1].split()[0])
    assert 0 <= told - float(found.limit[0]) < 0.001
    with pytest.raises(DataError, match="Take more replicates"):
        found.sweeps_until(1e-6)


def test_the_same_seed_gives_the_same_bound_for_any_number_of_threads() -> None:
    one, other, third = (
        luce.distance_to_posterior(
            path(), replicates=100, seed=seed, threads=threads, progress=False
        )
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(one.meeting_times, other.meeting_times)
    np.testing.assert_array_equal(one.wasserstein.value, other.wasserstein.value)
    assert not np.array_equal(one.meeting_times, third.meeting_times)


@pytest.mark.compiled
def test_a_certified_warm_up_is_told_stored_and_never_computed_again(tmp_path: Path) -> None:
    run = path().sample(60, chains=2, warmup="certified", seed=3, progress=False)
    again = path().sample(60, chains=2, warmup="certified", seed=3, threads=1, progress=False)
    np.testing.assert_array_equal(run.posterior.probabilities, again.posterior.probabilities)
    attributes = run.attrs
    assert attributes["certified_limit"] <= 0.01
    assert attributes["certified_bound"] <= attributes["certified_limit"]
    assert attributes["method"] == "waiting-times"
    plain = path().sample(
        60, chains=2, warmup=attributes["warmup"], seed=3, method="waiting-times", progress=False
    )
    np.testing.assert_array_equal(run.posterior.probabilities, plain.posterior.probabilities)
    luce.report(run, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("&#x27;", "'")
    assert attributes["certified"] in page
    assert attributes["certified"] == sentence(attributes["warmup"], attributes["certified_limit"])
    assert "warmup='certified'" in page
    streamed = path().sample(
        60, chains=2, warmup="certified", seed=3, progress=False, to=tmp_path / "run.zarr"
    )
    np.testing.assert_array_equal(streamed.posterior.probabilities, run.posterior.probabilities)
    assert streamed.attrs["certified_limit"] == attributes["certified_limit"]
    bound = luce.distance_to_posterior(run, replicates=200, seed=1, progress=False)
    assert bound.limit["sweep"].values.tolist() == [attributes["warmup"]]
    assert "each chain's law" in str(bound)


@pytest.mark.compiled
def test_a_plan_carries_its_certificate() -> None:
    plan = PosteriorPlan.of(path().model, Settings(draws=10, warmup="certified", seed=3))
    assert plan.certificate is not None
    for other in (
        pickle.loads(pickle.dumps(plan)),
        PosteriorPlan.from_json(plan.model, plan.to_json()),
    ):
        assert other.certificate == plan.certificate
        assert other.warmup == plan.warmup
    assert str(plan.certificate).startswith(f"After {plan.warmup} warm-up sweep")


def test_independent_draws_need_no_certificate() -> None:
    exact = Posterior(ConditionalCounts("abc").observe({"b": 2}, without="a"), 2.0)
    run = exact.sample(10, warmup="certified", seed=1, progress=False)
    assert run.attrs["warmup"] == 0
    assert "certified_limit" not in run.attrs


def test_refusals_say_what_to_do() -> None:
    other = path().sample(20, method="hamiltonian", seed=1, progress=False)
    started = path().sample(
        20, method="waiting-times", initial=np.full(6, 1 / 6), seed=1, progress=False
    )
    raw = path().sample(20, method="waiting-times", reduce=False, seed=1, progress=False)
    certified = path().sample(100, warmup="certified", seed=1, progress=False)
    updated = luce.update(certified, ConditionalCounts(6).observe({0: 1}, within=[0, 1]), seed=1)
    assert not [name for name in updated.attrs if name.startswith("certified")]
    sliced = posterior_of(ALL["rao-kupper home"])
    slow = Posterior(path().counts, 1e-3)

    def sample(case: Posterior = path(), **given: Any) -> Any:  # noqa: B008
        return case.sample(10, warmup="certified", progress=False, seed=1, **given)

    for call, words in (
        (lambda: luce.distance_to_posterior(other), "its method is 'hamiltonian'"),
        (lambda: luce.distance_to_posterior(started), "its starting points were given"),
        (lambda: luce.distance_to_posterior(raw), "reduce=False"),
        (lambda: luce.distance_to_posterior(updated), "updated by new data"),
        (lambda: luce.distance_to_posterior({"a": 1}), "is needed, not dict"),
        (lambda: luce.distance_to_posterior(path(), -1), "at least 0"),
        (lambda: luce.distance_to_posterior(path(), []), "sweeps is empty"),
        (lambda: luce.distance_to_posterior(path(), replicates=10), "at least 100"),
        (lambda: luce.distance_to_posterior(slow, longest=20), "has not met after 20 sweeps"),
        (lambda: sample(method="hamiltonian"), "method='hamiltonian' was given"),
        (lambda: sample(initial=np.full(6, 1 / 6)), "initial= was given"),
        (lambda: sample(reduce=False), "reduce=False was given"),
        (lambda: sample(sliced), "a known tie= can be given"),
        (lambda: path().sample(10, warmup="long"), "'certified'"),
        (lambda: luce.HDPTransitions(3).fit(np.ones((3, 3)), warmup="certified"), "warmup"),
    ):
        with pytest.raises((DataError, MethodError), match=words):
            call()
