"""Posterior means without bias at finite time, from pairs of coupled chains.

Jacob, O'Leary and Atchadé (2020): with X `lag` L sweeps ahead of Y, both started from the same law,
and met after M coupled sweeps,

    H = mean over q = k..m of   h(X_q) + Σ_j (h(X_(q + j L)) - h(Y_(q + (j - 1) L))),

j = 1, 2, ... while q + j L < L + M, has exactly the posterior mean of h as its expectation.
Replicates are independent, so their spread gives a standard error that rests on no theory of
autocorrelation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, SeedLike, WordArray
from luce.cluster.connect import ClusterLike, check_cluster
from luce.cluster.replicates import repeat_on
from luce.errors import DataError, MethodError
from luce.estimates.estimate import Estimate, by_category
from luce.model.model import Model
from luce.posterior import Posterior
from luce.sampling.coupled_chains import CoupledChains, NotMetError
from luce.sampling.meeting_times import LONGEST, child, pilot_times
from luce.sampling.mixing import errors_of_means
from luce.sampling.replicates import MOST_AT_ONCE
from luce.sampling.settings import Settings, check_whole

if TYPE_CHECKING:
    from xarray import DataArray

# Share of a pilot's pairs that have met after k sweeps; m over k, and the least m.
_MET, _LONGER, _LEAST = 0.95, 10, 100

# Ordinary chains that the cost is compared with, and their sweeps, as a multiple of m; most entries
# that are compared.
_ORDINARY_CHAINS, _ORDINARY_SWEEPS, _MOST_COMPARED = 4, 10, 200

# Number, among the children of a pair's seed, of the seed of its exact splits.
_SPLITTER = 10**6

Function = Callable[..., Any]


def unbiased(
    posterior: Posterior,
    function: Function | None = None,
    *,
    replicates: int = 1000,
    seed: SeedLike = None,
    threads: int | None = None,
    cluster: ClusterLike = None,
    longest: int = LONGEST,
    progress: bool = True,
) -> Estimate:
    """Estimate posterior means without bias, from independent pairs of coupled chains.

    The expectation of the estimate is the posterior mean itself, after finitely many sweeps and
    without a warm-up that might be too short.  So the standard error is all there is to its error.
    A pilot of 200 pairs chooses how long each pair is simulated.

    Parameters
    ----------
    posterior
        Data and prior.
    function
        Takes probabilities, an array of shape (draw, category), and returns an array of shape
        (draw,) or (draw, ...), or a DataArray whose first dimension is that of draws: the means of
        these numbers are estimated.  Of data with parameters, such as `home` and `tie`, it takes
        those that are drawn too, by name, arrays of shape (draw,).  None estimates the
        probabilities.
    replicates
        Independent pairs.
    seed
        The same seed gives the same estimate, for any number of threads or workers.
    threads
        Pairs that are simulated at the same time; as many as there are processors unless given.
    cluster
        Simulates the pairs on the workers of a Dask scheduler, as in `Posterior.sample`.
    longest
        Coupled sweeps after which a pair is given up.  The estimate is then refused: without such
        pairs it would be biased.
    progress
        Show a bar for anything longer than two seconds?

    Returns
    -------
    Estimate
        `value` and `standard_error` by category, or as `function` gives them; `interval()` is a
        confidence interval.  Among the `details`: `k`, `m` and `lag`, the pairs' `meeting_times`,
        all `sweeps`, and `relative_cost`: the sweeps that an equally exact mean of ordinary chains
        would take, without their warm-up, are fewer by this factor.

    Raises
    ------
    MethodError
        Where no coupling of the model's sweeps is known, or a pair does not meet.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab")
    >>> counts = counts.observe({"b": 3, "c": 2}, within="bc")
    >>> found = luce.unbiased(luce.Posterior(counts, 2.0), replicates=400, seed=1)
    >>> found.value.round(2).values
    array([0.47, 0.27, 0.26])
    >>> bool((found.standard_error < 0.002).all())
    True
    """
    if not isinstance(posterior, Posterior):
        raise DataError(
            f"a luce.Posterior is needed, not {type(posterior).__name__}; luce.posterior_of(run) "
            "gives that of a run."
        )
    if function is not None and not callable(function):
        raise DataError(f"function = {function!r}; give a function of probabilities, or None.")
    check_whole("replicates", replicates, 2)
    check_whole("longest", longest, 1)
    check_cluster(cluster)
    settings = Settings(chains=MOST_AT_ONCE, seed=seed, threads=threads, progress=progress)
    model, own, at_once = posterior.model, settings.seed_sequence(), settings.n_threads()
    if function is None and _is_closed(model):
        return _closed_form(posterior)
    try:
        met = pilot_times(model, child(own, 0), longest, at_once, progress)
        k = max(int(np.ceil(np.quantile(met, _MET))), 1)
        m = max(_LONGER * k, _LEAST)
        pairs = CoupledMeans(model, child(own, 1), replicates, k, m, longest, function)
        # Refuses a function that does not fit, before the work is done.
        ordinary, compared, like = pairs.ordinary(child(own, 2))
        rows = repeat_on(cluster, pairs, at_once, progress)
    except NotMetError as error:
        raise MethodError(
            f"{error}, and an estimate without it would be biased. Raise longest= (now "
            f"{longest:,}) if chains mix slowly but do meet; else use sample(), and look at its "
            "check of convergence."
        ) from error
    means, times, sweeps = rows[:, :-2], rows[:, -2].astype(np.int64), rows[:, -1]
    variance = means.var(axis=0, ddof=1)
    moves = ordinary > 0
    relative = 1.0
    if moves.any():
        relative = np.median(variance[compared][moves] * sweeps.mean() / ordinary[moves])
    return Estimate(
        pairs.labelled(means.mean(axis=0), like),
        pairs.labelled(np.sqrt(variance / replicates), like),
        f"{replicates:,} coupled pairs, k = lag = {k}, m = {m}; for the same error ordinary chains "
        f"would make {relative:.2g} times fewer sweeps, and a warm-up",
        {
            "k": k,
            "m": m,
            "lag": k,
            "replicates": replicates,
            "meeting_times": times,
            "sweeps": int(sweeps.sum()),
            "relative_cost": float(relative),
        },
    )


def _is_closed(model: Model) -> bool:
    """Tell whether the means of probabilities have a closed form."""
    return model.hyperprior is None and model.counts.events is None and model.structure.is_exact


def _closed_form(posterior: Posterior) -> Estimate:
    mean = posterior.mean()
    return Estimate(mean, 0.0 * mean, "exact: the sets nest", {"replicates": 0, "sweeps": 0})


@dataclass(frozen=True, eq=False)
class CoupledMeans:
    """An experiment: H of one pair of chains.

    Parameters
    ----------
    model
        Data and prior.
    seed
        Seed of all pairs.
    replicates
        Number of pairs.
    k, m
        First and last of the sweeps that are averaged over; `k` is the lag too.
    longest
        Coupled sweeps after which a pair is given up.
    function
        h, or None for the probabilities.
    """

    model: Model
    seed: np.random.SeedSequence
    replicates: int
    k: int
    m: int
    longest: int
    function: Function | None

    @cached_property
    def chains(self) -> CoupledChains:
        """The chains, made ready."""
        return CoupledChains(self.model)

    def once(self, number: int) -> FloatArray:
        """Return H, the coupled sweeps until the pair met, and all sweeps of both chains."""
        seed = child(self.seed, number)
        pair = self.chains.meet(seed, self.k, self.m, self.longest)
        of_x, of_y = weights(self.k, self.m, pair.met)
        # Exact splits of X and of its partner Y are drawn alike, so that they cancel once X = Y.
        splitter, late = new_splitter(seed), 2 * self.k
        used = [
            (pair.x, of_x, self.k, late, splitter),
            (pair.x, of_x, late, len(of_x), splitter.copy()),
            (pair.y, of_y, self.k, len(of_y), splitter),
        ]
        mean: Any = 0.0
        for rows, weight, start, stop, bits in used:
            if start < stop:
                found, _ = self._evaluate([x[start:stop] for x in rows], stop - start, bits)
                mean = mean + weight[start:stop] @ found
        return np.array([*mean, float(pair.met), float(len(of_x) - 1 + pair.met)])

    def _evaluate(
        self, rows: list[FloatArray], number: int, splitter: WordArray
    ) -> tuple[FloatArray, Any]:
        """Evaluate h on states of the parts, shape (row, entry); return it, and its last form."""
        chains = self.chains
        shares = chains.shares(rows)
        if self.function is None:
            return chains.expansion.products(shares), None
        p, splits = np.empty((number, self.model.counts.n_categories)), chains.method.splits
        if splits is None:
            p[:] = shares[0]
        else:
            from luce.kernels.dirichlet_tree import draw_splits

            cells = np.hstack([np.empty((number, 0)), *shares])
            draw_splits(splitter, splits, cells, False, p, np.empty((0, 0)))
        parameters = chains.parameters(rows)
        result = self.function(p, **parameters)
        found = np.asarray(result, np.float64)
        if found.ndim == 0 or len(found) != number:
            given = "".join(f", {name}=array of shape ({number},)" for name in parameters)
            raise DataError(
                f"function returned shape {found.shape} for probabilities of shape {p.shape}"
                f"{given}; its first dimension must be that of the draws, {number}."
            )
        if not np.isfinite(found).all():
            raise DataError(
                "function returned numbers that are not finite; a mean of them does not exist."
            )
        return found.reshape(number, -1), result[0]

    def ordinary(self, seed: np.random.SeedSequence) -> tuple[FloatArray, IntArray, Any]:
        """Simulate ordinary chains.

        Returns the variance of their mean of some entries of h, times their sweeps; the numbers of
        these entries; and one value of the function.
        """
        found, sweeps, last = [], self.k + _ORDINARY_SWEEPS * self.m, None
        for number in range(_ORDINARY_CHAINS):
            own = child(seed, number)
            pair = self.chains.meet(own, 1, sweeps, self.longest)
            rows = [x[self.k : sweeps] for x in pair.x]
            values, last = self._evaluate(rows, sweeps - self.k, new_splitter(own))
            width = values.shape[1]
            chosen = np.unique(np.linspace(0, width - 1, min(width, _MOST_COMPARED)).astype(int))
            found.append(values[:, chosen])
        x = np.ascontiguousarray(np.array(found).transpose(2, 0, 1))
        return errors_of_means(x) ** 2 * x[0].size, chosen, last

    def labelled(self, values: FloatArray, like: Any) -> float | DataArray:
        """Return the means of h with the labels of the categories, or of the function's result."""
        if self.function is None:
            expansion = self.chains.expansion
            mean = expansion.factor * values[expansion.product]
            return by_category(mean, self.model.counts.categories, "mean")
        from xarray import DataArray

        if isinstance(like, DataArray):
            return like.copy(data=values.reshape(like.shape))
        shape = np.shape(like)
        return DataArray(values.reshape(shape)) if shape else float(values[0])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what is given: the chains are made ready again."""
        given = self.model, self.seed, self.replicates, self.k, self.m, self.longest
        return CoupledMeans, (*given, self.function)


def new_splitter(seed: np.random.SeedSequence) -> WordArray:
    """Seed the generator of the exact splits of a pair."""
    from luce.kernels.random import new_bits

    return new_bits(child(seed, _SPLITTER))


def weights(k: int, m: int, met: int) -> tuple[FloatArray, FloatArray]:
    """Compute the weights of h(X_0), h(X_1), ... and of h(Y_0), h(Y_1), ... in H, for the lag k.

    h(X_t) - h(Y_(t - L)) counts once for each q = t - j L from k to m, j >= 1.

    Examples
    --------
    >>> x, y = weights(2, 3, 5)  # q = 2: X_2 + X_4 - Y_2 + X_6 - Y_4; q = 3: X_3 + X_5 - Y_3
    >>> x, y
    (array([0. , 0. , 0.5, 0.5, 0.5, 0.5, 0.5]), array([ 0. ,  0. , -0.5, -0.5, -0.5]))
    """
    lag = k
    t = np.arange(max(m, lag + met - 1) + 1)
    times = (t - k) // lag - np.maximum(-((m - t) // lag), 1) + 1
    times = np.where(t < lag + met, np.maximum(times, 0), 0)
    of_x = ((t >= k) & (t <= m)) + times
    return of_x / (m - k + 1), -times[lag : lag + met] / (m - k + 1)
