"""A model: conditional counts and a prior on their probabilities, with structure and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts
from luce.counts.events import Events
from luce.counts.labels import label_array
from luce.errors import DataError
from luce.model.parameters import Parameter
from luce.model.priors import (
    Dirichlet,
    Gamma,
    ParameterPrior,
    PriorLike,
    as_prior,
    read_parameter_priors,
)
from luce.model.shapes import ModuleShapes, shapes_of
from luce.model.structure import Structure, structure_of, structure_of_events


def check_known(events: Events, known: Mapping[str, float]) -> None:
    """Refuse a value of a parameter that is not above its least one, as θ = 1."""
    for name, value in known.items():
        least = events.least(name)
        if not value > least:
            raise DataError(
                f"{name} = {value:g} was given; with {events.model} it must be above {least:g}."
            )


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
    parameters
        Priors of the parameters that the data has beside the probabilities, by the names of
        `Posterior`'s arguments, or their values where they are known.

    Attributes
    ----------
    parameter_priors
        The prior or the value of each of the data's parameters.
    memo
        Fits that samplers made of the model, kept as long as it is.
    """

    def __init__(
        self,
        counts: ConditionalCounts,
        prior: PriorLike = 1.0,
        structure: Structure | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(counts, ConditionalCounts):
            raise DataError(
                f"counts must be ConditionalCounts; {type(counts).__name__} was given. "
                "Start with luce.ConditionalCounts(categories).observe(...)."
            )
        self.counts = counts
        self.prior = as_prior(prior)
        self.parameter_priors: dict[str, ParameterPrior] = read_parameter_priors(
            counts.parameters, parameters or {}
        )
        if counts.events is not None:
            self._check_events()
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
        if self.counts.events is not None:
            return structure_of_events(self.counts.events)
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
        found += [Parameter(name, support="positive") for name in self.drawn_parameters]
        return tuple(found)

    @property
    def drawn_parameters(self) -> tuple[str, ...]:
        """Names of the data's parameters that have a prior, and are drawn."""
        priors = self.parameter_priors.items()
        return tuple(name for name, prior in priors if isinstance(prior, Gamma))

    @property
    def known_parameters(self) -> dict[str, float]:
        """Values of the data's parameters that are known."""
        priors = self.parameter_priors.items()
        return {name: prior for name, prior in priors if not isinstance(prior, Gamma)}

    def _check_events(self) -> None:
        """Refuse priors that are not offered for data with a model of its own."""
        assert self.counts.events is not None
        if not isinstance(self.prior, Dirichlet) or not self.prior.is_fixed:
            raise DataError(
                f"the prior is {self.prior!r}, and the data has {self.counts.events.model}: with "
                "it a Dirichlet prior whose concentration is a number is needed."
            )
        check_known(self.counts.events, self.known_parameters)

    def require_plain(self, what: str) -> None:
        """Refuse to compute `what` for data with a model of its own, such as contests."""
        if self.counts.events is not None:
            raise DataError(
                f"{what} is not offered for data with {self.counts.events.model}. "
                "Use sample() and the draws."
            )

    def require_number(self, what: str) -> None:
        """Refuse to compute `what` where the concentration is drawn too."""
        if self.hyperprior is not None:
            raise DataError(
                f"{what} needs a concentration that is a number, and this posterior has a prior "
                "on it. Give a number, or look at the draws."
            )

    def with_counts(
        self,
        counts: ConditionalCounts,
        known: Mapping[str, float] | None = None,
        prior: PriorLike | None = None,
    ) -> Model:
        """Return the model of other data with the same priors, those of parameters included.

        Parameters
        ----------
        counts
            The other data.  Parameters that this model does not have get their usual priors.
        known
            Values of parameters that are known in the new model.
        prior
            Prior of the probabilities, where it is another one.
        """
        given = self._arguments(counts.parameters)
        for name, value in (known or {}).items():
            given.setdefault(name.rstrip("0123456789"), {})[name] = value
        return Model(counts, self.prior if prior is None else prior, parameters=given)

    def _arguments(self, names: Sequence[str]) -> dict[str, dict[str, ParameterPrior]]:
        """Return the priors of some parameters, by the argument that each belongs to."""
        found: dict[str, dict[str, ParameterPrior]] = {}
        for name in names:
            if name in self.parameter_priors:
                own = found.setdefault(name.rstrip("0123456789"), {})
                own[name] = self.parameter_priors[name]
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle data and prior alone; the structure and shapes are computed again."""
        return Model, (self.counts, self.prior, None, self._arguments(self.counts.parameters))
