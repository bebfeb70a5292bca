"""The check of convergence: its figures against arviz-stats, and what it finds."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pytest
from arviz_stats.base import array_stats
from lib import bounds
from lib.planned import plan_of
from lib.toy_plans import GivenDraws, check_draws
from scipy.signal import lfilter

import luce
from luce.answers import diagnostics
from luce.runs.tree import as_tree
from luce.sampling import convergence
from luce.sampling.convergence import (
    ENOUGH_ESS,
    ess_of_mean,
    judge_draws,
    relative_mcse,
    rhat_and_ess,
    worst_ess,
)
from luce.sampling.memory import draw_in_memory
from luce.sampling.screen import Quantity
from luce.sampling.settings import Settings

Floats = npt.NDArray[np.float64]

SEED = 1000 * bounds.SEED
AXES = {"chain_axis": 0, "draw_axis": 1}


def autoregressive(correlation: float, seed: int, chains: int = 4, draws: int = 2000) -> Floats:
    """x_d = r x_(d-1) + noise, started in equilibrium, shape (chain, draw, 1)."""
    noise = np.random.default_rng(SEED + seed).standard_normal((chains, draws))
    noise[:, 1:] *= np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], noise, axis=1))[:, :, None]


def worst_rhat_and_ess(x: Floats) -> tuple[float, float]:
    """Largest R-hat and smallest effective sample size of all entries."""
    rhat, ess = rhat_and_ess(x)
    return float(rhat.max()), float(ess.min())


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.7, 0.9, 0.97])
@pytest.mark.parametrize("draws", [10, 11, 12, 500, 1999])
def test_figures_are_those_of_arviz(correlation: float, draws: int) -> None:
    """So that a warning and a summary of the same draws tell the same numbers."""
    x = np.concatenate([autoregressive(correlation, seed, draws=draws) for seed in (1, 2)], axis=2)
    rhat, ess = rhat_and_ess(x)
    np.testing.assert_allclose(ess, array_stats.ess(x, **AXES), rtol=1e-9)
    np.testing.assert_allclose(rhat, array_stats.rhat(x, **AXES), rtol=1e-9)
    share = array_stats.mcse(x, **AXES) / x.std(axis=(0, 1), ddof=1)
    np.testing.assert_allclose(convergence.relative_mcse(x), share, rtol=1e-9)


def test_negative_control_ess_that_ignores_correlation_is_not_close() -> None:
    x = autoregressive(0.7, seed=1)
    assert float(array_stats.ess(x, **AXES)[0]) != pytest.approx(x.size, rel=0.05)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_ess_of_autoregressive_chains_in_theory(correlation: float) -> None:
    """ESS / draws is (1 - r) / (1 + r); of ranks, a little more."""
    x = autoregressive(correlation, seed=2, chains=8, draws=4000)
    _, ess = worst_rhat_and_ess(x)
    assert ess / x.size == pytest.approx((1 - correlation) / (1 + correlation), rel=0.15)


def test_the_worst_of_many_variables_counts() -> None:
    one, other = autoregressive(0.3, seed=3), autoregressive(0.9, seed=4)
    _, slow = worst_rhat_and_ess(other)
    _, both = worst_rhat_and_ess(np.concatenate([one, other, one], axis=2))
    assert both == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("shift", [0.6, 3.0])
def test_a_shifted_chain_is_caught(shift: float) -> None:
    x = autoregressive(0.0, seed=5)
    x[2] += shift
    rhat, ess = worst_rhat_and_ess(x)
    assert rhat > 1.02
    assert ess < 400
    assert rhat == pytest.approx(float(array_stats.rhat(x, **AXES)[0]), rel=1e-9)
    with pytest.warns(luce.ConvergenceWarning):
        check_draws(x)


def test_a_drifting_chain_is_caught() -> None:
    """All chains drift alike: only halves of chains, not whole chains, disagree."""
    x = autoregressive(0.0, seed=6) + np.linspace(-1, 1, 2000)[:, None]
    rhat, _ = worst_rhat_and_ess(x)
    assert rhat > 1.1


@pytest.mark.parametrize("spread", [0.2, 4.0])
def test_a_chain_of_another_spread_is_caught(spread: float) -> None:
    """Its location is that of the others, so only ranks of |x - median| show it."""
    x = autoregressive(0.0, seed=7)
    x[1] *= spread
    rhat, _ = worst_rhat_and_ess(x)
    assert rhat > 1.05
    assert float(array_stats.rhat(x, method="split", **AXES)[0]) < 1.01
    with pytest.warns(luce.ConvergenceWarning) as caught:
        check_draws(x)
    assert caught[0].message.rhat == pytest.approx(rhat)  # type: ignore[union-attr]


def test_heavy_tails_and_scales_do_not_matter() -> None:
    x = autoregressive(0.5, seed=8)
    assert worst_rhat_and_ess(1e-200 * np.exp(3 * x))[1] == pytest.approx(worst_rhat_and_ess(x)[1])


def test_equal_values_share_a_rank() -> None:
    x = (autoregressive(0.8, seed=9) > 0).astype(np.float64)
    _, ess = worst_rhat_and_ess(x)
    assert ess == pytest.approx(float(array_stats.ess(x, **AXES)[0]), rel=1e-9)


def test_good_chains_are_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_draws(autoregressive(0.5, seed=10))
        check_draws(autoregressive(0.5, seed=10, draws=9999))


def test_short_chains_are_warned_about() -> None:
    with pytest.warns(luce.ConvergenceWarning, match="3 draws a chain are too few") as caught:
        check_draws(autoregressive(0.0, seed=11, draws=3))
    assert np.isnan(caught[0].message.rhat)  # type: ignore[union-attr]
    with pytest.warns(luce.ConvergenceWarning, match="effective sample size") as caught:
        check_draws(autoregressive(0.9, seed=11, draws=200))
    x = autoregressive(0.9, seed=11, draws=200)
    assert caught[0].message.ess == worst_rhat_and_ess(x)[1]  # type: ignore[union-attr]


@pytest.mark.parametrize("draws", range(4, 10))
def test_a_handful_of_draws_that_follow_each_other_count_for_less(draws: int) -> None:
    """Halves of such chains are too short for pairs of correlations; neighbours tell."""
    slow, fast = (autoregressive(r, seed=15, chains=200, draws=draws) for r in (0.99, 0.0))
    assert worst_ess(slow) < 0.5 * slow.size
    assert worst_ess(fast) > 0.6 * fast.size  # the control
    assert relative_mcse(slow)[0] > 1.2 * relative_mcse(fast)[0]


def test_a_single_chain_can_be_judged() -> None:
    x = autoregressive(0.5, seed=12, chains=1, draws=1000)
    assert worst_rhat_and_ess(x)[1] == pytest.approx(float(array_stats.ess(x, **AXES)[0]), rel=0.05)


def test_long_chains_are_thinned() -> None:
    """Thinning makes slow chains look at their own pace: the count stays honest."""
    x = autoregressive(0.0, seed=13, chains=2, draws=40_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_draws(x)
    x[:, ::10] = autoregressive(0.999, seed=14, chains=2, draws=4000)
    with pytest.warns(luce.ConvergenceWarning, match="every 10th draw"):
        check_draws(x)


@pytest.mark.parametrize("chains", [1, 4])
@pytest.mark.parametrize("wanted", [ENOUGH_ESS, 4000.0])
def test_thinning_changes_little_near_the_bound(chains: int, wanted: float) -> None:
    """Chains worth just the wanted number of draws are judged as all their draws would be."""
    draws = int(100 * wanted / chains)
    x = autoregressive(0.98, seed=16, chains=chains, draws=draws)
    plan = GivenDraws({"posterior/x": x}, Settings(chains=chains))
    found = convergence.judge(plan, plan, wanted)
    assert found.every == 5
    assert found.ess == pytest.approx(rhat_and_ess(x)[1][0], rel=0.05)


def test_draws_that_are_not_numbers_are_warned_about() -> None:
    x = autoregressive(0.0, seed=15)
    x[1, 100:] = np.nan
    with pytest.warns(luce.ConvergenceWarning, match="not finite"):
        check_draws(x)


@pytest.mark.parametrize("n", [3, 300])
def test_only_logarithms_may_be_infinite(n: int) -> None:
    """Where all entries are ranked, and where they are screened first."""
    x = np.random.default_rng(SEED).standard_normal((4, 500, n))
    x[1, 7, 2] = -np.inf
    with pytest.warns(luce.ConvergenceWarning, match="not finite"):
        check_draws(x)
    arrays = {"posterior/x": np.exp(x), "posterior/log_x": x}
    plan = GivenDraws(arrays)
    found = judge_draws(plan, 4, [Quantity("x", [range(n)], logs=True)])
    assert found.kind == "good"
    x[1, 7, 2] = np.inf  # the control: a probability is never larger than 1
    found = judge_draws(GivenDraws(arrays), 4, [Quantity("x", [range(n)], logs=True)])
    assert "not finite" in str(found.problem)


# -- all entries -----------------------------------------------------------------------------------


class ManyEntries:
    """White noise of very many entries, made when it is read; one entry is another series."""

    def __init__(self, n: int, draws: int, number: int, series: Floats) -> None:
        self.draws, self._n, self._number, self._series = draws, n, number, series

    def read(
        self, path: str, chain: int, rows: slice, entries: slice | npt.NDArray[np.int64]
    ) -> Floats:
        if not isinstance(entries, slice):
            return self.read(path, chain, rows, slice(None))[:, entries]
        first, stop, _ = entries.indices(self._n)
        found = np.stack([self._row(chain, i, first, stop) for i in range(self.draws)[rows]])
        if first <= self._number < stop:
            found[:, self._number - first] = self._series[chain, rows, 0]
        return found

    def _row(self, chain: int, i: int, first: int, stop: int) -> Floats:
        """Make some entries of a draw, which are always the same."""
        generator = np.random.PCG64(SEED + 1000 * chain + i)
        return np.random.Generator(generator.advance(first)).random(stop - first)


def evenly_spaced(n: int) -> npt.NDArray[np.int64]:
    """A hundred entries out of n, as a check of some entries would choose them."""
    return np.unique(np.linspace(0, n - 1, 100).astype(np.int64))


@pytest.mark.parametrize("bad", [True, False])
def test_one_bad_entry_among_a_hundred_thousand_is_found(bad: bool) -> None:
    """Worth 250 of 1,000 draws; without it, the control, nothing is wrong."""
    n, number = 100_000 if bad else 10_000, 7_654
    assert number not in evenly_spaced(n)  # the control: a check of some entries would miss it
    series = autoregressive(0.6 if bad else 0.0, seed=20, chains=4, draws=250)
    sink = ManyEntries(n, 250, number, series)
    found = judge_draws(sink, 4, [Quantity("x", [range(n)])])
    assert (found.smallest_ess.entry == f"the x[{number}]") == bad
    assert (found.kind == "bad") == bad
    if bad:
        assert found.ess == pytest.approx(float(rhat_and_ess(series)[1][0]))


def test_one_entry_of_another_spread_is_found() -> None:
    """A chain that differs in spread alone has the right mean: |u| shows it."""
    x = np.random.default_rng(SEED).standard_normal((4, 300, 3000))
    x[2, :, 1234] *= 3
    plan = GivenDraws({"posterior/x": x})
    found = convergence.judge(plan, plan)
    assert found.largest_rhat.entry == "the x[1234]"
    assert found.rhat == pytest.approx(float(rhat_and_ess(x[:, :, [1234]])[0][0]))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_screen_takes_numbers_of_any_size(scale: float) -> None:
    x = scale * np.random.default_rng(SEED).random((4, 300, 500))
    x[:, :, 321] = scale * (1.5 + np.arctan(autoregressive(0.95, seed=21, draws=300)[:, :, 0]))
    plan = GivenDraws({"posterior/x": x})
    assert convergence.judge(plan, plan).smallest_ess.entry == "the x[321]"


def unequal_popularity() -> luce.ConditionalCounts:
    """Choices out of ten among 300 items, a few of which are chosen nearly always."""
    rng, n = np.random.default_rng(7), 300
    weights = np.exp(rng.normal(0, 3, n))
    counts = luce.ConditionalCounts(n)
    for _ in range(1000):
        offered = rng.choice(n, 10, replace=False)
        chosen = rng.multinomial(100, weights[offered] / weights[offered].sum())
        named = {int(i): int(k) for i, k in zip(offered, chosen, strict=True) if k}
        counts = counts.observe(named, within=offered.tolist())
    return counts


@pytest.mark.compiled
def test_a_few_slow_items_among_many_are_warned_about() -> None:
    posterior = luce.Posterior(unequal_popularity())
    with pytest.warns(luce.ConvergenceWarning, match="effective sample size") as caught:
        run = posterior.sample(1000, seed=1, method="waiting-times", progress=False)
    ess = luce.answers.diagnostics.ess(run).values
    assert caught[0].message.ess == pytest.approx(ess.min())  # type: ignore[union-attr]
    assert ess[evenly_spaced(300)].min() > ENOUGH_ESS  # the control: these are all well


# -- entries that never move -----------------------------------------------------------------------


@pytest.mark.parametrize("chains", [1, 4])
def test_an_entry_that_never_moves_is_the_loudest_alarm(chains: int) -> None:
    x = np.concatenate([autoregressive(0.0, seed=k, chains=chains) for k in (30, 31)], axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_draws(x)  # the control
    x[:, :, 1] = 0.25
    with pytest.warns(luce.ConvergenceWarning, match=r"never moved: the x\[1\]") as caught:
        found = check_draws(x)
    assert found.still == ("the x[1]",)
    message = caught[0].message
    assert np.isposinf(message.rhat)  # type: ignore[union-attr]
    assert message.ess == chains  # type: ignore[union-attr]


def test_one_chain_that_never_moves_is_enough() -> None:
    x = autoregressive(0.0, seed=32)
    x[2] = np.median(x)
    with pytest.warns(luce.ConvergenceWarning, match=r"never moved: the x\[0\]"):
        check_draws(x)


def probabilities(logs: Floats, stored: bool) -> convergence.Verdict:
    """Judge draws of three probabilities by their logarithms; are the logarithms stored?"""
    arrays = {"posterior/x": np.exp(logs), "posterior/log_x": logs}
    plan = GivenDraws(arrays if stored else {"posterior/x": np.exp(logs)})
    quantity = Quantity("x", ["abc"], competitor=True, logs=stored, simplex=True)
    return judge_draws(plan, 4, [quantity])


def test_logarithms_tell_movement_that_probabilities_hide() -> None:
    """Probabilities of exp(-1000) are 0 in doubles; their logarithms move."""
    noise = np.random.default_rng(SEED).standard_normal((4, 500, 3))
    logs = noise + [-1000, -2000, 0]
    logs[:, :, 2] = 0.0  # 1 up to rounding
    assert probabilities(logs, stored=True).kind == "good"
    hidden = probabilities(logs, stored=False)
    assert (hidden.kind, hidden.still) == ("bad", ("a", "b", "c"))
    logs[:, :, 0] = -np.inf  # a structural zero
    assert probabilities(logs, stored=True).kind == "good"
    logs[:, :, 1] = -700.0  # stuck
    assert probabilities(logs, stored=True).still == ("b",)


def test_chains_in_different_corners_are_found() -> None:
    """Each chain holds one category at 1, up to rounding: each alone may stand still, not both."""
    logs = np.random.default_rng(SEED).standard_normal((4, 500, 3)) - [1000, 1000, 3000]
    logs[:2, :, 0] = logs[2:, :, 1] = 0.0
    found = probabilities(logs, stored=True)
    assert found.kind == "bad"
    assert found.rhat > 1.5


def test_logarithms_that_walk_are_found_where_probabilities_are_0() -> None:
    walk = np.random.default_rng(SEED).standard_normal((4, 500, 3)).cumsum(axis=1) - 5000
    walk[:, :, 2] = 0.0
    assert "effective sample size" in str(probabilities(walk, stored=True).problem)


def test_a_single_category_may_stand_still() -> None:
    counts = luce.ConditionalCounts(["only"]).observe({"only": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = luce.Posterior(counts).sample(
            20, seed=1, method="waiting-times", reduce=False, progress=False
        )
    assert diagnostics.verdict(run).kind == "good"


def test_names_in_verdicts_cannot_steer_a_terminal() -> None:
    labels = [np.array(["\x1b[31mred", "b"], object)]
    assert Quantity("probabilities", labels, competitor=True).entry(0) == r"\x1b[31mred"
    assert Quantity("base", labels).entry(0) == r"the base[\x1b[31mred]"


def test_variables_that_never_vary_are_worth_a_draw_a_chain() -> None:
    x = np.concatenate([autoregressive(0.0, seed=40), np.full((4, 2000, 1), 3.0)], axis=2)
    assert worst_ess(x) == 4
    x[:, :, 1] = 0  # a log likelihood of no data
    assert worst_ess(x) == worst_ess(x[:, :, :1]) > 4000
    assert ess_of_mean(np.full((3, 50), 0.5)) == 3
    assert ess_of_mean(x[:, :, 0]) > 4000


# -- one verdict -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("method", ["waiting-times", "metropolis"])
def test_the_verdict_on_a_run_is_that_of_its_sampling(method: str) -> None:
    counts = luce.ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    counts = counts.observe({"b": 2, "c": 2}, within="bc").observe({"a": 1}, within="ac")
    plan = plan_of(luce.Posterior(counts), draws=60, seed=2, method=method)
    sink = draw_in_memory(plan)
    assert diagnostics.verdict(as_tree(plan, sink)) == convergence.judge(plan, sink)
