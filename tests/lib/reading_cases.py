"""Small data sets of every kind, in every sort of frame, with counts entered by hand."""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from luce import (
    ConditionalCounts,
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)
from luce.errors import HalfWinsWarning

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
        {"home": "first", "home_effect": "entity"},
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
        {"home": "venue", "home_effect": "entity", "ties": "entity"},
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
        {"home": "second", "home_effect": "entity", "ties": "entity", "tie_label": "level",
         "home_label": "ground"},
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


def rearranged(columns: Columns, order: list[int]) -> Columns:
    return {name: [values[i] for i in order] for name, values in columns.items()}
