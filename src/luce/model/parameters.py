"""What a model declares about the quantities that its posterior is a distribution of.

Sinks, journals, moments, checks and summaries go through these declarations.  So a model with more
than probabilities (a drawn concentration, a tie parameter, hidden states) needs no code of theirs.
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
        Where its values lie: on the "simplex" along the last dimension, among the "positive" or
        "real" or "whole" numbers.
    role
        "competitor" for what is ranked and compared, "parameter" for what belongs to the model as a
        whole, "latent" for hidden quantities of single observations.
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
