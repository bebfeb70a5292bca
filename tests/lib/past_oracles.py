"""Coupling from the past in NumPy, many draws at once, with the mistakes that are made of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def couple(
    shape: Floats,
    table: Floats,
    waits: Floats,
    number: int,
    seed: int,
    mistake: str | None = None,
    low: float = 1e-30,
) -> Floats:
    """Draw p for Π p_i^(c_i - 1) Π_t (Σ_i a_ti p_i)^(-m_t), shape (number, n).

    Mistakes: new gammas for sweeps made before, chains that go on beyond the present until they
    meet, a start of one sweep that is never questioned.
    """
    rng, n = np.random.default_rng(seed), len(shape)
    stretches: list[tuple[Floats, Floats]] = []  # latest first
    out, left = np.empty((number, n)), np.arange(number)
    upper, lower = np.full((number, n), 1e300), np.full((number, n), low)
    length = 1
    while len(left):
        new = (
            rng.standard_gamma(waits, (length, number, len(waits))),
            rng.standard_gamma(shape, (length, number, n)),
        )
        if mistake == "forwards":
            stretches = [new]
        else:
            if mistake == "fresh gammas":
                stretches = [
                    (rng.standard_gamma(waits, e.shape), rng.standard_gamma(shape, g.shape))
                    for e, g in stretches
                ]
            stretches.append(new)
            upper, lower = np.full((number, n), 1e300), np.full((number, n), low)
        for times, gammas in reversed(stretches):
            for e, g in zip(times, gammas, strict=True):
                upper = g / (1.0 + (e / (upper @ table.T)) @ table)
                lower = g / (1.0 + (e / (lower @ table.T)) @ table)
        apart = ~(upper - lower <= 1e-12 * upper).all(axis=1)
        if mistake == "unchecked":
            apart[:] = False
        met = left[~apart[left]]
        out[met] = upper[met] / upper[met].sum(axis=1, keepdims=True)
        left = left[apart[left]]
        if len(stretches) > 1:
            length *= 2
    return out
