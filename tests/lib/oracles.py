"""Independent truths for the tests: slow, plain, and sharing no code with luce.

Sets are frozensets of category numbers, a family is ``{set: exponent}``.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import mpmath
import numpy as np

Set = frozenset[int]
Family = dict[Set, float]


class Canonical(NamedTuple):
    """Category counts and the sets of 2..n-1 categories with nonzero exponents."""

    counts: list[float]
    family: Family


def canonical_form(n: int, terms: Iterable[tuple[Iterable[int], float]]) -> Canonical:
    """Add up equal sets, fold singletons, drop the full set and what cancels.

    Sums are exact where the exponents are multiples of a power of two.
    """
    total: Family = {}
    for members, exponent in terms:
        key = frozenset(members)
        total[key] = total.get(key, 0.0) + exponent
    full = frozenset(range(n))
    counts = [total.get(frozenset([i]), 0.0) for i in range(n)]
    if n == 1:
        counts = [0.0]  # the only category is the full set, whose probability is 1
    family = {s: e for s, e in total.items() if e != 0 and len(s) > 1 and s != full}
    return Canonical(counts, family)


def log_likelihood(p: Sequence[float], counts: Sequence[float], family: Family) -> float:
    """Sum of exponents times logarithms, every set summed from its members."""
    single = [c * math.log(x) for c, x in zip(counts, p, strict=True) if c]
    grouped = [e * math.log(math.fsum(p[i] for i in s)) for s, e in family.items()]
    return math.fsum(single + grouped)


# -- structure ------------------------------------------------------------------------------


class BruteStructure(NamedTuple):
    """Atoms, and the overlap classes of at least two sets."""

    n_atoms: int
    classes: list[list[Set]]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Sorted (number of cells, number of sets) of the classes of two sets or more."""
        return sorted((len(cells_of(c)), len(c)) for c in self.classes if len(c) > 1)


def overlap(a: Set, b: Set) -> bool:
    """Do the sets meet without one holding the other?"""
    return bool(a & b) and not a <= b and not b <= a


def brute_structure(
    n: int, sets: Iterable[Set], joined: Callable[[Set, Set], bool] = overlap
) -> BruteStructure:
    """Compare every set with every other; classes are the components of `joined`."""
    left = list(sets)
    atoms = {frozenset(s for s in left if i in s) for i in range(n)}
    classes = []
    while left:
        component = [left.pop()]
        for member in component:  # grows while it is read
            near = [s for s in left if joined(member, s)]
            component += near
            left = [s for s in left if s not in near]
        classes.append(component)
    return BruteStructure(len(atoms), classes)


def cells_of(sets: Iterable[Set]) -> set[Set]:
    """The parts into which the sets cut their union."""
    listed = list(sets)
    cells: dict[tuple[bool, ...], set[int]] = {}
    for i in frozenset().union(*listed):
        cells.setdefault(tuple(i in s for s in listed), set()).add(i)
    return {frozenset(c) for c in cells.values()}


# -- integrals ------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Posterior mean and variance of each category, and the log of the evidence."""

    mean: np.ndarray
    variance: np.ndarray
    log_evidence: float


def simplex_quadrature(exponents: Family, concentration: Sequence[float]) -> Moments:
    """Integrate over the simplex of three or four categories by the trapezoidal rule.

    Stick-breaking proportions are logistic functions of u.  In u the integrand is analytic in
    a strip of half-width pi, decays at least as exp(-min(concentration) |u|), and is no
    narrower than a normal of standard deviation 2 / sqrt(N) with N the sum of all exponents:
    the rule with step h then errs by exp(-2 pi^2 / h), exp(-8 pi^2 / (N h^2)) and, cut off at
    `reach`, exp(-min(concentration) * reach), all below 1e-13 here.  Singletons may be among
    the exponents.  Meant for concentrations of 0.3 and more and N up to some hundreds.
    """
    a = np.asarray(concentration, np.float64)
    n = len(a)
    weight = a.sum() + sum(abs(e) for e in exponents.values())
    h = min(0.25, 1.5 / math.sqrt(weight))
    reach = 31.0 / a.min()
    u = np.arange(-reach, reach + h, h)
    log_yes, log_no = -np.logaddexp(0, -u), -np.logaddexp(0, u)
    axes = np.meshgrid(*[np.arange(len(u))] * (n - 2), indexing="ij", sparse=True)

    constant = math.lgamma(a.sum()) - sum(math.lgamma(x) for x in a)
    peak, mass = -math.inf, 0.0
    first, second = np.zeros(n), np.zeros(n)
    for k in range(len(u)):  # one slab at a time, to spare memory
        remaining = log_no[k]
        logs = [log_yes[k]]
        density = log_yes[k] + log_no[k]  # d(proportion) / du
        for axis in axes:
            density = density + remaining + log_yes[axis] + log_no[axis]
            logs.append(remaining + log_yes[axis])
            remaining = remaining + log_no[axis]
        density = density + constant
        logs.append(remaining)
        # The Jacobian of stick-breaking: each proportion scales with the stick that was left.
        for i in range(n):
            density = density + (a[i] - 1) * logs[i]
        for s, e in exponents.items():
            inside = logs[min(s)]
            for i in sorted(s)[1:]:
                inside = np.logaddexp(inside, logs[i])
            density = density + e * inside
        top = max(peak, float(density.max()))
        scale = math.exp(peak - top) if mass else 0.0
        w = np.exp(density - top)
        mass = mass * scale + w.sum()
        first *= scale
        second *= scale
        for i in range(n):
            first[i] += (w * np.exp(logs[i])).sum()
            second[i] += (w * np.exp(2 * logs[i])).sum()
        peak = top
    mean = first / mass
    log_evidence = peak + math.log(mass) + (n - 1) * math.log(h)
    return Moments(mean, second / mass - mean**2, log_evidence)


def tree_moments(
    exponents: Family, counts: Sequence[float], concentration: Sequence[float]
) -> Moments:
    """Closed forms of a family whose sets nest or are disjoint, in 60 digits.

    The mass of a set is shared among its largest subsets in the family and its other
    categories, by a Dirichlet distribution whose parameters are the total of concentration,
    counts and exponents inside each.
    """
    n = len(concentration)
    assert not any(overlap(s, t) for s, t in itertools.combinations(exponents, 2))
    with mpmath.workdps(60):
        a = [mpmath.mpf(float(x)) for x in concentration]
        c = [x + mpmath.mpf(float(k)) for x, k in zip(a, counts, strict=True)]

        def total(s: Set) -> mpmath.mpf:
            inside = [mpmath.mpf(e) for t, e in exponents.items() if t <= s]
            return mpmath.fsum([c[i] for i in s] + inside)

        mean = [mpmath.mpf(1)] * n
        square = [mpmath.mpf(1)] * n
        evidence = mpmath.loggamma(mpmath.fsum(a)) - mpmath.fsum(map(mpmath.loggamma, a))
        for owner in [*exponents, frozenset(range(n))]:
            below = [t for t in exponents if t < owner]
            parts = [t for t in below if not any(t < other for other in below)]
            parts += [frozenset([i]) for i in owner - frozenset().union(*parts)]
            shapes = [total(t) if len(t) > 1 else c[min(t)] for t in parts]
            whole = mpmath.fsum(shapes)
            evidence += mpmath.fsum(map(mpmath.loggamma, shapes)) - mpmath.loggamma(whole)
            for part, shape in zip(parts, shapes, strict=True):
                for i in part:
                    mean[i] *= shape / whole
                    square[i] *= shape * (shape + 1) / (whole * (whole + 1))
        variance = [s - m * m for s, m in zip(square, mean, strict=True)]
        return Moments(
            np.asarray([float(m) for m in mean]),
            np.asarray([float(v) for v in variance]),
            float(evidence),
        )
