"""The triangle: the density of three probabilities, and draws as dots."""

import numpy as np
import pytest
from lib.bounds import SEED
from lib.folded_density import folded_density
from lib.pictures import fixed, some_draws

from luce import plots
from luce.errors import DataError


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [4.0, 6.0, 3.0], [9.0, 2.0, 5.0]])
def test_the_triangle_shows_the_density(alpha: list[float]) -> None:
    from scipy.stats import dirichlet

    values = np.random.default_rng(SEED).dirichlet(alpha, size=(4, 5000))
    ax = plots.simplex(values)
    image = ax.images[0]
    density, (_, right, _, top) = np.asarray(image.get_array()), image.get_extent()
    rows, columns = density.shape
    y, x = np.mgrid[0:rows, 0:columns]
    third = (y + 0.5) / rows * top / np.sqrt(0.75)
    second = (x + 0.5) / columns * right - third / 2
    p = np.stack([1 - second - third, second, third])
    inside = p.min(axis=0) > 0.01
    flat = dirichlet(np.ones(3)).pdf(p[:, inside])
    truth = dirichlet(alpha).pdf(p[:, inside]) / flat
    error = np.abs(density[inside] - truth)
    assert error.mean() < 0.05 * truth.max()
    # Few draws lie in a corner, so a flat density is estimated worst there.
    away = (p[:, inside] < 0.9).all(axis=0)
    assert error[away].max() < 0.3 * truth.max()
    assert density[p.min(axis=0) > 0].mean() == pytest.approx(1, abs=0.02)
    # Swapped corners would be found out by the mean, and the dots are draws.
    dots = np.asarray(ax.lines[0].get_xydata())
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
    points = values.reshape(-1, 3) @ corners
    assert len(dots) == 800  # of the 20,000
    assert np.abs(points[:, None] - dots[:20]).sum(axis=2).min(axis=0).max() < 1e-12
    assert [t.get_text() for t in ax.texts] == ["0", "1", "2"]
    assert [t.xy for t in ax.texts] == [tuple(c) for c in corners]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("alpha", "most"), [([9.0, 2.0, 5.0], 0.28), ([1.5, 1.3, 2.0], 0.31)], ids=["high", "low"]
)
def test_the_density_is_right_at_the_sides(alpha: list[float], most: float) -> None:
    """Little mass is moved to the sides; folded kernels move about twice as much."""
    from scipy.stats import dirichlet

    rows, columns = 130, 150
    y, x = np.mgrid[0:rows, 0:columns]
    third = (y + 0.5) / columns / np.sqrt(0.75)
    second = (x + 0.5) / columns - third / 2
    at = np.stack([1 - second - third, second, third], axis=2)
    near = (at.min(axis=2) > 0) & (at.min(axis=2) < 0.03)
    truth = dirichlet(alpha).pdf(at[near].T).mean() / 2
    own, folded = [], []
    for seed in range(4):
        draws = np.random.default_rng([SEED, seed]).dirichlet(alpha, size=2000)
        image = plots.simplex(draws[None]).images[0]
        assert np.asarray(image.get_array()).shape == (rows, columns)
        own.append(float(np.asarray(image.get_array())[near].mean()))
        folded.append(float(folded_density(draws, at[near][::5]).mean()))
    assert abs(np.mean(own) / truth - 1) < most
    assert abs(np.mean(folded) / truth - 1) > most


def test_the_triangle_takes_draws_that_never_move() -> None:
    ax = plots.simplex(fixed([0.2, 0.3, 0.5], 10))
    density = np.asarray(ax.images[0].get_array())
    row, column = np.unravel_index(density.argmax(), density.shape)
    assert row / len(density) == pytest.approx(0.5, abs=0.03)
    assert column / density.shape[1] == pytest.approx(0.3 + 0.25, abs=0.03)
    ax.figure.draw_without_rendering()


def test_only_three_categories_make_a_triangle() -> None:
    with pytest.raises(DataError, match="a triangle shows 3 categories; the draws have 4"):
        plots.simplex(some_draws(4))
