"""Colours: told apart by colour-blind readers, and shades in an order that everybody sees."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from lib.pictures import Floats
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

from luce.plots.canvas import BLUE, CHAINS, SHADES, SIDES, VERMILION

# What a reader without one kind of cones sees, in linear RGB (Machado, Oliveira, Fernandes 2009).
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
EVERY_VISION = pytest.mark.parametrize("vision", VISIONS.values(), ids=VISIONS)
SIZE = 0.17  # degrees: a dot of 6 points, seen from 60 cm


def lab(color: str, vision: Floats) -> Floats:
    """Convert a colour as it is seen to CIE L*a*b*, white being that of sRGB."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x = (to_xyz @ np.clip(vision @ linear, 0, 1)) / to_xyz.sum(axis=1)
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least_distance(colors: Sequence[str], vision: Floats) -> float:
    """Find the smallest difference of two colours; 1 is noticed by half of the readers.

    Stone, Szafir and Setlur (2014), "An engineering model for color difference as a function of
    size", give the difference of each axis of L*a*b* that half of the readers notice.
    """
    noticed = 0.5 * (np.array([10.16, 10.68, 10.70]) + np.array([1.50, 3.08, 5.74]) / SIZE)
    seen = [lab(color, vision) / noticed for color in colors]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


@EVERY_VISION
def test_all_colours_differ_for_colour_blind_readers(vision: Floats) -> None:
    assert least_distance(CHAINS, vision) > 1.4
    assert least_distance((BLUE, VERMILION), vision) > 3  # wins and losses


def test_red_and_green_do_not() -> None:
    red_green = ["#d62728", "#2ca02c"]
    assert least_distance(red_green, VISIONS["usual"]) > 3
    assert least_distance(red_green, VISIONS["deuteranopia"]) < 1
    okabe_ito = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"]
    assert least_distance(okabe_ito, VISIONS["deuteranopia"]) < 1.4


def lightness(colors: Sequence[str], vision: Floats) -> Floats:
    """Compute the lightness of 41 even steps along shades, as a reader sees them."""
    shades = LinearSegmentedColormap.from_list("test", list(colors))
    return np.array([lab(to_hex(shades(x)), vision)[0] for x in np.linspace(0, 1, 41)])


def is_even(light: Floats) -> bool:
    """Tell whether shades darken everywhere, by no more than thrice as much at one place."""
    steps = -np.diff(light)
    return bool((steps > 0).all() and steps.max() < 3 * np.median(steps))


@EVERY_VISION
def test_shades_darken_evenly(vision: Floats) -> None:
    assert is_even(lightness(SHADES, vision))
    both = lightness(SIDES, vision)
    assert is_even(both[20:])
    assert is_even(both[20::-1])
    for one, other in zip(SIDES, SIDES[::-1], strict=True):  # the sides differ by hue
        assert one == other or least_distance([one, other], vision) > 1


def test_a_rainbow_does_not() -> None:
    jet = [to_hex(colormaps["jet"](x)) for x in np.linspace(0, 1, 9)]
    assert not is_even(lightness(jet, VISIONS["usual"]))
    sides = [to_hex(colormaps["RdYlGn"](x)) for x in np.linspace(0, 1, 7)]
    pairs = [(sides[k], sides[-1 - k]) for k in range(3)]
    assert min(least_distance(pair, VISIONS["deuteranopia"]) for pair in pairs) < 1
