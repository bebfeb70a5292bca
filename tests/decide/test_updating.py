"""`luce.update`: the posterior of old and new data, by weights and by new draws.

Truths are closed forms of trees, written here, and quadrature (`lib.sampling_oracles`); errors are
in Monte Carlo standard errors, which rest on the order of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib import contest_runs, weighted_cases
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.contest_oracles import ContestCase, contest_quadrature, duels, functionals
from lib.sampling_oracles import Case, Term, quadrature
from scipy.stats import chi2

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.answers.diagnostics import mcse, verdict
from luce.decide import Update, update
from luce.decide.updating import systematic
from luce.errors import DataError, MethodError

DRAWS = 1000


def counts_of(terms: Sequence[Term], labels: str = "abc") -> ConditionalCounts:
    counts = ConditionalCounts(labels)
    for outcome, count, within in terms:
        members, among = ([labels[i] for i in numbers] for numbers in (outcome, within))
        counts = counts.observe_group(members, count, within=among)
    return counts


def split(terms: Sequence[Term], rng: np.random.Generator, share: float) -> Any:
    """Old and new data: each outcome is an old one with this probability."""
    old = [term._replace(count=float(rng.binomial(int(term.count), share))) for term in terms]
    new = [a._replace(count=a.count - b.count) for a, b in zip(terms, old, strict=True)]
    return counts_of(old), counts_of(new)


def values(run: Any, mean: np.ndarray) -> np.ndarray:
    """Probabilities, and squares of their distance from the true means; (chain, draw, value)."""
    p = run.posterior["probabilities"].values
    return np.concatenate([p, (p - mean) ** 2], axis=-1)


def z_scores(x: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distances of means from the truth, in the standard errors of draws in this order."""
    return np.asarray((x.mean(axis=(0, 1)) - truth.ravel()) / mcse(x).values)


# -- agreement with a fit of all data, by quadrature -----------------------------------------------

CASES = [
    Case(
        "duels that overlap, and outcomes among all",
        (0.8, 1.5, 2.0),
        picks=((0, 6, (0, 1)), (1, 9, (0, 1)), (1, 8, (1, 2)), (2, 5, (1, 2)), (0, 7, (0, 1, 2))),
    ),
    Case(
        "teams of two against one, and rankings",
        (1.2, 0.7, 1.0),
        picks=((2, 4, (0, 2)), (0, 12, (0, 2)), (1, 3, (0, 1, 2))),
        groups=(((0, 1), 8, (0, 1, 2)), ((1, 2), 5, (0, 1, 2))),
    ),
]


def splits_agree(case: Case, number: int, seed: int) -> tuple[np.ndarray, set[str]]:
    """z-scores of updates by random splits of the data, (split, value), and the ways taken."""
    truth = quadrature(case).value
    prior = dict(zip("abc", case.concentration, strict=True))
    found, ways = [], set()
    for k in range(number):
        rng = np.random.default_rng([SEED, seed, k])
        old, new = split(case.terms, rng, rng.uniform(0.3, 1.0))
        run = Posterior(old, prior).sample(DRAWS, seed=int(rng.integers(2**31)), progress=False)
        run = update(run, new, seed=k, progress=False)
        assert verdict(run).kind != "bad"
        ways.add(Update.of(run).way)
        found.append(z_scores(values(run, truth[0]), truth))
    return np.array(found), ways


def assert_calibrated(z: np.ndarray) -> None:
    """Neither one score nor the sum of the squares of one value's scores is beyond chance."""
    assert np.abs(z).max() < z_limit(z.size)
    assert (z**2).sum(axis=0).max() < chi2.isf(FALSE_ALARM / z.shape[1], len(z))


@pytest.mark.compiled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_updates_agree_with_all_data(case: Case) -> None:
    z, ways = splits_agree(case, 25, 1)
    assert ways == {"reweighted", "sampled"}
    assert_calibrated(z)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_updates_agree_with_all_data_over_a_thousand_splits(case: Case) -> None:
    z, ways = splits_agree(case, 1000, 2)
    assert ways == {"reweighted", "sampled"}
    assert_calibrated(z)


@pytest.mark.compiled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.desc)
def test_the_comparison_sees_forgotten_and_doubled_data(case: Case) -> None:
    truth = quadrature(case).value
    prior = dict(zip("abc", case.concentration, strict=True))
    old, new = split(case.terms, np.random.default_rng(5), 0.5)
    run = Posterior(old, prior).sample(DRAWS, seed=1, progress=False)
    right = update(run, new, seed=1, progress=False)
    for wrong in (run, update(right, new, seed=2, progress=False)):
        with pytest.raises(AssertionError):
            assert_calibrated(z_scores(values(wrong, truth[0]), truth)[None])
    assert_calibrated(z_scores(values(right, truth[0]), truth)[None])


# -- exact trees, and what copies of draws are worth -----------------------------------------------

ALPHA = np.array([0.7, 1.6, 1.1, 2.3])
SEEN = np.array([9.0, 6.0, 4.0, 5.0])  # of which 8 given {a, b} and 7 given {a, b, c}


def tree_truth() -> np.ndarray:
    """Mean and variance of p: shares of a tree of beta distributions."""
    shape = ALPHA + SEEN
    ab, abc = shape[:2].sum() - 8, shape[:3].sum() - 8 - 7
    splits = [(shape[0], shape[1]), (ab, shape[2]), (abc, shape[3])]  # a of ab, ab of abc, abc

    def moments(a: float, b: float) -> tuple[float, float]:
        return a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))

    inner, outer = np.array([moments(*s) for s in splits]), []
    other = np.array([moments(b, a) for a, b in splits])
    outer.append(inner[0] * inner[1] * inner[2])
    outer.append(other[0] * inner[1] * inner[2])
    outer.append(other[1] * inner[2])
    outer.append(other[2])
    mean, square = np.array(outer).T
    return np.stack([mean, square - mean**2])


def tree_data(rng: np.random.Generator, share: float) -> tuple[Any, Any]:
    """The tree's data, each outcome old with this probability."""
    parts = [
        ({"a": 5, "b": 3}, "ab"),
        ({"a": 2, "b": 2, "c": 3}, "abc"),
        ({"a": 2, "b": 1, "c": 1, "d": 5}, "abcd"),
    ]
    old = new = ConditionalCounts("abcd")
    for seen, within in parts:
        first = {label: int(rng.binomial(n, share)) for label, n in seen.items()}
        old = old.observe(first, within=within)
        new = new.observe({x: n - first[x] for x, n in seen.items()}, within=within)
    return old, new


def tree_scores(number: int, *, shuffled: bool) -> np.ndarray:
    truth, found = tree_truth(), []
    for k in range(number):
        rng = np.random.default_rng([SEED, 7, k])
        old, new = tree_data(rng, 0.8)
        run = Posterior(old, dict(zip("abcd", ALPHA, strict=True))).sample(500, seed=k)
        run = update(run, new, seed=k)
        if Update.of(run).way == "sampled":
            continue
        x = values(run, truth[0])
        if shuffled:
            x = rng.permutation(x.reshape(-1, 8)).reshape(x.shape)
        found.append(z_scores(x, truth))
    return np.array(found)


def test_errors_of_reweighted_trees_are_those_that_the_draws_tell() -> None:
    z = tree_scores(120, shuffled=False)
    assert len(z) > 60
    assert_calibrated(z)


def test_draws_in_random_order_would_hide_that_they_are_copies() -> None:
    with pytest.raises(AssertionError):
        assert_calibrated(tree_scores(120, shuffled=True))


# -- categories that the run does not have ---------------------------------------------------------

# Numerator, count and denominator over (a, b, c): c is new.
WITHOUT_C: list[weighted_cases.Term] = [((1, 0, 0), 5, (1, 1, 0)), ((0, 1, 0), 2, (1, 1, 0))]
WITH_C: list[weighted_cases.Term] = [((0, 0, 1), 2, (0, 1, 1)), ((0, 1, 0), 1, (0, 1, 1))]


def joined_by_c(prior: float | Gamma, seed: int, method: str = "auto") -> Any:
    """A run on a and b, all of whose outcomes were among all of them, that c then joins."""
    old = ConditionalCounts("ab").observe({"a": 5, "b": 2})
    new = ConditionalCounts("cb").observe({"c": 2, "b": 1})
    run = Posterior(old, prior).sample(2 * DRAWS, seed=seed, progress=False)
    return update(run, new, seed=seed, method=method, progress=False)


@pytest.mark.compiled
@pytest.mark.parametrize("way", ["reweight", "sample"])
def test_a_new_category_joins_a_run(way: str) -> None:
    truth = weighted_cases.quadrature([*WITHOUT_C, *WITH_C], 0.7)
    moments = np.stack([truth.mean, truth.variance])
    z = []
    for seed in range(20):
        run = joined_by_c(0.7, 1000 * SEED + seed, way)
        assert list(run.posterior["category"].values) == ["a", "b", "c"]
        z.append(z_scores(values(run, truth.mean), moments))
    assert_calibrated(np.array(z))
    told = Update.of(run)
    assert told.new_categories == ("c",)
    assert told.closed == ("old", "new")
    assert "'c'" in str(told)
    counts = luce.posterior_of(run).counts
    by_hand = ConditionalCounts("abc").observe({"a": 5, "b": 2}, without="c")
    assert counts == by_hand.observe({"c": 2, "b": 1}, without="a")
    # Had c been possible in the old outcomes, another posterior would follow.
    possible = [(won, count, weighted_cases.ALL) for won, count, _ in WITHOUT_C]
    other = weighted_cases.quadrature([*possible, *WITH_C], 0.7)
    wrong = z_scores(values(run, other.mean), np.stack([other.mean, other.variance]))
    with pytest.raises(AssertionError):
        assert_calibrated(wrong[None])


@pytest.mark.compiled
@pytest.mark.parametrize("way", ["reweight", "sample"])
def test_a_new_category_joins_a_run_whose_concentration_is_drawn(way: str) -> None:
    truth = weighted_cases.over_concentrations([*WITHOUT_C, *WITH_C], 2.0, 1.5)
    moments = np.stack([truth.mean, truth.variance])
    z = []
    for seed in range(6):
        run = joined_by_c(Gamma(2.0, 1.5), 1000 * SEED + seed, way)
        z.append(z_scores(values(run, truth.mean), moments))
        assert (run.posterior["concentration"].values > 0).all()
    assert_calibrated(np.array(z))


def test_new_categories_need_one_number_as_prior() -> None:
    old = ConditionalCounts("ab").observe({"a": 5, "b": 2})
    new = ConditionalCounts("bc").observe({"c": 1})
    with pytest.raises(DataError, match=r"Fit anew.*concentration="):
        update(Posterior(old, [1.0, 2.0]).sample(10, seed=1), new)
    named = ConditionalCounts(["a", "b", "remainder"]).observe({"a": 5, "b": 2})
    process = Posterior(named, luce.DirichletProcess(1.0)).sample(10, seed=1)
    with pytest.raises(DataError, match="Dirichlet process"):
        update(process, new)
    with pytest.raises(DataError, match="relabel"):
        update(Posterior(old).sample(10, seed=1), ConditionalCounts(2).observe({0: 1}))


# -- contests, weights, a Dirichlet process --------------------------------------------------------

UNEVEN = (0.7, 1.3, 2.1)
MET = (*duels("01 5 2 3, 10 3 1 2, 02 4 1 1, 20 2 3 4, 12 3 2 2", 1), *duels("01 4 1 2, 02 2 3 1"))


def contests(case: ContestCase, results: np.ndarray) -> ConditionalCounts:
    games = [
        ("abc"[next(iter(m.first))], "abc"[next(iter(m.second))], m.home, *row)
        for m, row in zip(case.meetings, results, strict=True)
    ]
    return contest_runs.counts_of(case.ties, "home" in case.priors, games)


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_contests_with_ties_and_home(ties: str) -> None:
    case = ContestCase(ties, UNEVEN, MET, {"home": (2.0, 1.5), "tie": (1.5, 2.0)})
    truth = contest_quadrature(case, 31).value
    priors = {k: Gamma(*x) for k, x in case.priors.items() if isinstance(x, tuple)}
    played = np.array([(m.won, m.lost, m.tied) for m in case.meetings])
    z, ways = [], set()
    for k in range(8):
        rng = np.random.default_rng([SEED, 11, k])
        first = rng.binomial(played.astype(int), 0.9 if k % 2 else 0.4).astype(float)
        run = Posterior(contests(case, first), list(UNEVEN), **priors).sample(
            2 * DRAWS, seed=k, progress=False
        )
        run = update(run, contests(case, played - first), seed=k, progress=False)
        ways.add(Update.of(run).way)
        drawn = {name: x.values for name, x in run.posterior.data_vars.items()}
        f = functionals(drawn["probabilities"], drawn["home"], drawn["tie"])
        z.append(z_scores(np.concatenate([f, (f - truth[0]) ** 2], axis=-1), truth))
    assert ways == {"reweighted", "sampled"}
    assert_calibrated(np.array(z))


@pytest.mark.compiled
def test_weighted_sets() -> None:
    terms = weighted_cases.OVERLAPPING
    truth = weighted_cases.quadrature(terms, 1.3)
    moments = np.stack([truth.mean, truth.variance])
    z = []
    for k in range(12):
        rng = np.random.default_rng([SEED, 13, k])
        first = [(won, int(rng.binomial(count, 0.8)), among) for won, count, among in terms]
        rest = [(t[0], t[1] - f[1], t[2]) for t, f in zip(terms, first, strict=True)]
        run = Posterior(weighted_cases.counts_of(first), 1.3).sample(DRAWS, seed=k, progress=False)
        run = update(run, weighted_cases.counts_of(rest), seed=k, progress=False)
        z.append(z_scores(values(run, truth.mean), moments))
    assert_calibrated(np.array(z))


def test_a_dirichlet_process_takes_in_data_on_its_categories() -> None:
    old = ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})
    new = ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 1, "remainder": 1})
    shape = np.array([4.0, 1.0, 1.7 + 1.0])
    total = shape.sum()
    mean = shape / total
    moments = np.stack([mean, mean * (1 - mean) / (total + 1)])
    z = []
    for seed in range(20):
        run = Posterior(old, luce.DirichletProcess(1.7)).sample(DRAWS, seed=seed)
        run = update(run, new, seed=1000 * SEED + seed, method="reweight")
        z.append(z_scores(values(run, mean), moments))
    assert_calibrated(np.array(z))


def test_new_ties_of_fewer_places_are_weighed_by_the_model_of_the_sum() -> None:
    old = luce.from_rankings(["a = b = c > d", "d > a > b > c"], ties="davidson-luce")
    new = luce.from_rankings(["a = b > c > d"], ties="davidson-luce", categories="abcd")
    run = Posterior(old, 2.0).sample(DRAWS, seed=1, progress=False)
    found = update(run, new, seed=1, method="reweight")
    drawn = run.posterior["probabilities"].values
    parameters = {name: run.posterior[name].values for name in ("tie2", "tie3")}
    whole = (old + new).log_likelihood(drawn, **parameters)
    weights = np.exp(whole - old.log_likelihood(drawn, **parameters))
    share = weights.sum() ** 2 / (weights**2).sum() / weights.size
    assert Update.of(found).effective == pytest.approx(share, rel=1e-9)
    more = luce.from_rankings(["a = b = c = d"], ties="davidson-luce")
    told = Update.of(update(run, more, seed=1, progress=False))
    assert told.way == "sampled"
    assert "tie4" in told.reason


# -- streams ---------------------------------------------------------------------------------------

# Least effective sample size of a stream of updates, and share of distinct draws.
FLOOR, LEAST_DISTINCT = 300, 0.3

STRENGTHS = np.array([0.5, 0.3, 0.2])


def games(number: int) -> list[tuple[int, int]]:
    """Winners and losers of random duels, a result a pair."""
    rng, found = np.random.default_rng([SEED, 17]), []
    for _ in range(number):
        i, j = rng.choice(3, 2, replace=False)
        first = rng.random() < STRENGTHS[i] / (STRENGTHS[i] + STRENGTHS[j])
        found.append((int(i), int(j)) if first else (int(j), int(i)))
    return found


def streamed(number: int) -> Any:
    """A run after `number` updates of one game each; checked against its floor every fifth time."""
    run = Posterior(ConditionalCounts("abc"), 1.5).sample(DRAWS, seed=SEED)
    ways = []
    for k, (won, lost) in enumerate(games(number)):
        new = ConditionalCounts(["abc"[won], "abc"[lost]]).observe({"abc"[won]: 1})
        run = update(run, new, seed=SEED, progress=False)
        ways.append(Update.of(run).way)
        if k % 5 == 0:
            assert_above_floor(run.posterior["probabilities"].values)
            assert Update.of(run).distinct > LEAST_DISTINCT
            assert verdict(run).kind != "bad"
    assert Update.of(run).number == number
    return run, ways


def assert_above_floor(p: np.ndarray) -> None:
    assert float(luce.answers.diagnostics.ess(p).min()) > FLOOR


def assert_stream(number: int) -> None:
    run, ways = streamed(number)
    assert {"reweighted", "sampled"} == set(ways)
    picks = tuple((won, 1.0, tuple(sorted((won, lost)))) for won, lost in games(number))
    truth = quadrature(Case("stream", (1.5, 1.5, 1.5), picks=picks)).value
    assert_calibrated(z_scores(values(run, truth[0]), truth)[None])
    whole = counts_of([Term((i,), n, s) for i, n, s in picks])
    assert run.attrs["data_digest"] == whole.digest
    assert luce.posterior_of(run).counts.n_outcomes == number


@pytest.mark.compiled
def test_a_stream_of_updates_does_not_decay() -> None:
    assert_stream(120)


@pytest.mark.slow
def test_a_thousand_updates_do_not_decay() -> None:
    assert_stream(1000)


def test_weights_alone_would_decay() -> None:
    p = np.random.default_rng(SEED).dirichlet([1.5] * 3, 4 * DRAWS)
    for k, (won, lost) in enumerate(games(120)):
        weights = p[:, won] / (p[:, won] + p[:, lost])
        p = p[systematic(weights, np.random.default_rng(k))]
    with pytest.raises(AssertionError):
        assert_above_floor(p.reshape(4, DRAWS, 3))


# -- runs ------------------------------------------------------------------------------------------

GAMES = ConditionalCounts("abc").observe({"a": 4, "b": 2}, within="ab")
GAMES = GAMES.observe({"b": 3, "c": 2}, within="bc").observe({"c": 1, "a": 2}, within="ac")
TODAY = ConditionalCounts("ca").observe({"c": 1})


def fitted(draws: int = DRAWS, **options: Any) -> Any:
    return Posterior(GAMES, 1.2).sample(draws, seed=3, progress=False, **options)


@pytest.mark.parametrize("method", ["reweight", "sample"])
def test_an_updated_run_is_a_run(method: str, tmp_path: Path) -> None:
    run = update(fitted(), TODAY, seed=4, method=method)
    same = update(fitted(), TODAY, seed=4, method=method).posterior["probabilities"]
    assert same.identical(run.posterior["probabilities"])
    other = update(fitted(), TODAY, seed=5, method=method).posterior["probabilities"]
    assert not same.identical(other)
    assert run.attrs["data_digest"] == GAMES.observe({"c": 1}, within="ac").digest
    for name in ("run.nc", "run.zarr"):
        luce.save(run, tmp_path / name)
        assert luce.load(tmp_path / name).identical(run)
    again = update(luce.runs.open_run(tmp_path / "run.zarr"), TODAY, seed=6)
    here = update(run, TODAY, seed=6)
    assert again.posterior["probabilities"].identical(here.posterior["probabilities"])
    assert Update.of(again) == Update.of(here)
    assert Update.of(here).number == 2
    assert Update.of(here).before == run.attrs["data_digest"]
    assert luce.summary(run).to_pandas().shape[0] == 3
    page = tmp_path / "page.html"
    luce.report(run, page)
    assert "by 1 update" in page.read_text()
    assert "bit for bit" not in page.read_text()


def test_a_run_on_a_disk_is_updated(tmp_path: Path) -> None:
    streamed_run = fitted(to=tmp_path / "run.zarr")
    found = update(streamed_run, TODAY, seed=1)
    assert "running" not in found.children
    assert found.identical(update(luce.load(tmp_path / "run.zarr"), TODAY, seed=1))
    luce.save(found, tmp_path / "new.zarr")


def test_a_run_is_not_changed() -> None:
    run = fitted()
    before = run.copy(deep=True)
    for method in ("reweight", "sample"):
        update(run, TODAY, seed=1, method=method)
        assert run.identical(before)


def test_no_data_changes_no_draw() -> None:
    run = fitted(method="waiting-times")
    found = update(run, ConditionalCounts("abc"), seed=1)
    assert found.posterior["probabilities"].identical(run.posterior["probabilities"])
    assert Update.of(found).distinct == 1.0


def test_parameters_and_logarithms_go_with_their_draws() -> None:
    run = Posterior(GAMES, Gamma(2.0, 1.0)).sample(
        DRAWS, seed=2, progress=False, log_probabilities=True
    )
    found = update(run, TODAY, seed=1, method="reweight")
    origin = found["sample_stats"]["origin"].values.ravel()
    for name in ("probabilities", "log_probabilities", "concentration"):
        old, new = (x.posterior[name].values for x in (run, found))
        rest = old.shape[2:]
        np.testing.assert_array_equal(new.reshape(-1, *rest), old.reshape(-1, *rest)[origin])
    assert (np.diff(origin) >= 0).all()  # copies are neighbours


def test_marks_of_effects_are_kept() -> None:
    marked = ConditionalCounts(["a", "b", "draw"]).observe({"a": 3, "draw": 2})
    marked = marked.with_effects({"draw": "tie"})
    run = update(Posterior(marked).sample(DRAWS, seed=1), marked, seed=1, method="reweight")
    assert luce.posterior_of(run).counts.effects == {"draw": "tie"}
    assert list(luce.probability_best(run)["category"].values) == ["a", "b"]


# -- verdicts --------------------------------------------------------------------------------------


def test_bad_draws_do_not_become_good_by_weights() -> None:
    run = fitted(method="waiting-times")
    p = run["posterior"]["probabilities"]
    stuck = np.array(p.values)
    stuck[0] = stuck[0, :1]  # a chain that never moves
    run["posterior"]["probabilities"] = p.copy(data=stuck)
    assert verdict(run).kind == "bad"
    with pytest.raises(MethodError, match="could not be trusted"):
        update(run, TODAY, seed=1, method="reweight")
    found = update(run, TODAY, seed=1, progress=False)
    assert Update.of(found).way == "sampled"
    assert "could not be trusted" in Update.of(found).reason
    assert verdict(found).kind != "bad"


def test_draws_to_be_taken_with_care_stay_so() -> None:
    run = fitted(4 * DRAWS, chains=1, method="waiting-times")
    assert verdict(run).kind == "mixed"
    twice = update(update(run, TODAY, seed=1), TODAY, seed=2)
    assert Update.of(twice).way == "reweighted"
    assert "before the update were to be taken with care" in str(verdict(twice))


def test_copies_lower_the_effective_sample_size() -> None:
    run = Posterior(ConditionalCounts("abc").observe({"a": 2, "b": 1}), 1.2).sample(DRAWS, seed=1)
    found = update(run, ConditionalCounts("abc").observe({"c": 1}), seed=1, method="reweight")
    told = Update.of(found)
    assert 0.34 < told.effective < 0.7
    assert 0.6 * told.effective < verdict(found).ess / (4 * DRAWS) < 1.2 * told.effective
    assert found.attrs["independent_draws"] == 0


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (ConditionalCounts("abc").observe({"c": 400}), "Pareto k"),
        (ConditionalCounts("abc").observe({"c": 7}), "effective share|Pareto k"),
    ],
)
def test_much_data_is_sampled(new: ConditionalCounts, reason: str) -> None:
    run = Posterior(ConditionalCounts("abc").observe({"a": 9, "b": 4}), 1.2).sample(DRAWS, seed=1)
    found = update(run, new, seed=1)
    assert Update.of(found).way == "sampled"
    with pytest.raises(MethodError, match=reason):
        update(run, new, seed=1, method="reweight")


def test_few_draws_are_sampled() -> None:
    for draws, reason in (
        (1, "cannot tell what their weights are worth"),
        (60, "effective draws would be left"),
    ):
        run = Posterior(ConditionalCounts("ab").observe({"a": 2})).sample(draws, seed=1)
        found = Update.of(update(run, ConditionalCounts("ab").observe({"b": 1}), seed=1))
        assert found.way == "sampled"
        assert reason in found.reason


def test_a_selection_of_draws_is_judged_anew() -> None:
    run = update(fitted(), TODAY, seed=1)
    few = run.isel(draw=slice(0, 90))
    assert Update.of(update(few, TODAY, seed=2)).way == "sampled"


def test_kept_categories_are_kept() -> None:
    run = fitted(keep=["a", "c"])
    found = update(run, TODAY, seed=1, progress=False)
    assert list(found.posterior["category"].values) == ["a", "c"]
    assert "some categories alone" in Update.of(found).reason
    joined = update(run, ConditionalCounts("ad").observe({"d": 1}), seed=1, progress=False)
    assert list(joined.posterior["category"].values) == ["a", "c", "d"]


# -- refusals --------------------------------------------------------------------------------------


def test_refusals() -> None:
    run = fitted()
    with pytest.raises(MethodError, match="choose one of auto, reweight, sample"):
        update(run, TODAY, method="weights")
    with pytest.raises(DataError, match="Read the new data as the old"):
        update(run, [("a", "b")])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="DataTree that"):
        update(run.posterior["probabilities"].values, TODAY)
    with pytest.raises(DataError, match="never updated"):
        Update.of(run)
    tied = luce.from_pairs([("a", "b"), ("b", "c")], ties="davidson")
    with pytest.raises(DataError, match="same ties="):
        update(run, tied)
    contest_run = Posterior(tied).sample(DRAWS, seed=1, progress=False)
    with pytest.raises(DataError, match="same ties="):
        update(contest_run, TODAY)
    with pytest.raises(DataError, match="same ties="):
        update(contest_run, luce.from_pairs([("a", "b"), ("b", "c")], ties="rao-kupper"))
