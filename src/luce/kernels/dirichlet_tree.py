"""Draws from a tree of Dirichlet splits.

Every owner shares its mass among its items in Dirichlet proportions,

    mass[item] = mass[owner] * G_item / sum of the owner's G,     G_item ~ Gamma(shape[item]).

Items are categories and smaller modules, which own items in turn; owners come before what they
own.  The cells of a core get their mass from the core's own draws instead.
"""

from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.gammas import gamma_draw, log_gamma_draw
from luce.kernels.jit import compiled, internal


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
    rng: np.random.Generator,
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
    mass = np.ones(n_modules)
    log_mass = np.zeros(n_modules)
    most = 0
    for o in range(n_modules):
        most = max(most, start[o + 1] - start[o])
    gammas = np.empty(most)
    logs = len(log_out) > 0
    for d in range(out.shape[0]):
        j = 0
        for o in range(n_modules):
            while j < len(cell) and union[j] == o:  # a core shares out this module's mass
                if core_logs:
                    log_mass[cell[j]] = log_mass[o] + core_draws[d, j]
                    mass[cell[j]] = np.exp(log_mass[cell[j]])
                else:
                    mass[cell[j]] = mass[o] * core_draws[d, j]
                    if logs:
                        log_mass[cell[j]] = log_mass[o] + np.log(core_draws[d, j])
                j += 1
            a, b = start[o], start[o + 1]
            if b - a == 1:
                _give(target[a], mass[o], log_mass[o], mass, log_mass, out[d], log_out, d, logs)
            elif tiny[o]:
                top = -np.inf
                for i in range(a, b):
                    gammas[i - a] = log_gamma_draw(rng, shape[i])
                    top = max(top, gammas[i - a])
                total = 0.0
                for i in range(b - a):
                    total += np.exp(gammas[i] - top)
                log_total = top + np.log(total)
                for i in range(a, b):
                    share = gammas[i - a] - log_total
                    m = mass[o] * np.exp(share)
                    _give(
                        target[i], m, log_mass[o] + share, mass, log_mass, out[d], log_out, d, logs
                    )
            else:
                total = 0.0
                for i in range(a, b):
                    gammas[i - a] = gamma_draw(rng, shape[i])
                    total += gammas[i - a]
                scale = mass[o] / total
                log_total = np.log(total) if logs else 0.0
                for i in range(a, b):
                    g = gammas[i - a]
                    m = g * scale
                    share = log_mass[o] + np.log(g) - log_total if logs else 0.0
                    _give(target[i], m, share, mass, log_mass, out[d], log_out, d, logs)


@internal
def _give(
    target: int,
    m: float,
    log_m: float,
    mass: FloatArray,
    log_mass: FloatArray,
    out: FloatArray,
    log_out: FloatArray,
    d: int,
    logs: bool,
) -> None:
    """Hand mass to a category, into the output, or to a module."""
    if target < 0:
        mass[-1 - target] = m
        log_mass[-1 - target] = log_m
    else:
        out[target] = m
        if logs:
            log_out[d, target] = log_m


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
