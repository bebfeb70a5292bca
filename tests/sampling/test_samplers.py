"""Every sampler on a few categories with a few draws: near the truth, on the simplex, repeatable.

Bounds are wide, since draws are few; the tests of agreement are sharp.  These run where kernels
are plain Python, too.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from lib.bounds import SEED
from lib.oracles import simplex_quadrature
from scipy import stats

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.errors import MethodError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

Floats = npt.NDArray[np.float64]
# Of the |z| of 1,000 comparisons, one exceeds this once in 10,000 runs; mcse of few correlated
# draws are themselves uncertain by some ten per cent.
BOUND = 1.3 * stats.norm.isf(0.5e-4 / 1000)


def duels() -> ConditionalCounts:
    counts = ConditionalCounts("abc").observe({"a": 5, "b": 2}, within="ab")
    counts = counts.observe({"b": 4, "c": 1}, within="bc")
    return counts.observe({"a": 2, "c": 3}, within="ac").observe({"c": 2})


def truth(counts: ConditionalCounts, concentration: list[float]) -> tuple[Floats, Floats]:
    exponents: dict[frozenset[int], float] = {}
    for i, k in enumerate(counts.category_counts.tolist()):
        exponents[frozenset([i])] = k
    for t, power in enumerate(counts.sets.exponent.tolist()):
        exponents[frozenset(counts.sets.set_members(t).tolist())] = power
    found = simplex_quadrature(exponents, concentration)
    return found.mean, found.variance


def assert_near(run: Any, mean: Floats, variance: Floats) -> None:
    p = run.posterior["probabilities"].to_numpy()
    np.testing.assert_allclose(p.sum(axis=2), 1, rtol=1e-12)
    values = np.concatenate([p, (p - mean) ** 2], axis=2)
    error = luce.answers.diagnostics.mcse(values).to_numpy()
    z = (values.mean(axis=(0, 1)) - np.r_[mean, variance]) / error
    assert np.abs(z).max() < BOUND, z


def draw(posterior: Posterior, draws: int = 150, **options: Any) -> Any:
    settings = {"chains": 3, "warmup": 30, "seed": SEED + 1, "progress": False, **options}
    return posterior.sample(draws, **settings)


GROUPED = duels().observe_group("ab", 11).observe_group("bc", 2, within="bc")
NESTED = ConditionalCounts("abc").observe({"a": 4}).observe({"b": 3, "c": 1}, within="bc")
WITHOUT = (
    ConditionalCounts("abc")
    .observe({"b": 3, "c": 1}, without="a")
    .observe({"a": 6, "c": 2}, without="b")
    .observe({"a": 2}, without="c")
)


@pytest.mark.parametrize(("reduce", "threads"), [(True, 2), (False, 1)])
@pytest.mark.parametrize(
    ("counts", "method"),
    [
        (duels(), "waiting-times"),
        (duels(), "hidden-counts"),
        (duels(), "metropolis"),
        (duels(), "hamiltonian"),
        (WITHOUT, "rejection"),
        (GROUPED, "waiting-times"),
        (GROUPED, "hidden-counts"),
        (NESTED, "auto"),
        (duels(), "auto"),
    ],
)
def test_draws_are_near_the_truth(
    counts: ConditionalCounts, method: str, reduce: bool, threads: int
) -> None:
    a = [1.2, 0.9, 2.0]
    # Hidden counts and proposals forget slowly.
    draws = 600 if method in ("hidden-counts", "metropolis") else 150
    run = draw(Posterior(counts, a), draws, method=method, reduce=reduce, threads=threads)
    assert_near(run, *truth(counts, a))


def test_the_bound_sees_a_count_too_many() -> None:
    a = [1.2, 0.9, 2.0]
    wrong = duels().observe({"a": 6})
    with pytest.raises(AssertionError):
        assert_near(draw(Posterior(wrong, a), method="waiting-times"), *truth(duels(), a))


@pytest.mark.parametrize("method", ["waiting-times", "hidden-counts"])
def test_logarithms_are_kept_where_probabilities_underflow(method: str) -> None:
    posterior = Posterior(GROUPED, 0.002)
    run = draw(posterior, 40, method=method, reduce=False)
    p = run.posterior["probabilities"].to_numpy()
    np.testing.assert_allclose(p.sum(axis=2), 1, rtol=1e-12)
    assert np.isfinite(luce.log_odds(run, "a").to_numpy()).all() or p.min() == 0
    other = draw(posterior, 40, method=method, reduce=False, threads=2)
    np.testing.assert_array_equal(other.posterior["probabilities"], p)


def rankings() -> ConditionalCounts:
    """Overlapping rankings of seven, sets and their complements: every way a set is stored."""
    counts = ConditionalCounts("abcdefg")
    counts = counts.observe_ranking("dbacegf").observe_ranking("gfa", 2).observe_ranking("cdab")
    counts = counts.observe({"a": 3, "g": 2}, without="bd").observe({"b": 1}, without="c")
    counts = counts.observe({"e": 2, "f": 1}, without="a").observe({"c": 2}, within="ceg")
    return counts.observe({"b": 4, "f": 1}, within="bf").observe_group("ade", 2, without="b")


@pytest.mark.parametrize("a", [1.5, 0.03, 1e-4])
def test_methods_agree_on_every_way_a_set_is_stored(a: float) -> None:
    posterior = Posterior(rankings(), a)
    draws = {m: draw(posterior, 100, method=m) for m in ("waiting-times", "hidden-counts")}
    values = {m: run.posterior["probabilities"].to_numpy() for m, run in draws.items()}
    mean, other = (v.mean(axis=(0, 1)) for v in values.values())
    error, and_other = (luce.answers.diagnostics.mcse(v).to_numpy() for v in values.values())
    assert (np.abs(mean - other) < BOUND * np.hypot(error, and_other) + 0.02).all()


def test_without_groups_the_slope_finds_the_same() -> None:
    counts = ConditionalCounts("abcde").observe_ranking("dbaec").observe_ranking("eca", 2)
    counts = counts.observe({"a": 3, "d": 2}, without="bc").observe({"b": 4, "c": 1}, without="e")
    posterior = Posterior(counts, 1.3)
    one = draw(posterior, 300, method="hamiltonian").posterior["probabilities"].to_numpy()
    two = draw(posterior, 600, method="waiting-times").posterior["probabilities"].to_numpy()
    error = np.hypot(*(luce.answers.diagnostics.mcse(v).to_numpy() for v in (one, two)))
    assert (np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) < BOUND * error).all()


def test_a_drawn_concentration_moves_and_a_process_leaves_a_remainder() -> None:
    run = draw(Posterior(duels(), Gamma(2.0, 1.0)), 60)
    scale = run.posterior["concentration"].to_numpy()
    assert scale.min() > 0
    assert len(np.unique(scale)) == scale.size
    counts = ConditionalCounts(["x", "y", "remainder"]).observe({"x": 3, "y": 1})
    counts = counts.observe({"x": 2}, without=["y"])
    for process in (DirichletProcess(2.0), DirichletProcess(Gamma(2.0, 1.0), {"x": 0.3})):
        drawn = draw(Posterior(counts, process), 60).posterior["probabilities"]
        assert drawn["category"].to_numpy().tolist() == ["x", "y", "remainder"]
        assert drawn.to_numpy().min() > 0


def test_chains_start_where_they_are_told() -> None:
    posterior = Posterior(duels())
    given: dict[str, Any] = {"warmup": 0, "method": "waiting-times"}
    one = draw(posterior, 5, initial=[0.2, 0.3, 0.5], **given)
    other = draw(posterior, 5, initial=[0.5, 0.3, 0.2], **given)
    assert not np.array_equal(one.posterior["probabilities"], other.posterior["probabilities"])
    thin = draw(posterior, 5, thin=2, keep=["b"], method="waiting-times")
    assert thin.posterior["probabilities"].sizes["category"] == 1


def test_what_a_method_cannot_do_is_said() -> None:
    for counts, method, words in [
        (GROUPED, "independence", "no grouped outcomes"),
        (duels(), "exact", "nest"),
        (GROUPED, "rejection", "rejection"),
        (duels(), "magic", "magic"),
    ]:
        with pytest.raises(MethodError, match=words):
            draw(Posterior(counts), 5, method=method)
    with pytest.raises(MethodError, match="reduce=False"):
        draw(Posterior(NESTED), 5, method="exact", reduce=False)
