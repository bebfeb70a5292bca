"""Declarations of the quantities that a model draws: name, dimensions, labels, support and role.

Sinks, journals, moments, checks and summaries loop over these declarations, and none of them needs
a change for a model with more than probabilities: a drawn concentration, ties, hidden states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from luce._types import Attributes, Label
from luce.counts.counts import EFFECTS
from luce.counts.labels import describe, is_hashable
from luce.errors import DataError

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
    effects
        Labels of competitors that are none: ties and advantages, as `ConditionalCounts.effects`.
    """

    name: str
    dims: tuple[str, ...] = ()
    coords: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    support: Support = "real"
    role: Role = "parameter"
    effects: Mapping[Label, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of one draw along each dimension."""
        return tuple(len(self.coords[dim]) for dim in self.dims)

    @property
    def attributes(self) -> Attributes:
        """Support, role and effects, as attributes of the variable in a run."""
        marks = {
            f"{kind}_categories": [label for label, own in self.effects.items() if own == kind]
            for kind in dict.fromkeys(self.effects.values())
        }
        return {"support": self.support, "role": self.role, **marks}


def effects_in(attributes: Mapping[Any, Any]) -> dict[Label, str]:
    """Read from a variable's attributes which of its labels are effects, and of which kind."""
    found: dict[Label, str] = {}
    for kind in EFFECTS:
        labels = attributes.get(f"{kind}_categories", [])
        if not isinstance(labels, list) or not all(map(is_hashable, labels)):
            raise DataError(
                f"the attribute {kind}_categories is {describe(labels)}; a list of labels is "
                "needed."
            )
        found.update(dict.fromkeys(labels, kind))
    return found
