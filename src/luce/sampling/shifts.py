"""Groups of categories whose distance data does not bound: found by a flow of outcomes to sets.

Assign every outcome to a set that it was recorded in.  Category i *beat* j if an outcome of i is
assigned to a set that holds j.  Categories that beat each other, directly or in a circle, form a
component, within which data bounds all ratios.  Between components it bounds at most one side: the
likelihood stays the same while a component and all that it beat fall further behind.  Any
assignment gives the same components (Picard and Queyranne 1980).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.attainable import incidence, sources_within
from luce.counts.family import SetFamily
from luce.sampling.laplace import family_of

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.shifts import Shifts

# Largest number of set members for which outcomes are assigned to sets, and of components for which
# the components that each beat are listed.
_MOST_MEMBERS, _MOST_COMPONENTS = 5_000_000, 1000

# Slope of the log density, in outcomes per nat, below which data does not bound a shift: less than
# one outcome does.
_UNBOUND = 0.5

# Cost of all shifts of a sweep, at most, in costs of the rest of the sweep.
_BUDGET = 5.0

# Largest number of pairs of members of grouped outcomes that are kept for exchanges.
_MOST_PAIRS = 10_000


def find_shifts(problem: Problem, prior: FloatArray) -> Shifts | None:
    """Find the groups that a sampler should shift; None where all distances are bounded.

    Parameters
    ----------
    problem
        The kernels' problem.
    prior
        The prior's parameters of its categories, which are part of the problem's shapes.
    """
    from luce.kernels.shifts import Shifts

    family, prior_total = family_of(problem), float(prior.sum())
    net = _counts(problem.shape, prior)
    net_total = float(_counts(np.array([problem.total_shape]), np.array([prior_total]))[0])
    few = family.sizes.sum() <= _MOST_MEMBERS
    alone = np.arange(family.n), np.empty((0, 2), np.int64)
    component, beaten = _components(family, net) if few else alone
    found = list(_distinct(component, _closed(component, beaten)))
    slopes = _slopes(family, found, net, prior, net_total)
    groups = [group for group, slope in zip(found, slopes, strict=True) if slope < _UNBOUND]
    pairs = _grouped_pairs(family)
    if not groups and not len(pairs):
        return None
    nests = [_nests_met(problem, group) for group in groups]
    cost = sum(_cost(problem, touched) for touched in nests)
    budget = _BUDGET * (len(problem.members) + len(problem.shape))
    return Shifts(
        *_joined(groups),
        *_joined(nests),
        net=np.array([net[group].sum() for group in groups]),
        prior=np.array([prior[group].sum() for group in groups]),
        net_total=net_total,
        prior_total=prior_total,
        each=len(groups) if cost <= budget else max(1, int(len(groups) * budget / cost)),
        pairs=pairs,
    )


def _counts(shape: FloatArray, prior: FloatArray) -> FloatArray:
    """Take the prior's parameters out of shapes again; whole numbers come out whole."""
    net = (shape - prior).clip(min=0)
    whole = np.rint(net)
    return np.asarray(np.where(np.abs(net - whole) <= 1e-9 * np.maximum(shape, 1.0), whole, net))


def _components(family: SetFamily, net: FloatArray) -> tuple[IntArray, IntArray]:
    """Number the components of the categories, and list which component beat which."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    from luce.kernels.structure.max_flow import transport

    n = family.n
    grouped = np.ceil(family.exponent.clip(min=0))
    given = grouped - family.exponent
    groups, sets = np.flatnonzero(grouped > 0), np.flatnonzero(given > 0)
    start, links = sources_within(family, sets, groups)
    supply = np.r_[net, grouped[groups]]
    dust = 1e-9 * float(supply.max(initial=1.0))
    flow, left = transport(supply, given[sets], start, links, dust)
    # Nodes: categories, then groups, then sets, then the set of all.  A source points to the sets
    # that its outcomes are assigned to, a set to the categories that it holds.  Nothing points to a
    # group: any one of its members explains its outcomes, so they bound no member.
    row = np.repeat(np.arange(len(sets)), np.diff(start)) + len(supply)
    used, held = flow > dust, links < n
    everything = len(supply) + len(sets)
    free = np.flatnonzero(left > dust)
    wholes = np.arange(n) if len(free) else np.empty(0, np.int64)
    heads = [links[used], row[held], free, np.full(len(wholes), everything)]
    tails = [row[used], links[held], np.full(len(free), everything), wholes]
    edges = np.concatenate(heads), np.concatenate(tails)
    graph = csr_array((np.ones(len(edges[0])), edges), (everything + 1, everything + 1))
    component = connected_components(graph, directed=True, connection="strong")[1]
    beaten = np.unique(np.stack([component[edges[0]], component[edges[1]]], axis=1), axis=0)
    return component[:n].astype(np.int64), beaten[beaten[:, 0] != beaten[:, 1]].astype(np.int64)


def _closed(component: IntArray, beaten: IntArray) -> list[set[int]]:
    """List, as sets of components, each one alone, with all it beat, and with all that beat it."""
    from graphlib import TopologicalSorter

    own = np.unique(component).tolist()
    found = [{c} for c in own]
    if len(own) > _MOST_COMPONENTS:
        return found
    for pairs in (beaten, beaten[:, ::-1]):
        below: dict[int, set[int]] = {c: set() for c in own}
        for c, other in pairs.tolist():
            below.setdefault(c, set()).add(other)
        for c in TopologicalSorter(below).static_order():
            below[c] = {c}.union(*(below[other] for other in below.get(c, ())))
        found += [below[c] for c in own]
    return found


def _distinct(component: IntArray, closed: list[set[int]]) -> Iterator[IntArray]:
    """Turn sets of components into groups of categories, each group or its complement once."""
    n = len(component)
    seen: set[bytes] = set()
    for chosen in closed:
        inside: BoolArray = np.isin(component, list(chosen))
        if 2 * inside.sum() > n or (2 * inside.sum() == n and not inside[0]):
            inside = ~inside  # a shift of the complement, the other way
        key = np.packbits(inside).tobytes()
        if inside.any() and key not in seen:
            seen.add(key)
            yield np.flatnonzero(inside)


def _slopes(
    family: SetFamily,
    groups: list[IntArray],
    net: FloatArray,
    prior: FloatArray,
    net_total: float,
) -> FloatArray:
    """Return the smaller slope of the log density far out along each shift, in outcomes per nat."""
    start, member = _joined(groups)
    group = np.repeat(np.arange(len(groups)), np.diff(start))
    won, mine = (_sum_by(group, x[member], len(groups)) for x in (net, prior))
    met, within = _powers_met_and_within(family, start, member)
    return np.asarray(np.minimum(won + within + mine, net_total - won - met + prior.sum() - mine))


def _powers_met_and_within(
    family: SetFamily, start: IntArray, member: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Sum the exponents of the sets that meet each group, and of those within it."""
    from scipy.sparse import csr_array

    if len(member) == len(start) - 1:  # single categories
        return family.member_sums(family.exponent)[member], np.zeros(len(member))
    table = csr_array((np.ones(len(member)), member, start), (len(start) - 1, family.n))
    held = (table @ incidence(family, np.arange(family.n_sets)).T).tocsr()
    whole = held.data == family.sizes[held.indices]
    power = family.exponent[held.indices]
    row = np.repeat(np.arange(len(start) - 1), np.diff(held.indptr))
    met, within = (_sum_by(row, x, len(start) - 1) for x in (power, power * whole))
    return met, within


def _sum_by(row: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.bincount(row, values, n).astype(np.float64, copy=False)


def _grouped_pairs(family: SetFamily) -> IntArray:
    """List pairs of categories that lie in one grouped outcome."""
    found: set[tuple[int, int]] = set()
    for t in np.flatnonzero(family.exponent > 0):
        members = family.set_members(int(t))
        if len(members) * (len(members) - 1) // 2 + len(found) > _MOST_PAIRS:
            continue  # the pairs of so large a group would crowd out all others
        first, second = np.triu_indices(len(members), 1)
        found.update(zip(members[first].tolist(), members[second].tolist(), strict=True))
    return np.array(sorted(found), np.int64).reshape(-1, 2)


def _nests_met(problem: Problem, group: IntArray) -> IntArray:
    """List the nests with sets that may meet a group: those that list it, and all complements."""
    listed = [
        problem.listed_nest[problem.listed_start[i] : problem.listed_start[i + 1]] for i in group
    ]
    return np.unique(np.concatenate([*listed, np.flatnonzero(problem.complement)]))


def _cost(problem: Problem, nests: IntArray) -> float:
    """Count the members that a shift visits."""
    length = problem.nest_start[nests + 1] - problem.nest_start[nests]
    return float(length.sum() + len(problem.shape))


def _joined(lists: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Store lists one after another: where each starts, and all of them."""
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return start, np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
