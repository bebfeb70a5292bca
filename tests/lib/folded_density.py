"""An estimate of a density over the triangle whose kernels are folded back at the sides."""

import numpy as np
from lib.pictures import Floats

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def folded_density(draws: Floats, at: Floats) -> Floats:
    """Estimate the density relative to a flat one at points, by normal kernels of one width.

    The draws are mirrored in the three sides, so the estimate is level across each of them,
    whatever the density does there.

    Parameters
    ----------
    draws, at
        Shape (number, 3), each adding up to 1.
    """
    inner = draws @ CORNERS
    deviations = inner - inner.mean(axis=0)
    spread = np.linalg.det(deviations.T @ deviations / len(draws)) ** 0.25
    width = spread * len(draws) ** (-1 / 6)
    images = [draws]
    for k in range(3):
        mirrored = draws + draws[:, [k]]
        mirrored[:, k] = -draws[:, k]
        images.append(mirrored)
    points, places = np.concatenate(images) @ CORNERS, at @ CORNERS
    found = np.zeros(len(at))
    for part in np.array_split(points, 1 + len(points) * len(at) // 2_000_000):
        squares = ((places[:, None] - part) ** 2).sum(axis=2)
        found += np.exp(-squares / (2 * width**2)).sum(axis=1)
    return np.asarray(found / len(draws) / (2 * np.pi * width**2) * CORNERS[2, 1] / 2)
