"""Outcomes by the set that they were recorded in, from the log of the counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.counts.family import SetFamily, in_words
from luce.counts.labels import some
from luce.counts.observations import Entry
from luce.errors import DataError

# Largest number of categories that the sets of all samples may hold together.
_MOST_MEMBERS = 5_000_000

# Sets up to this size are named by their members, not by those left out.
_MOST_LISTED = 6


@dataclass(frozen=True, eq=False)
class Sample:
    """Outcomes recorded given one set.

    Attributes
    ----------
    members
        Numbers of the categories in the set, in order.
    weights
        Their weights, 1 where there are none.
    outcomes
        Maps each outcome that was seen, as the numbers of its categories, to how often it was: one
        category, or several for a grouped outcome.
    given
        The set in words.
    """

    members: IntArray
    weights: FloatArray
    outcomes: dict[tuple[int, ...], float] = field(default_factory=dict)
    given: str = ""

    @property
    def total(self) -> float:
        """Number of outcomes."""
        return sum(self.outcomes.values())

    def add(self, outcome: tuple[int, ...], count: float) -> None:
        """Count an outcome."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0.0) + count


def samples_of(
    labels: tuple[Label, ...] | range, entries: Iterable[Entry], apart: bool
) -> list[Sample]:
    """Count the outcomes in each set; sets in which nothing was recorded are left out.

    Parameters
    ----------
    labels
        The categories.
    entries
        Observations, oldest first, each of which knows the set of its outcomes.
    apart
        Keep the outcomes of each set of each entry apart, even where sets are equal?
    """
    found: dict[object, Sample] = {}
    size = 0
    for number, entry in enumerate(entries):
        if entry.given is None:
            raise DataError(
                "these counts hold totals, and not the set that each outcome was recorded in: they "
                "are of a saved run, of another process, or made from exponents. Give the counts "
                "that were read or observed."
            )
        for t, outcome, count in _outcomes(entry, entry.given):
            key = (number, t) if apart else tuple(entry.sets.signatures[t].tolist())
            if key not in found:
                found[key] = _sample(labels, entry.sets, t)
                size += len(found[key].members)
                if size > _MOST_MEMBERS:
                    raise DataError(
                        f"the sets of the data hold more than {_MOST_MEMBERS:,} cells; restrict "
                        "the counts to fewer categories."
                    )
            found[key].add(outcome, count)
    return list(found.values())


def _outcomes(entry: Entry, given: IntArray) -> list[tuple[int, tuple[int, ...], float]]:
    """List an entry's outcomes that were seen: its set, the outcome, and how often."""
    groups = np.flatnonzero(entry.sets.exponent > 0).tolist()
    outcomes = [(i,) for i in entry.outcomes.tolist()]
    outcomes += [tuple(entry.sets.set_members(t).tolist()) for t in groups]
    counts = [*entry.counts.tolist(), *entry.sets.exponent[groups].tolist()]
    for t, group in zip(groups, range(len(entry.outcomes), len(outcomes)), strict=True):
        _refuse_other_weights(entry.sets, t, int(given[group]))
    return [
        (t, outcome, count)
        for t, outcome, count in zip(given.tolist(), outcomes, counts, strict=True)
        if count > 0
    ]


def _refuse_other_weights(sets: SetFamily, group: int, given: int) -> None:
    """Refuse a group whose members have other weights than in the set it was recorded in."""
    own, all_of_them = _weights(sets, group), _weights(sets, given)
    inside = np.searchsorted(sets.set_members(given), sets.set_members(group))
    if not np.allclose(own, all_of_them[inside], rtol=1e-9):
        raise DataError(
            "a grouped outcome has other weights than the set that it was recorded in, so the "
            "outcomes of that set have no probabilities that add up to 1."
        )


def _sample(labels: tuple[Label, ...] | range, sets: SetFamily, t: int) -> Sample:
    members, weights = sets.set_members(t), _weights(sets, t)
    return Sample(members, weights, given=_in_words(labels, members, weights))


def _in_words(labels: Sequence[Label], members: IntArray, weights: FloatArray) -> str:
    """Put a set into words: its members or, of a large one, those left out."""
    if (weights == 1.0).all():
        if len(members) == len(labels):
            return "all"
        left_out = np.setdiff1d(np.arange(len(labels)), members)
        if len(members) > _MOST_LISTED and len(left_out) < len(members):
            return f"all but {{{some((labels[i] for i in left_out.tolist()), quote=False)}}}"
        return f"{{{some((labels[i] for i in members.tolist()), quote=False)}}}"
    named = [labels[i] for i in members.tolist()]
    return in_words(named, False, -1.0, weights.tolist()).split(" given ", 1)[1]


def _weights(sets: SetFamily, t: int) -> FloatArray:
    """Return the weights of the members of a set, in their order."""
    if sets.weights is None or sets.complement[sets.nest_of_set[t]]:
        return np.ones(int(sets.sizes[t]))
    return np.asarray(sets.listed_weights(t)[np.argsort(sets.listed(t))])
