"""Answer questions about states and segments of a run, whatever the draws call their states.

Changes of state and pairs of times in one state need no labels.  All else is told of one
segmentation, the point estimate, whose states are numbered by the time they hold; the states of
every draw are matched to them, and the share of time where that fails is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, SeedLike
from luce.answers.view import tail_of
from luce.counts.labels import describe, label_array, some
from luce.errors import DataError
from luce.sequences.agreement import compact
from luce.sequences.doubts import Doubts, Figures, doubts_of
from luce.sequences.new_series import KeptParameters, matched_names
from luce.sequences.point_estimates import evenly, point_estimate
from luce.sequences.series import Series
from luce.sequences.tables import Table

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

# Evenly spaced times that `similarity` compares unless others are given.
TIMES_SHOWN = 200

# Share of the time that a state must hold to be counted.
LEAST_SHARE = 0.01

# Numbers of states that the header names, the most probable first.
_MOST_NUMBERS = 4


@dataclass(frozen=True, eq=False)
class KeptStates:
    """States of a run's kept draws, read and matched once for several questions.

    Every function of this module takes a run, or one of these in its place.

    Attributes
    ----------
    states
        Labels, shape (chain, draw, time).
    borders
        First row of each sequence, and the number of rows.
    names
        Labels of the sequences.
    run
        The run itself.
    """

    states: npt.NDArray[Any]
    borders: IntArray
    names: npt.NDArray[Any]
    run: DataTree

    @classmethod
    def of(cls, run: DataTree | KeptStates) -> KeptStates:
        """Read the states of a run of `SemiMarkov.fit`."""
        import xarray as xr

        if isinstance(run, KeptStates):
            return run
        if not isinstance(run, xr.DataTree) or "states" not in run.children:
            raise DataError(
                f"{type(run).__name__} without a group 'states' was given; a run of a semi-Markov "
                "model is needed. Give what SemiMarkov.fit returned."
            )
        variable = run["states"]["states"].transpose("chain", "draw", "time")
        if variable.size == 0:
            raise DataError("the run keeps no states; fit it with a larger keep_states.")
        sequence = variable["sequence"].values
        starts = np.flatnonzero(np.r_[True, sequence[1:] != sequence[:-1]])
        borders = np.append(starts, len(sequence))
        return cls(variable.values, borders, label_array(sequence[starts].tolist()), run)

    @property
    def draws(self) -> npt.NDArray[Any]:
        """States of the draws of all chains, shape (draw, time)."""
        return self.states.reshape(-1, self.states.shape[2])

    @property
    def length(self) -> int:
        """Number of rows of all sequences."""
        return int(self.states.shape[2])

    @cached_property
    def firsts(self) -> BoolArray:
        """Marks of the first rows of sequences."""
        marks = np.zeros(self.length, np.bool_)
        marks[self.borders[:-1]] = True
        return marks

    @cached_property
    def doubts(self) -> Doubts:
        """Figures on convergence and their meaning in words."""
        return doubts_of(self.run)

    @cached_property
    def estimate(self) -> IntArray:
        """States of the point estimate, shape (time,)."""
        return point_estimate(self.draws, self.borders)

    @cached_property
    def matched(self) -> tuple[npt.NDArray[np.int16], FloatArray]:
        """States of all draws under the names of the point estimate, and shares of disagreement."""
        return match(self.draws, self.estimate)

    @cached_property
    def agreeing(self) -> FloatArray:
        """Probability that a row is in its state of the point estimate, shape (time,)."""
        agree = np.zeros(self.length)
        for own in self.matched[0]:
            agree += own == self.estimate
        return np.asarray(agree / len(self.draws))

    def labelled(self, values: npt.NDArray[Any], name: str) -> DataArray:
        """Make a DataArray of values of rows, with the run's own coordinates."""
        import xarray as xr

        return xr.DataArray(values, self.coordinates, ("time",), name)

    @property
    def coordinates(self) -> dict[str, DataArray]:
        """Coordinates of rows: `time`, `sequence`, and `clock` where times were given."""
        coords = self.run["states"]["states"].coords
        found = {name: coords[name] for name in ("time", "sequence")}
        if "observed_data" in self.run.children:
            more = self.run["observed_data"].coords
            found |= {name: more[name] for name in ("clock",) if name in more}
        return found


def change_probability(run: DataTree | KeptStates) -> DataArray:
    """Compute the probability that a new segment begins at each row.

    It is 0 at the first row of a sequence, which is no change; the sum over rows is the expected
    number of changes.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.

    Returns
    -------
    DataArray
        Dimension `time`; the name of each row's sequence is a coordinate.
    """
    kept = KeptStates.of(run)
    changes = np.zeros(kept.length)
    for own in kept.draws:
        changes[1:] += own[1:] != own[:-1]
    changes[kept.firsts] = 0.0
    return kept.labelled(changes / len(kept.draws), "change_probability")


def similarity(run: DataTree | KeptStates, times: ArrayLike | None = None) -> DataArray:
    """Compute the probability that two rows are in one state.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    times
        Rows to compare, each with each, as numbers from 0 through all sequences; 200 of them,
        evenly spaced, unless given.

    Returns
    -------
    DataArray
        Dimensions `time` and `other_time`, both of these rows; 1 on the diagonal.
    """
    import xarray as xr

    kept = KeptStates.of(run)
    rows = evenly(kept.length, TIMES_SHOWN) if times is None else _read_times(times, kept.length)
    together = np.zeros((len(rows), len(rows)))
    for own in kept.draws[:, rows]:
        together += own[:, None] == own
    index: dict[str, Any] = {}
    for name, values in kept.coordinates.items():
        index[name] = ("time", values.values[rows])
        index[f"other_{name}"] = ("other_time", values.values[rows])
    return xr.DataArray(together / len(kept.draws), index, ("time", "other_time"), "similarity")


def segments(
    run: DataTree | KeptStates,
    new_series: Any = None,
    *,
    seed: SeedLike = None,
    candidates: Any = None,
    columns: Any = None,
    sequence: Any = None,
    time: Any = None,
) -> Table:
    """List the segments of the point estimate, of the run's own series or of a new one.

    The point estimate has a small expected variation of information from all draws; its states are
    numbered by the time they hold in the run, the longest being 0.

    For a new series, its states are drawn once given the parameters of each kept draw.  A state has
    the number that it has in ``segments(run)``; states that the run's point estimate does not have
    get the numbers after these.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    new_series
        A series as in `SemiMarkov.fit`, with the channels or categories of the run's; the run's own
        unless given.
    seed
        For the states of a new series; the same seed gives the same table.
    candidates, columns, sequence, time
        As in `SemiMarkov.fit`, of the new series.

    Returns
    -------
    Table
        A row for each segment, in order, with the columns `sequence`, its name; `start` and `end`,
        its first row and the one after its last, counted from 0 in each sequence; `state`; and
        `probability`, the posterior probability that its rows are in that state, a mean over rows,
        after the states of every draw were matched to the point estimate.  For a state that the run
        does not have it is the probability of being in none that the run has.
    """
    kept = KeptStates.of(run)
    if new_series is not None:
        parameters = KeptParameters.of(kept.run)
        series = parameters.read(new_series, columns, sequence, time)
        draws = parameters.draw_labels(series, seed, candidates)
        return _segments_of_new(kept, draws, series, parameters.model.n_states)
    given = {"candidates": candidates, "columns": columns, "sequence": sequence, "time": time}
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{name} is for a new series, and none was given.")
    return _table_of(kept.borders, kept.names, kept.estimate, kept.agreeing)


def _table_of(
    borders: IntArray,
    names: npt.NDArray[Any],
    estimate: IntArray,
    agreeing: FloatArray,
    notes: Sequence[str] = (),
) -> Table:
    """List the segments of a segmentation, given the probability of each row's state."""
    begins = np.diff(estimate, prepend=-1) != 0
    begins[borders[:-1]] = True
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(estimate))
    sequence = np.searchsorted(borders, starts, side="right") - 1
    first = borders[sequence]
    columns = {
        "sequence": names[sequence],
        "start": starts - first,
        "end": ends - first,
        "state": estimate[starts],
        "probability": np.add.reduceat(agreeing, starts) / (ends - starts),
    }
    return Table(columns, notes=notes, row="segment", probabilities=["probability"])


def _segments_of_new(
    kept: KeptStates, draws: npt.NDArray[np.int16], series: Series, n_states: int
) -> Table:
    """List the segments of a new series, whose states were drawn: shape (chain, draw, time).

    A state of the new point estimate becomes the state of the run that the draws put most of its
    rows in, each at most once; it is new where they put more of them in none of the run's states.
    """
    from scipy.optimize import linear_sum_assignment

    own = draws.reshape(-1, draws.shape[2])
    n = int(kept.estimate.max()) + 1
    names = matched_names(kept.draws, kept.matched[0], n_states, n)
    estimate = point_estimate(own, series.borders)
    m, length = int(estimate.max()) + 1, series.length
    joint, none = np.zeros((m, n)), np.zeros(m)
    matched = np.empty(own.shape, np.int16)
    for labels, to, row in zip(own, names, matched, strict=True):
        row[:] = to[labels]
        both = np.bincount(estimate * (n + 1) + row + 1, minlength=m * (n + 1)).reshape(m, n + 1)
        joint += both[:, 1:]
        none += both[:, 0]
    shares = np.hstack([joint, np.where(np.eye(m) > 0, none, -1.0)])
    _, places = linear_sum_assignment(shares, maximize=True)
    is_new = (places >= n) | (joint[np.arange(m), np.minimum(places, n - 1)] == 0)
    state = np.where(is_new, n + np.cumsum(is_new) - 1, places)
    wanted = np.where(is_new, -1, places)[estimate]
    agreeing = np.zeros(length)
    for row in matched:
        agreeing += row == wanted
    notes = []
    if is_new.any():
        which = some(sorted(state[is_new].tolist()))
        verb = "is" if is_new.sum() == 1 else "are"
        notes.append(f"{which} {verb} not among the states of the run's point estimate.")
    names_of = label_array(series.names)
    return _table_of(series.borders, names_of, state[estimate], agreeing / len(own), notes)


def matched(run: DataTree | KeptStates) -> Dataset:
    """Rename the states of every draw to those of the point estimate.

    Draws are matched one by one, so that the time in which matched states coincide is as long as
    possible (the Hungarian method).  States that are left over have numbers from the number of
    states of the point estimate on; such a number means nothing in other draws.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.

    Returns
    -------
    Dataset
        `states` (chain, draw, time); `disagreement` (chain, draw), the share of time in which a
        draw is not in the state of the point estimate; and `estimate` (time).
    """
    import xarray as xr

    kept = KeptStates.of(run)
    states, disagreement = kept.matched
    coords = kept.run["states"]["states"].coords
    sample = {name: coords[name] for name in ("chain", "draw")}
    return xr.Dataset(
        {
            "states": (("chain", "draw", "time"), states.reshape(kept.states.shape)),
            "disagreement": (("chain", "draw"), disagreement.reshape(kept.states.shape[:2])),
            "estimate": ("time", kept.estimate),
        },
        {**sample, **kept.coordinates},
    )


def match(draws: npt.NDArray[Any], estimate: IntArray) -> tuple[npt.NDArray[np.int16], FloatArray]:
    """Rename the states of draws, shape (draw, time), to those of a segmentation.

    Returns
    -------
    tuple
        Renamed states, shape (draw, time), and shares of time in which they are others than those
        of the segmentation, shape (draw,).
    """
    from scipy.optimize import linear_sum_assignment

    n = int(estimate.max()) + 1
    found = np.empty(draws.shape, np.int16)
    disagreement = np.empty(len(draws))
    for d in range(len(draws)):
        labels = compact(draws[d : d + 1])[0]
        width = int(labels.max()) + 1
        joint = np.bincount(estimate * width + labels, minlength=n * width).reshape(n, width)
        to, given = linear_sum_assignment(joint, maximize=True)
        names = np.full(width, -1)
        names[given] = to
        left = np.flatnonzero(names < 0)
        names[left] = n + np.arange(len(left))
        found[d] = names[labels]
        disagreement[d] = 1 - joint[to, given].sum() / len(labels)
    return found, disagreement


def summary(run: DataTree | KeptStates, ci_prob: float = 0.9) -> Table:
    """Summarise the states of the point estimate, with intervals over the matched draws.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    ci_prob
        Probability of the central intervals, between 0 and 1.

    Returns
    -------
    Table
        A row for each state, those that hold the most time first: `share` of the time, with the
        ends of its interval; `visits`, the mean number of segments; `duration`, the mean visible
        length of a segment, with its interval, over the draws that have the state; `probability`
        that rows which the point estimate puts in the state are in it; and `counted`, whether it
        holds at least 1 % of the time in the point estimate.  The header tells the posterior of the
        number of states that hold as much, and the notes tell what makes the draws doubtful.
    """
    tail = tail_of(ci_prob)
    kept = KeptStates.of(run)
    n = int(kept.estimate.max()) + 1
    shares, visits = _shares_and_visits(kept, n)
    lengths = np.full(shares.shape, np.nan)
    np.divide(shares * kept.length, visits, out=lengths, where=visits > 0)
    interval = f"eti{round(100 * ci_prob, 10):g}"
    held = np.bincount(kept.estimate, minlength=n) / kept.length
    columns = {
        "state": np.arange(n),
        **_mean_and_interval("share", interval, shares, tail),
        "visits": visits.mean(axis=0),
        **_mean_and_interval("duration", interval, lengths, tail),
        "probability": np.bincount(kept.estimate, kept.agreeing) / np.bincount(kept.estimate),
        "counted": held >= LEAST_SHARE,
    }
    header = _header(kept, ci_prob, tail)
    return Table(columns, header, kept.doubts.sentences, "state", ["probability"])


def _shares_and_visits(kept: KeptStates, n: int) -> tuple[FloatArray, IntArray]:
    """Compute shares of time and numbers of segments by draw and matched state, (draw, state)."""
    states, _ = kept.matched
    shares, visits = np.empty((len(states), n)), np.empty((len(states), n), np.int64)
    for d, own in enumerate(states):
        begins = kept.firsts.copy()
        begins[1:] |= own[1:] != own[:-1]
        shares[d] = np.bincount(own, minlength=n)[:n] / kept.length
        visits[d] = np.bincount(own[begins], minlength=n)[:n]
    return shares, visits


def _mean_and_interval(
    name: str, interval: str, x: FloatArray, tail: float
) -> dict[str, FloatArray]:
    """Compute means and ends of intervals over draws, nan being left out; x is (draw, state)."""
    columns = np.full((3, x.shape[1]), np.nan)
    for k, own in enumerate(x.T):
        there = own[~np.isnan(own)]
        if len(there):
            columns[:, k] = there.mean(), *np.quantile(there, [tail, 1 - tail])
    return dict(zip((name, f"{name}_{interval}_lb", f"{name}_{interval}_ub"), columns, strict=True))


def states_counted(run: DataTree | KeptStates) -> DataArray:
    """Count the states that hold at least 1 % of the time, dimensions (chain, draw)."""
    import xarray as xr

    kept = KeptStates.of(run)
    least = int(kept.states.min())
    counts = [
        np.count_nonzero(np.bincount(own.astype(np.int64) - least) >= LEAST_SHARE * kept.length)
        for own in kept.draws
    ]
    coords = kept.run["states"]["states"].coords
    return xr.DataArray(
        np.reshape(counts, kept.states.shape[:2]),
        {name: coords[name] for name in ("chain", "draw")},
        ("chain", "draw"),
        "states_counted",
    )


def _header(kept: KeptStates, ci_prob: float, tail: float) -> list[str]:
    """Say what the table is about, and how far matching and chains can be trusted."""
    disagreement = kept.matched[1]
    low, high = np.quantile(disagreement, [tail, 1 - tail])
    numbers, times = np.unique(states_counted(kept).values, return_counts=True)
    order = np.lexsort((numbers, -times))
    parts = [f"{numbers[k]} in {times[k] / times.sum():.0%}" for k in order[:_MOST_NUMBERS]]
    rest = times[order[_MOST_NUMBERS:]].sum() / times.sum()
    more = [f"others in {rest:.0%}"] if rest > 0 else []
    figures = kept.doubts.scalars.get("log_likelihood", Figures())
    mixing = f"R-hat {figures.rhat:.3f}, effective sample size {figures.ess:.0f}"
    return [
        f"States that hold at least {LEAST_SHARE:.0%} of the time: "
        f"{', '.join([*parts, *more])} of the draws.",
        f"Draws differ from the point estimate in {disagreement.mean():.1%} of the time after "
        f"matching ({low:.1%} to {high:.1%} in {ci_prob:.0%} of the draws).",
        f"Log-likelihood: {'too few draws to judge' if np.isnan(figures.rhat) else mixing}.",
    ]


def _read_times(given: ArrayLike, length: int) -> IntArray:
    """Read numbers of rows."""
    rows = np.atleast_1d(np.asarray(given))
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise DataError(f"times = {describe(given)} was given; a list of row numbers is needed.")
    if rows.min() < 0 or rows.max() >= length:
        raise DataError(
            f"times from {rows.min()} to {rows.max()} were given; the series has the rows 0 to "
            f"{length - 1:,}."
        )
    return rows.astype(np.int64)
