"""A model: conditional counts and a prior on their probabilities, with structure and shapes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import label_array
from luce.errors import DataError
from luce.model.parameters import Parameter
from luce.model.priors import Gamma, PriorLike, as_prior
from luce.model.shapes import ModuleShapes, shapes_of
from luce.model.structure import Structure, structure_of


class Model:
    """Counts and a prior, checked against each other; immutable.

    Parameters
    ----------
    counts
        The data.
    prior
        As `luce.Posterior` takes it.
    structure
        Structure of the counts' sets, where it is known already; the prior does not change it.

    Attributes
    ----------
    memo
        Fits that samplers made of the model, kept as long as it is.
    """

    def __init__(
        self,
        counts: ConditionalCounts,
        prior: PriorLike = 1.0,
        structure: Structure | None = None,
    ) -> None:
        if not isinstance(counts, ConditionalCounts):
            raise DataError(
                f"counts must be ConditionalCounts; {type(counts).__name__} was given. "
                "Start with luce.ConditionalCounts(categories).observe(...)."
            )
        self.counts = counts
        self.prior = as_prior(prior)
        self.concentration: FloatArray = self.prior.shapes(counts)
        self.memo: dict[str, Any] = {}
        if structure is not None:
            self.__dict__["structure"] = structure

    @property
    def hyperprior(self) -> Gamma | None:
        """Distribution of the concentration; None where the concentration is a number."""
        return self.prior.hyperprior

    @cached_property
    def remainder(self) -> int | None:
        """Index of the category that stands for all unnamed ones; None where there is none."""
        return self.prior.remainder_place(self.counts)

    @cached_property
    def structure(self) -> Structure:
        """Exact parts of the posterior, and cores that must be simulated."""
        return structure_of(self.counts.sets)

    @cached_property
    def shapes(self) -> ModuleShapes:
        """Shapes of all Dirichlet splits, and the problems of the cores."""
        return shapes_of(self.structure, self.counts, self.concentration)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Random quantities of the posterior, the probabilities first."""
        labels = {"category": label_array(self.counts.categories)}
        effects = self.counts.effects
        found = [
            Parameter("probabilities", ("category",), labels, "simplex", "competitor", effects)
        ]
        if self.hyperprior is not None:
            found.append(Parameter("concentration", support="positive"))
        return tuple(found)

    def require_number(self, what: str) -> None:
        """Refuse to compute `what` where the concentration is drawn too."""
        if self.hyperprior is not None:
            raise DataError(
                f"{what} needs a concentration that is a number, and this posterior has a prior "
                "on it. Give a number, or look at the draws."
            )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle data and prior alone; the structure and shapes are computed again."""
        return Model, (self.counts, self.prior)
