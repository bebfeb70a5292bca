"""Bounds on the distance of a chain's law from the posterior, from times until pairs meet.

With τ the time at which X, `lag` L sweeps ahead, meets Y, the law of a chain after t sweeps is
within

    E max(0, ⌈(τ - L - t) / L⌉)                                    in total variation, and
    E Σ_(j >= 1, t + j L <= τ - 1) |X_(t + j L) - Y_(t + (j - 1) L)|     in Wasserstein's distance

of the posterior (Biswas, Jacob and Vanetti 2019).  Both are means over independent pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.labels import plural
from luce.errors import MethodError
from luce.model.model import Model
from luce.sampling.coupled_chains import CoupledChains, NotMetError
from luce.sampling.replicates import repeat

# Probability that an upper limit holds.
CONFIDENCE = 0.99

# Pairs of a pilot, and pairs that a bound rests on where nothing else is said.
PILOT, PAIRS = 200, 2000

# Coupled sweeps after which pairs that have not met are given up.
LONGEST = 10_000

# Distance that a certified warm-up is to reach.
WANTED = 0.01

# Pairs still apart at some time from which their further meetings are looked at.
_ENOUGH_APART = 20


@dataclass(frozen=True, eq=False)
class Meetings:
    """An experiment: the coupled sweeps until a pair meets, and the distances before.

    Parameters
    ----------
    model
        Data and prior.
    seed
        Seed of all pairs.
    replicates
        Number of pairs.
    lag
        Sweeps by which X is ahead.
    longest
        Coupled sweeps after which a pair is given up.
    sweeps
        Numbers of sweeps after which a bound on Wasserstein's distance is wanted.
    """

    model: Model
    seed: np.random.SeedSequence
    replicates: int
    lag: int
    longest: int
    sweeps: tuple[int, ...] = ()

    @cached_property
    def chains(self) -> CoupledChains:
        """The chains, made ready."""
        return CoupledChains(self.model)

    def once(self, number: int) -> FloatArray:
        """Return the number of coupled sweeps, and the sums of distances after `sweeps`."""
        found = self.chains.meet(child(self.seed, number), self.lag, 0, self.longest)
        if not self.sweeps:
            return np.array([float(found.met)])
        expansion = self.chains.expansion
        ahead = [x[self.lag : self.lag + found.met] for x in found.x]
        behind = [y[: found.met] for y in found.y]
        apart = expansion.products(self.chains.shares(ahead))
        apart -= expansion.products(self.chains.shares(behind))
        distance = np.abs(apart) @ expansion.weight
        return np.array([float(found.met), *(distance[t :: self.lag].sum() for t in self.sweeps)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what is given: the chains are made ready again."""
        given = self.model, self.seed, self.replicates, self.lag, self.longest, self.sweeps
        return Meetings, given


def child(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """Return the child of a seed with this number; nothing is spawned."""
    key = (*seed.spawn_key, number)
    return np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)


def pilot_times(
    model: Model,
    seed: np.random.SeedSequence,
    longest: int = LONGEST,
    threads: int = 1,
    progress: bool = False,
) -> IntArray:
    """Simulate a few pairs with lag 1; return their numbers of coupled sweeps.

    Raises
    ------
    NotMetError
        Where a pair does not meet within `longest` sweeps.
    """
    pairs = Meetings(model, seed, PILOT, 1, longest)
    _ = pairs.chains  # refuses what cannot be coupled; threads share it
    return repeat(pairs, threads=threads, progress=progress)[:, 0].astype(np.int64)


def steps_left(met: IntArray, lag: int, sweeps: IntArray) -> IntArray:
    """Compute max(0, ⌈(τ - L - t) / L⌉), shape (pair, t); `met` is τ - L."""
    return np.asarray(np.maximum(-((sweeps - met[:, None]) // lag), 0))


def upper_limits(met: IntArray, lag: int, sweeps: IntArray) -> FloatArray:
    """Compute limits that the bounds in total variation are below, 99 % sure; at most 1.

    The variable ⌈(τ - L - t) / L⌉ has no largest value, so no limit for its mean follows from
    numbers alone.  Assumed is that pairs which are apart at t meet within another L sweeps at least
    half of the time.  Then its mean is at most 2 P(τ - L > t), for which Clopper and Pearson's
    limit is exact.
    """
    from scipy.stats import beta

    apart = (met[:, None] > sweeps).sum(axis=0)
    limit = beta.ppf(CONFIDENCE, apart + 1, len(met) - apart)
    return np.minimum(np.where(apart == len(met), 1.0, 2.0 * limit), 1.0)


def check_tail(met: IntArray, lag: int) -> None:
    """Refuse meeting times that contradict what `upper_limits` assumes."""
    times = np.sort(met)
    start = np.unique(np.r_[0, times])
    apart = len(times) - np.searchsorted(times, start, side="right")
    later = len(times) - np.searchsorted(times, start + lag, side="right")
    wrong = (apart >= _ENOUGH_APART) & (later > 0.5 * apart)
    if wrong.any():
        t = int(np.argmax(wrong))
        raise MethodError(
            f"of {apart[t]:,} pairs of chains that were apart after {start[t]:,} sweeps "
            f"{later[t]:,} were still apart {lag:,} sweeps later: some pairs take so much longer "
            "to meet than others that no limit can be given. The chains mix badly; look at "
            "sample(), and its check of convergence."
        )


@dataclass(frozen=True)
class Certificate:
    """The number of warm-up sweeps after which a chain's law is near the posterior.

    Attributes
    ----------
    sweeps
        The warm-up.
    bound
        Estimate of the bound on the distance in total variation after it.
    limit
        What the bound is below, 99 % sure.
    pairs, lag
        Pairs of chains that it rests on, and the sweeps by which one of each was ahead.
    """

    sweeps: int
    bound: float
    limit: float
    pairs: int
    lag: int

    def __str__(self) -> str:
        return sentence(self.sweeps, self.limit)


def sentence(sweeps: int, limit: float, warmup: bool = True) -> str:
    """Say how near the law of each chain is to the posterior, after its warm-up or some sweeps."""
    chain, kind = ("each chain's", "warm-up sweep") if warmup else ("a chain's", "sweep")
    after = f"After {plural(sweeps, kind)} {chain} law"
    if limit >= 1:
        return f"{after} may be at any distance from the posterior."
    return f"{after} is within {np.ceil(limit * 1000) / 1000:.3f} (99 % sure) of the posterior."


def certify(
    model: Model, seed: np.random.SeedSequence, threads: int = 1, progress: bool = False
) -> Certificate:
    """Find the fewest sweeps after which the distance is below 0.01, 99 % sure.

    Raises
    ------
    MethodError
        Where no coupling of the sweeps is known, or pairs of chains do not meet.
    """
    try:
        lag = int(pilot_times(model, child(seed, 0), LONGEST, threads, progress).max())
        pairs = Meetings(model, child(seed, 1), PAIRS, lag, LONGEST)
        _ = pairs.chains
        met = repeat(pairs, threads=threads, progress=progress)[:, 0].astype(np.int64)
    except NotMetError as error:
        raise MethodError(
            f"warmup='certified' cannot be had: {error}, so nothing bounds the distance of the "
            "chains from the posterior. Leave warmup out, and look at the check of convergence."
        ) from error
    check_tail(met, lag)
    sweeps = np.arange(int(met.max()) + 1)
    limits = upper_limits(met, lag, sweeps)
    enough = int(np.argmax(limits <= WANTED))
    left = steps_left(met, lag, sweeps[[enough]])
    return Certificate(enough, float(left.mean()), float(limits[enough]), len(met), lag)
