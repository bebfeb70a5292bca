"""The density of data with events as a function of probabilities and parameters.

    F = Σ_i (a_i + n_i) log p_i + Σ_S e_S log p(S) + log likelihood of the events
        + Σ_x (power_x log x - rate_x x)            x: parameters, less their least values

On the simplex and on the parameters' own scale, a_i is the concentration less 1 and a power the
prior's shape less 1; in log-odds and logarithms, a_i and a power are the concentration and the
shape; for the likelihood, all of them are 0.

Some maxima lie on the boundary, where F only grows towards it: a category without a power is at 0,
and a parameter that nothing holds off is at its least value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.comparability import comparable_groups
from luce.counts.counts import ConditionalCounts
from luce.counts.events import Events
from luce.counts.labels import some
from luce.errors import NoMaximumError
from luce.estimates.event_climbs import End, Normalised, Unnormalised, shares
from luce.estimates.event_existence import Inequalities, Recession, Words
from luce.estimates.no_maximum import REMEDIES, require_compared, unbounded
from luce.model.model import Model, check_known
from luce.model.priors import Gamma
from luce.sampling.contest_posterior import Known
from luce.sampling.log_posterior import supported

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Total powers below this share of their terms are rounding error.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class EventDensity:
    """The function F to be maximised.

    Attributes
    ----------
    counts
        The data, with events.
    prior
        a_i, shape (n_categories,).
    own
        Power and rate of each parameter that is not known.
    known
        Values of the others.
    scale
        "simplex", "log-odds" or "likelihood".
    """

    counts: ConditionalCounts
    prior: FloatArray
    own: Mapping[str, Known]
    known: Mapping[str, float]
    scale: str

    @classmethod
    def of_model(cls, model: Model, scale: str) -> EventDensity:
        """Return the posterior density, on the simplex or in log-odds."""
        less = 1.0 if scale == "simplex" else 0.0
        own = {
            name: Known(prior.shape - less, prior.rate)
            for name, prior in model.parameter_priors.items()
            if isinstance(prior, Gamma)
        }
        prior = model.concentration - less
        return cls(model.counts, prior, own, model.known_parameters, scale)

    @classmethod
    def of_likelihood(
        cls, counts: ConditionalCounts, known: Mapping[str, float] | None = None
    ) -> EventDensity:
        """Return the likelihood, some parameters perhaps known."""
        known = dict(known or {})
        check_known(events_in(counts), known)
        own = {name: Known(0.0, 0.0) for name in counts.parameters if name not in known}
        return cls(counts, np.zeros(counts.n_categories), own, known, "likelihood")

    @property
    def events(self) -> Events:
        """The events of the data."""
        return events_in(self.counts)

    @property
    def total(self) -> float:
        """The degree of F in λ, p = λ / Σ λ, without the sum: Σ a_i plus unconditional outcomes."""
        counts = self.counts
        parts = (self.prior.sum(), counts.category_counts.sum(), counts.sets.exponent.sum())
        size = np.abs(self.prior).sum() + np.abs(counts.sets.exponent).sum() + abs(parts[1])
        total = float(parts[0] + max(parts[1] + parts[2], 0.0))
        return 0.0 if abs(total) <= _CANCELLED * size else total


def events_in(counts: ConditionalCounts) -> Events:
    """Return the events of data that has some."""
    assert counts.events is not None
    return counts.events


class EventMaximum(NamedTuple):
    """A maximum of F.

    Attributes
    ----------
    p, parameters
        The probabilities, and all parameters by name, known ones included.
    maxima
        Number of local maxima found.
    precision
        Minus the second derivatives of F in (log p, logarithms of the parameters) there, zero in
        the direction of the scale of p and for categories at 0.
    names
        Parameters that `precision` has rows for, after the categories; none on its boundary.
    """

    p: FloatArray
    parameters: dict[str, float]
    maxima: int
    precision: FloatArray
    names: tuple[str, ...]


class Inside(ABC):
    """F without what is known to be on the boundary, and its unknowns.

    Attributes
    ----------
    density
        F itself.
    powers
        Powers of the categories near 0, those of the events included.
    active
        Marks the categories that are not at 0.
    edge
        Values of the parameters on their boundary.
    f, owner
        F of the rest, and the unknown of each category and parameter, -1 for a category at 0.
    """

    # A pivot below this share of its diagonal entry may be rounding error of a singular precision.
    singular = 1e-9

    def __init__(self, density: EventDensity, equal: IntArray | None) -> None:
        self.density, self.n = density, density.counts.n_categories
        problem = self._whole_problem()
        self.powers = problem.shape
        self.active: BoolArray = supported(problem)
        if equal is not None and self.active[equal].any():
            self.active[equal] = True
        self._require_bounded()
        if density.total == 0.0:
            require_compared(comparable_groups(density.counts), density.counts, density.scale)
        self.edge: dict[str, float] = {}
        self._leave_out_boundary()
        self.own = {name: each for name, each in density.own.items() if name not in self.edge}
        known = {name: float(np.log(x)) for name, x in density.known.items()}
        self.f = Normalised(self._posterior(self.own, known), density.total, self.singular)
        self.owner = self._owner(equal)

    @abstractmethod
    def _whole_problem(self) -> Problem:
        """Lay out all powers of categories and sets, those of the events included."""

    @abstractmethod
    def _leave_out_boundary(self) -> None:
        """Put parameters that nothing holds off to their edge; leave out categories at 0."""

    @abstractmethod
    def _posterior(self, own: dict[str, Known], known: dict[str, float]) -> Unnormalised:
        """Return F as if Σ λ were 1, given densities of parameters or their known logarithms."""

    @abstractmethod
    def first_place(self) -> FloatArray:
        """Return a place to climb from."""

    @property
    @abstractmethod
    def is_concave_in_events(self) -> bool:
        """Is the events' part of F known to be concave?"""

    @property
    @abstractmethod
    def has_groups(self) -> bool:
        """Are there grouped outcomes?"""

    @abstractmethod
    def leaves_nobody(self, dead: BoolArray) -> bool:
        """Tell whether an event needs one of those who are put at 0."""

    @abstractmethod
    def inequalities(self) -> Inequalities:
        """Return what the events ask of a direction in which F does not fall."""

    @property
    @abstractmethod
    def words(self) -> Words:
        """The words for directions in which F does not fall."""

    def _require_bounded(self) -> None:
        """Refuse negative powers, with which the density has no bound."""
        low = np.flatnonzero(self.powers < 0)
        if len(low):
            labels = self.density.counts.categories
            raise unbounded(
                f"the probability of {some([labels[int(i)] for i in low])}",
                "concentration plus count is below 1",
            )

    def _is_at_edge(self, name: str, power: float, seen: bool, why: str) -> bool:
        """Tell whether F only grows as a parameter falls to its least value; refuse no bound."""
        own, scale = self.density.own[name], self.density.scale
        if own.power < 0 and power + own.power <= 0:
            least = self.density.events.least(name)
            raise unbounded(f"{name}", "its prior's shape is below 1", f"{least:g}")
        if power > 0 or own.power > 0:
            return False
        if not seen and own.rate == 0:
            what, remedy = REMEDIES[scale]
            raise NoMaximumError(
                f"there is no single {what}: nothing says how large {name} is, since {why}. "
                f"{remedy}"
            )
        return True

    def _owner(self, equal: IntArray | None) -> IntArray:
        """Number the unknowns: one for each active category and parameter, `equal` ones share."""
        owner = np.arange(self.f.size)
        if equal is not None:
            owner[equal] = equal.min()
        kept = np.r_[self.active, np.ones(len(self.f.names), np.bool_)]
        found = np.full(self.f.size, -1)
        found[kept] = np.unique(owner[kept], return_inverse=True)[1].reshape(-1)
        return found

    @cached_property
    def is_concave(self) -> bool:
        """Is F known to be concave: no grouped outcomes, no negative powers?"""
        return (
            self.is_concave_in_events
            and not self.has_groups
            and self.density.total >= 0
            and all(own.power >= 0 for own in self.own.values())
        )

    def start(self, rng: np.random.Generator | None) -> FloatArray:
        """Return a first place, or a random one."""
        z = self.first_place()
        if rng is not None:
            z[: self.n] = np.log(rng.dirichlet(np.ones(self.n)))
            z[self.n :] *= 2 * rng.random(self.f.size - self.n)
        z -= z[: self.n].mean() * (np.arange(self.f.size) < self.n)
        held = self.owner >= 0
        means = np.bincount(self.owner[held], z[held]) / np.bincount(self.owner[held])
        return np.where(held, means[self.owner], -np.inf)

    def recession(self) -> Recession:
        """Return the directions in which F may have no end, to be searched."""
        density = self.density
        single = density.prior + density.counts.category_counts
        return Recession(
            self.inequalities(),
            density.counts.sets,
            single,
            density.total,
            self.own,
            self.owner,
            self.n,
            self.words,
        )

    def finished(self, end: End, maxima: int) -> EventMaximum:
        """Return the maximum with everything on the boundary."""
        found = {**self.density.known, **self.edge}
        for name, log_x in zip(self.f.names, end.z[self.n :].tolist(), strict=True):
            found[name] = float(np.exp(log_x))
        parameters = {name: found[name] for name in self.density.counts.parameters}
        return EventMaximum(
            shares(end.z[: self.n]), parameters, maxima, end.precision, self.f.names
        )
