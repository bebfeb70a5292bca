"""Ties in rankings: unknown orders, shared places, and a last place that is read apart."""

from pathlib import Path

import numpy as np
import pytest
from lib.bounds import SEED
from lib.data_files import preflib

import luce
from luce import ConditionalCounts, from_rankings
from luce.cli import main
from luce.counts.tied_blocks import TiedBlocks
from luce.counts.tied_choices import TiedChoices
from luce.errors import BadRowsError, DataError, DroppedTiesWarning, HalfWinsWarning

# Of three alternatives: a tie above the last place, one in it, both, and everybody tied.
TOC = preflib("toc", "4: {1,2},3\n3: 2,{1,3}\n2: {1,2,3}\n1: 3,2,1\n")
TOI = preflib("toi", "4: {1,2},3\n3: {2,3}\n2: 1\n1: 3,{1,2}\n")
NAMES = ("Ann", "Bo, B", "Cy")


def likelihood(counts: ConditionalCounts, seed: int = 0) -> np.ndarray:
    """The log likelihood at a few points, whatever the parameters."""
    rng = np.random.default_rng(SEED + seed)
    values = {name: rng.gamma(1.0, size=5) for name in counts.parameters}
    return counts.log_likelihood(rng.dirichlet(np.ones(counts.n_categories), 5), **values)


def test_single_places_stay_sets_beside_tied_blocks() -> None:
    counts = from_rankings(["d > a = b > c > e"], ties="unknown")
    events = counts.events
    assert isinstance(events, TiedBlocks)
    assert events.in_words(counts.categories) == ["a, b together before c, e: 1 time"]
    sets = ConditionalCounts("abcde").observe({"d": 1}).observe({"c": 1}, within="ce")
    np.testing.assert_array_equal(counts.category_counts[:4], sets.category_counts[:4])
    assert len(counts) == 1


def test_rankings_without_ties_are_read_as_ever() -> None:
    orders = ["a > b > c", "c > a > b"]
    assert from_rankings(orders, ties="unknown") == from_rankings(orders)
    assert from_rankings(orders, ties="unknown").events is None
    choices = from_rankings(orders, ties="davidson-luce")
    assert isinstance(choices.events, TiedChoices)
    np.testing.assert_allclose(likelihood(choices), likelihood(from_rankings(orders)), rtol=1e-12)


def test_a_tie_in_last_place_of_unknown_order_tells_only_that_it_is_last() -> None:
    orders = ["a > b = c = d", "b > a > c = d"]
    last = from_rankings(orders, ties="last")
    unknown = from_rankings(orders, ties="unknown")
    np.testing.assert_allclose(likelihood(unknown), likelihood(last), rtol=1e-12)
    assert from_rankings(orders, ties="unknown", bottom="last") == unknown
    assert from_rankings(["a = b"], ties="unknown").events is None


@pytest.mark.parametrize(
    "spelling", ["unknown", "unknown order", "Unknown Order", "unknown-order", "unknown_order"]
)
def test_unknown_orders_have_several_spellings(spelling: str) -> None:
    orders = ["a = b > c"]
    assert from_rankings(orders, ties=spelling) == from_rankings(orders, ties="unknown")
    shared = from_rankings(orders, ties="davidson-luce")
    assert from_rankings(orders, ties="davidson_luce") == shared


@pytest.mark.parametrize("ties", ["unknown", "davidson-luce"])
def test_who_is_below_is_among_the_rest(ties: str) -> None:
    below = from_rankings(["a = b > c"], ties=ties, unranked="below", categories="abcde")
    listed = from_rankings(["a = b > c > d = e"], ties=ties, bottom="last")
    assert below == listed
    absent = from_rankings(["a = b > c"], ties=ties, unranked="absent", categories="abcde")
    assert isinstance(absent.events, TiedBlocks | TiedChoices)
    assert absent.events.members.tolist() == [0, 1, 2]
    # 0 is no rank: who has it was there, or was not.
    table = {"a": [1, 1], "b": [1, 2], "c": [2, 3], "d": [0, 4]}
    under = from_rankings(table, ties=ties, unranked="below", layout="items-in-columns")
    written = from_rankings(["a = b > c > d", "a > b > c > d"], ties=ties)
    np.testing.assert_allclose(likelihood(under), likelihood(written), rtol=1e-12)


def test_the_bottom_is_read_apart_from_ties_above_it() -> None:
    orders = ["a = b > c > d = e", "a > b = c > d > e"]
    with pytest.warns(HalfWinsWarning, match="2 rankings with ties"):
        found = from_rankings(orders, ties="half", bottom="last")
    by_hand = ConditionalCounts("abcde")
    for first, second in ("ab", "ba"):
        by_hand = by_hand.observe({first: 0.5}).observe({second: 0.5}, without=first)
    by_hand = by_hand.observe({"c": 1}, within="cde")
    for order in ("abcde", "acbde"):
        by_hand = by_hand.observe_ranking(order, 0.5)
    np.testing.assert_allclose(likelihood(found), likelihood(by_hand), rtol=1e-12)
    choices = from_rankings(orders, ties="davidson-luce", bottom="last")
    assert "in last place" not in choices.summary(20)
    with pytest.warns(DroppedTiesWarning, match="1 ranking with a tie is left out"):
        kept = from_rankings(["a > b = c", "a = b > c"], ties="drop", bottom="last")
    assert kept == from_rankings(["a > b = c"], ties="last")


def test_a_tie_above_somebody_is_not_the_bottom() -> None:
    options = {"unranked": "below", "categories": "abcd", "ties": "davidson-luce"}
    assert from_rankings(["a > b = c"], bottom="last", **options) == from_rankings(
        ["a > b = c"], **options
    )
    with pytest.raises(BadRowsError, match="say what they mean by ties, and bottom='last'"):
        from_rankings(["a = b > c"], ties="last")


def test_questions_and_refusals_name_what_is_offered() -> None:
    with pytest.raises(DataError) as error:
        from_rankings(["a = b > c"])
    offers = str(error.value).splitlines()[1:]
    named = ["unknown", "davidson-luce", "half", "last", "drop"]
    assert [line.split("'")[1] for line in offers] == named
    with pytest.raises(DataError, match="bottom = 'half'; 'last' is needed"):
        from_rankings(["a = b > c"], ties="half", bottom="half")
    with pytest.raises(DataError, match="for rankings it is ties='davidson-luce'"):
        from_rankings(["a = b > c"], ties="davidson")
    with pytest.raises(BadRowsError, match=r"counts 2\.5 times; ties='unknown' needs whole"):
        from_rankings({"a = b > c": 2.5}, ties="unknown")
    from_rankings({"a = b > c": 2.5}, ties="davidson-luce")
    with pytest.raises(BadRowsError, match="ties='unknown' and ties='davidson-luce' read ties of"):
        from_rankings(["a = b = c = d = e = f > g"], ties="half")


@pytest.mark.parametrize("ties", ["unknown", "davidson-luce"])
def test_every_line_of_preflib_files_is_read(tmp_path: Path, ties: str) -> None:
    path = tmp_path / "votes.toc"
    path.write_text(TOC)
    a, b, c = NAMES
    every = {
        (frozenset([a, b]), c): 4,
        (b, frozenset([a, c])): 3,
        (frozenset(NAMES),): 2,
        (c, b, a): 1,
    }
    for bottom in (None, "last"):
        read = luce.read(path, ties=ties, bottom=bottom)
        assert read == from_rankings(every, ties=ties, bottom=bottom, categories=NAMES)
    path = tmp_path / "votes.toi"
    path.write_text(TOI)
    some = {(frozenset([a, b]), c): 4, (frozenset([b, c]),): 3, (a,): 2, (c, frozenset([a, b])): 1}
    for unranked in ("absent", "below"):
        options = {"ties": ties, "bottom": "last", "unranked": unranked}
        assert luce.read(path, **options) == from_rankings(some, categories=NAMES, **options)
    for alone in ("half", "last"):
        with pytest.raises(BadRowsError) if alone == "last" else pytest.warns(HalfWinsWarning):
            luce.read(path, ties=alone, unranked="below")


def test_the_command_line_takes_both_meanings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "votes.toc"
    path.write_text(TOC)
    assert main(["inspect", str(path), "--ties", "unknown"]) == 0
    assert "tied blocks of unknown order" in capsys.readouterr().out
    assert main(["inspect", str(path), "--ties", "davidson-luce", "--bottom", "last"]) == 0
    assert "Davidson-Luce ties of up to 2" in capsys.readouterr().out
