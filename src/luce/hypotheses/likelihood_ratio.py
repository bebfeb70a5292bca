"""Likelihood-ratio tests: twice the loss in maximal log likelihood under a hypothesis.

Under a true hypothesis that fixes d parameters the statistic is about chi-square with d degrees of
freedom; under one that bounds a single parameter it is 0 half of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.errors import NoMaximumError
from luce.estimates.event_density import EventDensity, EventMaximum
from luce.estimates.event_modes import maximise_events
from luce.estimates.likelihood import MaximumLikelihood, maximum_likelihood
from luce.model.shapes import raw_problem
from luce.sampling.laplace import climb_from
from luce.sampling.log_posterior import LogPosterior


class LikelihoodRatio(NamedTuple):
    """The statistic of a likelihood-ratio test, its degrees of freedom and its p-value."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


_Answer = tuple[LikelihoodRatio | None, str]


def ratio_of_equal(counts: ConditionalCounts, numbers: IntArray) -> _Answer:
    """Test that these categories have the same probability."""
    best = _best(counts)
    if isinstance(best, str):
        return None, best
    return _ratio(best, _largest_if_equal(counts, numbers), len(numbers) - 1), ""


def ratio_of_order(counts: ConditionalCounts, i: int, j: int) -> _Answer:
    """Test that category i is at least as probable as j."""
    best = _best(counts)
    if isinstance(best, str):
        return None, best
    if best.values[i] >= best.values[j]:
        return LikelihoodRatio(0.0, 1, 1.0), ""
    found = _ratio(best, _largest_if_equal(counts, np.array([i, j])), 1)
    return found._replace(p_value=found.p_value / 2), ""


def ratio_of_shares(
    counts: ConditionalCounts, given: Mapping[int, float], among: IntArray | None = None
) -> _Answer:
    """Test that some categories have given shares in the total of `among`, or of all.

    `given` maps numbers of categories to their shares.
    """
    if counts.events is not None:
        return None, f"it is not offered for given probabilities with {counts.events.model}"
    best = _best(counts)
    if isinstance(best, str):
        return None, best
    whole = np.arange(counts.n_categories) if among is None else among
    freedom = len(given) - (len(given) == len(whole))
    return _ratio(best, _largest_if_shares(counts, best, given, whole), freedom), ""


def ratio_of_parameter(counts: ConditionalCounts, name: str, value: float, above: bool) -> _Answer:
    """Test that a parameter of contests has this value, or is at least as large."""
    best = _best(counts)
    if isinstance(best, str):
        return None, best
    if above and best.parameters[name] >= value:
        return LikelihoodRatio(0.0, 1, 1.0), ""
    try:
        held = maximise_events(EventDensity.of_likelihood(counts, {name: value}))
    except NoMaximumError as none:
        return None, f"with {name} = {value:g} {none}"
    found = _ratio(best, _log_likelihood(counts, held), 1)
    return found._replace(p_value=found.p_value / (2 if above else 1)), ""


def ratio_of_groups(
    groups: Mapping[Label, ConditionalCounts],
    total: ConditionalCounts,
    held: Mapping[str, Any] = MappingProxyType({}),
) -> _Answer:
    """Test that groups of data have the same probabilities, and the same parameters.

    Parameters
    ----------
    groups
        The data of each group, over the same categories.
    total
        Their sum.
    held
        Values of parameters that are known, as `maximum_likelihood` takes them.
    """
    together = _best(total, held)
    if isinstance(together, str):
        return None, f"of all groups together, {together}"
    largest = 0.0
    for name, counts in groups.items():
        best = _best(counts, held)
        if isinstance(best, str):
            return None, f"in group {name!r}, {best}"
        largest += best.log_likelihood
    free = total.n_categories - 1 + len(total.parameters) - len(together.known)
    return _chi_square(largest, together.log_likelihood, (len(groups) - 1) * free), ""


def _best(
    counts: ConditionalCounts, held: Mapping[str, Any] = MappingProxyType({})
) -> MaximumLikelihood | str:
    """Return the maximum-likelihood estimate, or why there is no test based on it."""
    try:
        best = maximum_likelihood(counts, **held)
    except NoMaximumError as none:
        return str(none)
    if best.at_zero:
        return (
            f"the estimate of {best.at_zero[0]!r} is 0, on the boundary, where the test does not "
            "hold"
        )
    for name, value in best.parameters.items():
        if counts.events is not None and value <= counts.events.least(name):
            return (
                f"the estimate of {name} is {value:g}, its least value, where the test does not "
                "hold"
            )
    return best


def _ratio(best: MaximumLikelihood, restricted: float, freedom: int) -> LikelihoodRatio:
    return _chi_square(best.log_likelihood, restricted, freedom)


def _chi_square(largest: float, restricted: float, freedom: int) -> LikelihoodRatio:
    from scipy.special import chdtrc

    statistic = max(2 * (largest - restricted), 0.0)
    return LikelihoodRatio(statistic, freedom, float(chdtrc(freedom, statistic)))


def _largest_if_equal(counts: ConditionalCounts, numbers: IntArray) -> float:
    """Maximise the log likelihood with these categories equal: they share one unknown."""
    if counts.events is not None:
        density = EventDensity.of_likelihood(counts)
        return _log_likelihood(counts, maximise_events(density, equal=numbers, single=False))
    n = counts.n_categories
    owner = np.arange(n)
    owner[numbers] = numbers.min()
    owner = np.unique(owner, return_inverse=True)[1].reshape(-1)
    problem = raw_problem(counts, np.zeros(n))
    starts = [np.zeros(n)]
    if problem.groups.any():  # there may be several maxima
        rng = np.random.default_rng(0)
        starts += [np.log(rng.dirichlet(np.ones(owner.max() + 1)))[owner] for _ in range(8)]
    ends = [climb_from(problem, owner, start)[0] for start in starts]
    shares = [np.exp(theta - np.logaddexp.reduce(theta)) for theta in ends]
    return max(float(counts.log_likelihood(p / p.sum())) for p in shares)


def _log_likelihood(counts: ConditionalCounts, found: EventMaximum) -> float:
    return float(counts.log_likelihood(found.p, **found.parameters))


def _largest_if_shares(
    counts: ConditionalCounts,
    best: MaximumLikelihood,
    given: Mapping[int, float],
    among: IntArray,
) -> float:
    """Maximise the log likelihood with p_i / p(among) = v_i for some i, over all other unknowns.

    With V = Σ v_i < 1, the others among them have the total 1 - V and so λ_i = v_i T / (1 - V),
    where T is their total λ.  With V = 1 there are none, and λ_i = v_i T with T an unknown.
    """
    from scipy.optimize import minimize

    n = counts.n_categories
    f = LogPosterior(raw_problem(counts, np.zeros(n)))
    numbers, shares = np.array(list(given)), np.array(list(given.values()))
    others = np.setdiff1d(among, numbers)
    outside = np.setdiff1d(np.arange(n), among)
    log_ratio = np.log(shares) - (np.log1p(-shares.sum()) if len(others) else 0.0)
    theta = np.empty(n)

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        theta[outside], rest = free[: len(outside)], free[len(outside) :]
        if len(others):
            theta[others] = rest
        log_total = np.logaddexp.reduce(rest)
        theta[numbers] = log_ratio + log_total
        at = f.at(theta)
        slope = f.slope(at)
        moved = slope[numbers].sum() * np.exp(rest - log_total)
        own = slope[others] if len(others) else 0.0
        return -at.value, -np.r_[slope[outside], own + moved]

    start = np.log(best.values)
    rest = start[others] if len(others) else [np.logaddexp.reduce(start[among])]
    found = minimize(
        loss, np.r_[start[outside], rest], jac=True, method="BFGS", options={"gtol": 1e-7}
    )
    loss(found.x)
    p = np.exp(theta - np.logaddexp.reduce(theta))
    return float(counts.log_likelihood(p / p.sum()))
