"""Emissions and durations of small semi-Markov models, each with explicit priors and its truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from lib.semi_markov_oracles import (
    DurationMarginal,
    Floats,
    Known,
    NormalPrior,
    Parameters,
    duration_tables,
    histogram_marginal,
    log_categories_marginal,
    log_counts_marginal,
    log_densities,
    log_normal_marginal,
    poisson_marginal,
    real_marginal,
    whole_marginal,
)

from luce import SemiMarkov
from luce.sequences import (
    Autoregressive,
    Categories,
    Counts,
    Custom,
    DiagonalGaussian,
    Gaussian,
    Geometric,
    Histogram,
    NegativeBinomial,
    Poisson,
    SemiMarkovState,
)
from luce.sequences.series import Series

CATEGORIES = 3

ROWS = np.array([[0.0, 0.7, 0.3], [0.15, 0.0, 0.85], [0.6, 0.4, 0.0]])
INITIAL = np.array([0.5, 0.2, 0.3])


@dataclass(frozen=True)
class EmissionCase:
    """An emission with explicit priors, parameters of three states, and its log marginal.

    `marginal(values)` is the log density of rows as one state; of an autoregression the rows are
    (regressors, row) pairs.
    """

    kind: str
    law: Any
    channels: int
    parameters: Parameters
    takes_missing: bool = True

    def values(self, rng: np.random.Generator, length: int) -> Floats:
        """Rows of data of no particular law."""
        shape = (length, self.channels)
        if self.kind == "counts":
            return rng.poisson(2.0, shape).astype(float)
        if self.kind == "categories":
            codes = rng.integers(0, CATEGORIES, shape).astype(float)
            codes[:CATEGORIES, 0] = np.arange(CATEGORIES)[:length]
            return codes
        if self.kind == "custom":
            return rng.exponential(1.0, shape)
        return np.asarray(rng.normal(0.3, 1.3, shape))

    def read(self, model: SemiMarkov, values: Floats, borders: Any) -> Series:
        """The series as the model takes it; codes of categories become labels first."""
        parts = [values[a:b] for a, b in pairwise(borders)]
        if self.kind != "categories":
            return model.read(parts if len(parts) > 1 else parts[0], strict=False)
        full = np.r_[np.arange(CATEGORIES), np.zeros(len(values) - CATEGORIES)][:, None]
        whole = [full[a:b, 0].astype(int).tolist() for a, b in pairwise(borders)]
        series = model.read(whole if len(whole) > 1 else whole[0], strict=False)
        return series.with_values(values)

    def log_density(self, values: Floats, borders: Any) -> Floats:
        """Log density of every row under every state."""
        return log_densities(self.kind, values, tuple(borders), self.parameters)

    def marginal(self, values: Floats, borders: Any) -> Callable[[tuple[int, ...]], float]:
        """Log density of a set of rows as one state, the parameters being integrated out."""
        seen = ~np.isnan(values)
        if self.kind == "counts":
            shape = np.broadcast_to(self.law.shape, self.channels)
            rate = shape / np.broadcast_to(self.law.mean, self.channels)
            return lambda rows: sum(
                log_counts_marginal(shape[c], rate[c], values[[t for t in rows if seen[t, c]], c])
                for c in range(self.channels)
            )
        if self.kind == "categories":
            return lambda rows: log_categories_marginal(
                self.law.concentration, values[[t for t in rows if seen[t, 0]], 0]
            )
        if self.kind == "diagonal-gaussian":
            priors = _diagonal_priors(self.law, self.channels)

            def diagonal(rows: tuple[int, ...]) -> float:
                total = 0.0
                for c, prior in enumerate(priors):
                    held = values[[t for t in rows if seen[t, c]], c][:, None]
                    total += log_normal_marginal(prior, np.ones_like(held), held)
                return total

            return diagonal
        prior = _normal_prior(self.kind, self.law, self.channels)
        lags = self.law.lags
        center = np.broadcast_to(self.law.center, self.channels)

        def normal(rows: tuple[int, ...]) -> float:
            x, y = [], []
            for t in rows:
                if not seen[t].any() or t - max(b for b in borders if b <= t) < lags:
                    continue
                if lags:
                    y.append(values[t] - center)
                    x.append(np.r_[(values[t - lags : t][::-1] - center).ravel(), 1.0])
                else:
                    x.append(np.ones(1))
                    y.append(values[t])
            return log_normal_marginal(prior, np.array(x), np.array(y)) if y else 0.0

        return normal


def _diagonal_priors(law: Any, channels: int) -> list[NormalPrior]:
    center, variance = (np.broadcast_to(x, channels) for x in (law.center, law.variance))
    return [
        NormalPrior(
            np.array([[center[c]]]),
            np.array([law.weight]),
            np.array([[variance[c] * (law.degrees - 2.0)]]),
            law.degrees,
        )
        for c in range(channels)
    ]


def _normal_prior(kind: str, law: Any, channels: int) -> NormalPrior:
    scale = np.asarray(law.covariance) * (law.degrees - channels - 1.0)
    if kind == "gaussian":
        return NormalPrior(
            np.asarray(law.center)[:, None], np.array([law.weight]), scale, law.degrees
        )
    center = np.asarray(law.center)
    mean = np.array(law.coefficients)
    mean[:, -1] += mean[:, :-1] @ np.tile(center, law.lags) - center
    precision = np.r_[np.tile(np.asarray(law.spread) ** 2, law.lags), 1.0] * law.weight
    return NormalPrior(mean, precision, scale, law.degrees)


def _waits(series: Any, parameters: Any) -> Any:
    """Log density of exponential waiting times, missing ones left out."""
    if isinstance(series, list):
        return [_waits(each, parameters) for each in series]
    rate = np.asarray(parameters["rate"])
    own = np.log(rate) - np.nan_to_num(series) * rate
    return np.where(np.isnan(series), 0.0, own)


def _draw_waits(rng: np.random.Generator, series: Any, labels: Any, parameters: Any) -> Any:
    values = np.concatenate(series) if isinstance(series, list) else series
    states = np.concatenate(labels) if isinstance(labels, list) else labels
    n, seen = len(parameters["rate"]), ~np.isnan(values[:, 0])
    number = np.bincount(states[seen], minlength=n)
    waited = np.bincount(states[seen], values[seen, 0], n)
    return {"rate": rng.gamma(3.0 + number) / (2.0 + waited)}


def _simulate_waits(rng: np.random.Generator, labels: Any, parameters: Any) -> Any:
    if isinstance(labels, list):
        return [_simulate_waits(rng, each, parameters) for each in labels]
    return rng.exponential(1.0 / np.asarray(parameters["rate"])[labels])[:, None]


EMISSIONS: dict[str, EmissionCase] = {
    case.kind: case
    for case in (
        EmissionCase(
            "gaussian",
            Gaussian([0.2, -0.4], [[1.0, 0.3], [0.3, 0.8]], 0.6, 6.0),
            2,
            {
                "mean": np.array([[0.0, 0.5], [1.2, -0.7], [-0.8, 0.1]]),
                "covariance": np.array(
                    [[[1.0, 0.4], [0.4, 1.2]], [[0.6, -0.2], [-0.2, 0.9]], [[2.0, 0.1], [0.1, 0.4]]]
                ),
            },
        ),
        EmissionCase(
            "diagonal-gaussian",
            DiagonalGaussian([0.2, -0.4], [1.0, 0.7], 0.5, 5.0),
            2,
            {
                "mean": np.array([[0.0, 0.5], [1.2, -0.7], [-0.8, 0.1]]),
                "variance": np.array([[1.0, 0.4], [0.6, 1.2], [2.0, 0.3]]),
            },
        ),
        EmissionCase(
            "counts",
            Counts([2.0, 1.2], [1.5, 2.5]),
            2,
            {"rate": np.array([[1.0, 2.5], [3.0, 0.4], [0.3, 1.1]])},
        ),
        EmissionCase(
            "categories",
            Categories([0.6, 1.0, 1.7]),
            1,
            {"probabilities": np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])},
        ),
        EmissionCase(
            "autoregressive",
            Autoregressive(
                1,
                np.array([[0.4, 0.1, 0.2], [0.0, 0.3, -0.1]]),
                [[1.0, 0.2], [0.2, 0.7]],
                4.0,
                6.0,
                [0.3, -0.2],
                [1.0, 1.3],
            ),
            2,
            {
                "coefficients": np.array(
                    [
                        [[0.5, 0.1, 0.2], [0.0, 0.2, -0.3]],
                        [[-0.3, 0.2, 1.0], [0.1, -0.4, 0.5]],
                        [[0.1, -0.2, -0.6], [0.3, 0.6, 0.0]],
                    ]
                ),
                "covariance": np.array(
                    [[[1.0, 0.4], [0.4, 1.2]], [[0.6, -0.2], [-0.2, 0.9]], [[2.0, 0.1], [0.1, 0.4]]]
                ),
            },
            takes_missing=False,
        ),
        EmissionCase(
            "custom",
            Custom(
                _waits,
                _draw_waits,
                lambda rng, n: {"rate": rng.gamma(3.0, 0.5, n)},
                _simulate_waits,
            ),
            1,
            {"rate": np.array([0.5, 1.5, 4.0])},
        ),
    )
}


@dataclass(frozen=True)
class DurationCase:
    """A duration law, parameters of three states, and its marginal for lengths up to `most`."""

    law: Any
    parameters: Parameters
    marginal: Callable[[int], DurationMarginal]

    @property
    def has_limit(self) -> bool:
        """Are lengths limited by the law itself?"""
        return isinstance(self.law, Histogram)


_SHAPES = np.array([0.7, 1.5, 1.0, 0.5, 0.8])

DURATIONS: dict[str, DurationCase] = {
    "poisson": DurationCase(
        Poisson(3.0, 2.0),
        {"rate": np.array([1.5, 0.6, 3.2])},
        lambda most: poisson_marginal(3.0, 2.0, most),
    ),
    "whole": DurationCase(
        NegativeBinomial(3.0, 2.0, most=3),
        {"r": np.array([1.0, 3.0, 2.0]), "stop": np.array([0.4, 0.7, 0.3])},
        lambda most: whole_marginal(3.0, 2.0, [1, 2, 3], most),
    ),
    "real": DurationCase(
        NegativeBinomial(3.0, 2.0, r="real"),
        {"r": np.array([0.7, 3.3, 1.8]), "stop": np.array([0.4, 0.7, 0.3])},
        lambda most: real_marginal(3.0, 2.0, most),
    ),
    "geometric": DurationCase(
        Geometric(3.0, 2.5),
        {"r": np.ones(3), "stop": np.array([0.4, 0.7, 0.2])},
        lambda most: whole_marginal(3.0, 2.5, [1], most),
    ),
    "histogram": DurationCase(
        Histogram(_SHAPES),
        {
            "probabilities": np.array(
                [[0.1, 0.4, 0.2, 0.0, 0.3], [0.5, 0.1, 0.1, 0.2, 0.1], [0.0, 0.2, 0.3, 0.3, 0.2]]
            )
        },
        lambda most: histogram_marginal(_SHAPES),
    ),
}


def fixed_state(
    emission: EmissionCase, duration: DurationCase, rows: Floats = ROWS, initial: Floats = INITIAL
) -> SemiMarkovState:
    """A state with the parameters of the cases."""
    none = np.empty(0, np.int64)
    log_base = np.log(np.full(len(rows), 1.0 / len(rows)))
    return SemiMarkovState(
        none,
        none,
        dict(emission.parameters),
        dict(duration.parameters),
        initial,
        rows,
        log_base,
        1.0,
        1.0,
    )


def known_of(
    emission: EmissionCase,
    duration: DurationCase,
    values: Floats,
    borders: Any,
    longest: int,
    complete: bool,
    may_begin: Any = None,
    rows: Floats = ROWS,
    initial: Floats = INITIAL,
) -> list[Known]:
    """What enumeration needs of each sequence; `may_begin` by sequence."""
    density = emission.log_density(values, borders)
    out = []
    for k, (a, b) in enumerate(pairwise(borders)):
        log_p, log_survival = duration_tables(duration.parameters, int(max(b - a, longest)))
        begins = None if may_begin is None else frozenset(may_begin[k])
        out.append(
            Known(density[a:b], initial, rows, log_p, log_survival, longest, complete, begins)
        )
    return out
