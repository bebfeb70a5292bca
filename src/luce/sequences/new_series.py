"""New series under the draws of a run: its parameters, draw by draw, and messages over other rows.

The parameters of every kept draw are those that its states were drawn with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray, SeedLike
from luce.counts.labels import plural, some
from luce.errors import DataError, MethodError
from luce.sampling.settings import Settings, check_whole
from luce.sequences.semi_markov import SemiMarkov, new_bits
from luce.sequences.semi_markov_runs import semi_markov_of, stored_name
from luce.sequences.semi_markov_state import SemiMarkovState
from luce.sequences.semi_markov_sweep import Sweeper
from luce.sequences.series import Series, check_candidates
from luce.sequences.series_columns import has_columns

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


@dataclass(frozen=True, eq=False)
class KeptParameters:
    """Model, series and parameters of the kept draws of a run.

    Attributes
    ----------
    model
        The model, priors explicit.
    series
        The series that the run was drawn from.
    kept
        The run's group `states`, or some draws of it.
    longest
        Longest segment of the run; 0 for no limit.
    """

    model: SemiMarkov
    series: Series
    kept: Dataset
    longest: int

    @classmethod
    def of(cls, run: DataTree, draws: int | None = None) -> KeptParameters:
        """Read a run of `SemiMarkov.fit`; `draws` of each chain, evenly spaced, or all kept."""
        model, series, _ = semi_markov_of(run)
        kept = run["states"].to_dataset()
        if draws is not None:
            check_whole("draws", draws, 1)
            there = kept.sizes["draw"]
            if draws > there:
                raise MethodError(
                    f"draws = {draws:,}, and the run keeps parameters of {plural(there, 'draw')} of"
                    " each chain; give at most as many, or fit with a larger keep_states."
                )
            kept = kept.isel(draw=np.linspace(0, there - 1, draws).astype(np.int64))
        return cls(model, series, kept, int(run.attrs["longest"]))

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.kept.sizes["chain"])

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return int(self.kept.sizes["draw"])

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Parameters by name, (chain, draw, ...), read once."""
        names = ["rows", "log_base", "initial", *self._emission, *self._duration.values()]
        variables = {name: self.kept[name].variable for name in names}
        return {name: own.transpose("chain", "draw", ...).values for name, own in variables.items()}

    @cached_property
    def _emission(self) -> list[str]:
        return list(self.model.emission.dims(self.series))

    @cached_property
    def _duration(self) -> dict[str, str]:
        """Names of the durations' parameters, and those they are stored under."""
        names = self.model.duration.dims(self.longest)
        return {name: stored_name(name, self._emission) for name in names}

    @cached_property
    def labels(self) -> npt.NDArray[Any]:
        """States of the run's own rows, shape (chain, draw, time)."""
        return self.kept["states"].transpose("chain", "draw", "time").values

    def state(self, chain: int, draw: int) -> SemiMarkovState:
        """Return the parameters of a kept draw as a state of the sampler, without labels."""
        none = np.empty(0, np.int64)

        def own(names: Mapping[str, str]) -> dict[str, FloatArray]:
            return {
                name: np.ascontiguousarray(self._arrays[stored][chain, draw])
                for name, stored in names.items()
            }

        fixed = own({name: name for name in ("initial", "rows", "log_base")})
        return SemiMarkovState(
            labels=none,
            last_lengths=none,
            emission=own({name: name for name in self._emission}),
            duration=own(self._duration),
            # Concentrations have no part in the law of a series given the rows of A.
            concentration=float("nan"),
            base_concentration=float("nan"),
            **fixed,
        )

    # -- another series ----------------------------------------------------------------------------

    def read(self, given: Any, columns: Any, sequence: Any, time: Any) -> Series:
        """Read a new series, and refuse one with other channels or categories than the run's."""
        known = self.series.channels
        by_name = isinstance(given, (str, os.PathLike)) or has_columns(given)
        if columns is None and by_name and any(isinstance(label, str) for label in known):
            columns = list(known)
        series = self.model.read(given, columns=columns, sequence=sequence, time=time, strict=False)
        if series.n_channels != len(known):
            raise DataError(
                f"the new series has {plural(series.n_channels, 'channel')} "
                f"({some(series.channels)}), and the run's has {len(known)} ({some(known)}); they "
                "must be the same."
            )
        if series.categories or self.series.categories:
            series = series.coded_by(self.series.categories)
        elif set(series.channels) == set(known):
            order = [series.channels.index(label) for label in known]
            values = np.ascontiguousarray(series.values[:, order])
            series = replace(series, values=values, channels=known)
        self.model.emission.resolved(series)  # refuses series that the emission cannot take
        return series

    def longest_in(self, series: Series) -> int:
        """Return the longest segment that is looked for in a series; 0 for no limit."""
        law, rows = self.model.duration, int(np.diff(series.borders).max())
        if law.name == "histogram":
            return self.longest
        if self.model.longest is not None:
            return min(self.model.longest, rows)
        return 0 if law.counts_phases else min(law.default_longest(), rows)

    def sweeper(self, series: Series, may_end: BoolArray) -> Sweeper:
        """Combine model and series, with buffers that are used for one draw after the other."""
        model = self.model
        return Sweeper(
            series,
            may_end,
            model.emission,
            model.duration,
            model.transitions,
            self.longest_in(series),
            model.start,
            model.end == "censored",
            moves=0,
        )

    def log_likelihoods(self, series: Series, candidates: Any = None) -> FloatArray:
        """Compute log p(sequence | draw), segmentations summed out: (chain, draw, sequence)."""
        may_end = _may_end(series, candidates)

        def one_chain(chain: int, stopped: Event) -> None:
            sweeper = self.sweeper(series, may_end)
            for draw in range(self.draws):
                if stopped.is_set():
                    break
                found[chain, draw] = sweeper.log_likelihoods(self.state(chain, draw))

        found = np.empty((self.chains, self.draws, series.n_sequences))
        by_chain(one_chain, self.chains)
        return found

    def draw_labels(
        self, series: Series, seed: SeedLike, candidates: Any = None
    ) -> npt.NDArray[np.int16]:
        """Draw the states of a series given the parameters of each draw: (chain, draw, time)."""
        may_end = _may_end(series, candidates)
        found = np.empty((self.chains, self.draws, series.length), np.int16)
        seeds = Settings(seed=seed).seed_sequence().spawn(self.chains)

        def one_chain(chain: int, stopped: Event) -> None:
            bits, sweeper = (
                new_bits(np.random.default_rng(seeds[chain])),
                self.sweeper(series, may_end),
            )
            for draw in range(self.draws):
                if stopped.is_set():
                    break
                found[chain, draw] = sweeper.draw_labels(bits, self.state(chain, draw))[0]

        by_chain(one_chain, self.chains)
        return found


def by_chain(work: Callable[[int, Event], None], chains: int) -> None:
    """Do the work of each chain in a thread; it is told when to stop early."""
    stopped = Event()
    with ThreadPoolExecutor(Settings(chains=chains).n_threads()) as pool:
        try:
            list(pool.map(lambda chain: work(chain, stopped), range(chains)))
        except BaseException:  # Ctrl-C, or an error of one chain
            stopped.set()
            raise


def _may_end(series: Series, candidates: Any) -> BoolArray:
    """Mark the rows with which a segment may end; no entries where all rows are such."""
    marks = check_candidates(series, candidates)
    return np.empty(0, np.bool_) if marks.all() else marks


def matched_names(
    labels: npt.NDArray[Any], matched: npt.NDArray[Any], n_states: int, n_matched: int
) -> IntArray:
    """Return the name of every state in every draw, (draw, state), -1 for none.

    Parameters
    ----------
    labels, matched
        States of the run's rows under the draws' own numbers and under those of the point estimate,
        shape (draw, time).
    n_states, n_matched
        Number of states of the model, and of the point estimate.
    """
    names = np.full((len(labels), n_states), -1, np.int64)
    for own, to, new in zip(labels, names, matched, strict=True):
        to[own] = new
    names[names >= n_matched] = -1
    return names
