"""Single rankings, as orders of labels with ties, and what they count.

a before b before c            p_a / (p_a + p_b + p_c) * p_b / (p_b + p_c)
d, only known to be below      p_d joins every denominator and wins nothing
d, absent                      p_d appears nowhere
b and c tied                   as `luce.reading.ties` says
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from luce._types import Label, Labels
from luce.counts.labels import Categories, is_hashable, shown
from luce.counts.placings import joined
from luce.counts.tied_blocks import tied_blocks
from luce.counts.tied_choices import tied_choices
from luce.errors import DataError
from luce.reading.questions import Questions
from luce.reading.tally import Lists, Tally
from luce.reading.ties import ask_for_meaning, check_ties
from luce.reading.values import as_number, is_missing, is_printed_list, stripped

TIE_MEANINGS = ("unknown", "davidson-luce", "half", "last", "drop")  # of equal ranks
_MOST_ORDERS = 120  # of tied items in one ranking: five of them
_MOST_RANK = 1e15

# Texts in race results for retired, withdrawn, did not start, disqualified, and so on.
_USUAL_TEXTS = (
    "ret retired rt wd withdrew withdrawn dns dnf dsq dq disq dnp dnc nc dnq nq np ex exc sick "
    "otl ocs bfd raf"
)
DID_NOT_FINISH = frozenset(_USUAL_TEXTS.split())


class Order(NamedTuple):
    """One ranking, with ties and items that have no rank.

    Parameters
    ----------
    classes
        Labels, best first; a class of two or more is a tie.
    below
        Labels only known to come after all of these.
    zeros
        Labels whose rank is 0: they were listed and not ranked.
    blanks
        Labels that were listed without a rank.
    count
        Number of times this ranking occurs.
    ranks
        Rank of each class, where the ranks were given as numbers.
    """

    classes: tuple[tuple[Label, ...], ...]
    below: tuple[Label, ...] = ()
    zeros: tuple[Label, ...] = ()
    blanks: tuple[Label, ...] = ()
    count: float = 1.0  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    ranks: tuple[float, ...] = ()

    @property
    def is_tied(self) -> bool:
        """Do two labels share a place?"""
        return max(map(len, self.classes), default=0) > 1

    @property
    def listed(self) -> Iterator[Label]:
        """All labels, those without a rank last."""
        return chain(*self.classes, self.below, self.zeros, self.blanks)

    @property
    def n_ranked(self) -> int:
        """Number of labels with a rank, 0 included, or below all ranks."""
        return sum(map(len, self.classes)) + len(self.below) + len(self.zeros)


def labels_of(orders: Iterable[Order]) -> dict[Label, None]:
    """Return all labels of orders, in the order in which they first occur."""
    return dict.fromkeys(chain.from_iterable(order.listed for order in orders))


class WrongOrderError(ValueError):
    """A ranking that cannot be used; the message says why, as a sentence."""


@dataclass(frozen=True)
class RankOptions:
    """Meanings of ranks: of 0, of nothing, of ties and of texts, and which rank is best."""

    unranked: str | None = None
    blank: str | None = None
    best: str | None = None
    did_not_finish: Iterable[str] | None = None
    ties: str | None = None
    bottom: str | None = None

    def __post_init__(self) -> None:
        check_ties(self.ties, TIE_MEANINGS)
        if self.bottom not in (None, "last"):
            raise DataError(
                f"bottom = {self.bottom!r}; 'last' is needed, which says of a tie in last place "
                "only that it is below the rest, or nothing: it is then read as the other ties are."
            )
        for name, value in (("unranked", self.unranked), ("blank", self.blank)):
            if value not in (None, "absent", "below"):
                raise DataError(
                    f"{name} = {value!r}; 'absent' (took no part) or 'below' (after all who are "
                    "ranked) is needed."
                )
        if self.best not in (None, "smallest", "largest"):
            raise DataError(f"best = {self.best!r}; 'smallest' or 'largest' is needed.")
        check_list("did_not_finish", self.did_not_finish)

    @cached_property
    def unfinished(self) -> frozenset[str]:
        """Texts that stand for a rank below all others, in small letters."""
        given = self.did_not_finish
        return DID_NOT_FINISH if given is None else frozenset(text.lower() for text in given)

    def rank(self, value: Any) -> Any:
        """Read a rank: a number, "below", None for a blank, or ("wrong", text)."""
        number = as_number(value)
        if number is None:
            text = str(value).strip()
            return "below" if text.lower() in self.unfinished else ("wrong", text)
        return None if number != number else number


def check_list(name: str, given: Any) -> None:
    """Refuse a text that was given instead of a list of texts."""
    if isinstance(given, str):
        raise DataError(f"{name} = {given!r}; a list of texts is needed: [{given!r}].")


def find_order_separator(texts: Iterable[str]) -> str:
    """Find the strongest separator in any of the texts, or "" for spaces.

    All texts are split by the same one, since a ranking of a single item may have spaces in its
    name.
    """
    every = list(texts)
    if any("=" in text for text in every) and not any(s in t for t in every for s in "|;\t,"):
        return ">"
    return next((s for s in (">", "|", ";", "\t", ",") if any(s in t for t in every)), "")


def read_order(
    given: Any, separator: str = ">", absent: frozenset[str] = frozenset()
) -> tuple[tuple[Label, ...], ...]:
    """Read a ranking: labels best first, sets among them for ties; or a text as "a > b = c".

    A text is split at `separator`, or at spaces where that is empty.  Places in `absent` are empty.

    Examples
    --------
    >>> read_order("a > b = c")
    (('a',), ('b', 'c'))
    """
    if isinstance(given, str):
        if is_printed_list(given):
            raise WrongOrderError(f"{given!r} is a list printed as text; write it as a > b > c.")
        parts = [p.strip() for p in given.split(separator or None)] if given.strip() else []
        if parts and "=" not in given and absent.isdisjoint(parts) and _are_different(parts):
            return tuple(zip(parts))  # a tuple of each
        parts = ["" if part in absent else part for part in parts]
        places: Sequence[Any] = [
            ["" if x.strip() in absent else x.strip() for x in part.split("=")]
            if "=" in part
            else part
            for part in parts
        ]
    elif isinstance(given, Iterable):
        places = [stripped(x) for x in given]
    else:
        raise WrongOrderError(f"{given!r} is not a ranking; a list of labels is needed.")
    while places and is_missing(places[-1]):  # padding at the end, as in tables of places
        places = places[:-1]
    classes = tuple(
        tuple(place) if isinstance(place, (frozenset, set, list)) else (place,) for place in places
    )
    _check_classes(classes)
    return classes


def _are_different(labels: list[str]) -> bool:
    """Tell whether no label is empty or occurs twice."""
    return all(labels) and len(set(labels)) == len(labels)


def _check_classes(classes: tuple[tuple[Label, ...], ...]) -> None:
    """Refuse a ranking that is empty, or that names a label twice."""
    if not classes:
        raise WrongOrderError("the ranking is empty.")
    seen: set[Label] = set()
    for label in chain(*classes):
        if is_missing(label):
            raise WrongOrderError("a place is empty.")
        if not is_hashable(label):
            raise WrongOrderError(f"{shown(label)} cannot be a label: labels must be hashable.")
        if label in seen:
            raise WrongOrderError(f"{label!r} appears twice in one ranking.")
        seen.add(label)
    if not all(classes):
        raise WrongOrderError("a place is empty.")


def order_of_ranks(
    ranks: Iterable[tuple[Any, Any]], options: RankOptions, count: float, contest: str = ""
) -> Order:
    """Sort labels by their ranks, as `RankOptions.rank` reads these."""
    where = f"in column {contest!r}, " if contest else ""
    scores = options.best == "largest"  # any numbers; 0 is one unless `unranked` gives its meaning
    zero_is_none = not scores or options.unranked is not None
    by_rank: dict[float, list[Label]] = {}
    below, zeros, blanks = [], [], []
    seen: set[Label] = set()
    for label, rank in ranks:
        if is_missing(label):
            raise WrongOrderError(f"{where}an item is missing.")
        if label in seen:
            raise WrongOrderError(f"{where}{label!r} appears twice in one ranking.")
        seen.add(label)
        if rank is None:
            blanks.append(label)
        elif rank == "below":
            below.append(label)
        elif not isinstance(rank, float) or not abs(rank) < _MOST_RANK or (rank < 0 and not scores):
            raise WrongOrderError(f"{where}the rank of {label!r} is {_not_a_rank(rank, scores)}")
        elif rank == 0 and zero_is_none:
            zeros.append(label)
        else:
            by_rank.setdefault(rank, []).append(label)
    if not by_rank and not below:
        raise WrongOrderError(f"{where}nobody is ranked.")
    sorted_ranks = sorted(by_rank, reverse=options.best == "largest")
    classes = tuple(tuple(by_rank[rank]) for rank in sorted_ranks)
    unplaced = tuple(below), tuple(zeros), tuple(blanks)
    return Order(classes, *unplaced, count, tuple(sorted_ranks))


def _not_a_rank(rank: Any, scores: bool) -> str:
    """Quote a rank that cannot be used, and say what is needed."""
    if scores:
        needed = "a number is needed, or a known text such as DNF."
    else:
        needed = "a number from 1 on is needed, 0 for none, or a known text such as DNF."
    if isinstance(rank, tuple):
        return f"{rank[1]!r}; {needed}"
    hint = " Scores are read with best='largest' (--best largest)." if rank < 0 else ""
    return f"'{rank:g}'; {needed}{hint if not scores else ''}"


def check_order(order: Order, options: RankOptions, known: set[Label] | None, n: int) -> None:
    """Refuse an order with an unknown label, or with ties that their meaning does not cover.

    Parameters
    ----------
    order
        The order.
    options
        Meanings of ranks.
    known
        The categories, if the user named them.
    n
        Number of categories.
    """
    if known is not None:
        for label in order.listed:
            if label not in known:
                raise WrongOrderError(f"{label!r} is not one of the categories.")
    if options.ties is None:
        return
    order = without_bottom(order, options, n)
    sizes = [len(c) for c in order.classes]
    if options.ties == "unknown" and order.is_tied and order.count % 1:
        raise WrongOrderError(
            f"it has a tie and counts {order.count:g} times; ties='unknown' needs whole numbers."
        )
    if options.ties == "half" and prod(map(factorial, sizes)) > _MOST_ORDERS:
        raise WrongOrderError(
            f"its ties allow {prod(map(factorial, sizes)):,} orders; ties='half' counts them all, "
            f"up to {_MOST_ORDERS}; ties='unknown' and ties='davidson-luce' read ties of any size."
        )
    if options.ties == "last":
        if any(size > 1 for size in sizes[:-1]):
            raise WrongOrderError(
                "a tie is not in last place, which ties='last' needs. To read others too, say what "
                "they mean by ties, and bottom='last'."
            )
        if sizes and sizes[-1] > 1 and _is_above_some(order, options, n):
            raise WrongOrderError(
                "a tie is above somebody who is only known to be below, so it is not the last."
            )


def without_bottom(order: Order, options: RankOptions, n: int) -> Order:
    """Say of a tie in last place only that it is below the rest, where `bottom` is "last".

    A tie above somebody who is only known to be below is not in last place, and stays.
    """
    if options.bottom is None or not order.classes or len(order.classes[-1]) == 1:
        return order
    if _is_above_some(order, options, n):
        return order
    return order._replace(classes=order.classes[:-1], below=order.classes[-1])


def _is_above_some(order: Order, options: RankOptions, n: int) -> bool:
    """Tell whether somebody is only known to be below all classes of an order."""
    zeros = options.unranked == "below" and order.zeros
    others = (options.blank or options.unranked) == "below" and order.n_ranked < n
    return bool(order.below or zeros or others)


def without_ties(orders: list[Order], options: RankOptions, n: int) -> list[Order]:
    """Leave rankings with ties out, and say how many, where `ties` is "drop"."""
    if options.ties != "drop":
        return orders
    _ask_for_best(orders, options)
    is_tied = [without_bottom(order, options, n).is_tied for order in orders]
    tied = sum(order.count for order, out in zip(orders, is_tied, strict=True) if out)
    ask_for_meaning(tied, options.ties, TIE_MEANINGS, "ranking with a tie", "rankings with ties")
    kept = [order for order, out in zip(orders, is_tied, strict=True) if not out]
    if not kept:
        raise DataError("every ranking has a tie, and ties='drop' leaves these out; none is left.")
    return kept


def _ask_for_best(orders: list[Order], options: RankOptions) -> None:
    """Ask whether small or large numbers are the best, where they may be scores and not ranks."""
    if options.best is not None or not any(o.ranks for o in orders):
        return
    items = len(labels_of(orders))
    odd = next((o.ranks for o in orders if _may_be_scores(o, items)), None)
    if odd is not None:
        listed = ", ".join(f"{number:g}" for number in odd[:6])
        raise DataError(
            f"some numbers may be scores or ratings and not ranks, as {listed} in one ranking. Say "
            "which is the best: best='largest' for scores, best='smallest' for ranks. "
            "(On the command line: --best.)"
        )


def _may_be_scores(order: Order, items: int) -> bool:
    """Tell numbers that no usual ranking has: fractions, equal ones with gaps, or all too large.

    After k items that are better, s equal ones have the rank k + 1, k + s or the mean of these; or
    ranks count the different places.
    """
    if not order.ranks or order.ranks == tuple(range(1, len(order.ranks) + 1)):
        return False
    sizes = np.array([len(tied) for tied in order.classes])
    better = np.cumsum(sizes) - sizes
    first, last = better + 1, better + sizes
    usual = (first, last, (first + last) / 2, np.arange(1, len(sizes) + 1))
    if any(np.array_equal(order.ranks, ranks) for ranks in usual):
        return False
    gaps = order.is_tied or any(rank != round(rank) for rank in order.ranks)
    return gaps or min(order.ranks) > items


def count_orders(orders: list[Order], options: RankOptions, named: Labels | None) -> Tally:
    """Count rankings: each place is an outcome among those that come later."""
    tally = Tally.over(labels_of(orders), named)
    settled = [without_bottom(order, options, tally.n) for order in orders]
    tied = sum(order.count for order in settled if order.is_tied)
    with Questions() as questions:
        with questions.gathered():
            _ask_for_best(orders, options)
        with questions.gathered():
            ask_for_meaning(
                tied, options.ties, TIE_MEANINGS, "ranking with a tie", "rankings with ties"
            )
        with questions.gathered():
            others_below = _are_others_below(orders, tally.n, options)
    index = tally.categories.index
    top = _Weighted()  # all others come below
    plain = _Weighted()
    placings = _Weighted()
    for order in settled:
        if options.ties == "davidson-luce" or (options.ties == "unknown" and order.is_tied):
            classes = [[index[label] for label in tied] for tied in order.classes]
            beneath = _beneath(order, options, tally.categories, others_below)
            if options.ties == "unknown":
                _add_unknown(classes, beneath, order.count, plain, placings)
            else:
                _add_choices(classes, beneath, order.count, placings)
            continue
        for ranked, below, weight in _strict(order, options):
            places = [index[label] for label in ranked]
            if not places:  # nobody finished, which says nothing
                continue
            if others_below and (not order.zeros or options.unranked == "below"):
                top.add(places, [], weight)
            elif others_below:
                plain.add(places, _all_others(tally.categories, [*ranked, *order.zeros]), weight)
            else:
                plain.add(places, [index[label] for label in below], weight)
    tally.add_rankings(Lists.of(top.places), None, np.asarray(top.weights, np.float64))
    weights = np.asarray(plain.weights, np.float64)
    tally.add_rankings(Lists.of(plain.places), Lists.of(plain.below), weights)
    if placings.weights:
        build = tied_blocks if options.ties == "unknown" else tied_choices
        arrays = joined(zip(placings.places, placings.below, strict=True))
        events = build(tally.n, *arrays, np.asarray(placings.weights, np.float64))
        if len(events):
            tally.add_events(events)
    return tally


def _beneath(
    order: Order, options: RankOptions, categories: Categories, others_below: bool
) -> list[int]:
    """List the numbers of all who are only known to be below the classes of an order."""
    zeros = order.zeros if options.unranked == "below" else ()
    if not others_below:
        return [categories.index[label] for label in (*order.below, *zeros)]
    absent = () if options.unranked == "below" else order.zeros
    return _all_others(categories, chain(*order.classes, absent))


def _add_unknown(
    classes: list[list[int]],
    beneath: list[int],
    weight: float,
    plain: _Weighted,
    blocks: _Weighted,
) -> None:
    """Add runs of single places as strict orders, and ties as blocks before all who follow."""
    run: list[int] = []
    rest = beneath
    for tied in reversed(classes):
        if len(tied) == 1:
            run = tied + run
            continue
        if run:
            plain.add(run, rest, weight)
            rest, run = run + rest, []
        if rest:
            blocks.add(tied, rest, weight)
        rest = tied + rest
    if run:
        plain.add(run, rest, weight)


def _add_choices(
    classes: list[list[int]], beneath: list[int], weight: float, choices: _Weighted
) -> None:
    """Add each place as a choice from those not yet placed."""
    rest = beneath
    for tied in reversed(classes):
        choices.add(tied, rest, weight)
        rest = tied + rest


class _Weighted:
    """Orders as category numbers, with those below them and their weights."""

    def __init__(self) -> None:
        self.places: list[list[int]] = []
        self.below: list[list[int]] = []
        self.weights: list[float] = []

    def add(self, places: list[int], below: list[int], weight: float) -> None:
        """Add one strict order, or the members of one tie."""
        self.places.append(places)
        self.below.append(below)
        self.weights.append(weight)


def _are_others_below(orders: list[Order], n: int, options: RankOptions) -> bool:
    """Tell whether unlisted items come below the ranked ones; ask where it matters."""
    unlisted = options.blank or options.unranked
    for order in orders:
        silent = n - order.n_ranked
        if (order.zeros and options.unranked is None) or (silent and unlisted is None):
            who = f"{len(order.zeros) or silent} of {n}"
            raise DataError(
                f"some rankings leave items out (one leaves out {who}), which can mean two "
                "things. unranked='absent' says that they took no part; unranked='below' that "
                "they come after all who are ranked. (On the command line: --unranked.)"
            )
    return unlisted == "below"


def _all_others(categories: Categories, labels: Iterable[Label]) -> list[int]:
    out = {categories.index[label] for label in labels}
    return [i for i in range(len(categories)) if i not in out]


def _strict(
    order: Order, options: RankOptions
) -> Iterator[tuple[tuple[Label, ...], tuple[Label, ...], float]]:
    """Yield the strict orders that stand for this one, the labels below, and their weights."""
    classes, below = order.classes, order.below
    if options.unranked == "below":
        below += order.zeros
    if options.ties == "last" and classes and len(classes[-1]) > 1:
        classes, below = classes[:-1], below + classes[-1]
    orders = 1 if options.ties is None else prod(factorial(len(c)) for c in classes)
    for places in product(*(permutations(c) for c in classes)) if orders > 1 else [classes]:
        yield tuple(chain(*places)), below, order.count / orders
