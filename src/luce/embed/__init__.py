"""One Gibbs step inside other samplers: NumPy and numba code, PyMC, NumPyro, BlackJAX."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.embed import blackjax as blackjax
    from luce.embed import numpyro as numpyro
    from luce.embed import pymc as pymc
    from luce.embed.gibbs_step import GibbsStep as GibbsStep

_HOMES = {
    "GibbsStep": "gibbs_step",
}

_ROOMS = ["blackjax", "numpyro", "pymc"]

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES, _ROOMS)
