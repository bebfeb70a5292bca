"""Couplings of pairs: each variable has its own law, and the two are equal as often as can be."""

from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.size import draws
from scipy import stats
from scipy.integrate import quad

from luce.kernels.coupled.couplings import fill_pairs
from luce.kernels.random import new_bits

NUMBER = draws(compiled=200_000, plain=300)

# Kind of variable, parameters of both, and their laws.
GAMMAS = {
    "one rate a little larger": (3.0, 1.0, 3.0, 1.1),
    "far apart": (3.0, 1.0, 3.0, 20.0),
    "exponential": (1.0, 2.0, 1.0, 1.7),
    "small shape": (0.3, 1.0, 0.3, 1.4),
    "other shapes": (3.0, 1.0, 4.0, 1.2),
    "large shapes": (20_000.0, 1.0, 20_050.0, 1.001),
    "equal": (2.5, 0.7, 2.5, 0.7),
}


def pairs(which: int, given: Any, close: bool, seed: int = 1) -> Any:
    """Coupled variables, one pair a row."""
    out = np.empty((NUMBER, 2))
    bits = new_bits(np.random.SeedSequence(1000 * SEED + seed))
    fill_pairs(bits, which, np.array(given, float), close, out)
    return out


def misfit(x: Any, law: Any) -> float:
    """The largest error of a mean in its standard errors: of x and of its distribution function.

    Distribution functions of continuous variables are uniform, so that their means, and those of
    their squares, are known.
    """
    u = law.cdf(x)
    scores = [
        (np.mean(u) - 1 / 2) / np.sqrt(1 / 12 / len(x)),
        (np.mean(u**2) - 1 / 3) / np.sqrt((1 / 5 - 1 / 9) / len(x)),
        (np.mean(x) - law.mean()) / (law.std() / np.sqrt(len(x))),
    ]
    return float(np.max(np.abs(scores)))


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("name", GAMMAS)
def test_each_gamma_has_its_own_law(name: str, close: bool) -> None:
    a, r, b, s = GAMMAS[name]
    both = pairs(0, GAMMAS[name], close)
    laws = stats.gamma(a, scale=1 / r), stats.gamma(b, scale=1 / s)
    for x, law in zip(both.T, laws, strict=True):
        assert misfit(x, law) < z_limit(3 * 2 * 2 * len(GAMMAS))


@pytest.mark.compiled
def test_a_residual_drawn_from_the_law_itself_is_found() -> None:
    """Where the two differ, Y must come from what is left of its law, not from the law."""
    _, _, b, s = GAMMAS["other shapes"]
    x, y = pairs(0, GAMMAS["other shapes"], True).T
    law = stats.gamma(b, scale=1 / s)
    fresh = law.rvs(len(x), random_state=np.random.default_rng(SEED))
    assert misfit(y, law) < z_limit(3)
    assert misfit(np.where(x == y, y, fresh), law) > z_limit(3)


@pytest.mark.parametrize("close", [True, False])
def test_logarithms_are_those_of_gammas(close: bool) -> None:
    logs = pairs(1, (0.3, np.log(2.0), 0.4, np.log(2.5)), close)
    laws = stats.gamma(0.3, scale=1 / 2.0), stats.gamma(0.4, scale=1 / 2.5)
    for x, law in zip(np.exp(logs).T, laws, strict=True):
        assert misfit(x, law) < z_limit(3 * 4)


@pytest.mark.parametrize("name", GAMMAS)
def test_gammas_are_equal_as_often_as_can_be(name: str) -> None:
    """The chance to be equal is the integral of the smaller density."""
    a, r, b, s = GAMMAS[name]
    p, q = stats.gamma(a, scale=1 / r), stats.gamma(b, scale=1 / s)
    low, high = min(p.ppf(1e-13), q.ppf(1e-13)), max(p.isf(1e-13), q.isf(1e-13))
    edges = [p.mean(), q.mean()]
    overlap, _ = quad(lambda x: min(p.pdf(x), q.pdf(x)), low, high, points=edges, limit=500)
    both = pairs(0, GAMMAS[name], True)
    equal = float(np.mean(both[:, 0] == both[:, 1]))
    error = np.sqrt(max(overlap * (1 - overlap), 1e-6) / NUMBER)
    assert abs(equal - min(overlap, 1.0)) < z_limit(len(GAMMAS)) * error + 2e-6
    apart = pairs(0, GAMMAS[name], False)
    assert (apart[:, 0] == apart[:, 1]).all() == (name == "equal")


@pytest.mark.parametrize(
    "given", [(20.0, 0.2, 0.3), (7.0, -1.0, 2.0), (400.0, 0.5, 0.52), (1.0, 0.3, 0.4)]
)
def test_each_number_of_successes_has_its_own_law(given: tuple[float, float, float]) -> None:
    n, *logits = given
    both = pairs(2, given, True)
    for x, logit in zip(both.T, logits, strict=True):
        share = 1 / (1 + np.exp(-logit))
        seen = np.bincount(x.astype(int), minlength=int(n) + 1)
        expected = NUMBER * stats.binom(n, share).pmf(np.arange(n + 1))
        common = expected > 10
        seen, expected = (np.r_[v[common], v[~common].sum()] for v in (seen, expected))
        kept = expected > 0.5
        found = stats.chisquare(
            seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()
        )
        assert found.pvalue > FALSE_ALARM / 8


@pytest.mark.parametrize(
    "given", [(0.1, 3.0, 0.15, 3.2), (-1.0, 0.4, 1.0, 0.5), (0.0, 80.0, 0.01, 81.0)]
)
def test_each_inverse_gaussian_has_its_own_law(given: tuple[float, ...]) -> None:
    """`shape` is the shape over the mean: SciPy's mean is then 1 / shape, times mean * shape."""
    both = np.exp(pairs(3, given, True))
    for x, log_mean, shape in zip(both.T, given[::2], given[1::2], strict=True):
        law = stats.invgauss(1 / shape, scale=shape * np.exp(log_mean))
        assert misfit(x, law) < z_limit(3 * 6)
