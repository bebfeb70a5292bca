"""Missing values in files of text: NA or NaN is no competitor, unless the user says so."""

from typing import Any

import pytest
from lib.data_files import problems, refusal, skipping

import luce
from luce.cli import main
from luce.reading.values import MISSING

# A file of each kind in which NA stands where a label is needed; the line and words that refuse it.
REFUSED: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "pairs": ("winner,loser\nann,bo\nNA,cy\nbo,cy\n", {}, 3, "the first of the two is missing"),
    "pairs, quoted": ('"winner","loser"\n"ann","bo"\n"bo","NA"\n', {}, 3, "second of the two"),
    "pairs, spaces": ("winner loser n\nann bo 2\nbo NA 1\n", {}, 3, "second of the two is missing"),
    "outcomes": ("item1,item2,outcome\na,b,a\na,b,NA\n", {}, 3, "the outcome is missing"),
    "long rankings": ("race,driver,place\n1,a,1\n1,NA,2\n", {}, 2, "an item is missing"),
    "no ranking": ("race,driver,place\n1,a,1\n1,b,2\nNA,c,1\n", {}, 4, "race is missing"),
    "orders": ("order\na > b > c\na > NA > b\n", {}, 3, "a place is empty"),
    "places": ("1st,2nd,3rd\na,b,c\nb,NA,c\n", {"unranked": "absent"}, 3, "a place is empty"),
    "chosen": ("chosen,offered\na,a|b\nNA,a|b\n", {}, 3, "the chosen one is missing"),
    "offered": ("chosen,offered\na,a|b\na,a|NA\n", {}, 3, "empty or missing"),
    "long choices": ("case,alt,chosen\n1,a,1\n1,b,0\n2,NA,1\n2,b,0\n", {}, 4, "is missing"),
    "wide choices": ("choice,avail_a,avail_b\na,1,1\nNA,1,1\n", {}, 3, "chosen one is missing"),
    "moves": ("from,to\na,b\nb,NA\n", {}, 3, "the state to is missing"),
    "moments": ("animal,state\n1,a\n1,b\n2,a\n2,NA\n", {}, 4, "a state or its time is missing"),
    "teams": ("winners,losers\na+b,c\na+NA,c\n", {}, 3, "empty or missing"),
    "groups": ("group,count\na|b,2\na|NA,1\n", {}, 3, "empty or missing"),
}  # fmt: skip


def factors(counts: luce.ConditionalCounts) -> dict[frozenset[Any], float]:
    return {frozenset(term.members): term.exponent for term in counts.terms()}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("text", ["NA", "NaN"])
def test_a_missing_label_is_refused(write: Any, case: str, text: str) -> None:
    content, options, line, words = REFUSED[case]
    ((place, what),) = problems(write("d.csv", content.replace("NA", text)), **options)
    assert (place, words in what) == (line, True), what


# NA is no winner and was not on offer there, whether it is a label or not.
NOWHERE = ("outcomes", "wide choices", "chosen")


@pytest.mark.parametrize("case", [case for case in REFUSED if case not in NOWHERE])
def test_a_label_of_that_name_can_be_kept(write: Any, case: str) -> None:
    content, options, *_ = REFUSED[case]
    options = {"unranked": "absent"} if "order" in case or "rank" in case else options
    counts = luce.read(write("d.csv", content), missing=[], **options)
    other = luce.read(write("e.csv", content.replace("NA", "zz")), **options)
    assert factors(counts) == factors(other.relabel(lambda x: "NA" if x == "zz" else x))
    assert "NA" in counts.categories or case == "no ranking"


@pytest.mark.parametrize("case", NOWHERE)
def test_a_label_of_that_name_is_refused_as_a_label(write: Any, case: str) -> None:
    content, options, line, _ = REFUSED[case]
    ((place, what),) = problems(write("d.csv", content), missing=[], **options)
    assert (place, "missing" in what) == (line, False)
    assert "'NA'" in what


@pytest.mark.parametrize("text", sorted(MISSING))
def test_every_usual_text_is_missing_and_every_other_is_a_label(write: Any, text: str) -> None:
    path = write("d.csv", f"winner,loser\na,b\nb, {text} \n")
    ((line, what),) = problems(path)
    assert (line, what) == (3, "the second of the two is missing.")
    assert luce.read(path, missing=["-"]) == luce.from_pairs([("a", "b"), ("b", text)])
    for label in ("na", "none", "Nan", "NAN", "nil", "-", "?", ".", "n.a."):
        counts = luce.read(write("d.csv", f"winner,loser\na,b\nb,{label}\n"))
        assert counts == luce.from_pairs([("a", "b"), ("b", label)])


def test_texts_for_missing_values_can_be_named(write: Any) -> None:
    path = write("d.csv", "winner,loser\na,b\nb,-\na,NA\n")
    assert [line for line, _ in problems(path, missing=["-"])] == [3]
    counts, left_out = skipping(path, missing=["-"])
    assert (counts, left_out) == (luce.from_pairs([("a", "b"), ("a", "NA")]), [3])
    assert "missing = 'NA'; a list of texts" in refusal(path, missing="NA")
    assert "missing holds 3" in refusal(path, missing=["NA", 3])


def test_the_error_tells_how_to_keep_a_label(write: Any, capsys: Any) -> None:
    path = write("d.csv", "winner,loser\na,b\nb,NA\n")
    advice = "If that is a label, name the texts that mean it, or none: missing=[] (--missing '')."
    assert refusal(path).endswith(f"In this file NA means that a value is missing. {advice}")
    assert "means" not in refusal(write("e.csv", "winner,loser\na,b\nb,b\n"))
    with pytest.warns(luce.errors.SkippedRowsWarning, match="In this file NA means"):
        luce.read(path, skip_bad=True)
    assert main(["inspect", str(path)]) == 1
    assert advice in capsys.readouterr().err
    assert main(["inspect", str(path), "--skip-bad"]) == 0
    assert advice in capsys.readouterr().err
    assert main(["inspect", str(path), "--missing", ""]) == 0
    assert "2 comparisons among 3 categories" in capsys.readouterr().out


def test_a_missing_value_where_one_is_allowed(write: Any) -> None:
    """The meaning of an empty value: nobody at home, a shorter ranking, any answer."""
    home = "winner,loser,at\na,b,a\nb,a,NA\n"
    assert luce.read(write("h.csv", home), home="at") == luce.read(
        write("h.csv", home.replace("NA", "")), home="at"
    )
    short = write("p.csv", "1st,2nd,3rd\na,b,c\nb,a,NA\n")
    assert luce.read(short, unranked="absent") == luce.from_rankings(
        [["a", "b", "c"], ["b", "a"]], unranked="absent"
    )
    padded = write("o.csv", "order\na > b > c\nb > a > NA\n")
    assert luce.read(padded, unranked="absent") == luce.read(short, unranked="absent")
    assert luce.read(short, unranked="absent", missing=[]) == luce.from_rankings(
        [["a", "b", "c"], ["b", "a", "NA"]], unranked="absent"
    )
    survey = write("s.csv", "sex,vote,n\nf,yes,2\nm,NA,3\n")
    options: dict[str, Any] = {"kind": "groups", "cells": ["sex", "vote"], "count": "n"}
    assert luce.read(survey, **options).n_categories == 2
    assert ("m", "NA") in luce.read(survey, **options, missing=[]).categories


def test_formats_that_mark_missing_values_themselves(write: Any) -> None:
    path = write("d.jsonl", '{"winner": "NA", "loser": "bo"}\n{"winner": "bo", "loser": "cy"}\n')
    assert "NA" in luce.read(path).categories
    assert "is for tables of text" in refusal(path, missing=["NA"])
    nothing = write("e.jsonl", '{"winner": "ann", "loser": null}\n')
    assert problems(nothing) == [(1, "the second of the two is missing.")]


def test_texts_in_frames_are_labels() -> None:
    """A frame has missing values of its own; whoever made it decided which they are."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"winner": ["a", "NA"], "loser": ["NA", "b"]})
    assert luce.from_pairs(frame).categories == ("NA", "a", "b")
    frame = pandas.DataFrame({"winner": ["a", float("nan")], "loser": ["c", "b"]})
    with pytest.raises(luce.errors.BadRowsError, match="row 2: the first of the two is missing"):
        luce.from_pairs(frame)
