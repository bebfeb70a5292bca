"""Draws of posteriors: every method, in memory, to a disk, and by worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from goldens import data
from goldens.case import Arrays, Case, Kind, Place, part_and_fingerprint
from goldens.names import Posterior, load, resume, save

FEW: dict[str, Any] = {"chains": 2, "warmup": 20, "seed": 11, "progress": False}
N_DRAWS = 4
VARIABLES = ("probabilities", "log_probabilities", "concentration", "home", "tie", "tie2")
RUNNING = ("mean", "sd", "quantiles")

# What each method is asked to draw.
METHODS: dict[str, Callable[[], Any]] = {
    "auto": data.two_cores,
    "exact": data.nested,
    "rejection": data.all_but_one,
    "hamiltonian": data.league,
    "waiting-times": data.league,
    "hidden-counts": data.league,
    "metropolis": data.league,
}

# The shapes of the prior, as many as there are categories.
PRIOR = np.array([1.3, 0.6, 2.0, 0.9, 1.7, 0.4, 1.1, 2.4])

IN_MEMORY: dict[str, dict[str, Any]] = {
    "plain": {},
    "raw": {"reduce": False},
    "thin": {"thin": 3},
    "keep": {"keep": (3, 1)},
    "one start": {"initial": "first row"},
    "starts": {"initial": "each row"},
    "raw start": {"initial": "first row", "reduce": False},
    "logarithms": {"log_probabilities": True},
    "tiny": {"concentration": 0.01},
    "raw tiny": {"concentration": 0.01, "reduce": False},
    "one thread": {"threads": 1},
}
ON_DISK: dict[str, dict[str, Any]] = {
    "plain": {},
    "raw, thin": {"reduce": False, "thin": 3},
    "keep": {"keep": (3, 1), "quantiles": [0.1, 0.5]},
    "tiny": {"concentration": 0.01, "quantiles": [0.25, 0.9]},
    "start": {"initial": "each row", "draws": 15, "quantiles": [0.5]},
}
ON_WORKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "metropolis, raw": ("metropolis", {"reduce": False}),
    "waiting-times, keep, thin": ("waiting-times", {"keep": (3, 1), "thin": 3}),
    "hidden-counts, tiny": ("hidden-counts", {"concentration": 0.01}),
}
ON_WORKERS_TO_DISK: dict[str, tuple[str, dict[str, Any]]] = {
    "hamiltonian": ("hamiltonian", {"quantiles": [0.2, 0.5]}),
    "exact, logarithms": ("exact", {"log_probabilities": True}),
}
# Many draws: more than one chunk of 200,000 elementary steps.  Hamiltonian draws depend on where
# chunks end, to the last bits; those of other methods must not.
LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "metropolis": ("metropolis", {"draws": 40_000}),
    "metropolis, raw, thin": ("metropolis", {"draws": 9_000, "thin": 5, "reduce": False}),
    "hamiltonian": ("hamiltonian", {"draws": 30_000}),
    "waiting-times": ("waiting-times", {"draws": 30_000, "warmup": 15_000}),
    "hidden-counts, raw": ("hidden-counts", {"draws": 30_000, "reduce": False}),
    "rejection": ("rejection", {"draws": 30_000}),
    "auto": ("auto", {"draws": 30_000}),
}


def variables(run: Any) -> Arrays:
    """What was drawn."""
    return {x: run.posterior[x].to_numpy() for x in VARIABLES if x in run.posterior}


def running(run: Any) -> Arrays:
    """Return moments and quantiles that were followed while draws went to a disk."""
    found = {x: f"probabilities_{x}" for x in RUNNING}
    kept = run["running"]
    return {f"running {x}": kept[name].to_numpy() for x, name in found.items() if name in kept}


def drawn(method: str, options: dict[str, Any], **more: Any) -> Any:
    """Draw from the data of a method; starts and kept labels are given by number."""
    counts = METHODS[method]()
    n = len(counts.categories)
    given = {**FEW, **options, **more}
    posterior = Posterior(counts, given.pop("concentration", PRIOR[:n]))
    if "keep" in given:
        given["keep"] = [counts.categories[i] for i in given["keep"]]
    if "initial" in given:
        rows = np.stack([np.arange(1.0, n + 1), np.arange(n + 3.0, 3, -1)])
        rows /= rows.sum(axis=1, keepdims=True)
        given["initial"] = rows[0] if given["initial"] == "first row" else rows
    return posterior.sample(given.pop("draws", N_DRAWS), method=method, **given)


def in_memory(method: str, options: dict[str, Any], _place: Place) -> Arrays:
    """Draws that stay in memory."""
    return variables(drawn(method, options))


def on_disk(method: str, options: dict[str, Any], place: Place) -> Arrays:
    """Draws that go to a disk, and what was followed on the way."""
    run = drawn(method, options, to=place.new_folder() / "run.zarr")
    return {**variables(run), **running(run)}


def on_workers(method: str, options: dict[str, Any], place: Place) -> Arrays:
    """Draws of worker processes."""
    with place.client() as client:
        return variables(drawn(method, options, cluster=client))


def on_workers_to_disk(method: str, options: dict[str, Any], place: Place) -> Arrays:
    """Draws of worker processes that go to a disk."""
    with place.client() as client:
        return on_disk(method, {**options, "cluster": client}, place)


def long(method: str, options: dict[str, Any], _place: Place) -> Arrays:
    """Some of many draws, and a fingerprint of all."""
    run = drawn(method, options)
    return part_and_fingerprint(run.posterior["probabilities"].to_numpy(), 6000)


def begin_long_run(folder: Path) -> None:
    """Begin a run of several blocks that takes a second or two."""
    options = {"draws": 200_000, "thin": 10, "keep": (2,), "reduce": False}
    drawn("metropolis", options, to=folder)


def resumed(place: Place) -> Arrays:
    """A run that was killed in the middle, once its first block was there, and went on."""
    folder = place.new_folder() / "run.zarr"
    process = get_context("spawn").Process(target=begin_long_run, args=(folder,))
    process.start()
    while process.is_alive() and not (folder / "posterior/probabilities/c").exists():
        time.sleep(0.01)
    process.kill()
    process.join()
    run = resume(folder, progress=False)
    return part_and_fingerprint(run.posterior["probabilities"].to_numpy(), 20_000)


def saved(name: str, place: Place) -> Arrays:
    """A run that was saved and loaded again."""
    path = place.new_folder() / name
    save(drawn("auto", {"log_probabilities": True}), path)
    return variables(load(path))


def of_data(counts: Callable[[], Any], options: dict[str, Any], _place: Place) -> Arrays:
    """Draws of one set of data by whatever method is chosen."""
    return variables(Posterior(counts(), 1.5).sample(N_DRAWS, **{**FEW, **options}))


def _cases() -> dict[str, Case]:
    found = {}
    for where, variants, compute in (
        ("memory", IN_MEMORY, in_memory),
        ("disk", ON_DISK, on_disk),
    ):
        for method in METHODS:
            for name, options in variants.items():
                made = Case(Kind.DRAWS, partial(compute, method, options))
                found[f"{where}, {method}, {name}"] = made
    for where, asked, compute in (
        ("workers", ON_WORKERS, on_workers),
        ("workers to disk", ON_WORKERS_TO_DISK, on_workers_to_disk),
    ):
        for name, (method, options) in asked.items():
            made = Case(Kind.DRAWS, partial(compute, method, options), on_cluster=True)
            found[f"{where}, {name}"] = made
    for name, (method, options) in LONG.items():
        found[f"long, {name}"] = Case(Kind.DRAWS, partial(long, method, options))
    for name, counts in data.DATA.items():
        for method in ("auto", "waiting-times", "hidden-counts"):
            given = {"method": method}
            found[f"data, {name}, {method}"] = Case(Kind.DRAWS, partial(of_data, counts, given))
    for name, (counts, methods) in data.EVENTS.items():
        for method in methods:
            given = {"method": method}
            found[f"events, {name}, {method}"] = Case(Kind.DRAWS, partial(of_data, counts, given))
    for name in ("run.nc", "run.zarr"):
        found[f"saved, {name}"] = Case(Kind.DRAWS, partial(saved, name))
    found["resumed"] = Case(Kind.DRAWS, resumed)
    return found


CASES = _cases()
