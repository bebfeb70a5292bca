"""The NumPyro and BlackJAX adapters inside the real packages, against quadrature."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
numpyro = pytest.importorskip("numpyro")
blackjax = pytest.importorskip("blackjax")

import jax.numpy as jnp  # noqa: E402
import numpyro.distributions as dist  # noqa: E402
from jax.scipy.special import gammaln  # noqa: E402
from lib.adapter_truths import (  # noqa: E402
    COUNTS,
    SIZES,
    STEP,
    WEIGHTS,
    WITHOUT_A_TERM,
    assert_means,
    posterior_means,
    prior_means,
    watched,
)
from lib.bounds import SEED  # noqa: E402
from lib.concentration_truths import PRIOR  # noqa: E402
from lib.places import ROOT  # noqa: E402
from numpyro.infer import MCMC, NUTS, HMCGibbs  # noqa: E402

from luce import ConditionalCounts, Gamma, GibbsStep, Posterior  # noqa: E402
from luce.embed import waiting_times_jax  # noqa: E402
from luce.embed.blackjax import waiting_times  # noqa: E402
from luce.embed.numpyro import gibbs_fn  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def _doubles() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def outcomes(key: Any, p: Any) -> Any:
    """Counts given p: `SIZES` outcomes of the two sets."""
    table = []
    for t, own in enumerate(jax.random.split(key, 2)):
        logits = jnp.where(STEP.inside[t], jnp.log(p), -jnp.inf)
        seen = jax.random.categorical(own, logits, shape=(int(SIZES[t]),))
        table.append(jnp.bincount(seen, length=3))
    return jnp.stack(table)


# -- NumPyro ----------------------------------------------------------------------------------


def run_numpyro(draw: Any, weights: Any, samples: int = 6000) -> Any:
    def model() -> None:
        a = numpyro.sample("a", dist.Gamma(PRIOR.shape, PRIOR.rate))
        numpyro.sample("p", dist.Dirichlet(a * jnp.asarray(weights)))

    kernel = HMCGibbs(NUTS(model), gibbs_fn=draw, gibbs_sites=["p"])
    mcmc = MCMC(
        kernel, num_warmup=500, num_samples=samples, num_chains=2, chain_method="sequential",
        progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(SEED + 1))
    found = mcmc.get_samples(group_by_chain=True)
    return found["a"], found["p"]


def follow_a(sites: Any) -> Any:
    return sites["a"]


def test_numpyro_against_quadrature() -> None:
    draws = watched(*run_numpyro(gibbs_fn(STEP, "p", COUNTS, follow_a), np.ones(3)))
    assert_means(draws, posterior_means())
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means(Gamma(2.0, 2.0)))


@pytest.mark.parametrize(
    ("counts", "concentration"), [(WITHOUT_A_TERM, follow_a), (COUNTS, 1.0)],
    ids=["a term forgotten", "a parent not followed"],
)  # fmt: skip
def test_negative_control_numpyro(counts: Any, concentration: Any) -> None:
    draws = watched(*run_numpyro(gibbs_fn(STEP, "p", counts, concentration), np.ones(3)))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means())


def redrawing(forget: bool) -> Any:
    """Counts given p, then p given counts: p and a must keep their prior."""

    def draw(rng_key: Any, gibbs_sites: Any, hmc_sites: Any) -> Any:
        first, second = jax.random.split(rng_key)
        table = outcomes(first, gibbs_sites["p"])
        counts = table.sum(axis=0), table.sum(axis=1) * jnp.array([0 if forget else 1, 1])
        own = gibbs_fn(STEP, "p", counts, lambda sites: sites["a"] * WEIGHTS)
        return own(second, gibbs_sites, hmc_sites)

    return draw


@pytest.mark.slow
def test_geweke_numpyro() -> None:
    draws = watched(*run_numpyro(redrawing(False), WEIGHTS), squares=True)
    assert_means(draws, prior_means())
    broken = watched(*run_numpyro(redrawing(True), WEIGHTS), squares=True)
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(broken, prior_means())


def test_numpyro_counts_may_depend_on_other_sites() -> None:
    """A function of the sites gives what the numbers give."""
    key, p = jax.random.key(1), {"p": jnp.full(3, 1 / 3)}
    fixed = gibbs_fn(STEP, "p", COUNTS, 0.7)(key, p, {})
    asked = gibbs_fn(STEP, "p", lambda s: s["c"], lambda s: s["a"])(
        key, {**p, "c": COUNTS}, {"a": 0.7}
    )
    np.testing.assert_array_equal(fixed["p"], asked["p"])


# -- BlackJAX ---------------------------------------------------------------------------------


def run_blackjax(
    counts: Any, weights: Any, follows: bool = True, redraw: bool = False, chains: int = 16
) -> Any:
    gibbs = waiting_times(STEP)

    def log_density(log_a: Any, log_p: Any) -> Any:
        a = jnp.exp(log_a)
        constant = gammaln(a * weights.sum()) - gammaln(a * weights).sum()
        return PRIOR.shape * log_a - PRIOR.rate * a + constant + (a * weights * log_p).sum()

    def sweep(carry: Any, key: Any) -> Any:
        log_a, state = carry
        keys = jax.random.split(key, 3)
        nuts = blackjax.nuts(
            lambda x: log_density(x, state.log_probabilities), 0.8, jnp.ones(1),
            max_num_doublings=4,
        )  # fmt: skip
        log_a = nuts.step(keys[0], nuts.init(log_a))[0].position
        given = counts
        if redraw:
            table = outcomes(keys[2], state.position)
            given = table.sum(axis=0), table.sum(axis=1) * counts
        a = jnp.exp(log_a) if follows else 1.0
        state, _ = gibbs.step(keys[1], state, given, a * weights)
        return (log_a, state), (jnp.exp(log_a), state.position)

    def chain(key: Any) -> Any:
        start = jnp.zeros(()), gibbs.init(jnp.full(3, 1 / 3))
        return jax.lax.scan(sweep, start, jax.random.split(key, 3500))[1]

    a, p = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(SEED), chains))
    return a[:, 500:], p[:, 500:]


def test_blackjax_against_quadrature() -> None:
    draws = watched(*run_blackjax(COUNTS, np.ones(3)))
    assert_means(draws, posterior_means())
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means(Gamma(2.0, 2.0)))


@pytest.mark.parametrize(
    ("counts", "follows"), [(WITHOUT_A_TERM, True), (COUNTS, False)],
    ids=["a term forgotten", "a parent not followed"],
)  # fmt: skip
def test_negative_control_blackjax(counts: Any, follows: bool) -> None:
    draws = watched(*run_blackjax(counts, np.ones(3), follows))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means())


@pytest.mark.slow
def test_geweke_blackjax() -> None:
    kept, dropped = jnp.array([1, 1]), jnp.array([0, 1])
    draws = watched(*run_blackjax(kept, WEIGHTS, redraw=True), squares=True)
    assert_means(draws, prior_means())
    broken = watched(*run_blackjax(dropped, WEIGHTS, redraw=True), squares=True)
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(broken, prior_means())


def test_blackjax_step_is_jitted_and_vmapped() -> None:
    gibbs = waiting_times(STEP)
    keys = jax.random.split(jax.random.key(1), 5)
    states = jax.vmap(gibbs.init)(jnp.full((5, 3), 1 / 3))
    step = jax.jit(jax.vmap(gibbs.step, in_axes=(0, 0, None, None)))
    new, info = step(keys, states, COUNTS, 0.5)
    np.testing.assert_allclose(np.exp(new.log_probabilities).sum(axis=1), 1.0, rtol=1e-6)
    assert info.log_waiting_times.shape == (5, 2)
    assert len(np.unique(info.log_total)) == 5
    one, _ = gibbs.step(keys[3], gibbs.init(jnp.full(3, 1 / 3)), COUNTS, 0.5)
    np.testing.assert_allclose(one.log_probabilities, new.log_probabilities[3], rtol=1e-6)


# -- the step itself --------------------------------------------------------------------------


def test_sets_that_say_nothing_are_left_out() -> None:
    """Full sets and single categories: the law is that of the compiled step."""
    step = GibbsStep(3, within=[[0, 1, 2], [1], [0, 1]])
    table = np.array([[3.0, 1, 0], [0, 4, 0], [2, 1, 0]])
    sets, a = waiting_times_jax.term_sets(step), np.array([0.6, 1.5, 2.2])

    def chain(key: Any) -> Any:
        def one(log_p: Any, key: Any) -> Any:
            new = waiting_times_jax.sweep(key, log_p, table, a, sets).log_probabilities
            return new, jnp.exp(new)

        return jax.lax.scan(one, jnp.log(jnp.full(3, 1 / 3)), jax.random.split(key, 2000))[1]

    draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(SEED), 8)))
    counts = ConditionalCounts(3).observe({0: 3, 1: 1}).observe({0: 2, 1: 1}, within=[0, 1])
    assert_means(draws[:, 100:], Posterior(counts, a).mean())
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws[:, 100:], Posterior(counts, a + [0.3, 0, 0]).mean())


def test_very_small_concentrations_stay_finite() -> None:
    sets = waiting_times_jax.term_sets(STEP)
    log_p = jnp.log(jnp.full(3, 1 / 3))
    for key in jax.random.split(jax.random.key(2), 50):
        log_p = waiting_times_jax.sweep(key, log_p, COUNTS, 1e-4, sets).log_probabilities
        assert np.isfinite(log_p).all()


def test_without_terms_it_is_a_dirichlet() -> None:
    sets = waiting_times_jax.term_sets(GibbsStep(3))
    counts = jnp.zeros(3), jnp.zeros(0)
    new = waiting_times_jax.sweep(jax.random.key(1), jnp.log(jnp.full(3, 1 / 3)), counts, 1.0, sets)
    assert np.isfinite(new.log_probabilities).all()


@pytest.mark.parametrize("name", ["numpyro_gibbs", "blackjax_kernel"])
def test_example(name: str) -> None:
    """The script of docs/embedding.md recovers its truth."""
    script = ROOT / "examples" / f"{name}.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "within three standard deviations: True" in run.stdout
