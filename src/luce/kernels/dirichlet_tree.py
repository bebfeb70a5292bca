"""Draws from a tree of Dirichlet splits.

Each module divides its mass among its items in Dirichlet proportions,

    mass[item] = mass[module] * G_item / sum of the module's G,     G_item ~ Gamma(shape[item]).

Items are categories and smaller modules with items of their own; a module precedes its items.
The cells of a core get their mass from the core's own draws instead.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, embedded, on_stack
from luce.kernels.plain import on_lists, reals, uncompiled
from luce.kernels.problem import Wide
from luce.kernels.random import gamma_of, log_gamma
from luce.kernels.set_sums import as_log

# Smallest probability whose logarithm is taken directly.
_LEAST = 1e-290

# Kinds of step: a Dirichlet split, the same in logarithms, and a split by the draws of a core.
SPLIT, SPLIT_TINY, CORE = range(3)

# Number of items beyond which sums over the tree are compiled; plain Python takes 0.1 µs for each.
_MANY = 100_000


class SplitPlan(NamedTuple):
    """The splits of a tree in order; modules with a single item are left out.

    Step s divides the mass of ``module[s]`` among the targets ``start[s]:start[s + 1]``, by
    gammas of their `shape`, or by the draws of a core (`kind`).  A nonnegative target is a
    category, a negative one the module ``-1 - target``.  In a step SPLIT_TINY some shape is so
    small that its gamma may underflow, and the split is made in logarithms.  `spread` is the
    `gamma_spread` of each shape.
    """

    module: IntArray
    kind: IntArray
    start: IntArray
    target: IntArray
    shape: FloatArray
    spread: FloatArray
    n_modules: int


def draw_splits(
    bits: WordArray,
    plan: SplitPlan,
    core_draws: FloatArray,
    core_logs: bool,
    out: FloatArray,
    log_out: FloatArray,
) -> None:
    """Draw the probabilities of all categories.

    Parameters
    ----------
    bits
        Generator.
    plan
        The splits.
    core_draws
        Shape (draws, cells of all cores): shares of the cells in their cores.
    core_logs
        Whether `core_draws` holds logarithms.
    out
        Shape (draws, categories): receives probabilities.
    log_out
        Receives their logarithms, unless it is empty.
    """
    tiny: Wide = True if (plan.kind == SPLIT_TINY).any() else None
    wide: Wide = True if core_logs else None
    if not (tiny or wide):
        before = bits.copy()
        _draw_splits(bits, plan, core_draws, None, None, out, None)
        if not len(log_out):
            return
        if out.min() > _LEAST:
            np.log(out, out=log_out)  # many at once: a sixth of the time
            return
        bits[:] = before  # a product of shares is no double: draw the same again, with logarithms
    _draw_splits(bits, plan, core_draws, wide, tiny, out, log_out if len(log_out) else None)


@compiled
def _draw_splits(
    bits: WordArray,
    plan: SplitPlan,
    core_draws: FloatArray,
    core_logs: Wide,
    tiny: Wide,
    out: FloatArray,
    log_out: FloatArray | None,
) -> None:
    """Draw as `draw_splits`; code for logarithms is compiled only where there are any."""
    plan, own = borrowed(plan), on_stack(bits)
    module, kind, start, target, shape = plan.module, plan.kind, plan.start, plan.target, plan.shape
    mass, log_mass = np.empty(plan.n_modules), np.empty(plan.n_modules)
    shares, log_shares = np.empty(len(shape)), np.empty(len(shape))
    for m in range(plan.n_modules):
        mass[m], log_mass[m] = 1.0, 0.0
    for d in range(len(out)):
        cell = 0
        for step in range(len(module)):
            a, b, scale = start[step], start[step + 1], mass[module[step]]
            if kind[step] == SPLIT:
                total = 0.0
                for i in range(a, b):
                    shares[i] = gamma_of(own, shape[i], plan.spread[i])
                    total += shares[i]
                if b - a == 1:  # a single category has probability exactly 1
                    shares[a] = total = 1.0
                scale /= total
                if log_out is not None:
                    log_total = math.log(total)
                    for i in range(a, b):
                        log_shares[i] = math.log(shares[i]) - log_total
            elif kind[step] == SPLIT_TINY:
                if tiny is not None:
                    log_total = _draw_logs(own, shape, a, b, log_shares)
                    for i in range(a, b):
                        log_shares[i] -= log_total
                        shares[i] = math.exp(log_shares[i])
            else:
                for i in range(a, b):
                    share = core_draws[d, cell]
                    shares[i] = share if core_logs is None else math.exp(share)
                    if log_out is not None:
                        log_shares[i] = as_log(share, core_logs)
                    cell += 1
            for i in range(a, b):
                if target[i] >= 0:
                    out[d, target[i]] = shares[i] * scale
                else:
                    mass[-1 - target[i]] = shares[i] * scale
            if log_out is not None:
                for i in range(a, b):
                    log_m = log_mass[module[step]] + log_shares[i]
                    if target[i] >= 0:
                        log_out[d, target[i]] = log_m
                    else:
                        log_mass[-1 - target[i]] = log_m
    for k in range(4):
        bits[k] = own[k]


@embedded
def _draw_logs(bits: WordArray, shape: FloatArray, a: int, b: int, out: FloatArray) -> float:
    """Draw logarithms of gammas of shapes a..b-1; returns the logarithm of their sum."""
    top = -np.inf
    for i in range(a, b):
        out[i] = log_gamma(bits, shape[i])
        top = max(top, out[i])
    total = 0.0
    for i in range(a, b):
        total += math.exp(out[i] - top)
    return top + math.log(total)


def add_up(parent: IntArray, values: FloatArray) -> None:
    """Add each module's value to its parent's, from the leaves up, in place."""
    if len(parent) > _MANY:
        _add_up(parent, values)
        return
    sums = values.tolist()
    uncompiled(_add_up)(parent.tolist(), sums)
    values[:] = sums


@compiled
def _add_up(parent: IntArray, values: FloatArray) -> None:
    for m in range(len(parent) - 1, 0, -1):
        values[parent[m]] += values[m]


def pass_down(
    start: IntArray, target: IntArray, share: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute mean and relative variance of each category from those of the shares.

    1 + v multiplies along a path from the root, so that no difference of large numbers occurs.
    """
    given = start, target, share, spread
    if len(target) > _MANY:
        return _pass_down(*given)
    mean, relative = on_lists(_pass_down, *given)
    return np.asarray(mean), np.asarray(relative)


@compiled
def _pass_down(
    start: IntArray, target: IntArray, share: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    n_modules = len(start) - 1
    mean, relative = reals(n_modules, 1.0), reals(n_modules, 0.0)
    n = len(target) - n_modules + 1  # each module but the root is an item
    category_mean, category_relative = reals(n, 0.0), reals(n, 0.0)
    for o in range(n_modules):
        for i in range(start[o], start[o + 1]):
            m = mean[o] * share[i]
            v = relative[o] + spread[i] + relative[o] * spread[i]
            if target[i] < 0:
                mean[-1 - target[i]] = m
                relative[-1 - target[i]] = v
            else:
                category_mean[target[i]] = m
                category_relative[target[i]] = v
    return category_mean, category_relative
