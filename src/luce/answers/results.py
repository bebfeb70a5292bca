"""Probabilities of the results of meetings, as the model of the draws has them.

A meeting is of two sides, each of one or more categories, with strengths A and B.  The first side
wins, the second wins, or they tie.  By what the draws tell of their model:

    contests          as `luce.counts.contests` has it: Davidson, Rao-Kupper or no ties, and a
                      factor h for the side at home; or the advantage is a category as below
    effects           ties and the advantage are categories, of probabilities t and h, so that the
                      first side at home has (A + h) / (A + h + B + t)
    neither           A / (A + B), and there are no ties
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.answers.view import DrawsView
from luce.counts.contests import Contests, log_outcomes
from luce.counts.labels import some
from luce.errors import DataError
from luce.sampling.mixing import members_of

# Numbers of `Meetings.at_home`.
NOBODY, FIRST_SIDE, SECOND_SIDE = range(3)


@dataclass(frozen=True, eq=False)
class Meetings:
    """Meetings of two sides, without their results.

    Attributes
    ----------
    members, start
        Side k (0 or 1) of meeting t is ``members[start[2 t + k]:start[2 t + k + 1]]``.
    log_weights
        Logarithm of the weight of each member.
    at_home
        Per meeting: 0 where nobody has the advantage, 1 for the first side, 2 for the second.
    """

    members: IntArray
    start: IntArray
    log_weights: FloatArray
    at_home: IntArray

    @classmethod
    def of_contests(cls, contests: Contests) -> Meetings:
        """Take the meetings of contests."""
        weights = np.ones(len(contests.members)) if contests.weights is None else contests.weights
        at_home = contests.at_home.astype(np.int64)
        return cls(contests.members, contests.start, np.log(weights), at_home)

    def __len__(self) -> int:
        """Return the number of meetings."""
        return len(self.at_home)

    def part(self, first: int, stop: int) -> Meetings:
        """Select neighbouring meetings."""
        a, b = self.start[2 * first], self.start[2 * stop]
        return Meetings(
            self.members[a:b],
            self.start[2 * first : 2 * stop + 1] - a,
            self.log_weights[a:b],
            self.at_home[first:stop],
        )

    def take(self, numbers: IntArray) -> Meetings:
        """Select meetings by their numbers, in the order given."""
        sides = (2 * numbers[:, None] + np.arange(2)).ravel()
        first, stop = self.start[sides], self.start[sides + 1]
        places, _ = members_of(first, stop - 1)
        return Meetings(
            self.members[places],
            np.cumsum(np.r_[0, stop - first]),
            self.log_weights[places],
            self.at_home[numbers],
        )


@dataclass(frozen=True, eq=False)
class ResultModel:
    """The model of results that draws come with.

    Parameters
    ----------
    draws
        The draws.
    ties
        "davidson", "rao-kupper"; "entity" where a tie is a category; None where there are none.
    home
        "multiplicative"; "entity" where the advantage is a category; None where there is none.
    """

    draws: DrawsView
    ties: str | None
    home: str | None

    @classmethod
    def of(cls, x: DrawsView) -> ResultModel:
        """Read the model of results from draws; refuse draws that do not tell it."""
        if x.events is not None:
            if x.events.kind != "contests":
                raise DataError(
                    f"results of two sides are predicted from contests; the data of these draws "
                    f"has {x.events.kind}."
                )
            by_category = "entity" if "home" in x.effects.values() else None
            model = cls(x, x.events.ties, "multiplicative" if x.events.home else by_category)
            for name, wanted in (("tie", model.ties is not None), ("home", x.events.home)):
                if wanted and x.parameter(name) is None:
                    raise DataError(
                        f"the data has the parameter {name!r}, but these draws do not hold it. "
                        "Give the whole DataTree that Posterior.sample returned."
                    )
            return model
        unknown = [name for name in ("home", "tie") if x.parameter(name) is not None]
        if unknown:
            raise DataError(
                f"the draws hold {some(unknown)}, but not the data, which tells the model of ties. "
                "Give the whole DataTree that Posterior.sample or luce.load returned, with its "
                "group observed_data."
            )
        kinds = list(x.effects.values())
        for kind in ("tie", "home"):
            if kinds.count(kind) > 1:
                own = [label for label, each in x.effects.items() if each == kind]
                raise DataError(
                    f"several categories are marked as {kind}: {some(own)}. Results are predicted "
                    "where there is one at most."
                )
        return cls(x, *("entity" if kind in kinds else None for kind in ("tie", "home")))

    @property
    def words(self) -> str:
        """The model in words."""
        ties = {
            None: "no ties",
            "davidson": "Davidson's ties",
            "rao-kupper": "Rao-Kupper ties",
            "entity": "a tie as a category",
        }
        homes = {
            None: "no home advantage",
            "multiplicative": "a home advantage as a factor",
            "entity": "a home advantage as a category",
        }
        return f"{ties[self.ties]} and {homes[self.home]}"

    def log_probabilities(self, meetings: Meetings, chain: int, rows: slice) -> FloatArray:
        """Compute log probabilities of results in some draws of a chain, (draw, meeting, 3).

        The last dimension has a win of the first side, one of the second, and a tie.
        """
        x = self.draws
        own = x.logs(chain, rows, meetings.members) + meetings.log_weights
        sides = np.logaddexp.reduceat(own, meetings.start[:-1], axis=1)
        first, second = sides[:, ::2], sides[:, 1::2]
        x.refuse_zeros(
            np.isneginf(first) & np.isneginf(second), np.unique(meetings.members), "a prediction"
        )
        at_home = meetings.at_home
        if self.home is not None and at_home.any():
            gain = self._log_home(chain, rows)[:, None]
            add = np.add if self.home == "multiplicative" else np.logaddexp
            first = np.where(at_home == FIRST_SIDE, add(first, gain), first)
            second = np.where(at_home == SECOND_SIDE, add(second, gain), second)
        if self.ties == "entity":
            tied = np.broadcast_to(self._log_effect("tie", chain, rows)[:, None], first.shape)
            logs = np.stack([first, second, tied], axis=-1)
            return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))
        tie = np.ones(1)
        if self.ties is not None:
            values = x.parameter("tie")
            assert values is not None
            tie = values[chain, rows][:, None]
        return log_outcomes(first, second, self.ties, tie)

    def _log_home(self, chain: int, rows: slice) -> FloatArray:
        if self.home == "entity":
            return self._log_effect("home", chain, rows)
        values = self.draws.parameter("home")
        assert values is not None
        return np.asarray(np.log(values[chain, rows]))

    def _log_effect(self, kind: str, chain: int, rows: slice) -> FloatArray:
        label: Label = next(label for label, own in self.draws.effects.items() if own == kind)
        number = self.draws.number(label, kind)
        return self.draws.logs(chain, rows, np.array([number]))[:, 0]

    def mean_probabilities(self, meetings: Meetings) -> FloatArray:
        """Compute the probabilities of results, means over all draws, shape (meeting, 3)."""
        total = np.zeros((len(meetings), 3))
        for part, chain, rows in self.blocks(meetings):
            logs = self.log_probabilities(meetings.part(part.start, part.stop), chain, rows)
            total[part] += np.exp(logs).sum(axis=0)
        return total / self.draws.n_draws

    def blocks(self, meetings: Meetings) -> list[tuple[slice, int, slice]]:
        """List parts of the meetings with parts of the draws, few enough to be held at once."""
        step = max(1, self.draws.block // (8 * 256))
        widths = np.diff(meetings.start)
        width = 8 * step * max(1, int(widths.max(initial=1)))
        return [
            (slice(a, min(a + step, len(meetings))), chain, rows)
            for a in range(0, len(meetings), step)
            for chain, rows in self.draws.blocks(min(width, 8 * int(widths.sum())))
        ]
