"""Terms of the likelihood, one by one and as data frames."""

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.random_data import entered, terms_over

from luce import ConditionalCounts
from luce.counts import Term
from luce.errors import MethodError


def some_counts() -> ConditionalCounts:
    return (
        ConditionalCounts(["ann", "bo", "cy", "di", "ed"])
        .observe({"bo": 2}, without=["ann"])
        .observe({"ann": 1.5}, within=["ann", "di"])
        .observe_group(["cy", "bo"], 5)
    )


def test_terms_by_hand() -> None:
    terms = list(some_counts().terms())
    shown = [(t.kind, t.exponent, t.members, t.excluded, t.size) for t in terms]
    assert shown == [
        ("outcome", 1.5, ("ann",), None, 1),
        ("outcome", 2.0, ("bo",), None, 1),
        ("given", -2.0, ("bo", "cy", "di", "ed"), ("ann",), 4),
        ("given", -1.5, ("ann", "di"), None, 2),
        ("group", 5.0, ("bo", "cy"), None, 2),
    ]
    assert [t.weights for t in terms] == [None] * 5
    assert [str(t) for t in terms] == [
        "1.5 outcomes in {ann}",
        "2 outcomes in {bo}",
        "2 outcomes given all but {ann}",
        "1.5 outcomes given {ann, di}",
        "5 grouped outcomes in {bo, cy}",
    ]


def test_terms_are_values_that_cannot_be_changed() -> None:
    first, again = (next(some_counts().terms()) for _ in range(2))
    assert first == again
    assert first == Term(1.5, ("ann",))
    assert first != Term(1.5, ("bo",))
    with pytest.raises(AttributeError):
        first.exponent = 2.0  # type: ignore[misc]


def test_a_large_set_is_not_expanded_unless_asked() -> None:
    n = 10**6
    *_, term = ConditionalCounts(n).observe({5: 1}, without=[7, 3]).terms()
    assert (term.excluded, term.size) == ((3, 7), n - 2)
    assert "members" not in vars(term)
    assert term.members[:5] == (0, 1, 2, 4, 5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_the_likelihood_is_the_product_of_the_terms(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    counts = entered(n, data.draw(terms_over(n))).relabel("abcdef".__getitem__)
    p = dict(zip(counts.categories, np.random.default_rng(n).dirichlet(np.ones(n)), strict=True))
    terms = list(counts.terms())
    logs = [t.exponent * math.log(math.fsum(p[x] for x in t.members)) for t in terms]
    found = float(counts.log_likelihood(list(p.values())))
    assert found == pytest.approx(math.fsum(logs), rel=1e-12, abs=1e-12)
    assert [t for t in terms if t.size != len(t.members)] == []
    assert sum(t.size > 1 for t in terms) == len(counts)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_hold_a_row_for_each_term(backend: str) -> None:
    pytest.importorskip(backend)
    frame = some_counts().to_frame(backend)
    assert list(frame.columns) == ["kind", "members", "excluded", "size", "exponent"]
    assert list(frame["kind"]) == ["outcome", "outcome", "given", "given", "group"]
    assert list(frame["size"]) == [1, 1, 4, 2, 2]
    assert list(frame["exponent"]) == [1.5, 2.0, -2.0, -1.5, 5.0]
    plain = [[None if x is None else tuple(x) for x in frame[c]] for c in ("members", "excluded")]
    assert plain[0] == [("ann",), ("bo",), None, ("ann", "di"), ("bo", "cy")]
    assert plain[1] == [None, None, ("ann",), None, None]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
@pytest.mark.parametrize("labels", [[1, 2, 3], [("x", 1), None, 2.5], ["a", 1, ("b",)]], ids=str)
def test_frames_keep_labels_of_any_kind(labels: list[Any], backend: str) -> None:
    pytest.importorskip(backend)
    frame = ConditionalCounts(labels).observe({labels[0]: 1}, within=labels[:2]).to_frame(backend)
    assert [tuple(x) for x in frame["members"] if x is not None] == [(labels[0],)]
    assert [tuple(x) for x in frame["excluded"] if x is not None] == [(labels[2],)]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_without_data_have_the_same_columns(backend: str) -> None:
    pytest.importorskip(backend)
    frame = ConditionalCounts("abc").to_frame(backend)
    assert frame.shape == (0, 5)
    assert list(frame.columns) == ["kind", "members", "excluded", "size", "exponent"]


def test_unknown_and_missing_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MethodError, match="'excel' was given; 'pandas', 'polars' are possible"):
        some_counts().to_frame("excel")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install polars.*counts\.terms"):
        some_counts().to_frame("polars")
