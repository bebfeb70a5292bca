"""Contests with ties and home advantage: both samplers against quadrature, with faults rejected."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
from lib import bounds
from lib.contest_cases import ALL, CASES, IN_TEAMS, UNEVEN, WIDE, counts_of, posterior_of
from lib.contest_oracles import (
    FAULTS,
    ContestCase,
    Meeting,
    contest_gibbs,
    contest_quadrature,
    duels,
    functionals,
)
from lib.sampling_oracles import Moments, assert_agree, chain_moments

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.counts.contests import contests_of_pairs
from luce.sampling.contests import climb, climb_by_products, first_place, ready_for_contests
from luce.sampling.fits import diagonal_metric

SEED = 1000 * bounds.SEED

# Cases that are tried in every run; the others are slow ones, since each kind is compiled anew.
OFTEN = (
    "home",
    "davidson home",
    "rao-kupper home",
    "davidson and picks",
    "davidson home, little prior",
    "part-time, davidson",
)


def some_often(names: Iterable[str]) -> list[Any]:
    slow = pytest.mark.slow
    return [name if name in OFTEN else pytest.param(name, marks=slow) for name in names]


@cache
def truth(name: str) -> Moments:
    return contest_quadrature(ALL[name])


def moments(case: ContestCase, method: str, draws: int = 500) -> Moments:
    run = posterior_of(case).sample(
        draws, chains=60, warmup=300, seed=SEED + 3, method=method, progress=False
    )
    drawn = {name: x.values for name, x in run["posterior"].data_vars.items()}
    p = drawn["probabilities"]
    known = {k: x for k, x in case.priors.items() if not isinstance(x, tuple)}
    one = np.ones(p.shape[:-1])
    home, tie = (drawn.get(name, known.get(name, 1.0) * one) for name in ("home", "tie"))
    return chain_moments(functionals(p, home, tie))


def without_constants(found: Moments, other: Moments) -> tuple[Moments, Moments]:
    """Leave out functionals that are known, and those whose variance is 0."""
    moving = other.value[1] > 1e-20
    return tuple(Moments(m.value[:, moving], m.error[:, moving], m.freedom) for m in (found, other))


@pytest.mark.compiled
@pytest.mark.parametrize("name", some_often(ALL))
def test_waiting_times(name: str) -> None:
    draws = 1500 if name in WIDE else 500
    assert_agree(*without_constants(moments(ALL[name], "waiting-times", draws), truth(name)))


@pytest.mark.compiled
@pytest.mark.parametrize("name", some_often([*CASES, *IN_TEAMS]))
def test_hamiltonian(name: str) -> None:
    assert_agree(*without_constants(moments(ALL[name], "hamiltonian"), truth(name)))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["home", "davidson home", "rao-kupper home", "teams, davidson"])
def test_hamiltonian_in_a_diagonal_metric(name: str) -> None:
    """A metric changes how well a chain mixes, never what it draws."""
    from luce.kernels.contests import moves
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.layouts import lean
    from luce.kernels.random import new_bits

    case, chains = ALL[name], 40
    ready = ready_for_contests(posterior_of(case).model)
    size, n = ready.posterior.size, ready.posterior.n
    metric = diagonal_metric(np.linspace(3.0, 9.0, size), (0.3, 2.0), ready.plain)
    fit = moves.MoveFit(ready.fit, lean(ready.plain), metric)
    kept = np.empty((chains, 2000, size))
    for chain, seed in enumerate(np.random.SeedSequence(SEED + 7).spawn(chains)):
        start = np.random.default_rng(seed).dirichlet([1.0] * n)
        if ready.plain.wide:
            start = np.log(start)
        state = np.concatenate([start, ready.fit.start])
        tuning = np.log([metric.step, 1.0, metric.step, 1.0])
        problem, space = lean(ready.problem), split_space(ready.problem)
        bits, stat = new_bits(seed), np.empty(2000)
        for adapt, out in ((True, np.empty((300, size))), (False, kept[chain])):
            moves.advance(bits, problem, fit, state, tuning, adapt, out, stat, space)
    drawn = {name: kept[..., n + k] for k, name in enumerate(ready.posterior.names)}
    one = np.ones(kept.shape[:-1])
    found = functionals(kept[..., :n], drawn.get("home", one), drawn.get("tie", one))
    assert_agree(*without_constants(chain_moments(found), truth(name)))


@pytest.mark.parametrize("name", ALL)
def test_slope_and_precision_are_those_of_differences(name: str) -> None:
    f = ready_for_contests(posterior_of(ALL[name]).model).posterior
    rng = np.random.default_rng(SEED)
    z = np.concatenate([rng.standard_normal(f.n), 0.3 + rng.random(len(f.names))])
    at, steps = f.at(z), 1e-5 * np.eye(f.size)
    slope = [(f.value(z + e) - f.value(z - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(f.slope(at), slope, rtol=1e-6, atol=1e-6)
    precision = f.precision(at)
    by_slope = [-(f.slope(f.at(z + e)) - f.slope(f.at(z - e))) / 2e-5 for e in steps]
    np.testing.assert_allclose(precision, by_slope, rtol=1e-6, atol=1e-6)
    v = rng.standard_normal(f.size)
    np.testing.assert_allclose(f.times_precision(at, v), precision @ v, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(f.precision_diagonal(at), np.diag(precision), rtol=1e-9)


@pytest.mark.parametrize("name", some_often([*CASES, *IN_TEAMS]))
def test_both_climbs_find_the_same_maximum(name: str) -> None:
    f = ready_for_contests(posterior_of(ALL[name]).model).posterior
    place, _ = climb(f, first_place(f))
    np.testing.assert_allclose(climb_by_products(f, first_place(f)), place, atol=2e-2)
    assert np.abs(f.slope(f.at(place))).max() < 1e-6


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["davidson", pytest.param("rao-kupper", marks=pytest.mark.slow)])
def test_many_categories_are_moved_in_a_diagonal_metric(ties: str) -> None:
    """Both samplers agree on 500 players, whose curvature is no dense matrix."""
    rng = np.random.default_rng(SEED + 11)
    n = 500
    first = rng.integers(0, n, 4000)
    second = (first + 1 + rng.integers(0, n - 1, 4000)) % n
    results = np.eye(3)[rng.choice(3, 4000, p=[0.45, 0.3, 0.25])]
    contests = contests_of_pairs(n, first, second, np.ones(4000), results, ties, True)
    posterior = Posterior(ConditionalCounts(n).with_events(contests))
    found = []
    for method, draws in (("waiting-times", 1500), ("hamiltonian", 400)):
        settings = {"chains": 16, "warmup": 400, "seed": SEED + 2, "progress": False}
        run = posterior.sample(draws, method=method, **settings).posterior
        parts = [run["probabilities"].values[..., :5]]
        parts += [run[name].values[..., None] for name in ("home", "tie")]
        found.append(chain_moments(np.concatenate(parts, axis=-1)))
    assert_agree(*found)


@pytest.mark.parametrize("name", ["home", "davidson home", "rao-kupper home"])
def test_the_plain_sampler_agrees_with_quadrature(name: str) -> None:
    found = contest_gibbs(ALL[name], SEED + 5)
    assert_agree(*without_constants(found, truth(name)))


MANY_TIES = ContestCase(
    "davidson",
    UNEVEN,
    duels("01 1 0 9, 10 0 1 8, 02 1 0 12, 20 0 1 9, 12 0 1 7", 1),
    {"home": (2.0, 1.5), "tie": (1.5, 0.5)},
)


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_faults_are_rejected(fault: str | None) -> None:
    """The comparison of the tests above sees each fault that the sweep could have."""
    found = contest_gibbs(MANY_TIES, SEED + 5, fault, chains=4000, draws=300)
    pair = without_constants(found, contest_quadrature(MANY_TIES))
    if fault is None:
        assert_agree(*pair)
        return
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(*pair)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "change", [{"ties": "rao-kupper"}, {"ties": "davidson", "swap": True}], ids=["model", "sides"]
)
def test_other_data_is_rejected(change: dict[str, object]) -> None:
    """The comparison tells models of ties apart, and who is at home."""
    case = ALL["davidson home"]
    meetings = case.meetings
    if change.get("swap"):
        meetings = tuple(
            Meeting(m.first, m.second, {0: 0, 1: 2, 2: 1}[m.home], m.won, m.lost, m.tied)
            for m in meetings
        )
    other = ContestCase(str(change["ties"]), case.concentration, meetings, case.priors)
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_agree(*without_constants(moments(other, "waiting-times"), truth("davidson home")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["davidson home", "rao-kupper home"])
def test_quadrature_does_not_depend_on_its_step(name: str) -> None:
    fine = contest_quadrature(ALL[name], points=47).value
    np.testing.assert_allclose(truth(name).value, fine, rtol=1e-7, atol=1e-9)


def test_the_judge_has_the_formulas() -> None:
    """`log_likelihood` is the product of the probabilities as the formulas have them."""
    from lib.contest_oracles import log_likelihood

    rng = np.random.default_rng(SEED)
    p, home, tie = rng.dirichlet([1, 1, 1], 20), rng.gamma(2, 1, 20), 1 + rng.gamma(2, 1, 20)
    for case in ALL.values():
        counts = counts_of(case)
        given = {"home": home, "tie": tie}
        found = counts.log_likelihood(p, **{name: given[name] for name in counts.parameters})
        ones = {name: given[name] if name in counts.parameters else 1 + 0 * home for name in given}
        np.testing.assert_allclose(found, log_likelihood(case, p, **ones), rtol=1e-12)


def test_draws_do_not_depend_on_threads_or_disk(tmp_path: object) -> None:
    posterior = posterior_of(ALL["davidson home"])
    one = posterior.sample(1000, chains=3, seed=SEED, threads=1, progress=False)
    two = posterior.sample(1000, chains=3, seed=SEED, threads=3, progress=False)
    disk = posterior.sample(1000, chains=3, seed=SEED, progress=False, to=f"{tmp_path}/run.zarr")
    for name in ("probabilities", "home", "tie"):
        for other in (two, disk):
            np.testing.assert_array_equal(one.posterior[name].values, other.posterior[name].values)
    assert luce.posterior_of(luce.load(f"{tmp_path}/run.zarr")).counts == posterior.counts


def test_other_methods_are_refused() -> None:
    for method in ("rejection", "metropolis", "hidden-counts", "independence", "exact"):
        with pytest.raises(luce.errors.MethodError, match="cannot draw contests"):
            posterior_of(ALL["home"]).sample(10, method=method)


@pytest.mark.parametrize("prior", [Gamma(1, 1), luce.DirichletProcess(1.0)])
def test_other_priors_are_refused(prior: object) -> None:
    with pytest.raises(luce.errors.DataError, match="Dirichlet prior"):
        Posterior(counts_of(ALL["home"]), prior)


def test_priors_of_parameters_that_data_does_not_have() -> None:
    with pytest.raises(luce.errors.DataError, match="no parameter 'tie'"):
        Posterior(counts_of(ALL["home"]), tie=Gamma(1, 1))
    with pytest.raises(luce.errors.DataError, match="positive number"):
        Posterior(counts_of(ALL["home"]), home=-1.0)
    with pytest.raises(luce.errors.DataError, match="no parameter 'home'"):
        Posterior(ConditionalCounts("ab").observe({"a": 1}), home=1.0)


def test_the_structure_tells_method_and_reason() -> None:
    told = str(posterior_of(ALL["davidson home"]).structure)
    assert "contests with Davidson's ties and a home advantage" in told
    assert "method: hamiltonian, contests: a waiting-time sweep would be worth" in told
