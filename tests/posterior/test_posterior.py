"""Posteriors: closed forms, which method draws them, and what is refused."""

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from lib.fragments import cells, faults
from scipy import stats
from scipy.special import betaln, gammaln

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.counts.family import describe_set
from luce.errors import DataError, MethodError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
QUIET: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}


def nested() -> ConditionalCounts:
    counts = (
        ConditionalCounts("abcd").observe({"a": 3, "d": 1}).observe({"b": 4, "c": 2}, within="bc")
    )
    return counts.observe({"d": 2}, without="a")


def duels(weight: float = 1.0) -> ConditionalCounts:
    counts = ConditionalCounts("abc").observe({"a": 5 * weight, "b": 2}, within="ab")
    return counts.observe({"b": 4, "c": weight}, within="bc").observe({"a": 2, "c": 3}, within="ac")


# -- closed forms ---------------------------------------------------------------------------------


def test_two_categories_are_a_beta() -> None:
    posterior = Posterior(ConditionalCounts("ab").observe({"a": 3, "b": 1}), {"a": 2.0, "b": 0.5})
    beta = stats.beta(5.0, 1.5)
    np.testing.assert_allclose(posterior.mean(), [beta.mean(), 1 - beta.mean()])
    np.testing.assert_allclose(posterior.variance(), [beta.var(), beta.var()])
    evidence = posterior.log_evidence()
    np.testing.assert_allclose(evidence, betaln(5.0, 1.5) - betaln(2.0, 0.5))
    assert evidence.value == float(evidence)
    assert repr(pickle.loads(pickle.dumps(evidence))) == repr(evidence)
    # Of b's share p the density is p ** 1 (1 - p) ** 3 under its prior, up to the evidence.
    one, two = posterior.log_density([[0.4, 0.6], [0.7, 0.3]])
    prior = stats.beta(2.0, 0.5).logpdf([0.4, 0.7]) + 3 * np.log([0.4, 0.7]) + np.log([0.6, 0.3])
    np.testing.assert_allclose(two - one, prior[1] - prior[0])


def test_nested_sets_have_closed_forms_and_their_draws_agree() -> None:
    posterior = Posterior(nested(), [1.0, 0.5, 2.0, 1.5])
    run = posterior.sample(300, log_probabilities=True, **QUIET)
    assert run.attrs["method"] == "exact"
    p = run.posterior["probabilities"].to_numpy()
    z = (p.mean(axis=(0, 1)) - posterior.mean()) / np.sqrt(posterior.variance() / 600)
    assert np.abs(z).max() < 5
    np.testing.assert_allclose(np.exp(run.posterior["log_probabilities"]), p, rtol=1e-12)
    only = Posterior(ConditionalCounts(["x"]).observe({"x": 2})).sample(5, **QUIET)
    np.testing.assert_array_equal(only.posterior["probabilities"], 1.0)


def test_tiny_shapes_keep_logarithms() -> None:
    posterior = Posterior(nested(), 0.001)
    run = posterior.sample(50, keep=["c", "a"], **QUIET)
    logs = run.posterior["log_probabilities"].to_numpy()
    assert np.isfinite(logs).all()
    p = run.posterior["probabilities"].to_numpy()
    np.testing.assert_allclose(np.exp(logs), p, rtol=1e-9, atol=1e-300)
    assert list(run.posterior["category"].to_numpy()) == ["c", "a"]


def test_a_core_inside_exact_splits_keeps_logarithms() -> None:
    counts = (
        ConditionalCounts("abcdef").observe({"e": 3, "f": 1}).observe({"a": 1, "b": 2}, within="ab")
    )
    counts = counts.observe({"b": 3, "c": 1}, within="bc").observe({"a": 1, "c": 1}, within="ac")
    for a in (0.8, 0.004):
        run = Posterior(counts, a).sample(20, log_probabilities=True, warmup=10, **QUIET)
        logs = run.posterior["log_probabilities"].to_numpy()
        np.testing.assert_allclose(np.logaddexp.reduce(logs, axis=2), 0, atol=1e-9)


def test_fractions_that_cancel_leave_nothing() -> None:
    counts = ConditionalCounts("abc").observe({"a": 0.1, "b": 0.2}, within="ab").observe({"c": 0.3})
    counts = counts.observe({"b": 0.7, "c": 0.1}, within="bc").observe({"a": 0.6}, within="ac")
    run = Posterior(counts, 0.4).sample(10, warmup=5, **QUIET)
    np.testing.assert_allclose(run.posterior["probabilities"].sum("category"), 1, rtol=1e-12)
    assert not counts.is_whole


# -- methods --------------------------------------------------------------------------------------


def path(n: int) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for i in range(n - 1):
        counts = counts.observe({i: 1 + i % 2, i + 1: 1}, within=[i, i + 1])
    return counts


@pytest.mark.parametrize(
    ("counts", "a", "method", "words"),
    [
        (duels(), 1.0, "rejection", "kept"),
        (path(12), 1.0, "hamiltonian", "weakly connected"),
        (duels().observe_group("ab", 30), 1.0, "hamiltonian", "weakly connected"),
        (path(12), 0.001, "waiting-times", "tiny"),
    ],
)
def test_the_method_fits_the_posterior(
    counts: ConditionalCounts, a: float, method: str, words: str
) -> None:
    run = Posterior(counts, a).sample(5, warmup=5, **QUIET)
    assert run.attrs["method"] == method
    assert words in run.attrs["reason"]


def test_every_pair_once_is_nearly_normal() -> None:
    counts = ConditionalCounts(7)
    for i in range(7):
        for j in range(i):
            counts = counts.observe({i: 30, j: 20 + j}, within=[i, j])
    run = Posterior(counts, 3.0).sample(5, warmup=5, **QUIET)
    assert run.attrs["method"] == "independence"
    assert "nearly normal" in run.attrs["reason"]


def test_sets_that_leave_out_few_are_well_connected() -> None:
    counts = ConditionalCounts(7)
    for i in range(7):
        wins = {(i + 3) % 7: 5, (i + 4) % 7: 4}
        counts = counts.observe(wins, without=[i, (i + 1) % 7])
    run = Posterior(counts, 3.0).sample(5, warmup=5, **QUIET)
    assert run.attrs["method"] == "waiting-times"
    assert "well connected" in run.attrs["reason"]


def test_a_run_in_somebodys_thread_is_the_same() -> None:
    posterior, found = Posterior(duels()), {}
    how: dict[str, Any] = {**QUIET, "warmup": 5, "method": "waiting-times", "threads": 1}

    def draw() -> None:
        found["there"] = posterior.sample(8, **how)

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    here = posterior.sample(8, **how).posterior["probabilities"]
    np.testing.assert_array_equal(found["there"].posterior["probabilities"], here)


def test_chains_may_start_at_points_of_their_own() -> None:
    how: dict[str, Any] = {**QUIET, "warmup": 0, "method": "metropolis"}
    points = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
    steady = Posterior(duels()).sample(3, initial=points, proposal_concentration=1e12, **how)
    first = steady.posterior["probabilities"].to_numpy()[:, 0]
    np.testing.assert_allclose(first, points, atol=1e-4)  # proposals so narrow hardly move


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"draws": 0}, "draws = 0"),
        ({"chains": True}, "chains = True"),
        ({"warmup": -1}, "warmup"),
        ({"threads": 0}, "threads"),
        ({"thin": 0.5}, "thin"),
        ({"seed": -3}, "seed"),
        ({"reduce": "no"}, "True or False"),
        ({"proposal_concentration": 3.0}, "metropolis"),
        ({"method": "metropolis", "proposal_concentration": -3.0}, "positive and finite"),
        ({"initial": "mode"}, "starting probabilities"),
        ({"initial": [0.5, 0.5]}, "shape"),
        ({"initial": [[0.2, 0.3, 0.5]] * 3, "chains": 2}, "shape"),
        ({"initial": [0.5, 0.6, 0.1]}, "add up to 1"),
        ({"initial": ["a", "b", "c"]}, "must be numbers"),
        ({"keep": []}, "keep is empty"),
        ({"draws": 10**12}, "this machine has"),
        ({"method": "hamiltonian", "concentration": 1e-4}, "hamiltonian"),
        ({"method": "metropolis", "concentration": Gamma(2.0, 1.0)}, "can be used"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(how: dict[str, Any], words: str) -> None:
    posterior = Posterior(duels(), how.pop("concentration", 1.0))
    with pytest.raises(luce.LuceError, match=words):
        posterior.sample(**{"draws": 5, "progress": False, **how})


@pytest.mark.parametrize(
    ("concentration", "words"),
    [
        ({"a": 1.0, "b": 1.0}, "1 are missing"),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, "1 are not categories"),
        ([1.0, 2.0], "shape"),
        ("many", "must be numbers"),
        ([1.0, -2.0, 1.0], "'b' is -2"),
    ],
)
def test_what_cannot_be_a_concentration_is_said(concentration: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Posterior(duels(), concentration)


def test_posteriors_say_what_they_are() -> None:
    with pytest.raises(DataError, match="list was given"):
        Posterior([1, 2])  # type: ignore[arg-type]
    drawn = Posterior(duels(), Gamma(2.0, 1.0))
    assert "Gamma" in repr(drawn)
    assert drawn.prior.hyperprior == Gamma(2.0, 1.0)
    assert not drawn.prior.is_fixed
    with pytest.raises(DataError, match="needs a concentration that is a number"):
        drawn.mode()
    assert "1 to 3" in repr(Posterior(duels(), [1.0, 2.0, 3.0]))
    back = pickle.loads(pickle.dumps(drawn))
    assert back.counts == duels()
    assert Posterior(duels(), 2.0).without_data().mean().values.tolist() == [1 / 3] * 3
    with pytest.raises(luce.errors.NotExactError, match="nest"):
        Posterior(duels()).mean()
    assert describe_set("abc", duels().sets, 0) == "7 outcomes given all but {c}"


# -- processes ------------------------------------------------------------------------------------


def test_a_process_splits_off_what_has_a_name() -> None:
    counts = ConditionalCounts(["x", "y", "remainder"]).observe({"x": 3, "y": 1})
    posterior = Posterior(counts, DirichletProcess(2.0))
    np.testing.assert_allclose(posterior.mean(), [3 / 6, 1 / 6, 2 / 6])
    # Antoniak: γ² Γ(γ) Γ(3) Γ(1) / Γ(γ + 4) with γ = 2.
    expected = 2 * np.log(2) + gammaln(2) + gammaln(3) - gammaln(6)
    np.testing.assert_allclose(posterior.log_evidence(), expected)
    assert "DirichletProcess" in repr(posterior)
    whole = Posterior(
        ConditionalCounts("ab").observe({"a": 1}), DirichletProcess(2.0, {"a": 0.5, "b": 0.5})
    )
    np.testing.assert_allclose(whole.mean(), [2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((-1.0,), "positive"),
        ((1.0, {"a": -0.1}), "must be positive"),
        ((1.0, {"a": 0.7, "b": 0.7}), "at most 1"),
        ((1.0, {"remainder": 0.5}), "is the remainder"),
        ((1.0, [1, 2]), "must map"),
        ((1.0, None, []), "hashable"),
    ],
)
def test_what_cannot_be_a_process_is_said(given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(DataError, match=words):
        DirichletProcess(*given)


@pytest.mark.parametrize(
    ("labels", "data", "base", "words"),
    [
        (["x"], {"x": 1}, None, "no 'remainder'"),
        (["x", "remainder"], {"x": 1}, {"z": 0.2}, "'z' of the base is not"),
        (["x", "y", "remainder"], {"x": 1}, None, "'y' was never seen"),
        (["x", "y"], {"x": 1}, {"x": 1.0}, "'y' cannot occur"),
    ],
)
def test_what_does_not_fit_a_process_is_said(
    labels: list[str], data: dict[str, int], base: Any, words: str
) -> None:
    with pytest.raises(DataError, match=words):
        Posterior(ConditionalCounts(labels).observe(data), DirichletProcess(1.0, base))


@pytest.mark.parametrize("weight", [1, 0.25])
def test_atoms_seen_only_among_themselves_are_refused(weight: float) -> None:
    counts = ConditionalCounts(["x", "y", "remainder"])
    counts = counts.observe({"x": 2 * weight, "y": weight}, within=["x", "y"])
    with pytest.raises(DataError, match="among themselves"):
        Posterior(counts, DirichletProcess(1.0))


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ([[1, 2], [3]], "unequal lengths"),
        (np.zeros((2, 3)), "shape"),
        (np.zeros((0, 3, 2)), "no draws"),
        (np.full((1, 2, 2), np.nan), "not finite"),
    ],
)
def test_what_are_no_draws_is_said(draws: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        luce.answers.diagnostics.rhat(draws)


def test_a_method_needs_what_it_is_for() -> None:
    grouped = duels().observe_group("ab", 30)
    with pytest.raises(MethodError, match="no grouped outcomes"):
        Posterior(grouped).sample(5, method="independence", progress=False)
    with pytest.raises(MethodError, match="rejection"):
        Posterior(path(20)).sample(5, method="rejection", progress=False)
    large = (
        ConditionalCounts("abcdef")
        .observe_group("abcde", 20)
        .observe_group("abcd", 10, without="f")
    )
    large = large.observe({"a": 2, "b": 1}, within="ab").observe({"c": 1}, within="bc")
    large = large.observe({"d": 2}, without="a").observe_group("bcdef", 9)
    for a in (1.0, 0.01):
        runs = [Posterior(large, a).sample(20, method=m, reduce=False, warmup=5, **QUIET)
                for m in ("waiting-times", "hidden-counts")]  # fmt: skip
        for run in runs:
            total = run.posterior["probabilities"].sum("category")
            np.testing.assert_allclose(total, 1, rtol=1e-12)


def test_a_notebook_shows_prior_structure_and_data() -> None:
    counts = ConditionalCounts("abc").observe({"b": 2}, without="a")
    posterior = Posterior(counts, Gamma(2.0, 3.0))
    html = posterior._repr_html_()
    assert faults(html) == []
    assert cells(html)[1] == ["probabilities", repr(posterior.prior)]
    assert f"<p>{posterior.structure!r}</p>" in html
    assert counts._repr_html_() in html
    games = {"home": ["a", "b"], "away": ["b", "a"], "result": ["H", "D"]}
    contests = luce.from_pairs(games, ties="davidson", home="first")
    rows = cells(Posterior(contests, home=1.0)._repr_html_())
    assert rows[2:] == [["home", "1.0"], ["tie", "Gamma(shape=1.0, rate=1.0)"]]
    large = Posterior(ConditionalCounts(20_000).observe({0: 1}, within=range(9000)))
    assert "which are simulated" not in large._repr_html_()
    assert "exact" not in large._repr_html_()
