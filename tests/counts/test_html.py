"""Counts in a notebook."""

import numpy as np
import pytest
from lib.fragments import cells, drawn, faults

import luce
from luce import ConditionalCounts


def test_outcomes_and_sets_are_told() -> None:
    counts = ConditionalCounts("abcde").observe({"a": 4, "b": 2}, within="abc")
    counts = counts.observe({"e": 1}, without="a").observe_group("cd", 3)
    html = counts._repr_html_()
    assert faults(html) == []
    assert repr(counts) in html
    told = [["a", "4"], ["b", "2"], ["c", "0"], ["d", "0"], ["e", "1"]]
    assert [row[:2] for row in cells(html)[1:]] == told
    bars = [float(bar.attrib["width"]) for bar in drawn(html, "rect") if bar.attrib["y"] == "2"]
    np.testing.assert_allclose(np.array(bars[1::2]) / bars[0], [1, 0.5, 0, 0, 0.25])
    assert [row[0] for row in cells(html, 1)[1:]] == [
        "6 outcomes given all but {d, e}",
        "3 grouped outcomes in {c, d}",
        "1 outcome given all but {a}",
    ]
    boxes = ["style" in box.attrib for box in drawn(html, "rect") if box.attrib["y"] == "3"]
    inside = ["".join("abcde"[i] for i in range(5) if boxes[5 * t + i]) for t in range(3)]
    assert inside == ["abc", "cd", "bcde"]


def test_labels_are_escaped() -> None:
    odd = ["<script>alert(1)</script>", 'a"b & c', ("x", 1), "\x1b[31m\u202e"]
    html = ConditionalCounts(odd).observe({odd[0]: 2}, within=odd[:2])._repr_html_()
    assert faults(html) == []
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_much_is_capped_and_counted() -> None:
    counts = ConditionalCounts(1000).observe({i: i for i in range(1, 1000)})
    for i in range(30):
        counts = counts.observe({i: 1}, within=[i, i + 1])
    html = counts._repr_html_()
    assert faults(html) == []
    assert html.count("<tr>") == 2 * 21
    assert "... and 980 more categories" in html
    assert "... and 10 more sets" in html
    widths = [float(bar.attrib["width"]) for bar in drawn(html, "rect")]
    assert max(widths[1::2]) < 0.03 * widths[0]  # the most is not among those shown


def test_nothing_is_shown_of_no_data() -> None:
    html = ConditionalCounts("ab")._repr_html_()
    assert "<table>" not in html
    assert "2 categories, 0 outcomes" in html


def test_meetings_and_effects_are_told() -> None:
    games = {"home": ["a", "b", "<c>"], "away": ["b", "<c>", "a"], "result": ["H", "D", "A"]}
    html = luce.from_pairs(games, ties="davidson", home="first")._repr_html_()
    assert faults(html) == []
    assert "a at home against b: 1 win" in html
    assert "b at home against &lt;c&gt;" in html
    games = {"home": ["a", "b"], "away": ["b", "c"], "result": ["H", "D"]}
    with pytest.warns(luce.errors.ConfoundedHomeWarning):
        untold = luce.from_pairs(games, ties="davidson", home="first")
    (home,) = [line for line in untold.summary().split("\n") if line.startswith("  home: ")]
    assert home.strip().replace("'", "&#x27;") in untold._repr_html_()
    entity = luce.from_pairs(games, ties="entity", home="first", home_effect="entity")
    assert "No competitors, but effects: tie" in entity._repr_html_()
