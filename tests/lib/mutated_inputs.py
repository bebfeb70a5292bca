"""Valid inputs of every reader, and ways to damage them."""

import gzip
import io
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

import luce
from luce.counts.attainable import check_attainable
from luce.reading.kinds import KINDS


class Sample(NamedTuple):
    """A valid file: its name tells the format, and the options what is in it."""

    name: str
    content: bytes
    options: dict[str, Any]


PREFLIB_NAMES = "# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Bo\n# ALTERNATIVE NAME 3: Cy, C\n"
OLD_NAMES = "1,Ann\n2,Bo\n3,Cy \n"


def preflib(data_type: str, totals: str, body: str) -> str:
    head = f"# FILE NAME: 1.{data_type}\n# DATA TYPE: {data_type}\n# NUMBER ALTERNATIVES: 3\n"
    return head + totals + PREFLIB_NAMES + body


def parquet(**columns: Any) -> bytes:
    packed = io.BytesIO()
    pl.DataFrame(columns).write_parquet(packed)
    return packed.getvalue()


PAIRS = "winner,loser,count\nann,bo,2\nbo,cy,1\n\nann,cy,3\ncy,ann,1\n"
PGN = (
    '[Event "Club"]\n[White "de Vries, A"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 {x} e5 1-0\n\n'
    '[White "Bo"]\n[Black "Cy"]\n[Result "1/2-1/2"]\n\n1. d4 (1. c4 *) 1/2-1/2\n'
)
ORDERS = "Ann>Bo>Cy\nBo>Cy>Ann\nCy > Ann = Bo\n"
VOTES = "3: 1,2,3\n2: 3,1\n"
TOTALS = "# NUMBER VOTERS: 5\n# NUMBER UNIQUE ORDERS: 2\n"
TEXTS: list[tuple[str, str, dict[str, Any]]] = [
    ("pairs.csv", PAIRS, {}),
    ("wins.csv", "item1;item2;wins1;wins2;ties\na;b;2;1;1\nb;c;1.5;0;0\n", {"ties": "entity"}),
    ("arena.tsv", "model_a\tmodel_b\twinner\nx\ty\tmodel_a\ny\tz\ttie\n", {"ties": "half"}),
    ("quoted.csv", '"winner","loser"\n"Smith, ""J""","Bo\nBo"\nBo,Cy\n', {}),
    ("matrix.csv", ",a,b,c\na,,2,1\nb,1,,0\nc,3,1,\n", {"kind": "pairs"}),
    ("home.csv", "item1|item2|outcome|host\na|b|1|a\nb|c|0|\n",
     {"home": "host", "home_effect": "entity"}),
    ("long.csv", "race,driver,place\n1,a,1\n1,b,2\n1,c,DNF\n2,b,1\n2,a,2\n", {"unranked": "below"}),
    ("orders.csv", "ranking,n\na>b>c,4\nb>a=c,1\n", {"ties": "half", "unranked": "absent"}),
    ("places.csv", "Rank_1,Rank_2,Rank_3,count\na,b,c,2\nb,a,,1\n", {"unranked": "below"}),
    ("ranks.csv", "a,b,c\n1,2,3\n2,1,0\n", {"kind": "rankings", "unranked": "below"}),
    ("venues.csv", "name,USA,ITA\na,1,2\nb,2,Ret\nc,3,1\n", {"kind": "rankings"}),
    ("plain.txt", ORDERS, {"kind": "rankings", "ties": "last"}),
    ("picks.csv", "chosen,offered,count\ntea,tea|milk,2\nmilk,tea|milk|wine,1\n", {}),
    ("losers.csv", "choice,losers\ntea,milk\nmilk,tea+wine\n", {"kind": "choices"}),
    ("cases.csv", "case,alt,choice\n1,car,1\n1,bus,0\n2,car,0\n2,bus,1\n2,tram,0\n", {}),
    ("wide.csv", "choice,avail_bus,avail_car,avail_tram\nbus,1,1,0\ntram,1,0,1\n", {}),
    ("moves.csv", "from,to,count\na,b,3\nb,c,2\nc,a,1\n", {}),
    ("states.csv", "subject,time,state\n1,1,a\n1,2,b\n1,3,a\n2,1,c\n2,2,a\n", {}),
    ("square.csv", ",a,b,c\na,0,2,1\nb,1,0,4\nc,3,1,0\n", {"kind": "transitions"}),
    ("cells.csv", "row,a,b,c\nx,5,,2\ny,1,2,0\n", {"kind": "table"}),
    ("sample.csv", "row,a,b\nx,5,NA\ny,1,2\n", {"kind": "table", "given": "table"}),
    ("teams.csv", "winners,losers\na+b,c+d\nc,a\n", {"kind": "teams"}),
    ("sides.csv", "side1,side2,outcome\na;b,c,1\nc,a;d,0\n", {}),
    ("players.csv", "a,b,c,d\n1,0,1,\n0,1,,0\n", {"kind": "teams"}),
    ("groups.csv", "group,count,within\na|b,2,a|b|c\nc,3,\n", {}),
    ("answers.csv", "sex,vote,n\nf,yes,3\nm,,2\n,no,1\n", {"kind": "groups", "cells": ["sex"]}),
    ("pairs.jsonl", '{"winner": "a", "loser": "b"}\n{"winner": "b", "loser": "c", "x": {}}\n', {}),
    ("orders.jsonl", '["a", "b", ["c", "d"]]\n["b", "a", "c", "d"]\n', {"ties": "half"}),
    ("teams.jsonl", '{"winners": ["a", "b"], "losers": ["c"]}\n', {"kind": "teams"}),
    ("picks.ndjson", '{"chosen": 1, "offered": [1, 2]}\n{"chosen": 2, "offered": [2, 3]}\n', {}),
    ("new.soc", preflib("soc", TOTALS, "3: 1,2,3\n2: 3,1,2\n"), {}),
    ("new.soi", preflib("soi", TOTALS, VOTES), {"unranked": "below"}),
    ("new.toc", preflib("toc", TOTALS, "3: {1,2},3\n2: 3,1,2\n"), {"ties": "half"}),
    ("new.toi", preflib("toi", TOTALS, "3: 3,{1,2}\n2: 3,1\n"),
     {"ties": "half", "unranked": "absent"}),
    ("new.wmd", preflib("wmd", "# NUMBER EDGES: 2\n", "1,2,3.0\n2,3,1e0\n"), {"kind": "pairs"}),
    ("old.soc", f"3\n{OLD_NAMES}5,5,2\n3,1,2,3\n2,3,1,2\n", {}),
    ("old.toi", f"3\n{OLD_NAMES}5,5,2\n3,{{1,2}},3\n2,3,1\n",
     {"ties": "half", "unranked": "below"}),
    ("old.wmd", f"3,2\n{OLD_NAMES}0,1,3\n1,2,1\n", {"kind": "pairs"}),
    ("games.pgn", PGN, {"home": "first", "ties": "davidson"}),
    ("spaced.txt", 'winner  loser count\n"ann b" bo 2\n bo\t\'cy\' 1\n', {}),
    ("wins.txt", "   a b c\na  0 2 1\nb  1 0 4\nc  3 1 0\n", {"kind": "pairs"}),
    ("numbered.csv", '"winner","loser"\n"1","a","b"\n"2","b","NA"\n', {"missing": ["-"]}),
    ("scores.csv", "a,b,c\n-1.5,2,0\n3,NA,1e3\n",
     {"kind": "rankings", "best": "largest", "blank": "absent"}),
    ("coded.csv", "choice,bus_av,car_av\n1,1,1\n2,0,1\n",
     {"kind": "choices", "codes": {1: "bus", 2: "car"}}),
]  # fmt: skip
FILES = [
    *(Sample(name, text.encode(), options) for name, text, options in TEXTS),
    Sample("utf16.csv", PAIRS.encode("utf-16"), {}),
    Sample("latin.csv", "winner,loser\nJosé,Bo\n".encode("latin-1"), {"encoding": "latin-1"}),
    Sample("packed.csv.gz", gzip.compress(PAIRS.encode(), mtime=0), {}),
    Sample("pairs.parquet", parquet(winner=["a", "b"], loser=["b", "c"], count=[1.0, 2.0]), {}),
    Sample("lists.parquet", parquet(order=[["a", "b"], ["b", "a"]], n=[2, 1]), {}),
]
TOKENS = [
    b"", b"0", b"-1", b"1e400", b"1e308", b"-1e308", b"9" * 40, b"9" * 5000, b"nan", b"-inf",
    b"NA", b"None", b"null", b"true", b"0.5", b"1_0", b"0x1", b"1e-320", "½".encode(), "é".encode(),
    "日本".encode(), "１".encode(), b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\x00", b"\x1a", b'"',
    b'""', b"'", b"{", b"}", b"[", b"]", b"{}", b"[]", b"[" * 700, b"(", b",", b";", b"|", b"\t",
    b">", b"=", b":", b"#", b"+", b"%", b"\\", b"\n", b"\r", b"\r\n", b"\n\n", b"\x0b", b"\x0c",
    "\x85".encode(), "\u2028".encode(), b"tie", b"home", b"DNF", b"1/2-1/2", b"*", b"x" * 2000,
    b"\xed\xa0\x80", b" ", b"\xc2\xa0", b"_luce_repeats", b"count", b"winner", b"1000000000000",
]  # fmt: skip
SEPARATORS = b',;|\t\n:"{}[]> '


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """Damage a file in one to six ways."""
    for _ in range(rng.choice([1, 1, 1, 1, 2, 4])):
        content = rng.choice(_DAMAGES)(content, rng)
    return content


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return b"\x00"
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _delete(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice([1, 1, 2, 5, 20]) :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(TOKENS) + content[at:]


def _duplicate(content: bytes, rng: random.Random) -> bytes:
    at, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[at:end] + content[end:]


def _shuffle_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _repeat_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def _tokens(content: bytes) -> list[bytes]:
    """The content cut before and after every separator."""
    parts, start = [], 0
    for at, byte in enumerate(content):
        if byte in SEPARATORS:
            parts += [content[start:at], content[at : at + 1]]
            start = at + 1
    return [*parts, content[start:]]


def _swap_tokens(content: bytes, rng: random.Random) -> bytes:
    parts = _tokens(content)
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    parts[i], parts[j] = parts[j], parts[i]
    return b"".join(parts)


def _replace_token(content: bytes, rng: random.Random) -> bytes:
    parts = _tokens(content)
    parts[rng.randrange(len(parts))] = rng.choice(TOKENS)
    return b"".join(parts)


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(content: bytes, rng: random.Random) -> bytes:
    other = rng.choice(FILES).content
    return _truncate(content, rng) + other[rng.randrange(len(other)) :]


_DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    _flip, _delete, _insert, _duplicate, _shuffle_lines, _repeat_line, _swap_tokens,
    _replace_token, _replace_token, _replace_token, _truncate, _splice,
]  # fmt: skip
OPTIONS: dict[str, list[Any]] = {
    "kind": [None, *KINDS],
    "ties": ["entity", "half", "last", "davidson", "rao-kupper"],
    "home": ["first", "second", "host"],
    "home_effect": ["multiplicative", "entity"],
    "unranked": ["absent", "below"],
    "blank": ["absent", "below"],
    "best": ["largest"],
    "layout": ["long", "orders", "items-in-columns", "items-in-rows", "places-in-columns"],
    "rows": ["shared", "separate", "row"],
    "self_loops": ["kept", "removed"],
    "given": ["row", "table"],
    "separator": ["|", "", ", "],
    "categories": ["abc", ["a", "b", "c"], [], ["a", "a"]],
    "count": ["count", "n", "nope"],
    "delimiter": [",", "\n", '"', "", "ab"],
    "encoding": ["latin-1", "utf-16", "ascii", "hex", "nope"],
    "cells": [["sex", "vote"], [], ["nope"], "sex"],
    "tie_label": ["a", "draw"],
}


def mutate_options(options: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Mostly the same; else without one, or with another."""
    options = dict(options)
    if options and rng.random() < 0.1:
        del options[rng.choice(list(options))]
    if rng.random() < 0.2:
        name = rng.choice(list(OPTIONS))
        options[name] = rng.choice(OPTIONS[name])
    return options | ({"skip_bad": True} if rng.random() < 0.5 else {})


KNOWN = {kind: set(KINDS[kind].options) for kind in KINDS}
ODD: list[Callable[[], Any]] = [
    lambda: None, lambda: "", lambda: "a", lambda: "a > b", lambda: b"a", lambda: 0, lambda: -1,
    lambda: 2.5, lambda: True, lambda: float("nan"), lambda: float("inf"), lambda: 10**400,
    lambda: 1e308, lambda: 1j, lambda: Decimal("1.5"), lambda: Decimal("sNaN"),
    lambda: Fraction(1, 3), list, dict, tuple, set, lambda: {"a": 1},
    lambda: [["a", "b"]], lambda: [[["a"]]], lambda: {"a": {"b": [1]}}, lambda: range(3),
    lambda: (x for x in "ab"), lambda: object(), lambda: int, lambda: len, lambda: {"a", "b"},
    lambda: frozenset("ab"), lambda: np.zeros((0, 0)), lambda: np.zeros((2, 2, 2)),
    lambda: np.eye(3), lambda: np.array(5), lambda: np.array(["a", "b"]), lambda: np.float32("nan"),
    lambda: np.array(["a", None], object), lambda: np.array([1, 2], np.uint64) + 2**63,
    lambda: np.array([1 + 2j]), lambda: np.array(["2020-01-01", "NaT"], "M8[ns]"),
    lambda: np.datetime64("NaT"), lambda: np.zeros(2, "V4"), lambda: np.array([[b"x", b"y"]]),
    lambda: np.array([(1, "a")], [("n", int), ("name", "U1")]), lambda: np.eye(2, dtype=bool),
    lambda: np.ma.masked_equal([[1, 2], [3, 4]], 2), lambda: np.int8(-100), lambda: pd.NA,
    lambda: pd.NaT, lambda: pd.Series(["a", "b"]), lambda: pl.Series(["a", None]),
    lambda: pd.DataFrame({"a": [1, 2]}), lambda: pl.DataFrame(), lambda: pd.DataFrame(np.eye(2)),
    lambda: memoryview(b"ab"), lambda: bytearray(b"ab"), lambda: "x" * 1000, lambda: "\0",
    lambda: "\ud800", lambda: nested(1200), lambda: nested(60), lambda: Path("a"),
]  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = "a"
    for _ in range(depth):
        value = [value]
    return value


OBJECTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("pairs", [("a", "b"), ("b", "c"), ("c", "a")], {}),
    ("pairs", [("a", "b", 2), ("b", "c", 1.5)], {}),
    ("pairs", {"winner": ["a", "b"], "loser": ["b", "c"], "count": [2, 1]}, {}),
    ("pairs", {"item1": ["a", "b"], "item2": ["b", "c"], "outcome": ["a", "tie"]},
     {"ties": "rao-kupper", "home": "first"}),
    ("pairs", [{"item1": 1, "item2": 2, "wins1": 3, "wins2": 1}], {"ties": "half"}),
    ("pairs", np.array([[0, 2, 1], [1, 0, 2], [2, 2, 0]]), {}),
    ("rankings", [["a", "b", "c"], ["b", ["a", "c"]]], {"ties": "half"}),
    ("rankings", {("a", "b"): 2, ("b", "a"): 1}, {}),
    ("rankings", ["a > b > c", "b = c > a"], {"ties": "half"}),
    ("rankings", {"id": [1, 1, 2, 2], "item": [*"abab"], "rank": [1, 2, 2, 1]}, {}),
    ("rankings", {"a": [1, 2], "b": [2, 1], "c": [0, 3]}, {"unranked": "below"}),
    ("rankings", [[0, 1, 2], [2, 1]], {"unranked": "below", "counts": [1, 2]}),
    ("choices", [("tea", ["tea", "milk"]), ("milk", ["tea", "milk", "wine"], 2)], {}),
    ("choices", {"case": [1, 1, 2, 2], "alternative": [*"abab"], "chosen": [1, 0, 0, 1]}, {}),
    ("choices", {"choice": ["a", "b"], "avail_a": [1, 1], "avail_b": [0, 1]}, {}),
    ("choices", [{"chosen": "a", "losers": ["b", "c"]}, {"chosen": "b", "losers": ["a"]}], {}),
    ("transitions", "aabbbac", {}),
    ("transitions", [["a", "b", "c", "a"], ["c", "b"]], {"rows": "separate"}),
    ("transitions", {"from": ["a", "b"], "to": ["b", "a"], "count": [2, 3]}, {}),
    ("transitions", {"sequence": [1, 1, 1, 2], "time": [3, 1, 2, 1], "state": [*"abca"]}, {}),
    ("transitions", [["a", "b", "a"]], {"forbidden": {"a": ["a"], "b": ["b"]}}),
    ("table", [[5, 2, 1], [3, float("nan"), 4]], {}),
    ("table", {"row": ["x", "y"], "a": [1, 2], "b": [None, 3]}, {"given": "table"}),
    ("table", [[5, 2], [3, 0]], {"possible": [[True, True], [True, False]]}),
    ("teams", [(["a", "b"], ["c", "d"]), (["c"], ["b"], 2)], {}),
    ("teams", {"side1": ["a+b", "c"], "side2": ["c", "d"], "outcome": [1, 0]}, {"home": "first"}),
    ("teams", {"a": [1, 0], "b": [0, 1], "c": [None, 1]}, {}),
    ("groups", {("a",): 14, ("b",): 20, ("a", "b"): 28}, {}),
    ("groups", [["a", "b"], ["c"], ["a"]], {"categories": ["a", "b", "c", "d"]}),
    ("groups", {"group": [["a", "b"], ["c"]], "within": [["a", "b", "c"], None]}, {}),
    ("groups", {"sex": ["f", "m", None], "vote": ["y", None, "n"], "n": [1, 4, 3]},
     {"cells": ["sex", "vote"]}),
]  # fmt: skip


def mutate_object(value: Any, rng: random.Random, depth: int = 0) -> Any:
    """Change one place in lists, tuples and mappings, however deep."""
    inside = isinstance(value, (list, tuple, dict)) and len(value) > 0
    if not inside or rng.random() < 0.12:
        return rng.choice(_RESHAPES)(value, rng)
    if isinstance(value, dict):
        keys = list(value)
        at = rng.randrange(len(keys))
        entries = list(value.items())
        if rng.random() < 0.15:
            new = rng.choice(["", "a", "count", "winner", 0, 1.5, None, ("a", "b"), ("a", ("b",))])
            entries[at] = (new, entries[at][1])
        else:
            entries[at] = (keys[at], mutate_object(entries[at][1], rng, depth + 1))
        return dict(entries)
    items = list(value)
    at = rng.randrange(len(items))
    if rng.random() < 0.1:
        items.insert(at, items[at])
    elif rng.random() < 0.1:
        del items[at]
    else:
        items[at] = mutate_object(items[at], rng, depth + 1)
    return items if isinstance(value, list) else tuple(items)


_RESHAPES: list[Callable[[Any, random.Random], Any]] = [
    *[lambda value, rng: rng.choice(ODD)()] * 6,
    lambda value, rng: [value],
    lambda value, rng: (value, value),
    lambda value, rng: {"a": value},
    lambda value, rng: attempted(np.asarray, value),
    lambda value, rng: attempted(
        lambda v: np.asarray(v).astype(rng.choice(["i1", "u8", "f2", "U2", "O", "?", "c8"])), value
    ),
    lambda value, rng: attempted(set, value),
    lambda value, rng: attempted(iter, value),
]
FRAMES: list[Callable[[Any], Any]] = [
    lambda value: pl.DataFrame(value, strict=False),
    lambda value: pl.LazyFrame(value, strict=False),
    pd.DataFrame,
    lambda value: pd.DataFrame(value).convert_dtypes(),
    lambda value: pl.DataFrame(value, strict=False).to_arrow(),
]


def attempted(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what cannot be converted stays what it is; polars panics
        return value


def is_deep(value: Any, most: int = 5) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return False
    return most == 0 or any(is_deep(part, most - 1) for part in value)


def shown_value(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # nested too deep, or broken in itself
        return "(cannot be shown)"


def check(counts: Any) -> None:
    """Valid counts are finite, could have come from data, and have a posterior."""
    listed = list(counts.values()) if isinstance(counts, dict) else [counts]
    assert listed
    for one in listed:
        assert isinstance(one, luce.ConditionalCounts)
        assert np.isfinite(one.n_outcomes)
        assert one.n_outcomes >= 0
        assert np.isfinite(one.category_counts).all()
        assert (one.category_counts >= 0).all()
        assert np.isfinite(one.sets.exponent).all()
        whole = (one.sets.exponent % 1 == 0).all()  # grouped outcomes of halves are allowed
        if whole and one.n_outcomes < 1e12:  # beyond, sums are not exact
            check_attainable(one.categories, one.category_counts, one.sets)
        luce.Posterior(one)
