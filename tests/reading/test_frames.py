"""Frames: whatever holds the data, readers make the counts that one would enter by hand."""

import importlib.util
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import pytest

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
from luce.errors import BadRowsError, DataError, HalfWinsWarning, SkippedRowsWarning

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
dd = pytest.importorskip("dask.dataframe")

Columns = Mapping[str, list[Any]]
NAN = float("nan")


def records(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def structured(columns: Columns) -> Any:
    rows = list(zip(*columns.values(), strict=True))
    return np.array(rows, [(name, object) for name in columns])


def has_text(values: list[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def pandas_with(dtype: str) -> Callable[[Columns], Any]:
    def frame(columns: Columns) -> Any:
        texts = {name: dtype for name, values in columns.items() if has_text(values)}
        return pd.DataFrame(dict(columns)).astype(texts)

    return frame


def in_dask(columns: Columns) -> Any:
    lists = any(isinstance(x, list) for values in columns.values() for x in values)
    frame = pd.DataFrame(dict(columns))
    if lists:  # dask would turn lists of Python into text
        frame = pa.table(dict(columns)).to_pandas(types_mapper=pd.ArrowDtype)
    return dd.from_pandas(frame, npartitions=2)


def in_spark(columns: Columns) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").getOrCreate()
    rows = list(zip(*columns.values(), strict=True))  # of dicts it would sort the keys
    return session.createDataFrame(rows, schema=list(columns))


ENGINES: dict[str, Callable[[Columns], Any]] = {
    "mapping": dict,
    "records": records,
    "structured array": structured,
    "pandas": lambda columns: pd.DataFrame(dict(columns)),
    "pandas object": lambda columns: pd.DataFrame(dict(columns), dtype=object),
    "pandas string": pandas_with("string"),
    "pandas categorical": pandas_with("category"),
    "pandas nullable": lambda columns: pd.DataFrame(dict(columns)).convert_dtypes(),
    "polars": lambda columns: pl.DataFrame(dict(columns), strict=False),
    "polars lazy": lambda columns: pl.LazyFrame(dict(columns), strict=False),
    "pyarrow": lambda columns: pa.table(dict(columns)),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(dict(columns))),
    "dask": in_dask,
}
FRAMES = ["mapping", "pandas", "polars", "polars lazy", "pyarrow", "duckdb"]
SPARK = pytest.param(
    "pyspark",
    marks=[
        pytest.mark.slow,
        pytest.mark.skipif(not importlib.util.find_spec("pyspark"), reason="pyspark is not here"),
    ],
)


def given_as(engine: str, columns: Columns) -> Any:
    return (in_spark if engine == "pyspark" else ENGINES[engine])(columns)


@dataclass(frozen=True)
class Case:
    """A small data set: how it is read, its columns, and the counts entered by hand.

    In some the order of rows matters, and some cannot be repeated without becoming other data.
    """

    what: str
    read: Callable[..., Any]
    columns: Columns
    by_hand: ConditionalCounts
    options: dict[str, Any] = field(default_factory=dict)
    any_order: bool = True
    repeatable: bool = True

    def __str__(self) -> str:
        return f"{self.read.__name__.removeprefix('from_')}: {self.what}"

    def counts(self, data: Any) -> ConditionalCounts:
        if self.options.get("ties") != "half":
            return self.read(data, **self.options)
        with pytest.warns(HalfWinsWarning, match="not a likelihood"):
            return self.read(data, **self.options)


def same(found: ConditionalCounts, by_hand: ConditionalCounts) -> None:
    assert tuple(found.categories) == tuple(by_hand.categories)
    assert found == by_hand
    assert found.digest == by_hand.digest
    assert found.n_outcomes == by_hand.n_outcomes


ODD = ["Ørsted, A.", "Müller  K", "Zoë", "東京 ☃"]
ORSTED, MULLER, ZOE, TOKYO = ODD
ODD_COUNTS = ConditionalCounts(sorted(ODD))
NUMBERS = ConditionalCounts([-3, 7, 10, 25])
REALS = ConditionalCounts([-0.5, 1.25, 3.0])
ABC = ConditionalCounts(["a", "b", "c"])
ABCD = ConditionalCounts(["a", "b", "c", "d"])
WITH_TIE = ConditionalCounts(["a", "b", "c", "tie"])


PAIRS = [
    Case(
        "winner and loser",
        from_pairs,
        {
            "winner": [ORSTED, ZOE, ORSTED, TOKYO, ORSTED],
            "loser": [ZOE, MULLER, ZOE, MULLER, MULLER],
        },
        ODD_COUNTS.observe({ORSTED: 2}, within=[ORSTED, ZOE])
        .observe({ZOE: 1}, within=[ZOE, MULLER])
        .observe({TOKYO: 1}, within=[TOKYO, MULLER])
        .observe({ORSTED: 1}, within=[ORSTED, MULLER]),
    ),
    Case(
        "winner and loser with a count",
        from_pairs,
        {"Winner": [7, 25, 7, 10], "Loser": [10, 7, 10, -3], "n": [3, 1, 2, 4]},
        NUMBERS.observe({7: 5}, within=[7, 10])
        .observe({25: 1}, within=[7, 25])
        .observe({10: 4}, within=[10, -3]),
    ),
    Case(
        "numbers of wins",
        from_pairs,
        {"item1": ["b", "a", "b"], "item2": ["a", "c", "a"], "wins1": [4, 0, 1],
         "wins2": [2, 3, 0]},
        ABC.observe({"b": 5, "a": 2}, within=["a", "b"]).observe({"c": 3}, within=["a", "c"]),
    ),
    Case(
        "numbers of wins and ties, as an entity",
        from_pairs,
        {"i": [3.0, 1.25], "j": [-0.5, 3.0], "w_ij": [2, 5], "w_ji": [1, 0], "t_ij": [0, 2]},
        ConditionalCounts([-0.5, 1.25, 3.0, "tie"])
        .observe({3.0: 2, -0.5: 1}, within=[3.0, -0.5, "tie"])
        .observe({1.25: 5, "tie": 2}, within=[1.25, 3.0, "tie"]),
        {"ties": "entity"},
    ),
    Case(
        "outcomes in words, ties as halves",
        from_pairs,
        {
            "left": [ZOE, MULLER, ZOE, TOKYO],
            "right": [MULLER, ORSTED, MULLER, ORSTED],
            "result": ["left", "right", "Tie", "Left"],
        },
        ODD_COUNTS.observe({ZOE: 1.5, MULLER: 0.5}, within=[ZOE, MULLER])
        .observe({ORSTED: 1}, within=[MULLER, ORSTED])
        .observe({TOKYO: 1}, within=[TOKYO, ORSTED]),
        {"ties": "half"},
    ),
    Case(
        "outcomes as W1, W2 and D",
        from_pairs,
        {"player1": ["b", "a", "c"], "player2": ["a", "c", "b"], "outcome": ["W2", "D", "W1"]},
        WITH_TIE.observe({"a": 1}, within=["a", "b", "tie"])
        .observe({"tie": 1}, within=["a", "c", "tie"])
        .observe({"c": 1}, within=["b", "c", "tie"]),
        {"ties": "entity"},
    ),
    Case(
        "outcomes as 1, 0 and 0.5",
        from_pairs,
        {"item1": [3.0, 1.25, 3.0], "item2": [1.25, -0.5, -0.5], "outcome": [1.0, 0.0, 0.5],
         "count": [2, 3, 1]},
        REALS.observe({3.0: 2}, within=[3.0, 1.25])
        .observe({-0.5: 3}, within=[1.25, -0.5])
        .observe({3.0: 0.5, -0.5: 0.5}, within=[3.0, -0.5]),
        {"ties": "half"},
    ),
    Case(
        "outcomes that name the winner",
        from_pairs,
        {"left": [7, 10, 25], "right": [10, 25, -3], "label": [10, 10, 25]},
        NUMBERS.observe({10: 1}, within=[7, 10])
        .observe({10: 1}, within=[10, 25])
        .observe({25: 1}, within=[25, -3]),
    ),
    Case(
        "an arena with two sorts of ties",
        from_pairs,
        {
            "model_a": ["c", "a", "a", "b"],
            "model_b": ["a", "b", "c", "a"],
            "winner": ["model_b", "tie", "tie (bothbad)", "model_a"],
        },
        ConditionalCounts(["a", "b", "c", "no winner"])
        .observe({"a": 1, "no winner": 1}, within=["a", "c", "no winner"])
        .observe({"no winner": 1, "b": 1}, within=["a", "b", "no winner"]),
        {"ties": "entity", "tie_label": "no winner"},
    ),
    Case(
        "a square table of wins",
        from_pairs,
        {"name": ["b", "a", "c"], "b": [9, 1, 0], "a": [4, 9, 2], "c": [3, 0, 9]},
        ABC.observe({"b": 4, "a": 1}, within=["a", "b"])
        .observe({"b": 3}, within=["b", "c"])
        .observe({"c": 2}, within=["a", "c"]),
        repeatable=False,
    ),
    Case(
        "the first is at home",
        from_pairs,
        {"item1": ["a", "b", "a"], "item2": ["b", "a", "c"], "outcome": [1, 1, 0]},
        ConditionalCounts(["a", "b", "c", "home"])
        .observe_group(["a", "home"], 1, within=["a", "b", "home"])
        .observe_group(["b", "home"], 1, within=["a", "b", "home"])
        .observe({"c": 1}, within=["a", "c", "home"]),
        {"home": "first"},
    ),
    Case(
        "a column tells who is at home, and ties are entities",
        from_pairs,
        {
            "item1": [7, 10, 25, 7],
            "item2": [10, -3, 7, 10],
            "outcome": ["item1", "item2", "tie", "item1"],
            "venue": [7, None, 7, 10],
        },
        ConditionalCounts([-3, 7, 10, 25, "tie", "home"])
        .observe_group([7, "home"], 1, within=[7, 10, "home", "tie"])
        .observe({-3: 1}, within=[10, -3, "tie"])
        .observe({"tie": 1}, within=[25, 7, "home", "tie"])
        .observe({7: 1}, within=[7, 10, "home", "tie"]),
        {"home": "venue", "ties": "entity"},
    ),
]  # fmt: skip

RANKINGS = [
    Case(
        "long",
        from_rankings,
        {
            "race": [2, 1, 1, 2, 1, 2],
            "driver": [ZOE, MULLER, ZOE, TOKYO, ORSTED, MULLER],
            "place": [1, 2, 1, 3, 3, 2],
        },
        ODD_COUNTS.observe_ranking([ZOE, MULLER, ORSTED]).observe_ranking([ZOE, MULLER, TOKYO]),
        {"unranked": "absent"},
        repeatable=False,
    ),
    Case(
        "orders in lists",
        from_rankings,
        {"order": [[7, 10, -3], [25, 7], [7, 10, -3]], "count": [2, 1, 3]},
        NUMBERS.observe_ranking([7, 10, -3], 5).observe_ranking([25, 7]),
        {"unranked": "absent"},
    ),
    Case(
        "orders in texts, everybody else below",
        from_rankings,
        {"ranking": ["b > a", "c", "b>a"], "freq": [2, 4, 1]},
        ABC.observe({"b": 3, "c": 4}).observe({"a": 3}, without=["b"]),
        {"unranked": "below"},
    ),
    Case(
        "items in columns, none for those who took no part",
        from_rankings,
        {"d": [1, None, 3], "b": [2, 1, 1], "a": [None, 3, 4], "c": [3, 2, 2]},
        ABCD.observe_ranking("dbc").observe_ranking("bca").observe_ranking("bcda"),
        {"unranked": "absent"},
    ),
    Case(
        "items in columns, 0 for those below",
        from_rankings,
        {"d": [1, 0], "b": [2, 1], "a": [0, 0], "c": [0, 2], "count": [3, 1]},
        ABCD.observe({"d": 3, "b": 1})
        .observe({"b": 3}, without=["d"])
        .observe({"c": 1}, without=["b"]),
        {"unranked": "below"},
    ),
    Case(
        "items in rows, with those who did not finish",
        from_rankings,
        {
            "rider": [TOKYO, ZOE, ORSTED, MULLER],
            "QAT": ["1", "2", "Ret", "3"],
            "ARG": ["DNF", "1", "DSQ", "2"],
        },
        ODD_COUNTS.observe({TOKYO: 1})
        .observe({ZOE: 1}, without=[TOKYO])
        .observe({MULLER: 1}, within=[MULLER, ORSTED])
        .observe({ZOE: 1})
        .observe({MULLER: 1}, without=[ZOE]),
        repeatable=False,
    ),
    Case(
        "places in columns",
        from_rankings,
        {"Rank_1": [7, 10, 7], "Rank_2": [25, 7, 10], "Rank_3": [-3, None, None]},
        NUMBERS.observe({7: 2, 10: 1})
        .observe({25: 1, 10: 1}, without=[7])
        .observe({7: 1}, without=[10])
        .observe({-3: 1}, without=[7, 25]),
        {"unranked": "below"},
    ),
    Case(
        "items in columns with ties, every order of which counts",
        from_rankings,
        {"c": [1, 2], "a": [2, 1], "b": [2, 3]},
        ABC.observe_ranking("cab", 0.5).observe_ranking("cba", 0.5).observe_ranking("acb"),
        {"ties": "half"},
    ),
    Case(
        "items in columns with ties in last place",
        from_rankings,
        {"c": [1, 2], "a": [2, 1], "b": [2, 3]},
        ABC.observe({"c": 1}).observe_ranking("acb"),
        {"ties": "last"},
    ),
]  # fmt: skip

CHOICES = [
    Case(
        "long with 0 and 1",
        from_choices,
        {
            "case": [1, 1, 2, 2, 2, 3, 3],
            "alt": [ZOE, TOKYO, TOKYO, ORSTED, MULLER, TOKYO, ZOE],
            "choice": [1, 0, 0, 0, 1, 0, 1],
        },
        ODD_COUNTS.observe({ZOE: 2}, within=[ZOE, TOKYO]).observe({MULLER: 1}, without=[ZOE]),
        repeatable=False,
    ),
    Case(
        "long with the label of the chosen one",
        from_choices,
        {
            "chid": [5, 9, 5, 9, 9],
            "alt": [7, 25, 10, 7, -3],
            "choice": [10, 25, 10, 25, 25],
        },
        NUMBERS.observe({10: 1}, within=[7, 10]).observe({25: 1}, within=[25, 7, -3]),
        repeatable=False,
    ),
    Case(
        "picks with lists",
        from_choices,
        {
            "chosen": [ZOE, MULLER, ZOE],
            "offered": [[ZOE, ORSTED], [TOKYO, MULLER, ORSTED], [ORSTED, ZOE]],
            "count": [2, 1, 3],
        },
        ODD_COUNTS.observe({ZOE: 5}, within=[ZOE, ORSTED]).observe({MULLER: 1}, without=[ZOE]),
    ),
    Case(
        "picks with text",
        from_choices,
        {"pick": ["SR3+", "Drive", "Drive"], "menu": ["SR3+|Bus", "Drive|SR3+|Bus", "Drive|Bus"]},
        ConditionalCounts(["Bus", "Drive", "SR3+"])
        .observe({"SR3+": 1}, within=["SR3+", "Bus"])
        .observe({"Drive": 1})
        .observe({"Drive": 1}, within=["Bus", "Drive"]),
    ),
    Case(
        "picks with those not chosen",
        from_choices,
        {"chosen": [10, 7], "losers": [[7, 25], [-3]]},
        NUMBERS.observe({10: 1}, without=[-3]).observe({7: 1}, within=[7, -3]),
    ),
    Case(
        "wide with availability",
        from_choices,
        {
            "choice": ["bus", "car", "bus", "walk"],
            "avail_walk": [1, 0, 1, 1],
            "avail_bus": [1, 1, 1, 0],
            "avail_car": [0, 1, 0, 1],
        },
        ConditionalCounts(["walk", "bus", "car"])
        .observe({"bus": 2}, within=["bus", "walk"])
        .observe({"car": 1}, within=["bus", "car"])
        .observe({"walk": 1}, within=["walk", "car"]),
    ),
]  # fmt: skip

TRANSITIONS = [
    Case(
        "long with time",
        from_transitions,
        {
            "seq": ["s", "t", "s", "s", "t", "s"],
            "t": [4, 1, 1, 3, 2, 2],
            "state": [10, 7, 7, 7, -3, 25],
        },
        NUMBERS.observe({25: 1, -3: 1, 10: 1}, without=[7]).observe({7: 1}, without=[25]),
        repeatable=False,
    ),
    Case(
        "long in the order of rows",
        from_transitions,
        {"animal": [1, 1, 1, 2, 2], "syllable": [ZOE, ORSTED, ZOE, TOKYO, MULLER]},
        ODD_COUNTS.observe({ORSTED: 1}, without=[ZOE])
        .observe({ZOE: 1}, without=[ORSTED])
        .observe({MULLER: 1}, without=[TOKYO]),
        any_order=False,
        repeatable=False,
    ),
    Case(
        "moves",
        from_transitions,
        {"from": ["a", "b", "a", "c"], "to": ["b", "a", "b", "c"], "count": [2, 4, 1, 9]},
        ABC.observe({"b": 3}, without=["a"]).observe({"a": 4}, without=["b"]),
    ),
    Case(
        "a square table",
        from_transitions,
        {"state": ["a", "c", "b"], "a": [8, 2, 1], "b": [3, 5, 7], "c": [0, 6, 4]},
        ABC.observe({"b": 3}, without=["a"])
        .observe({"a": 2, "b": 5}, without=["c"])
        .observe({"a": 1, "c": 4}, without=["b"]),
        repeatable=False,
    ),
]  # fmt: skip

TABLES = [
    Case(
        "each row given what is possible in it",
        from_table,
        {ZOE: [3, None, 1], ORSTED: [2, 4, None], TOKYO: [0, 5, 6], MULLER: [1, 0, None]},
        ConditionalCounts([ZOE, ORSTED, TOKYO, MULLER])
        .observe({ZOE: 3, ORSTED: 2, MULLER: 1})
        .observe({ORSTED: 4, TOKYO: 5}, without=[ZOE])
        .observe({ZOE: 1, TOKYO: 6}, within=[ZOE, TOKYO]),
    ),
    Case(
        "with a mask",
        from_table,
        {"x": ["r", "s"], "b": [3, 0], "a": [2, 4], "c": [0, 5]},
        ConditionalCounts(["b", "a", "c"]).observe({"b": 3, "a": 2}, without=["c"])
        .observe({"a": 4, "c": 5}, without=["b"]),
        {"possible": np.array([[True, True, False], [False, True, True]])},
        any_order=False,
        repeatable=False,
    ),
    Case(
        "as one sample",
        from_table,
        {"x": ["s", "r"], "b": [3, None], "a": [2, 4]},
        ConditionalCounts([("r", "a"), ("s", "a"), ("s", "b")])
        .observe({("s", "b"): 3, ("s", "a"): 2, ("r", "a"): 4}),
        {"given": "table"},
        repeatable=False,
    ),
]  # fmt: skip

TEAMS = [
    Case(
        "lists",
        from_teams,
        {
            "winners": [[ZOE, TOKYO], [ORSTED], [TOKYO, ZOE]],
            "losers": [[ORSTED, MULLER], [ZOE], [MULLER, ORSTED]],
        },
        ODD_COUNTS.observe_group([ZOE, TOKYO], 2).observe({ORSTED: 1}, within=[ORSTED, ZOE]),
    ),
    Case(
        "texts",
        from_teams,
        {"side1": ["b+a", "c", "a + b"], "side2": ["c+d", "d", "c"], "wins1": [2, 1, 0],
         "wins2": [1, 3, 4]},
        ABCD.observe_group("ab", 2)
        .observe_group("cd", 1)
        .observe({"c": 1, "d": 3}, within="cd")
        .observe({"c": 4}, within="abc"),
    ),
    Case(
        "texts with outcomes, a home advantage and ties",
        from_teams,
        {"side1": ["b;a", "c", "a"], "side2": ["c;d", "d", "b"], "outcome": [1, 0, 0.5]},
        ConditionalCounts(["a", "b", "c", "d", "level", "ground"])
        .observe_group(["a", "b"], 1, within=["a", "b", "c", "d", "ground", "level"])
        .observe_group(["d", "ground"], 1, within=["c", "d", "ground", "level"])
        .observe({"level": 1}, within=["a", "b", "ground", "level"]),
        {"home": "second", "ties": "entity", "tie_label": "level", "home_label": "ground"},
    ),
    Case(
        "a column for each player",
        from_teams,
        {ZOE: [1, 0, None], ORSTED: [0, None, 1], MULLER: [1, 1, 0], TOKYO: [None, None, 0]},
        ODD_COUNTS.observe_group([ZOE, MULLER], 1, without=[TOKYO])
        .observe({MULLER: 1}, within=[MULLER, ZOE])
        .observe({ORSTED: 1}, without=[ZOE]),
    ),
]  # fmt: skip

GROUPS = [
    Case(
        "lists",
        from_groups,
        {"group": [[7, 25], [10], [25, 7], [7, 10, 25]], "count": [2, 3, 1, 4]},
        ConditionalCounts([7, 10, 25]).observe_group([7, 25], 3).observe({10: 3})
        .observe_group([7, 10, 25], 4),
    ),
    Case(
        "texts within what was possible",
        from_groups,
        {"set": ["b|a", "c", "a", "a|b"], "within": ["a|b|c", "c|d", None, "c|b|a"]},
        ABCD.observe_group("ab", 2, without=["d"]).observe({"c": 1}, within="cd")
        .observe({"a": 1}),
    ),
    Case(
        "cells",
        from_groups,
        {"sex": ["m", "f", None, "m"], "vote": ["yes", None, "no", "no"], "n": [10, 4, 3, 2]},
        ConditionalCounts([("f", "no"), ("f", "yes"), ("m", "no"), ("m", "yes")])
        .observe({("m", "yes"): 10, ("m", "no"): 2})
        .observe_group([("f", "no"), ("f", "yes")], 4)
        .observe_group([("f", "no"), ("m", "no")], 3),
        {"cells": ["sex", "vote"]},
    ),
]  # fmt: skip

CASES = [*PAIRS, *RANKINGS, *CHOICES, *TRANSITIONS, *TABLES, *TEAMS, *GROUPS]
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=str)


def rearranged(columns: Columns, order: list[int]) -> Columns:
    return {name: [values[i] for i in order] for name, values in columns.items()}


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


def test_sequences_of_states() -> None:
    by_hand = ABC.observe({"b": 1, "c": 2}, without=["a"]).observe({"a": 1}, without=["b"])
    same(from_transitions([list("aabbbac"), list("aac")]), by_hand)
    same(from_transitions([list("aabbbac"), np.array(["a", "c"])]), by_hand)
    kept = ABC.observe({"a": 1, "b": 1, "c": 1}).observe({"b": 2, "a": 1})
    same(from_transitions("aabbbac", self_loops="kept"), kept)
    counts = np.array([[5, 1, 2], [1, 7, 0], [0, 0, 9]])
    by_number = ConditionalCounts(3).observe({1: 1, 2: 2}, without=[0]).observe({0: 1}, without=[1])
    same(from_transitions(counts), by_number)
    same(
        from_transitions([0, 0, 1, 0, 2, 2, 2]),
        ConditionalCounts(3).observe({1: 1, 2: 1}, without=[0]).observe({0: 1}, without=[1]),
    )


@pytest.mark.parametrize("engine", FRAMES)
def test_a_posterior_for_each_state(engine: str) -> None:
    moves = {"from": ["a", "b", "a", "c"], "to": ["b", "a", "c", "c"], "count": [3, 4, 1, 9]}
    rows = from_transitions(given_as(engine, moves), rows="separate")
    assert list(rows) == ["a", "b", "c"]
    same(rows["a"], ConditionalCounts("bc").observe({"b": 3, "c": 1}))
    same(rows["b"], ConditionalCounts("ac").observe({"a": 4}))
    same(rows["c"], ConditionalCounts("ab"))


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


TIED = {
    "pairs": (from_pairs, {"item1": ["a", "b"], "item2": ["b", "c"], "outcome": ["tie", "item1"]}),
    "teams": (from_teams, {"side1": ["a", "b"], "side2": ["b", "c"], "outcome": ["tie", "side1"]}),
    "rankings": (from_rankings, {"order": ["a > b = c", "c > a > b"]}),
}


@pytest.mark.parametrize("kind", TIED)
def test_ties_are_asked_for_where_there_are_some(kind: str) -> None:
    read, columns = TIED[kind]
    with pytest.raises(DataError, match=r"1 (tie|ranking with a tie), which can mean"):
        read(columns)
    untied = {name: values[1:] for name, values in columns.items()}
    assert read(untied).n_outcomes > 0
    with pytest.warns(HalfWinsWarning):
        read(columns, ties="half")


def test_half_a_win_of_several_is_refused() -> None:
    doubles = {"side1": ["a+b"], "side2": ["c+d"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='entity' can"), pytest.warns(HalfWinsWarning):
        from_teams(doubles, ties="half")
    with pytest.raises(DataError, match="Give whole numbers"):
        from_teams([(["a", "b"], ["c"], 1.5)])
    tied = {"item1": ["a"], "item2": ["b"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='entity' can"), pytest.warns(HalfWinsWarning):
        from_pairs(tied, ties="half", home="first")
    same(
        from_teams(doubles, ties="entity"),
        ConditionalCounts(["a", "b", "c", "d", "tie"]).observe({"tie": 1}),
    )


@pytest.mark.parametrize("kind", TIED)
@pytest.mark.parametrize(
    ("meaning", "reason"),
    [
        ("davidson", "geometric mean"),
        ("Davidson", "geometric mean"),
        ("rao-kupper", "multiples of strengths"),
        ("rao_kupper", "multiples of strengths"),
        ("unknown", "sum over the orders"),
        ("unknown order", "sum over the orders"),
        ("coin", "is not known"),
    ],
)
def test_other_meanings_of_ties_are_refused_by_name(kind: str, meaning: str, reason: str) -> None:
    read, columns = TIED[kind]
    with pytest.raises(DataError, match=reason) as error:
        read(columns, ties=meaning)
    assert f"ties = {meaning!r}" in str(error.value)


def test_entities_are_for_pairs_and_the_last_place_for_rankings() -> None:
    with pytest.raises(DataError, match="ties = 'entity'"):
        from_rankings(TIED["rankings"][1], ties="entity")
    with pytest.raises(DataError, match="ties = 'last'"):
        from_pairs(TIED["pairs"][1], ties="last")
    with pytest.raises(DataError, match="'tie' is a competitor already"):
        from_pairs([("a", "tie")], ties="entity")
    with pytest.raises(BadRowsError, match="not in last place"):
        from_rankings(["a = b > c"], ties="last")


def test_without_a_tie_an_entity_is_in_every_set_all_the_same() -> None:
    found = from_pairs([("a", "b"), ("c", "b")], ties="entity")
    by_hand = WITH_TIE.observe({"a": 1}, within=["a", "b", "tie"])
    same(found, by_hand.observe({"c": 1}, within=["b", "c", "tie"]))


def test_the_advantage_goes_to_whom_it_is_said() -> None:
    games = {"item1": ["a", "a"], "item2": ["b", "c"], "outcome": ["b", "a"],
             "at": ["b", None]}  # fmt: skip
    four = ConditionalCounts(["a", "b", "c", "home"])
    first = four.observe({"b": 1}, within=["a", "b", "home"])
    first = first.observe_group(["a", "home"], 1, within=["a", "c", "home"])
    same(from_pairs(games, home="first"), first)
    second = four.observe_group(["b", "home"], 1, within=["a", "b", "home"])
    second = second.observe({"a": 1}, within=["a", "c", "home"])
    same(from_pairs(games, home="second"), second)
    column = four.observe_group(["b", "home"], 1, within=["a", "b", "home"])
    column = column.observe({"a": 1}, within=["a", "c"])
    for engine in ENGINES:
        same(from_pairs(given_as(engine, games), home="at"), column)
    won = {"winner": ["b", "a"], "loser": ["a", "c"], "at": ["b", None]}
    same(from_pairs(won, home="at"), column)
    with pytest.raises(DataError, match="do not say who was the first"):
        from_pairs(won, home="first")
    with pytest.raises(DataError, match="home = 'nowhere': there is no such column"):
        from_pairs(won, home="nowhere")
    with pytest.raises(BadRowsError, match="row 2: at is 'b'; it must name 'a' or 'c'"):
        from_pairs({**won, "at": [None, "b"]}, home="at")
    with pytest.raises(DataError, match="'b' is a competitor already"):
        from_pairs(won, home="at", home_label="b")


def test_a_winner_who_did_not_compete_is_found_though_it_reads_like_a_word() -> None:
    games = {"item1": ["a", "b", "c"], "item2": ["b", "c", "a"], "outcome": ["b", "a", "tie"]}
    with pytest.raises(BadRowsError, match="row 2: the outcome is 'a'"):
        from_pairs(games, ties="entity")
    words = {"item1": ["b", "c"], "item2": ["c", "White"], "outcome": ["black", "white"]}
    same(
        from_pairs(words),
        ConditionalCounts(["White", "b", "c"])
        .observe({"c": 1}, within=["b", "c"])
        .observe({"c": 1}, within=["c", "White"]),
    )
    numbers = {"item1": [1, 2], "item2": [0, 1], "outcome": [1, 0]}
    same(
        from_pairs(numbers),
        ConditionalCounts(3).observe({1: 1}, within=[0, 1]).observe({1: 1}, within=[1, 2]),
    )


def test_who_is_not_ranked_is_asked_about_only_where_it_matters() -> None:
    complete = [["a", "b", "c"], ["c", "a", "b"]]
    same(from_rankings(complete), ABC.observe_ranking("abc").observe_ranking("cab"))
    for data, options in [
        ([*complete, ["b", "a"]], {}),
        (complete, {"categories": "abcd"}),
        ({"a": [1, 2], "b": [2, 1], "c": [3, 0]}, {}),
        ({"a": [1, 2], "b": [2, 1], "c": [3, None]}, {}),
    ]:
        with pytest.raises(DataError, match=r"unranked='absent' .* unranked='below'"):
            from_rankings(data, **options)
    part = [["b", "a"], ["c", "b", "a"]]
    same(from_rankings(part, unranked="absent"), ABC.observe_ranking("ba").observe_ranking("cba"))
    below = ABC.observe({"b": 1}).observe({"a": 1}, without=["b"]).observe_ranking("cba")
    same(from_rankings(part, unranked="below"), below)
    finished = {"boat": ["a", "b", "c"], "leg1": ["1", "DNF", "2"], "leg2": ["3", "2", "1"]}
    by_hand = ABC.observe({"a": 1}).observe({"c": 1}, without=["a"]).observe_ranking("cba")
    same(from_rankings(finished), by_hand)


def test_options_of_rankings() -> None:
    points = {"a": [12, 0], "b": [10, 12], "c": [None, 10]}
    read = {"best": "largest", "unranked": "below", "blank": "absent"}
    by_hand = ABC.observe_ranking("ab").observe({"b": 1}).observe({"c": 1}, without="b")
    same(from_rankings(points, **read), by_hand)
    read["best"] = "smallest"
    by_hand = ABC.observe_ranking("ba").observe({"c": 1}).observe({"b": 1}, without="c")
    same(from_rankings(points, **read), by_hand)
    read = {"best": "largest", "unranked": "below", "blank": "below"}
    by_hand = ABC.observe({"a": 1, "b": 1}).observe({"b": 1}, without="a")
    same(from_rankings(points, **read), by_hand.observe({"c": 1}, without="b"))

    races = {"who": ["a", "b", "c"], "one": ["1", "oops", "2"], "two": ["1", "2", "3"],
             "points": [3, 2, 1]}  # fmt: skip
    found = from_rankings(races, did_not_finish=["Oops"], ignore=["points"])
    first = ABC.observe({"a": 1}).observe({"c": 1}, without=["a"])
    same(found, first.observe_ranking("abc"))
    same(from_rankings(races, did_not_finish=["Oops"]),
         first.observe_ranking("abc").observe_ranking("cba"))  # fmt: skip
    with pytest.raises(BadRowsError, match="the rank of 'b' is 'oops'"):
        from_rankings(races, layout="items-in-rows")

    numbers = {"x1": [1, 2], "x2": [2, 1]}
    items = ConditionalCounts(["x1", "x2"])
    same(from_rankings(numbers, layout="items-in-columns"),
         items.observe_ranking(["x1", "x2"]).observe_ranking(["x2", "x1"]))  # fmt: skip
    same(from_rankings(numbers, layout="places-in-columns"),
         ConditionalCounts([1, 2]).observe_ranking([1, 2]).observe_ranking([2, 1]))  # fmt: skip
    for options, message in [
        ({"layout": "heap"}, "layout = 'heap'"),
        ({"best": "middle"}, "best = 'middle'"),
        ({"unranked": "lost"}, "unranked = 'lost'"),
        ({"blank": "lost"}, "blank = 'lost'"),
        ({"item": "nobody"}, "item = 'nobody': there is no such column"),
    ]:
        with pytest.raises(DataError, match=message):
            from_rankings(races, **options)


def test_options_of_transitions() -> None:
    sequence = "abcab"
    three = ConditionalCounts("abc")
    same(from_transitions(sequence),
         three.observe({"b": 2}, without="a").observe({"c": 1}, without="b")
         .observe({"a": 1}, without="c"))  # fmt: skip
    closed = three.observe({"b": 2}, within="b").observe({"c": 1}, without="b")
    closed = closed.observe({"a": 1}, without="c")
    mask = np.zeros((3, 3), bool)
    mask[0, 2] = True
    for forbidden in ({"a": ["c"]}, [("a", "c")], mask):
        same(from_transitions(sequence, forbidden=forbidden), closed)
    with pytest.raises(DataError, match="2 transitions from 'a' to 'b'"):
        from_transitions(sequence, forbidden={"a": ["b"]})
    wider = ConditionalCounts("cbad").observe({"b": 2}, without="a").observe({"c": 1}, without="b")
    same(from_transitions(sequence, categories="cbad"), wider.observe({"a": 1}, without="c"))


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
    same(from_pairs(renamed, winner="x", loser="y", categories="zab"),
         ConditionalCounts("zab").observe({"a": 1}, within="ab"))  # fmt: skip
    wide = {"choice": ["b", "a"], "a.ok": [0, 1], "b.ok": [1, 1], "c.ok": [1, 0]}
    same(from_choices(wide, availability="ok"),
         ABC.observe({"b": 1}, without="a").observe({"a": 1}, without="c"))  # fmt: skip
    with pytest.raises(DataError, match="'c' occurs in the data but not in categories"):
        from_pairs([("a", "c")], categories="ab")


def test_all_texts_of_a_column_are_split_alike() -> None:
    orders = ["New York > Boston", "New York", "Boston = New York"]
    towns = ConditionalCounts(["Boston", "New York"])
    by_hand = towns.observe({"New York": 2}).observe_ranking(["Boston", "New York"], 0.5)
    with pytest.warns(HalfWinsWarning):
        found = from_rankings(orders, unranked="below", ties="half")
    assert found == by_hand.observe_ranking(["New York", "Boston"], 0.5)
    same(from_rankings({"order": ["a b c", "c  b a"]}),
         ABC.observe_ranking("abc").observe_ranking("cba"))  # fmt: skip
    same(
        from_rankings({"order": ["a b,c", "c"]}, unranked="below"),
        ConditionalCounts(["a b", "c"]).observe_ranking(["a b", "c"]).observe({"c": 1}),
    )


@pytest.mark.parametrize("text", ["['a', 'b']", "[7, 10]", '["a"]'])
def test_lists_that_became_text_are_found(text: str) -> None:
    for read, columns in [
        (from_rankings, {"order": [text]}),
        (from_choices, {"chosen": ["a"], "offered": [text]}),
        (from_teams, {"winners": [text], "losers": ["c"]}),
        (from_groups, {"group": [text]}),
    ]:
        with pytest.raises(BadRowsError, match=r"row 1: .* a list printed as text"):
            read(columns)
    bracketed = from_groups({"group": ["[x]|[y]", "[z]"]})
    assert bracketed.categories == ("[x]", "[y]", "[z]")


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


def test_cells_may_be_named_in_an_order_of_their_own() -> None:
    answers = {"sex": ["m", "f", None], "vote": ["yes", None, "no"], "n": [10, 4, 3]}
    cells = [(s, v) for v in ("yes", "no") for s in ("m", "f")]
    found = from_groups(answers, cells=["sex", "vote"], categories=cells)
    by_hand = ConditionalCounts(cells).observe({("m", "yes"): 10})
    by_hand = by_hand.observe_group([("f", "yes"), ("f", "no")], 4)
    same(found, by_hand.observe_group([("m", "no"), ("f", "no")], 3))
    many = {f"question {k}": list(range(50)) for k in range(8)}
    with pytest.raises(DataError, match="39,062,500,000,000 combinations"):
        from_groups(many, cells=list(many))
    bad = {"sex": ["m", "f", "x"], "n": [1, 2, 0.5]}
    with pytest.warns(SkippedRowsWarning, match="left out 1"):
        found = from_groups(bad, cells=["sex"], skip_bad=True)
    same(found, ConditionalCounts([("f",), ("m",)]).observe({("m",): 1, ("f",): 2}))


def test_a_tie_that_leaves_nobody_below_is_in_last_place() -> None:
    found = from_rankings([["a", {"b", "c"}], ["b"]], unranked="below", ties="last")
    same(found, ABC.observe({"a": 1, "b": 1}))
    with pytest.raises(BadRowsError, match="above somebody who is only known to be below"):
        from_rankings([["a", {"b", "c"}], ["d"]], unranked="below", ties="last")


def test_options_that_the_data_cannot_follow_are_refused() -> None:
    with pytest.raises(DataError, match="does not say who was at home"):
        from_teams({"a": [1, 0], "b": [0, 1]}, home="first")
    with pytest.raises(DataError, match="counts go with a list of rankings"):
        from_rankings(pd.DataFrame({"a": [1, 2], "b": [2, 1]}), counts=[3, 4])


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


BAD_ROWS = [
    (from_pairs, {"winner": ["a", None, "b", "c", None], "loser": ["b", "c", "b", None, "c"]},
     {2: "the first of the two is missing", 3: "'b' is compared with itself",
      4: "the second of the two is missing", 5: "the first of the two is missing"}, {}),
    (from_pairs, {"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "count": [2, -1, 1]},
     {2: "it cannot be negative"}, {}),
    (from_pairs, {"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "count": ["2", "x", ""]},
     {2: "count is 'x'; a number is needed", 3: "count is missing"}, {}),
    (from_pairs, {"item1": ["a", "b", "a"], "item2": ["b", "c", "c"],
                  "outcome": ["item1", "nobody", None]},
     {2: "the outcome is 'nobody'", 3: "the outcome is missing"}, {}),
    (from_rankings, {"order": ["a > b", "b > a > b", "", "b > a"]},
     {2: "'b' appears twice in one ranking", 3: "the ranking is empty"}, {}),
    (from_rankings, {"a": ["1", "2", "x"], "b": ["2", "-1", "1"]},
     {2: "the rank of 'b' is '-1'", 3: "the rank of 'a' is 'x'"}, {"layout": "items-in-columns"}),
    (from_rankings, {"id": [1, 1, 2, 2], "item": ["a", "b", "b", "b"], "rank": [1, 2, 1, 2]},
     {3: "'b' appears twice"}, {}),
    (from_choices, {"chosen": ["a", "b", None], "offered": ["a|c", "a|c", "a|c"]},
     {2: "'b' was chosen but not on offer", 3: "the chosen one is missing"}, {}),
    (from_choices, {"case": [1, 1, 2, 2, 3, 3], "alt": ["a", "b", "a", "b", "b", "a"],
                    "choice": [1, 0, 1, 1, 0, 0]},
     {3: "2 ('a', 'b') is chosen; one is needed", 5: "none is chosen"}, {}),
    (from_choices, {"choice": ["a", "b", "b"], "avail_a": [1, 1, 2], "avail_b": [1, 0, 1]},
     {2: "'b' was chosen but not on offer", 3: "avail_a is 2"}, {}),
    (from_transitions, {"from": ["a", None, "b"], "to": ["b", "a", None]},
     {2: "the state from is missing", 3: "the state to is missing"}, {}),
    (from_table, {"row": ["x", "y", "z"], "a": [1, 2, -3], "b": [1, 2, 1]},
     {3: "a is -3"}, {}),
    (from_teams, {"winners": ["a+b", "a", None, "b"], "losers": ["c", "a+c", "b", "c"]},
     {2: "'a' plays on both sides", 3: "the first side is empty"}, {}),
    (from_teams, {"a": [1, 1, 0], "b": [0, 1, 0], "c": [None, None, 2]},
     {2: "nobody loses", 3: "c is 2"}, {}),
    (from_groups, {"group": ["a+b", "a+a", "b"], "count": [1.0, 2.0, 1.5]},
     {2: "names 'a' twice", 3: "count is 1.5"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "columns", "wrong", "options", "engine"),
    [*((*bad, engine) for bad in BAD_ROWS for engine in FRAMES), (*BAD_ROWS[0], "dask")],
)
def test_bad_rows_are_named_by_number(
    read: Callable[..., ConditionalCounts],
    columns: Columns,
    wrong: dict[int, str],
    options: dict[str, Any],
    engine: str,
) -> None:
    with pytest.raises(BadRowsError) as error:
        read(given_as(engine, columns), **options)
    found = dict(error.value.problems)
    assert list(found) == list(wrong)
    for place, what in wrong.items():
        assert what in found[place]
        assert f"row {place}: {found[place]}" in str(error.value)
    with pytest.warns(SkippedRowsWarning, match=f"left out {len(wrong)}") as warned:
        kept = read(given_as(engine, columns), skip_bad=True, **options)
    (warning,) = (w.message for w in warned if isinstance(w.message, SkippedRowsWarning))
    assert [problem.place for problem in warning.problems] == list(wrong)
    if read in (from_choices, from_rankings) and len(columns) == 3 and "count" not in columns:
        groups = next(iter(columns.values()))  # of which the first row is named
        left = [i for i in range(len(groups)) if groups.index(groups[i]) + 1 not in wrong]
    else:
        left = [i for i in range(len(next(iter(columns.values())))) if i + 1 not in wrong]
    same(kept, read(rearranged(columns, left), **options))


@pytest.mark.parametrize("engine", FRAMES)
def test_where_no_row_is_left_there_is_nothing_to_count(engine: str) -> None:
    games = {"winner": ["a", "b"], "loser": ["a", "b"]}
    with (
        pytest.warns(SkippedRowsWarning, match="left out 2"),
        pytest.raises(DataError, match="no usable row is left"),
    ):
        from_pairs(given_as(engine, games), skip_bad=True)
    with pytest.raises(DataError, match="no rows"):
        from_pairs(given_as(engine, {"winner": [], "loser": []}))


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
