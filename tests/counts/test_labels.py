"""Labels and numbers as users give them, and their names in messages."""

import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import luce
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

STAMP = pd.Timestamp("2020-01-01")


class Colour(str, Enum):  # noqa: UP042
    """Text that prints as something else."""

    RED = "red"


class Place(NamedTuple):
    """A tuple with names."""

    x: int
    y: int


EQUAL_LABELS: list[tuple[Any, Any]] = [
    (1, 1.0),
    (True, np.int8(1)),
    ("a", np.str_("a")),
    (("a", 1), (np.str_("a"), 1.0)),
    (frozenset({1, "a"}), frozenset({"a", 1.0})),
    (Fraction(1, 2), 0.5),
    (1, 1 + 0j),
    (Decimal("1.10"), Decimal("1.1")),
    (Decimal("1.1"), Fraction(11, 10)),
    (2**53 + 1, np.int64(2**53 + 1)),
    (2**53 + 1, Fraction(2**53 + 1)),
    (10**400, Fraction(10**400)),
    (10**400, Decimal(10**400)),
    (float("inf"), Decimal("inf")),
    (0.0, -0.0),
    (1j, np.complex64(1j)),
    (1, np.longdouble(1)),
    (b"a", np.bytes_(b"a")),
    ("red", Colour.RED),
    ((1, 2), Place(1, 2)),
]


@pytest.mark.parametrize("pair", EQUAL_LABELS)
def test_equal_labels_have_equal_names(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert one == other
    assert canonical_name(one) == canonical_name(other)


def test_different_labels_have_different_names() -> None:
    labels = [1, "1", 1.5, "a", ("a",), frozenset("a"), None, 10**400, 10**400 + 1, 2**53 + 1]
    labels += [Decimal("0.1"), 0.1, 1j, 2**53, 1 + 1j, Fraction(1, 3), -1, b"a", float("inf")]
    assert len({canonical_name(x) for x in labels}) == len(labels)


# Prints the digest of data after the process has hashed equal labels of other types.
DIGEST = """
import sys
from decimal import Decimal
from fractions import Fraction
import numpy as np
from luce import ConditionalCounts
def digest(labels):
    first, second = labels
    return ConditionalCounts(labels).observe({first: 2, second: 1}).digest
for labels in eval(sys.argv[1]):
    last = digest(labels)
print(last)
"""


def test_the_digest_does_not_depend_on_what_was_hashed_before() -> None:
    """In new processes with other histories; the control is data that differs."""
    ones = ["(1, 2)", "(1.0, 2)", "(True, 2)", "(1 + 0j, 2)", "(np.int8(1), 2)"]
    ones += ["(Decimal(1), Fraction(2))"]

    def digest(*history: str) -> str:
        code = ["-c", DIGEST, f"[{', '.join(history)}]"]
        done = subprocess.run([sys.executable, *code], capture_output=True, text=True, check=True)
        return done.stdout

    truth = digest(ones[0])
    assert digest(*ones) == digest(*ones[::-1]) == truth
    assert digest(*ones, "(1, 3)") != truth
    assert digest("(1j, 2)", "(1, 2)") == truth


def test_labels_that_only_repr_tells_apart_keep_their_digest() -> None:
    """A class of number that Python does not know equals 1, and has a name of its own."""

    class One(int):
        as_integer_ratio = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "One"

    def digest(first: Any) -> str:
        return ConditionalCounts((first, 2)).observe({2: 1}).digest

    before = digest(One(1))
    assert digest(1) != before
    assert digest(One(1)) == before


@pytest.mark.parametrize("label", [np.datetime64("2020-01-01"), np.timedelta64(1, "ns"), STAMP])
def test_times_that_runs_do_not_keep_are_refused(label: Any) -> None:
    with pytest.raises(DataError, match="Turn it into text"):
        ConditionalCounts([label, "a"])


@pytest.mark.parametrize(
    "labels",
    [
        [Decimal("1.5"), Decimal(2), Decimal("0.1")],
        [Fraction(1, 3), Fraction(2), 3],
        [1j, 2 + 0j, 3],
        [date(2020, 1, day) for day in (1, 2, 3)],
        [datetime(2020, 1, day) for day in (1, 2, 3)],
        [timedelta(day) for day in (1, 2, 3)],
    ],
    ids=ascii,
)
def test_odd_labels_are_right_in_memory_and_refused_by_files(labels: Any, tmp_path: Path) -> None:
    counts = ConditionalCounts(labels).observe({labels[0]: 2, labels[1]: 1}, within=labels[:2])
    run = luce.Posterior(counts).sample(20, seed=1, progress=False)
    assert luce.posterior_of(run).counts == counts
    assert run.posterior["probabilities"].sizes["category"] == 3
    with pytest.raises(DataError, match="stored"):
        luce.save(run, tmp_path / "run.nc")
    with pytest.raises(DataError, match="stored"):
        luce.Posterior(counts).sample(20, seed=1, progress=False, to=tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


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
