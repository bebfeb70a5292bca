"""Declarations of the quantities that a model draws: name, dimensions, labels, support and role.

Sinks, journals, moments, checks and summaries loop over these declarations, and none of them needs
a change for a model with more than probabilities: a drawn concentration, ties, hidden states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Role = Literal["competitor", "parameter", "latent"]
Support = Literal["simplex", "positive", "real", "whole"]


@dataclass(frozen=True, eq=False)
class Parameter:
    """One quantity that a model draws.

    Parameters
    ----------
    name
        Name of its variable in a run's group ``posterior``.
    dims
        Names of its dimensions, chain and draw left out.
    coords
        Labels along those dimensions.
    support
        Range of its values: the "simplex" along the last dimension, or the "positive", "real" or
        "whole" numbers.
    role
        "competitor" for quantities that are ranked and compared, "parameter" for quantities of the
        model as a whole, "latent" for hidden quantities of single observations.
    """

    name: str
    dims: tuple[str, ...] = ()
    coords: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    support: Support = "real"
    role: Role = "parameter"

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of one draw along each dimension."""
        return tuple(len(self.coords[dim]) for dim in self.dims)

    @property
    def attributes(self) -> dict[str, str]:
        """Support and role, as attributes of the variable in a run."""
        return {"support": self.support, "role": self.role}
