"""Labels and numbers as users give them, and their names in messages."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from luce import ConditionalCounts
from luce.counts.labels import (
    Categories,
    canonical_name,
    describe,
    label_array,
    plural,
    printable,
    printable_lines,
    read_probabilities,
    shown,
    some,
)
from luce.errors import DataError

EQUAL_LABELS: list[tuple[Any, Any]] = [
    (1, 1.0),
    (True, np.int8(1)),
    ("a", np.str_("a")),
    (("a", 1), (np.str_("a"), 1.0)),
    (frozenset({1, "a"}), frozenset({"a", 1.0})),
    (Fraction(1, 2), 0.5),
]


@pytest.mark.parametrize("pair", EQUAL_LABELS)
def test_equal_labels_have_equal_names(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert one == other
    assert canonical_name(one) == canonical_name(other)


def test_different_labels_have_different_names() -> None:
    labels = [1, "1", 1.5, "a", ("a",), frozenset("a"), None, 10**400, 10**400 + 1, 2**53 + 1]
    labels += [Decimal("0.1"), 0.1, 1j]
    assert len({canonical_name(x) for x in labels}) == len(labels)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "bc"], "U"),
        ([1, 2], "i"),
        (range(3), "i"),
        (np.array([3, 4]), "i"),
        ([0.5, 2.0], "f"),
        ([1, 2.5], "O"),
        ([10**30, 1], "O"),
        (["a\0", "b"], "O"),
        ([("a", 1), ("b", 2)], "O"),
        ([True, False], "O"),
    ],
)
def test_arrays_of_labels_give_them_back(labels: Any, kind: str) -> None:
    array = label_array(labels)
    assert array.dtype.kind == kind
    assert array.tolist() == list(labels)
    assert {type(x) for x in array.tolist()} <= {type(x) for x in list(labels)} | {int}


def test_categories_are_equal_by_their_labels() -> None:
    assert Categories(3) == Categories([0, 1, 2]) == Categories(range(3))
    assert Categories("ab") != Categories("ba")
    assert Categories("ab") != Categories("abc")
    assert Categories("ab") != "ab"


def test_values_in_messages() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert shown(nested) == "a list nested too deeply to be shown"
    assert describe(2.5) == "2.5 (float)"
    assert some("abcdefgh", most=3) == "'a', 'b', 'c', ..."
    assert some(["a", 1], quote=False) == "a, 1"
    assert (plural(1, "set"), plural(0.5, "set")) == ("1 set", "0.5 sets")
    assert plural(1234567, "category", "categories") == "1,234,567 categories"


def test_labels_that_do_not_compare_are_refused() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise TypeError("no truth value")

        __hash__ = object.__hash__

    with pytest.raises(DataError, match="does not equal itself"):
        ConditionalCounts([Odd(), 1])


def test_probabilities_are_read_as_floats() -> None:
    assert read_probabilities([[1, 0], [0, 1]], 2).dtype == np.float64
    with pytest.raises(DataError, match=r"must be numbers; \['a', 'b'\]"):
        read_probabilities(["a", "b"], 2)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\rb", r"a\rb"),
        ("bell\x07", r"bell\x07"),
        ("two\nlines\ttab", r"two\nlines\ttab"),
        ("\u202egnp.exe", r"\u202egnp.exe"),  # the text after it would be shown backwards
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\x9b2J", r"\x9b2J"),  # the short form of escape and bracket
        ("\ud800", r"\ud800"),
        ("\u2028", r"\u2028"),
        ("Zoë 東京 a\xa0b", "Zoë 東京 a\xa0b"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        (("x", "\x1b"), r"('x', '\x1b')"),
        (7, "7"),
    ],
)
def test_labels_on_a_terminal(label: Any, shown: str) -> None:
    assert printable(label) == shown
    assert some([label], quote=False) == shown
    assert printable_lines(f"{label}\nb") == "\n".join(
        [*map(printable, f"{label}".split("\n")), "b"]
    )


def test_more_categories_than_any_memory_holds_are_refused() -> None:
    with pytest.raises(DataError, match="1,000,000,000,000 categories were asked for; at most"):
        ConditionalCounts(10**12)
    assert ConditionalCounts(10**6).n_categories == 10**6
