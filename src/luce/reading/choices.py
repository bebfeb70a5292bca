"""Choices: one alternative out of those that were on offer.

a chosen out of S              p_a / p(S)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.counts.labels import some
from luce.errors import DataError
from luce.reading.availability import availability_columns, by_label
from luce.reading.categories import all_categories
from luce.reading.columns import (
    Column,
    Rows,
    Runs,
    as_flag,
    as_labels,
    hashable,
    is_list,
    is_missing,
)
from luce.reading.duels import read_counts, run_counts
from luce.reading.given import describe_type, is_frame, source_of
from luce.reading.label_lists import Separator, read_label_lists
from luce.reading.lists import Lists
from luce.reading.reading import Inspection, Reading, reader, require_rows
from luce.reading.roles import find_role, first_layout, no_layout
from luce.reading.sources import PlainSource, Source
from luce.reading.tally import Tally

LAYOUTS = {
    "long": (["case", "alternative", "chosen"], ["count", "available"]),
    "picks": (["chosen", "offered"], ["count"]),
    "losers": (["chosen", "losers"], ["count"]),
}


@reader("choices")
def from_choices(
    data: Any,
    *,
    chosen: str | None = None,
    offered: str | None = None,
    losers: str | None = None,
    case: str | None = None,
    alternative: str | None = None,
    count: str | None = None,
    availability: str | None = None,
    separator: Separator = None,
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
        Columns, where a row is a choice: what was chosen; what was on offer, as a list or a text
        with separators, or else the others that were (`losers`); how often.
    case, alternative, chosen
        Columns, where a row is an alternative of a choice: which choice, which alternative, and 1
        if it was chosen, else 0 (or the label of the chosen one in every row).
    availability
        What the names of columns that tell whether an alternative was on offer start or end with,
        where a row is a choice: "avail" for avail_bus or bus_avail.  The usual ones are found.
    separator
        What stands between labels in a text; found where there is one of | ; + , unless given.
    categories
        All labels in order, where they are not just those that occur.
    skip_bad
        Leave rows out that cannot be used, with a warning that lists them?

    Examples
    --------
    >>> from_choices([("tea", ["tea", "milk"]), ("milk", ["tea", "milk", "wine"])])
    ConditionalCounts(3 categories, 2 outcomes, 1 set)
    """
    columns = {"chosen": chosen, "offered": offered, "losers": losers, "case": case,
               "alternative": alternative, "count": count}  # fmt: skip
    return _read(data, columns, availability, separator, categories, skip_bad)


def _read(
    data: Any,
    columns: Mapping[str, str | None],
    availability: str | None = None,
    separator: Separator = None,
    categories: Labels | None = None,
    skip_bad: bool = False,
) -> Reading:
    """Read choices, and say how many there were."""
    source = _source(data)
    found = first_layout(source.names, columns, LAYOUTS)
    wide = availability_columns(source.names, availability)
    taken = found is not None and any(name in wide.values() for name in found[1].values())
    if found is None or taken or availability is not None:
        if not wide:
            raise no_layout(
                "choices", source.names, LAYOUTS, "; or chosen and columns of availability"
            )
        return _read_wide(source, columns, wide, categories, skip_bad)
    layout, roles = found
    if layout == "long":
        return _read_long(source, roles, categories, skip_bad)
    return _read_picks(source, roles, separator, categories, skip_bad)


def _source(data: Any) -> Source:
    if is_frame(data):
        return source_of(data)
    if not is_list(data):
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
    times = [row[2] if len(row) == 3 else 1 for row in rows]
    return PlainSource({
        "chosen": [row[0] for row in rows],
        "offered": [frozenset(hashable(_as_list(row[1]))) for row in rows],
        "count": times,
    })  # fmt: skip


def _as_list(offered: Any) -> list[Any]:
    if not is_list(offered):
        raise DataError(f"{describe_type(offered)} was given as what was offered; a list of "
                        "labels is needed.")  # fmt: skip
    return list(offered)


def _read_picks(
    source: Source,
    roles: dict[str, str],
    separator: Separator,
    categories: Labels | None,
    skip_bad: bool,
) -> Reading:
    listed = roles["offered" if "offered" in roles else "losers"]
    counted = [roles["count"]] if "count" in roles else []
    rows = source.distinct([roles["chosen"], listed], counted)
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    times = read_counts(rows, counted[0], inspection) if counted else rows.repeats
    chosen = as_labels(rows[roles["chosen"]])
    inspection.refuse(chosen.missing, lambda i: "the chosen one is missing.")
    offered = read_label_lists(rows[listed], separator, inspection, listed)
    texts = {x for value in offered.values for x in value}
    if texts and all(isinstance(x, str) for x in texts):  # 1 in a column of numbers is "1" here
        chosen = Column(chosen.codes, [_as_text(v, texts) for v in chosen.values])
    if "losers" in roles:
        both = [(*offered[i], chosen[i]) for i in range(len(rows))]
        offered = Column.of(_tuples(both))
        for i in range(len(rows)):
            if len(set(offered[i])) < len(offered[i]):
                inspection.refuse_row(i, f"{chosen[i]!r} was chosen and is among the losers.")
    return _count(source, rows, chosen, offered, times, inspection, categories, skip_bad)


def _read_wide(
    source: Source,
    columns: Mapping[str, str | None],
    wide: dict[str, str],
    categories: Labels | None,
    skip_bad: bool,
) -> Reading:
    rest = [name for name in source.names if name not in wide.values()]
    choice = columns.get("chosen") or find_role(rest, "chosen")
    if choice is None:
        raise no_layout("choices", source.names, {"wide": (["chosen"], ["count"])})
    count = columns.get("count") or find_role(rest, "count")
    rows = source.distinct([choice, *wide.values()], [count] if count else [])
    require_rows(source, rows)
    inspection = Inspection(len(rows))
    times = read_counts(rows, count, inspection) if count else rows.repeats
    flags = []
    for name in wide.values():
        values, wrong = rows[name].numbers()
        bad = wrong | ~np.isin(np.nan_to_num(values), (0.0, 1.0))
        for i in np.flatnonzero(bad).tolist():
            inspection.refuse_row(i, f"{name} is {rows[name][i]!r}; 1 (on offer) or 0 is needed.")
        flags.append(np.nan_to_num(values) == 1.0)
    labels = list(wide)
    on_offer = np.stack(flags, axis=1)
    chosen = by_label(as_labels(rows[choice]), labels)
    inspection.refuse(chosen.missing, lambda i: "the chosen one is missing.")
    patterns, codes = np.unique(on_offer, axis=0, return_inverse=True)
    sets = [tuple(labels[j] for j in np.flatnonzero(p)) for p in patterns]
    offered = Column(codes.reshape(-1), sets)
    named = labels if categories is None else categories
    return _count(source, rows, chosen, offered, times, inspection, named, skip_bad)


def _read_long(
    source: Source, roles: dict[str, str], categories: Labels | None, skip_bad: bool
) -> Reading:
    more = [roles[role] for role in ("count", "available") if role in roles]
    runs = source.runs(roles["case"], [roles["alternative"], roles["chosen"], *more])
    require_rows(source, runs)
    items, marks = as_labels(runs[roles["alternative"]]), as_labels(runs[roles["chosen"]])
    inspection = Inspection(len(runs))
    times = run_counts(runs, roles["count"], inspection) if "count" in roles else runs.repeats
    there = runs[roles["available"]].map(as_flag) if "available" in roles else None
    flagged = all(as_flag(value) is not None for value in marks.values)
    picks: list[Label] = []
    sets = []
    for i, span in enumerate(runs.spans()):
        if there is not None:
            if any(there[k] is None for k in span):
                inspection.refuse_row(i, f"{roles['available']} is neither 1 nor 0.")
            offered_rows = [k for k in span if there[k]]
            taken = [k for k in span if flagged and as_flag(marks[k]) and not there[k]]
            if taken:
                inspection.refuse_row(i, f"{items[taken[0]]!r} was chosen but not available.")
        else:
            offered_rows = list(span)
        alternatives = tuple(items[k] for k in offered_rows)
        if flagged:
            winners = [items[k] for k in span if as_flag(marks[k])]
        else:
            winners = list(dict.fromkeys(marks[k] for k in span if not is_missing(marks[k])))
        if len(winners) != 1:
            which = "none" if not winners else f"{len(winners)} ({winners[0]!r}, {winners[1]!r})"
            inspection.refuse_row(i, f"of {len(alternatives)} alternatives {which} is chosen; "
                                     "one is needed.")  # fmt: skip
        if any(map(is_missing, alternatives)):
            inspection.refuse_row(i, "an alternative is missing.")
        elif len(set(alternatives)) < len(alternatives):
            twice = next(x for j, x in enumerate(alternatives) if x in alternatives[:j])
            inspection.refuse_row(i, f"{twice!r} appears twice in one choice.")
        picks.append(winners[0] if winners else None)
        sets.append(alternatives)
    chosen, offered = Column.of(picks), Column.of(_tuples(sets))
    return _count(source, runs, chosen, offered, times, inspection, categories, skip_bad)


def _count(
    source: Source,
    rows: Rows | Runs,
    chosen: Column,
    offered: Column,
    times: FloatArray,
    inspection: Inspection,
    named: Labels | None,
    skip_bad: bool,
) -> Reading:
    sets = [
        frozenset(value) if isinstance(value, tuple) else frozenset() for value in offered.values
    ]
    inside = np.fromiter(
        (chosen[i] in sets[offered.codes[i]] for i in range(len(chosen))), np.bool_, len(chosen)
    )
    inspection.refuse(
        ~inside,
        lambda i: f"{chosen[i]!r} was chosen but not on offer; that was {some(offered[i])}.",
    )
    usable = inspection.settle(source, rows, skip_bad)
    chosen, offered, times = chosen.take(usable), offered.take(usable), times[usable]
    kept = np.unique(offered.codes)
    used = dict.fromkeys(label for k in kept for label in offered.values[k])
    categories = all_categories(used, named)
    index = categories.index
    there = np.zeros(len(sets), np.bool_)
    there[kept] = True
    lists = Lists.of(
        [index[x] for x in value] if ok else []
        for value, ok in zip(offered.values, there.tolist(), strict=True)
    )
    codes: IntArray = np.fromiter((index.get(v, -1) for v in chosen.values), np.int64)[chosen.codes]
    tally = Tally(len(categories))
    tally.add_outcomes(codes, times)
    per_set = np.bincount(offered.codes, times, len(sets)).astype(np.float64)
    tally.add_sets(lists.take(kept), -per_set[kept])
    return Reading(tally.counts(list(categories)), float(times.sum()), "choice")


def _as_text(value: Any, texts: set[Any]) -> Any:
    return str(value) if isinstance(value, int) and str(value) in texts else value


def _tuples(values: list[tuple[Any, ...]]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array
