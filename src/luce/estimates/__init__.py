"""Modes, their curvature, maximum likelihood and evidence."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.estimates.estimate import Estimate as Estimate
    from luce.estimates.likelihood import MaximumLikelihood as MaximumLikelihood
    from luce.estimates.likelihood import maximum_likelihood as maximum_likelihood
    from luce.estimates.modes import Mode as Mode

_HOMES = {
    "Estimate": "estimate",
    "MaximumLikelihood": "likelihood",
    "Mode": "modes",
    "maximum_likelihood": "likelihood",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
