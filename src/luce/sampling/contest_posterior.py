"""The log posterior of contests, with its slope and precision, by NumPy.

Every denominator of a contest is a sum of exponentials of linear forms of
y = (log A, log B, log h, τ), with τ = log ν or log θ:

    no ties       log A + log h,   log B
    Davidson      log A + log h,   log B,   τ + (log A + log h + log B) / 2
    Rao-Kupper    log A + log h,   τ + log B         and         τ + log A + log h,   log B

so that with the shares π_k of the terms in D and the forms' coefficients g_k, log D has the slope
ḡ = Σ π_k g_k and the second derivative Σ π_k g_k g_k' - ḡ ḡ', which is never negative: with single
winners the log posterior is concave in (log λ, log h, τ).  Numerators of contests are among the
powers of the problem.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.sampling.log_posterior import LogPosterior

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from luce.kernels.problem import Problem

# Coefficients of the linear forms of each denominator, by (log A, log B, log h, τ).
_FORMS = {
    None: (((1, 0, 1, 0), (0, 1, 0, 0)),),
    "davidson": (((1, 0, 1, 0), (0, 1, 0, 0), (0.5, 0.5, 0.5, 1)),),
    "rao-kupper": (((1, 0, 1, 0), (0, 1, 0, 1)), ((1, 0, 1, 1), (0, 1, 0, 0))),
}

# Columns of the forms.
_HOME, _TIE = 2, 3


class Known(NamedTuple):
    """Power and rate of a parameter's own density, x^power exp(-rate x), x its excess."""

    power: float
    rate: float


class ContestPosterior:
    """Log posterior f of z = (log λ, the logarithms of the drawn parameters).

    Parameters
    ----------
    problem
        Powers of the categories and sets, numerators of the contests included.
    contests
        The contests, whose denominators are powers too.
    own
        The density of each drawn parameter, by its logarithm for home and Davidson's tie: the prior
        Gamma(a, b) is ``Known(a, b)``.  The last coordinate is log θ for Rao and Kupper's.
    known
        Logarithms of parameters that are not drawn; log θ for Rao and Kupper's.
    """

    def __init__(
        self,
        problem: Problem,
        contests: Contests,
        own: dict[str, Known],
        known: dict[str, float],
    ) -> None:
        self.base, self.contests, self.own, self.known = LogPosterior(problem), contests, own, known
        self.n = len(problem.shape)
        self.names = tuple(own)
        self.size = self.n + len(own)
        forms = _FORMS[contests.ties]
        self._forms = [np.array(each, np.float64) for each in forms]
        self._powers = denominator_powers(contests)
        self.home_power = home_power(contests)
        self.tie_power = float(contests.results[:, TIE].sum())

    @cached_property
    def _spread_over(self) -> csr_array:
        """Matrix of sides by categories: the weight of each member."""
        from scipy.sparse import csr_array

        c = self.contests
        weights = np.ones(len(c.members)) if c.weights is None else np.array(c.weights)
        return csr_array((weights, c.members, c.start), (2 * len(c), self.n))

    def value(self, z: FloatArray) -> float:
        """Compute f(z)."""
        value = self.base.at(z[: self.n]).value + self._own_value(z)
        logs, _ = self._sides(z)
        for forms, power in zip(self._forms, self._powers, strict=True):
            whole, _ = self._shares(logs, forms, z)
            value -= float(power @ whole)
        return value if np.isfinite(value) else -np.inf

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the slope of f and minus its second derivatives."""
        from scipy.sparse import csr_array, diags_array

        at = self.base.at(z[: self.n])
        slope, precision = np.zeros(self.size), np.zeros((self.size, self.size))
        slope[: self.n] = self.base.slope(at)
        precision[: self.n, : self.n] = self.base.precision(at)
        logs, shares = self._sides(z)
        by_side = np.zeros((len(logs), 4))
        squares = np.zeros((len(logs), 4, 4))
        for forms, power in zip(self._forms, self._powers, strict=True):
            _, parts = self._shares(logs, forms, z)
            mean = parts @ forms
            mean[:, _HOME] *= self.contests.at_home
            seen = np.broadcast_to(forms, (len(logs), *forms.shape)).copy()
            seen[:, :, _HOME] *= self.contests.at_home[:, None]
            centred = seen - mean[:, None, :]
            by_side -= power[:, None] * mean
            squares += np.einsum("t,tk,tki,tkj->tij", power, parts, centred, centred)
        # From (log A, log B) of each meeting to the categories.
        one, two = shares[::2], shares[1::2]
        sides = (one, two)
        slope[: self.n] += one.T @ by_side[:, 0] + two.T @ by_side[:, 1]
        block = precision[: self.n, : self.n]
        for i, left in enumerate(sides):
            for j, right in enumerate(sides):
                block += (left.T @ diags_array(squares[:, i, j]) @ right).toarray()
            if not self.contests.are_pairs:
                # log A = log Σ a_i λ_i has the second derivative diag(q) - q q'.
                block += (left.T @ diags_array(by_side[:, i]) @ left).toarray()
                block -= np.diag(csr_array(left).T @ by_side[:, i])
        for at_, name in enumerate(self.names, self.n):
            k = _HOME if name == "home" else _TIE
            slope[at_] += by_side[:, k].sum()
            for i, side in enumerate(sides):
                cross = side.T @ squares[:, i, k]
                precision[: self.n, at_] += cross
                precision[at_, : self.n] += cross
            for other_at, other in enumerate(self.names, self.n):
                k_other = _HOME if other == "home" else _TIE
                precision[at_, other_at] += squares[:, k, k_other].sum()
        self._add_own(z, slope, precision)
        return slope, precision

    def _sides(self, z: FloatArray) -> tuple[FloatArray, csr_array]:
        """Return log A and log B of each meeting, and each member's share of its side."""
        from scipy.sparse import csr_array, diags_array

        theta = z[: self.n]
        top = float(theta.max())
        x = np.exp(theta - top)
        spread = self._spread_over
        with np.errstate(divide="ignore"):
            sums = spread @ x
            logs = np.log(sums) + top
            shares = csr_array(diags_array(1.0 / sums) @ spread @ diags_array(x))
        return logs.reshape(-1, 2), shares

    def _shares(
        self, logs: FloatArray, forms: FloatArray, z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute log D of each meeting, and the shares of its terms."""
        home, tie = (self._coordinate(name, z) for name in ("home", "tie"))
        terms = logs @ forms[:, :_HOME].T + tie * forms[:, _TIE]
        terms = terms + home * np.outer(self.contests.at_home, forms[:, _HOME])
        whole = np.logaddexp.reduce(terms, axis=1)
        return whole, np.exp(terms - whole[:, None])

    def _coordinate(self, name: str, z: FloatArray) -> float:
        if name in self.names:
            return float(z[self.n + self.names.index(name)])
        return self.known.get(name, 0.0)

    def _own_value(self, z: FloatArray) -> float:
        """Compute the terms of f in the parameters alone."""
        value = 0.0
        if self.contests.home:
            value += self.home_power * self._coordinate("home", z)
        if self.contests.ties is not None:
            tau = self._coordinate("tie", z)
            if self.contests.ties == "davidson":
                value += self.tie_power * tau
            elif self.tie_power > 0:
                value += self.tie_power * float(np.log(np.expm1(2 * tau))) if tau > 0 else -np.inf
        for name, own in self.own.items():
            x = np.exp(self._coordinate(name, z))
            if name == "tie" and self.contests.ties == "rao-kupper":
                x = np.expm1(self._coordinate(name, z))
                if x <= 0:
                    return -np.inf
            value += own.power * float(np.log(x)) - own.rate * float(x)
        return value

    def _add_own(self, z: FloatArray, slope: FloatArray, precision: FloatArray) -> None:
        """Add slope and precision of the terms in the parameters alone."""
        for at, (name, own) in enumerate(self.own.items(), self.n):
            x = float(np.exp(z[at]))
            if name == "tie" and self.contests.ties == "rao-kupper":
                s, t = x - 1.0, self.tie_power
                slope[at] += (own.power + t) * x / s + t * x / (s + 2.0) - own.rate * x
                precision[at, at] += (own.power + t) * x / s**2 - t * x / (s + 2.0) ** 2
                precision[at, at] += own.rate * x
                continue
            power = self.home_power if name == "home" else self.tie_power
            slope[at] += own.power + power - own.rate * x
            precision[at, at] += own.rate * x


def denominator_powers(contests: Contests) -> list[FloatArray]:
    """Return the number of outcomes that each denominator of the meetings is a power of."""
    r = contests.results
    if contests.ties == "rao-kupper":
        return [r[:, FIRST] + r[:, TIE], r[:, SECOND] + r[:, TIE]]
    return [r.sum(axis=1)]


def numerator_powers(contests: Contests) -> FloatArray:
    """Return the power of each side's strength in the numerators, shape (meetings, 2)."""
    share = {None: 0.0, "davidson": 0.5, "rao-kupper": 1.0}[contests.ties]
    return np.asarray(contests.results[:, :TIE] + share * contests.results[:, TIE:])


def home_power(contests: Contests) -> float:
    """Return the power of h in the numerators."""
    return float(numerator_powers(contests)[contests.at_home, 0].sum())
