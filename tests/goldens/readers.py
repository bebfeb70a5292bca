"""Data that was simulated, and data that was read: all by digests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from goldens.case import Arrays, Case, Kind, Place, fingerprint
from goldens.estimates import counted
from goldens.names import (
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
    read,
    simulate,
)

TRUTH = {"a": 0.9, "b": 2.0, "c": 0.5, "d": 1.3, "e": 3.1, "f": 0.7}

# What is simulated with which options, and how it is read.
SIMULATED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]] = {
    "pairs": (simulate.pairs, (60,), {}, from_pairs),
    "ties": (simulate.pairs, (60,), {"tie_label": "f"},
             partial(from_pairs, ties="entity", tie_label="f")),
    "scheduled": (simulate.pairs, (9,), {"pairs": ["ab", "be", "dc"]}, from_pairs),
    "teams": (simulate.teams, (50,), {"home_label": "c"},
              partial(from_teams, home="first", home_effect="entity", home_label="c")),
    "rankings": (simulate.rankings, (30,), {}, from_rankings),
    "top three": (simulate.rankings, (30,), {"top": 3}, partial(from_rankings, unranked="below")),
    "long rankings": (simulate.rankings, (30,), {"size": 4, "top": 2, "layout": "long"},
                      partial(from_rankings, unranked="below", blank="absent")),
    "choices": (simulate.choices, (40,), {"size": 3}, from_choices),
    "wide choices": (simulate.choices, (40,), {"assortments": ["abc", "ce"], "layout": "wide"},
                     from_choices),
    "transitions": (simulate.transitions, (80,), {"forbidden": {"a": ["b"]}}, from_transitions),
    "table": (simulate.table, ([9, 20, 7],), {"possible": ["abc", "bcde", list(TRUTH)]},
              from_table),
    "groups": (simulate.groups, (50,), {"groups": ["ab", "de"]}, from_groups),
}  # fmt: skip

# Small files as people have them, and what must be said to read them.
FILES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pairs": ("games.csv", "winner,loser\nann,bo\nbo,cy\nann,cy\ncy,ann\nann,bo\n", {}),
    "counted pairs": ("games.csv", "winner;loser;count\nann;bo;4\nbo;cy;2\ncy;ann;1\n", {}),
    "ties": ("votes.csv", "model_a,model_b,winner\nx,y,model_b\ny,z,tie\nx,z,model_a\n",
             {"ties": "entity"}),
    "half wins": ("votes.csv", "model_a,model_b,winner\nx,y,model_b\ny,z,tie\nx,z,model_a\n",
                  {"ties": "half"}),
    "home": ("votes.csv", "item1,item2,winner\nx,y,x\ny,z,z\nx,z,x\nz,y,z\n",
             {"home": "first", "home_effect": "entity"}),
    "long rankings": ("races.csv", "race,driver,rank\n1,u,2\n1,v,1\n1,w,3\n2,w,1\n2,u,2\n2,v,3\n",
                      {"kind": "rankings", "ranking": "race", "item": "driver"}),
    "orders": ("orders.txt", "u > v > w\nw > u > v\nv > w > u\nv > u > w\n", {"kind": "rankings"}),
    "places": ("places.tsv", "place1\tplace2\tplace3\nu\tv\tw\nw\tv\tu\n",
               {"kind": "rankings", "layout": "places-in-columns"}),
    "choices": ("choices.csv", "chosen,offered\ntea,tea|milk\nwine,tea|milk|wine\nmilk,milk|tea\n",
                {}),
    "transitions": ("moves.csv", "from,to,count\na,b,3\nb,c,2\nc,a,4\na,c,1\n", {}),
    "teams": ("matches.csv", "winners,losers\nann|bo,cy|di\ncy,bo\ndi|ann,bo\n", {"kind": "teams"}),
    "table": ("table.csv", "place,ant,bee,cat\nhill,4,,2\nlake,1,3,0\n", {"kind": "table"}),
    "groups": ("answers.csv", "group,count\nlow,14\nhigh,20\nlow|high,28\nmid|high,3\n",
               {"kind": "groups"}),
    "json lines": ("games.jsonl", '{"winner": "b", "loser": "a"}\n{"winner": "c", "loser": "b"}\n',
                   {}),
    "preflib": ("orders.soi", "# FILE NAME: o.soi\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n"
                "# NUMBER VOTERS: 5\n# NUMBER UNIQUE ORDERS: 2\n# ALTERNATIVE NAME 1: u\n"
                "# ALTERNATIVE NAME 2: v\n# ALTERNATIVE NAME 3: w\n3: 2,1,3\n2: 3,1\n",
                {"unranked": "absent"}),
    "chess": ("games.pgn", '[White "Ann"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n\n'
              '[White "Bo"]\n[Black "Cy"]\n[Result "1/2-1/2"]\n\n1. d4 1/2-1/2\n',
              {"ties": "entity"}),
}  # fmt: skip

# Python's own lists and mappings, and the reader of each.
LISTS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: from_pairs([("a", "b", 1), ("a", "c", 2.5), ("b", "a", 3)]),
    "wins": lambda: from_pairs(np.array([[0, 3, 1], [2, 0, 4], [0, 1, 0]])),
    "rankings": lambda: from_rankings([["c", "a", "b"], ["b", "c", "a"]], counts=[2, 3]),
    "tied rankings": lambda: from_rankings(["a > b = c", "c > a > b"], ties="half"),
    "choices": lambda: from_choices([("tea", ["tea", "milk"]), ("milk", ["tea", "milk", "wine"])]),
    "transitions": lambda: from_transitions("aabbbacbca"),
    "rows": lambda: from_transitions([list("abcab"), list("cbd")], rows="separate"),
    "forbidden": lambda: from_transitions("abcabdca", forbidden={"a": ["d"]}),
    "table": lambda: from_table({"tea": [5, 3], "milk": [2, float("nan")], "wine": [0, 4]}),
    "whole table": lambda: from_table({"tea": [5, 3], "milk": [2, float("nan")]}, given="table"),
    "teams": lambda: from_teams([(["ann", "bo"], ["cy", "di"]), (["cy"], ["bo"])]),
    "groups": lambda: from_groups({("low",): 14, ("high", "mid"): 20, ("low", "high"): 28}),
    "cells": lambda: from_groups(
        {"sex": ["f", "m", None], "vote": ["yes", None, "no"], "n": [10, 4, 3]},
        cells=["sex", "vote"], count="n",
    ),
}  # fmt: skip


def simulated(name: str, _place: Place) -> Arrays:
    """What is simulated, word for word, and what its reader makes of it."""
    function, size, options, reader = SIMULATED[name]
    made = function(19, TRUTH, *size, **options)
    words = np.frombuffer(repr(made).encode(), np.uint8)
    return {"words": fingerprint(words), **counted(reader(made, categories=list(TRUTH)))}


def from_file(name: str, place: Place) -> Arrays:
    """What is read from a small file."""
    file, text, options = FILES[name]
    path = place.new_folder() / file
    path.write_text(text, encoding="utf-8")
    return counted(read(path, **options))


def from_list(name: str, _place: Place) -> Arrays:
    """What is read from a list."""
    return counted(LISTS[name]())


CASES = {
    f"{title}, {name}": Case(Kind.EXACT, partial(compute, name))
    for title, names, compute in (
        ("simulated", SIMULATED, simulated),
        ("file", FILES, from_file),
        ("list", LISTS, from_list),
    )
    for name in names
}
