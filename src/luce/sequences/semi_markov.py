"""The hidden semi-Markov model with a hierarchical Dirichlet process over its transitions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels, SeedLike, WordArray
from luce.counts.labels import Categories, plural
from luce.errors import DataError, MethodError
from luce.model.priors import Gamma
from luce.sampling.settings import check_whole
from luce.sequences.durations import Duration, Poisson, duration_from_json
from luce.sequences.emissions import Custom, Emission, Gaussian
from luce.sequences.hdp import HDPTransitions, check_generator
from luce.sequences.semi_markov_state import SemiMarkovState, StepInfo
from luce.sequences.semi_markov_sweep import Sweeper
from luce.sequences.series import Series, check_candidates, read_series

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.cluster.connect import ClusterLike

# Prior of both concentrations unless given: mean 5, standard deviation 3.5.
DEFAULT_CONCENTRATION = Gamma(2.0, 0.4)

# Moves that split and merge states, in each sweep, unless given.
DEFAULT_MOVES = 20

STARTS = ("own", "base", "uniform")
ENDS = ("censored", "complete")
BEGINNINGS = ("random", "one", "all")

# Simulated paths that are tried until one fits `longest` and `end`.
_MOST_TRIES = 100_000

_MOST_STATES = 32_000  # states are stored in 16 bits


class Simulation(NamedTuple):
    """A series drawn from the model.

    Attributes
    ----------
    series
        Shape (rows, channels), or a list of such arrays for several sequences.
    state
        State that it was drawn from, the states of its rows included.
    """

    series: FloatArray | list[FloatArray]
    state: SemiMarkovState


class SemiMarkov:
    """Hidden semi-Markov model of a time series: states that last, and follow each other.

        β ~ Dir(γ/L, ..., γ/L),    A_i ~ Dir(α β) given no self-loop
        z_1 ~ π0,  z_{k+1} ~ A_{z_k},    D_k ~ duration law of z_k
        y_t ~ emission law of the state at row t

    It is the weak limit with L states of the HDP-HSMM of Johnson and Willsky (2013).

    Parameters
    ----------
    n_states
        Largest number L of states, or their labels.  States that are not needed stay empty; a run
        in which none stayed empty says so.
    emission
        Law of the observations within a state: `Gaussian()` unless given.
    duration
        Law of the number of rows that a state lasts: `Poisson(mean=30)` unless given.
    concentration, base_concentration
        α and γ: positive numbers, or `luce.Gamma` priors.  Large α: all states are followed alike;
        large γ: all states are equally popular.  ``Gamma(2, 0.4)`` unless given.
    longest
        Longest segment that is looked for, in rows.  Unless given: four times the prior's mean
        duration, at least 50; none for durations whose messages take linear time.  The model is
        then conditioned on no longer segment having been seen.
    start
        Law π0 of the first state: "own", Dir(1/L, ..., 1/L) of its own; "base", β; or "uniform".
    end
        "censored": the last segment of a sequence may go on after its last row; "complete": it
        ends there.  A series always begins with the first row of a segment.
    forbidden
        Transitions that cannot occur, besides self-loops: as for `luce.HDPTransitions`.

    Examples
    --------
    >>> from luce.sequences import Gaussian, Poisson
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0, -40.0, 50.0], 30)
    >>> model = SemiMarkov(6, Gaussian(), Poisson(mean=30))
    >>> state = model.initial_state(rng, level + rng.normal(size=150))
    >>> state.rows.diagonal()
    array([0., 0., 0., 0., 0., 0.])
    """

    def __init__(
        self,
        n_states: int | Labels,
        emission: Emission | None = None,
        duration: Duration | None = None,
        concentration: float | Gamma = DEFAULT_CONCENTRATION,
        base_concentration: float | Gamma = DEFAULT_CONCENTRATION,
        longest: int | None = None,
        start: str = "own",
        end: str = "censored",
        forbidden: Any = None,
    ) -> None:
        self.emission = Gaussian() if emission is None else emission
        self.duration = Poisson() if duration is None else duration
        if not isinstance(self.emission, Emission):
            raise DataError(
                f"emission = {emission!r}; one of luce.sequences.Gaussian, DiagonalGaussian, "
                "Counts, Categories, Autoregressive or Custom is needed, as emission=Gaussian()."
            )
        if not isinstance(self.duration, Duration):
            raise DataError(
                f"duration = {duration!r}; one of luce.sequences.Poisson, NegativeBinomial, "
                "Geometric or Histogram is needed, as duration=Poisson(mean=30)."
            )
        if start not in STARTS:
            hint = (
                " The law of first states cannot be left-censored." if start == "censored" else ""
            )
            raise DataError(f"start = {start!r}; 'own', 'base' or 'uniform' is needed.{hint}")
        if end not in ENDS:
            raise DataError(f"end = {end!r}; 'censored' or 'complete' is needed.")
        if longest is not None:
            check_whole("longest", longest, 1)
            self.duration.check_longest(longest)
        if isinstance(n_states, str):
            raise DataError(
                f"n_states = {n_states!r}; the semi-Markov model is drawn in its weak limit: give "
                "a number larger than that of the states you expect, as n_states=30."
            )
        states = Categories(n_states)
        if not 2 <= len(states) <= _MOST_STATES:
            raise DataError(
                f"n_states = {len(states):,}; 2 to {_MOST_STATES:,} states are possible, and with "
                "one nothing is to be segmented."
            )
        self.transitions = HDPTransitions(
            states.labels, concentration, base_concentration, forbidden, self_loops="removed"
        )
        self.start, self.end, self.longest = start, end, longest

    @property
    def states(self) -> tuple[Label, ...]:
        """Labels of the states."""
        assert self.transitions.states is not None
        return tuple(self.transitions.states)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.states)

    def __repr__(self) -> str:
        limit = "" if self.longest is None else f", longest {self.longest}"
        return (
            f"SemiMarkov({self.n_states} states, {self.emission!r}, {self.duration!r}, "
            f"concentration {_in_words(self.transitions.concentration)}, "
            f"base_concentration {_in_words(self.transitions.base_concentration)}{limit}, "
            f"start {self.start!r}, end {self.end!r})"
        )

    # -- one state ---------------------------------------------------------------------------------

    def initial_state(
        self,
        rng: np.random.Generator,
        series: Any,
        *,
        beginning: str = "random",
        candidates: Any = None,
    ) -> SemiMarkovState:
        """Draw a state to begin with.

        Parameters
        ----------
        rng
            Generator.
        series
            The data, as in `fit`.
        beginning
            Assignment that parameters are drawn from first: "random" segments and states, "one"
            state for all rows, or short segments that take "all" states in turn.
        candidates
            As in `fit`.
        """
        check_generator(rng)
        if beginning not in BEGINNINGS:
            raise DataError(f"beginning = {beginning!r}; 'random', 'one' or 'all' is needed.")
        sweeper = self.sweeper(self.read(series, strict=False), candidates)
        return self.begin(sweeper, rng, new_bits(rng), beginning)

    def begin(
        self, sweeper: Sweeper, rng: np.random.Generator, bits: WordArray, beginning: str
    ) -> SemiMarkovState:
        """Draw a first state: parameters given an assignment of rows, then states given these."""
        series, n = sweeper.series, self.n_states
        labels = _first_labels(rng, series, n, self.duration.prior_mean, beginning)
        prior = self.transitions.initial_state(rng)
        state = SemiMarkovState(
            labels,
            np.ones(series.n_sequences, np.int64),
            sweeper.emission.draw_prior(bits, n, series.values.shape[1]),
            self.duration.draw_prior(bits, n, sweeper.longest),
            np.full(n, 1.0 / n),
            prior.rows,
            prior.log_base,
            prior.concentration,
            prior.base_concentration,
        )
        filled = sweeper.emission.imputed(bits, series, labels, state.emission)
        emission = sweeper.emission.resample(bits, filled, labels, state.emission)
        initial = state.base if self.start == "base" else state.initial
        state = replace(state, emission=emission, initial=initial)
        labels, last, _, _ = sweeper.draw_labels(bits, state)
        return replace(state, labels=labels, last_lengths=last)

    def step(
        self,
        rng: np.random.Generator,
        series: Any,
        state: SemiMarkovState,
        *,
        candidates: Any = None,
        split_merge: int = DEFAULT_MOVES,
    ) -> tuple[SemiMarkovState, StepInfo]:
        """Make one Gibbs sweep given a series; of the arguments only `rng` changes.

        Priors that are taken from the data's scale are taken from this series: give them explicitly
        where the series changes from call to call.

        Parameters
        ----------
        rng
            Generator; 256 random bits are taken from it.
        series
            The data, as in `fit`; what `read` returns saves reading it again.
        state
            Present state of the sampler.
        candidates, split_merge
            As in `fit`.

        Returns
        -------
        state, info
        """
        check_generator(rng)
        check_whole("split_merge", split_merge, 0)
        sweeper = self.sweeper(self.read(series, strict=False), candidates, split_merge)
        self._check_state(state, sweeper.series)
        return sweeper.sweep(new_bits(rng), state)

    def log_likelihood(
        self, series: Any, state: SemiMarkovState, *, candidates: Any = None
    ) -> float:
        """Compute log p(y, no segment longer than `longest` | parameters), segments summed out.

        Parameters
        ----------
        series
            The data, as in `fit`.
        state
            Its emission, duration, rows and initial are used; `labels` are not.
        candidates
            As in `fit`.
        """
        sweeper = self.sweeper(self.read(series, strict=False), candidates, emission=self.emission)
        self._check_state(state, None)
        return sweeper.fill_messages(state)[2]

    def _check_state(self, state: object, series: Series | None) -> None:
        if not isinstance(state, SemiMarkovState) or len(state.rows) != self.n_states:
            raise DataError("state must be a state of this model; see initial_state.")
        if series is not None and len(state.labels) != series.length:
            raise DataError(
                f"the state has labels of {plural(len(state.labels), 'row')}, and the series has "
                f"{plural(series.length, 'row')}."
            )

    # -- data --------------------------------------------------------------------------------------

    def read(
        self,
        series: Any,
        *,
        columns: Any = None,
        sequence: Any = None,
        time: Any = None,
        strict: bool = True,
    ) -> Series:
        """Read a series as `fit` does."""
        if isinstance(series, Series) and not strict:
            return series
        return read_series(
            series, self.emission.kind, columns=columns, sequence=sequence, time=time, strict=strict
        )

    def sweeper(
        self,
        series: Series,
        candidates: Any = None,
        moves: int = DEFAULT_MOVES,
        emission: Emission | None = None,
    ) -> Sweeper:
        """Combine model and series for sweeps; priors not given are taken from the data's scale."""
        may_end = check_candidates(series, candidates)
        longest = self.longest_in(series)
        if may_end.all():
            may_end = np.empty(0, np.bool_)
        else:
            _check_gaps(series, may_end, longest)
        return Sweeper(
            series,
            may_end,
            self.emission.resolved(series) if emission is None else emission,
            self.duration,
            self.transitions,
            longest,
            self.start,
            self.end == "censored",
            moves,
        )

    def longest_in(self, series: Series) -> int:
        """Return the longest segment that is looked for; 0 for no limit."""
        rows = int(np.diff(series.borders).max())
        if self.longest is not None:
            if self.longest > rows and self.duration.name != "histogram":
                raise DataError(
                    f"longest = {self.longest:,}, and the longest sequence has "
                    f"{plural(rows, 'row')}; give at most {rows:,}, or leave longest out."
                )
            return int(self.longest)
        if self.duration.counts_phases:
            return 0
        own = self.duration.default_longest()
        return own if self.duration.name == "histogram" else min(own, rows)

    # -- runs --------------------------------------------------------------------------------------

    def fit(
        self,
        series: Any,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | None = None,
        seed: SeedLike = None,
        keep_states: int | None = None,
        candidates: Any = None,
        split_merge: int = DEFAULT_MOVES,
        columns: Any = None,
        sequence: Any = None,
        time: Any = None,
        threads: int | None = None,
        progress: bool = True,
        to: str | os.PathLike[str] | None = None,
        cluster: ClusterLike = None,
    ) -> DataTree:
        """Draw states, parameters and transition probabilities given a series.

        Parameters
        ----------
        series
            An array (T,) or (T, channels); a list of such arrays, one for each sequence; a frame;
            or the name of a CSV, Parquet or JSON Lines file.  NaN is missing.
        draws, chains, warmup, seed, threads, progress, to, cluster
            As in `Posterior.sample`.  Chains begin differently: with random segments, with one
            state for all rows, with all states in turn.
        keep_states
            Number of draws of each chain whose states and parameters are stored; unless given, as
            many as fit into 200 MB, at most 250 of each chain.  Other figures are stored of all
            draws.
        candidates
            Rows at which a segment may begin: row numbers, a list of them for each sequence, or
            True and False for each row.  All rows unless given.
        split_merge
            Moves that split or merge states, in each sweep, besides births and deaths of states.
            0 makes none of these.
        columns, sequence, time
            Columns of a frame or file: the channels, the label of the sequence, the time.

        Returns
        -------
        DataTree
            See "The run" in the documentation of time series.

        Examples
        --------
        >>> from luce.sequences import segments
        >>> rng = np.random.default_rng(1)
        >>> level = np.repeat([0.0, 50.0, 0.0, -40.0, 50.0], 30)
        >>> run = SemiMarkov(6).fit(level + rng.normal(size=150), 1000, seed=1, progress=False)
        >>> len(segments(run)["start"])
        5
        """
        from luce.cluster.execution import carry_out, check_destination
        from luce.sampling.settings import Settings
        from luce.sequences.semi_markov_runs import SemiMarkovPlan

        settings = Settings(
            draws=draws,
            chains=chains,
            warmup=warmup,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        check_whole("split_merge", split_merge, 0)
        if keep_states is not None:
            check_whole("keep_states", keep_states, 1)
            if keep_states > draws:
                raise MethodError(
                    f"keep_states = {keep_states}, and there are {plural(draws, 'draw')} of each "
                    "chain; give at most as many."
                )
        check_destination(settings, to, cluster)
        if to is not None:
            self.emission.to_json()  # refuses functions, which a resumed run would miss
        data = self.read(series, columns=columns, sequence=sequence, time=time)
        plan = SemiMarkovPlan.of(self, data, settings, candidates, split_merge, keep_states)
        return carry_out(plan, to, cluster)

    # -- simulation --------------------------------------------------------------------------------

    def simulate(
        self,
        rng: np.random.Generator,
        length: int | Sequence[int],
        *,
        state: SemiMarkovState | None = None,
        channels: int = 1,
    ) -> Simulation:
        """Draw a series from the model.

        A simulation with a segment longer than `longest`, or with end="complete" one whose last
        segment does not end with the last row, is drawn anew, its parameters included.

        Parameters
        ----------
        rng
            Generator.
        length
            Number of rows, or a list of them, one for each sequence.
        state
            State whose parameters are used.  Unless given they are drawn from the prior, which then
            must not depend on data.
        channels
            Number of channels, where `state` is not given.
        """
        check_generator(rng)
        lengths = [length] if isinstance(length, (int, np.integer)) else list(length)
        for rows in lengths:
            check_whole("length", rows, 1)
        borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        for _ in range(_MOST_TRIES):
            drawn = self._draw_prior(rng, channels) if state is None else state
            path = self._path(rng, drawn, borders)
            if path is not None:
                labels, last = path
                values = self.emission.simulate(new_bits(rng), labels, borders, drawn.emission)
                parts = [values[a:b] for a, b in pairwise(borders)]
                one = isinstance(length, (int, np.integer))
                return Simulation(
                    parts[0] if one else parts, replace(drawn, labels=labels, last_lengths=last)
                )
        raise MethodError(
            f"of {_MOST_TRIES:,} simulated paths none had segments of at most {self.longest} rows"
            f"{' and an end with the last row' if self.end == 'complete' else ''}; raise longest."
        )

    def _draw_prior(self, rng: np.random.Generator, channels: int) -> SemiMarkovState:
        prior, n, bits = self.transitions.initial_state(rng), self.n_states, new_bits(rng)
        limit = self.longest or self.duration.default_longest()
        initial = {
            "own": rng.dirichlet(np.full(n, 1.0 / n)),
            "base": np.exp(prior.log_base),
            "uniform": np.full(n, 1.0 / n),
        }[self.start]
        none = np.empty(0, np.int64)
        return SemiMarkovState(
            none,
            none,
            self.emission.draw_prior(bits, n, channels),
            self.duration.draw_prior(bits, n, limit),
            initial,
            prior.rows,
            prior.log_base,
            prior.concentration,
            prior.base_concentration,
        )

    def _path(
        self, rng: np.random.Generator, state: SemiMarkovState, borders: IntArray
    ) -> tuple[IntArray, IntArray] | None:
        """Draw the states of all rows; None for a path that the model is conditioned against."""
        labels, last = np.empty(borders[-1], np.int64), np.empty(len(borders) - 1, np.int64)
        duration = dict(state.duration)
        rows, initial = np.cumsum(state.rows, axis=1), np.cumsum(state.initial)
        for k in range(len(borders) - 1):
            at, end, law = int(borders[k]), int(borders[k + 1]), initial
            while at < end:
                u = rng.random() * law[-1]
                here = int(np.searchsorted(law, u, side="right"))
                length = self.duration.simulate(rng, duration, here)
                seen = min(length, end - at)
                if self.longest is not None and seen > self.longest:
                    return None
                labels[at : at + seen] = here
                at, law, last[k] = at + seen, rows[here], length
                if at == end and self.end == "complete" and length > seen:
                    return None
        return labels, last

    def with_emission(self, emission: Emission) -> SemiMarkov:
        """Return the same model with another emission."""
        return SemiMarkov(
            self.states,
            emission,
            self.duration,
            self.transitions.concentration,
            self.transitions.base_concentration,
            self.longest,
            self.start,
            self.end,
            self.transitions.forbidden,
        )

    # -- storage -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the whole model as values for JSON; of a `Custom` emission only its name."""

        def scale(given: float | Gamma) -> Any:
            return [given.shape, given.rate] if isinstance(given, Gamma) else given

        custom = isinstance(self.emission, Custom)
        return {
            "emission": {"emission": "custom"} if custom else self.emission.to_json(),
            "duration": self.duration.to_json(),
            "concentration": scale(self.transitions.concentration),
            "base_concentration": scale(self.transitions.base_concentration),
            "longest": self.longest,
            "start": self.start,
            "end": self.end,
        }

    @classmethod
    def from_json(
        cls, given: Mapping[str, Any], states: Labels, forbidden: BoolArray
    ) -> SemiMarkov:
        """Make a model from the values that `to_json` returned, its states and its mask."""

        def scale(value: Any) -> float | Gamma:
            return Gamma(*value) if isinstance(value, list) else float(value)

        if given["emission"]["emission"] == "custom":
            raise DataError(
                "the emission of this run is Custom, made of functions that are not stored with "
                "it; what needs them can be done only with the model itself."
            )
        return cls(
            states,
            Emission.from_json(given["emission"]),
            duration_from_json(given["duration"]),
            scale(given["concentration"]),
            scale(given["base_concentration"]),
            given["longest"],
            given["start"],
            given["end"],
            forbidden,
        )


def new_bits(rng: np.random.Generator) -> WordArray:
    """Take 256 random bits from a generator."""
    return rng.integers(0, 2**64 - 1, 4, np.uint64, endpoint=True)


def _in_words(scale: float | Gamma) -> str:
    return repr(scale) if isinstance(scale, Gamma) else f"{scale:g}"


def _first_labels(
    rng: np.random.Generator, series: Series, n_states: int, mean: float, beginning: str
) -> IntArray:
    """Assign states to rows: one for all, all in turn, or random ones of random segments."""
    labels = np.zeros(series.length, np.int64)
    if beginning == "one":
        return labels
    rows = np.arange(series.length)
    if beginning == "all":
        span = max(1, min(int(mean), series.length // n_states))
        return np.asarray(rows // span % n_states)
    new = rng.random(series.length) < 1.0 / max(mean, 1.0)
    new[series.borders[:-1]] = True
    numbers = np.cumsum(new) - 1
    return np.asarray(rng.integers(0, n_states, numbers[-1] + 1)[numbers])


def _check_gaps(series: Series, may_end: BoolArray, longest: int) -> None:
    """Refuse candidates that are further apart than the longest segment."""
    if longest == 0:
        return
    ends = np.flatnonzero(may_end)
    starts = np.r_[0, ends[:-1] + 1]
    gaps = ends + 1 - starts
    if gaps.max() > longest:
        k = int(gaps.argmax())
        raise DataError(
            f"between rows {starts[k]:,} and {ends[k]:,} there is no candidate, and longest = "
            f"{longest:,}: no segment can cover these {gaps[k]:,} rows. Give longest={gaps[k]} or "
            "more, or more candidates."
        )
