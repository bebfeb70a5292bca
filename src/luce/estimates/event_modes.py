"""Maxima of contests with ties and a home advantage: of a posterior density or of the likelihood.

    F = Σ_i (a_i + n_i) log p_i + Σ_S e_S log p(S) + log likelihood of the contests
        + Σ_x (power_x log x - rate_x x)                 x: home, and ν or θ - 1 of ties

On the simplex and on the parameters' own scale, a_i is the concentration less 1 and a power the
prior's shape less 1; in log-odds and logarithms, a_i and a power are the concentration and the
shape; for the likelihood, all of them are 0.

Single members on each side leave F concave in (log p, log h, log ν or log θ), so that one climb
finds the maximum, or `event_existence` tells why there is none.  Teams and grouped outcomes may
leave several maxima: these are climbed from several starts.

Some maxima lie on the boundary, where F only grows towards it: a category without a power is at 0,
`tie` at its least value where there was no tie, and `home` at 0 where no side at home won or tied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.comparability import comparable_groups
from luce.counts.contests import TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import some
from luce.errors import MethodError, NoMaximumError
from luce.estimates.event_existence import Recession, no_maximum
from luce.estimates.no_maximum import REMEDIES, require_compared, unbounded
from luce.model.model import Model, check_known
from luce.model.priors import Gamma
from luce.sampling.contest_posterior import (
    ContestPosterior,
    Known,
    home_power,
    numerator_powers,
)
from luce.sampling.contests import contest_problem, first_place
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.log_posterior import supported

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Longest step of a climb in one logarithm.
_LONGEST = 6.0

# Newton steps of a climb, halvings of a step, and the decrement below which a step is the last one:
# near the maximum a step about squares it.
_MOST_STEPS, _MOST_HALVINGS, _LAST = 300, 60, 1e-9

# A last step that leaves more than this share of the decrement, or more than rounding error, did
# not converge quadratically: the climb may have no end.
_SHRUNK, _ROUNDING = 1e-3, 1e-14

# A pivot below this share of its diagonal entry may be rounding error of a singular precision.
_SINGULAR = 1e-9

# Range of log p and of the parameters' logarithms beyond which a climb may have no end.
_FAR = 12.0

# With teams or grouped outcomes: random starts, the difference in p below which two ends are the
# same, the probability below which a category may be at 0, and the relative difference in height
# below which two maxima are equally high.
_MORE_STARTS, _SAME, _NEGLIGIBLE, _LEVEL = 8, 1e-6, 1e-5, 1e-9

# Total powers below this share of their terms are rounding error.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class EventDensity:
    """The function F to be maximised.

    Attributes
    ----------
    counts
        The data, whose events are contests.
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
        check_known(contests_in(counts), known)
        own = {name: Known(0.0, 0.0) for name in counts.parameters if name not in known}
        return cls(counts, np.zeros(counts.n_categories), own, known, "likelihood")

    @property
    def contests(self) -> Contests:
        """The contests of the data."""
        return contests_in(self.counts)

    @property
    def total(self) -> float:
        """The degree of F in λ, p = λ / Σ λ, without the sum: Σ a_i plus unconditional outcomes."""
        counts = self.counts
        parts = (self.prior.sum(), counts.category_counts.sum(), counts.sets.exponent.sum())
        size = np.abs(self.prior).sum() + np.abs(counts.sets.exponent).sum() + abs(parts[1])
        total = float(parts[0] + max(parts[1] + parts[2], 0.0))
        return 0.0 if abs(total) <= _CANCELLED * size else total


def contests_in(counts: ConditionalCounts) -> Contests:
    """Return the contests of the data, or refuse events of another kind."""
    events = counts.events
    if not isinstance(events, Contests):
        kind = "no events" if events is None else f"events of the kind {events.kind!r}"
        raise MethodError(f"this is offered for contests, and the data has {kind}. Use draws.")
    return events


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


def maximise_events(
    density: EventDensity, equal: IntArray | None = None, single: bool = True
) -> EventMaximum:
    """Maximise F over the probabilities and the parameters that are not known.

    Parameters
    ----------
    density
        F.
    equal
        Numbers of categories that must have the same probability.
    single
        Refuse two equally high maxima?

    Raises
    ------
    NoMaximumError
        Where there is no maximum, or not one alone; `groups` holds the groups concerned.
    """
    if density.counts.n_categories > MOST_DENSE:
        raise MethodError(
            f"maxima of contests with {density.contests.model} are found for up to {MOST_DENSE:,} "
            f"categories, whose curvature is a table of their square; there are "
            f"{density.counts.n_categories:,}. Use draws."
        )
    inside = _Inside(density, equal)
    if inside.is_concave:
        end = _climb(inside.f, inside.start(None), inside.owner)
        if not end.is_certain:
            why = no_maximum(inside.recession(), density.counts, density.scale)
            if why is not None:
                raise why
        _require(end.reached, density.scale)
        return inside.finished(end, 1)
    ends = _several_ends(inside)
    _require(bool(ends), density.scale)
    distinct: list[_End] = []
    for end in sorted(ends, key=lambda each: -each.value):
        if all(_apart(end, other, inside.n) > _SAME for other in distinct):
            distinct.append(end)
    best = distinct[0]
    _require(best.range < _FAR or best.is_certain, density.scale)
    tied = len(distinct) > 1 and distinct[1].value >= best.value - _LEVEL * (1 + abs(best.value))
    _require(not (single and tied), density.scale)
    return inside.finished(best, len(distinct))


def _require(reached: bool, scale: str) -> None:
    if not reached:
        what, remedy = REMEDIES[scale]
        raise NoMaximumError(
            f"no single {what} was reached: the density may grow without an end, or be flat in "
            f"some direction. {remedy}"
        )


class _Normalised(ContestPosterior):
    """F as a function of z = (log λ, logarithms of parameters), with p = λ / Σ λ."""

    def __init__(
        self,
        problem: Problem,
        contests: Contests,
        own: dict[str, Known],
        known: dict[str, float],
        total: float,
    ) -> None:
        super().__init__(problem._replace(total_shape=0.0), contests, own, known)
        self.total = total

    def value(self, z: FloatArray) -> float:
        """Compute F."""
        return super().value(z) - self.total * float(np.logaddexp.reduce(z[: self.n]))

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the slope of F and minus its second derivatives."""
        slope, precision = super().slope_and_precision(z)
        p = _shares(z[: self.n])
        slope[: self.n] -= self.total * p
        precision[: self.n, : self.n] += self.total * (np.diag(p) - np.outer(p, p))
        return slope, precision


class _Inside:
    """F without what is known to be on the boundary, and its unknowns."""

    def __init__(self, density: EventDensity, equal: IntArray | None) -> None:
        self.density, self.n = density, density.counts.n_categories
        contests = density.contests
        problem = self._problem(contests)
        self.active: BoolArray = supported(problem)
        if equal is not None and self.active[equal].any():
            self.active[equal] = True
        self._require_bounded(problem)
        if density.total == 0.0:
            require_compared(comparable_groups(density.counts), density.counts, density.scale)
        self.edge: dict[str, float] = {}
        contests = self._without_home(self._without_ties(contests))
        alive = np.add.reduceat(self.active[contests.members], contests.start[:-1]) > 0
        self.contests = contests.take(np.asarray(alive.reshape(-1, 2).all(axis=1)))
        own = {name: each for name, each in density.own.items() if name not in self.edge}
        known = {name: float(np.log(x)) for name, x in density.known.items()}
        self.problem = self._problem(self.contests)
        self.f = _Normalised(self.problem, self.contests, own, known, density.total)
        self.owner = self._owner(equal)

    def _problem(self, contests: Contests) -> Problem:
        density = self.density
        powers = numerator_powers(contests)
        return contest_problem(density.counts, density.prior, contests, powers)

    def _require_bounded(self, problem: Problem) -> None:
        """Refuse negative powers, with which the density has no bound."""
        low = np.flatnonzero(problem.shape < 0)
        if len(low):
            labels = self.density.counts.categories
            raise unbounded(
                f"the probability of {some([labels[int(i)] for i in low])}",
                "concentration plus count is below 1",
            )

    def _without_ties(self, contests: Contests) -> Contests:
        """Put `tie` at its least value where nothing holds it off."""
        ties = float(contests.results[:, TIE].sum())
        if "tie" not in self.density.own or not self._is_at_edge(
            "tie", ties, len(contests) > 0, "no meeting was seen"
        ):
            return contests
        self.edge["tie"] = contests.least("tie")
        return replace(contests, ties=None)

    def _without_home(self, contests: Contests) -> Contests:
        """Put `home` at 0 where nothing holds it off: the side at home then loses for certain."""
        if "home" not in self.density.own or not self._is_at_edge(
            "home", home_power(contests), bool(contests.at_home.any()), "no side was at home"
        ):
            return contests
        self.edge["home"] = 0.0
        return replace(contests.take(~contests.at_home), home=False)

    def _is_at_edge(self, name: str, power: float, seen: bool, why: str) -> bool:
        """Tell whether F only grows as a parameter falls to its least value; refuse no bound."""
        own, scale = self.density.own[name], self.density.scale
        if own.power < 0 and power + own.power <= 0:
            least = self.density.contests.least(name)
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
        """Is F known to be concave: single members, no grouped outcomes, no negative powers?"""
        return (
            bool((np.diff(self.contests.start) == 1).all())
            and not self.problem.groups.any()
            and self.density.total >= 0
            and all(own.power >= 0 for own in self.f.own.values())
        )

    def start(self, rng: np.random.Generator | None) -> FloatArray:
        """Return a first place, or a random one."""
        z = first_place(self.f)
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
        own = dict(self.f.own)
        return Recession(
            self.contests, density.counts.sets, single, density.total, own, self.owner, self.n
        )

    def finished(self, end: _End, maxima: int) -> EventMaximum:
        """Return the maximum with everything on the boundary."""
        found = {**self.density.known, **self.edge}
        for name, log_x in zip(self.f.names, end.z[self.n :].tolist(), strict=True):
            found[name] = float(np.exp(log_x))
        parameters = {name: found[name] for name in self.density.counts.parameters}
        p = _shares(end.z[: self.n])
        return EventMaximum(p, parameters, maxima, end.precision, self.f.names)


def _shares(theta: FloatArray) -> FloatArray:
    p = np.exp(theta - theta.max())
    return np.asarray(p / p.sum())


def _apart(one: _End, other: _End, n: int) -> float:
    """Measure the distance of two ends in p and in the parameters' logarithms."""
    logs = np.abs(one.z[n:] - other.z[n:]).max(initial=0.0)
    return float(max(np.abs(_shares(one.z[:n]) - _shares(other.z[:n])).max(), logs))


def _several_ends(inside: _Inside) -> list[_End]:
    """Climb from several starts; put categories at 0 where F is no lower without them."""
    rng, ends = np.random.default_rng(0), []
    for k in range(1 + _MORE_STARTS):
        end = _climb(inside.f, inside.start(None if k == 0 else rng), inside.owner)
        doubtful = np.zeros(inside.f.size, np.bool_)
        logs = end.z[: inside.n]
        doubtful[: inside.n] = (inside.problem.shape == 0) & (
            logs - logs.max() < np.log(_NEGLIGIBLE)
        )
        if (doubtful & (inside.owner >= 0)).any() and not _has_empty_side(inside, doubtful):
            owner = np.where(doubtful, -1, inside.owner)
            kept = owner >= 0
            owner[kept] = np.unique(owner[kept], return_inverse=True)[1].reshape(-1)
            lower = _climb(inside.f, np.where(kept, end.z, -np.inf), owner)
            if lower.reached and lower.value >= end.value - _LEVEL:
                end = lower
        if end.reached:
            ends.append(end)
    return ends


def _has_empty_side(inside: _Inside, dead: BoolArray) -> bool:
    """Tell whether a side of a meeting has no member left."""
    c = inside.contests
    left = np.add.reduceat(~dead[c.members] & (inside.owner[c.members] >= 0), c.start[:-1])
    return bool((left == 0).any())


class _End(NamedTuple):
    """The end of a climb: the place, F and the precision there, and how it ended.

    It is `firm` where the last step converged quadratically and the precision is far from singular.
    """

    z: FloatArray
    value: float
    precision: FloatArray
    reached: bool
    firm: bool

    @property
    def range(self) -> float:
        """Largest distance between logarithms, of probabilities or of a parameter from 0."""
        seen = self.z[np.isfinite(self.z)]
        return float(np.ptp(seen)) if len(seen) else 0.0

    @property
    def is_certain(self) -> bool:
        """Was a maximum reached beyond doubt?"""
        return self.reached and self.firm and self.range < _FAR


def _climb(f: _Normalised, z: FloatArray, owner: IntArray) -> _End:
    """Climb to a maximum; a climb without an end may leave the range of doubles."""
    with np.errstate(all="ignore"):
        return _newton(f, z, owner)


def _newton(f: _Normalised, z: FloatArray, owner: IntArray) -> _End:
    """Climb by Newton's method from z, with z_i = u[owner[i]], -1 for what does not move.

    A precision that is not definite, as with teams, is raised until it is; a step is halved until F
    does not fall.
    """
    from scipy.linalg import cho_factor, cho_solve

    held = np.flatnonzero(owner >= 0)
    unknowns = int(owner.max(initial=-1)) + 1
    fold = np.zeros((len(held), unknowns))
    fold[np.arange(len(held)), owner[held]] = 1.0
    by_scale = fold.T @ (held < f.n)
    value, decrement, last = f.value(z), np.inf, False
    slope, precision = f.slope_and_precision(z)
    for _ in range(_MOST_STEPS):
        inner = fold.T @ precision[np.ix_(held, held)] @ fold
        diagonal = np.diag(inner).clip(1e-10)
        # F does not change with the scale of λ: any curvature along it will do.
        inner += np.outer(by_scale, by_scale) * (diagonal.mean() / max(by_scale.sum(), 1.0))
        raised, factor = 0.0, None
        while factor is None and raised < 1e12:
            try:
                factor = cho_factor(inner + raised * np.diag(diagonal))
            except np.linalg.LinAlgError:
                raised = max(4 * raised, 1e-6)
            except ValueError:  # beyond doubles
                break
        if factor is None:
            break
        gradient = fold.T @ slope[held]
        step = cho_solve(factor, gradient)
        before, decrement = decrement, float(gradient @ step)
        if last:
            shrunk = decrement < max(_SHRUNK * before, _ROUNDING * (1 + abs(value)))
            firm = (np.diag(factor[0]) ** 2 > _SINGULAR * diagonal).all()
            return _End(z, value, precision, raised == 0.0, bool(shrunk and firm))
        last = decrement < _LAST
        if last and raised > 0.0:  # flat in some direction
            break
        move = np.zeros(len(z))
        move[held] = step[owner[held]] * min(1.0, _LONGEST / max(np.abs(step).max(), _LONGEST))
        for _halving in range(_MOST_HALVINGS):
            new = f.value(z + move)
            if new >= value - 1e-12 * (1 + abs(value)):
                break
            move = move / 2
        else:
            break
        z, value = z + move, new
        slope, precision = f.slope_and_precision(z)
    return _End(z, value, precision, False, False)
