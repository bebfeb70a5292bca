"""One Gibbs sweep of a hidden semi-Markov model on a given series.

Given the states of all rows (and the durations of last segments), a sweep draws

    missing entries of rows that are missing in part
    states of whole segments, by moves that split and merge (parameters integrated out)
    states of stretches of rows, by births and deaths (likewise)
    parameters of durations, parameters of emissions
    hidden counts, tables, concentrations, base and rows of A (`luce.HDPTransitions`)
    the law of the first state

and given these the states of all rows at once, then the durations of last segments.  So the log
likelihood of a sweep is that of the state it ends with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.errors import DataError
from luce.sequences.durations import Duration, NegativeBinomial
from luce.sequences.emissions import Emission
from luce.sequences.hdp import HDPTransitions
from luce.sequences.semi_markov_state import SemiMarkovState, StepInfo
from luce.sequences.series import Series

if TYPE_CHECKING:
    from luce.kernels.semi_markov.messages import Durations, Messages
    from luce.kernels.semi_markov.segments import DurationLaw, Segments
    from luce.kernels.semi_markov.split_merge import Ties

_LEAST_SHAPE = 1e-300  # smallest shape of a Dirichlet; its logarithm is still a double


@dataclass(frozen=True, eq=False)
class Sweeper:
    """Model, series and buffers of the sweeps of one chain.

    Parameters
    ----------
    series
        The data.
    may_end
        Shape (T,): rows with which a segment may end; no entries where all rows are such.
    emission
        Law of observations, every prior explicit.
    duration
        Law of durations.
    transitions
        Prior of the transition probabilities.
    longest
        Longest segment that is looked for; 0 where there is no limit.
    start
        Law of first states: "own", "base" or "uniform".
    censored
        May the last segment of a sequence go on after its last row?
    moves
        Moves that split and merge states, in each sweep.
    """

    series: Series
    may_end: BoolArray
    emission: Emission
    duration: Duration
    transitions: HDPTransitions
    longest: int
    start: str
    censored: bool
    moves: int
    _buffers: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.transitions.forbidden)

    def _buffer(self, name: str, *shape: int, dtype: type = np.float64) -> np.ndarray:
        """Return an array that is reused from sweep to sweep."""
        if name not in self._buffers:
            self._buffers[name] = np.empty(shape, dtype)
        return self._buffers[name]

    @cached_property
    def _messages(self) -> Messages:
        from luce.kernels.semi_markov.messages import Messages

        size = (self.series.length, self.n_states)
        return Messages(np.empty(size), np.empty(size), np.empty(size[0]), np.empty(size[0]))

    @cached_property
    def _tables(self) -> Durations:
        from luce.kernels.semi_markov.messages import Durations

        return Durations(*(np.empty((self.n_states, self.longest)) for _ in range(4)))

    @cached_property
    def _segments(self) -> Segments:
        from luce.kernels.semi_markov.segments import Segments

        return Segments(*(np.empty(self.series.length, np.int64) for _ in range(3)))

    @cached_property
    def _is_first(self) -> BoolArray:
        """Is this row the first one of its sequence?"""
        marks = np.zeros(self.series.length, np.bool_)
        marks[self.series.borders[:-1]] = True
        return marks

    @cached_property
    def _is_last(self) -> BoolArray:
        """Is this row the last one of its sequence?"""
        marks = np.zeros(self.series.length, np.bool_)
        marks[self.series.borders[1:] - 1] = True
        return marks

    @property
    def splits_states(self) -> bool:
        """Can parameters be integrated out, as moves that split and merge states need?"""
        return self.moves > 0 and self.emission.conjugate and self.duration.conjugate

    # -- states given parameters -------------------------------------------------------------------

    def fill_messages(
        self, state: SemiMarkovState, power: float = 1.0
    ) -> tuple[FloatArray, DurationLaw, float]:
        """Fill the messages; return scaled likelihoods, law of durations, and log likelihood.

        Observations count with their likelihood to a power.
        """
        from luce.kernels.semi_markov.messages import convolve, log_evidence, subtract_peaks
        from luce.kernels.semi_markov.segments import DurationLaw

        fit = self._buffer("log_likelihood", self.series.length, self.n_states)
        self.emission.log_likelihood(self.series, state.emission, fit)
        if power != 1.0:
            fit *= power
        total = subtract_peaks(fit)
        borders, out = self.series.borders, self._messages
        if self.longest == 0:
            from luce.kernels.semi_markov.phases import Phases, count_phases

            assert isinstance(self.duration, NegativeBinomial)
            stops, logs = self.duration.phases(dict(state.duration))
            phases = Phases(stops, logs, not self.censored)
            count_phases(fit, borders, self.may_end, state.rows, phases, out)
            none = np.empty((self.n_states, 0))
            law = DurationLaw(none, none, stops, logs)
        else:
            tables = self._tables
            self.duration.fill(dict(state.duration), self.censored, tables)
            convolve(fit, borders, self.may_end, state.rows, tables, out)
            no_stops = np.empty(0, np.int64)
            law = DurationLaw(tables.log_p, tables.log_survival, no_stops, np.empty((2, 0)))
        return fit, law, total + log_evidence(borders, state.initial, out)

    def log_likelihoods(self, state: SemiMarkovState) -> FloatArray:
        """Compute the log likelihood of each sequence, segmentations summed out."""
        from luce.kernels.semi_markov.messages import log_evidence

        series, borders = self.series, self.series.borders
        total = self.fill_messages(state)[2]
        if series.n_sequences == 1:
            return np.array([total])
        # Messages are of densities divided by the largest of their row: these are summed apart.
        densities = self._buffer("densities", series.length, self.n_states)
        self.emission.log_likelihood(series, state.emission, densities)
        peaks = np.add.reduceat(densities.max(axis=1), borders[:-1])
        own = [
            log_evidence(borders[k : k + 2], state.initial, self._messages)
            for k in range(series.n_sequences)
        ]
        return np.asarray(peaks + own)

    def draw_labels(
        self, bits: WordArray, state: SemiMarkovState, power: float = 1.0
    ) -> tuple[IntArray, IntArray, float, int]:
        """Draw states of all rows and durations of last segments, given all parameters.

        Returns labels, durations of last segments, the log likelihood and the number of segments.
        """
        from luce.kernels.semi_markov.segments import draw_segments, write_labels

        fit, law, log_likelihood = self.fill_messages(state, power)
        borders = self.series.borders
        count = draw_segments(
            bits, fit, borders, state.initial, state.rows, law, self._messages, self._segments
        )
        if count < 0 or not np.isfinite(log_likelihood):
            raise DataError(
                "no segmentation of this series is possible under the model: candidates may be "
                "further apart than the longest segment, or durations too restricted; raise "
                "longest, or allow more candidates, durations or transitions."
            )
        labels = np.empty(self.series.length, np.int64)
        write_labels(self._segments, count, labels)
        segments = self._segments
        lengths = segments.length[:count]
        if self.censored:
            lengths = self.duration.extend_last(
                bits, dict(state.duration), segments, count, borders
            )
        ends = segments.start[:count] + segments.length[:count]
        return labels, lengths[self._is_last[ends - 1]], log_likelihood, count

    # -- parameters given states -------------------------------------------------------------------

    def segments_of(self, state: SemiMarkovState) -> tuple[IntArray, IntArray, IntArray]:
        """Return first rows, durations and states of the segments of a state."""
        labels, new = state.labels, self._is_first.copy()
        new[1:] |= labels[1:] != labels[:-1]
        starts = np.flatnonzero(new)
        ends = np.r_[starts[1:], len(labels)]
        lengths = ends - starts
        lengths[self._is_last[ends - 1]] = state.last_lengths
        return starts, lengths, labels[starts]

    def split_and_merge(
        self,
        bits: WordArray,
        series: Series,
        state: SemiMarkovState,
        starts: IntArray,
        lengths: IntArray,
        states: IntArray,
        power: float = 1.0,
    ) -> int:
        """Make moves that split and merge states, changing `states`; return how many succeeded."""
        from luce.kernels.semi_markov.split_merge import split_and_merge

        n, law = len(starts), self._law(state, starts)
        groups = np.repeat(np.arange(n), np.diff(np.r_[starts, self.series.length]))
        rows = power * self.emission.statistics(series, groups, n)
        spans = self.duration.statistics(lengths, np.arange(n), n, self.longest)
        return split_and_merge(
            bits,
            self.moves,
            law,
            self.emission.kernel_prior,
            rows,
            self.duration.kernel_prior(self.longest),
            spans,
            states,
        )

    def bear_and_bury(
        self,
        bits: WordArray,
        series: Series,
        state: SemiMarkovState,
        starts: IntArray,
        lengths: IntArray,
        states: IntArray,
        power: float = 1.0,
    ) -> tuple[IntArray, IntArray, IntArray, int, int]:
        """Let stretches of rows get states of their own, or lose them.

        Returns new starts, durations and states of segments, and the moves proposed and accepted.
        """
        from luce.kernels.semi_markov import births

        n, rows = len(starts), self.series.length
        widest = int(min(max(2.0 * self.duration.prior_mean, 2.0), rows))
        number = max(1, min(self.moves, rows // (2 * widest)))  # more would often share rows
        fixed = 0 if self.duration.name != "histogram" else self.longest
        limits = births.Limits(rows, widest, self.longest, fixed)
        windows, groups = np.empty((number, 2), np.int64), np.empty(rows, np.int64)
        births.draw_windows(bits, limits, self.may_end, windows)
        numbered, left = np.zeros(number, np.bool_), number
        parts = []
        while left:
            left = births.number_rows(windows, numbered, groups)
            parts.append(self.emission.statistics(series, groups, number))
        sums = power * np.sum(parts, axis=0)
        seen = np.diff(np.r_[starts, rows])
        held = self.emission.statistics(series, np.repeat(states, seen), self.n_states)
        state_sums = power * held
        spans = self.duration.statistics(lengths, states, self.n_states, self.longest)
        room = np.zeros((4, n + 2 * number), np.int64)
        marks = np.zeros((2, n + 2 * number), np.bool_)
        room[:, :n] = starts, seen, lengths, states
        marks[0, :n] = self._is_first[starts]
        marks[1, :n] = self._is_last[starts + seen - 1]
        pieces = births.Pieces(room[0], room[1], room[2], room[3], marks[0], marks[1])
        count, proposed, accepted = births.bear_and_bury(
            bits,
            limits,
            self._law(state, starts),
            self.emission.kernel_prior,
            windows,
            sums,
            state_sums,
            self.duration.kernel_prior(self.longest),
            spans,
            pieces,
            n,
        )
        new = (pieces.start[:count], pieces.length[:count], pieces.state[:count])
        return *new, proposed, accepted

    def _law(self, state: SemiMarkovState, starts: IntArray) -> Ties:
        """Return the law of the states of segments, rows of A being integrated out."""
        from luce.kernels.semi_markov.split_merge import Ties

        even = np.full(self.n_states, 1.0 / self.n_states)
        return Ties(
            np.maximum(state.concentration * state.base, _LEAST_SHAPE),
            self.transitions.forbidden,
            state.base if self.start == "base" else even,
            self.start != "own",
            self._is_first[starts],
        )

    def draw_parameters(
        self, bits: WordArray, state: SemiMarkovState, power: float = 1.0
    ) -> tuple[SemiMarkovState, int, int]:
        """Draw all parameters given the states of all rows; count moves proposed and accepted."""
        from luce.kernels.semi_markov.initial import draw_initial

        series = self.emission.imputed(bits, self.series, state.labels, state.emission)
        starts, lengths, states = self.segments_of(state)
        labels, last, proposed, accepted = state.labels, state.last_lengths, 0, 0
        if self.splits_states:
            accepted = self.split_and_merge(bits, series, state, starts, lengths, states, power)
            starts, lengths, states, more, born = self.bear_and_bury(
                bits, series, state, starts, lengths, states, power
            )
            proposed, accepted = self.moves + more, accepted + born
            if accepted:
                ends = np.r_[starts[1:], self.series.length]
                labels = np.repeat(states, ends - starts)
                last = lengths[self._is_last[ends - 1]]
        duration = self.duration.resample(bits, lengths, states, dict(state.duration), self.longest)
        emission = self._draw_emission(bits, series, labels, state, power)
        n = self.n_states
        first = self._is_first[starts]
        counts, begun = np.zeros((n, n)), np.bincount(states[first], minlength=n).astype(float)
        follows = np.flatnonzero(~first)
        np.add.at(counts, (states[follows - 1], states[follows]), 1.0)
        none = np.zeros(n)
        problem = self.transitions.problem(counts, begun if self.start == "base" else none)
        scales = np.log([state.concentration, state.base_concentration])
        sweep = problem.advance(bits, state.log_base.copy(), scales, 1, True)
        alpha, gamma = sweep.concentrations[0].tolist()
        log_base = sweep.log_base[0]
        initial = np.full(n, 1.0 / n)
        if self.start == "base":
            initial = np.exp(log_base)
        elif self.start == "own":
            draw_initial(bits, begun + 1.0 / n, initial)
        new = SemiMarkovState(
            labels,
            last,
            emission,
            duration,
            initial,
            sweep.rows[0],
            log_base,
            alpha,
            gamma,
        )
        return new, proposed, accepted

    def _draw_emission(
        self,
        bits: WordArray,
        series: Series,
        labels: IntArray,
        state: SemiMarkovState,
        power: float,
    ) -> dict[str, FloatArray]:
        """Draw the parameters of the emission given the state of each row."""
        if power == 1.0:
            return self.emission.resample(bits, series, labels, state.emission)
        return self.emission.draw(
            bits, power * self.emission.statistics(series, labels, self.n_states)
        )

    def sweep(
        self, bits: WordArray, state: SemiMarkovState, power: float = 1.0
    ) -> tuple[SemiMarkovState, StepInfo]:
        """Make one sweep; of the arguments only `bits` changes.

        With a power below 1 observations count less than they should, and states merge and split
        more easily: for the first sweeps of a chain.  It is 1 where parameters of the emission
        cannot be integrated out.
        """
        power = power if self.emission.conjugate else 1.0
        new, proposed, accepted = self.draw_parameters(bits, state, power)
        labels, last, log_likelihood, count = self.draw_labels(bits, new, power)
        used = int(np.count_nonzero(np.bincount(labels, minlength=self.n_states)))
        lengths = self._segments.length[:count]
        at_longest = int(np.count_nonzero(lengths == self.longest)) if self.longest else 0
        info = StepInfo(log_likelihood, count, used, at_longest, proposed, accepted)
        return replace(new, labels=labels, last_lengths=last), info
