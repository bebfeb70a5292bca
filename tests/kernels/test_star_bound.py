"""The bound of a star-shaped density, against random points."""

import numpy as np
import pytest

from luce.kernels.star_bound import star_bound


def log_star(d: np.ndarray, m: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(x) @ d - np.log1p(-x) @ m)


@pytest.mark.parametrize(
    ("d", "m"),
    [
        ([2.0, 1.0, 3.0], [0.5, 0.0, 0.3]),
        ([2.0, 1.0, 3.0], [3.96, 0.0, 0.5]),
        ([2.0, 2.0, 1.0, 1.0], [3.9, 3.9, 0.5, 0.5]),
    ],
)
def test_no_point_is_above_the_bound(d: list[float], m: list[float]) -> None:
    powers, left_out, x = np.array(d), np.array(m), np.empty(len(d))
    bound = star_bound(powers, left_out, np.arange(len(d)), 0.01, x)
    points = np.random.default_rng(3).dirichlet(np.full(len(d), 0.5), 2000).clip(1e-12, 1 - 1e-12)
    assert log_star(powers, left_out, points).max() <= bound
    assert bound - 0.011 <= log_star(powers, left_out, x) <= bound


def test_there_is_no_bound_beyond_the_corner_condition() -> None:
    d, m = np.array([1.0, 1.0, 1.0]), np.array([2.5, 0.0, 0.0])
    assert star_bound(d, m, np.arange(3), 0.01, np.empty(3)) == np.inf
