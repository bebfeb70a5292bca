"""Tables of text fit their width: names stay apart, and columns left out are named."""

import random

import numpy as np
import pytest
from lib.bounds import SEED

from luce.answers.summaries import Summary
from luce.page.plain_tables import cells_of, fitted_lines, line_width, wrapped
from luce.page.short_texts import abridged, told_apart
from luce.page.words import count


def names_like(rng: random.Random, n: int) -> list[str]:
    """Names with long parts in common, at the beginning, in the middle and at the end."""
    parts = ["a" * 40, "b" * 9, "cd", "e f" * 8, "", "x"]
    return [f"{rng.choice(parts)}{rng.randrange(n)}{rng.choice(parts)}" for _ in range(n)]


def are_apart(whole: list[str], short: list[str], most: int) -> bool:
    """Tell whether texts that differ still do, and are short enough."""
    pairs = set(zip(whole, short, strict=True))
    return len({s for _, s in pairs}) == len(pairs) and max(map(len, short)) <= most


def test_shortened_texts_stay_apart() -> None:
    rng = random.Random(SEED)
    failures = 0
    for _ in range(200):
        most = rng.randrange(8, 30)
        whole = list(dict.fromkeys(names_like(rng, rng.randrange(1, 30))))
        assert are_apart(whole, told_apart(whole, most), most)
        failures += not are_apart(whole, [abridged(text, most) for text in whole], most)
    assert failures > 20  # the control: names without their middle alone are often alike


def test_what_distinguishes_long_names_is_shown() -> None:
    common = "International Conference on Choice Models, "
    names = [f"{common}Oslo, first day of the week", f"{common}Bergen, first day of the week"]
    first, second = told_apart(names, 20)
    assert "Oslo" in first
    assert "Bergen" in second
    assert told_apart(["q", "q", "q #1"], 12) == ["q #2", "q #3", "q #1"]
    assert told_apart(["a", "b"], 12) == ["a", "b"]


def test_lines_fit_a_width() -> None:
    rng = random.Random(SEED)
    for _ in range(100):
        width = rng.randrange(30, 120)
        heads = ["name", *(f"c{j}" for j in range(8))]
        rows = [heads] + [
            [name, *(str(rng.random())[: rng.randrange(3, 9)] for _ in heads[1:])]
            for name in dict.fromkeys(names_like(rng, 12))
        ]
        lines = fitted_lines(rows, width, names=[0], left=[0], dispensable=[["c2", "c3"], ["c1"]])
        assert max(map(cells_of, lines)) <= width
        shown = lines[0].split()
        assert shown[0] == "name"
        said = " ".join(lines[len(rows) :])
        for head in heads:  # what is not shown is named
            assert (head in shown) != (head in said.replace(",", " ").replace(".", " ").split())
        assert ("c2" in shown) == ("c3" in shown)
        names = fitted_lines([[row[0]] for row in rows], min(width, 100), names=[0], left=[0])
        assert len(set(names)) == len(rows)


def test_any_width_shortens_names_of_more_than_100_letters_alone() -> None:
    rows = [["name", "n"], ["x" * 7000, "1"], ["y" * 100, "2"]]
    lines = fitted_lines(rows, None, names=[0], left=[0])
    assert [len(line) for line in lines] == [103] * 3
    assert lines[2].startswith("y" * 100)


def test_wide_letters_take_two_cells() -> None:
    assert [cells_of(text) for text in ("abc", "東京", "é", "e\u0301", "👍")] == [3, 4, 1, 1, 2]
    lines = fitted_lines([["name", "n"], ["東京", "1"], ["abcd", "2"]], None, [0], [0])
    assert lines == ["name  n", "東京  1", "abcd  2"]


def test_the_width_is_that_of_columns_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert line_width() is None  # no terminal
    monkeypatch.setenv("COLUMNS", "50")
    assert line_width() == 50
    table = Summary(["a" * 70, "b"], {name: np.ones(2) for name in ("mean", "sd")})
    assert max(map(len, str(table).splitlines())) <= 50
    assert max(map(len, table.to_text(width=300).splitlines())) > 50
    monkeypatch.setenv("COLUMNS", "wide")
    assert line_width() is None
    assert wrapped("one two three four five six", 20) == ["one two three four", "five six"]
    assert wrapped("one two", None) == ["one two"]


def test_labels_that_print_alike_are_told_apart() -> None:
    lines = str(Summary([1, "1", "b"], {"mean": np.ones(3)})).splitlines()
    assert [line.split()[0] for line in lines] == ["category", "1", "'1'", "b"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (1, "1"), (2500, "2,500"), (0.5, "0.5"), (9_999_999_999, "9,999,999,999"),
     (10**10, "1 × 10^10"), (1.2345e15, "1.234 × 10^15"), (9.9999e15, "1 × 10^16"),
     (-3e12, "-3 × 10^12"), (float("inf"), "inf"), (float("nan"), "nan")],
)  # fmt: skip
def test_huge_counts_are_powers_of_ten(number: float, words: str) -> None:
    assert count(number) == words
