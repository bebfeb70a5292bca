"""The density of contests with ties and a home advantage, inside its boundary.

Single members on each side leave it concave in (log p, log h, log ν or log θ).  Teams may leave
several maxima.  `tie` is at its least value where there was no tie, and `home` at 0 where no side
at home won or tied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray
from luce.counts.contests import TIE, Contests
from luce.estimates.contest_existence import contest_inequalities, contest_words
from luce.estimates.event_density import Inside
from luce.estimates.event_existence import Inequalities, Words
from luce.sampling.contest_posterior import (
    ContestPosterior,
    Known,
    home_power,
    numerator_powers,
)
from luce.sampling.contests import contest_problem, first_place

if TYPE_CHECKING:
    from luce.kernels.problem import Problem


class ContestsInside(Inside):
    """F of contests, without what is known to be on the boundary."""

    contests: Contests
    problem: Problem
    posterior: ContestPosterior

    def _whole_problem(self) -> Problem:
        events = self.density.events
        assert isinstance(events, Contests)
        self.contests = events
        return self._laid_out()

    def _laid_out(self) -> Problem:
        density, contests = self.density, self.contests
        powers = numerator_powers(contests)
        return contest_problem(density.counts, density.prior, contests, powers)

    def _leave_out_boundary(self) -> None:
        contests = self._without_home(self._without_ties(self.contests))
        alive = np.add.reduceat(self.active[contests.members], contests.start[:-1]) > 0
        self.contests = contests.take(np.asarray(alive.reshape(-1, 2).all(axis=1)))

    def _without_ties(self, contests: Contests) -> Contests:
        """Put `tie` at its least value where nothing holds it off."""
        ties = float(contests.results[:, TIE].sum())
        if "tie" not in self.density.own or not self._is_at_edge(
            "tie", ties, len(contests) > 0, "no meeting was seen"
        ):
            return contests
        self.edge["tie"] = contests.least("tie")
        return replace(contests, ties=None)

    def _without_home(self, contests: Contests) -> Contests:
        """Put `home` at 0 where nothing holds it off: the side at home then loses for certain."""
        if "home" not in self.density.own or not self._is_at_edge(
            "home", home_power(contests), bool(contests.at_home.any()), "no side was at home"
        ):
            return contests
        self.edge["home"] = 0.0
        return replace(contests.take(~contests.at_home), home=False)

    def _posterior(self, own: dict[str, Known], known: dict[str, float]) -> ContestPosterior:
        self.problem = self._laid_out()
        self.powers = self.problem.shape
        without_total = self.problem._replace(total_shape=0.0)
        self.posterior = ContestPosterior(without_total, self.contests, own, known)
        return self.posterior

    def first_place(self) -> FloatArray:
        """Return a place to climb from: strengths in proportion to powers, parameters near 1."""
        return first_place(self.posterior)

    @property
    def is_concave_in_events(self) -> bool:
        """Have all sides a single member?"""
        return bool((np.diff(self.contests.start) == 1).all())

    @property
    def has_groups(self) -> bool:
        """Are there grouped outcomes?"""
        return bool(self.problem.groups.any())

    def leaves_nobody(self, dead: BoolArray) -> bool:
        """Tell whether a side of a meeting has no member left."""
        c = self.contests
        left = np.add.reduceat(~dead[c.members] & (self.owner[c.members] >= 0), c.start[:-1])
        return bool((left == 0).any())

    def inequalities(self) -> Inequalities:
        """Return what the results ask of a direction in which F does not fall."""
        return contest_inequalities(self.contests, self.own, self.owner, self.n)

    @property
    def words(self) -> Words:
        """The words for directions in which F does not fall."""
        return contest_words(self.contests)
