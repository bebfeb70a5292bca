"""Frames of every library, and plain data of every kind, give the counts entered by hand."""

import random
from collections.abc import Callable
from itertools import permutations
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lib.reading_cases import (
    ABC,
    CASES,
    CHOICES,
    ENGINES,
    FRAMES,
    GROUPS,
    MULLER,
    NAN,
    ORSTED,
    PAIRS,
    RANKINGS,
    SPARK,
    TEAMS,
    TOKYO,
    ZOE,
    Case,
    Columns,
    given_as,
    rearranged,
    same,
)

import luce
from luce import (
    ConditionalCounts,
    Posterior,
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)
from luce.errors import BadRowsError, DataError, HalfWinsWarning

EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.mark.parametrize("engine", [*ENGINES, SPARK])
@EVERY_CASE
def test_counts_are_those_entered_by_hand(case: Case, engine: str) -> None:
    same(case.counts(given_as(engine, case.columns)), case.by_hand)


@pytest.mark.parametrize("engine", ["mapping", "polars"])
@pytest.mark.parametrize("case", [case for case in CASES if case.any_order], ids=str)
def test_the_order_of_rows_does_not_matter(case: Case, engine: str) -> None:
    n = len(next(iter(case.columns.values())))
    for order in [list(range(n))[::-1], random.Random(1).sample(range(n), n)]:
        same(case.counts(given_as(engine, rearranged(case.columns, order))), case.by_hand)


@pytest.mark.parametrize("engine", ["mapping", "pandas", "duckdb"])
@pytest.mark.parametrize("case", [case for case in CASES if case.repeatable], ids=str)
def test_rows_may_be_repeated(case: Case, engine: str) -> None:
    n = len(next(iter(case.columns.values())))
    columns = rearranged(case.columns, [*range(n)] * 3)
    same(case.counts(given_as(engine, columns)), case.by_hand + case.by_hand + case.by_hand)


def test_a_count_is_as_many_rows() -> None:
    count = [3, 1, 2]
    rows = [i for i, k in enumerate(count) for _ in range(k)]
    for read, columns in [
        (from_pairs, {"winner": ["a", "c", "b"], "loser": ["b", "b", "a"]}),
        (from_choices, {"chosen": ["a", "c", "b"], "offered": ["a|b", "c|b|a", "b|c"]}),
        (from_transitions, {"from": ["a", "c", "b"], "to": ["b", "b", "a"]}),
        (from_teams, {"winners": ["a+d", "c", "b"], "losers": ["b", "b+d", "a"]}),
        (from_groups, {"group": ["a+b", "c", "b+c"]}),
    ]:
        for engine in FRAMES:
            counted = read(given_as(engine, {**columns, "count": count}))
            same(read(given_as(engine, rearranged(columns, rows))), counted)
    orders = {"order": ["a > b > c", "c > a > b", "b > a > c"]}
    counted = from_rankings(given_as("polars", {**orders, "count": count}))
    same(from_rankings(given_as("polars", rearranged(orders, rows))), counted)
    same(from_rankings([list("abc"), list("cab"), list("bac")], counts=count), counted)


def test_lists_of_tuples() -> None:
    duels = [(ORSTED, ZOE), (ZOE, MULLER), (ORSTED, ZOE), (TOKYO, MULLER), (ORSTED, MULLER)]
    same(from_pairs(duels), PAIRS[0].by_hand)
    same(from_pairs(duel for duel in duels), PAIRS[0].by_hand)
    same(from_pairs([(7, 10, 5), (25, 7, 1), (10, -3, 4)]), PAIRS[1].by_hand)
    wins = np.array([[0, 4, 3], [1, 0, 0], [0, 2, 0]])
    by_hand = ConditionalCounts(3).observe({0: 4, 1: 1}, within=[0, 1])
    by_hand = by_hand.observe({0: 3}, within=[0, 2]).observe({2: 2}, within=[1, 2])
    same(from_pairs(wins), by_hand)
    same(from_rankings([[7, 10, -3], [25, 7]], counts=[5, 1], unranked="absent"),
         RANKINGS[1].by_hand)  # fmt: skip
    same(from_rankings({(7, 10, -3): 5, (25, 7): 1}, unranked="absent"), RANKINGS[1].by_hand)
    same(from_rankings([("c", {"a", "b"}), ("a", "c", "b")], ties="last"), RANKINGS[8].by_hand)
    picks = [(ZOE, [ZOE, ORSTED], 5), (MULLER, {TOKYO, MULLER, ORSTED})]
    same(from_choices(picks), CHOICES[2].by_hand)
    matches = [([ZOE, TOKYO], [ORSTED, MULLER], 2), ([ORSTED], [ZOE])]
    same(from_teams(matches), TEAMS[0].by_hand)
    same(from_groups({(7, 25): 3, (10,): 3, (7, 10, 25): 4}), GROUPS[0].by_hand)
    same(from_groups([[7, 25], [10], [25, 7], [7, 25], 10, 10, *[[7, 10, 25]] * 4]),
         GROUPS[0].by_hand)  # fmt: skip
    table = np.array([[3, 2, 0], [NAN, 4, 5]])
    by_hand = ConditionalCounts(3).observe({0: 3, 1: 2}).observe({1: 4, 2: 5}, without=[0])
    same(from_table(table), by_hand)
    same(from_table(table.tolist()), by_hand)


def draws(counts: ConditionalCounts) -> np.ndarray:
    posterior = Posterior(counts, 1.0)
    with pytest.warns(luce.ConvergenceWarning):
        tree = posterior.sample(20, chains=1, seed=7, progress=False)
    return np.asarray(tree.posterior["probabilities"])


def many_duels() -> Columns:
    rng = random.Random(5)
    pairs = [rng.sample(range(30), 2) for _ in range(400)]
    return {"winner": [f"p{a}" for a, _ in pairs], "loser": [f"p{b}" for _, b in pairs]}


def many_halves() -> Columns:
    rng = random.Random(6)
    pairs = [rng.sample("abcdefgh", 2) for _ in range(200)]
    wins = [[rng.choice([0.25, 0.5, 0.75, 1.5]) for _ in pairs] for _ in range(2)]
    return {"item1": [a for a, _ in pairs], "item2": [b for _, b in pairs],
            "wins1": wins[0], "wins2": wins[1]}  # fmt: skip


def many_orders() -> Columns:
    rng = random.Random(7)
    return {"order": [" > ".join(rng.sample("abcdefgh", 4)) for _ in range(150)]}


def many_picks() -> Columns:
    rng = random.Random(8)
    sets = [rng.sample("abcdefgh", 3) for _ in range(150)]
    return {"chosen": [s[0] for s in sets], "offered": ["|".join(s) for s in sets]}


def many_matches() -> Columns:
    rng = random.Random(9)
    sides = [rng.sample("abcdefgh", 4) for _ in range(60)]
    return {"winners": ["+".join(s[:2]) for s in sides], "losers": ["+".join(s[2:]) for s in sides]}


@pytest.mark.parametrize(
    ("read", "columns", "options"),
    [
        (from_pairs, many_duels(), {}),
        (from_pairs, many_halves(), {}),
        (from_rankings, many_orders(), {"unranked": "absent"}),
        (from_rankings, many_orders(), {"unranked": "below"}),
        (from_choices, many_picks(), {}),
        (from_teams, many_matches(), {}),
    ],
    ids=["pairs", "fractions", "rankings", "top of rankings", "choices", "teams"],
)
def test_a_seed_gives_the_same_draws_from_every_engine(
    read: Callable[..., ConditionalCounts], columns: Columns, options: dict[str, Any]
) -> None:
    first = read(columns, **options)
    expected = draws(first)
    # Engines with several threads return their groups in another order each time.
    for engine in ["pandas", "pyarrow", "polars lazy", *["polars", "duckdb"] * 3]:
        counts = read(given_as(engine, columns), **options)
        assert counts.digest == first.digest
        np.testing.assert_array_equal(draws(counts), expected)


def test_symmetric_data_has_a_symmetric_mode() -> None:
    cycle = from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
    orders = from_rankings(list(permutations("abc")))
    two = list(permutations("abcd", 2))
    picks = from_choices([(x, [z for z in "abcd" if z != y]) for x, y in two])
    moves = from_transitions({"from": [x for x, _ in two], "to": [y for _, y in two]})
    for counts in (cycle, orders, picks, moves):
        n = counts.n_categories
        np.testing.assert_allclose(Posterior(counts, 1.0).mode(), np.full(n, 1 / n), atol=1e-12)
    both = {"item1": ["a", "b"], "item2": ["b", "a"], "outcome": ["tie", "tie"]}
    with pytest.warns(HalfWinsWarning):
        halves = from_pairs(both, ties="half")
    np.testing.assert_allclose(Posterior(halves, 1.0).mode(), [0.5, 0.5], atol=1e-12)


def test_options_of_the_others() -> None:
    table = {"r": ["x", "y"], "b": [3, 0], "a": [2, 4], "extra": [9, 9]}
    ba = ConditionalCounts(["b", "a"])
    same(from_table(table, ignore=["extra"]), ba.observe({"b": 3, "a": 6}))
    numbered = {"year": [2001, 2002], "b": [3, 0], "a": [2, 4]}
    same(from_table(numbered, rows="year"), ba.observe({"b": 3, "a": 6}))
    three = ConditionalCounts(["a", "b", "year"])
    same(from_table(numbered, categories=["a", "b", "year"]),
         three.observe({"a": 6, "b": 3, "year": 4003}))  # fmt: skip
    picks = {"chosen": ["x+y"], "offered": ["x+y/z"]}
    same(from_choices(picks, separator="/"), ConditionalCounts(["x+y", "z"]).observe({"x+y": 1}))
    same(from_teams({"winners": ["a,1"], "losers": ["b"]}, separator=";"),
         ConditionalCounts(["a,1", "b"]).observe({"a,1": 1}))  # fmt: skip
    same(from_groups({"group": ["a+b", "c"]}, separator="|"),
         ConditionalCounts(["a+b", "c"]).observe({"a+b": 1, "c": 1}))  # fmt: skip
    renamed = {"x": ["a"], "y": ["b"], "z": [3]}
    same(from_pairs(renamed, winner="y", loser="x", count="z"),
         ConditionalCounts("ab").observe({"b": 3}))  # fmt: skip
    same(from_pairs(renamed, winner="x", loser="y", ignore=["z"], categories="zab"),
         ConditionalCounts("zab").observe({"a": 1}, within="ab"))  # fmt: skip
    wide = {"choice": ["b", "a"], "a.ok": [0, 1], "b.ok": [1, 1], "c.ok": [1, 0]}
    same(from_choices(wide, availability="ok"),
         ABC.observe({"b": 1}, without="a").observe({"a": 1}, without="c"))  # fmt: skip
    with pytest.raises(DataError, match="'c' occurs in the data but not in categories"):
        from_pairs([("a", "c")], categories="ab")


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_numbers_of_rows_are_no_item(name: str) -> None:
    by_hand = ABC.observe_ranking("bac").observe_ranking("cba")
    same(from_rankings({name: [1, 2], "a": [2, 3], "b": [1, 2], "c": [3, 1]}), by_hand)
    places = {name: [1, 2], "1st": ["b", "c"], "2nd": ["a", "b"], "3rd": ["c", "a"]}
    same(from_rankings(places), by_hand)
    named = {name: ["a", "b", "c"], "race 1": [2, 1, 3], "race 2": [3, 2, 1]}
    same(from_rankings(named), by_hand)
    same(from_teams({name: [1, 2], "a": [1, None], "b": [0, 1], "c": [1, 0]}),
         ABC.observe_group("ac", 1).observe({"b": 1}, within="bc"))  # fmt: skip
    same(from_table({name: [1, 2], "b": [3, 1], "a": [2, 0]}),
         ConditionalCounts("ba").observe({"b": 4, "a": 2}))  # fmt: skip


def test_an_empty_cell_of_a_square_table() -> None:
    by_hand = ABC.observe({"b": 3}, within="ab").observe({"c": 1}, within="bc")
    for engine in FRAMES:
        wins = {"name": ["a", "b", "c"], "a": [None, 3, None], "b": [0, None, 1], "c": [None, 0, 7]}
        same(from_pairs(given_as(engine, wins)), by_hand)  # they never met
        moves = {"from": ["a", "b", "c"], "a": [4, 3, 2], "b": [None, 5, 1], "c": [1, 0, None]}
        same(from_transitions(given_as(engine, moves)),
             ABC.observe({"c": 1}, within="c").observe({"a": 3}, without="b")
             .observe({"a": 2, "b": 1}, without="c"))  # it cannot occur  # fmt: skip
        same(from_transitions(given_as(engine, moves), self_loops="kept"),
             ABC.observe({"a": 4, "c": 1}, without="b").observe({"a": 3, "b": 5})
             .observe({"a": 2, "b": 1}, without="c"))  # fmt: skip
    wrong = {
        "name": ["a", "b", "c"],
        "a": ["", "3", "1"],
        "b": ["0", "", "-1"],
        "c": ["1", "x", ""],
    }
    for read in (from_pairs, from_transitions):
        with pytest.raises(BadRowsError) as error:
            read(wrong)
        assert [place for place, _ in error.value.problems] == [2, 3]


def test_columns_of_many_types() -> None:
    won = {"winner": ["a", "a", "b"], "loser": ["b", "b", "c"]}
    by_hand = ABC.observe({"a": 200}, within="ab").observe({"b": 1}, within="bc")
    frames = []
    for dtype in ("int8", "uint8", "int16", "float32"):
        frames.append(pd.DataFrame({**won, "count": np.array([100, 100, 1], dtype)}))
    unused = pd.Categorical(won["winner"], ["z", "b", "a"])
    frames.append(pd.DataFrame({**won, "winner": unused, "count": [100, 100, 1]}))
    for frame in frames:
        arrow = pa.Table.from_pandas(frame)
        for data in (frame, arrow, pl.from_arrow(arrow), duckdb.from_arrow(arrow)):
            same(from_pairs(data), by_hand)
    enum = pl.DataFrame({**won, "count": [100, 100, 1]}, schema_overrides={
        "winner": pl.Categorical, "loser": pl.Enum(["c", "b", "y"])})  # fmt: skip
    same(from_pairs(enum), by_hand)
    days = [np.datetime64(f"2024-02-0{k}", "s").item() for k in (3, 1, 2)]
    moments = {"id": [1, 1, 1], "time": days, "state": ["c", "a", "b"]}
    flags = {"case": [1, 1], "alt": ["a", "b"], "choice": [False, True]}
    for engine in ENGINES:
        same(from_transitions(given_as(engine, moments)),
             ABC.observe({"b": 1}, without="a").observe({"c": 1}, without="b"))  # fmt: skip
        same(from_choices(given_as(engine, flags)), ConditionalCounts("ab").observe({"b": 1}))


@pytest.mark.slow
def test_frames_too_long_to_unpack_every_text() -> None:
    rng = random.Random(3)
    pairs = rng.sample(list(permutations(range(150), 2)), 11_000)
    names = [f"player {k}" for k in range(150)]
    columns = {"winner": [names[a] for a, _ in pairs], "loser": [names[b] for _, b in pairs]}
    wins = np.bincount([a for a, _ in pairs], minlength=150)
    by_hand = ConditionalCounts(sorted(names))
    for a, b in pairs:
        by_hand = by_hand.observe({names[a]: 1}, within=[names[a], names[b]])
    for engine in FRAMES:
        found = from_pairs(given_as(engine, columns))
        same(found, by_hand)
        assert found.category_counts[list(found.categories).index("player 77")] == wins[77]
    columns["winner"][4321] = None
    for engine in FRAMES:
        with pytest.raises(BadRowsError, match="row 4322: the first of the two is missing"):
            from_pairs(given_as(engine, columns))


@pytest.mark.parametrize("nothing", [None, 3, "ab", b"ab", object(), [], [1, 2], {"a": 1}, {1, 2}])
@pytest.mark.parametrize(
    "read",
    [from_pairs, from_rankings, from_choices, from_teams, from_groups, from_table],
)
def test_what_is_no_data_is_refused(read: Callable[..., Any], nothing: Any) -> None:
    if nothing == {"a": 1} and read in (from_groups, from_rankings):
        return  # one ranking, or group, of one
    if nothing in ([1, 2], {1, 2}) and read is from_groups:
        return  # two groups of one each
    with pytest.raises(DataError):
        read(nothing)


WINS = [("Ann", "Bo", 2), ("Bo", "Ann", 1), ("Bo", "Cy", 1), ("Cy", "Bo", 3)]


def duels() -> Any:
    return pd.DataFrame(WINS, columns=["winner", "loser", "count"])


@pytest.mark.parametrize("by", ["winner", ["loser"], ["winner", "loser"]])
def test_an_index_with_a_name_is_a_column(by: Any) -> None:
    frame = duels().set_index(by)
    assert luce.from_pairs(frame) == luce.from_pairs(WINS)
    if len(frame.index.names) == 1:  # dask has no index of several levels
        lazy = dd.from_pandas(frame, npartitions=2, sort=False)
        assert luce.from_pairs(lazy) == luce.from_pairs(WINS)


def test_sums_of_groups_are_read_as_they_are() -> None:
    twice = pd.concat([duels(), duels()])
    assert luce.from_pairs(twice.groupby(["winner", "loser"]).sum()) == luce.from_pairs(twice)


def test_an_index_of_numbers_without_a_name_only_counts_rows() -> None:
    frame = pd.DataFrame({"ann": [1, 2], "bo": [2, 1]}, index=[7, 3])
    assert luce.from_rankings(frame).categories == ("ann", "bo")
    assert luce.from_table(frame).categories == ("ann", "bo")
    dates = frame.set_axis(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    assert luce.from_table(dates) == luce.from_table(frame)


def test_an_index_never_is_a_category() -> None:
    """An index of numbers, such as years, names the rows of a table and no item."""
    frame = pd.DataFrame({"ann": [1, 2], "bo": [2, 1]})
    for name in ("year", "respondent", "voter"):
        years = frame.set_axis(pd.Index([2001, 2002], name=name))
        assert luce.from_table(years) == luce.from_table(frame)
        assert luce.from_rankings(years) == luce.from_rankings(frame)
        flags = (years == 2).astype(int)
        assert luce.from_teams(flags) == luce.from_teams(flags.reset_index(drop=True))
    cells = luce.from_table(years, given="table").categories
    assert cells == ((2001, "ann"), (2001, "bo"), (2002, "ann"), (2002, "bo"))
    levels = frame.set_axis(pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["k", None]))
    assert luce.from_table(levels) == luce.from_table(frame)


def test_an_index_of_texts_names_the_rows() -> None:
    names = ["Ann", "Bo", "Cy"]
    square = pd.DataFrame([[0, 2, 0], [1, 0, 1], [0, 3, 0]], index=names, columns=names)
    for frame in (square, square.rename_axis("player"), square.reset_index()):
        assert luce.from_pairs(frame) == luce.from_pairs(WINS)
        assert luce.from_transitions(frame) == luce.from_transitions(square.reset_index())
        assert luce.from_table(frame).categories == ("Ann", "Bo", "Cy")
    mixed = square.set_axis(["Ann", "Bo", 3]).set_axis(["Ann", "Bo", "3"], axis=1)
    assert luce.from_pairs(mixed).n_outcomes == 7
    ranks = pd.DataFrame({"Spa": [1, 2, 3], "Monza": [2, 1, 3]}, index=names)
    with pytest.raises(DataError, match="the rows of this frame have names"):
        luce.from_rankings(ranks)
    by_item = luce.from_rankings(ranks, layout="items-in-rows")
    assert by_item == luce.from_rankings([["Ann", "Bo", "Cy"], ["Bo", "Ann", "Cy"]])
    assert luce.from_rankings(ranks.rename_axis("driver")) == by_item
    judged = ranks.iloc[:2].rename_axis("driver")
    counts = luce.from_rankings(judged, layout="items-in-columns")
    assert counts == luce.from_rankings([["Spa", "Monza"], ["Monza", "Spa"]])


def test_an_index_that_is_also_a_column() -> None:
    frame = duels()
    same = frame.set_index("winner", drop=False)
    assert luce.from_pairs(same) == luce.from_pairs(WINS)
    other = frame.set_axis(pd.Index(list("wxyz"), name="winner"))
    with pytest.raises(DataError, match="the index and a column are both called 'winner'"):
        luce.from_pairs(other)
