"""New categories under a Dirichlet process, against sums and sticks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import luce
from luce import ConditionalCounts, Posterior
from luce.answers.new_categories import expected_number
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

FEW: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}
ANTS = ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})


def test_new_categories_are_sticks_of_the_remainder() -> None:
    run = Posterior(ANTS, luce.DirichletProcess(1.0)).sample(20, **FEW)
    rest = run["posterior"]["probabilities"].sel(category="remainder")
    atoms = luce.answers.draw_new_atoms(run, 5, seed=2)
    whole = atoms["probabilities"].sum("atom") + atoms["remainder"]
    np.testing.assert_allclose(whole, rest, rtol=1e-12)
    xr.testing.assert_identical(atoms, luce.answers.draw_new_atoms(run, 5, seed=2))
    np.testing.assert_allclose(luce.answers.expected_new(run, 1), rest, rtol=1e-8)
    assert (luce.answers.expected_new(run, 9) > luce.answers.expected_new(run, 3)).all()


@pytest.mark.parametrize(("q", "g", "m"), [(0.3, 1.0, 4), (0.9, 0.2, 7), (1.0, 3.0, 5)])
def test_new_categories_are_expected_as_the_sum_says(q: float, g: float, m: int) -> None:
    """Outcome j + 1 is new with q E[g / (g + B)], B binomial of those before."""
    from scipy.stats import binom

    truth = 0.0
    for j in range(m):
        b = np.arange(j + 1)
        truth += q * float(binom.pmf(b, j, q) @ (g / (g + b)))
    assert expected_number(np.array([q]), np.array([g]), float(m))[0] == pytest.approx(
        truth, rel=1e-8
    )
    assert len(expected_number(np.empty(0), np.empty(0), float(m))) == 0


def test_a_concentration_that_is_drawn_scales_new_categories() -> None:
    process = luce.DirichletProcess(luce.Gamma(2.0, 1.0))
    run = Posterior(ANTS, process).sample(10, warmup=5, **FEW)
    rest = run["posterior"]["probabilities"].sel(category="remainder")
    scale = run["posterior"]["concentration"]
    found, expected = luce.answers.expected_new(run, 2), np.empty(rest.shape)
    expected[:] = rest + rest * (1 - rest) + rest * rest * scale / (scale + 1)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    with pytest.raises(DataError, match="this run has no remainder"):
        luce.answers.expected_new(Posterior(ANTS).sample(10, **FEW), 2)
