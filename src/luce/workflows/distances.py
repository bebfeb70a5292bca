"""How far the law of a chain can be from the posterior after a number of sweeps: upper bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray, SeedLike
from luce.answers.updates import Update
from luce.cluster.connect import ClusterLike, check_cluster
from luce.cluster.replicates import repeat_on
from luce.counts.labels import plural
from luce.errors import DataError, MethodError
from luce.estimates.estimate import Estimate
from luce.posterior import Posterior, posterior_of
from luce.sampling.coupled_chains import NotMetError, has_plain_sweeps
from luce.sampling.meeting_times import (
    LONGEST,
    PAIRS,
    WANTED,
    Meetings,
    check_tail,
    child,
    pilot_times,
    sentence,
    steps_left,
    upper_limits,
)
from luce.sampling.replicates import MOST_AT_ONCE
from luce.sampling.settings import Settings, check_whole

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

# Numbers of sweeps that are looked at where none are given: up to some multiple of the lag, and
# most of them.
_LONGEST_LAGS, _MORE_SWEEPS, _MOST_SHOWN = 4, 10, 1000


@dataclass(frozen=True)
class DistanceBound:
    """Upper bounds on the distance of a chain's law from the posterior, by number of sweeps.

    They are about plain sweeps of waiting times, from the starts of `Posterior.sample`.

    Attributes
    ----------
    total_variation
        Estimate of a bound on the largest difference of any probability, with its standard error.
    limit
        What that bound is below, 99 % sure; at most 1.
    wasserstein
        Estimate of a bound on the distance in Wasserstein's sense, with its standard error: means
        of any function that changes by at most Σ |p_i - q_i| are this near.
    meeting_times
        Coupled sweeps that each pair needed to meet.
    lag
        Sweeps by which one chain of each pair was ahead.
    of_run
        Whether the bound is about the chains of a run after their warm-up.
    """

    total_variation: Estimate
    limit: DataArray
    wasserstein: Estimate
    meeting_times: IntArray
    lag: int
    of_run: bool = False

    def sweeps_until(self, distance: float = WANTED) -> int:
        """Return the fewest sweeps after which the limit is at most `distance`.

        Raises
        ------
        DataError
            Where more pairs are needed to tell.
        """
        sweeps = np.arange(int(self.meeting_times.max(initial=0)) + 1)
        if not len(self.meeting_times):
            return 0
        limits = upper_limits(self.meeting_times, self.lag, sweeps)
        if limits[-1] > distance:
            raise DataError(
                f"distance = {distance:g} is less than {plural(len(self.meeting_times), 'pair')} "
                f"can tell: the limit never falls below {limits[-1]:.2g}. Take more replicates."
            )
        return int(np.argmax(limits <= distance))

    def __str__(self) -> str:
        if not len(self.meeting_times):
            return "Every draw is an exact draw of the posterior: its law is at distance 0."
        told = [
            sentence(int(t), float(x), self.of_run)
            for t, x in zip(self.limit["sweep"].values, self.limit.values, strict=True)
        ]
        return told[0] if len(told) == 1 else "\n".join((told[0], told[-1]))

    __repr__ = __str__


def distance_to_posterior(
    posterior: Posterior | DataTree,
    sweeps: int | Iterable[int] | None = None,
    *,
    replicates: int = PAIRS,
    seed: SeedLike = None,
    threads: int | None = None,
    cluster: ClusterLike = None,
    longest: int = LONGEST,
    progress: bool = True,
) -> DistanceBound:
    """Bound the distance between the posterior and the law of a chain after some sweeps.

    The chain makes sweeps of waiting times from the starts of `Posterior.sample`.  The bound is an
    expectation over pairs of coupled chains, and is estimated from independent ones.

    Parameters
    ----------
    posterior
        Data and prior.  Or a run: the bound is then about its own chains after their warm-up,
        and is refused where the run did not make plain sweeps of waiting times.
    sweeps
        One or more numbers of sweeps.  Unless given, all from 0 until the limit is at most 0.01,
        or of a run its warm-up.
    replicates
        Independent pairs of chains.
    seed
        The same seed gives the same bound, for any number of threads or workers.
    threads, cluster, progress
        As in `luce.unbiased`.
    longest
        Coupled sweeps after which a pair is given up, and the bound refused.

    Returns
    -------
    DistanceBound
        `total_variation` and `wasserstein` by number of sweeps, with standard errors, and `limit`,
        what the first is below, 99 % sure.  Printing tells it in a sentence.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab")
    >>> counts = counts.observe({"b": 3, "c": 2}, within="bc")
    >>> found = luce.distance_to_posterior(luce.Posterior(counts, 2.0), 20, seed=1)
    >>> print(found)
    After 20 sweeps a chain's law is within 0.005 (99 % sure) of the posterior.
    """
    own: int | None = None
    if not isinstance(posterior, Posterior):
        if getattr(posterior, "attrs", {}).get("independent_draws"):
            return _nothing(np.zeros(1, np.int64))
        own, posterior = _warmup_of(posterior), posterior_of(posterior)
    given = _read_sweeps(sweeps if sweeps is not None or own is None else own)
    check_whole("replicates", replicates, 100)
    check_whole("longest", longest, 1)
    check_cluster(cluster)
    settings = Settings(chains=MOST_AT_ONCE, seed=seed, threads=threads, progress=progress)
    model = posterior.model
    if model.hyperprior is None and model.counts.events is None and model.structure.is_exact:
        return _nothing(given if given is not None else np.zeros(1, np.int64))
    root, at_once = settings.seed_sequence(), settings.n_threads()
    try:
        lag = int(pilot_times(model, child(root, 0), longest, at_once, progress).max())
        wanted = _several(lag) if given is None else given
        pairs = Meetings(model, child(root, 1), replicates, lag, longest, tuple(wanted.tolist()))
        _ = pairs.chains  # threads share it
        rows = repeat_on(cluster, pairs, at_once, progress)
    except NotMetError as error:
        raise MethodError(
            f"{error}, so nothing bounds the distance of the chains from the posterior. Raise "
            f"longest= (now {longest:,}) if chains mix slowly but do meet; else look at the check "
            "of convergence of sample()."
        ) from error
    met, sums = rows[:, 0].astype(np.int64), rows[:, 1:]
    check_tail(met, lag)
    if given is None:
        near = np.flatnonzero(upper_limits(met, lag, wanted) <= WANTED)
        wanted = wanted[: near[0] + 1 if len(near) else None]
        sums = sums[:, : len(wanted)]
    left = steps_left(met, lag, wanted)
    limit = _by_sweep(upper_limits(met, lag, wanted), wanted)
    return DistanceBound(
        _mean(left, wanted), limit, _mean(sums, wanted), met, lag, of_run=own is not None
    )


def _read_sweeps(given: int | Iterable[int] | None) -> IntArray | None:
    """Return numbers of sweeps in ascending order, each once."""
    if given is None:
        return None
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found = list(several)
    if not found:
        raise DataError("sweeps is empty; give one or more numbers of sweeps.")
    for each in found:
        check_whole("sweeps", each, 0)
    return np.unique(np.array(found, np.int64))


def _several(lag: int) -> IntArray:
    """Choose numbers of sweeps among which the limit will have become small."""
    most = _LONGEST_LAGS * lag + _MORE_SWEEPS
    return np.unique(np.linspace(0, most, min(most, _MOST_SHOWN) + 1).astype(np.int64))


def _mean(each: IntArray | FloatArray, sweeps: IntArray) -> Estimate:
    """Average over pairs."""
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    method = plural(len(each), "pair of coupled chains", "pairs of coupled chains")
    return Estimate(_by_sweep(each.mean(axis=0), sweeps), _by_sweep(error, sweeps), method)


def _by_sweep(values: FloatArray, sweeps: IntArray) -> DataArray:
    from xarray import DataArray

    return DataArray(values, {"sweep": sweeps}, ("sweep",))


def _nothing(sweeps: IntArray) -> DistanceBound:
    """Return the distance 0 of exact draws."""
    zero = _by_sweep(np.zeros(len(sweeps)), sweeps)
    exact = Estimate(zero, zero, "independent draws")
    return DistanceBound(exact, zero, exact, np.empty(0, np.int64), 1)


def _warmup_of(run: DataTree) -> int:
    """Return the warm-up sweeps of a run, or refuse one whose chains are others."""
    attributes = getattr(run, "attrs", {})
    if attributes.get("kind") != "posterior":
        raise DataError(
            f"a luce.Posterior, or a run of its sample(), is needed, not {type(run).__name__}."
        )
    posterior = posterior_of(run)
    problem = None
    if Update.in_attributes(attributes) is not None:
        problem = "it was updated by new data"
    elif attributes.get("method") != "waiting-times":
        problem = f"its method is {attributes.get('method')!r}"
    elif attributes.get("initial") == "given":
        problem = "its starting points were given"
    elif not attributes.get("reduced") and posterior.counts.events is None:
        problem = "it was drawn with reduce=False"
    elif "certified" not in attributes and not has_plain_sweeps(posterior.model):
        problem = "its sweeps begin with moves, or have a step, of which no coupling is known"
    if problem is not None:
        raise MethodError(
            f"no bound is known for the chains of this run: {problem}. A bound is known for "
            "sweeps of waiting times from draws of the prior: give the posterior instead, or "
            "sample it with warmup='certified'."
        )
    return int(attributes["warmup"])
