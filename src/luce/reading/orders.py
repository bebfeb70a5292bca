"""One ranking after another, as labels, until they are counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from luce._types import Label, Labels
from luce.counts.labels import Categories, is_hashable, shown
from luce.errors import DataError
from luce.reading.categories import all_categories
from luce.reading.columns import is_missing
from luce.reading.label_lists import is_printed_list
from luce.reading.lists import Lists
from luce.reading.reading import Reading
from luce.reading.tally import Tally
from luce.reading.ties import ask_for_meaning

MEANINGS = ("half", "last")  # of equal ranks
_MOST_ORDERS = 120  # of tied items in one ranking: five of them


class Order(NamedTuple):
    """A ranking as it was told.

    Parameters
    ----------
    classes
        Labels, best first; a class of two or more is a tie.
    below
        Labels only known to come after all of these.
    zeros
        Labels whose rank is 0: they were listed and not ranked.
    blanks
        Labels that were listed with nothing beside them.
    count
        How often this ranking occurs.
    """

    classes: tuple[tuple[Label, ...], ...]
    below: tuple[Label, ...] = ()
    zeros: tuple[Label, ...] = ()
    blanks: tuple[Label, ...] = ()
    count: float = 1.0  # type: ignore[assignment]  # hides tuple.count, which nobody needs

    @property
    def labels(self) -> Iterator[Label]:
        """Everybody of whom something is said."""
        return chain(*self.classes, self.below, self.zeros)


class WrongOrderError(ValueError):
    """What is wrong with one ranking, as a sentence."""


def read_order(given: Any, separator: str = ">") -> tuple[tuple[Label, ...], ...]:
    """Read a ranking: labels best first, sets among them for ties; or a text as "a > b = c".

    A text is split at `separator`, or at spaces where that is empty.

    Examples
    --------
    >>> read_order("a > b = c")
    (('a',), ('b', 'c'))
    """
    if isinstance(given, str):
        if is_printed_list(given):
            raise WrongOrderError(f"{given!r} is a list printed as text; write it as a > b > c.")
        parts = [p.strip() for p in given.split(separator or None)] if given.strip() else []
        places: Sequence[Any] = [p.split("=") if "=" in p else p for p in parts]
        places = [[x.strip() for x in p] if isinstance(p, list) else p for p in places]
    elif isinstance(given, Iterable):
        places = [x.strip() if isinstance(x, str) else x for x in given]
    else:
        raise WrongOrderError(f"{given!r} is not a ranking; a list of labels is needed.")
    while places and is_missing(places[-1]):  # padding at the end, as in tables of places
        places = places[:-1]
    classes = tuple(
        tuple(place) if isinstance(place, (frozenset, set, list)) else (place,) for place in places
    )
    check_order(classes)
    return classes


def check_order(classes: tuple[tuple[Label, ...], ...], *others: Iterable[Label]) -> None:
    """Refuse a ranking that is empty, or that names somebody twice."""
    if not classes:
        raise WrongOrderError("the ranking is empty.")
    seen: set[Label] = set()
    for label in chain(*classes, *others):
        if is_missing(label):
            raise WrongOrderError("a place is empty.")
        if not is_hashable(label):
            raise WrongOrderError(f"{shown(label)} cannot be a label: labels must be hashable.")
        if label in seen:
            raise WrongOrderError(f"{label!r} appears twice in one ranking.")
        seen.add(label)
    if not all(classes):
        raise WrongOrderError("a place is empty.")


def count_orders(
    orders: list[Order],
    unranked: str | None,
    blank: str | None,
    ties: str | None,
    named: Labels | None,
) -> Reading:
    """Turn rankings into counts."""
    listed = chain(*(chain(o.labels, o.blanks) for o in orders))
    categories = all_categories(dict.fromkeys(listed), named)
    number = float(sum(order.count for order in orders))
    _ask_about_ties(orders, ties)
    meaning = _meaning_of_silence(orders, len(categories), unranked, blank)
    tally = Tally(len(categories))
    plain: list[tuple[list[int], list[int], float]] = []
    rest: list[tuple[list[int], float]] = []
    for order in orders:
        for ranked, below, weight in _strict(order, ties, unranked):
            if not ranked:  # nobody finished: it says nothing
                continue
            places = [categories.index[label] for label in ranked]
            if meaning == "below" and _nobody_absent(order, unranked):
                rest.append((places, weight))
                continue
            after = [categories.index[label] for label in below]
            if meaning == "below":
                after = _everybody_else(categories, order, ranked)
            plain.append((places, after, weight))
    tally.add_rankings(Lists.of(p for p, _ in rest), None, _weights(w for _, w in rest))
    tally.add_rankings(
        Lists.of(p for p, _, _ in plain),
        Lists.of(b for _, b, _ in plain),
        _weights(w for _, _, w in plain),
    )
    return Reading(tally.counts(list(categories)), number, "ranking")


def find_separator(texts: Iterable[str]) -> str:
    """Find the strongest separator in any of the texts, or "" for spaces.

    All texts are split by one, since a ranking of one alone may have spaces in its name.
    """
    every = list(texts)
    if any("=" in text for text in every) and not any(s in t for t in every for s in "|;\t,"):
        return ">"
    return next((s for s in (">", "|", ";", "\t", ",") if any(s in t for t in every)), "")


def _ask_about_ties(orders: list[Order], ties: str | None) -> None:
    tied = sum(order.count for order in orders if any(len(c) > 1 for c in order.classes))
    ask_for_meaning(tied, ties, MEANINGS, "ranking with a tie", "rankings with ties")


def _meaning_of_silence(
    orders: list[Order], n: int, unranked: str | None, blank: str | None
) -> str:
    """Decide what it means not to be mentioned, or to be ranked 0; ask where it matters."""
    for order in orders:
        silent = n - sum(1 for _ in order.labels)
        if (order.zeros and unranked is None) or (silent and (blank or unranked) is None):
            who = f"{len(order.zeros) or silent} of {n}"
            raise DataError(
                f"some rankings leave items out (one leaves out {who}), which can mean two "
                "things. unranked='absent' says that they took no part; unranked='below' that "
                "they come after all who are ranked. (On the command line: --unranked.)"
            )
    return blank or unranked or "absent"


def _nobody_absent(order: Order, unranked: str | None) -> bool:
    return not order.zeros or unranked == "below"


def _everybody_else(categories: Categories, order: Order, ranked: Sequence[Label]) -> list[int]:
    out = {categories.index[label] for label in chain(ranked, order.zeros)}
    return [i for i in range(len(categories)) if i not in out]


def _strict(
    order: Order, ties: str | None, unranked: str | None
) -> Iterator[tuple[tuple[Label, ...], tuple[Label, ...], float]]:
    """Rankings without ties that stand for this one, who is below, and what each counts."""
    classes, below = order.classes, order.below
    if unranked == "below":
        below += order.zeros
    if ties == "last" and classes and len(classes[-1]) > 1:
        classes, below = classes[:-1], below + classes[-1]
    orders = 1 if ties is None else prod(factorial(len(c)) for c in classes)
    for places in product(*(permutations(c) for c in classes)) if orders > 1 else [classes]:
        yield tuple(chain(*places)), below, order.count / orders


def check_ties_of(order: Order, ties: str | None, others_below: bool) -> None:
    """Refuse ties that the meaning asked for does not cover."""
    sizes = [len(c) for c in order.classes]
    if ties == "half" and prod(map(factorial, sizes)) > _MOST_ORDERS:
        raise WrongOrderError(
            f"its ties allow {prod(map(factorial, sizes)):,} orders; ties='half' counts them all, "
            f"up to {_MOST_ORDERS}."
        )
    if ties == "last":
        if any(size > 1 for size in sizes[:-1]):
            raise WrongOrderError("a tie is not in last place, which ties='last' needs.")
        if sizes and sizes[-1] > 1 and (order.below or others_below):
            raise WrongOrderError(
                "a tie is above somebody who is only known to be below, so it is not the last."
            )


def _weights(values: Iterable[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.fromiter(values, np.float64)
