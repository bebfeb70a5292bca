"""The arguments of `Posterior.sample`, checked as soon as they are given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Labels, SeedLike
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, read_probabilities
from luce.errors import DataError, MethodError

METHODS = (
    "auto",
    "exact",
    "rejection",
    "hamiltonian",
    "independence",
    "waiting-times",
    "hidden-counts",
    "metropolis",
    "from-the-past",
    "single-weighted-set",
)

# The warm-up that is long enough by a bound; see `Posterior.sample`.
CERTIFIED = "certified"

# Settings that are whole numbers, with the least and the most that each can be.
_MOST = 10**15
_MOST_PROPOSAL = 1e300
_WHOLE = {
    "draws": (1, _MOST),
    "chains": (1, 10**6),
    "warmup": (0, _MOST),
    "thin": (1, _MOST),
    "threads": (1, _MOST),
    "chunk_steps": (1, _MOST),
    "block_bytes": (1, _MOST),
    "block_chunks": (1, _MOST),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Number of draws and chains, seed, method and storage of a run; see `Posterior.sample`.

    Parameters
    ----------
    chunk_steps
        Elementary steps that a chain makes at once, about 5 ms: few enough that the numbers one
        step writes are still in the cache when the next reads them.  Some kernels round their state
        between chunks, so draws may depend on this number in the last digit.
    warmup
        A number, None, or "certified"; see `Posterior.sample`.
    until
        None, "converged", or a number of effective draws; see `Posterior.sample`.
    block_bytes, block_chunks
        Largest block of draws on a disk, in bytes and in chunks; 100 chunks take half a second.
    place_bytes, place_seconds
        A snapshot to resume from is written after every block, and kept, if it has at most
        `place_bytes`; a larger one is written only when `place_seconds` have passed since the last,
        and the last two are kept.
    """

    draws: int = 1000
    chains: int = 4
    warmup: int | str | None = None
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
    quantiles: Sequence[float] | None = None
    until: float | str | None = None
    chunk_steps: int = 200_000
    block_bytes: int = 1 << 26
    block_chunks: int = 100
    place_bytes: int = 1 << 18
    place_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, (least, most) in _WHOLE.items():
            value = getattr(self, name)
            if value is None and name in ("warmup", "threads"):
                continue
            if name == "warmup" and isinstance(value, str):
                if value != CERTIFIED:
                    raise MethodError(f"warmup = {value!r}; give a number, or 'certified'.")
                continue
            check_whole(name, value, least)
            if value > most:
                raise MethodError(f"{name} = {value}; at most {most:,} is possible.")
            # As Python's own number, which cannot overflow.
            object.__setattr__(self, name, int(value))
        if not isinstance(self.reduce, (bool, np.bool_)):
            raise MethodError(f"reduce = {self.reduce!r}; True or False is needed.")
        if self.method not in METHODS:
            raise MethodError(f"method = {self.method!r}; choose one of {', '.join(METHODS)}.")
        self._check_proposal()
        self._check_until()
        if self.warmup == CERTIFIED:
            self._check_certified()
        if isinstance(self.initial, str) and self.initial != "prior":
            raise MethodError(
                f"initial = {self.initial!r}; give 'prior' or starting probabilities."
            )
        object.__setattr__(self, "seed", _seed_sequence(self.seed))
        object.__setattr__(self, "quantiles", _read_quantiles(self.quantiles))

    def _check_proposal(self) -> None:
        beta = self.proposal_concentration
        if beta is None:
            return
        if self.method != "metropolis":
            raise MethodError("proposal_concentration is for method='metropolis' only.")
        if not (isinstance(beta, Real) and 0 < beta <= _MOST_PROPOSAL):
            raise MethodError(f"proposal_concentration = {beta!r}; it must be positive and finite.")

    def _check_certified(self) -> None:
        problem = None
        if not isinstance(self.initial, str):
            problem = "starts at draws of the prior, and initial= was given"
        elif not self.reduce:
            problem = "simulates cores alone, and reduce=False was given"
        elif self.method not in ("auto", "exact", "waiting-times"):
            problem = f"makes sweeps of waiting times, and method={self.method!r} was given"
        if problem is not None:
            raise MethodError(f"warmup='certified' {problem}. Leave out one of the two.")

    def _check_until(self) -> None:
        number = isinstance(self.until, Real) and not isinstance(self.until, (bool, np.bool_))
        if number and 1 <= self.until <= _MOST:  # type: ignore[operator]
            object.__setattr__(self, "until", float(self.until))  # type: ignore[arg-type]
        elif self.until is not None and self.until != "converged":
            raise MethodError(
                f"until = {self.until!r}; give 'converged', or the number of effective draws of "
                "each category that are wanted, at least 1."
            )

    def sweeps_to_discard(self, near: bool) -> int:
        """Count warm-up sweeps of a chain: half the draws, from 100 to 1000, or to 200 if `near`.

        `near` tells whether it starts near the mode, so that only its steps need to be tuned.
        """
        if isinstance(self.warmup, str):
            raise MethodError(
                f"warmup={self.warmup!r} is offered by Posterior.sample alone: no coupling of the "
                "chains of this model is known. Give a number of sweeps."
            )
        if self.warmup is not None:
            return self.warmup
        return min(max(self.draws // 2, 100), 200 if near else 1000)

    def n_threads(self) -> int:
        """Count the chains that run at the same time."""
        if self.threads is not None:
            return min(self.threads, self.chains)
        return min(processors(), self.chains)

    def kept_numbers(self, counts: ConditionalCounts) -> IntArray | None:
        """Return the numbers of the categories whose draws are kept, None for all."""
        if self.keep is None:
            return None
        numbers = Categories(counts.categories).numbers(self.keep, "keep")
        if len(numbers) == 0:
            raise DataError("keep is empty: name one category at least.")
        return numbers

    def reseeded(self, seed: np.random.SeedSequence) -> Settings:
        """Return the same settings with another seed."""
        return replace(self, seed=seed)

    def silent(self) -> Settings:
        """Return the same settings without a progress bar."""
        return replace(self, progress=False)

    def seed_sequence(self) -> np.random.SeedSequence:
        """Return a copy of the seed; spawning from the copy leaves the original unchanged."""
        return _seed_sequence(self.seed)

    def starting_points(self, n: int) -> FloatArray | None:
        """Return starting probabilities, shape (chains, n), or None for draws of the prior."""
        if isinstance(self.initial, str):
            return None
        p = read_probabilities(self.initial, n)
        if p.shape not in ((n,), (self.chains, n)):
            raise DataError(
                f"initial has shape {p.shape}; ({n},) or ({self.chains}, {n}) is needed."
            )
        return np.array(np.broadcast_to(p, (self.chains, n)))


def processors() -> int:
    """Count the processors that this process may use."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return here or 1


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise MethodError(f"{name} = {value!r}; a whole number of at least {least} is needed.")


def _seed_sequence(seed: SeedLike) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        # A copy without children: spawning changes a SeedSequence.
        return np.random.SeedSequence(
            seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size
        )
    if seed is not None:
        check_whole("seed", seed, 0)
    return np.random.SeedSequence(None if seed is None else int(seed))


def _read_quantiles(given: Sequence[float] | None) -> tuple[float, ...] | None:
    """Read fractions strictly between 0 and 1; return each once, in ascending order."""
    if given is None:
        return None
    try:
        wanted = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"quantiles = {given!r}; numbers between 0 and 1 are needed.") from None
    if wanted.ndim != 1 or not len(wanted) or not ((wanted > 0) & (wanted < 1)).all():
        raise DataError(f"quantiles = {given!r}; numbers between 0 and 1 are needed.")
    return tuple(np.unique(wanted).tolist())
