"""PrefLib files, in the format since 2022 and in the one before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf, isfinite
from typing import Any, NamedTuple

from luce.counts.labels import plural
from luce.errors import DataError, Problem
from luce.reading.sources import Source
from luce.reading.text import LineSource, Row, TextFile
from luce.reading.values import quoted

_READ = ("soc", "soi", "toc", "toi", "wmd")  # types of data
_MOST = 10**15  # largest count of voters or alternatives

_KEYS = r"FILE NAME|DATA TYPE|NUMBER ALTERNATIVES|ALTERNATIVE NAME \d+"
_NEW_HEAD = re.compile(rf"^[ \t]*#\s*({_KEYS})\s*:", re.IGNORECASE | re.MULTILINE)
_OLD_HEAD = re.compile(r"[0-9]+[ \t]*(,[ \t]*[0-9]+[ \t]*)?$", re.MULTILINE)
_NAME_KEY = re.compile(r"ALTERNATIVE NAME ([0-9]{1,16})")
_WHOLE = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# One place of an order and its end: a class in braces, or everything up to the next comma.
_PLACE = re.compile(r"(?:\s*+\{([^{}]*+)\}\s*+|([^{},]*+))(,|\Z)")

_Line = tuple[int, str]
_Claims = list[tuple[int, str, str]]  # line and value of a total in the header, and its unit


class Order(NamedTuple):
    """Classes of alternatives, best first, as `count` voters ranked them; 2 or more are tied."""

    line: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    classes: tuple[tuple[int, ...], ...]


class Edge(NamedTuple):
    """An edge of a weighted graph between two alternatives."""

    line: int
    source: int
    target: int
    weight: float


class PrefLib(NamedTuple):
    """The content of a PrefLib file; alternatives are numbered from 0, in the order of `names`."""

    data_type: str
    names: list[str]
    orders: list[Order]
    edges: list[Edge]
    problems: list[Problem]


def is_preflib(head: str, suffix: str) -> bool:
    """Tell from its beginning and its suffix whether a file holds PrefLib data."""
    head = head.lstrip()
    if head.startswith("#"):
        return _NEW_HEAD.search(head) is not None
    return suffix.lower().lstrip(".") in (*_READ, "cat") and _OLD_HEAD.match(head) is not None


def parse_preflib(lines: Iterable[tuple[int, str]], suffix: str) -> PrefLib:
    """Read the lines of a PrefLib file.

    Parameters
    ----------
    lines
        Number and text of each line, without line ends.
    suffix
        Suffix of the file. It tells the type of data where the header does not.

    Returns
    -------
    PrefLib
        Orders and edges keep their repetitions. Lines that cannot be used are only among the
        problems. A header that leaves the meaning of the data open raises DataError.
    """
    full = ((line, text.strip()) for line, text in lines if text.strip())
    if not (first := next(full, None)):
        raise DataError("the file is empty; a PrefLib file begins with its header.")
    new = first[1].startswith("#")
    out, claims, body = (_new_header if new else _old_header)(chain([first], full), suffix)
    # Old graphs name their alternatives from 1 on, but their edges count from 0.
    lowest = 0 if out.data_type == "wmd" and not new else 1
    for line, text in body:
        try:
            if text.startswith("#"):
                raise DataError("a header line stands among the data; all of them must come first.")
            if out.data_type == "wmd":
                out.edges.append(_edge(line, text, lowest, len(out.names)))
            else:
                out.orders.append(_order(line, text, ":" if new else ",", out))
        except DataError as why:
            out.problems.append(Problem(line, str(why)))
    out.problems.extend(list(_disagreements(claims, out)))
    return out


def preflib_source(text: TextFile, kind: str | None) -> tuple[Source, str, dict[str, Any]]:
    """Open a PrefLib file: its rows, their kind, and the options that the format settles."""
    parsed = parse_preflib(text.lines(), text.suffix)
    problems = text.problems | set(parsed.problems)
    names = parsed.names
    if parsed.data_type == "wmd":
        if kind != "pairs":
            raise DataError(
                "a weighted graph (wmd) does not say what its weights are. If an edge from a to b "
                "of weight w means that a beat b w times, say kind='pairs' (--kind pairs)."
            )
        edges = [(e.line, (names[e.source], names[e.target], e.weight)) for e in parsed.edges]
        columns = ["winner", "loser", "count"]
        source = LineSource(text.path.name, columns, lambda: iter(edges), problems)
        return source, "pairs", {"categories": names}
    if kind not in (None, "rankings"):
        raise DataError(f"kind = {kind!r}, but {parsed.data_type} files hold rankings.")

    def rows() -> Iterator[Row]:
        for order in parsed.orders:
            classes = tuple(
                names[c[0]] if len(c) == 1 else frozenset(names[k] for k in c)
                for c in order.classes
            )
            yield order.line, (classes, order.count)

    source = LineSource(text.path.name, ["order", "count"], rows, problems)
    return source, "rankings", {"categories": names, "layout": "orders"}


def _new_header(lines: Iterator[_Line], suffix: str) -> tuple[PrefLib, _Claims, Iterator[_Line]]:
    given: dict[str, _Line] = {}
    named: dict[int, _Line] = {}
    body: Iterator[_Line] = iter(())
    for line, text in lines:
        if not text.startswith("#"):
            body = chain([(line, text)], lines)
            break
        left, _, value = text[1:].partition(":")
        key = " ".join(left.upper().split())
        alternative = _NAME_KEY.fullmatch(key)
        if alternative is None:
            given[key] = (line, value.strip())
        elif named.setdefault(int(alternative[1]), (line, value.strip()))[0] != line:
            raise DataError(f"line {line} names alternative {alternative[1]} a second time.")
    data_type = _known_type(given.get("DATA TYPE", (0, ""))[1] or suffix)
    line, claim = given.get("NUMBER ALTERNATIVES", (0, ""))
    n = _whole(claim, f"NUMBER ALTERNATIVES on line {line}") if claim else len(named)
    lacking = next((k for k in range(1, n + 1) if k not in named), None)
    if lacking or len(named) != max(n, 1):
        raise DataError(
            f"{plural(len(named), 'name')} are given for {plural(n, 'alternative')}; a line "
            f"'# ALTERNATIVE NAME {lacking or 'k'}: name' is needed, one for each k from 1 on."
        )
    names = _distinct([named[k] for k in range(1, n + 1)])
    keys = {"NUMBER VOTERS": "voters", "NUMBER UNIQUE ORDERS": "unique orders"}
    keys = {"NUMBER EDGES": "edges"} if data_type == "wmd" else keys
    claims = [(*given[key], what) for key, what in keys.items() if key in given]
    return PrefLib(data_type, names, [], [], []), claims, body


def _old_header(lines: Iterator[_Line], suffix: str) -> tuple[PrefLib, _Claims, Iterator[_Line]]:
    data_type = _known_type(suffix)
    start, text = next(lines)
    claimed, _, edges = text.partition(",") if data_type == "wmd" else (text, "", "")
    n = _whole(claimed.strip(), f"the number of alternatives on line {start}")
    named: list[_Line] = []
    while len(named) < n:
        line, text = next(lines, (0, "the end"))
        number, _, name = text.partition(",")
        if number.strip() != str(len(named) + 1):
            raise DataError(
                f"line {start} says {plural(n, 'alternative')}, but {quoted(text)} stands where "
                f"'{len(named) + 1},name' is needed (line {line})."
            )
        named.append((line, name.strip()))
    out = PrefLib(data_type, _distinct(named), [], [], [])
    if data_type == "wmd":
        return out, [(start, edges.strip(), "edges")], lines
    line, text = next(lines, (0, ""))
    totals = [part.strip() for part in text.split(",")]
    if len(totals) != 3 or not all(_WHOLE.fullmatch(total) for total in totals):
        raise DataError(
            f"{quoted(text)} follows the names of {plural(n, 'alternative')}; the line "
            "'voters,sum of counts,unique orders' is needed there."
        )
    return out, [(line, totals[1], "voters"), (line, totals[2], "unique orders")], lines


def _distinct(named: list[_Line]) -> list[str]:
    seen: dict[str, int] = {}
    for line, name in named:
        if not name or seen.setdefault(name, line) != line:
            given = f"{quoted(name)}, as line {seen[name]} does" if name else "an empty name"
            raise DataError(f"line {line} gives {given}; every alternative needs its own name.")
    return list(seen)


def _order(line: int, text: str, sign: str, file: PrefLib) -> Order:
    kind, n = file.data_type, len(file.names)
    before, _, body = text.partition(sign)
    count = _whole(before.strip(), f"the count, up to the first {sign!r},")
    classes: list[tuple[int, ...]] = []
    at, more = 0, body.strip()
    while more:
        place = _PLACE.match(body, at)
        if place is None:
            raise DataError(f"the braces in {quoted(body)} do not pair; a tie is {{a,b}}.")
        tied, one, more = place.groups()
        if tied is None or tied.strip():  # `{}` is an empty class
            parts = [one] if tied is None else tied.split(",")
            classes.append(tuple([_alternative(part, 1, n) for part in parts]))
        at = place.end()
    ranked = [number for members in classes for number in members]
    if not ranked:
        raise DataError("no alternative is ranked; an order needs at least one.")
    if len(set(ranked)) < len(ranked):
        twice = Counter(ranked).most_common(1)[0][0] + 1
        raise DataError(f"alternative {twice} is ranked twice; each can have one place only.")
    if kind[0] == "s" and len(classes) < len(ranked):
        raise DataError(f"alternatives are tied; files of type {kind} hold strict orders.")
    if kind[2] == "c" and len(ranked) < n:
        raise DataError(f"{len(ranked)} of {n} alternatives are ranked; type {kind} needs all.")
    return Order(line, count, tuple(classes))


def _edge(line: int, text: str, lowest: int, n: int) -> Edge:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3:
        raise DataError(f"{quoted(text)} is no edge; 'source,target,weight' is needed.")
    source, target = (_alternative(part, lowest, n) for part in parts[:2])
    if source == target:
        raise DataError(f"an edge leads from alternative {parts[0]} to itself; two are needed.")
    weight = float(parts[2]) if _DECIMAL.fullmatch(parts[2]) else inf
    if not isfinite(weight):
        raise DataError(f"the weight is {quoted(parts[2])}; a finite number from 0 on is needed.")
    return Edge(line, source, target, weight)


def _alternative(text: str, lowest: int, n: int) -> int:
    number = int(text) - lowest if _WHOLE.fullmatch(text := text.strip()) else -1
    if not 0 <= number < n:
        last = n - 1 + lowest
        raise DataError(f"{quoted(text)} is no alternative; their numbers are {lowest} to {last}.")
    return number


def _disagreements(claims: _Claims, out: PrefLib) -> Iterator[Problem]:
    # Some writers give every voter a line, so that either number of orders may be announced.
    orders = [len({order.classes for order in out.orders}), len(out.orders)]
    voters = [sum(order.count for order in out.orders)]
    found = {"voters": voters, "unique orders": orders, "edges": [len(out.edges)]}
    for line, value, what in claims:
        if not _WHOLE.fullmatch(value or "0"):  # some writers leave it empty
            yield Problem(line, f"{quoted(value)} {what} are announced; a whole number is needed.")
        # A line that was left out explains a difference.
        elif value and not out.problems and int(value) not in found[what]:
            there = f"{found[what][0]:,}"
            yield Problem(line, f"{int(value):,} {what} are announced, but the file has {there}.")


def _known_type(given: str) -> str:
    data_type = given.lower().lstrip(".")
    if data_type not in _READ:
        cat = ", groups of alternatives and no order," if data_type == "cat" else ""
        types = ", ".join(_READ)
        raise DataError(f"the data are of type {quoted(given)}{cat} but luce reads {types}.")
    return data_type


def _whole(text: str, what: str) -> int:
    if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= _MOST:
        raise DataError(f"{what} is {quoted(text)}; a whole number from 1 to {_MOST:,} is needed.")
    return int(text)
