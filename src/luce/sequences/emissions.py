"""Emissions: laws of the observations of a time series within a state, and their priors.

Parameters of L states are a mapping from names to arrays whose first axis is the state, on the
data's own scale.  A prior that is not given is taken from the data's scale by `Emission.resolved`;
`Emission.prior_words` says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label, WordArray
from luce.counts.labels import plural
from luce.errors import DataError, MethodError
from luce.sampling.settings import check_whole
from luce.sequences.emission_priors import (
    check_seen,
    covariance_matrix,
    enough_degrees,
    for_channels,
    listed,
    numbers,
    scale_of,
    shown,
)
from luce.sequences.series import Series

# Expected variance within a state as a fraction of the data's variance.  The same number is the
# weight of the prior's center, so that the means of states spread like the data.
_WITHIN = 0.1

# Expected variance of an autoregression's noise as a fraction of the mean square of the series'
# first differences.
_OF_DIFFERENCES = 0.5

Parameters: TypeAlias = Mapping[str, FloatArray]


class Emission(ABC):
    """The law of the observations within a state, and the prior of its parameters.

    Attributes
    ----------
    name
        Name in a saved model.
    kind
        Kind of series that it takes: "numbers", "counts" or "categories".
    lags
        Number of rows before that a row depends on.
    conjugate
        Whether parameters can be integrated out, as moves that split and merge states need.
    from_data
        Names of the priors that were taken from the data's scale.
    """

    name: ClassVar[str]
    kind: ClassVar[str] = "numbers"
    conjugate: ClassVar[bool] = True
    lags: int = 0
    from_data: tuple[str, ...] = ()

    @abstractmethod
    def resolved(self, series: Series) -> Self:
        """Return the emission with every prior explicit, those not given from the data's scale."""

    @property
    @abstractmethod
    def is_resolved(self) -> bool:
        """Is every prior explicit?"""

    @abstractmethod
    def prior_words(self) -> str:
        """Describe the prior in words, and say which of its numbers were taken from the data."""

    @abstractmethod
    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""

    @abstractmethod
    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names."""

    @abstractmethod
    def draw_prior(self, bits: WordArray, n_states: int, n_channels: int) -> dict[str, FloatArray]:
        """Draw the parameters of states without data; `bits` is advanced."""

    @abstractmethod
    def log_likelihood(self, series: Series, parameters: Parameters, out: FloatArray) -> None:
        """Fill `out`, shape (rows, states), with the log density of every row under every state.

        Rows that are missing as a whole, and the first `lags` rows of each sequence, have 0.  A row
        that is missing in part has the density of the entries that are there.
        """

    @abstractmethod
    def resample(
        self, bits: WordArray, series: Series, labels: IntArray, parameters: Parameters
    ) -> dict[str, FloatArray]:
        """Draw parameters given the state of each row; states without rows draw from the prior.

        The series must be one that `imputed` returned; only `Gaussian` changes it.
        """

    def imputed(
        self, bits: WordArray, series: Series, labels: IntArray, parameters: Parameters
    ) -> Series:
        """Draw the missing entries that `statistics` and `resample` need; others stay missing."""
        return series

    @abstractmethod
    def simulate(
        self, bits: WordArray, labels: IntArray, borders: IntArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations, shape (rows, channels), given the state of each row."""

    def simulate_after(
        self, bits: WordArray, labels: IntArray, before: FloatArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations given the state of each row, after the rows `before` of the sequence.

        Only an autoregressive emission depends on these.
        """
        return self.simulate(bits, labels, np.array([0, len(labels)]), parameters)

    @property
    @abstractmethod
    def kernel_prior(self) -> Any:
        """Prior as compiled code takes it: a named tuple of `luce.kernels.semi_markov`."""

    @abstractmethod
    def draw(self, bits: WordArray, rows: FloatArray) -> dict[str, FloatArray]:
        """Draw parameters of states given the statistics of their rows."""

    @abstractmethod
    def statistics(self, series: Series, groups: IntArray, n_groups: int) -> FloatArray:
        """Add up sufficient statistics of the rows of each group, one row of numbers a group.

        The row of a union is the sum of the rows; the first entry counts observations.  Group -1
        leaves a row of the series out.  The series must be one that `imputed` returned.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the emission and every prior, exactly, as JSON can hold them."""

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Emission:
        """Rebuild an emission from the result of `to_json`."""
        left = dict(given)
        name = left.pop("emission", None)
        if name not in _KINDS:
            raise DataError(
                f"emission {name!r} is not known; {', '.join(_KINDS)} are. Was it written by a "
                "later version of luce?"
            )
        emission = _KINDS[name]
        from_data = tuple(left.pop("from_data"))
        return emission(**left)._marked(from_data)


class _Conjugate(Emission):
    """An emission with sufficient statistics and a conjugate prior.

    A subclass is a dataclass of the prior's numbers.  `_axes` names them with the number of axes of
    their explicit form, `_from_scale` those with a default from the data's scale.
    """

    _axes: ClassVar[dict[str, int]]
    _from_scale: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def _kernel(self) -> Any:
        """Module of the compiled functions."""

    @abstractmethod
    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        """Compute defaults of the priors in `_from_scale` from data, and check the series."""

    @abstractmethod
    def _explicit(self, n_channels: int, **found: Any) -> Self:
        """Return the emission with priors of explicit shapes, given those in `_from_scale`."""

    @abstractmethod
    def _make_prior(self) -> Any:
        """Build the prior for compiled code from explicit numbers."""

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Tell the shape of each parameter of one state."""

    @abstractmethod
    def _statistics_length(self) -> int:
        """Tell the length of a row of statistics."""

    def _arguments(self, series: Series) -> tuple[Any, ...]:
        """Return the arguments of kernels that come from the series."""
        return (series.values,)

    @property
    def is_resolved(self) -> bool:
        """Is every prior explicit?"""
        held = {name: getattr(self, name) for name in self._axes}
        return all(
            value is not None and np.ndim(value) == self._axes[name] for name, value in held.items()
        )

    def resolved(self, series: Series) -> Self:
        """Return the emission with every prior explicit, those not given from the data's scale."""
        return self._completed(series.values.shape[1], self._scale_found(series))

    def _completed(self, n_channels: int, found: Mapping[str, FloatArray]) -> Self:
        """Make every prior explicit, and note those taken from the data."""
        given = {name: getattr(self, name) for name in self._from_scale}
        absent = tuple(name for name, value in given.items() if value is None)
        if not found.keys() >= set(absent):
            wanted = " and ".join(f"{name}=..." for name in absent)
            raise DataError(
                f"{type(self).__name__} takes {' and '.join(absent)} from data, and there is none "
                f"here: give {wanted}."
            )
        given |= {name: found[name] for name in absent}
        return self._explicit(n_channels, **given)._marked((*self.from_data, *absent))

    def _marked(self, from_data: tuple[str, ...]) -> Self:
        """Note which priors were taken from the data."""
        _keep(self, from_data=from_data)
        return self

    def _from(self, name: str) -> str:
        """Say of a prior that it was taken from the data, where it was."""
        return " (from the data)" if name in self.from_data else ""

    def prior_words(self) -> str:
        """Describe the prior in words, and say which of its numbers were taken from the data."""
        self._check_resolved()
        return self._words()

    @abstractmethod
    def _words(self) -> str:
        """Describe an explicit prior."""

    def _check_resolved(self) -> None:
        if not self.is_resolved:
            raise MethodError(
                f"this {type(self).__name__} has priors that are not explicit yet; use "
                "emission.resolved(series)."
            )

    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names."""
        return {"channel": series.channels}

    @cached_property
    def kernel_prior(self) -> Any:
        """Prior as compiled code takes it: a named tuple of `luce.kernels.semi_markov`."""
        self._check_resolved()
        return self._make_prior()

    def draw_prior(self, bits: WordArray, n_states: int, n_channels: int) -> dict[str, FloatArray]:
        """Draw the parameters of states without data; `bits` is advanced."""
        own = self._completed(n_channels, {})
        return own.draw(bits, np.zeros((n_states, own._statistics_length())))

    def draw(self, bits: WordArray, rows: FloatArray) -> dict[str, FloatArray]:
        """Draw parameters of states given the statistics of their rows."""
        new = {name: np.empty((len(rows), *shape)) for name, shape in self._shapes().items()}
        self._kernel.draw(bits, self.kernel_prior, rows, *new.values())
        return new

    def _parameters(self, given: Parameters) -> list[FloatArray]:
        """Return parameters as kernels take them: contiguous doubles, in their order."""
        return [np.ascontiguousarray(given[name], np.float64) for name in self._names()]

    @abstractmethod
    def _names(self) -> tuple[str, ...]:
        """Name the parameters in the order of kernels' arguments."""

    def log_likelihood(self, series: Series, parameters: Parameters, out: FloatArray) -> None:
        """Fill `out`, shape (rows, states), with the log density of every row under every state.

        Rows that are missing as a whole, and the first `lags` rows of each sequence, have 0.  A row
        that is missing in part has the density of the entries that are there.
        """
        self._kernel.log_likelihood(*self._arguments(series), *self._parameters(parameters), out)

    def statistics(self, series: Series, groups: IntArray, n_groups: int) -> FloatArray:
        """Add up sufficient statistics of the rows of each group, one row of numbers a group.

        The row of a union is the sum of the rows; the first entry counts observations.  Group -1
        leaves a row of the series out.  The series must be one that `imputed` returned.
        """
        rows = np.empty((n_groups, self._statistics_length()))
        partly_missing = self._kernel.statistics(
            *self._arguments(series), groups, self.kernel_prior, rows
        )
        if partly_missing:
            raise DataError(
                f"{partly_missing:,} rows are missing in part, and a full covariance needs whole "
                "rows: draw the missing entries first, with emission.imputed(...)."
            )
        return rows

    def resample(
        self, bits: WordArray, series: Series, labels: IntArray, parameters: Parameters
    ) -> dict[str, FloatArray]:
        """Draw parameters given the state of each row; states without rows draw from the prior.

        The series must be one that `imputed` returned; only `Gaussian` changes it.
        """
        n_states = len(parameters[self._names()[0]])
        return self.draw(bits, self.statistics(series, labels, n_states))

    def simulate(
        self, bits: WordArray, labels: IntArray, borders: IntArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations, shape (rows, channels), given the state of each row."""
        held = self._parameters(parameters)
        out = np.empty((len(labels), held[0].shape[1]))
        self._kernel.simulate(bits, labels, *held, out)
        return out

    def to_json(self) -> dict[str, Any]:
        """Return the emission and every prior, exactly, as JSON can hold them."""
        own: Any = self
        given = {f.name: getattr(self, f.name) for f in fields(own) if f.init}
        held = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in given.items()
        }
        return {"emission": self.name, **held, "from_data": list(self.from_data)}


@dataclass(frozen=True, eq=False)
class Gaussian(_Conjugate):
    """Normal observations with a mean and a full covariance matrix for each state.

        mean | Σ ~ N(center, Σ / weight),     Σ ~ inverse Wishart,  E[Σ] = covariance

    A row that is missing in part has the density of the entries that are there; its other entries
    are drawn before parameters are.

    Parameters
    ----------
    center
        Prior mean of a state's mean: one number, or one for each channel.  None: the data's mean.
    covariance
        Prior expectation of the covariance of the observations within a state: a matrix, variances
        of the channels, or one variance for all.  None: a tenth of the data's variances, without
        correlation.
    weight
        Number of observations that `center` counts for: means of states have covariance Σ / weight.
        None: 0.1, so that they spread like the data when covariances are a tenth of the data's.
    degrees
        Degrees of freedom of Σ, more than the number of channels + 1: the larger, the closer Σ is
        to `covariance`.  None: the number of channels + 2.

    Examples
    --------
    >>> Gaussian(center=0.0, covariance=1.0)
    Gaussian(center=0.0, covariance=1.0, weight=None, degrees=None)
    """

    center: ArrayLike | None = None
    covariance: ArrayLike | None = None
    weight: float | None = None
    degrees: float | None = None
    from_data: tuple[str, ...] = field(default=(), init=False, repr=False)
    name: ClassVar[str] = "gaussian"
    _axes: ClassVar[dict[str, int]] = {"center": 1, "covariance": 2, "weight": 0, "degrees": 0}
    _from_scale: ClassVar[tuple[str, ...]] = ("center", "covariance")

    def __post_init__(self) -> None:
        _keep(
            self,
            center=numbers(self.center, "center", 1),
            covariance=numbers(self.covariance, "covariance", 2),
            weight=numbers(self.weight, "weight", 0, positive=True),
            degrees=numbers(self.degrees, "degrees", 0, positive=True),
        )

    @property
    def _kernel(self) -> Any:
        from luce.kernels.semi_markov import gaussian

        return gaussian

    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        if self.center is not None and self.covariance is not None:
            return {}
        center, variance = scale_of(series, "covariance=...", self.covariance is None)
        return {"center": center, "covariance": _WITHIN * variance}

    def _explicit(self, n_channels: int, **found: Any) -> Gaussian:
        return replace(
            self,
            center=for_channels(found["center"], n_channels, "center"),
            covariance=covariance_matrix(found["covariance"], n_channels, "covariance"),
            weight=_WITHIN if self.weight is None else self.weight,
            degrees=enough_degrees(self.degrees, n_channels),
        )

    def _make_prior(self) -> Any:
        center, degrees = np.asarray(self.center), float(self.degrees or 0)
        scale = np.asarray(self.covariance) * (degrees - len(center) - 1)
        return self._kernel.make_prior(center, scale, self.weight, degrees)

    def _words(self) -> str:
        variances = np.diagonal(np.asarray(self.covariance))
        return (
            f"means of states around {shown(self.center)}{self._from('center')} with weight "
            f"{self.weight:g}; expected variances within a state {shown(variances)}"
            f"{self._from('covariance')} with {self.degrees:g} degrees of freedom"
        )

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""
        return {"mean": ("channel",), "covariance": ("channel", "other_channel")}

    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names."""
        return {"channel": series.channels, "other_channel": series.channels}

    def _names(self) -> tuple[str, ...]:
        return ("mean", "covariance")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n = len(self.kernel_prior.center)
        return {"mean": (n,), "covariance": (n, n)}

    def _statistics_length(self) -> int:
        return int(self._kernel.statistics_length(len(self.kernel_prior.center)))

    def imputed(
        self, bits: WordArray, series: Series, labels: IntArray, parameters: Parameters
    ) -> Series:
        """Draw the missing entries of partly missing rows given the rest of the row and its state.

        Rows without any entry stay missing.
        """
        gaps = np.isnan(series.values)
        if not (gaps.any(axis=1) & ~gaps.all(axis=1)).any():
            return series
        values = series.values.copy()
        self._kernel.impute(bits, values, labels, *self._parameters(parameters))
        values.setflags(write=series.values.flags.writeable)
        return replace(series, values=values)


@dataclass(frozen=True, eq=False)
class DiagonalGaussian(_Conjugate):
    """Normal observations whose channels are independent within a state.

        mean | v ~ N(center, v / weight),     v ~ inverse gamma,  E[v] = variance

    in each channel.  Missing entries are left out.

    Parameters
    ----------
    center
        Prior mean of a state's mean: one number, or one for each channel.  None: the data's mean.
    variance
        Prior expectation of the variance of the observations within a state: one number, or one
        for each channel.  None: a tenth of the data's variances.
    weight
        Number of observations that `center` counts for: means of states have variance v / weight.
        None: 0.1, so that they spread like the data when variances are a tenth of the data's.
    degrees
        Degrees of freedom of v, more than 2: the larger, the closer v is to `variance`.  None: 3.

    Examples
    --------
    >>> DiagonalGaussian(degrees=5)
    DiagonalGaussian(center=None, variance=None, weight=None, degrees=5.0)
    """

    center: ArrayLike | None = None
    variance: ArrayLike | None = None
    weight: float | None = None
    degrees: float | None = None
    from_data: tuple[str, ...] = field(default=(), init=False, repr=False)
    name: ClassVar[str] = "diagonal-gaussian"
    _axes: ClassVar[dict[str, int]] = {"center": 1, "variance": 1, "weight": 0, "degrees": 0}
    _from_scale: ClassVar[tuple[str, ...]] = ("center", "variance")

    def __post_init__(self) -> None:
        _keep(
            self,
            center=numbers(self.center, "center", 1),
            variance=numbers(self.variance, "variance", 1, positive=True),
            weight=numbers(self.weight, "weight", 0, positive=True),
            degrees=numbers(self.degrees, "degrees", 0, positive=True),
        )
        enough_degrees(self.degrees, 1)

    @property
    def _kernel(self) -> Any:
        from luce.kernels.semi_markov import diagonal_gaussian

        return diagonal_gaussian

    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        if self.center is not None and self.variance is not None:
            return {}
        center, variance = scale_of(series, "variance=...", self.variance is None)
        return {"center": center, "variance": _WITHIN * variance}

    def _explicit(self, n_channels: int, **found: Any) -> DiagonalGaussian:
        return replace(
            self,
            center=for_channels(found["center"], n_channels, "center"),
            variance=for_channels(found["variance"], n_channels, "variance"),
            weight=_WITHIN if self.weight is None else self.weight,
            degrees=enough_degrees(self.degrees, 1),
        )

    def _make_prior(self) -> Any:
        degrees = float(self.degrees or 0)
        scale = np.asarray(self.variance) * (degrees - 2)
        return self._kernel.make_prior(np.asarray(self.center), scale, self.weight, degrees)

    def _words(self) -> str:
        return (
            f"means of states around {shown(self.center)}{self._from('center')} with weight "
            f"{self.weight:g}; expected variances within a state {shown(self.variance)}"
            f"{self._from('variance')} with {self.degrees:g} degrees of freedom"
        )

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""
        return {"mean": ("channel",), "variance": ("channel",)}

    def _names(self) -> tuple[str, ...]:
        return ("mean", "variance")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n = len(self.kernel_prior.center)
        return {"mean": (n,), "variance": (n,)}

    def _statistics_length(self) -> int:
        return int(self._kernel.statistics_length(len(self.kernel_prior.center)))


@dataclass(frozen=True, eq=False)
class Counts(_Conjugate):
    """Counts of each channel, Poisson and independent within a state.

        rate ~ Gamma(shape, shape / mean)

    in each channel.  Missing entries are left out.

    Parameters
    ----------
    mean
        Prior mean of a state's rate: one number, or one for each channel.  None: the data's mean.
    shape
        Shape of the gamma prior: the smaller, the more rates differ between states; their standard
        deviation is mean / √shape.

    Examples
    --------
    >>> Counts(mean=[3, 0.5])
    Counts(mean=array([3. , 0.5]), shape=1.0)
    """

    mean: ArrayLike | None = None
    shape: ArrayLike = 1.0
    from_data: tuple[str, ...] = field(default=(), init=False, repr=False)
    name: ClassVar[str] = "counts"
    kind: ClassVar[str] = "counts"
    _axes: ClassVar[dict[str, int]] = {"mean": 1, "shape": 1}
    _from_scale: ClassVar[tuple[str, ...]] = ("mean",)

    def __post_init__(self) -> None:
        if self.shape is None:
            raise DataError("shape = None; a positive number is needed, such as 1.")
        _keep(
            self,
            mean=numbers(self.mean, "mean", 1, positive=True),
            shape=numbers(self.shape, "shape", 1, positive=True),
        )

    @property
    def _kernel(self) -> Any:
        from luce.kernels.semi_markov import counts

        return counts

    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        if self.mean is not None:
            return {}
        check_seen(series)
        mean = np.nanmean(series.values, axis=0)
        for channel in np.flatnonzero(mean == 0):
            raise DataError(
                f"channel {series.channels[channel]!r} holds no count above 0, so its mean gives "
                "no scale of rates. Leave the channel out, or give mean=..."
            )
        return {"mean": mean}

    def _explicit(self, n_channels: int, **found: Any) -> Counts:
        return replace(
            self,
            mean=for_channels(found["mean"], n_channels, "mean"),
            shape=for_channels(self.shape, n_channels, "shape"),
        )

    def _make_prior(self) -> Any:
        shape = np.asarray(self.shape)
        return self._kernel.make_prior(shape, shape / np.asarray(self.mean))

    def _words(self) -> str:
        mean = f"{shown(self.mean)}{self._from('mean')}"
        return f"rates of states gamma with mean {mean} and shape {shown(self.shape)}"

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""
        return {"rate": ("channel",)}

    def _names(self) -> tuple[str, ...]:
        return ("rate",)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rate": (len(self.kernel_prior.shape),)}

    def _statistics_length(self) -> int:
        return int(self._kernel.statistics_length(len(self.kernel_prior.shape)))


@dataclass(frozen=True, eq=False)
class Categories(_Conjugate):
    """One category at each time, with probabilities of their own for each state.

        probabilities ~ Dir(concentration)

    Missing entries are left out.

    Parameters
    ----------
    concentration
        One positive number for every category, or one for each in the order of the series'
        categories.  The smaller, the fewer categories a state uses.

    Examples
    --------
    >>> Categories(0.5)
    Categories(concentration=0.5)
    """

    concentration: ArrayLike = 1.0
    from_data: tuple[str, ...] = field(default=(), init=False, repr=False)
    name: ClassVar[str] = "categories"
    kind: ClassVar[str] = "categories"
    _axes: ClassVar[dict[str, int]] = {"concentration": 1}

    def __post_init__(self) -> None:
        if self.concentration is None:
            raise DataError("concentration = None; a positive number is needed, such as 1.")
        _keep(self, concentration=numbers(self.concentration, "concentration", 1, positive=True))

    @property
    def _kernel(self) -> Any:
        from luce.kernels.semi_markov import categories

        return categories

    def resolved(self, series: Series) -> Categories:
        """Return the emission with one concentration for each category of the series."""
        n = len(series.categories)
        if n == 0:
            raise DataError(
                "the series holds no categories, and Categories needs a series of labels. For "
                "numbers use Gaussian or DiagonalGaussian, for counts use Counts."
            )
        given = np.asarray(self.concentration)
        if given.ndim == 1 and len(given) != n:
            raise DataError(
                f"{len(given)} concentrations were given, and the series has {n} categories "
                f"({listed(series.categories)}): give one number for all, or {n}."
            )
        return replace(self, concentration=np.broadcast_to(given, n).copy())

    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        return {}

    def _explicit(self, n_channels: int, **found: Any) -> Categories:
        if not self.is_resolved:
            raise DataError(
                "the number of categories is not known without data: give one concentration for "
                "each category."
            )
        return self

    def _make_prior(self) -> Any:
        return self._kernel.make_prior(np.asarray(self.concentration))

    def _words(self) -> str:
        return (
            f"probabilities of {np.size(self.concentration)} categories Dirichlet with "
            f"concentration {shown(self.concentration)}"
        )

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""
        return {"probabilities": ("category",)}

    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names."""
        return {"category": series.categories}

    def _names(self) -> tuple[str, ...]:
        return ("probabilities",)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"probabilities": (len(self.kernel_prior.concentration),)}

    def _statistics_length(self) -> int:
        return int(self._kernel.statistics_length(len(self.kernel_prior.concentration)))

    def simulate(
        self, bits: WordArray, labels: IntArray, borders: IntArray, parameters: Parameters
    ) -> FloatArray:
        """Draw codes of categories, shape (rows, 1), given the state of each row."""
        out = np.empty((len(labels), 1))
        self._kernel.simulate(bits, labels, *self._parameters(parameters), out)
        return out


@dataclass(frozen=True, eq=False)
class Autoregressive(_Conjugate):
    """Normal observations around a linear function of the rows before, one for each state.

        y_t ~ N(A_1 y_{t-1} + ... + A_lags y_{t-lags} + b, Σ)

    Coefficients are (A_1, ..., A_lags, b) in this order.  Lags never cross sequences: the first
    `lags` rows of each sequence are given, and have no density.  Missing values are refused.

    The prior is matrix-normal inverse-Wishart, and is put on the series minus its center c, so that
    it does not depend on the origin of the data's scale:

        (A, b')_ij | Σ ~ N(prior mean, Σ_ii / K_j),    b' = b - c + Σ_l A_l c,    E[Σ] = covariance
        K_j = weight · spread²  for a coefficient of a channel with that spread,  weight  for b'

    Parameters
    ----------
    lags
        Number of rows before that a row depends on.
    coefficients
        Prior mean of the coefficients, shape (channels, channels · lags + 1); without the last
        column the constant keeps the series around its center.  A number a stands for a · y_{t-1},
        so that 1 is a random walk.  None: 0, a series that returns to its center at once.
    covariance
        Prior expectation of the noise's covariance: a matrix, variances of the channels, or one
        variance for all.  None: half the mean square of the series' first differences, without
        correlation.
    weight
        Number of observations that the prior mean of the coefficients counts for.  None: the mean
        over channels of variance of noise / spread², so that coefficients have a standard
        deviation of about 1, and constants spread like the data.
    degrees
        Degrees of freedom of Σ, more than the number of channels + 1.  None: the number of
        channels + 2.
    center, spread
        Center of the series and standard deviation around it: one number, or one for each channel.
        None: those of the data.

    Examples
    --------
    >>> Autoregressive(lags=2).lags
    2
    """

    lags: int = 1
    coefficients: ArrayLike | None = None
    covariance: ArrayLike | None = None
    weight: float | None = None
    degrees: float | None = None
    center: ArrayLike | None = None
    spread: ArrayLike | None = None
    from_data: tuple[str, ...] = field(default=(), init=False, repr=False)
    name: ClassVar[str] = "autoregressive"
    _axes: ClassVar[dict[str, int]] = {
        "coefficients": 2,
        "covariance": 2,
        "weight": 0,
        "degrees": 0,
        "center": 1,
        "spread": 1,
    }
    _from_scale: ClassVar[tuple[str, ...]] = ("center", "spread", "covariance")

    def __post_init__(self) -> None:
        check_whole("lags", self.lags, 1)
        _keep(
            self,
            lags=int(self.lags),
            coefficients=numbers(self.coefficients, "coefficients", 2),
            covariance=numbers(self.covariance, "covariance", 2),
            weight=numbers(self.weight, "weight", 0, positive=True),
            degrees=numbers(self.degrees, "degrees", 0, positive=True),
            center=numbers(self.center, "center", 1),
            spread=numbers(self.spread, "spread", 1, positive=True),
        )

    @property
    def _kernel(self) -> Any:
        from luce.kernels.semi_markov import autoregressive

        return autoregressive

    def _scale_found(self, series: Series) -> dict[str, FloatArray]:
        self._check_series(series)
        if all(getattr(self, name) is not None for name in self._from_scale):
            return {}
        needs_variance = self.spread is None or self.covariance is None
        center, variance = scale_of(series, "spread=... and covariance=...", needs_variance)
        inside = np.ones(series.length, bool)
        inside[series.borders[:-1]] = False
        steps = np.diff(series.values, axis=0, prepend=series.values[:1])[inside]
        noise = _OF_DIFFERENCES * (steps**2).mean(axis=0)
        if self.covariance is None:
            for channel in np.flatnonzero(~(noise > 0)):
                raise DataError(
                    f"channel {series.channels[channel]!r} is constant within each sequence, so "
                    "its differences have no scale. Leave the channel out, or give covariance=..."
                )
        return {"center": center, "spread": np.sqrt(variance), "covariance": noise}

    def _check_series(self, series: Series) -> None:
        """Refuse missing values, and sequences too short for the lags."""
        missing = np.isnan(series.values).any(axis=1)
        if missing.any():
            raise DataError(
                f"an autoregressive emission needs every value, and {int(missing.sum()):,} of "
                f"{series.length:,} rows have missing ones (the first is row "
                f"{int(np.argmax(missing))}, counted from 0). Fill them, cut the sequence there "
                "into two, or use Gaussian or DiagonalGaussian, which take missing values."
            )
        longest = int(np.diff(series.borders).max(initial=0))
        if longest <= self.lags:
            raise DataError(
                f"the longest sequence has {longest:,} rows; lags = {self.lags} needs at least "
                f"{self.lags + 1:,}. Give fewer lags, or a longer series."
            )

    def _explicit(self, n_channels: int, **found: Any) -> Autoregressive:
        center = for_channels(found["center"], n_channels, "center")
        spread = for_channels(found["spread"], n_channels, "spread")
        covariance = covariance_matrix(found["covariance"], n_channels, "covariance")
        weight = self.weight
        if weight is None:
            weight = float((np.diagonal(covariance) / spread**2).mean())
        return replace(
            self,
            coefficients=self._full_coefficients(n_channels, center),
            covariance=covariance,
            weight=weight,
            degrees=enough_degrees(self.degrees, n_channels),
            center=center,
            spread=spread,
        )

    def _completed(self, n_channels: int, found: Mapping[str, FloatArray]) -> Autoregressive:
        new = super()._completed(n_channels, found)
        if self.weight is None and {"spread", "covariance"} & set(new.from_data):
            return new._marked((*new.from_data, "weight"))
        return new

    def _full_coefficients(self, n: int, center: FloatArray) -> FloatArray:
        """Return the prior mean of all coefficients on the data's own scale."""
        width = n * self.lags
        given = np.asarray(0.0 if self.coefficients is None else self.coefficients)
        if given.shape == (n, width + 1):
            return given.copy()
        full = np.zeros((n, width + 1))
        if given.ndim == 0:
            full[:, :n] = given * np.eye(n)
        elif given.shape == (n, width):
            full[:, :width] = given
        else:
            raise DataError(
                f"coefficients have shape {given.shape}; with {n} channels and lags = {self.lags} "
                f"a number, shape {(n, width + 1)}, or {(n, width)} without the constant is needed."
            )
        full[:, width] = center - full[:, :width] @ np.tile(center, self.lags)
        return full

    def _make_prior(self) -> Any:
        center, coefficients = np.asarray(self.center), np.array(self.coefficients)
        coefficients[:, -1] += coefficients[:, :-1] @ np.tile(center, self.lags) - center
        precision = np.r_[np.tile(np.asarray(self.spread) ** 2, self.lags), 1.0]
        degrees = float(self.degrees or 0)
        scale = np.asarray(self.covariance) * (degrees - len(center) - 1)
        return self._kernel.make_prior(
            self.lags, center, coefficients, precision * float(self.weight or 0), scale, degrees
        )

    def _words(self) -> str:
        variances = np.diagonal(np.asarray(self.covariance))
        return (
            f"coefficients of the series minus {shown(self.center)}{self._from('center')} with "
            f"weight {self.weight:.3g}{self._from('weight')} at spread {shown(self.spread)}"
            f"{self._from('spread')}; expected variances of the noise {shown(variances)}"
            f"{self._from('covariance')} with {self.degrees:g} degrees of freedom"
        )

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter."""
        return {
            "coefficients": ("channel", "regressor"),
            "covariance": ("channel", "other_channel"),
        }

    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names."""
        past = [f"{c} {lag} before" for lag in range(1, self.lags + 1) for c in series.channels]
        both = {"channel": series.channels, "other_channel": series.channels}
        return {**both, "regressor": (*past, "constant")}

    def _names(self) -> tuple[str, ...]:
        return ("coefficients", "covariance")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n, width = self.kernel_prior.coefficients.shape
        return {"coefficients": (n, width), "covariance": (n, n)}

    def _statistics_length(self) -> int:
        return int(self._kernel.statistics_length(*self.kernel_prior.coefficients.shape))

    def _arguments(self, series: Series) -> tuple[Any, ...]:
        return (series.values, series.borders)

    def simulate(
        self, bits: WordArray, labels: IntArray, borders: IntArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations, shape (rows, channels), given the state of each row.

        The first `lags` rows of each sequence are at the prior's center, 0 where it is not given.
        """
        held = self._parameters(parameters)
        center = for_channels(
            0.0 if self.center is None else self.center, held[0].shape[1], "center"
        )
        out = np.tile(center, (len(labels), 1))
        self._kernel.simulate(bits, labels, borders, *held, out)
        return _within_range(out, labels)

    def simulate_after(
        self, bits: WordArray, labels: IntArray, before: FloatArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations given the state of each row, after the rows `before` of the sequence.

        There must be at least `lags` rows before.
        """
        if len(before) < self.lags:
            raise DataError(
                f"the sequence has {plural(len(before), 'row')}, and lags = {self.lags} needs as "
                "many rows to go on from."
            )
        past = before[len(before) - self.lags :]
        states = np.concatenate([np.zeros(self.lags, np.int64), labels])
        out = np.concatenate([past, np.empty((len(labels), past.shape[1]))])
        borders = np.array([0, len(out)])
        self._kernel.simulate(bits, states, borders, *self._parameters(parameters), out)
        return _within_range(out[self.lags :], labels)


class Custom(Emission):
    """Emission given by functions of your own.

    A series is passed as an array of shape (rows, channels), NaN where missing, and labels as an
    array of shape (rows,); several sequences as lists of such arrays.  Parameters are a mapping
    from names to arrays whose first axis is the state.

    Parameters
    ----------
    log_likelihood
        ``log_likelihood(series, parameters)`` returns the log density of every row under every
        state, shape (rows, states); a list of them for a list of sequences.  Rows that are missing
        as a whole are set to 0 afterwards.
    resample
        ``resample(rng, series, labels, parameters)`` returns new parameters.  It must leave
        p(parameters | labels, series), the posterior given the state of each row, invariant: a draw
        from it, or a step of a Markov chain that has it as its law.  Otherwise draws are silently
        wrong.  States without rows are to be drawn from the prior, or moved by such a step.
    initial
        ``initial(rng, n_states)`` returns parameters, drawn from the prior.
    simulate
        ``simulate(rng, labels, parameters)`` returns observations, shape (rows, channels); a list
        of them for a list of labels.  Needed to simulate and to forecast.

    Examples
    --------
    Exponential waiting times with rates of their own in each state, Gamma(1, 1) a priori:

    >>> def log_likelihood(series, parameters):
    ...     return np.log(parameters["rate"]) - series * parameters["rate"]
    >>> def resample(rng, series, labels, parameters):
    ...     n = len(parameters["rate"])
    ...     waited = np.bincount(labels, series[:, 0], n)
    ...     return {"rate": rng.gamma(1 + np.bincount(labels, minlength=n)) / (1 + waited)}
    >>> emission = Custom(log_likelihood, resample, lambda rng, n: {"rate": rng.gamma(1.0, size=n)})
    """

    name: ClassVar[str] = "custom"
    conjugate: ClassVar[bool] = False

    def __init__(
        self,
        log_likelihood: Callable[..., Any],
        resample: Callable[..., Any],
        initial: Callable[..., Any],
        simulate: Callable[..., Any] | None = None,
    ) -> None:
        self._functions = {
            "log_likelihood": log_likelihood,
            "resample": resample,
            "initial": initial,
            "simulate": simulate,
        }
        for name, function in self._functions.items():
            if not callable(function) and not (name == "simulate" and function is None):
                raise DataError(f"{name} = {function!r}; a function is needed.")

    def __repr__(self) -> str:
        given = {k: getattr(f, "__name__", repr(f)) for k, f in self._functions.items() if f}
        return f"Custom({', '.join(f'{k}={f}' for k, f in given.items())})"

    def _call(self, name: str, *given: Any) -> Any:
        function = self._functions[name]
        if function is None:
            raise MethodError(
                "this Custom emission cannot simulate: give it simulate=..., a function of rng, "
                "labels and parameters."
            )
        return function(*given)

    @property
    def is_resolved(self) -> bool:
        """Is every prior explicit?  It is part of the functions."""
        return True

    def resolved(self, series: Series) -> Custom:
        """Return the emission itself."""
        return self

    def prior_words(self) -> str:
        """Describe the prior in words."""
        return "that of the functions given"

    def dims(self, series: Series) -> dict[str, tuple[str, ...]]:
        """Name the dimensions, after "state", of each parameter, after a trial of `initial`."""
        trial = _checked(self._call("initial", np.random.default_rng(0), 1), 1, "initial")
        return {
            name: tuple(f"{name}_dim_{k}" for k in range(value.ndim - 1))
            for name, value in trial.items()
        }

    def coords(self, series: Series) -> dict[str, tuple[Label, ...]]:
        """Label the dimensions that `dims` names: none has labels."""
        return {}

    def draw_prior(self, bits: WordArray, n_states: int, n_channels: int) -> dict[str, FloatArray]:
        """Draw the parameters of states without data by `initial`; `bits` is advanced."""
        return _checked(self._call("initial", _generator(bits), n_states), n_states, "initial")

    def log_likelihood(self, series: Series, parameters: Parameters, out: FloatArray) -> None:
        """Fill `out`, shape (rows, states), with the log density of every row under every state."""
        values = _as_given(series.values, series.borders)
        given = self._call("log_likelihood", values, parameters)
        out[:] = _joined(given, series.borders, out.shape[1:], "log_likelihood")
        out[np.isnan(series.values).all(axis=1)] = 0.0
        bad = np.isnan(out) | (out == np.inf)
        if bad.any():
            row, state = (int(k) for k in np.argwhere(bad)[0])
            raise DataError(
                f"log_likelihood returned {out[row, state]} for row {row} and state {state}; "
                "numbers or minus infinity are needed. A row with missing entries has the density "
                "of what is there."
            )

    def resample(
        self, bits: WordArray, series: Series, labels: IntArray, parameters: Parameters
    ) -> dict[str, FloatArray]:
        """Draw parameters given the state of each row by the function given."""
        values, states = (_as_given(x, series.borders) for x in (series.values, labels))
        new = self._call("resample", _generator(bits), values, states, parameters)
        n_states = len(next(iter(parameters.values())))
        return _checked(new, n_states, "resample", parameters)

    def simulate(
        self, bits: WordArray, labels: IntArray, borders: IntArray, parameters: Parameters
    ) -> FloatArray:
        """Draw observations, shape (rows, channels), given the state of each row."""
        given = self._call("simulate", _generator(bits), _as_given(labels, borders), parameters)
        width = np.shape(given if len(borders) == 2 else given[0])[1:]
        return _joined(given, borders, width, "simulate")

    @property
    def kernel_prior(self) -> Any:
        """Refuse: there is no prior for compiled code."""
        raise _no_closed_form()

    def draw(self, bits: WordArray, rows: FloatArray) -> dict[str, FloatArray]:
        """Refuse: there are no sufficient statistics."""
        raise _no_closed_form()

    def statistics(self, series: Series, groups: IntArray, n_groups: int) -> FloatArray:
        """Refuse: there are no sufficient statistics."""
        raise _no_closed_form()

    def to_json(self) -> dict[str, Any]:
        """Refuse: functions are not data."""
        raise MethodError(
            "a Custom emission is made of functions, which cannot be written to a file. Keep the "
            "run in memory (to=None), or use an emission that luce has."
        )


_KINDS: dict[str, Callable[..., _Conjugate]] = {
    kind.name: kind for kind in (Gaussian, DiagonalGaussian, Counts, Categories, Autoregressive)
}


def _keep(emission: Emission, **changes: object) -> None:
    """Set fields of a frozen emission while it is made."""
    for name, value in changes.items():
        object.__setattr__(emission, name, value)


def _within_range(simulated: FloatArray, labels: IntArray) -> FloatArray:
    """Refuse a simulated series that grows beyond all bounds."""
    bad = ~np.isfinite(simulated).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"the simulated series exceeds the range of doubles in row {row}, in state "
            f"{int(labels[row])}: its coefficients make it grow. Simulate fewer rows, or keep "
            "coefficients nearer to their prior mean by a larger weight."
        )
    return simulated


def _no_closed_form() -> MethodError:
    return MethodError(
        "parameters of a Custom emission cannot be integrated out, so states cannot be split and "
        "merged. Use an emission that luce has for that."
    )


def _generator(bits: WordArray) -> np.random.Generator:
    """Make a NumPy generator from four words of the chain's own generator, which is advanced."""
    from luce.kernels.random import fill_words

    words = np.empty(4, np.uint64)
    fill_words(bits, words)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


def _as_given(array: Any, borders: IntArray) -> Any:
    """Return the array of one sequence, or a list of those of several."""
    if len(borders) == 2:
        return array
    return [array[start:end] for start, end in pairwise(borders.tolist())]


def _joined(given: Any, borders: IntArray, shape: tuple[int, ...], function: str) -> FloatArray:
    """Check the result of a function for each sequence, and join all."""
    parts = [given] if len(borders) == 2 else given
    lengths = np.diff(borders).tolist()
    if len(parts) != len(lengths):
        raise DataError(
            f"{function} returned {len(parts)} arrays for {len(lengths)} sequences; one for each "
            "is needed, in a list."
        )
    arrays = [np.asarray(part, float) for part in parts]
    for array, length in zip(arrays, lengths, strict=True):
        if array.shape != (length, *shape):
            raise DataError(
                f"{function} returned shape {array.shape}; {(length, *shape)} is needed for a "
                f"sequence of {length:,} rows."
            )
    return np.ascontiguousarray(np.concatenate(arrays))


def _checked(
    given: Any, n_states: int, function: str, before: Parameters | None = None
) -> dict[str, FloatArray]:
    """Check that parameters are arrays with one entry for each state, named as before."""
    if not isinstance(given, Mapping) or not given:
        raise DataError(
            f"{function} returned {type(given).__name__}; a mapping from names of parameters to "
            "arrays is needed."
        )
    new = {str(name): np.array(value, float, order="C") for name, value in given.items()}
    for name, value in new.items():
        if value.ndim == 0 or len(value) != n_states:
            raise DataError(
                f"{function} returned {name!r} of shape {value.shape}; the first axis is the "
                f"state, so its length must be {n_states}."
            )
    if before is not None and _shapes_of(new) != _shapes_of(before):
        raise DataError(
            f"{function} returned arrays of shapes {_shapes_of(new)}; those given to it have "
            f"{_shapes_of(before)}, and names and shapes must stay."
        )
    return new


def _shapes_of(parameters: Parameters) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(parameters[name]) for name in sorted(parameters)}
