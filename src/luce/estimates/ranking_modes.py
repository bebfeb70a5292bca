"""The density of rankings with ties, inside its boundary.

It is concave in (log p, logarithms of the parameters) without grouped outcomes.  The parameter of
ties of d is at 0 where no d ever tied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import BoolArray, FloatArray
from luce.counts.family import set_arrays
from luce.counts.tied_blocks import TiedBlocks
from luce.counts.tied_choices import TiedChoices
from luce.estimates.event_density import Inside
from luce.estimates.event_existence import Inequalities, Words
from luce.estimates.ranking_existence import block_inequalities, choice_inequalities, ranking_words
from luce.sampling.contest_posterior import Known
from luce.sampling.ranking_posterior import BlockPosterior, ChoicePosterior, RankingPosterior

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# Logarithm of a parameter at 0: such ties have no probability within doubles.
_AT_ZERO = -700.0

# Least power of a category in a place to climb from.
_LEAST_POWER = 1e-3


class RankingsInside(Inside):
    """F of rankings with ties, without what is known to be on the boundary."""

    # Second derivatives of choices are differences of slopes, good to about eight digits.
    singular = 1e-6

    rankings: TiedBlocks | TiedChoices

    def _whole_problem(self) -> Problem:
        events = self.density.events
        assert isinstance(events, TiedBlocks | TiedChoices)
        self.rankings = events
        return self._laid_out(events.wins())

    def _laid_out(self, wins: FloatArray | float) -> Problem:
        from luce.kernels.problem import make_problem

        counts = self.density.counts
        shape = self.density.prior + counts.category_counts + wins
        return make_problem(*set_arrays(counts.sets), shape, 0.0, weights=counts.sets.weights)

    def _leave_out_boundary(self) -> None:
        events = self.rankings
        if isinstance(events, TiedChoices):
            most = int(np.diff(events.start[::2]).max(initial=0))
            for d, (name, ties) in enumerate(
                zip(events.parameters, events.tie_counts().tolist(), strict=True), 2
            ):
                if name in self.density.own and self._is_at_edge(
                    name, ties, most >= d, f"{d} were never there to tie"
                ):
                    self.edge[name] = 0.0
        place = np.where(self.active, np.arange(self.n), -1)
        self.rankings = events.restricted(place, self.n, self.density.counts.categories)

    def _posterior(self, own: dict[str, Known], known: dict[str, float]) -> RankingPosterior:
        if isinstance(self.rankings, TiedBlocks):
            self.problem = self._laid_out(0.0)
            return BlockPosterior(self.problem, self.rankings)
        self.problem = self._laid_out(self.rankings.wins())
        known = {**known, **dict.fromkeys(self.edge, _AT_ZERO)}
        return ChoicePosterior(self.problem, self.rankings, own, known)

    def first_place(self) -> FloatArray:
        """Return a place to climb from: between equal strengths and those by powers."""
        start = np.log(np.maximum(self.powers, _LEAST_POWER)) / 2
        return np.concatenate([start, np.zeros(len(self.own))])

    @property
    def is_concave_in_events(self) -> bool:
        """Both models are concave."""
        return True

    @property
    def has_groups(self) -> bool:
        """Are there grouped outcomes?"""
        return bool(self.problem.groups.any())

    def leaves_nobody(self, dead: BoolArray) -> bool:
        """Tell whether a block has nobody left to come before."""
        r = self.rankings
        if isinstance(r, TiedChoices) or not len(r):
            return False
        left = np.add.reduceat(~dead[r.members], r.start[:-1])[1::2]
        return bool((left == 0).any())

    def inequalities(self) -> Inequalities:
        """Return what the rankings ask of a direction in which F does not fall."""
        if isinstance(self.rankings, TiedBlocks):
            return block_inequalities(self.rankings, self.owner)
        own = dict(zip(self.own, self.owner[self.n :].tolist(), strict=True))
        possible = [name for name in self.rankings.parameters if name not in self.edge]
        place = {int(name.removeprefix("tie")): own.get(name) for name in possible}
        return choice_inequalities(self.rankings, place, self.owner)

    @property
    def words(self) -> Words:
        """The words for directions in which F does not fall."""
        return ranking_words(self.rankings)
