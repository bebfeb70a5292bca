"""Parameters, transitions and durations of the states of the point estimate, over matched draws.

A state of the point estimate goes by another number in every draw.  `MatchedStates` knows that
number, so that draws of its parameters can be put side by side; a draw without the state has nan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray
from luce.sequences.segmentations import KeptStates
from luce.sequences.semi_markov_runs import series_of
from luce.sequences.series import Series

if TYPE_CHECKING:
    from typing import Any

    from xarray import DataTree

_OTHERS = "others"  # all states that the point estimate does not have


@dataclass(frozen=True, eq=False)
class MatchedStates:
    """States of a run's point estimate, and the numbers that they have in each draw.

    Attributes
    ----------
    kept
        States of the draws.
    """

    kept: KeptStates

    @classmethod
    def of(cls, run: DataTree | KeptStates | MatchedStates) -> MatchedStates:
        """Read the states of a run of `SemiMarkov.fit`."""
        return run if isinstance(run, MatchedStates) else cls(KeptStates.of(run))

    @property
    def run(self) -> DataTree:
        """The run."""
        return self.kept.run

    @cached_property
    def series(self) -> Series:
        """The data."""
        return series_of(self.run)

    @property
    def estimate(self) -> IntArray:
        """States of the point estimate, shape (time,)."""
        return self.kept.estimate

    @cached_property
    def n(self) -> int:
        """Number of states of the point estimate."""
        return int(self.estimate.max()) + 1

    @cached_property
    def names(self) -> list[str]:
        """States of the point estimate as text."""
        return [f"state {k}" for k in range(self.n)]

    @cached_property
    def held(self) -> FloatArray:
        """Share of the time that each state holds in the point estimate, shape (state,)."""
        return np.bincount(self.estimate, minlength=self.n) / self.kept.length

    @cached_property
    def numbers(self) -> IntArray:
        """Number of each state in each draw, shape (draw, state); -1 where a draw has it not."""
        found = np.full((len(self.kept.draws), self.n), -1)
        for own, name, row in zip(self.kept.draws, self.kept.matched[0], found, strict=True):
            states, first = np.unique(name, return_index=True)
            matched = states < self.n
            row[states[matched]] = own[first[matched]]
        return found

    def parameter(self, name: str) -> FloatArray:
        """Return draws of a parameter, shape (draw, state, ...), nan where a draw has no state."""
        values = self._draws(name)
        found = values[np.arange(len(values))[:, None], self.numbers].astype(np.float64)
        found[self.numbers < 0] = np.nan
        return found

    def emission_parameter(self, name: str) -> FloatArray:
        """Return draws of a parameter of the emission, shape (draw, state, ...)."""
        return self.parameter(self._stored(f"emission_{name}", name))

    def _stored(self, *names: str) -> str:
        """Return the first of some names that the group `states` has."""
        held = self.run["states"].data_vars
        return next((name for name in names if name in held), names[-1])

    def _draws(self, name: str) -> npt.NDArray[Any]:
        """Read draws of an array of the group `states`, shape (draw, ...)."""
        values = self.run["states"][name].variable.transpose("chain", "draw", ...).values
        return np.asarray(values.reshape(-1, *values.shape[2:]))

    # -- transitions -------------------------------------------------------------------------------

    @cached_property
    def transitions(self) -> FloatArray:
        """Draws of the probabilities to move on, shape (draw, source, state + 1).

        The last column holds all states that the point estimate has not.  A state that a draw has
        not is entered with probability 0; the row of such a state is nan.
        """
        rows, numbers = self._draws("rows"), self.numbers
        found = np.empty((len(rows), self.n, self.n + 1))
        for own, number, out in zip(rows, numbers, found, strict=True):
            out[:, : self.n] = own[np.ix_(number, number)]
            out[:, : self.n][:, number < 0] = 0.0
            out[:, self.n] = np.maximum(1.0 - out[:, : self.n].sum(axis=1), 0.0)
            out[number < 0] = np.nan
        return found

    @cached_property
    def mean_transitions(self) -> FloatArray:
        """Means of `transitions` over the draws that have the source, shape (source, state + 1)."""
        there = np.maximum((self.numbers >= 0).sum(axis=0), 1)
        return np.asarray(np.nansum(self.transitions, axis=0) / there[:, None])

    @property
    def destinations(self) -> list[str]:
        """Names of the columns of `transitions`."""
        return [*self.names, _OTHERS]

    @cached_property
    def forbidden(self) -> BoolArray:
        """Marks of transitions that cannot occur in any draw, shape (source, state + 1)."""
        mask = self.run["constant_data"]["forbidden"].to_numpy().astype(bool)
        found = np.zeros((self.n, self.n + 1), np.bool_)
        found[:, :-1] = True
        for number in self.numbers:
            there = np.flatnonzero(number >= 0)
            at = np.ix_(there, there)
            found[at] &= mask[np.ix_(number[there], number[there])]
        together = (self.numbers >= 0).astype(np.int64)
        found[:, :-1] &= together.T @ together > 0
        return found

    @cached_property
    def moves_seen(self) -> IntArray:
        """Number of moves from state to state in the point estimate, shape (source, state)."""
        found = np.zeros((self.n, self.n), np.int64)
        starts = np.flatnonzero(np.diff(self.estimate) != 0) + 1
        starts = starts[~self.kept.firsts[starts]]
        np.add.at(found, (self.estimate[starts - 1], self.estimate[starts]), 1)
        return found

    # -- durations ---------------------------------------------------------------------------------

    @cached_property
    def segments(self) -> tuple[IntArray, IntArray, BoolArray]:
        """States and lengths of the segments of the point estimate, and whether they may go on.

        A segment that ends with its sequence may go on where ``end="censored"``.
        """
        kept = self.kept
        starts = np.flatnonzero(kept.firsts | (np.diff(self.estimate, prepend=-1) != 0))
        ends = np.append(starts[1:], kept.length)
        may_go_on = np.isin(ends, kept.borders) & (self.run.attrs.get("end") == "censored")
        return self.estimate[starts], ends - starts, may_go_on

    @cached_property
    def mean_durations(self) -> FloatArray:
        """Draws of the mean of each state's duration law, shape (draw, state)."""
        law = self._law
        if "rate" in law:
            return 1.0 + law["rate"]
        if "probabilities" in law:
            p = law["probabilities"]
            return np.asarray(p @ np.arange(1.0, p.shape[2] + 1) / p.sum(axis=2))
        return np.asarray(1.0 + law["r"] * (1.0 - law["stop"]) / law["stop"])

    def duration_probabilities(self, state: int, lengths: IntArray) -> FloatArray:
        """Return draws of P(D = d) of a state's duration law for each of some d, (draw, length).

        Draws that have not the state are left out.
        """
        from scipy.special import gammaln, xlog1py, xlogy

        there = self.numbers[:, state] >= 0
        own = {name: values[there, state] for name, values in self._law.items()}
        more = lengths - 1.0
        if "probabilities" in own:
            p = own["probabilities"]
            inside = lengths <= p.shape[1]
            return np.where(inside, p[:, np.minimum(lengths, p.shape[1]) - 1], 0.0)
        if "rate" in own:
            rate = own["rate"][:, None]
            return np.asarray(np.exp(xlogy(more, rate) - rate - gammaln(lengths)))
        r, stop = own["r"][:, None], own["stop"][:, None]
        ways = gammaln(more + r) - gammaln(r) - gammaln(lengths)
        return np.asarray(np.exp(ways + xlogy(r, stop) + xlog1py(more, -stop)))

    @cached_property
    def _law(self) -> dict[str, FloatArray]:
        """Draws of the parameters of the duration laws by name, shape (draw, state, ...)."""
        import json

        name = json.loads(self.run.attrs["specification"])["duration"]["name"]
        names = {"poisson": ("rate",), "histogram": ("probabilities",)}.get(name, ("r", "stop"))
        return {own: self.parameter(self._stored(f"duration_{own}", own)) for own in names}
