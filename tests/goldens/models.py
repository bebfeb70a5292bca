"""Draws of other models: unknown concentrations, processes, transitions, steps and shards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from goldens import data
from goldens.case import Arrays, Case, Kind, Place, part_and_fingerprint
from goldens.draws import FEW, N_DRAWS, running, variables
from goldens.names import (
    ConditionalCounts,
    DirichletProcess,
    Gamma,
    GibbsStep,
    HDPTransitions,
    Posterior,
    sample_sharded,
)

UNKNOWN = Gamma(2.0, 1.5)
FIT_VARIABLES = ("base", "rows", "concentration", "base_concentration")
WALKS = [list("xyzyxzyxwz"), list("zzyyyxw"), list("wxwzx")]
MOVES = np.array([[0, 6, 1, 2], [5, 0, 3, 1], [0, 1, 0, 4], [2, 3, 1, 0]])
FORBIDDEN = [(2, 0)]
SETS = [[0, 1, 2], [1, 2, 3], [0, 3]]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "thin, keep": {"thin": 3, "keep": 2},
    "start": {"initial": "uneven"},
}


# -- priors that are drawn too -------------------------------------------------------------------


SPECIES = {"bee": 0.3, "cat": 0.1}
PRIORS: dict[str, tuple[Callable[[], ConditionalCounts], Gamma | DirichletProcess]] = {
    "concentration": (data.league, UNKNOWN),
    "concentration of groups": (data.grouped, UNKNOWN),
    "process": (data.new_species, DirichletProcess(2.5)),
    "process with atoms": (data.new_species, DirichletProcess(2.5, SPECIES)),
    "unknown process": (data.new_species, DirichletProcess(UNKNOWN)),
    "unknown process with atoms": (data.new_species, DirichletProcess(UNKNOWN, SPECIES)),
}


def under_prior(prior: str, options: dict[str, Any], to_disk: bool, place: Place) -> Arrays:
    """Draw under one of these priors, to a disk or not."""
    make_counts, concentration = PRIORS[prior]
    counts, given = make_counts(), {**FEW, **options}
    n = len(counts.categories)
    if "keep" in given:
        given["keep"] = counts.categories[-given["keep"] :]
    if "initial" in given:
        given["initial"] = np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()
    if to_disk:
        given |= {"to": place.new_folder() / "run.zarr", "quantiles": [0.1, 0.5]}
    run = Posterior(counts, concentration).sample(N_DRAWS, **given)
    return {**variables(run), **(running(run) if to_disk else {})}


def long_concentration(_place: Place) -> Arrays:
    """More than one chunk of concentrations."""
    run = Posterior(data.league(), UNKNOWN).sample(25_000, **FEW)
    return part_and_fingerprint(run.posterior["concentration"].to_numpy(), 2500)


# -- transitions ---------------------------------------------------------------------------------


def fitted(model: HDPTransitions, moves: Any, _place: Place) -> Arrays:
    """Draw base, rows and concentrations."""
    run = model.fit(moves, N_DRAWS, **FEW)
    return {x: run.posterior[x].to_numpy() for x in FIT_VARIABLES if x in run.posterior}


def long_fit(_place: Place) -> Arrays:
    """More than one chunk of them."""
    model = HDPTransitions(4, UNKNOWN, Gamma(3.0, 2.0))
    run = model.fit(MOVES, 30_000, rows=False, **FEW)
    return part_and_fingerprint(run.posterior["base"].to_numpy(), 3000)


def resampled(model: HDPTransitions, n_states: int, _place: Place) -> Arrays:
    """Make some sweeps, one after another, with one generator."""
    rng = np.random.default_rng(17)
    state = model.initial_state(rng, n_states)
    sweeps = []
    for _ in range(4):
        state, info = model.resample(rng, MOVES, state, [2, 0, 1, 0])
        scales = [state.concentration, state.base_concentration]
        sweeps.append((state.log_base, state.rows, scales, info.tables, info.log_hidden_counts))
    names = ("log base", "rows", "concentrations", "tables", "hidden counts")
    return {x: np.array(found) for x, found in zip(names, zip(*sweeps, strict=True), strict=True)}


FITS: dict[str, tuple[HDPTransitions, Any]] = {
    "known concentrations": (HDPTransitions(4, 4.0, 5.0), MOVES),
    "unknown concentrations": (HDPTransitions(list("wxyz"), UNKNOWN, Gamma(3.0, 2.0)), WALKS),
    "forbidden": (HDPTransitions(4, UNKNOWN, 3.0, forbidden=FORBIDDEN), MOVES),
    "self-loops": (HDPTransitions(list("wxyz"), 2.0, UNKNOWN, self_loops="kept"), WALKS),
    "nonparametric": (HDPTransitions("nonparametric", UNKNOWN, UNKNOWN), WALKS),
    "nonparametric, known": (HDPTransitions("nonparametric", 2.0, 3.0), WALKS),
}
SWEEPS: dict[str, tuple[HDPTransitions, int]] = {
    "weak limit": (HDPTransitions(4, UNKNOWN, UNKNOWN, forbidden=FORBIDDEN), 0),
    "nonparametric": (HDPTransitions("nonparametric", UNKNOWN, 3.0), 4),
}


# -- steps of somebody else's sampler ------------------------------------------------------------


def single_steps(_place: Place) -> Arrays:
    """Steps one after another, by a table of counts and by totals."""
    step, rng = GibbsStep(4, within=SETS, without=[[1]]), np.random.default_rng(5)
    table = [[3, 1, 2, 0], [0, 2, 2, 5], [4, 0, 0, 1], [1, 0, 2, 6]]
    p = np.array([0.4, 0.3, 0.2, 0.1])
    found = []
    for _ in range(5):
        p = step(rng, p, table, [0.7, 2.0, 1.1, 0.4])
        found.append(p)
        p = step(rng, p, ([8.0, 3.0, 6.0, 12.0], [6.0, 9.0, 5.0, 9.0]), 1.5)
        found.append(p)
    return {"probabilities": np.array(found)}


def batched_steps(_place: Place) -> Arrays:
    """Steps of many rows at once, each with counts and a prior of its own."""
    step, rng = GibbsStep(4, within=SETS), np.random.default_rng(6)
    rows = 5
    p = np.arange(1.0, 4 * rows + 1).reshape(rows, 4)
    p /= p.sum(axis=1, keepdims=True)
    sizes = np.arange(2.0, 2 + 3 * rows).reshape(rows, 3)
    totals = np.zeros((rows, 4))
    totals[:, [2, 3, 0]] += sizes
    prior = 0.5 + np.arange(4.0 * rows).reshape(rows, 4) / 7
    found = []
    for _ in range(4):
        p = step(rng, p, (totals, sizes), prior)
        found.append(p)
    return {"probabilities": np.array(found)}


def steps_in_logarithms(_place: Place) -> Arrays:
    """Steps with a prior so small that probabilities underflow."""
    step, rng = GibbsStep.of(data.league()), np.random.default_rng(7)
    totals = step.totals(data.league())
    logs = np.log(np.full(6, 1 / 6))
    found = []
    for _ in range(4):
        logs = step.log_step(rng, logs, totals, 1e-3)
        found.append(logs)
    small = step(rng, np.full(6, 1 / 6), totals, 1e-3)
    return {"logarithms": np.array(found), "probabilities": small}


# -- terms in blocks -----------------------------------------------------------------------------


def sharded(options: dict[str, Any], _place: Place) -> Arrays:
    """Draws of data in three blocks."""
    pieces = [data.league(), data.round_robin(), data.league()]
    run = sample_sharded(pieces, 1.2, N_DRAWS, **{"cluster": None, **FEW, **options})
    return {**variables(run), **(running(run) if "to" in options else {})}


def sharded_whole(_place: Place) -> Arrays:
    """Draws of data that luce cuts into blocks itself."""
    return variables(sample_sharded(data.round_robin(), 0.8, N_DRAWS, cluster=None, **FEW))


def sharded_on_disk(place: Place) -> Arrays:
    """Draws of three blocks that go to a disk."""
    options = {"keep": ["Di", "Ann"], "thin": 2, "quantiles": [0.5]}
    return sharded({"to": place.new_folder() / "run.zarr", **options}, place)


def sharded_on_workers(place: Place) -> Arrays:
    """Draws of three blocks that worker processes hold."""
    with place.client() as client:
        return sharded({"cluster": client}, place)


def _cases() -> dict[str, Case]:
    found = {}
    for prior in PRIORS:
        for name, options in OPTIONS.items():
            for where, to_disk in (("memory", False), ("disk", True)):
                compute = partial(under_prior, prior, options, to_disk)
                found[f"{prior}, {name}, {where}"] = Case(Kind.DRAWS, compute)
    for name, (model, moves) in FITS.items():
        found[f"transitions, {name}"] = Case(Kind.DRAWS, partial(fitted, model, moves))
    for name, (model, n_states) in SWEEPS.items():
        found[f"sweeps, {name}"] = Case(Kind.DRAWS, partial(resampled, model, n_states))
    for name, steps in {
        "concentration, long": long_concentration,
        "transitions, long": long_fit,
        "steps, single": single_steps,
        "steps, batched": batched_steps,
        "steps, logarithms": steps_in_logarithms,
        "shards, memory": partial(sharded, {}),
        "shards, whole": sharded_whole,
        "shards, disk": sharded_on_disk,
    }.items():
        found[name] = Case(Kind.DRAWS, steps)
    found["shards, workers"] = Case(Kind.DRAWS, sharded_on_workers, on_cluster=True)
    return found


CASES = _cases()
