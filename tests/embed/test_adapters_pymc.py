"""The PyMC step method inside a model sampled by NUTS, against quadrature."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pm = pytest.importorskip("pymc")

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

from luce import Gamma  # noqa: E402
from luce.embed.pymc import WaitingTimes  # noqa: E402
from luce.errors import DataError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def run(
    counts: Any, weights: Any = None, method: Any = WaitingTimes, draws: int = 3000, **options: Any
) -> Any:
    weights = np.ones(3) if weights is None else weights
    with pm.Model():
        a = pm.Gamma("a", PRIOR.shape, PRIOR.rate)
        p = pm.Dirichlet("p", a * weights, **options)
        found = pm.sample(
            draws, tune=600, step=[method(p, STEP, counts)], chains=2, cores=1,
            random_seed=SEED + 1, progressbar=False, compute_convergence_checks=False,
        ).posterior  # fmt: skip
    return found["a"].to_numpy(), found["p"].to_numpy()


def test_pymc_against_quadrature() -> None:
    draws = watched(*run(COUNTS))
    assert_means(draws, posterior_means())
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means(Gamma(2.0, 2.5)))


def test_pymc_without_transform() -> None:
    """The value is then p itself."""
    options = {"default_transform": None} if "default_transform" in _parameters() else {}
    if not options:
        pytest.skip("this PyMC names the option otherwise")
    assert_means(watched(*run(COUNTS, draws=1500, **options)), posterior_means())


def _parameters() -> Any:
    import inspect

    return inspect.signature(pm.Distribution.__new__).parameters


class DeafStep(WaitingTimes):
    """Takes the concentration for 1, whatever the parent is."""

    def step(self, point: Any) -> Any:
        return super().step({**point, "a_log__": np.asarray(0.0)})


@pytest.mark.parametrize(
    ("counts", "method"), [(WITHOUT_A_TERM, WaitingTimes), (COUNTS, DeafStep)],
    ids=["a term forgotten", "a parent not followed"],
)  # fmt: skip
def test_negative_control_pymc(counts: Any, method: Any) -> None:
    draws = watched(*run(counts, method=method))
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(draws, posterior_means())


class RedrawingStep(WaitingTimes):
    """Counts given p, then p given counts: p and a must keep their prior."""

    kept = np.array([1.0, 1.0])

    def step(self, point: Any) -> Any:
        p = np.exp(self._log_probabilities(point["p_simplex__"]))
        table = np.zeros((2, 3))
        for t in range(2):
            inside = np.where(STEP.inside[t], p, 0.0)
            table[t] = self.rng.multinomial(SIZES[t], inside / inside.sum())
        evaluate = self._evaluate
        a = evaluate(point)[0]
        self._evaluate = lambda _: [a, table.sum(axis=0), table.sum(axis=1) * self.kept]
        try:
            return super().step(point)
        finally:
            self._evaluate = evaluate


class ForgetfulStep(RedrawingStep):
    """As above, without the first term."""

    kept = np.array([0.0, 1.0])


@pytest.mark.slow
def test_geweke_pymc() -> None:
    draws = watched(*run(COUNTS, WEIGHTS, RedrawingStep), squares=True)
    assert_means(draws, prior_means())
    broken = watched(*run(COUNTS, WEIGHTS, ForgetfulStep), squares=True)
    with pytest.raises(AssertionError, match=r"\|z\| ="):
        assert_means(broken, prior_means())


def test_pymc_rows_and_counts_of_other_variables() -> None:
    """A matrix of rows is drawn at once, and counts may be expressions of the model."""
    with pm.Model() as model:
        shift = pm.Bernoulli("shift", 0.5)
        p = pm.Dirichlet("p", np.ones(3), shape=(4, 3))
        n, m = (np.broadcast_to(c, (4, len(c))) for c in COUNTS)
        method = WaitingTimes(p, STEP, (n + 10 * shift, m), rng=1)
        start = model.initial_point()
        point, _ = method.step({**start, "shift": np.asarray(1)})
        assert point["p_simplex__"].shape == (4, 2)
        assert len(np.unique(point["p_simplex__"])) == 8
        assert not np.array_equal(start["p_simplex__"], point["p_simplex__"])
        backward = model.rvs_to_transforms[p].backward(point["p_simplex__"]).eval()
        mine = np.exp(method._log_probabilities(point["p_simplex__"]))
        np.testing.assert_allclose(mine, backward, rtol=1e-12)
        np.testing.assert_allclose(method._value(np.log(mine)), point["p_simplex__"], rtol=1e-9)


def test_what_cannot_be_drawn_is_put_into_words() -> None:
    with pm.Model():
        x = pm.Normal("x")
        p = pm.Dirichlet("p", np.ones(3))
        with pytest.raises(DataError, match="is not a Dirichlet variable"):
            WaitingTimes(x, STEP, COUNTS)
        with pytest.raises(DataError, match="one Dirichlet variable is needed; 2"):
            WaitingTimes([p, x], STEP, COUNTS)


def test_example() -> None:
    """The script of docs/embedding.md recovers its truth."""
    script = ROOT / "examples" / "pymc_step.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "within three standard deviations: True" in run.stdout
