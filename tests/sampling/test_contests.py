"""Contests with ties and home advantage: both samplers against quadrature, with faults rejected."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from lib import bounds
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
from luce.counts.contests import contests_of

SEED = 1000 * bounds.SEED

HOME = duels("01 5 2 3, 10 3 1 2, 02 4 1 1, 20 2 3 4, 12 3 2 2", 1)
NEUTRAL = duels("01 4 1 2, 02 2 3 1")
NO_TIES = tuple(Meeting(m.first, m.second, m.home, m.won, m.lost) for m in (*HOME, *NEUTRAL))
AWAY = duels("12 2 4 1, 20 1 1 3", 2)
UNEVEN = (0.7, 1.3, 2.1)
TEAMS = (
    Meeting({0: 1.0, 1: 1.0}, {2: 1.0}, 1, 3, 2, 2),
    Meeting({2: 1.0}, {0: 1.0, 1: 1.0}, 1, 2, 4, 1),
    Meeting({0: 1.0}, {1: 1.0}, 1, 2, 1, 1),
    Meeting({0: 1.0}, {1: 1.0, 2: 1.0}, 0, 1, 2, 1),
)

CASES = {
    "home": ContestCase(None, UNEVEN, NO_TIES, {"home": (2.0, 1.5)}),
    "davidson": ContestCase("davidson", UNEVEN, (*HOME, *NEUTRAL), {"tie": (1.5, 2.0)}),
    "davidson home": ContestCase(
        "davidson", UNEVEN, (*HOME, *NEUTRAL, *AWAY), {"home": (2.0, 1.5), "tie": (1.5, 2.0)}
    ),
    "davidson, home known": ContestCase("davidson", UNEVEN, HOME, {"home": 1.7, "tie": (1.5, 2.0)}),
    "davidson, tie known": ContestCase("davidson", UNEVEN, HOME, {"home": (2.0, 1.5), "tie": 0.4}),
    "rao-kupper": ContestCase("rao-kupper", UNEVEN, (*HOME, *NEUTRAL), {"tie": (1.5, 2.0)}),
    "rao-kupper home": ContestCase(
        "rao-kupper", UNEVEN, (*HOME, *NEUTRAL, *AWAY), {"home": (2.0, 1.5), "tie": (1.5, 2.0)}
    ),
    "rao-kupper, tie known": ContestCase(
        "rao-kupper", UNEVEN, HOME, {"home": (2.0, 1.5), "tie": 1.9}
    ),
    "davidson and picks": ContestCase(
        "davidson",
        UNEVEN,
        HOME,
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
        ((0, 2.0, (0, 1, 2)), (1, 3.0, (1, 2)), (2, 1.0, (0, 2))),
    ),
    "fractions": ContestCase(
        "rao-kupper",
        UNEVEN,
        duels("01 2.5 0.7 1.2, 10 1.5 2.2 0.6, 12 0.4 1.1 0.9, 20 3.3 0.5 0.2", 1),
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
    ),
    "fractions, davidson": ContestCase(
        "davidson",
        UNEVEN,
        duels("01 2.5 0.7 1.2, 10 1.5 2.2 0.6, 12 0.4 1.1 0.9, 20 3.3 0.5 0.2", 1),
        {"home": (2.0, 1.5), "tie": (1.5, 2.0)},
    ),
}
WIDE = {
    f"{name}, little prior": ContestCase(
        CASES[name].ties, (0.03, 0.2, 0.04), CASES[name].meetings, CASES[name].priors
    )
    for name in ("home", "davidson home", "rao-kupper home")
}
IN_TEAMS = {
    f"teams, {ties}": ContestCase(
        ties,
        UNEVEN,
        TEAMS if ties else tuple(Meeting(m.first, m.second, m.home, m.won, m.lost) for m in TEAMS),
        {"home": (2.0, 1.5)} | ({"tie": (1.5, 2.0)} if ties else {}),
    )
    for ties in (None, "davidson", "rao-kupper")
}
ALL = {**CASES, **WIDE, **IN_TEAMS}


def counts_of(case: ContestCase) -> ConditionalCounts:
    sides = [side for m in case.meetings for side in (m.first, m.second)]
    weights = np.array([w for side in sides for w in side.values()])
    contests = contests_of(
        3,
        np.array([i for side in sides for i in side]),
        np.cumsum([0, *map(len, sides)]),
        weights if (weights != 1).any() else None,
        np.array([m.home for m in case.meetings]),
        np.array([[m.won, m.lost, m.tied] for m in case.meetings]),
        case.ties,
        "home" in case.priors,
    )
    counts = ConditionalCounts("abc").with_events(contests)
    for i, number, within in case.picks:
        counts = counts.observe({"abc"[i]: number}, within=["abc"[j] for j in within])
    return counts


def posterior_of(case: ContestCase) -> Posterior:
    priors = {k: Gamma(*x) if isinstance(x, tuple) else x for k, x in case.priors.items()}
    return Posterior(counts_of(case), list(case.concentration), **priors)


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
@pytest.mark.parametrize("name", ALL)
def test_waiting_times(name: str) -> None:
    draws = 1500 if name in WIDE else 500
    assert_agree(*without_constants(moments(ALL[name], "waiting-times", draws), truth(name)))


@pytest.mark.compiled
@pytest.mark.parametrize("name", [*CASES, *IN_TEAMS])
def test_hamiltonian(name: str) -> None:
    assert_agree(*without_constants(moments(ALL[name], "hamiltonian"), truth(name)))


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
