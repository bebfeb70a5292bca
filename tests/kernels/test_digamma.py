"""The derivative of log Γ against SciPy's."""

import numpy as np
from scipy import special

from luce._types import FloatArray
from luce.kernels.digamma import digamma
from luce.kernels.jit import compiled


@compiled
def fill(x: FloatArray, out: FloatArray) -> None:
    for i in range(len(x)):
        out[i] = digamma(x[i])


def test_it_is_that_of_scipy_from_1_on() -> None:
    x = np.r_[np.linspace(1.0, 12.0, 111), np.geomspace(12.0, 1e40, 50)]
    out = np.empty(len(x))
    fill(x, out)
    np.testing.assert_allclose(out, special.digamma(x), rtol=1e-13, atol=1e-14)
    assert np.abs(out - special.digamma(x * 1.001)).min() > 1e-4  # the comparison is not blind
