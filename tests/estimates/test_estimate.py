"""An estimate prints its digits, converts to its value, and keeps its labels."""

import copy
import pickle

import numpy as np
import pytest
import xarray as xr

from luce.estimates.estimate import Estimate, with_error

SCALAR = Estimate(-31.6178, 0.0213, "bridge", {"effective_draws": 812.0})
VALUES = xr.DataArray([0.25, 0.75], {"category": ["a", "b"]}, "category")
LABELLED = Estimate(VALUES, VALUES / 10)


def test_a_scalar_converts_to_its_value() -> None:
    assert float(SCALAR) == -31.6178
    assert np.exp(SCALAR) == np.exp(-31.6178)
    assert np.asarray(SCALAR, np.float32).dtype == np.float32
    assert np.array(SCALAR, copy=True).shape == ()
    assert float(Estimate(VALUES.sel(category="b"), 0.1)) == 0.75
    assert pytest.approx(-31.6178) == SCALAR


def test_an_array_keeps_its_labels() -> None:
    assert LABELLED.value is VALUES
    np.testing.assert_array_equal(np.asarray(LABELLED), [0.25, 0.75])
    with pytest.raises(TypeError, match=r"holds 2 numbers, not one\. Choose one with .value.sel"):
        float(LABELLED)


def test_estimates_print_the_digits_that_their_errors_leave() -> None:
    assert repr(SCALAR) == "-31.618 ± 0.021 (bridge)"
    assert (f"{SCALAR}", f"{SCALAR:.1f}") == ("-31.618 ± 0.021 (bridge)", "-31.6")
    assert repr(LABELLED) == "a: 0.250 ± 0.025, b: 0.750 ± 0.075"
    many = Estimate(xr.DataArray(np.ones((2, 4)), {"row": ["x", "y"]}, ("row", "column")), 0.0, "m")
    assert repr(many) == "x 0: 1, x 1: 1, x 2: 1, x 3: 1, y 0: 1, y 1: 1, ... (m)"
    assert with_error(-np.inf, np.nan) == "-inf ± nan"
    assert with_error(1.5e30, 2e28) == "1.5e+30 ± 2e+28"
    assert with_error(1e-20, 1e-22) == "1e-20 ± 1e-22"


def test_estimates_are_frozen_and_survive_copies() -> None:
    with pytest.raises(AttributeError):
        SCALAR.value = 0.0  # type: ignore[misc]
    for again in (pickle.loads(pickle.dumps(SCALAR)), copy.deepcopy(SCALAR)):
        assert again == SCALAR
        assert again.details == {"effective_draws": 812.0}
    assert Estimate(1.0, 0.1) != Estimate(1.0, 0.2)
