"""Draws from a tree of Dirichlet splits.

Every owner shares its mass among its items in Dirichlet proportions,

    mass[item] = mass[owner] * G_item / sum of the owner's G,     G_item ~ Gamma(shape[item]).

Items are categories and smaller modules, which own items in turn; owners come before what they
own.  The cells of a core get their mass from the core's own draws instead.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import gamma, log_gamma


class SplitPlan(NamedTuple):
    """Who shares mass with whom, flattened.

    Owner (module) o shares among items ``start[o]:start[o + 1]``.  An item is the category
    ``target[i]`` if that is not negative, else the module ``-1 - target[i]``.  Where `tiny`,
    some shape is so small that its gamma may underflow, and the split is made in logarithms.
    Cell j of the cores, all cores in a row, is module ``cell[j]``, part of module ``union[j]``.
    """

    start: IntArray
    target: IntArray
    shape: FloatArray
    tiny: BoolArray
    cell: IntArray
    union: IntArray


@compiled
def draw_splits(
    bits: WordArray,
    plan: SplitPlan,
    core_draws: FloatArray,
    core_logs: bool,
    out: FloatArray,
    log_out: FloatArray,
) -> None:
    """Fill `out`, shape (draws, categories), and, unless it is empty, `log_out` with logarithms.

    `core_draws`, shape (draws, all cells), holds the cells' shares, or (`core_logs`) their
    logarithms.
    """
    start, target, shape, tiny = plan.start, plan.target, plan.shape, plan.tiny
    cell, union = plan.cell, plan.union
    n_modules = len(start) - 1
    mass, log_mass = np.ones(n_modules), np.zeros(n_modules)
    shares = np.empty(len(shape))
    logs = len(log_out) > 0
    for d in range(len(out)):
        j = 0
        for o in range(n_modules):
            while j < len(cell) and union[j] == o:  # a core shares out this module's mass
                share = core_draws[d, j]
                mass[cell[j]] = mass[o] * (math.exp(share) if core_logs else share)
                if logs:
                    log_mass[cell[j]] = log_mass[o] + (share if core_logs else math.log(share))
                j += 1
            a, b = start[o], start[o + 1]
            if b - a == 1:
                shares[a], scale, log_scale = 1.0, 1.0, 0.0
            elif tiny[o]:
                log_scale = -_draw_logs(bits, shape, a, b, shares)
                for i in range(a, b):
                    if logs:
                        _put_log(
                            target[i], log_mass[o] + shares[i] + log_scale, log_mass, log_out, d
                        )
                    shares[i] = math.exp(shares[i] + log_scale)
                scale = 1.0
            else:
                total = 0.0
                for i in range(a, b):
                    shares[i] = gamma(bits, shape[i])
                    total += shares[i]
                scale = 1.0 / total
                log_scale = math.log(scale) if logs else 0.0
            scale *= mass[o]
            for i in range(a, b):
                if target[i] >= 0:
                    out[d, target[i]] = shares[i] * scale
                else:
                    mass[-1 - target[i]] = shares[i] * scale
                if logs and not (tiny[o] and b - a > 1):
                    log_share = math.log(shares[i]) + log_scale
                    _put_log(target[i], log_mass[o] + log_share, log_mass, log_out, d)


@internal
def _draw_logs(bits: WordArray, shape: FloatArray, a: int, b: int, out: FloatArray) -> float:
    """Logarithms of gammas of shapes a..b-1; returns the logarithm of their sum."""
    top = -np.inf
    for i in range(a, b):
        out[i] = log_gamma(bits, shape[i])
        top = max(top, out[i])
    total = 0.0
    for i in range(a, b):
        total += math.exp(out[i] - top)
    return top + math.log(total)


@internal
def _put_log(target: int, value: float, log_mass: FloatArray, log_out: FloatArray, d: int) -> None:
    """Hand log mass to a category, into the output, or to a module."""
    if target >= 0:
        log_out[d, target] = value
    else:
        log_mass[-1 - target] = value


@compiled
def add_up(parent: IntArray, values: FloatArray) -> None:
    """Add every module's value to its parent's, from the leaves up, in place."""
    for m in range(len(parent) - 1, 0, -1):
        values[parent[m]] += values[m]


@compiled
def pass_down(
    start: IntArray, target: IntArray, share: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and relative variance of every category from those of the shares.

    1 + v multiplies along the way down, so no difference of large numbers is ever taken.
    """
    n_modules = len(start) - 1
    mean, relative = np.ones(n_modules), np.zeros(n_modules)
    n = len(target) - n_modules + 1  # every module but the root is somebody's item
    category_mean, category_relative = np.empty(n), np.empty(n)
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
