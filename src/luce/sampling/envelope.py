"""Densities above the posterior: perfect draws by rejection (see `kernels.rejection`).

Where each set leaves out one atom, the posterior is Π_i p_i^(c_i - 1) (1 - p_i)^(-m_i) up to a
constant.  The simplex is divided: in the middle every p_k with m_k > 0 is at most its limit τ_k,
and corner k is p_k > τ_k >= 1/2.  Each part has a density of its own that lies above the posterior
there.  The density of a *stick* k,

    q(p) = Π_i p_i^(a_i - 1) (1 - p_k)^(-h),       p_k ~ Beta(a_k, Σ_{i≠k} a_i - h),
                                                   p_i / (1 - p_k) ~ Dirichlet(a), i ≠ k,

has the integral  w = Beta(a_k, Σ_{i≠k} a_i - h) B(a_i, i ≠ k),  and a Dirichlet is one with h = 0.

Corner k: a = c + f e_k and h = m_k.  The ratio p_k^(-f) Π_{i≠k} (1 - p_i)^(-m_i) is at most
τ_k^(-f - max_{i≠k} m_i), since a convex function of p_i, i ≠ k, is largest where one of them is
1 - p_k and the others are 0.

Middle: the ratio is Π_i p_i^(d_i) (1 - p_i)^(-m_i) (1 - p_k)^h, d = c - a, and `ratio_bound` bounds
its logarithm by M.  log w + max log ratio is convex in (d, h), since log w is the logarithm of an
integral of exponentials of linear functions and the other a maximum of linear functions.  It is
minimised by cutting planes: where the ratio is largest, one more linear function.

A proposal is drawn from part j with probability in proportion to w_j exp M_j; the share accepted is
Z / Σ_j w_j exp M_j, Z being the posterior's integral.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray
from luce.sampling.ratio_bound import bound_ratio, log_ratio

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.rejection import Envelope

# Most atoms: with more, a sweep of waiting times is as good as independent and cheaper.
MOST_ATOMS = 32

# Smallest acceptance at which rejection is chosen.  At 0.3 a perfect draw costs as much as an
# effective one by waiting times (measured on P1), and it needs no warm-up and no check.
LEAST_ACCEPTED = 0.3

# Smallest shape of an envelope: gamma variates of a smaller shape cost more and may underflow.
_LEAST_SHAPE = 0.1

# Draws from which the acceptance is estimated.
_PILOT = 2000

# Limits τ that are tried, and the weight of a corner, as a share of Z, from which a limit is low
# enough.
_LIMITS, _LIGHT = np.linspace(0.15, 0.95, 17), 0.02

# Acceptance above which no stick is tried, and the gain that makes up for one more gamma variate.
_GOOD, _WORTH_A_STICK = 0.75, 1.15

# Tolerances of the bounds in successive rounds of cutting planes, the distance from the cuts at
# which the rounds end, the cuts added in each, and the tolerance of the bound in use.
_TOLERANCES, _NEAR, _CUTS, _LAST_TOLERANCE = np.geomspace(0.1, 0.01, 10), 0.02, 6, 0.005


class Part(NamedTuple):
    """A density above the posterior in the middle or in a corner.

    Attributes
    ----------
    shape, stick, power
        a, k and h; k is -1 for a Dirichlet.
    log_bound
        M: the logarithm of posterior over density is nowhere larger in this part.
    """

    shape: FloatArray
    stick: int
    power: float
    log_bound: float

    @property
    def log_weight(self) -> float:
        """Logarithm of w exp M."""
        return _log_integral(self.shape, self.stick, self.power)[0] + self.log_bound


def fit_envelope(problem: Problem) -> tuple[Envelope, float] | None:
    """Find an envelope of a problem whose sets each leave out one atom, and its acceptance.

    Returns None where the sets leave out more atoms.  The acceptance is estimated from a pilot of
    fixed seed.
    """
    m = _left_out(problem)
    if m is None:
        return None
    c = problem.shape
    if not m.any():  # the posterior is a Dirichlet itself
        return _envelope(c, m, np.ones(len(m)), [Part(c, -1, 0.0, 0.0)]), 1.0
    limit, corners = _corners(c, m)
    parts = [_middle(c, m, limit, -1), *corners]
    accepted = _acceptance(c, m, limit, parts)
    if accepted < _GOOD:
        other = [_middle(c, m, limit, int(np.argmax(m))), *corners]
        share = _acceptance(c, m, limit, other)
        if share > _WORTH_A_STICK * accepted:
            parts, accepted = other, share
    return _envelope(c, m, limit, parts), accepted


def _log_integral(a: FloatArray, k: int, h: float) -> tuple[float, FloatArray]:
    """Compute log w, and its slopes in a and in h, which stand last."""
    from scipy.special import digamma, gammaln

    others = np.arange(len(a)) != k
    rest = a[others].sum()
    own = a[k] if k >= 0 else 0.0
    value = gammaln(a).sum() - gammaln(rest) + gammaln(rest - h) - gammaln(rest - h + own)
    slope = digamma(a) - digamma(rest - h + own)
    slope[others] += digamma(rest - h) - digamma(rest)
    return float(value), np.r_[slope, digamma(rest - h + own) - digamma(rest - h)]


def _corners(c: FloatArray, m: FloatArray) -> tuple[FloatArray, list[Part]]:
    """Choose the limits and fit the corners: as low as leaves little weight to each corner."""
    limit, corners = np.ones(len(c)), []
    light = np.log(_LIGHT / np.count_nonzero(m)) + _rough_log_integral(c, m)
    for k in np.flatnonzero(m).tolist():
        tilts, weights = _corner_weights(c, m, k)
        best = weights.argmin(axis=1)
        enough = np.flatnonzero(weights.min(axis=1) < light)
        row = int(enough[0]) if len(enough) else len(_LIMITS) - 1
        tilt, limit[k] = float(tilts[best[row]]), _LIMITS[row]
        log_bound = -(tilt + np.delete(m, k).max()) * np.log(limit[k])
        corners.append(Part(c + tilt * (np.arange(len(c)) == k), k, float(m[k]), float(log_bound)))
    return limit, corners


def _corner_weights(c: FloatArray, m: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return tilts f, and the log weights of corner k, shape (limits, tilts); all are bounds."""
    from scipy.special import betaln, gammaln

    tilts = np.r_[0.0, np.geomspace(0.1, 10.0 * (c.sum() + 1.0), 60)]
    others = np.delete(c, k)
    whole = betaln(c[k] + tilts, others.sum() - m[k]) + gammaln(others).sum()
    bound = -np.multiply.outer(np.log(_LIMITS), tilts + np.delete(m, k).max())
    return tilts, np.asarray(whole - gammaln(others.sum()) + bound)


def _rough_log_integral(c: FloatArray, m: FloatArray) -> float:
    """Estimate log Z from draws of Dir(c); it chooses limits, and no bound depends on it."""
    p = np.random.default_rng(0).dirichlet(c, _PILOT)
    logs = log_ratio(np.zeros(len(c)), m, np.clip(p, 1e-300, 1 - 1e-9))
    mean = np.logaddexp.reduce(logs) - np.log(_PILOT)
    return _log_integral(c, -1, 0.0)[0] + float(mean)


def _middle(c: FloatArray, m: FloatArray, limit: FloatArray, k: int) -> Part:
    """Minimise log w + M by cutting planes; k is the stick, -1 for none.

    Equal atoms are treated alike, so there is one unknown d for each kind; the others are h and t,
    which is above all cuts.
    """
    from scipy.optimize import LinearConstraint, minimize

    kinds, kind = _kinds_of(c, m, limit, k)
    number = len(kinds)
    highest = np.minimum(0.95 * c, c - _LEAST_SHAPE)[kinds]
    most = 0.0 if k < 0 else float(min(m[k], np.delete(c, k).sum() - _LEAST_SHAPE))
    members = np.eye(number)[kind]  # shape (atoms, kinds)

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        value, slope = _log_integral(c - members @ z[:number], k, z[number])
        return value + z[-1], np.r_[-slope[:-1] @ members, slope[-1], 1.0]

    def ratio(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return members @ z[:number], m - z[number] * (np.arange(len(m)) == k)

    z, rows, least = np.empty(0), np.empty((0, number + 2)), np.empty(0)
    if k >= 0:  # the shape of 1 - p_k stays positive
        others = np.arange(len(m)) != k
        rows = np.r_[-members[others].sum(axis=0), -1.0, 0.0][None]
        least = np.array([_LEAST_SHAPE - c[others].sum()])
    x = _first_points(c, limit, kinds)
    for tolerance in _TOLERANCES.tolist():
        slope = np.log1p(-x[:, k]) if k >= 0 else np.zeros(len(x))
        rows = np.r_[rows, np.c_[-np.log(x) @ members, -slope, np.ones(len(x))]]
        least = np.r_[least, log_ratio(np.zeros(len(m)), m, x)]
        if not len(z):
            z = np.r_[0.1 * highest, most / 2, 0.0]
        z[-1] = (least - rows[:, :-1] @ z[:-1]).max()
        z = minimize(
            loss,
            z,
            jac=True,
            bounds=[*((1e-3 * h, h) for h in highest.tolist()), (0.0, most), (None, None)],
            constraints=LinearConstraint(rows, least, np.inf),
            method="SLSQP",
            options={"maxiter": 60, "ftol": 1e-4},
        ).x
        found = bound_ratio(*ratio(z), limit, kinds, tolerance)
        if found.bound <= z[-1] + _NEAR:
            break
        x = found.points[:_CUTS]
    z[:number] = np.clip(z[:number], 1e-3 * highest, highest)
    d, left = ratio(z)
    return Part(
        c - d, k, float(z[number]), bound_ratio(d, left, limit, kinds, _LAST_TOLERANCE).bound
    )


def _first_points(c: FloatArray, limit: FloatArray, kinds: IntArray) -> FloatArray:
    """Return the centre, and points between it and the limit of each kind of atom."""
    centre = np.maximum(c, 1e-3) / np.maximum(c, 1e-3).sum()
    points = [centre]
    for k in kinds.tolist():
        for s in np.linspace(centre[k], min(limit[k], 0.99), 4)[1:].tolist():
            x = centre * ((1.0 - s) / (1.0 - centre[k]))
            x[k] = s
            points.append(x)
    return np.array(points)


def _kinds_of(c: FloatArray, m: FloatArray, limit: FloatArray, k: int) -> tuple[IntArray, IntArray]:
    """Find one atom of each kind, and the kind of each atom; the stick is a kind of its own."""
    traits = np.stack([c, m, limit, np.arange(len(c)) == k])
    _, kinds, kind = np.unique(traits, axis=1, return_index=True, return_inverse=True)
    return kinds.astype(np.int64), kind.reshape(-1).astype(np.int64)


def _acceptance(c: FloatArray, m: FloatArray, limit: FloatArray, parts: list[Part]) -> float:
    """Estimate the share of proposals that is kept."""
    weights = np.array([part.log_weight for part in parts])
    chance = np.exp(weights - np.logaddexp.reduce(weights))
    rng, kept = np.random.default_rng(0), 0.0
    for j, part in enumerate(parts):
        if chance[j] > 1e-4:
            p = np.clip(_draws(rng, part, _PILOT), 1e-300, 1 - 1e-15)
            inside = (p <= limit).all(axis=1) if j == 0 else p[:, part.stick] > limit[part.stick]
            left = m - part.power * (np.arange(len(m)) == part.stick)
            logs = log_ratio(c - part.shape, left, p) - part.log_bound
            kept += chance[j] * float((np.exp(logs) * inside).mean())
    return float(kept)


def _draws(rng: np.random.Generator, part: Part, number: int) -> FloatArray:
    """Draw from the density of a part."""
    if part.stick < 0:
        return rng.dirichlet(part.shape, number)
    k = part.stick
    others = np.delete(part.shape, k)
    own = rng.beta(part.shape[k], others.sum() - part.power, number)
    return np.insert(rng.dirichlet(others, number) * (1.0 - own)[:, None], k, own, axis=1)


def _envelope(c: FloatArray, m: FloatArray, limit: FloatArray, parts: list[Part]) -> Envelope:
    from luce.kernels.log_powers import make_powers
    from luce.kernels.problem import gamma_spreads
    from luce.kernels.rejection import Envelope

    shape = np.stack([part.shape for part in parts])
    stick = np.array([part.stick for part in parts], np.int64)
    tail = np.array(
        [np.delete(p.shape, p.stick).sum() - p.power if p.stick >= 0 else 1.0 for p in parts]
    )
    weights = np.array([part.log_weight for part in parts])
    middle = parts[0]
    left = m - middle.power * (np.arange(len(m)) == middle.stick)
    powers = make_powers(c - middle.shape), make_powers(-left)
    return Envelope(
        shape=shape,
        spread=gamma_spreads(shape),
        stick=stick,
        tail=tail,
        tail_spread=gamma_spreads(tail),
        below=np.cumsum(np.exp(weights - np.logaddexp.reduce(weights))),
        log_bound=np.array([part.log_bound for part in parts]),
        limit=limit,
        left_out=m,
        powers=powers[0],
        complement_powers=powers[1],
        total_power=float((c - middle.shape).sum() - left.sum()),
        tilt=np.array([p.shape[p.stick] - c[p.stick] for p in parts]),
    )


def _left_out(problem: Problem) -> FloatArray | None:
    """Find m_i of the set that leaves out atom i, 0 where none does; None if sets leave out more.

    A set that leaves out one atom is stored as that atom, or as all the others.
    """
    n, listed = len(problem.shape), np.diff(problem.nest_start)
    simple = (
        n <= MOST_ATOMS
        and problem.wide is None
        and problem.weights is None
        and (np.diff(problem.set_start) == 1).all()
        and (listed == np.where(problem.complement, 1, n - 1)).all()
        and (problem.groups == 0).all()
        and (problem.shape > 2 * _LEAST_SHAPE).all()
    )
    if not simple:
        return None
    m = np.zeros(n)
    if not len(listed):
        return m
    atom = np.add.reduceat(problem.members, problem.nest_start[:-1])
    atom = np.where(problem.complement, atom, n * (n - 1) // 2 - atom)
    m[atom] = problem.waits
    return m
