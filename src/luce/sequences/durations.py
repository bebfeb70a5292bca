"""Laws of how long a state lasts: Poisson, negative binomial, geometric, histogram.

A duration D is a number of rows, at least 1.  Each law holds the prior of its parameters, and every
state has parameters of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, WordArray
from luce.counts.labels import read_number
from luce.errors import DataError
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from luce.kernels.semi_markov.durations import Ratios
    from luce.kernels.semi_markov.messages import Durations
    from luce.kernels.semi_markov.segments import Segments

Parameters = dict[str, FloatArray]

# Longest segment that is looked for, as a multiple of the prior's mean duration, and at least.
_LONGEST, _LEAST_LONGEST = 4.0, 50

# Range of 1 - q: both it and q stay positive.
_LEAST_STOP, _MOST_STOP = 1e-300, 1.0 - 2.0**-53

# Prior of a real r: gamma of this shape and mean.
_REAL_SHAPE, _REAL_MEAN = 2.0, 4.0


class Duration(ABC):
    """A law of durations, with the prior of its parameters."""

    name: ClassVar[str]

    # Can the parameters be integrated out, as moves that split and merge states need?
    conjugate: bool = True

    @property
    @abstractmethod
    def prior_mean(self) -> float:
        """Mean duration before any data; inf where it has none."""

    @property
    def counts_phases(self) -> bool:
        """Are messages formed in linear time, without a longest segment?"""
        return False

    def default_longest(self) -> int:
        """Return the longest segment to look for where none is given."""
        return max(_LEAST_LONGEST, ceil(_LONGEST * self.prior_mean))

    def check_longest(self, longest: int) -> None:
        """Refuse a longest segment that does not fit the law."""
        return

    @abstractmethod
    def dims(self, longest: int) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return names and sizes of the dimensions of each parameter, after that of the states."""

    @abstractmethod
    def kernel_prior(self, longest: int) -> Any:
        """Return the prior as the kernels take it."""

    @abstractmethod
    def draw(self, bits: WordArray, sums: FloatArray, longest: int) -> Parameters:
        """Draw the parameters of each state given the statistics of its durations."""

    @abstractmethod
    def statistics(
        self, lengths: IntArray, groups: IntArray, n_groups: int, longest: int
    ) -> FloatArray:
        """Sum up durations by group, shape (groups, statistics); group -1 is left out."""

    def resample(
        self,
        bits: WordArray,
        lengths: IntArray,
        states: IntArray,
        parameters: Parameters,
        longest: int,
    ) -> Parameters:
        """Draw the parameters of each state given the durations of its segments."""
        n_states = len(next(iter(parameters.values())))
        return self.draw(bits, self.statistics(lengths, states, n_states, longest), longest)

    def draw_prior(self, bits: WordArray, n_states: int, longest: int) -> Parameters:
        """Draw the parameters of each state from the prior."""
        nothing = np.empty(0, np.int64)
        return self.draw(bits, self.statistics(nothing, nothing, n_states, longest), longest)

    @abstractmethod
    def fill(self, parameters: Parameters, censored: bool, out: Durations) -> None:
        """Fill the table of probabilities of lengths up to the longest."""

    @abstractmethod
    def extend_last(
        self,
        bits: WordArray,
        parameters: Parameters,
        segments: Segments,
        count: int,
        borders: IntArray,
    ) -> IntArray:
        """Return the durations of all segments, that of each last one drawn given its rows."""

    @abstractmethod
    def simulate(self, rng: np.random.Generator, parameters: Parameters, state: int) -> int:
        """Draw one duration."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the prior as values for JSON."""

    def __str__(self) -> str:
        """Say the prior in words."""
        return repr(self)


class _ByRatios(Duration):
    """A law of D - 1 that is given by ratios of successive probabilities."""

    @abstractmethod
    def ratios(self, parameters: Parameters) -> Ratios:
        """Return the laws of all states as ratios."""

    @abstractmethod
    def mixture(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """Return shapes and odds: D - 1 is Poisson with mean odds × G, G ~ Gamma(shape)."""

    def fill(self, parameters: Parameters, censored: bool, out: Durations) -> None:
        """Fill the table of probabilities of lengths up to the longest."""
        from luce.kernels.semi_markov.durations import fill_table

        fill_table(self.ratios(parameters), censored, out)

    def extend_last(
        self,
        bits: WordArray,
        parameters: Parameters,
        segments: Segments,
        count: int,
        borders: IntArray,
    ) -> IntArray:
        """Return the durations of all segments, that of each last one drawn given its rows."""
        from luce.kernels.semi_markov.durations import extend_last

        lengths = np.empty(count, np.int64)
        shape, odds = self.mixture(parameters)
        extend_last(bits, self.ratios(parameters), shape, odds, segments, count, borders, lengths)
        return lengths


@dataclass(frozen=True)
class Poisson(_ByRatios):
    """Durations with D - 1 ~ Poisson(rate), rate ~ Gamma(shape, shape / (mean - 1)).

    Segments of a state are about equally long: their standard deviation is the root of their mean.

    Parameters
    ----------
    mean
        Mean duration E[D] before any data, in rows; above 1.
    shape
        How sure that mean is: the standard deviation of a state's rate is its mean over √shape.
        Below 2, states that last a row or two are as probable as any, and flicker within others.

    Attributes
    ----------
    rate
        Parameter of a state: mean of D - 1.

    Examples
    --------
    >>> Poisson(mean=30)
    Poisson(mean=30.0, shape=3.0)
    """

    name: ClassVar[str] = "poisson"

    mean: float = 30.0
    shape: float = 3.0

    def __post_init__(self) -> None:
        _check_mean_and_shape(self, 0.0)

    @property
    def prior_mean(self) -> float:
        """Mean duration before any data."""
        return self.mean

    def dims(self, longest: int) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return names and sizes of the dimensions of each parameter."""
        return {"rate": ((), ())}

    def kernel_prior(self, longest: int) -> Any:
        """Return the prior as the kernels take it."""
        from luce.kernels.semi_markov.durations import PoissonPrior

        return PoissonPrior(self.shape, self.shape / (self.mean - 1.0))

    def statistics(
        self, lengths: IntArray, groups: IntArray, n_groups: int, longest: int
    ) -> FloatArray:
        """Sum up durations by group."""
        from luce.kernels.semi_markov.durations import poisson_statistics

        sums = np.zeros((n_groups, 3))
        poisson_statistics(self.kernel_prior(longest), lengths, groups, sums)
        return sums

    def draw(self, bits: WordArray, sums: FloatArray, longest: int) -> Parameters:
        """Draw the rate of each state given the statistics of its durations."""
        from luce.kernels.semi_markov.durations import draw_rates

        rates = np.empty(len(sums))
        draw_rates(bits, self.kernel_prior(longest), sums, rates)
        return {"rate": rates}

    def ratios(self, parameters: Parameters) -> Ratios:
        """Return the laws of all states as ratios."""
        from luce.kernels.semi_markov.durations import Ratios

        rate = parameters["rate"]
        return Ratios(-rate, np.zeros_like(rate), rate)

    def mixture(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """Return shapes and odds."""
        return np.zeros(len(parameters["rate"])), parameters["rate"]

    def simulate(self, rng: np.random.Generator, parameters: Parameters, state: int) -> int:
        """Draw one duration."""
        return 1 + int(rng.poisson(parameters["rate"][state]))

    def to_json(self) -> dict[str, Any]:
        """Return the prior as values for JSON."""
        return {"name": self.name, "mean": self.mean, "shape": self.shape}


@dataclass(frozen=True)
class NegativeBinomial(_ByRatios):
    """Durations with D - 1 ~ NB(r, stop): rows that go on before the r-th of r stops.

    Their spread is of their own: geometric for r = 1, close to Poisson for large r.  With whole r
    messages take linear time, and segments have no longest length, unless `longest` is given.

    Parameters
    ----------
    mean
        Mean duration E[D] before any data, in rows; above 1.
    shape
        How sure that mean is, above 1: (1 - stop) / stop ~ BetaPrime(a, shape + 1), with a such
        that the mean duration is `mean`.
    r
        "whole": 1 to `most`, equally probable before any data; "real": a gamma of shape 2 and
        mean 4; or a whole number, the same for all states.
    most
        Largest whole r.

    Attributes
    ----------
    r, stop
        Parameters of a state: D - 1 has the law ``scipy.stats.nbinom(r, stop)``.

    Examples
    --------
    >>> NegativeBinomial(mean=30, r=4).counts_phases
    True
    """

    name: ClassVar[str] = "negative-binomial"

    mean: float = 30.0
    shape: float = 2.0
    r: str | int = "whole"
    most: int = 10

    def __post_init__(self) -> None:
        _check_mean_and_shape(self, 1.0)
        check_whole("most", self.most, 1)
        if not isinstance(self.r, str):
            check_whole("r", self.r, 1)
            object.__setattr__(self, "r", int(self.r))
        elif self.r not in ("whole", "real"):
            raise DataError(f"r = {self.r!r}; 'whole', 'real' or a whole number is needed.")
        object.__setattr__(self, "conjugate", self.r != "real")

    @property
    def prior_mean(self) -> float:
        """Mean duration before any data."""
        return self.mean

    @property
    def counts_phases(self) -> bool:
        """Are messages formed in linear time?"""
        return self.r != "real"

    def dims(self, longest: int) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return names and sizes of the dimensions of each parameter."""
        return {"r": ((), ()), "stop": ((), ())}

    def kernel_prior(self, longest: int) -> Any:
        """Return the prior of whole r as the kernels take it."""
        from luce.kernels.semi_markov.durations import NegativeBinomialPrior

        stops = np.arange(1, self.most + 1) if self.r == "whole" else np.array([self.r])
        weights = np.full(len(stops), -np.log(len(stops)))
        a = (self.mean - 1.0) * self.shape / stops
        return NegativeBinomialPrior(stops, weights, a, self.shape + 1.0)

    def statistics(
        self, lengths: IntArray, groups: IntArray, n_groups: int, longest: int
    ) -> FloatArray:
        """Sum up durations by group."""
        from luce.kernels.semi_markov.durations import negative_binomial_statistics

        prior = self.kernel_prior(longest)
        sums = np.zeros((n_groups, 2 + len(prior.stops)))
        negative_binomial_statistics(prior, lengths, groups, sums)
        return sums

    def draw(self, bits: WordArray, sums: FloatArray, longest: int) -> Parameters:
        """Draw r and stop of each state given the statistics of its durations; whole r only."""
        from luce.kernels.semi_markov.durations import draw_negative_binomials

        stops, logs = np.empty(len(sums)), np.empty((2, len(sums)))
        draw_negative_binomials(bits, self.kernel_prior(longest), sums, stops, logs)
        return {"r": stops, "stop": _stop(logs)}

    def resample(
        self,
        bits: WordArray,
        lengths: IntArray,
        states: IntArray,
        parameters: Parameters,
        longest: int,
    ) -> Parameters:
        """Draw the parameters of each state given the durations of its segments."""
        if self.r != "real":
            return super().resample(bits, lengths, states, parameters, longest)
        from luce.kernels.semi_markov.durations import draw_real_negative_binomials

        stops, logs = parameters["r"].copy(), _logs(parameters["stop"])
        draw_real_negative_binomials(bits, self._real_prior(), lengths, states, stops, logs)
        return {"r": stops, "stop": _stop(logs)}

    def draw_prior(self, bits: WordArray, n_states: int, longest: int) -> Parameters:
        """Draw the parameters of each state from the prior."""
        if self.r != "real":
            return super().draw_prior(bits, n_states, longest)
        # Without durations, r given q is a draw from its prior, and so is q given r.
        start = {"r": np.ones(n_states), "stop": np.full(n_states, 0.5)}
        nothing = np.empty(0, np.int64)
        return self.resample(bits, nothing, nothing, start, longest)

    def _real_prior(self) -> FloatArray:
        a = (self.mean - 1.0) * self.shape / _REAL_MEAN
        return np.array([_REAL_SHAPE, _REAL_SHAPE / _REAL_MEAN, a, self.shape + 1.0])

    def ratios(self, parameters: Parameters) -> Ratios:
        """Return the laws of all states as ratios."""
        from luce.kernels.semi_markov.durations import Ratios

        r, stop = parameters["r"], parameters["stop"]
        return Ratios(r * np.log(stop), 1.0 - stop, (1.0 - stop) * r)

    def mixture(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """Return shapes and odds."""
        stop = parameters["stop"]
        return parameters["r"], (1.0 - stop) / stop

    def phases(self, parameters: Parameters) -> tuple[IntArray, FloatArray]:
        """Return r, and logarithms of 1 - stop and stop, as the kernel of phases takes them."""
        return np.rint(parameters["r"]).astype(np.int64), _logs(parameters["stop"])

    def simulate(self, rng: np.random.Generator, parameters: Parameters, state: int) -> int:
        """Draw one duration."""
        return 1 + int(rng.negative_binomial(parameters["r"][state], parameters["stop"][state]))

    def to_json(self) -> dict[str, Any]:
        """Return the prior as values for JSON."""
        return {
            "name": self.name,
            "mean": self.mean,
            "shape": self.shape,
            "r": self.r,
            "most": self.most,
        }


@dataclass(frozen=True)
class Geometric(NegativeBinomial):
    """Durations without memory: the hidden Markov model, its self-loops taken out.

    Parameters
    ----------
    mean
        Mean duration E[D] before any data, in rows; above 1.
    shape
        How sure that mean is; see `NegativeBinomial`.

    Attributes
    ----------
    r, stop
        Parameters of a state: r is 1, and ``stop`` the probability to end with any row.

    Examples
    --------
    >>> Geometric(mean=10).r
    1
    """

    name: ClassVar[str] = "geometric"

    r: str | int = field(default=1, init=False)
    most: int = field(default=1, init=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the prior as values for JSON."""
        return {"name": self.name, "mean": self.mean, "shape": self.shape}


@dataclass(frozen=True, eq=False)
class Histogram(Duration):
    """Durations of any law on 1 to `longest`: P(D = d) ~ Dirichlet(concentration).

    Parameters
    ----------
    concentration
        Parameter of the Dirichlet distribution: one number for each length, or one for all.  A
        length of parameter 0 cannot occur.

    Attributes
    ----------
    probabilities
        Parameter of a state: P(D = d) for each d.

    Examples
    --------
    >>> Histogram([0.0, 1.0, 1.0, 2.0]).prior_mean
    3.25
    """

    name: ClassVar[str] = "histogram"

    concentration: ArrayLike = 0.5

    def __post_init__(self) -> None:
        try:
            given = np.array(self.concentration, np.float64)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        if (
            given.ndim > 1
            or not np.isfinite(given).all()
            or (given < 0).any()
            or not (given > 0).any()
        ):
            raise DataError(
                f"concentration = {self.concentration!r}; a positive number, or one for each "
                "length (not negative, not all 0) is needed."
            )
        given.setflags(write=False)
        object.__setattr__(self, "concentration", given)

    def check_longest(self, longest: int) -> None:
        """Refuse a longest segment that is not the number of lengths of the histogram."""
        self._shapes(longest)

    def _shapes(self, longest: int) -> FloatArray:
        given = np.asarray(self.concentration)
        if given.ndim == 0:
            return np.full(longest, float(given))
        if len(given) != longest:
            raise DataError(
                f"the histogram has {len(given)} lengths, and longest = {longest}; they must be "
                "equal. Leave longest out."
            )
        return given

    @property
    def prior_mean(self) -> float:
        """Mean duration before any data."""
        given = np.atleast_1d(np.asarray(self.concentration))
        if np.ndim(self.concentration) == 0:
            return (1 + self.default_longest()) / 2
        return float(given @ np.arange(1, len(given) + 1) / given.sum())

    def default_longest(self) -> int:
        """Return the number of lengths that parameters were given for, or 100."""
        given = np.asarray(self.concentration)
        return len(given) if given.ndim else 100

    def dims(self, longest: int) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return names and sizes of the dimensions of each parameter."""
        return {"probabilities": (("duration",), (longest,))}

    def kernel_prior(self, longest: int) -> Any:
        """Return the prior as the kernels take it."""
        from luce.kernels.semi_markov.durations import HistogramPrior

        return HistogramPrior(self._shapes(longest))

    def statistics(
        self, lengths: IntArray, groups: IntArray, n_groups: int, longest: int
    ) -> FloatArray:
        """Count durations by group."""
        from luce.kernels.semi_markov.durations import histogram_statistics

        sums = np.zeros((n_groups, longest))
        histogram_statistics(self.kernel_prior(longest), lengths, groups, sums)
        return sums

    def draw(self, bits: WordArray, sums: FloatArray, longest: int) -> Parameters:
        """Draw the probabilities of each state given the counts of its durations."""
        from luce.kernels.semi_markov.durations import draw_histograms

        probabilities = np.empty(sums.shape)
        draw_histograms(bits, self.kernel_prior(longest), sums, probabilities)
        return {"probabilities": probabilities}

    def fill(self, parameters: Parameters, censored: bool, out: Durations) -> None:
        """Fill the table of probabilities of lengths up to the longest."""
        from luce.kernels.semi_markov.durations import fill_histogram

        fill_histogram(parameters["probabilities"], censored, out)

    def extend_last(
        self,
        bits: WordArray,
        parameters: Parameters,
        segments: Segments,
        count: int,
        borders: IntArray,
    ) -> IntArray:
        """Return the durations of all segments, that of each last one drawn given its rows."""
        from luce.kernels.semi_markov.durations import extend_last_by_table

        lengths = np.empty(count, np.int64)
        table = parameters["probabilities"]
        extend_last_by_table(bits, table, segments, count, borders, lengths)
        return lengths

    def simulate(self, rng: np.random.Generator, parameters: Parameters, state: int) -> int:
        """Draw one duration."""
        law = parameters["probabilities"][state]
        return 1 + int(rng.choice(len(law), p=law / law.sum()))

    def to_json(self) -> dict[str, Any]:
        """Return the prior as values for JSON."""
        return {"name": self.name, "concentration": np.asarray(self.concentration).tolist()}

    def __repr__(self) -> str:
        given = np.asarray(self.concentration)
        words = f"{float(given):g}" if given.ndim == 0 else f"{len(given)} lengths"
        return f"Histogram({words})"


DURATIONS: dict[str, type[Duration]] = {
    law.name: law for law in (Poisson, NegativeBinomial, Geometric, Histogram)
}


def duration_from_json(given: Mapping[str, Any]) -> Duration:
    """Make a law again from the values that its `to_json` returned."""
    values = dict(given)
    law = DURATIONS[values.pop("name")]
    return law(**values)


def _check_mean_and_shape(law: Any, least: float) -> None:
    """Refuse a mean of at most 1 row, and a shape that is too small."""
    for name, bound in (("mean", 1.0), ("shape", least)):
        value = read_number(getattr(law, name), name)
        if not bound < value < np.inf:
            why = " A segment has one row at least." if name == "mean" else ""
            raise DataError(f"{name} = {value:g}; a finite number above {bound:g} is needed.{why}")
        object.__setattr__(law, name, value)


def _logs(stop: FloatArray) -> FloatArray:
    return np.stack([np.log1p(-stop), np.log(stop)])


def _stop(logs: FloatArray) -> FloatArray:
    return np.asarray(np.clip(np.exp(logs[1]), _LEAST_STOP, _MOST_STOP))
