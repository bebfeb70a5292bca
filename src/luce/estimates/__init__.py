"""Modes, their curvature, maximum likelihood and evidence."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.estimates.estimate import Estimate as Estimate
    from luce.estimates.likelihood import maximum_likelihood as maximum_likelihood

_HOMES = {
    "Estimate": "estimate",
    "maximum_likelihood": "likelihood",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
