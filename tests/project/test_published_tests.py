"""Published tests of fit, each by one call of luce: G², X², degrees of freedom and p-values."""

import numpy as np
import pandas as pd
import pytest
from lib.bounds import SEED, z_limit
from lib.published_data import BY_NAME, DATA, published

import luce
from luce import Posterior
from luce.hypotheses import independence_test

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the published data are not here")

# G², X² and degrees of freedom, computed by R's glm from the raw tables (Poisson, rows + columns),
# and where one of the set's sources prints it, its deviance.
EXACT = [("icons/icons.csv", 0.164, 0.02), ("frogs/frogs.csv", 0.016, 0.004)]
FITS = {
    "frogs": (49.34358, 46.46719, 28),
    "purum": (76.25068, 66.53262, 8),
    "mobility_glass": (249.431722, 328.710924, 11),
    "strata_transitions": (35.63611, 35.76235, 5),
}
TABLES = {
    "frogs/frogs.csv": FITS["frogs"],
    "purum/purum.csv": FITS["purum"],
    "purum/khulen.csv": (24.8511, 20.87787, 7),
}


def table_of(path: str) -> pd.DataFrame:
    return pd.read_csv(DATA / path, index_col=0)


@pytest.mark.parametrize("name", FITS)
def test_fits_of_sets(name: str) -> None:
    fit = luce.goodness_of_fit(BY_NAME[name].counts)
    deviance, pearson, freedom = FITS[name]
    assert (fit.deviance, fit.pearson) == pytest.approx((deviance, pearson), abs=1e-4)
    assert fit.degrees_of_freedom == freedom


@pytest.mark.parametrize("path", TABLES)
def test_fits_of_tables(path: str) -> None:
    fit = luce.goodness_of_fit(luce.read(DATA / path, "table"), apart=True)
    deviance, pearson, freedom = TABLES[path]
    assert (fit.deviance, fit.pearson) == pytest.approx((deviance, pearson), abs=1e-4)
    assert fit.degrees_of_freedom == freedom


def test_fitted_counts_of_mobility_in_both_versions() -> None:
    glass = table_of("mobility_glass/glass.csv")
    other = table_of("mobility_glass/glass_vcdExtra_variant.csv")
    other = other.loc[other.columns]  # rows and columns in one order
    truth = BY_NAME["mobility_glass"].truth
    for frame, name in (
        (glass, "quasi_independence"),
        (other, "quasi_independence_variant_cell51_is_3"),
    ):
        off = ~np.eye(len(frame), dtype=bool)
        values = frame.to_numpy(float).copy()
        values[~off] = 0
        found = luce.goodness_of_fit(luce.from_table(values, possible=off))
        expected = truth[name]
        assert found.deviance == pytest.approx(expected["G2"], abs=1e-5)
        assert found.pearson == pytest.approx(expected["X2"], abs=1e-5)
        assert found.degrees_of_freedom == 11
    first = luce.goodness_of_fit(BY_NAME["mobility_glass"].counts).to_pandas()
    fitted = np.array(truth["quasi_independence"]["fitted"], float)
    assert sorted(first["expected"]) == pytest.approx(sorted(fitted[~np.isnan(fitted)]), abs=1e-4)


def test_deviances_of_citations_and_salad() -> None:
    """A deviance of sets beside -2 log L, which takes each ranking as certain (PlackettLuce)."""
    fit = luce.goodness_of_fit(BY_NAME["citations"].counts)
    expected = published("citations", "residual deviance")
    assert [fit.deviance, fit.degrees_of_freedom] == pytest.approx(expected, abs=1e-6)
    salad = luce.goodness_of_fit(BY_NAME["salad"].counts)
    assert -2 * salad.log_likelihood == pytest.approx(published("salad", "-2 loglik"), abs=0.01)
    assert salad.deviance != pytest.approx(-2 * salad.log_likelihood, rel=0.5)


def test_the_fit_of_icons() -> None:
    truth = BY_NAME["icons"].truth
    fit = luce.goodness_of_fit(BY_NAME["icons"].counts)
    assert fit.deviance == pytest.approx(truth["G2_vs_saturated_rows"], abs=1e-4)
    assert fit.degrees_of_freedom == truth["G2_df"]


def test_the_exact_test_of_chess() -> None:
    expected = published("chess", "Aylmer exact conditional")
    found = independence_test(pd.read_csv(DATA / "chess/chess.csv"), progress=False)
    assert (round(found.p_value, 6), found.n_tables) == (expected, 19)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "printed", "error"), EXACT)
def test_exact_tests_by_random_tables(path: str, printed: float, error: float) -> None:
    """West and Hankin (2008) print 0.164 ± 0.02 and 0.016 ± 0.004, standard errors of theirs."""
    frame = table_of(path) if "frogs" in path else pd.read_csv(DATA / path)
    found = independence_test(frame, seed=[SEED, 3], progress=False)
    assert found.n_tables is None
    both = np.hypot(error, float(found.exact.standard_error))
    assert abs(found.p_value - printed) < z_limit(2) * both


def test_khulen_and_purum_given_totals() -> None:
    """Khulen has 4,776 tables; no random table of Purum is as improbable as the observed one."""
    khulen = independence_test(table_of("purum/khulen.csv"), progress=False)
    assert khulen.n_tables == 4776
    assert round(khulen.p_value, 6) == 0.001212
    purum = independence_test(table_of("purum/purum.csv"), tables=1600, steps=300, progress=False)
    assert purum.p_value < 0.005


def test_the_bayesian_p_value_of_chess() -> None:
    """P(L(p) < L(1/3, 1/3, 1/3)); 0.3796 by quadrature, where Hankin (2010) printed 0.395."""
    counts = BY_NAME["chess"].counts
    run = Posterior(counts).sample(5000, seed=SEED, progress=False)
    likelihoods = counts.log_likelihood(run["posterior"]["probabilities"].to_numpy())
    below = likelihoods < counts.log_likelihood([1 / 3] * 3)
    error = np.sqrt(0.3796 * 0.6204 / below.size) + 0.00005  # rounded to four digits
    assert abs(below.mean() - 0.3796) < z_limit() * 2 * error
    assert abs(below.mean() - 0.3952) > z_limit() * error
