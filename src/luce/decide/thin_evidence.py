"""How much data the standing of each category rests on, and words for where that is little.

The evidence of a category is thin where one of these holds:

    no data     it lies in no set that an outcome was recorded in
    no loss     it won everything, so that its likelihood grows without end with its strength
    no win      it won nothing, so that its likelihood grows without end towards 0
    wide        the standard deviation of its log odds is more than half of the prior's

The log odds are against the mean log p of those listed; under a Dirichlet prior their variance is
ψ'(a_i) (1 - 2/m) + Σ_j ψ'(a_j) / m² for m listed categories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import BoolArray, FloatArray
from luce.answers.scales import log_odds_values
from luce.answers.view import DrawsView
from luce.counts.comparability import prior_only
from luce.counts.contests import Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.counts.records import Record, record_of
from luce.errors import DataError
from luce.model.model import Model
from luce.page.words import Inline, Name, count, shortened

# Share of the prior's standard deviation above which the data has told little.
LITTLE = 0.5

# Marks, and their meaning; "games" and "choices" have words of their own.
_MARKS = {True: ("no loss", "no win"), False: ("always chosen", "never chosen")}
NO_DATA, WIDE = "no data", "wide"
MEANING = {
    NO_DATA: "“no data” marks those known only from the prior",
    "no loss": "“no loss” marks those who won all games, whose scores only the prior limits above",
    "no win": "“no win” marks those who won no game, whose scores only the prior limits below",
    "always chosen": "“always chosen” marks those whose scores only the prior limits above",
    "never chosen": "“never chosen” marks those whose scores only the prior limits below",
    WIDE: "“wide” marks log odds with more than half of the standard deviation they have without "
    "data",
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data behind each listed category.

    Attributes
    ----------
    record
        What they played and won; or why the data does not tell.
    no_data
        Marks of categories that the data says nothing about.
    width
        Standard deviations of log odds over those of the prior; None where they cannot be compared.
    """

    record: Record | str
    no_data: BoolArray
    width: FloatArray | None

    def mark(self, i: int) -> str:
        """Say in a word or two why the evidence of category i is thin; nothing where it is not."""
        if self.no_data[i]:
            return NO_DATA
        if isinstance(self.record, Record):
            no_loss, no_win = _MARKS[self.record.are_games]
            if self.record.won_all[i]:
                return no_loss
            if self.record.lost_all[i]:
                return no_win
        return WIDE if self.width is not None and self.width[i] > LITTLE else ""

    @property
    def marks(self) -> list[str]:
        """The marks of all categories."""
        return [self.mark(i) for i in range(len(self.no_data))]

    def caution(self, i: int, text: str) -> list[Inline]:
        """Say what the lead of category i rests on, where that is little data."""
        name = Name(shortened(text))
        mark = self.mark(i)
        if not mark:
            return []
        if mark == NO_DATA:
            return [name, " is known only from the prior: no data speaks of it. "]
        if mark == WIDE:
            return [
                "There is little data on ",
                name,
                ": its log odds have more than half of the standard deviation they have without "
                "data. ",
            ]
        assert isinstance(self.record, Record)
        played, games = count(self.record.played[i]), self.record.are_games
        if mark == _MARKS[games][0]:
            once = " won its only game" if games else " was chosen the only time it was offered"
            often = (
                f" won all of its {played} games"
                if games
                else f" was chosen all {played} times it was offered"
            )
            limit = "no upper limit to its strength, so that how far it leads rests on the prior"
        else:
            once = " lost its only game" if games else " was offered once and not chosen"
            often = (
                f" won none of its {played} games"
                if games
                else f" was never chosen, out of {played} times it was offered"
            )
            limit = "no lower limit to its strength"
        return [name, once if played == "1" else often, f": the data sets {limit}. "]


def evidence_of(x: DrawsView, counts: ConditionalCounts, model: Model | None) -> Evidence:
    """Find how much data each category of a view rests on.

    Parameters
    ----------
    x
        The listed categories.
    counts
        The data.
    model
        The model, whose prior the draws are compared with; None where it is not known.
    """
    place = {label: i for i, label in enumerate(counts.categories)}
    numbers = np.array([place[label] for label in x.categories])
    record = record_of(counts)
    unknown = set(prior_only(counts))
    return Evidence(
        record if isinstance(record, str) else record.take(numbers),
        np.array([label in unknown for label in x.categories], np.bool_),
        None if model is None else _width(x, model.concentration[numbers], model),
    )


def record_in_words(record: Record, counts: ConditionalCounts) -> list[str]:
    """Say how games and wins were counted, and which outcomes were not."""
    if not record.are_games:
        grouped = bool((counts.sets.exponent > 0).any())
        each = " An outcome of a group counts for each of the group." if grouped else ""
        said = [
            "Offered, chosen: of a ranking, each place but the last is a choice among those not "
            f"yet placed; numbers of races and of first places are not kept.{each}"
        ]
    else:
        each = " All of a side have its games and wins." if _has_sides(counts) else ""
        halves = (
            "wins and half of the ties, by games" if record.tied is not None else "wins, by games"
        )
        tied = "; who tied is not kept" if "tie" in counts.effects.values() else ""
        said = [f"Games: outcomes between two; win rate: {halves}{tied}.{each}"]
    if record.uncounted:
        said.append(
            f"Not counted: {plural(record.uncounted, 'outcome')} with one category possible, as "
            "last places are, or of groups that cancelled."
        )
    if (record.wins % 1 != 0).any():
        said.append("Numbers that are not whole come from weights, or from shared wins.")
    return said


def _has_sides(counts: ConditionalCounts) -> bool:
    """Tell whether sides may have several members, effects aside."""
    effects = np.array([label in counts.effects for label in counts.categories], np.float64)
    contests = counts.events
    if isinstance(contests, Contests):
        sizes = np.add.reduceat(1 - effects[contests.members], contests.start[:-1])
        return bool((sizes > 1).any())
    sides = counts.sets.exponent > 0
    return bool(((counts.sets.sizes - counts.sets.set_sums(effects))[sides] > 1).any())


def _width(x: DrawsView, concentration: FloatArray, model: Model) -> FloatArray | None:
    """Divide standard deviations of log odds by the prior's; None where either is not known."""
    from scipy.special import polygamma

    m = len(concentration)
    if m < 2 or model.hyperprior is not None or model.remainder is not None:
        return None
    try:
        odds = log_odds_values(x, None)
    except DataError:  # probabilities stored as 0
        return None
    own = polygamma(1, concentration)
    return np.asarray(odds.std(axis=(0, 1)) / np.sqrt(own * (1 - 2 / m) + own.sum() / m**2))
