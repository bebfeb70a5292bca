"""Choices: one alternative out of those that were on offer.

a chosen out of S              p_a / p(S)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label, Labels
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.frames import is_frame, source_of
from luce.reading.inspection import Inspection
from luce.reading.kind import Columns, Layout, Reading, find_role, leave_out
from luce.reading.kinds import CHOICES, availability_columns
from luce.reading.rows import Column, Runs
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Lists, Tally
from luce.reading.values import (
    as_flag,
    as_number,
    describe_type,
    hashable,
    in_order,
    is_list,
    is_missing,
    objects,
    plain,
    refuse_weights,
    repeated,
)

_WIDE = Layout(("chosen",), ("count",))  # beside the columns of availability


@CHOICES.reader
def from_choices(
    data: Any,
    *,
    chosen: str | None = None,
    offered: str | None = None,
    losers: str | None = None,
    case: str | None = None,
    alternative: str | None = None,
    available: str | None = None,
    count: str | None = None,
    availability: str | None = None,
    separator: str | None = None,
    codes: Mapping[Any, Label] | None = None,
    ignore: Sequence[str] = (),
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read choices from changing assortments.

    Parameters
    ----------
    data
        A list of (chosen, offered) or (chosen, offered, count), where `offered` lists all that
        could be chosen; or a frame in one of the layouts below.
    chosen, offered, losers, count
        Columns, where a row is a choice: the chosen alternative; those on offer, as a list or a
        text with separators, or else the others that were on offer (`losers`); how often.
    case, alternative, chosen, available
        Columns, where a row is an alternative of a choice: which choice, which alternative, 1 if it
        was chosen, else 0 (or the label of the chosen one in every row), and 1 if it was on offer.
    availability
        The start or end of the names of columns that tell whether an alternative was on offer,
        where a row is a choice: "avail" for avail_bus or bus_avail.  The usual ones are found.
    separator
        Text between labels; found where there is one of | ; + and comma, unless given.
    codes
        Labels of alternatives that are written as codes, such as {1: "train", 2: "car"}; 1 is also
        the text "1".
    ignore
        Columns to leave out.  Any other column that is not read, and that holds numbers or times or
        names judges, is warned of.
    categories
        All labels in order; those that occur, sorted, unless given.
    skip_bad
        Leave bad rows out, with a warning that lists them?

    Examples
    --------
    >>> from_choices([("tea", ["tea", "milk"]), ("milk", ["tea", "milk", "wine"])])
    ConditionalCounts(3 categories, 2 outcomes, 1 set)
    """
    columns = CHOICES.columns(locals())
    decode = _decoder(codes)
    source = leave_out(_source(data), ignore)
    found = CHOICES.match(source.names, columns)
    wide = availability_columns(source.names, availability)
    taken = found is not None and any(name in wide.values() for name in found.roles.values())
    if wide and (found is None or taken or availability is not None):
        inspection = _inspect_wide(source, columns, wide)
        times = inspection.counts()
        picks, sets = _read_wide(inspection, wide, decode)
        categories = list(wide) if categories is None else categories
    else:
        found = found or CHOICES.require(source.names, columns)
        inspection = CHOICES.inspect(source, found)
        times = inspection.counts()
        long = found.layout == "long"
        if long:
            picks, sets = _read_long(inspection, decode)
        else:
            picks, sets = _read_picks(inspection, separator, decode)
    return _count(inspection, picks, sets, times, categories, skip_bad)


def _count(
    inspection: Inspection,
    chosen: Column,
    offered: Column,
    times: FloatArray,
    categories: Labels | None,
    skip_bad: bool,
) -> Reading:
    """Count the chosen alternatives, each given those on offer."""
    sets = [frozenset(labels) for labels in offered.values]
    codes = zip(chosen.codes.tolist(), offered.codes.tolist(), strict=True)
    inside = np.fromiter((chosen.values[c] in sets[o] for c, o in codes), np.bool_, len(chosen))
    everything = set(chain.from_iterable(sets))
    if not inside.any():
        _ask_for_codes(chosen, everything)
    inspection.refuse(
        ~inside,
        lambda i: (
            f"{chosen[i]!r} was chosen but not on offer; that was {some(offered[i])}."
            f"{_code_hint(chosen[i], everything)}"
        ),
    )
    usable = inspection.settle(skip_bad)
    chosen, offered, times = chosen.take(usable), offered.take(usable), times[usable]
    tally = Tally.over(dict.fromkeys(chain.from_iterable(offered.present())), categories)
    picks = tally.numbers(chosen)
    tally.add_outcomes(picks, times)
    there = np.bincount(offered.codes, minlength=len(sets)) > 0
    kept = np.flatnonzero(there)
    per_set = np.bincount(offered.codes, times, len(sets)).astype(np.float64)
    shelves = tally.lists(Column(kept, offered.values))
    tally.add_sets(shelves, -per_set[kept])
    given = (np.cumsum(there) - 1)[offered.codes]
    tally.remember(Lists.singles(picks), times, lambda: shelves, given)
    return CHOICES.reading(tally.counts(), times.sum())


def _ask_for_codes(chosen: Column, labels: set[Any]) -> None:
    """Ask what numbers stand for, where every choice is one and no label is."""
    picked = set(chosen.present())
    if not picked or not all(_may_be_code(value, labels) for value in picked):
        return
    numbers = [f"{as_number(value):g}" for value in in_order(picked)]
    raise DataError(
        f"{some(in_order(picked))} were chosen, and on offer were {some(in_order(labels))}. If "
        f"these are codes, say what each stands for: codes={{{numbers[0]}: '...', ...}} "
        f"(--codes {','.join(f'{number}=...' for number in numbers[:6])})."
    )


def _code_hint(chosen: Any, labels: set[Any]) -> str:
    """Name the option that reads a number as a label, where the labels are no numbers."""
    if not _may_be_code(chosen, labels):
        return ""
    code = f"{as_number(chosen):g}"
    return (
        f" If {code} is a code, say what it stands for: codes={{{code}: '...'}} "
        f"(--codes {code}=...)."
    )


def _may_be_code(chosen: Any, labels: set[Any]) -> bool:
    """Tell a number that was chosen where the labels are no numbers."""
    number = as_number(chosen)
    return number is not None and number == number and bool(labels) and all(map(_is_word, labels))


def _is_word(label: Any) -> bool:
    return isinstance(label, str) and as_number(label) is None


def _decoder(codes: Mapping[Any, Label] | None) -> Callable[[Any], Any]:
    """Return a function from a value to its label; numbers are found as numbers and as texts."""
    if codes is None:
        return _as_it_is
    if not isinstance(codes, Mapping) or not codes:
        raise DataError(f"codes = {codes!r}; a mapping from codes to labels is needed.")
    numbers = {as_number(code): label for code, label in codes.items()}

    def decode(value: Any) -> Any:
        if is_missing(value):
            return value
        number = as_number(value)
        if value in codes or number is None:
            return codes.get(value, value)
        return numbers.get(number, value)

    return decode


def _as_it_is(value: Any) -> Any:
    return value


def _source(data: Any) -> Source:
    """Open the data, and name the columns of a list of choices."""
    if is_frame(data) or not is_list(data):
        return source_of(data)
    rows = list(data)
    if not rows:
        raise DataError("there are no choices.")
    for i, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) not in (2, 3):
            raise DataError(
                f"choice {i} is {describe_type(row)}; (chosen, offered) or (chosen, offered, "
                "count) is needed."
            )
    offered = [_assortment(row[1]) for row in rows]
    counts = [row[2] if len(row) == 3 else 1 for row in rows]
    return PlainSource({"chosen": [row[0] for row in rows], "offered": offered, "count": counts})


def _assortment(given: Any) -> frozenset[Any]:
    refuse_weights(given)
    if not is_list(given):
        raise DataError(
            f"{describe_type(given)} was given as what was offered; a list of labels is needed."
        )
    return frozenset(hashable(list(given)))


def _read_picks(
    inspection: Inspection, separator: str | None, decode: Callable[[Any], Any]
) -> tuple[Column, Column]:
    """Read a choice a row, with a list of those on offer, or of those not chosen."""
    chosen = inspection.labels("chosen")
    inspection.refuse(chosen.missing, lambda i: "the chosen one is missing.")
    listed = "offered" if "offered" in inspection else "losers"
    offered = inspection.label_lists(listed, separator)
    if decode is not _as_it_is:
        offered = Column(offered.codes, [tuple(map(decode, labels)) for labels in offered.values])
        chosen = Column(chosen.codes, [decode(value) for value in chosen.values])
    texts = set(chain.from_iterable(offered.values))
    if texts and all(isinstance(x, str) for x in texts):  # 1 in a column of numbers is "1" here
        chosen = Column(chosen.codes, [_as_text(v, texts) for v in chosen.values])
    if listed == "losers":
        return chosen, _with_chosen(inspection, offered, chosen)
    return chosen, offered


def _with_chosen(inspection: Inspection, losers: Column, chosen: Column) -> Column:
    """Add the chosen alternative to those not chosen, among which it must not be."""
    there = ~chosen.missing
    for i in range(len(inspection)):
        if there[i] and chosen[i] in losers[i]:
            inspection.refuse_row(i, f"{chosen[i]!r} was chosen and is among the losers.")
    return Column.of(objects((*losers[i], chosen[i]) for i in range(len(inspection))))


def _as_text(value: Any, texts: set[Any]) -> Any:
    return str(value) if isinstance(value, int) and str(value) in texts else value


def _inspect_wide(source: Source, columns: Columns, wide: Mapping[str, str]) -> Inspection:
    """Take the rows of choices with columns of availability out of a source."""
    rest = [name for name in source.names if name not in wide.values()]
    found = {role: columns[role] or find_role(rest, role) for role in _WIDE.roles}
    roles = {role: name for role, name in found.items() if name}
    if "chosen" not in roles:
        raise CHOICES.no_layout(source.names, _WIDE)
    counted = [roles["count"]] if "count" in roles else []
    rows = source.distinct([roles["chosen"], *wide.values()], counted)
    parts = {column: f"availability of {label}" for label, column in wide.items()}
    return Inspection(source, rows, roles, parts)


def _read_wide(
    inspection: Inspection, wide: Mapping[str, str], decode: Callable[[Any], Any]
) -> tuple[Column, Column]:
    """Read a choice a row, with a column of 1 and 0 for each alternative."""
    on_offer = np.stack([_on_offer(inspection, name) for name in wide.values()], axis=1)
    labels = list(wide)
    picked = inspection.labels("chosen")
    chosen = Column(picked.codes, _by_label([decode(v) for v in picked.values], labels))
    inspection.refuse(chosen.missing, lambda i: "the chosen one is missing.")
    patterns, codes = np.unique(on_offer, axis=0, return_inverse=True)
    sets = [tuple(labels[j] for j in np.flatnonzero(p)) for p in patterns]
    return chosen, Column(codes.reshape(-1), sets)


def _on_offer(inspection: Inspection, name: str) -> BoolArray:
    """Read a column of availability."""
    column = inspection.rows[name]
    values, wrong = column.numbers()
    flags = np.nan_to_num(values)
    inspection.refuse(
        wrong | ~np.isin(flags, (0.0, 1.0)),
        lambda i: f"{name} is {column[i]!r}; 1 (on offer) or 0 is needed.",
    )
    on_offer: BoolArray = flags == 1.0
    return on_offer


def _by_label(chosen: list[Any], labels: list[str]) -> list[Any]:
    """Spell choices as labels; numbers are compared as numbers, words without punctuation."""
    exact = set(labels)
    numbers = {as_number(label): label for label in labels}
    words = {plain(label): label for label in labels}
    if len(words) < len(labels):  # labels that differ in spelling alone must be spelled out
        words = {}

    def label_of(value: Any) -> Any:
        if value in exact or is_missing(value):
            return value
        number = as_number(value)
        if number is not None:
            return numbers.get(number, value)
        return words.get(plain(str(value)), value)

    return [label_of(value) for value in chosen]


def _read_long(inspection: Inspection, decode: Callable[[Any], Any]) -> tuple[Column, Column]:
    """Read an alternative a row, and all rows of one case as one choice."""
    runs = inspection.rows
    assert isinstance(runs, Runs)
    items, marks = inspection.labels("alternative"), inspection.labels("chosen")
    flags = [as_flag(value) for value in marks.values]
    flagged = None not in flags  # else each row names the chosen alternative
    items = Column(items.codes, [decode(value) for value in items.values])
    if not flagged:
        marks = Column(marks.codes, [decode(value) for value in marks.values])
    there = inspection["available"].map(as_flag) if "available" in inspection else None
    picks: list[Label] = []
    sets = []
    for i, span in enumerate(runs.spans()):
        if there is None:
            alternatives = tuple(items[k] for k in span)
        else:
            _check_available(inspection, i, [(items[k], there[k], marks[k]) for k in span], flagged)
            alternatives = tuple(items[k] for k in span if there[k])
        if flagged:
            winners = [items[k] for k in span if flags[marks.codes[k]]]
        else:
            winners = list(dict.fromkeys(marks[k] for k in span if not is_missing(marks[k])))
        _check_choice(inspection, i, winners, alternatives)
        picks.append(winners[0] if winners else None)
        sets.append(alternatives)
    return Column.of(picks), Column.of(objects(sets))


def _check_available(
    inspection: Inspection, i: int, rows: list[tuple[Any, bool | None, Any]], flagged: bool
) -> None:
    """Refuse choice i where availability is unclear, or where the chosen one was unavailable."""
    if any(there is None for _, there, _ in rows):
        inspection.refuse_row(i, f"{inspection.roles['available']} is neither 1 nor 0.")
    absent = [item for item, there, mark in rows if flagged and as_flag(mark) and not there]
    if absent:
        inspection.refuse_row(i, f"{absent[0]!r} was chosen but not available.")


def _check_choice(
    inspection: Inspection, i: int, winners: list[Any], alternatives: tuple[Any, ...]
) -> None:
    """Refuse choice i unless one of several different alternatives was chosen."""
    if len(winners) != 1:
        which = "none" if not winners else f"{len(winners)} ({winners[0]!r}, {winners[1]!r})"
        inspection.refuse_row(
            i, f"of {len(alternatives)} alternatives {which} is chosen; one is needed."
        )
    if any(map(is_missing, alternatives)):
        inspection.refuse_row(i, "an alternative is missing.")
    elif len(set(alternatives)) < len(alternatives):
        inspection.refuse_row(i, f"{repeated(alternatives)!r} appears twice in one choice.")
