"""Dirichlet processes seen through subsets: closed forms, quadrature, the joint distribution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from lib.bounds import SEED, z_limit
from scipy.special import gammaln
from scipy.stats import binom

import luce
from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior
from luce.errors import DataError

Floats = npt.NDArray[np.float64]

FREE = ConditionalCounts(["a", "b", "c", "remainder"]).observe({"a": 5, "b": 1, "c": 2})
# Overlapping sets, one with the remainder and one without.
TRUNCATED = (
    ConditionalCounts(["a", "b", "remainder"])
    .observe({"a": 4, "b": 1})
    .observe({"a": 2, "b": 5}, within=["a", "b"])
    .observe({"b": 3}, without=["a"])
)
HYPER = Gamma(3.0, 1.5)


def z_scores(watched: Floats, truth: Floats) -> Floats:
    """|z| of the means of (chain, draw, variable)."""
    error = luce.answers.diagnostics.mcse(watched).to_numpy()
    return np.abs(watched.mean(axis=(0, 1)) - truth) / error


# -- closed forms -----------------------------------------------------------------------------


def test_without_truncation_it_is_a_dirichlet_with_the_remainder() -> None:
    gamma = 0.7
    posterior = Posterior(FREE, DirichletProcess(gamma))
    shape = np.array([5, 1, 2, gamma])
    np.testing.assert_allclose(posterior.mean(), shape / shape.sum())
    mean = shape / shape.sum()
    np.testing.assert_allclose(posterior.variance(), mean * (1 - mean) / (shape.sum() + 1))
    # The probability of a sequence with these counts: a Chinese restaurant with 3 tables.
    eppf = 3 * np.log(gamma) + gammaln(gamma) - gammaln(gamma + 8) + gammaln([5, 1, 2]).sum()
    assert posterior.log_evidence() == pytest.approx(eppf)
    p = posterior.sample(4000, seed=SEED, progress=False).posterior["probabilities"].to_numpy()
    error = np.sqrt(posterior.variance() / p[..., 0].size)
    assert (np.abs(p.mean(axis=(0, 1)) - mean) < z_limit(4) * error).all()
    wrong = np.array([5, 1, 2, 2 * gamma]) / (8 + 2 * gamma)
    assert (np.abs(p.mean(axis=(0, 1)) - wrong) > z_limit(4) * error).any()


def test_the_density_is_the_evidence_times_a_dirichlet() -> None:
    posterior = Posterior(FREE, DirichletProcess(0.7))
    p = np.array([0.4, 0.1, 0.3, 0.2])
    shape = np.array([5, 1, 2, 0.7])
    dirichlet = gammaln(shape.sum()) - gammaln(shape).sum() + (shape - 1) @ np.log(p)
    assert posterior.log_density(p) == pytest.approx(float(posterior.log_evidence()) + dirichlet)


def test_a_base_on_the_categories_is_a_dirichlet() -> None:
    counts = ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab").observe(
        {"b": 2, "c": 3}, within="bc"
    )  # fmt: skip
    process = DirichletProcess(3.0, {"a": 0.5, "b": 0.2, "c": 0.3})
    ours, theirs = Posterior(counts, process), Posterior(counts, [1.5, 0.6, 0.9])
    np.testing.assert_allclose(ours.concentration, theirs.concentration)
    p = np.array([0.2, 0.5, 0.3])
    assert ours.log_density(p) == pytest.approx(theirs.log_density(p))
    runs = [x.sample(200, seed=1, progress=False) for x in (ours, theirs)]
    assert runs[0].posterior.to_dataset().equals(runs[1].posterior.to_dataset())
    nested = ConditionalCounts("abc").observe({"b": 2}, without="a")
    assert Posterior(nested, process).log_evidence() == pytest.approx(
        Posterior(nested, [1.5, 0.6, 0.9]).log_evidence()
    )


def test_a_mixed_base() -> None:
    counts = ConditionalCounts(["a", "b", "new", "rest"]).observe({"a": 2, "new": 1})
    posterior = Posterior(counts, DirichletProcess(2.0, {"a": 0.25, "b": 0.5}, "rest"))
    np.testing.assert_allclose(posterior.mean(), np.array([2.5, 1.0, 1.0, 0.5]) / 5)
    # a, a, new: 0.5/2 · 1.5/3 · (0.5 of the diffuse part)/4
    assert np.exp(posterior.log_evidence()) == pytest.approx(0.25 * 0.5 * 0.125)


# -- against quadrature -------------------------------------------------------------------------


class Truth(NamedTuple):
    """Means of p_a, p_b, p_rest and, where it is drawn, of γ and log γ."""

    means: Floats


def truth(gamma: float | Gamma, base: tuple[float, float] = (0.0, 0.0)) -> Truth:
    """Sum over the logits of the rest and of a's share in a and b, and over log γ.

    Named atoms without base mass have p^-1 and a factor γ (1 - Σ H).  The rest has no counts, so
    its logarithm reaches far.
    """
    r, v = np.meshgrid(np.arange(-150.0, 30.0, 0.4), np.arange(-12.0, 12.0, 0.3))
    both = -np.logaddexp(0.0, r)
    logs = np.stack([both - np.logaddexp(0.0, -v), both - np.logaddexp(0.0, v), r + both])
    data = 6 * logs[0] + 9 * logs[1]
    data = data - 7 * np.logaddexp(logs[0], logs[1]) - 3 * np.logaddexp(logs[1], logs[2])
    diffuse = 1 - sum(base)
    scales = np.exp(np.linspace(-9.0, 4.0, 131)) if isinstance(gamma, Gamma) else np.array([gamma])
    mass, sums = np.empty(len(scales)), np.empty((len(scales), 5))
    for k, g in enumerate(scales):
        # The Jacobian of the logits is the product of the three.
        log_f = data + g * (base[0] * logs[0] + base[1] * logs[1] + diffuse * logs[2])
        constant = gammaln(g) - gammaln(g * diffuse)
        constant += sum(-gammaln(g * h) if h else np.log(g * diffuse) for h in base)
        f = np.exp(log_f)
        weight = f.sum()
        prior = gamma.shape * np.log(g) - gamma.rate * g if isinstance(gamma, Gamma) else 0.0
        mass[k] = weight * np.exp(constant + prior)
        sums[k, :3] = (np.exp(logs) * f).sum(axis=(1, 2)) / weight
        sums[k, 3:] = g, np.log(g)
    means = mass @ sums / mass.sum()
    return Truth(means if isinstance(gamma, Gamma) else means[:3])


@pytest.mark.parametrize("method", ["auto", "waiting-times", "hidden-counts"])
def test_truncated_terms_agree_with_quadrature(method: str) -> None:
    posterior = Posterior(TRUNCATED, DirichletProcess(1.3))
    run = posterior.sample(5000, seed=SEED, method=method, progress=False)
    p = run.posterior["probabilities"].to_numpy()
    z = z_scores(p, truth(1.3).means)
    assert z.max() < z_limit(9), z
    assert z_scores(p, truth(1.6).means).max() > z_limit(9)


@pytest.mark.parametrize("base", [{}, {"a": 0.3}, {"a": 0.2, "b": 0.5}])
def test_the_concentration_is_drawn_from_its_posterior(base: dict[str, float]) -> None:
    run = Posterior(TRUNCATED, DirichletProcess(HYPER, base)).sample(
        6000, seed=SEED, progress=False
    )
    masses = base.get("a", 0.0), base.get("b", 0.0)
    z = z_scores(with_scale(run), truth(HYPER, masses).means)
    assert z.max() < z_limit(15), z
    other = truth(Gamma(3.0, 2.0), masses).means
    assert z_scores(with_scale(run), other).max() > z_limit(15)


def with_scale(run: Any) -> Floats:
    gamma = run.posterior["concentration"].to_numpy()[..., None]
    return np.concatenate([run.posterior["probabilities"].to_numpy(), gamma, np.log(gamma)], axis=2)


def exact_rule(rng: np.random.Generator, gamma: float, p: Floats) -> float:
    return float(rng.gamma(HYPER.shape + 2) / (HYPER.rate - np.log(p[2])))


def escobar_west(rng: np.random.Generator, gamma: float, p: Floats) -> float:
    """Right if all 15 outcomes had been free: looks at the number of them and of atoms only."""
    x = rng.beta(gamma + 1, 15)
    rate = HYPER.rate - np.log(x)
    odds = (HYPER.shape + 2 - 1) / (15 * rate)
    more = rng.random() < odds / (1 + odds)
    return float(rng.gamma(HYPER.shape + 2 - (0 if more else 1)) / rate)


@pytest.mark.parametrize("rule", [exact_rule, escobar_west])
def test_escobar_and_west_is_wrong_under_truncation(rule: Callable[..., float]) -> None:
    """A plain sampler with hidden counts; the exact rule is right and the usual one is not."""
    rng = np.random.default_rng([SEED, 1])
    gamma, p = 1.0, np.full(3, 1 / 3)
    kept = np.empty((1, 5000, 5))
    for d in range(-100, 5000):
        outside = rng.negative_binomial(7, max(1 - p[2], 1e-12))  # hidden on the remainder
        hidden = rng.negative_binomial(3, max(1 - p[0], 1e-12))  # hidden on a
        g = rng.standard_gamma([6 + hidden, 9, max(gamma + outside, 1e-3)])
        p = np.maximum(g / g.sum(), 1e-300)
        gamma = rule(rng, gamma, p)
        kept[0, max(d, 0)] = *p, gamma, np.log(gamma)
    z = z_scores(kept, truth(HYPER).means)
    assert (z.max() < z_limit(10)) == (rule is exact_rule), z


# -- the joint distribution of parameters and data ----------------------------------------------


def simulate(rng: np.random.Generator, base: Floats) -> tuple[float, Floats, list[Any]]:
    """γ, sticks after the base's atoms, and outcomes: free, without the first, within those seen.

    Returns γ, the masses, and terms (outcomes, within or None, without or None).
    """
    gamma = float(rng.gamma(HYPER.shape) / HYPER.rate)
    diffuse = 1 - base.sum()
    left = np.exp(np.r_[0.0, np.cumsum(np.log1p(-rng.random(200)) / (gamma * diffuse))])
    heads = rng.standard_gamma(np.r_[gamma * base, gamma * diffuse])
    heads /= heads.sum()
    p = np.r_[heads[:-1], heads[-1] * -np.diff(left)]
    p /= p.sum()
    free = rng.choice(len(p), 4, p=p).tolist()
    first = free[0]
    other = np.where(np.arange(len(p)) == first, 0.0, p)
    terms: list[Any] = [(free, None, None)]
    if other.sum() > 1e-12:
        terms.append((rng.choice(len(p), 3, p=other / other.sum()).tolist(), None, [first]))
    seen = sorted({i for outcomes, _, _ in terms for i in outcomes} | set(range(len(base))))
    inside = p[seen] / p[seen].sum()
    terms.append(([seen[k] for k in rng.choice(len(seen), 12, p=inside)], seen, None))
    return gamma, p, terms


def as_counts(terms: list[Any], n_base: int, forget: bool) -> tuple[list[int], ConditionalCounts]:
    seen = sorted({i for outcomes, _, _ in terms for i in outcomes} | set(range(n_base)))
    counts = ConditionalCounts([*seen, "remainder"])
    for outcomes, within, without in terms:
        tally = {i: outcomes.count(i) for i in outcomes}
        counts = counts.observe(tally, within=None if forget else within, without=without)
    return seen, counts


@pytest.mark.slow
@pytest.mark.parametrize("base", [pytest.param((), marks=pytest.mark.slow), (0.3, 0.1)])
@pytest.mark.parametrize("forget", [False, True])
def test_parameters_and_their_posterior_draws_have_one_law(
    base: tuple[float, ...], forget: bool
) -> None:
    """Given data, draws look like the parameters that made it; not if a condition is forgotten."""
    rng = np.random.default_rng([SEED, 2])
    process = DirichletProcess(HYPER, dict(enumerate(base)))
    gaps = []
    for k in range(120):
        gamma, p, terms = simulate(rng, np.array(base))
        seen, counts = as_counts(terms, len(base), forget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", luce.ConvergenceWarning)
            run = Posterior(counts, process).sample(
                20, chains=1, warmup=60, seed=1000 * SEED + k, threads=1, progress=False
            )
        drawn = run.posterior["probabilities"].to_numpy()[0]
        scale = run.posterior["concentration"].to_numpy()[0]
        first = seen.index(terms[0][0][0])

        def look(gamma: Any, p: Floats, first: int = first) -> Floats:
            rest = p[..., -1]
            return np.stack([np.log(gamma), gamma, rest, p[..., first], gamma * rest], axis=-1)

        truth = look(gamma, np.r_[p[seen], max(1 - p[seen].sum(), 0.0)])
        gaps.append(look(scale, drawn).mean(axis=0) - truth)
    z = np.abs(np.mean(gaps, axis=0)) / (np.std(gaps, axis=0, ddof=1) / np.sqrt(len(gaps)))
    assert (z.max() > z_limit(10)) == forget, z


# -- new categories -----------------------------------------------------------------------------


@pytest.mark.slow
def test_expected_new_categories() -> None:
    gamma = 1.4
    run = Posterior(FREE, DirichletProcess(gamma)).sample(5000, seed=SEED, progress=False)
    for m in (1, 7, 300):
        found = luce.answers.expected_new(run, m).to_numpy()
        closed = (gamma / (gamma + 8 + np.arange(m))).sum()
        error = found.std() / np.sqrt(found.size)
        assert abs(found.mean() - closed) < z_limit(3) * error
        assert abs(found.mean() - (gamma / (gamma + 7 + np.arange(m))).sum()) > z_limit(3) * error
    many = luce.answers.expected_new(run, 10**9).to_numpy().mean()
    assert many == pytest.approx((np.log(1e9) - np.log(8)) * gamma, rel=0.1)


@pytest.mark.parametrize(("q", "g", "m"), [(0.3, 0.05, 5), (0.9, 2.5, 40), (1e-6, 1.0, 1000)])
def test_the_integral_for_new_categories(q: float, g: float, m: int) -> None:
    """Against the sum over outcomes, each over how many before it fell on the remainder."""
    from scipy.stats import binom

    from luce.answers.new_categories import expected_number

    direct = sum(
        q * (binom.pmf(np.arange(j + 1), j, q) * g / (g + np.arange(j + 1))).sum() for j in range(m)
    )
    assert expected_number(np.array([q]), np.array([g]), m)[0] == pytest.approx(direct, rel=1e-9)


def test_new_atoms_are_sticks() -> None:
    counts = ConditionalCounts(["a", "b", "rest"]).observe({"b": 3})
    process = DirichletProcess(2.0, {"a": 0.25}, "rest")
    run = Posterior(counts, process).sample(5000, seed=SEED, progress=False)
    atoms = luce.answers.draw_new_atoms(run, 3, seed=SEED)
    rest = run.posterior["probabilities"].sel(category="rest").to_numpy()
    share = atoms["probabilities"].to_numpy() / rest[..., None]
    np.testing.assert_allclose(share.sum(axis=2) + atoms["remainder"] / rest, 1.0)
    for k in range(3):  # V ~ Beta(1, 1.5), after k sticks
        mean = 0.4 * 0.6**k
        error = share[..., k].std() / np.sqrt(rest.size)
        assert abs(share[..., k].mean() - mean) < z_limit(3) * error
    wrong = share[..., 0].mean() - 1 / 3  # sticks of DP(2), not of DP(2 · 0.75)
    assert abs(wrong) > z_limit(3) * share[..., 0].std() / np.sqrt(rest.size)
    again = luce.answers.draw_new_atoms(run, 3, seed=SEED)
    assert again.identical(atoms)


# -- what users see -----------------------------------------------------------------------------


def observed(*terms: dict[Any, Any]) -> ConditionalCounts:
    counts = ConditionalCounts(["a", "b", "c", "remainder"])
    for term in terms:
        counts = counts.observe(term["seen"], within=term.get("within"))
    return counts


AB = {"seen": {"a": 3, "b": 2}, "within": ["a", "b"]}


@pytest.mark.parametrize(
    ("counts", "process", "words"),
    [
        (ConditionalCounts("ab").observe({"a": 1, "b": 1}), (1.0,), "no 'remainder'"),
        (observed({"seen": {"a": 1, "b": 1}}), (1.0,), "'c' was never seen and has no mass"),
        (observed({"seen": {"c": 1}}, AB), (1.0,), "seen given that the outcome lay among"),
        (observed({"seen": {"c": 0.5}}, AB), (1.0,), "seen given that the outcome lay among"),
        (FREE, (1.0, {"z": 0.5}), "not among the categories"),
        (FREE, (1.0, {"a": 0.5, "b": 0.5}), "cannot occur"),
        (FREE, (1.0, {"a": 0.9, "b": 0.2}), "at most 1"),
        (FREE, (1.0, {"a": 0.0}), "must be positive"),
        (FREE, (1.0, {"remainder": 0.1}), "its mass is what others leave"),
        (FREE, (1.0, [0.5]), "must map labels"),
        (FREE, (0.0,), "needs a positive one"),
        (FREE, ("1",), "a number is needed"),
    ],
)
def test_what_is_wrong_is_said(counts: ConditionalCounts, process: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Posterior(counts, DirichletProcess(*process))


def test_one_wider_outcome_is_enough() -> None:
    """a and b were compared among themselves, and b once with c: then all is known."""
    counts = observed({"seen": {"c": 2}}, AB, {"seen": {"b": 1}, "within": ["b", "c"]})
    mean = Posterior(counts, DirichletProcess(1.0)).sample(2000, seed=1, progress=False)
    assert np.isfinite(mean.posterior["probabilities"].to_numpy()).all()
    mixed = Posterior(observed({"seen": {"c": 1}}, AB), DirichletProcess(1.0, {"a": 0.1}))
    assert mixed.structure.is_exact


def test_small_shapes_and_large_counts() -> None:
    counts = ConditionalCounts(["a", "b", "remainder"])
    counts = counts.observe({"a": 1e12, "b": 1}).observe({"a": 3, "b": 1}, within=["a", "b"])
    for gamma in (1e-4, 1e6, Gamma(0.01, 0.01)):
        posterior = Posterior(counts, DirichletProcess(gamma))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", luce.ConvergenceWarning)
            run = posterior.sample(200, seed=SEED, log_probabilities=True, progress=False)
        assert np.isfinite(run.posterior["log_probabilities"].to_numpy()).all()


def test_a_run_is_saved_whole(tmp_path: Any) -> None:
    process = DirichletProcess(HYPER, {"a": 0.25})
    for prior in (process, DirichletProcess(1.5)):
        run = Posterior(FREE, prior).sample(1500, seed=1, progress=False)
        luce.save(run, tmp_path / "run.nc", overwrite=True)
        again = luce.load(tmp_path / "run.nc")
        assert again.identical(run)
        assert luce.posterior_of(again).prior == prior
        assert again.attrs["prior"].startswith("DirichletProcess(")
    with pytest.raises(DataError, match="no remainder"):
        luce.answers.expected_new(Posterior(FREE).sample(10, seed=1, progress=False), 3)


def test_what_a_process_cannot_answer_is_said() -> None:
    with pytest.raises(DataError, match="needs a concentration that is a number"):
        Posterior(FREE, DirichletProcess(HYPER)).mean()
    with pytest.raises(DataError, match="needs a count of its own"):
        _ = Posterior(FREE, DirichletProcess(1.0)).without_data()
    assert "DirichletProcess" in repr(Posterior(FREE, DirichletProcess(1.0)))


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.05, 1.0, 20.0])
def test_new_categories_are_expected_as_the_sum_says(scale: float) -> None:
    from luce.answers.new_categories import expected_number

    rest = np.array([0.3, 0.9])
    counts = [np.arange(j + 1) for j in range(7)]
    by_hand = [
        sum(q * (binom.pmf(b, len(b) - 1, q) * scale / (scale + b)).sum() for b in counts)
        for q in rest
    ]
    found = expected_number(rest, np.full(2, scale), 7.0)
    np.testing.assert_allclose(found, by_hand, rtol=1e-10)


def test_data_that_is_too_large_to_check_is_told_of() -> None:
    """A ranking of n has sets with n (n + 1) / 2 members in all, more than 20 million here."""
    n = 6_400
    labels = [*range(n), "rest"]
    counts = luce.from_rankings([range(n)], unranked="below", categories=labels)
    process = DirichletProcess(1.0, remainder="rest")
    with pytest.warns(luce.errors.UncheckedDataWarning, match="it is not checked that data says"):
        luce.Posterior(counts, process)
