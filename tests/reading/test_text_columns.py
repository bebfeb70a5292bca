"""Large tables of text: split and encoded by arrays, with the counts of Python's csv module."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.data_files import places, problems, read_within, skipping

import luce
from luce.reading.rows import count_distinct
from luce.reading.text_columns import Fields, TextCodes, split_block

# Lengths around whole words of eight bytes, common beginnings, letters of several bytes.
LABELS = [
    *("a", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghabcdefgh", "abcdefghabcdefghi"),
    *("b" * 40, "b" * 41, "é", "éé", "日本語ラベル", "🏓", "o'Neil", "a b", "item one", "item two"),
]
QUOTED = ["Smith, J", "Smith, K", "two\nlines", "a;b"]
ESCAPED = ['the "best"', '"']
BLOCK = 131_072  # characters that are read at a time


def write_table(rows: Sequence[Sequence[str]], **options: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", **options).writerows([("winner", "loser"), *rows])
    return text.getvalue()


def random_pairs(labels: Sequence[str], number: int) -> list[tuple[str, str]]:
    rng = np.random.default_rng(SEED)
    pairs = list(permutations(labels, 2))
    return [pairs[k] for k in rng.integers(0, len(pairs), number).tolist()]


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (LABELS, {}),
        (LABELS, {"quoting": csv.QUOTE_ALL}),
        (LABELS, {"delimiter": "\t"}),
        ([*LABELS, *QUOTED], {}),
        ([*LABELS, *QUOTED], {"delimiter": ";"}),
        ([*LABELS, *QUOTED, *ESCAPED], {}),
        ([label for label in LABELS if " " not in label and "'" not in label], {"delimiter": " "}),
        (["tea", "milk", "x" * 3_000], {}),  # one label is much longer
    ],
)
def test_long_tables_are_read_as_the_csv_module_reads_them(
    write: Any, labels: list[str], options: dict[str, Any]
) -> None:
    rows = random_pairs(labels, 15_000 if max(map(len, labels)) < 100 else 300)
    text = write_table(rows, **options)
    assert len(text) > BLOCK
    path = write("d.csv", text)
    by_hand = luce.from_pairs(rows)
    assert luce.read(path) == by_hand
    assert luce.read(path).restrict(labels[:3]) == by_hand.restrict(labels[:3])


def test_labels_of_simple_and_of_difficult_blocks_are_the_same_labels(write: Any) -> None:
    rows = random_pairs(LABELS, 20_000)
    simple, difficult = write_table(rows).split("\n", 1), '"a ""b""",ab\nab,"a"\n'
    text = f"{simple[0]}\n{difficult}{simple[1]}{difficult}"
    expected = luce.from_pairs([*rows, *[('a "b"', "ab"), ("ab", "a")] * 2])
    assert luce.read(write("d.csv", text)) == expected


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("ab,ab", "'ab' is compared with itself."),
        ("ab,", "the second of the two is missing."),
        ('"NA",ab', "the first of the two is missing."),
        ("ab", "1 value stands here; the header has 2."),
        ("ab,a,c", "3 values stand here; the header has 2."),
        ('"ab"c,a', "quotation marks are out of place (',' expected after '\"')."),
    ],
)
def test_a_bad_line_far_down_is_named(write: Any, bad: str, what: str) -> None:
    lines = write_table(random_pairs(LABELS, 15_000)).split("\n")
    lines[14_000] = bad
    lines.insert(9_000, "")  # empty lines count, and are no data
    path = write("d.csv", "\n".join(lines))
    assert problems(path) == [(14_002, what)]
    assert skipping(path)[0].n_outcomes == 14_999


def test_blank_lines_far_down_are_no_data(write: Any) -> None:
    rows = random_pairs(LABELS, 15_000)
    lines = write_table(rows).split("\n")
    for at in (12_000, 12_000, 5_000):
        lines.insert(at, "")
    assert luce.read(write("d.csv", "\n".join(lines))) == luce.from_pairs(rows)
    lines[11_000:11_000] = [" , ", "\t"]
    assert luce.read(write("d.csv", "\n".join(lines))) == luce.from_pairs(rows)
    lines[100] = "ab,ab"
    assert places(write("d.csv", "\n".join(lines))) == [101]


def test_columns_that_are_not_asked_for_may_hold_anything(write: Any) -> None:
    rows = random_pairs(LABELS, 10_000)
    text = "".join(f'{i},{a},"say, {i}",{b},{"x" * (i % 50)}\n' for i, (a, b) in enumerate(rows))
    path = write("d.csv", "id,winner,remark,loser,more\n" + text)
    assert luce.read(path, ignore=["remark", "more"]) == luce.from_pairs(rows)


def moments(number: int) -> list[tuple[str, int, str]]:
    """Sequences of 1 to 12,000 moments, the longest of them longer than a block of lines."""
    rng = np.random.default_rng(SEED)
    rows: list[tuple[str, int, str]] = []
    while len(rows) < number:
        length = int(rng.choice([1, 2, 3, 100])) if rows else 12_000
        name = f"sequence {len(rows)}"
        rows += [(name, t, LABELS[k]) for t, k in enumerate(rng.integers(0, 6, length).tolist())]
    return rows


def write_moments(rows: Sequence[tuple[str, int, str]]) -> str:
    return "sequence,time,state\n" + "".join(f"{a},{t},{x}\n" for a, t, x in rows)


def sequences(rows: Sequence[tuple[str, int, str]]) -> list[list[str]]:
    by_name: dict[str, list[str]] = {}
    for name, _, label in rows:
        by_name.setdefault(name, []).append(label)
    return list(by_name.values())


def test_groups_of_rows_in_a_long_table(write: Any) -> None:
    rows = moments(20_000)
    text = write_moments(rows)
    assert len(text) > 1.5 * BLOCK
    by_hand = luce.from_transitions(sequences(rows))
    assert luce.read(write("d.csv", text)) == by_hand
    apart = [*rows[:50], ("late", 0, "ab"), *rows[50:], ("late", 1, "abcdefg")]
    expected = luce.from_transitions([*sequences(rows), ["ab", "abcdefg"]])
    assert luce.read(write("d.csv", write_moments(apart))) == expected
    quoted = text.replace("sequence 7,", '"sequence ""7""",')
    assert luce.read(write("d.csv", quoted)) == by_hand


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("long,0,NA", "in the group that begins here, a state or its time is missing."),
        ("long,0", "2 values stand here; the header has 3."),
        (",0,ab", "sequence is missing."),
        ("NA,0,ab", "sequence is missing."),
    ],
)
def test_a_bad_line_far_down_among_groups(write: Any, bad: str, what: str) -> None:
    rows = moments(20_000)
    lines = write_moments(rows).split("\n")
    at = next(k for k in range(15_000, len(lines)) if lines[k].split(",")[1] == "0")
    lines.insert(at, bad)
    path = write("d.csv", "\n".join(lines))
    assert problems(path) == [(at + 1, what)]
    assert skipping(path) == (luce.from_transitions(sequences(rows)), [at + 1])


def test_equal_groups_are_kept_once(write: Any) -> None:
    rows = [(f"s{k}", t, x) for k in range(60_000) for t, x in enumerate("aba")]
    path = write("d.csv", write_moments(rows))
    expected = luce.from_transitions(
        {"from": ["a", "b"], "to": ["b", "a"], "count": [60_000, 60_000]}
    )
    assert luce.read(path) == expected
    assert read_within(16, path) == expected  # 89 bytes a row


def test_groups_that_become_equal(write: Any) -> None:
    """Equal but for the text of a missing value."""
    rows = [(f"s{k}", t, x) for k in range(20_000) for t, x in enumerate("aba")]
    texts = ("", "NA", "a", "null")
    missing = [(a, t, texts[k // 3 % 4] if t == 2 else x) for k, (a, t, x) in enumerate(rows)]
    path = write("d.csv", write_moments(missing))
    counts, left_out = skipping(path)
    assert left_out == [3 * k + 2 for k in range(20_000) if k % 4 != 2]
    assert counts == luce.from_transitions(
        {"from": ["a", "b"], "to": ["b", "a"], "count": [5_000, 5_000]}
    )


def calls_of(function: Callable[[], Any]) -> int:
    """Count the calls of Python functions and built-in ones."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


def test_no_row_of_a_large_table_costs_a_call(write: Any) -> None:
    names = [f"player {k:03d}" for k in range(100)]
    rows = random_pairs(names, 150_000)
    paths = [
        write(f"{number}.csv", write_table(rows[:number], quoting=csv.QUOTE_ALL))
        for number in (50_000, 150_000)
    ]
    few, many = (calls_of(lambda path=path: luce.read(path)) for path in paths)  # type: ignore[misc]
    assert many - few < 10_000
    assert calls_of(lambda: [len(row) for row in rows[50_000:]]) > 100_000


def test_distinct_rows_are_kept_as_numbers(write: Any) -> None:
    pairs = list(permutations([f"player {k:03d}" for k in range(400)], 2))
    path = write("d.csv", write_table(pairs))
    counts = read_within(50, path)  # 313 bytes a row
    assert counts.n_outcomes == len(pairs) == 159_600


def fields_of(text: str, delimiter: str = ",", width: int = 2) -> list[list[bytes]] | None:
    columns = split_block(text, delimiter, width, range(width))
    if columns is None:
        return None
    content = columns[0].block.tobytes()
    return [
        [content[a : a + n] for a, n in zip(c.starts.tolist(), c.lengths.tolist(), strict=True)]
        for c in columns
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\nc,d\n", [[b"a", b"c"], [b"b", b"d"]]),
        ("\n\na,b\n\nc,d\n\n\n", [[b"a", b"c"], [b"b", b"d"]]),
        (",\n", [[b""], [b""]]),
        ('"a",b\nc,"d"\n', [[b"a", b"c"], [b"b", b"d"]]),
        ('"a,b","c\n\nd"\n', [[b"a,b"], [b"c\n\nd"]]),
        ('"",""\n', [[b""], [b""]]),
        ("", [[], []]),
        ("\n", [[], []]),
    ],
)
def test_simple_lines(text: str, expected: list[list[bytes]]) -> None:
    assert fields_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a\n",
        "a,b,c\n",
        "a,b,c\nd\n",
        "a\nb,c,d\n",
        " \na,b\n",
        'a,"b\n',
        'a,"b""c"\n',
        'a,b"c"\n',
        'a,"b"c\n',
        '",\n',
        '"a,b\nc,d"\n',
        '"a","b\n"c","d"\n',
        f"a,{'b' * 131_072}\n",
    ],
)
def test_other_lines_are_left_to_the_csv_module(text: str) -> None:
    assert fields_of(text) is None


def test_codes_of_texts_in_the_order_of_their_first_occurrence() -> None:
    """Tables grow, words of texts collide, and texts come in two forms."""
    rng = np.random.default_rng(SEED)
    texts = [f"{'x' * (k % 5) * 4}{k}" for k in rng.integers(0, 30_000, 90_000).tolist()]
    expected = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    codes = TextCodes()
    found: list[int] = []
    for start in range(0, len(texts), 15_000):
        part = texts[start : start + 15_000]
        content = "".join(part).encode() + bytes(8)
        lengths = np.asarray([len(text) for text in part])
        fields = Fields(np.frombuffer(content, np.uint8), np.cumsum(lengths) - lengths, lengths)
        words = fields.words()
        assert words is not None
        found += codes.of_words(words).tolist() if start % 2 == 0 else codes.of_texts(part).tolist()
    assert codes.code == expected
    assert found == [expected[text] for text in texts]


@pytest.mark.parametrize(
    "sizes", [(3, 4), (50_000, 70_000), (1 << 30, 1 << 31, 1 << 20), (2,) * 70]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_distinct_rows_against_a_counter(sizes: tuple[int, ...], weighted: bool) -> None:
    rng = np.random.default_rng(SEED)
    values = [rng.integers(0, size, 40) for size in sizes]
    pick = rng.integers(0, 40, 3_000)
    columns = [column[pick] for column in values]
    repeats = rng.integers(1, 5, 3_000).astype(float) if weighted else None
    counter: Counter[tuple[int, ...]] = Counter()
    for row, times in zip(
        zip(*(c.tolist() for c in columns), strict=True),
        repeats.tolist() if repeats is not None else [1.0] * 3_000,
        strict=True,
    ):
        counter[row] += times
    first, total = count_distinct(columns, sizes, repeats)
    assert list(zip(*(c[first].tolist() for c in columns), strict=True)) == list(counter)
    assert total.tolist() == list(counter.values())
