"""Random sequences of calls on counts, against lists of terms in plain Python."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule
from lib.random_data import quarters
from lib.state_machines import run_sequences

from luce import ConditionalCounts
from luce.errors import DataError

Set = frozenset[str]


@dataclass(frozen=True)
class Listed:
    """Data as a list of (outcome, count, within), without any merging.

    `complete` is False where the counts may have forgotten the set of each outcome.
    """

    labels: tuple[str, ...]
    terms: tuple[tuple[Set, float, Set], ...] = ()
    complete: bool = True

    def plus(self, *terms: tuple[Set, float, Set]) -> Listed:
        return Listed(self.labels, self.terms + terms, self.complete)

    @property
    def powers(self) -> dict[Set, float]:
        """Powers of all sets but those that say nothing."""
        total: dict[Set, float] = {}
        for outcome, count, within in self.terms:
            for members, power in ((outcome, count), (within, -count)):
                total[members] = total.get(members, 0.0) + power
        return {s: e for s, e in total.items() if e and s != frozenset(self.labels)}

    @property
    def n_outcomes(self) -> float:
        return sum(count for _, count, _ in self.terms)

    def restrict(self, kept: Set) -> Listed | None:
        """Keep outcomes that lie in some labels; None where that is not known."""
        found = []
        for outcome, count, within in self.terms:
            if not count or not outcome & kept:
                continue
            if outcome <= kept:
                found.append((outcome, count, within & kept))
            elif outcome & kept != within & kept:
                return None
        labels = tuple(label for label in self.labels if label in kept)
        return Listed(labels, tuple(found), self.complete)

    def relabel(self, new: Callable[[str], str]) -> Listed:
        def all_of(members: Set) -> Set:
            return frozenset(map(new, members))

        terms = tuple((all_of(o), c, all_of(w)) for o, c, w in self.terms)
        return Listed(tuple(map(new, self.labels)), terms, self.complete)


Pair = tuple[ConditionalCounts, Listed]


def assert_same(counts: ConditionalCounts, listed: Listed) -> None:
    assert counts.categories == listed.labels
    found = {frozenset(term.members): term.exponent for term in counts.terms()}
    assert found == listed.powers
    assert len(counts) == sum(len(s) > 1 for s in listed.powers)
    if listed.complete:
        assert counts.n_outcomes == listed.n_outcomes
    p = np.random.default_rng(len(listed.terms)).dirichlet(np.ones(len(listed.labels)))
    share = dict(zip(listed.labels, p, strict=True))
    expected = math.fsum(
        count * math.log(sum(share[i] for i in outcome) / sum(share[i] for i in within))
        for outcome, count, within in listed.terms
    )
    assert float(counts.log_likelihood(p)) == pytest.approx(expected, abs=1e-9)


class CallsOnCounts(RuleBasedStateMachine):
    """Each rule makes new counts from old ones; the old ones must stay as they are."""

    data: Any = Bundle("data")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Pair] = []

    def keep(self, counts: ConditionalCounts, listed: Listed) -> Pair:
        assert_same(counts, listed)
        self.seen.append((counts, listed))
        return counts, listed

    @initialize(target=data, n=st.integers(1, 6))
    def begin(self, n: int) -> Pair:
        labels = tuple("abcdef"[:n])
        return self.keep(ConditionalCounts(labels), Listed(labels))

    def some(self, draw: st.DataObject, listed: Listed) -> list[str]:
        labels = st.sampled_from(listed.labels)
        found: list[str] = draw.draw(st.lists(labels, min_size=1, unique=True))
        return found

    @rule(target=data, pair=data, draw=st.data(), way=st.sampled_from(["within", "without", "all"]))
    def observe(self, pair: Pair, draw: st.DataObject, way: str) -> Pair:
        counts, listed = pair
        inside = list(listed.labels) if way == "all" else self.some(draw, listed)
        given: dict[str, Any] = {"within": inside}
        if way != "within":
            given = {"without": [x for x in listed.labels if x not in inside]}
        seen = {i: draw.draw(quarters) for i in inside if draw.draw(st.booleans())}
        terms = [(frozenset([i]), c, frozenset(inside)) for i, c in seen.items()]
        given = {} if way == "all" and draw.draw(st.booleans()) else given
        return self.keep(counts.observe(seen, **given), listed.plus(*terms))

    @rule(target=data, pair=data, draw=st.data(), count=st.integers(0, 4))
    def observe_group(self, pair: Pair, draw: st.DataObject, count: int) -> Pair:
        counts, listed = pair
        inside = self.some(draw, listed)
        group = inside[: draw.draw(st.integers(1, len(inside)))]
        term = frozenset(group), float(count), frozenset(inside)
        return self.keep(counts.observe_group(group, count, within=inside), listed.plus(term))

    @rule(target=data, pair=data, draw=st.data(), count=quarters)
    def observe_ranking(self, pair: Pair, draw: st.DataObject, count: float) -> Pair:
        counts, listed = pair
        order = self.some(draw, listed)
        terms = [(frozenset([x]), count, frozenset(order[k:])) for k, x in enumerate(order)]
        return self.keep(counts.observe_ranking(order, count), listed.plus(*terms))

    @rule(target=data, one=data, other=data)
    def add(self, one: Pair, other: Pair) -> Any:
        if set(one[1].labels) != set(other[1].labels):
            with pytest.raises(DataError, match="same categories"):
                one[0] + other[0]
            return multiple()
        terms = one[1].terms + other[1].terms
        complete = one[1].complete and other[1].complete
        return self.keep(one[0] + other[0], Listed(one[1].labels, terms, complete))

    @rule(target=data, pair=data, draw=st.data())
    def restrict(self, pair: Pair, draw: st.DataObject) -> Any:
        counts, listed = pair
        labels = self.some(draw, listed)
        expected = listed.restrict(frozenset(labels))
        if expected is None and listed.complete:
            with pytest.raises(DataError, match="only partly"):
                counts.restrict(labels)
            return multiple()
        try:
            found = counts.restrict(labels)
        except DataError:
            assert not listed.complete  # totals do not tell
            return multiple()
        assume(expected is not None)
        return self.keep(found, expected)

    @rule(target=data, pair=data, draw=st.data())
    def relabel(self, pair: Pair, draw: st.DataObject) -> Pair:
        counts, listed = pair
        new = dict(zip(listed.labels, draw.draw(st.permutations(listed.labels)), strict=True))
        return self.keep(counts.relabel(new), listed.relabel(new.__getitem__))

    @rule(target=data, pair=data)
    def terms_there_and_back(self, pair: Pair) -> Pair:
        counts, listed = pair
        powers = {term.members: term.exponent for term in counts.terms()}
        again = ConditionalCounts.from_exponents(counts.categories, powers)
        assert again == counts
        assert again.digest == counts.digest
        return self.keep(again, Listed(listed.labels, listed.terms, complete=False))

    @rule(target=data, pair=data)
    def pickle_there_and_back(self, pair: Pair) -> Pair:
        counts, listed = pair
        again = pickle.loads(pickle.dumps(counts))
        assert again.n_outcomes == counts.n_outcomes
        assert again.digest == counts.digest
        return self.keep(again, Listed(listed.labels, listed.terms, complete=False))

    @rule(one=data, other=data)
    def digests_tell_data_apart(self, one: Pair, other: Pair) -> None:
        same = (one[1].labels, one[1].powers) == (other[1].labels, other[1].powers)
        assert (one[0] == other[0]) is same
        assert (one[0].digest == other[0].digest) is same

    def teardown(self) -> None:
        """Nothing that was made has changed since."""
        for counts, listed in self.seen:
            assert_same(counts, listed)


def test_a_single_category_is_certain_however_it_is_entered() -> None:
    one = ConditionalCounts("a").observe({"a": 3})
    totals = pickle.loads(pickle.dumps(ConditionalCounts("ab").observe({"a": 3})))
    for other in (totals.restrict("a"), ConditionalCounts.from_exponents("a", {"a": 3})):
        assert other == one
        assert other.digest == one.digest


def test_calls_on_counts() -> None:
    run_sequences(CallsOnCounts, 25)


@pytest.mark.slow
def test_many_more_calls_on_counts() -> None:
    run_sequences(CallsOnCounts, 2500, steps=30, salt=1)


class ForgetsTheSet(CallsOnCounts):
    """A control: rankings are entered as if every place had been taken among all."""

    @rule(target=CallsOnCounts.data, pair=CallsOnCounts.data, draw=st.data())
    def observe_ranking(self, pair: Pair, draw: st.DataObject) -> Pair:  # type: ignore[override]
        counts, listed = pair
        order = self.some(draw, listed)
        terms = [(frozenset([x]), 1.0, frozenset(listed.labels)) for x in order]
        return self.keep(counts.observe_ranking(order), listed.plus(*terms))


def test_control_a_wrong_model_is_found() -> None:
    with pytest.raises(AssertionError):
        run_sequences(ForgetsTheSet, 25, shrink=False)
