"""Priors of a posterior: Dirichlet distributions and Dirichlet processes, as objects.

Every prior has the same interface: `shapes(counts)`, the parameters of the Dirichlet distribution
on the categories of some counts; `hyperprior`, the distribution of the concentration, None where
the concentration is a number; `remainder_place(counts)`, the index of the category that stands for
all categories not seen yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TypeAlias

import numpy as np

from luce._types import Concentration, FloatArray, Label
from luce.counts.attainable import check_attainable
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import as_mapping, is_hashable, read_number, some
from luce.errors import DataError, UncheckedDataWarning, warn_user

# Difference of the base's total mass from 1 that is treated as rounding error.
_ROUNDING = 1e-12

# Largest total number of set members for which `_check_known` tests the data; larger data is taken
# as it is, with a warning.
_MOST_MEMBERS = 20_000_000


# Range of the prior's parameters.  Log probabilities reach -40 / a, and differences between them
# must keep their digits; above the largest, single outcomes would be lost in sums with the prior.
LEAST_CONCENTRATION, MOST_CONCENTRATION = 1e-10, 1e15


@dataclass(frozen=True)
class Gamma:
    """Gamma distribution with density proportional to a^(shape - 1) exp(-rate a).

    Given as the prior of a posterior, it stands for ``Dirichlet(Gamma(shape, rate))``: one
    concentration, common to all categories, that is drawn along with the probabilities.

    Parameters
    ----------
    shape, rate
        Positive numbers; the mean is shape / rate.

    Examples
    --------
    >>> Gamma(2, 1).mean
    2.0
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = read_number(getattr(self, name), name)
            if value <= 0:
                raise DataError(f"{name} = {value:g}; a gamma prior needs a positive one.")
            object.__setattr__(self, name, value)
        if not (np.isfinite(self.mean) and self.mean > 0):
            raise DataError(f"shape / rate = {self.mean:g}; it must be positive and finite.")

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        return float(np.float64(self.shape) / self.rate)


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Dirichlet prior of the probabilities of known categories.

    Parameters
    ----------
    concentration
        One positive number for all categories, one for each, or a mapping from labels to numbers;
        or a `Gamma`, the prior of one common number that is drawn too.

    Examples
    --------
    >>> Dirichlet(2.0).shapes(ConditionalCounts("ab"))
    array([2., 2.])
    """

    concentration: Concentration | Gamma = 1.0

    @property
    def hyperprior(self) -> Gamma | None:
        """Distribution of the concentration; None where the concentration is a number."""
        return self.concentration if isinstance(self.concentration, Gamma) else None

    @property
    def is_fixed(self) -> bool:
        """Is the concentration a number, and not drawn?"""
        return self.hyperprior is None

    def shapes(self, counts: ConditionalCounts) -> FloatArray:
        """Return the parameter of each category, at the mean of a concentration that is drawn."""
        given = self.concentration
        return read_concentration(counts, given.mean if isinstance(given, Gamma) else given)

    def remainder_place(self, counts: ConditionalCounts) -> None:
        """Return None: a Dirichlet distribution has no categories without a name."""

    def __repr__(self) -> str:
        given = self.concentration
        if isinstance(given, Gamma):
            return f"Dirichlet(a), a ~ {given!r}"
        a = np.asarray(list(given.values()) if isinstance(given, Mapping) else given, float)
        same = bool((a == a.flat[0]).all())
        return f"Dirichlet({a.flat[0]:g})" if same else f"Dirichlet({a.min():g} to {a.max():g})"


@dataclass(frozen=True)
class DirichletProcess:
    """Dirichlet process DP(γ, H): a prior over categories of which most have never been seen.

        (p_1, ..., p_K, p_rest)  ~  Dir(γ H(1), ..., γ H(K), γ (1 - Σ H(k)))

        γ         concentration: large, many categories share the mass; small, few do
        H(k)      base: its mass on category k; the rest of H is diffuse, it never repeats itself
        p_rest    remainder: the mass of all categories that have no name yet

    The categories of the posterior's counts are those that were seen, those of the base, and the
    remainder.  A term ``without=`` some categories keeps the remainder possible, and a term
    ``within=`` some truncates it.  A category without base mass must have been seen: its H(k) is 0,
    and its shape is its count.

    Parameters
    ----------
    concentration
        A positive number; or its `Gamma` prior, and then the concentration is drawn too.
    base
        Masses of labels, at most 1 together; none unless given.  If they are 1 together, the
        process is a Dirichlet distribution and has no remainder.
    remainder
        The label of the remainder.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})
    >>> luce.Posterior(counts, DirichletProcess(1.0)).mean().values
    array([0.6, 0.2, 0.2])
    """

    concentration: float | Gamma
    base: Mapping[Label, float] | None = None
    remainder: Label = "remainder"

    def __post_init__(self) -> None:
        if not isinstance(self.concentration, Gamma):
            number = read_number(self.concentration, "concentration")
            if number <= 0:
                raise DataError(f"concentration = {number:g}; a process needs a positive one.")
            object.__setattr__(self, "concentration", number)
        if not is_hashable(self.remainder):
            raise DataError(f"{self.remainder!r} cannot be a label: labels must be hashable.")
        given = as_mapping({} if self.base is None else self.base, "base")
        if not isinstance(given, Mapping):
            raise DataError("base must map labels to masses, as in {'a': 0.5}.")
        masses = {label: read_number(mass, label) for label, mass in given.items()}
        if any(mass <= 0 for mass in masses.values()):
            raise DataError("every mass of the base must be positive; leave labels of no mass out.")
        if sum(masses.values()) > 1 + _ROUNDING:
            raise DataError(f"the base's masses are {sum(masses.values()):g} together; at most 1.")
        if self.remainder in masses:
            raise DataError(f"{self.remainder!r} is the remainder; its mass is what others leave.")
        object.__setattr__(self, "base", masses)

    @property
    def mean_concentration(self) -> float:
        """γ, or its prior mean."""
        given = self.concentration
        return given.mean if isinstance(given, Gamma) else float(given)

    @property
    def diffuse(self) -> float:
        """The mass of H that is on no label."""
        left = 1.0 - sum((self.base or {}).values())
        return left if left > _ROUNDING else 0.0

    @property
    def hyperprior(self) -> Gamma | None:
        """Distribution of γ; None where γ is a number."""
        return self.concentration if isinstance(self.concentration, Gamma) else None

    @property
    def is_fixed(self) -> bool:
        """Is γ a number, and not drawn?"""
        return self.hyperprior is None

    def remainder_place(self, counts: ConditionalCounts) -> int | None:
        """Return the remainder's number among the categories; None where there is none."""
        if not self.diffuse or self.remainder not in counts.categories:
            return None
        return list(counts.categories).index(self.remainder)

    def shapes(self, counts: ConditionalCounts) -> FloatArray:
        """Return γ H(k) of each category and of the remainder; 0 for categories without base mass.

        Parameters
        ----------
        counts
            The data; each category without base mass must have a count.
        """
        shapes = self.mean_concentration * self.weights(counts)
        check_range(
            shapes[shapes > 0].min(initial=1.0), "the smallest concentration times base mass"
        )
        check_range(shapes.max(initial=1.0), "the largest concentration times base mass")
        shapes.setflags(write=False)
        return shapes

    def weights(self, counts: ConditionalCounts) -> FloatArray:
        """Return H(k) of each category and of the remainder, checked against the counts.

        Parameters
        ----------
        counts
            The data.
        """
        base = dict(self.base or {})
        labels = list(counts.categories)
        missing = [label for label in base if label not in set(labels)]
        if missing:
            raise DataError(
                f"{some(missing)} of the base {'is' if len(missing) == 1 else 'are'} not among the "
                "categories; name them there."
            )
        if self.diffuse and self.remainder not in set(labels):
            raise DataError(
                f"the categories have no {self.remainder!r}, where all that have no name yet are: "
                f"use luce.ConditionalCounts([*labels, {self.remainder!r}]). A term without= some "
                "keeps it possible, a term within= some truncates it."
            )
        if self.diffuse:
            base[self.remainder] = self.diffuse
        weights = np.array([base.get(label, 0.0) for label in labels])
        new = np.flatnonzero(weights == 0)
        if len(new) and not self.diffuse:
            raise DataError(
                f"{some([labels[i] for i in new])} cannot occur: the base has all its mass on "
                "other labels."
            )
        unseen = new[counts.category_counts[new] == 0]
        if len(unseen):
            raise DataError(
                f"{some([labels[i] for i in unseen])} was never seen and has no mass in the base: "
                "a category of a Dirichlet process needs a count of its own or base mass. Leave it "
                "to the remainder."
            )
        _check_known(counts, weights)
        return weights


# Prior of each parameter beside the probabilities, by the name of its argument, unless given: the
# factor of the side at home, and ν or θ - 1 of ties.
PARAMETER_PRIORS = {"home": Gamma(2.0, 2.0), "tie": Gamma(1.0, 1.0)}

# Prior of a parameter, or its value where it is known.
ParameterPrior: TypeAlias = Gamma | float


def read_parameter_priors(
    names: Sequence[str], given: Mapping[str, ParameterPrior | Mapping[str, ParameterPrior] | None]
) -> dict[str, ParameterPrior]:
    """Read the prior or the value of each parameter that data has beside the probabilities.

    Parameters
    ----------
    names
        The parameters; tie2, tie3 and so on belong to the argument `tie`.
    given
        Arguments by name; the default where one is None, and a mapping from the names of the
        parameters where these differ.
    """
    found = {}
    for argument, default in PARAMETER_PRIORS.items():
        own = [name for name in names if name.rstrip("0123456789") == argument]
        prior = given.get(argument)
        if prior is not None and not own:
            raise DataError(
                f"{argument} = {prior!r} was given, but the data has no parameter {argument!r}: "
                f"{_NO_PARAMETER[argument]}"
            )
        if isinstance(prior, Mapping):
            extra = [name for name in prior if name not in own]
            if extra:
                raise DataError(f"{argument} names {some(extra)}; the parameters are {some(own)}.")
        for name in own:
            one = prior.get(name) if isinstance(prior, Mapping) else prior
            found[name] = _read_parameter_prior(name, default if one is None else one)
    return {name: found[name] for name in names}


_NO_PARAMETER = {
    "home": "read it with home='first' or a column, which makes the advantage a parameter.",
    "tie": "read it with ties='davidson' or ties='rao-kupper', which make it one.",
}


def _read_parameter_prior(name: str, given: object) -> ParameterPrior:
    if isinstance(given, Gamma):
        return given
    # True is no number here: home=True would say that the advantage is known to be none.
    number = isinstance(given, Real) and not isinstance(given, bool)
    value = float(given) if number else math.nan  # type: ignore[arg-type]
    if not 0 < value < math.inf:
        raise DataError(
            f"{name} = {given!r}; a Gamma prior, or a positive number where it is known, is needed."
        )
    return value


# Priors as objects, and everything that `Posterior` reads as a prior.
Prior: TypeAlias = Dirichlet | DirichletProcess
PriorLike: TypeAlias = Concentration | Gamma | Prior


def as_prior(given: PriorLike) -> Prior:
    """Read a prior: a number, numbers or a `Gamma` stand for a Dirichlet distribution."""
    if isinstance(given, Dirichlet | DirichletProcess):
        return given
    return Dirichlet(given)


def read_concentration(counts: ConditionalCounts, given: Concentration) -> FloatArray:
    """Read one positive number for each category; the array cannot be written to."""
    n = counts.n_categories
    given = as_mapping(given, "concentration")
    if isinstance(given, Mapping):
        missing = [c for c in counts.categories if c not in given]
        known = set(counts.categories)
        extra = [label for label in given if label not in known]
        if missing or extra:
            raise DataError(
                f"concentration must name each category once; {len(missing)} are missing"
                + (f" ({some(missing)})" if missing else "")
                + f" and {len(extra)} are not categories"
                + (f" ({some(extra)})." if extra else ".")
            )
        given = [given[c] for c in counts.categories]
    try:
        a = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"concentration must be numbers; {given!r} was given.") from None
    if a.ndim > 1 or (a.ndim == 1 and len(a) != n):
        raise DataError(
            f"concentration has shape {a.shape}; one number, or {n} of them, one for each "
            "category, are needed."
        )
    a = np.array(np.broadcast_to(a, n))
    if not (np.isfinite(a) & (a > 0)).all():
        i = int(np.argmin(np.isfinite(a) & (a > 0)))
        raise DataError(
            f"the concentration of {counts.categories[i]!r} is {a[i]:g}; it must be positive "
            "and finite."
        )
    check_range(a.min(), "the smallest concentration")
    check_range(a.max(), "the largest concentration")
    a.setflags(write=False)
    return a


def check_range(value: float, what: str) -> None:
    """Refuse a parameter of the prior with which doubles would lose either data or prior."""
    if not LEAST_CONCENTRATION <= value <= MOST_CONCENTRATION:
        raise DataError(
            f"{what} is {value:g}; from {LEAST_CONCENTRATION:g} to {MOST_CONCENTRATION:g} are "
            "worked with. Beyond, 64-bit numbers lose the prior or the data."
        )


def _check_known(counts: ConditionalCounts, weights: FloatArray) -> None:
    """Refuse named atoms of unknown total probability, such as two seen only in their duels.

    For all F among the atoms without base mass, more outcomes must lie in F than were conditioned
    on sets inside F: else the density is not integrable at p(F) = 0.  The condition holds if the
    counts stay attainable with slightly fewer outcomes of each of these atoms and arbitrarily many
    of all others.
    """
    family, new = counts.sets, weights == 0
    if not new.any() or family.n_sets == 0:
        return
    if family.sizes.sum() > _MOST_MEMBERS:
        warn_user(
            UncheckedDataWarning(
                f"the sets have {family.sizes.sum():,} members, more than {_MOST_MEMBERS:,}: it "
                "is not checked that data says something of the total probability of the "
                "categories without base mass. If these were only ever seen given that the "
                "outcome lay among themselves, the posterior does not exist."
            )
        )
        return
    values = np.r_[counts.category_counts, family.exponent]
    if (values % 1 == 0).all() and np.abs(values).max() * (new.sum() + 1) < 2**53:
        scale = float(new.sum() + 1)  # whole numbers stay whole, and are compared exactly
        less = counts.category_counts * scale - new
    else:
        scale, less = 1.0, counts.category_counts * (1 - 1e-9 * new)
    plenty = np.where(new, 0.0, scale * np.abs(family.exponent).sum())
    try:
        scaled = replace(family, exponent=family.exponent * scale)
        check_attainable(list(counts.categories), less + plenty, scaled)
    except DataError:
        raise DataError(
            "some categories were only ever seen given that the outcome lay among themselves: "
            "data says nothing of their total probability, and a Dirichlet process has no prior "
            "of it. Observe one of them under a wider condition, or give one base mass."
        ) from None
