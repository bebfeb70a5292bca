"""The arguments of `Posterior.sample`, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Labels, SeedLike
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories
from luce.counts.labels import read_probabilities
from luce.errors import DataError, MethodError

METHODS = (
    "auto",
    "exact",
    "rejection",
    "hamiltonian",
    "waiting-times",
    "hidden-counts",
    "metropolis",
)


@dataclass(frozen=True)
class Settings:
    """How many draws, from which chains, by which method; see `Posterior.sample`."""

    draws: int
    chains: int
    warmup: int | None = None
    seed: SeedLike = None
    method: str = "auto"
    reduce: bool = True
    initial: ArrayLike | str = "prior"
    threads: int | None = None
    progress: bool = True
    log_probabilities: bool | None = None
    proposal_concentration: float | None = None
    thin: int = 1
    keep: Labels | None = None

    def __post_init__(self) -> None:
        check_whole("draws", self.draws, 1)
        check_whole("chains", self.chains, 1)
        if self.warmup is not None:
            check_whole("warmup", self.warmup, 0)
        if self.threads is not None:
            check_whole("threads", self.threads, 1)
        check_whole("thin", self.thin, 1)
        if not isinstance(self.reduce, (bool, np.bool_)):
            raise MethodError(f"reduce = {self.reduce!r}; True or False is needed.")
        if self.method not in METHODS:
            raise MethodError(f"method = {self.method!r}; choose one of {', '.join(METHODS)}.")
        beta = self.proposal_concentration
        if beta is not None and self.method != "metropolis":
            raise MethodError("proposal_concentration is for method='metropolis' only.")
        if beta is not None and not (isinstance(beta, Real) and np.isfinite(beta) and beta > 0):
            raise MethodError(f"proposal_concentration = {beta!r}; it must be positive and finite.")

    @property
    def sweeps_to_discard(self) -> int:
        """Warm-up of a chain that needs one."""
        if self.warmup is not None:
            return int(self.warmup)
        return min(max(self.draws // 2, 100), 1000)

    def n_threads(self) -> int:
        """Chains to run at the same time."""
        if self.threads is not None:
            return min(int(self.threads), self.chains)
        here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(here or 1, self.chains)

    def kept_numbers(self, counts: ConditionalCounts) -> IntArray | None:
        """Numbers of the categories whose draws are kept, None for all."""
        if self.keep is None:
            return None
        numbers = Categories(counts.categories).numbers(self.keep, "keep")
        if len(numbers) == 0:
            raise DataError("keep is empty: name one category at least.")
        return numbers

    def reseeded(self, seed: np.random.SeedSequence) -> Settings:
        """The same with another seed."""
        return replace(self, seed=seed)

    def silent(self) -> Settings:
        """The same without a bar."""
        return replace(self, progress=False)

    def seed_sequence(self) -> np.random.SeedSequence:
        """Where all randomness of the run comes from."""
        seed = self.seed
        if isinstance(seed, np.random.SeedSequence):
            # Spawning changes a SeedSequence; a copy keeps the caller's, and the draws, the same.
            return np.random.SeedSequence(
                seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size
            )
        if seed is not None:
            check_whole("seed", seed, 0)
        return np.random.SeedSequence(None if seed is None else int(seed))

    def starting_points(self, n: int) -> FloatArray | None:
        """Probabilities to start from, shape (chains, n), or None for draws of the prior."""
        if isinstance(self.initial, str):
            if self.initial != "prior":
                raise MethodError(
                    f"initial = {self.initial!r}; give 'prior' or starting probabilities."
                )
            return None
        p = read_probabilities(self.initial, n)
        if p.shape not in ((n,), (self.chains, n)):
            raise DataError(
                f"initial has shape {p.shape}; ({n},) or ({self.chains}, {n}) is needed."
            )
        return np.array(np.broadcast_to(p, (self.chains, n)))


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise MethodError(f"{name} = {value!r}; a whole number of at least {least} is needed.")
