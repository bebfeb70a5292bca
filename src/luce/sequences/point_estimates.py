"""Choose one segmentation for many draws: the least expected variation of information.

With n_k the times in state k of a segmentation, and n_dkj those that are in state j of draw d as
well, T times its expected variation of information from D draws is, up to a constant,

    F = Σ_k n_k log n_k - (2 / D) Σ_dkj n_dkj log n_dkj.

Moves begin at the draws with the least F, and are made while F falls: of a whole segment to another
state or a new one, of two states into one, and of stretches of time to the state that most draws
put them in.  Rows that every draw puts elsewhere can end up in a state that hardly any draw has;
such states are given up at last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray
from luce.sequences.agreement import TIMES_COMPARED, Pieces, expected_variations

# Draws by which a segmentation is judged, and those among them from which moves may begin, both
# evenly spaced.
DRAWS_JUDGING = 300
CANDIDATES = 60

# The best candidates, from each of which moves begin: fewer where pieces times draws are many.
MOST_STARTS, LEAST_STARTS = 8, 3
_FEW_LABELS = 1 << 20

# Probability, after matching, that rows of a state are in it; states with less are given up.
LEAST_PROBABILITY = 0.1

# Rounds of moves; a few are enough.
_MOST_ROUNDS = 30

# A move must lower the expected variation by so many nats, above rounding error.
_LEAST_GAIN = 1e-10


def point_estimate(states: npt.NDArray[Any], borders: IntArray | None = None) -> IntArray:
    """Find a segmentation with a small expected variation of information from all draws.

    The search is greedy: no single move improves its result, but another segmentation may be
    better.  Of 300 noisy cases of 6 segments, each compared with all 203 partitions, it finds the
    best in 98 %, and one within 0.1 nats of the best in the others.  Each state of the result is
    one that draws have, too: after matching, its rows are in it with probability 0.1 at least.

    Parameters
    ----------
    states
        Labels of states, whole numbers, shape (draw, time).
    borders
        First rows of sequences, and the number of times; one sequence unless given.

    Returns
    -------
    ndarray
        States, shape (time,), numbered by the time they hold, the longest being 0.

    Examples
    --------
    >>> point_estimate(np.array([[0, 0, 1, 1, 1], [4, 4, 2, 2, 2], [4, 4, 4, 3, 3]]))
    array([1, 1, 0, 0, 0])
    """
    judging = evenly(len(states), DRAWS_JUDGING)
    ends = np.array([0, states.shape[1]]) if borders is None else borders
    pieces = Pieces.of(states[judging], ends)
    candidates = evenly(len(judging), CANDIDATES)
    coarse = pieces
    if len(pieces.lengths) > TIMES_COMPARED:
        coarse = Pieces.of(states[judging], most=TIMES_COMPARED)
    expected = expected_variations(coarse, candidates)
    order = candidates[np.argsort(expected, kind="stable")]
    cuts = np.zeros(len(pieces.lengths), np.bool_)
    cuts[np.searchsorted(np.cumsum(pieces.lengths), ends[:-1], side="right")] = True
    starts = MOST_STARTS if pieces.labels.size <= _FEW_LABELS else LEAST_STARTS
    found = [_Search(pieces, cuts, pieces.labels[k]).improved() for k in order[:starts]]
    best = min(found, key=lambda search: search.value)
    best.give_up_states()
    return np.asarray(pieces.spread(by_time_held(best.labels, pieces.lengths)), np.int64)


def evenly(n: int, most: int) -> IntArray:
    """Choose at most `most` of n things, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def by_time_held(labels: IntArray, lengths: IntArray | None = None) -> IntArray:
    """Number states by the time they hold, the longest first; of equals the earlier one."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    times = np.bincount(inverse, lengths)
    order = np.lexsort((first, -times))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse]


class _Search:
    """A segmentation of pieces of time, and the times that its states share with those of draws.

    Attributes
    ----------
    labels
        State of each piece, shape (piece,).
    shared
        n_dkj, shape (state, draw and state of the draw); the last row is empty.
    times
        n_k, shape (state,).
    """

    def __init__(self, pieces: Pieces, cuts: BoolArray, labels: npt.NDArray[Any]) -> None:
        self._cuts, self._lengths = cuts, pieces.lengths
        self._draws, self._width = len(pieces.labels), pieces.n_labels
        self._pieces = pieces.labels
        self._total = int(pieces.lengths.sum())
        self._gain = _LEAST_GAIN * self._total
        x = np.arange(self._total + 1, dtype=np.float64)
        x[1:] *= np.log(x[1:])
        self._x_log_x = x
        self.labels = labels.astype(np.int64)
        self._count()

    def _count(self) -> None:
        """Count times by states of this segmentation and of the draws; the last row stays empty."""
        n = int(self.labels.max()) + 2
        self.times = np.bincount(self.labels, self._lengths, n).astype(np.int64)
        shared = np.empty((n, self._draws, self._width), np.int64)
        first, size = self.labels * self._width, n * self._width
        for d, own in enumerate(self._pieces):
            shared[:, d] = np.bincount(first + own, self._lengths, size).reshape(n, -1)
        self.shared = shared.reshape(n, -1)

    @property
    def value(self) -> float:
        """F, T times the expected variation of information up to a constant."""
        joint = self._x_log_x[self.shared].sum()
        return float(self._x_log_x[self.times].sum() - 2 / self._draws * joint)

    def improved(self) -> _Search:
        """Make moves while the expected variation falls."""
        for _ in range(_MOST_ROUNDS):
            before = self.value
            self._move_segments()
            self._merge_states()
            self._move_pieces()
            self.labels = np.unique(self.labels, return_inverse=True)[1].astype(np.int64)
            self._count()
            if self.value > before - self._gain:
                break
        return self

    def _cost(
        self, states: Any, columns: IntArray, times: IntArray | int, weight: int
    ) -> FloatArray:
        """Compute by how much F grows when states, each by itself, get some more times.

        `columns` are places in rows of `shared`, `times` those to add there, `weight` their number.
        """
        shared = self.shared[states][:, columns]
        gained = (self._x_log_x[shared + times] - self._x_log_x[shared]).sum(axis=1)
        own = self.times[states]
        alone = self._x_log_x[own + weight] - self._x_log_x[own]
        return np.asarray(alone - 2 / self._draws * gained)

    def _take(self, columns: IntArray, times: IntArray | int, weight: int, old: int) -> None:
        """Take times away from a state."""
        self.shared[old, columns] -= times
        self.times[old] -= weight

    def _give(self, columns: IntArray, times: IntArray | int, weight: int, new: int) -> None:
        """Give times to a state; a new one leaves the next row empty."""
        self.shared[new, columns] += times
        self.times[new] += weight
        if new == len(self.times) - 1:
            self.shared = np.concatenate([self.shared, np.zeros_like(self.shared[:1])])
            self.times = np.append(self.times, 0)

    def give_up_states(self) -> None:
        """Move the segments of states that hardly any draw has to other states."""
        from scipy.optimize import linear_sum_assignment

        while True:
            joint = self.shared.reshape(len(self.times), self._draws, self._width)
            same = np.zeros(len(self.times))
            for d in range(self._draws):
                own, other = linear_sum_assignment(joint[:, d], maximize=True)
                same[own] += joint[own, d, other]
            rare = same < LEAST_PROBABILITY * self._draws * self.times
            closed = rare | (self.times == 0)
            if closed.all() or not rare.any():
                return
            self._move_segments(closed)

    def _move_segments(self, closed: BoolArray | None = None) -> None:
        """Move whole segments, one after the other, to the state or the new one that is best.

        Where `closed` marks states, only their segments are moved, and to others.
        """
        starts = np.flatnonzero(self._cuts | (np.diff(self.labels, prepend=-1) != 0))
        lengths = np.add.reduceat(self._lengths, starts)
        ends = np.append(starts[1:], len(self.labels))
        columns, times, places = self._entries(starts)
        for s, weight in enumerate(lengths.tolist()):
            entries = slice(places[s], places[s + 1])
            own, shared = columns[entries], times[entries]
            old = int(self.labels[starts[s]])
            if closed is not None and not closed[old]:
                continue
            self._take(own, shared, weight, old)
            costs = self._cost(slice(None), own, shared, weight)
            if closed is not None:
                costs[closed] = np.inf
            new = int(costs.argmin())
            new = new if costs[new] < costs[old] - self._gain else old
            self._give(own, shared, weight, new)
            self.labels[starts[s] : ends[s]] = new

    def _entries(self, starts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """List the times of each segment by draw and state of the draw.

        Returns
        -------
        tuple
            Columns of `shared`, times there, and the first entry of each segment.
        """
        n = len(starts)
        marks = np.zeros(len(self.labels), np.int64)
        marks[starts[1:]] = 1
        first, size = np.cumsum(marks) * self._width, n * self._width
        segments, columns, times = [], [], []
        for d, own in enumerate(self._pieces):
            counts = np.bincount(first + own, self._lengths, size)
            places = np.flatnonzero(counts)
            segment, state = np.divmod(places, self._width)
            segments.append(segment)
            columns.append(state + d * self._width)
            times.append(counts[places].astype(np.int64))
        segment = np.concatenate(segments)
        order = np.argsort(segment, kind="stable")
        ends = np.cumsum(np.bincount(segment, minlength=n))
        return np.concatenate(columns)[order], np.concatenate(times)[order], np.append(0, ends)

    def _merge_states(self) -> None:
        """Make one state of two while that lowers F, the best pair first."""
        while True:
            held = np.flatnonzero(self.times)
            alone, joint = self._x_log_x[self.times], self._x_log_x[self.shared].sum(axis=1)
            least, pair = -self._gain, (0, 0)
            for i, a in enumerate(held[:-1]):
                b = held[i + 1 :]
                both = self._x_log_x[self.shared[b] + self.shared[a]].sum(axis=1)
                costs = self._x_log_x[self.times[b] + self.times[a]] - alone[a] - alone[b]
                costs -= 2 / self._draws * (both - joint[a] - joint[b])
                k = int(costs.argmin())
                if costs[k] < least:
                    least, pair = float(costs[k]), (int(a), int(b[k]))
            kept, gone = pair
            if kept == gone:
                return
            self.labels[self.labels == gone] = kept
            self.shared[kept] += self.shared[gone]
            self.times[kept] += self.times[gone]
            self.shared[gone] = self.times[gone] = 0

    def _move_pieces(self) -> None:
        """Move pieces to the state that most draws put them in, where that lowers F."""
        n = len(self.times)
        nearest = self.shared.reshape(n, self._draws, self._width).argmax(axis=0)
        votes = np.zeros((n, len(self.labels)), np.int32)
        for d, own in enumerate(self._pieces):
            votes[nearest[d][own], np.arange(len(own))] += 1
        winners = votes.argmax(axis=0)
        offsets = self._width * np.arange(self._draws)
        for u in np.flatnonzero(winners != self.labels):
            old, new, weight = int(self.labels[u]), int(winners[u]), int(self._lengths[u])
            columns = self._pieces[:, u] + offsets
            self._take(columns, weight, weight, old)
            costs = self._cost([old, new], columns, weight, weight)
            to = new if costs[1] < costs[0] - self._gain else old
            self._give(columns, weight, weight, to)
            self.labels[u] = to
