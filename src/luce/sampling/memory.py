"""Draws in memory: of the whole posterior, or of one core alone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.shapes import ModuleShapes
from luce.sampling.chains import Chain, Room, Task, new_chains, run_chains, warmup_of
from luce.sampling.methods import Method, choose_method, parts_of
from luce.sampling.settings import Settings

# Where some category has a smaller shape, its probability is often too small to show: keep logs.
_LOGS_BELOW = 0.1


@dataclass
class Draws:
    """What the chains produced, before it is dressed up.

    `probabilities` and `log_probabilities` have shape (chain, draw, category), `statistics`
    (chain, draw, part), `log_tuning` (chain, part).  `kept` are the categories that are stored,
    all if None; the others are drawn into room of their own and forgotten.
    """

    probabilities: FloatArray
    log_probabilities: FloatArray | None
    statistics: FloatArray
    log_tuning: FloatArray
    method: Method
    warmup: int
    seed: np.random.SeedSequence
    n: int
    thin: int = 1
    kept: IntArray | None = None
    seconds: float = 0.0
    interrupted: bool = False
    spare: dict[int, Room] = field(default_factory=dict)

    def room(self, chain: Chain, size: int) -> Room:
        """Give the next rows themselves where all categories are kept."""
        rows = slice(chain.done, chain.done + size)
        own = self.statistics[chain.number, rows]
        if self.kept is None:
            logs = self.log_probabilities
            return Room(
                self.probabilities[chain.number, rows],
                np.empty((0, 0)) if logs is None else logs[chain.number, rows],
                own,
            )
        if chain.number not in self.spare or len(self.spare[chain.number].probabilities) < size:
            logs_size = (0, 0) if self.log_probabilities is None else (size, self.n)
            room = Room(np.empty((size, self.n)), np.empty(logs_size), own)
            self.spare[chain.number] = room
        spare = self.spare[chain.number]
        return Room(spare.probabilities[:size], spare.log_probabilities[:size], own)

    def filled(self, chain: Chain, size: int) -> None:
        """Take what is kept out of the spare room."""
        if self.kept is None:
            return
        rows, spare = slice(chain.done - size, chain.done), self.spare[chain.number]
        self.probabilities[chain.number, rows] = spare.probabilities[:size, self.kept]
        if self.log_probabilities is not None:
            self.log_probabilities[chain.number, rows] = spare.log_probabilities[:size, self.kept]

    def warmed(self, chain: Chain) -> None:
        """Nothing is kept of a warm-up."""

    def keep(self, draws: int) -> None:
        """Forget all but the first so many draws of each chain."""
        self.probabilities = self.probabilities[:, :draws]
        self.statistics = self.statistics[:, :draws]
        if self.log_probabilities is not None:
            self.log_probabilities = self.log_probabilities[:, :draws]


def draw(model: Model, settings: Settings) -> Draws:
    """Draw the probabilities of all categories."""
    n, kept = model.counts.n_categories, settings.kept_numbers(model.counts)
    method, logs = choose_method(model, settings), wants_logs(model.shapes, settings)
    return draw_by(method, n, kept, logs, settings, model.shapes)


def draw_core(shapes: ModuleShapes, q: int, settings: Settings) -> Draws:
    """Draw the shares of the cells of core q, with logarithms, and nothing around it."""
    part = parts_of(shapes, settings.method)[q]
    return draw_by(Method((part,), None), len(part.prior), None, True, settings, shapes)


def wants_logs(shapes: ModuleShapes, settings: Settings) -> bool:
    """Are logarithms to be kept too?"""
    if settings.log_probabilities is not None:
        return bool(settings.log_probabilities)
    return bool(min(shapes.shape.min(), shapes.total.min()) < _LOGS_BELOW)


def draw_by(
    method: Method,
    n: int,
    kept: IntArray | None,
    logs: bool,
    settings: Settings,
    shapes: ModuleShapes | None = None,
) -> Draws:
    """Draw n probabilities by a method; where it has exact splits, `shapes` says of what."""
    began = time.perf_counter()
    settings = settings.reseeded(settings.seed_sequence())
    result = empty_draws(method, n, kept, logs, settings, settings.chains)
    task = Task(method, n, settings.thin, settings.proposal_concentration is None)
    chains = new_chains(task, shapes, settings)
    result.interrupted = run_chains(task, chains, result, settings.n_threads(), settings.progress)
    if result.interrupted:
        if not all(chain.done for chain in chains):
            raise KeyboardInterrupt
        result.keep(min(chain.done for chain in chains))
    for chain in chains:
        result.log_tuning[chain.number] = [tuning[2] for tuning in chain.tunings]
    result.seconds = time.perf_counter() - began
    return result


def empty_draws(
    method: Method, n: int, kept: IntArray | None, logs: bool, settings: Settings, chains: int
) -> Draws:
    """Room for the draws of so many chains; `settings` hold the seed itself."""
    size = (chains, settings.draws, n if kept is None else len(kept))
    _check_memory(size, logs)
    n_parts = len(method.parts)
    return Draws(
        np.empty(size),
        np.empty(size) if logs else None,
        np.empty((*size[:2], n_parts)),
        np.empty((chains, n_parts)),
        method,
        warmup_of(method, settings),
        settings.seed_sequence(),
        n,
        settings.thin,
        kept,
    )


def _check_memory(size: tuple[int, int, int], logs: bool) -> None:
    """Refuse what cannot fit, before the machine starts swapping."""
    wanted = 8 * size[0] * size[1] * size[2] * (2 if logs else 1)
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return
    if wanted > memory:
        raise MethodError(
            f"{size[0]} chains of {size[1]:,} draws of {size[2]:,} categories need "
            f"{wanted / 1e9:.0f} GB, and this machine has {memory / 1e9:.0f} GB. Write them to a "
            "disk with to='run.zarr', name those to keep with keep=[...], or ask for fewer draws "
            f"or chains{', or log_probabilities=False' if logs else ''}."
        )
