"""Compilation beforehand of the kernels that usual data need, by a small run of each kind."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from luce.counts.contests import TIE_MODELS, contests_of_pairs
from luce.counts.counts import ConditionalCounts
from luce.embed.gibbs_step import GibbsStep
from luce.errors import MethodError
from luce.model.priors import DirichletProcess, Gamma, PriorLike
from luce.posterior import Posterior
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import METHODS
from luce.sequences.durations import Geometric, Poisson
from luce.sequences.emissions import Autoregressive, Gaussian
from luce.sequences.hdp import HDPTransitions
from luce.sequences.prediction import forecast
from luce.sequences.semi_markov import SemiMarkov

_MANY = 2_000  # categories of the problem for code that only large data need


@dataclass(frozen=True)
class Warmed:
    """The compilations that a kind of data needed.

    Parameters
    ----------
    kind
        The kind of data, or of use.
    compiled
        Number of kernels that were compiled; 0 where all were there.
    seconds
        Time that it took to compile them.
    """

    kind: str
    compiled: int
    seconds: float


def warm_up(*, progress: bool = True) -> list[Warmed]:
    """Compile the kernels that usual data need, so that no later process has to wait.

    Small problems of every kind are drawn by every method that suits them.  Code that is there
    already is not compiled again.

    Parameters
    ----------
    progress
        Show a bar?

    Raises
    ------
    MethodError
        If there is no folder to keep compiled code in.
    """
    from luce.kernels.announcing import compilations
    from luce.kernels.code_cache import cache_folder

    if cache_folder() is None:
        raise MethodError(
            "compiled code cannot be kept, neither beside the sources of luce nor in ~/.cache/luce;"
            " set NUMBA_CACHE_DIR to a folder that can be written."
        )
    found, seconds = list[Warmed](), list[float]()

    def note(_name: str, taken: float) -> None:
        seconds.append(taken)

    compilations.listeners.append(note)
    try:
        with ProgressBar(len(KINDS), progress) as bar, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of runs too short to be trusted
            for kind, run in KINDS.items():
                bar.step(kind)
                seconds.clear()
                run()
                found.append(Warmed(kind, len(seconds), sum(seconds)))
    finally:
        compilations.listeners.remove(note)
    return found


# -- data: one category never wins, so that a small prior needs logarithms -------------------------


def _pairs() -> ConditionalCounts:
    counts = ConditionalCounts("abcdef")
    for winner, loser in ("ab", "ba", "bc", "cb", "cd", "de", "ed", "da", "ef", "cf"):
        counts = counts.observe({winner: 2}, within=[winner, loser])
    return counts


def _rankings() -> ConditionalCounts:
    counts = ConditionalCounts("abcdef")
    for ranking in ("abcd", "bdef", "cabf", "edac", "cbf"):
        counts = counts.observe_ranking(list(ranking))
    return counts


def _all_but_one() -> ConditionalCounts:
    counts = ConditionalCounts("abcde")
    for left_out, seen in zip("abcde", "bcdeb", strict=True):
        counts = counts.observe({seen: 5}, without=left_out)
    return counts


def _general() -> ConditionalCounts:
    """Sets of several sizes, with and without what lies outside of them."""
    counts = ConditionalCounts("abcdef").observe({"a": 2, "b": 1, "c": 3}, within="abc")
    counts = counts.observe({"c": 2, "d": 1}, within="bcd").observe({"b": 3}, without="e")
    return counts.observe({"e": 1, "a": 2}, within="ade").observe_ranking(["e", "b", "f"])


def _groups() -> ConditionalCounts:
    counts = _general().observe_group("ab", 3).observe_group("bc", 2, without="f")
    return counts.observe_group("de", 2, within="cdef")


def _nested() -> ConditionalCounts:
    counts = ConditionalCounts("abcd").observe({"a": 4, "b": 1})
    return counts.observe({"b": 2, "c": 3}, without="a").observe({"c": 1, "d": 2}, within="cd")


def _season(ties: str) -> ConditionalCounts:
    """Matches with ties and a home advantage."""
    results = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 2.0], [2.0, 2.0, 1.0], [1.0, 3.0, 1.0]])
    first, second = np.array([0, 1, 2, 0]), np.array([1, 0, 1, 2])
    at_home = np.ones(4, np.int64)
    contests = contests_of_pairs(3, first, second, at_home, results, ties, True)
    return ConditionalCounts("abc").with_events(contests)


def _large() -> ConditionalCounts:
    """Duels of so many that code for large data is used."""
    rng = np.random.default_rng(1)
    winners, losers = rng.integers(_MANY, size=(2, 10 * _MANY))
    exponents = dict[object, float]()
    for i, j in zip(winners.tolist(), losers.tolist(), strict=True):
        if i != j:
            pair = (min(i, j), max(i, j))
            exponents[pair] = exponents.get(pair, 0.0) - 1.0
            exponents[i,] = exponents.get((i,), 0.0) + 1.0
    return ConditionalCounts.from_exponents(_MANY, exponents)


# -- uses ------------------------------------------------------------------------------------------


def _draw(counts: ConditionalCounts, prior: PriorLike = 1.0, method: str = "auto") -> None:
    """Draw by a method, unless it does not suit the data."""
    try:
        Posterior(counts, prior).sample(20, chains=2, seed=1, method=method, progress=False)
    except MethodError:
        if method == "auto":
            raise


def _every_way(counts: ConditionalCounts) -> None:
    """Draw by every method, in logarithms too, and with a random concentration; find the mode."""
    for method in METHODS:
        _draw(counts, method=method)
        _draw(counts, prior=0.01, method=method)  # probabilities too small for plain numbers
    _draw(counts, Gamma(2.0, 1.0))
    _fit(counts)


def _fit(counts: ConditionalCounts) -> None:
    """Find the mode and the curvature there."""
    posterior = Posterior(counts, 1.5)
    posterior.mode()
    posterior.standard_errors()


def _seasons() -> None:
    for ties in TIE_MODELS:
        for method in ("waiting-times", "hamiltonian"):
            _draw(_season(ties), method=method)


def _evidence() -> None:
    for counts in (_pairs(), _rankings(), _all_but_one(), _general(), _groups()):
        Posterior(counts, 1.0).log_evidence(seed=1)


def _large_data() -> None:
    _draw(_large())
    _fit(_large())


def _dirichlet_process() -> None:
    counts = ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 4, "bee": 1})
    _draw(counts.observe({"bee": 3}, without=["ant"]), DirichletProcess(2.0))


def _transitions() -> None:
    counts = np.array([[0, 3, 1], [2, 0, 2], [1, 4, 0]])
    for scale in (2.0, Gamma(2.0, 1.0)):
        HDPTransitions(3, scale, scale).fit(counts, 20, chains=2, seed=1, progress=False)


def _time_series() -> None:
    """Draw states of series with the usual emissions and durations, some values missing."""
    rng = np.random.default_rng(1)
    series = np.repeat([[0.0, 0.0], [6.0, -3.0], [0.0, 0.0]], 20, axis=0)
    series = series + rng.normal(size=series.shape)
    with_gaps = series.copy()
    with_gaps[5, 0] = np.nan
    given = ((Gaussian(), with_gaps), (Autoregressive(), series))
    for emission, data in given:
        for duration in (Poisson(mean=20), Geometric(mean=20)):
            model = SemiMarkov(4, emission, duration)
            run = model.fit(data, 20, chains=2, warmup=5, seed=1, progress=False)
            forecast(run, 2, seed=1)


def _steps() -> None:
    rng, counts = np.random.default_rng(1), _all_but_one()
    for given in (counts, _general()):
        step = GibbsStep.of(given)
        n = len(step.categories)
        for prior in (1.0, 1e-3):
            step(rng, np.full(n, 1 / n), step.totals(given), concentration=prior)
        step(rng, np.full(n, 1 / n), np.where(step.inside, 1.0, 0.0), concentration=1.0)


def _to_disk() -> None:
    if find_spec("zarr") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        Posterior(_pairs(), 1.0).sample(
            20, chains=2, seed=1, to=Path(folder) / "run.zarr", quantiles=[0.5], progress=False
        )


KINDS: dict[str, Callable[[], None]] = {
    "pairs": lambda: _every_way(_pairs()),
    "rankings": lambda: _every_way(_rankings()),
    "all but one": lambda: _every_way(_all_but_one()),
    "sets of several sizes": lambda: _every_way(_general()),
    "grouped outcomes": lambda: _every_way(_groups()),
    "ties and home advantage": _seasons,
    "nested sets": lambda: _every_way(_nested()),
    "large data": _large_data,
    "a Dirichlet process": _dirichlet_process,
    "evidence": _evidence,
    "hierarchical transitions": _transitions,
    "time series": _time_series,
    "steps of other samplers": _steps,
    "draws to a disk": _to_disk,
}
