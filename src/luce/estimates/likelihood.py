"""Maximum likelihood: the estimate without a prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import Label, Labels
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.estimates.curvature import EventFit, LaplaceFit
from luce.estimates.event_density import EventDensity
from luce.estimates.event_modes import maximise_events
from luce.estimates.modes import Mode, maximise
from luce.model.priors import Gamma, read_parameter_priors

if TYPE_CHECKING:
    from xarray import DataArray


@dataclass(frozen=True, eq=False, repr=False)
class MaximumLikelihood(Mode):
    """The maximum-likelihood estimate: a `Mode` of the likelihood, with standard errors.

    Attributes
    ----------
    counts
        The data.
    known
        Values of the parameters of contests or rankings that were held, by name.
    """

    counts: ConditionalCounts = field(kw_only=True)
    known: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @cached_property
    def log_likelihood(self) -> float:
        """The largest log likelihood, without multinomial coefficients."""
        with np.errstate(divide="ignore"):  # parameters at their least values
            return float(self.counts.log_likelihood(self.values, **self.parameters))

    def covariance(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the inverse of the observed information.

        The arguments are those of `Posterior.covariance`; entries of categories at 0 are nan.
        """
        return self._fit.covariance(scale, reference, among)

    def standard_errors(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the square roots of the diagonal of `covariance`."""
        return self._fit.standard_errors(scale, reference, among)

    def parameter_standard_errors(self, scale: str = "natural") -> dict[str, float]:
        """Compute the standard errors of the parameters beside the probabilities, by name.

        The arguments are those of `Posterior.parameter_standard_errors`.
        """
        return self._fit.parameter_standard_errors(scale)

    @cached_property
    def _fit(self) -> LaplaceFit:
        if self.counts.events is not None:
            density = EventDensity.of_likelihood(self.counts, self.known)
            return EventFit.of_maximum(density, maximise_events(density, single=False))
        return LaplaceFit(self.counts, np.zeros(len(self.values)), self.values)


def maximum_likelihood(
    counts: ConditionalCounts,
    *,
    home: float | None = None,
    tie: float | Mapping[str, float] | None = None,
) -> MaximumLikelihood:
    """Find the probabilities under which the data is most probable.

    Parameters
    ----------
    counts
        The data.
    home, tie
        Values at which parameters of contests or rankings with ties are held; they are estimated
        unless given.  A mapping, as in ``tie={"tie2": 0.5}``, holds some of several.

    Returns
    -------
    MaximumLikelihood
        `probabilities` by category, and `parameters`: `home` and `tie` of contests, `tie2`,
        `tie3` and so on of rankings.

    Raises
    ------
    NoMaximumError
        Where the likelihood has no maximum, or more than one: some categories were never compared
        with the others, or never won against them, or `home` cannot be told from strength.
        `groups` says which.

    Examples
    --------
    Bo won 6 of 8 duels with Ann, Cy 3 of 4 with Bo.

    >>> import luce
    >>> counts = luce.ConditionalCounts(["Ann", "Bo", "Cy"])
    >>> counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
    >>> counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
    >>> found = luce.maximum_likelihood(counts)
    >>> found
    Mode(likelihood: Ann: 0.07692, Bo: 0.2308, Cy: 0.6923)
    >>> round(float(found.sel(category="Cy")), 4)
    0.6923
    >>> found.standard_errors("log-odds", reference="Bo").values.round(3)
    array([0.816, 0.   , 1.155])
    """
    if not isinstance(counts, ConditionalCounts):
        raise DataError(f"counts must be ConditionalCounts; {type(counts).__name__} was given.")
    known = _known(counts, {"home": home, "tie": tie})
    if counts.events is not None:
        found = maximise_events(EventDensity.of_likelihood(counts, known))
        return MaximumLikelihood(
            found.p,
            "likelihood",
            counts.categories,
            found.maxima,
            found.parameters,
            counts=counts,
            known=known,
        )
    values, maxima = maximise(counts, np.zeros(counts.n_categories), "likelihood")
    return MaximumLikelihood(values, "likelihood", counts.categories, maxima, counts=counts)


def _known(
    counts: ConditionalCounts, given: Mapping[str, float | Mapping[str, float] | None]
) -> dict[str, float]:
    """Read the values at which parameters are held; refuse parameters that there are not."""
    known = {}
    for name, value in read_parameter_priors(counts.parameters, given).items():
        one = given[name.rstrip("0123456789")]
        if (one.get(name) if isinstance(one, Mapping) else one) is None:
            continue
        if isinstance(value, Gamma):
            raise DataError(f"{name} = {value!r} was given; a likelihood takes values, no priors.")
        known[name] = value
    return known
