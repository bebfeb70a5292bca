"""Terms of the likelihood, one by one, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from luce._types import FloatArray, Label
from luce.counts.contests import Contests
from luce.counts.events import Events
from luce.counts.family import SetFamily, in_words
from luce.counts.labels import plural, some
from luce.errors import DataError, MethodError

_BACKENDS = ("pandas", "polars")


@dataclass(frozen=True)
class Term:
    """One factor of the likelihood: the total probability of some categories, to a power.

    A set of more than half of the categories is stored by those it leaves out, so that a term
    costs little however large its set is; `members` expands it.

    Parameters
    ----------
    exponent
        The power: how often a category or group was seen or, negative, how many outcomes were
        recorded given that they lay in the set.
    listed
        Labels of the stored side: the members or, with `among`, those left out.
    among
        All labels, for a set stored by those it leaves out; else None.
    weights
        A weight for each member, in the order of `members`; None, today always, if all are 1.

    Examples
    --------
    >>> import luce
    >>> given = list(luce.ConditionalCounts("abcd").observe({"b": 2}, without="a").terms())[-1]
    >>> given.exponent, given.excluded, given.members
    (-2.0, ('a',), ('b', 'c', 'd'))
    """

    exponent: float
    listed: tuple[Label, ...]
    among: Sequence[Label] | None = field(default=None, repr=False)
    weights: tuple[float, ...] | None = None

    @cached_property
    def members(self) -> tuple[Label, ...]:
        """Labels of the categories in the set, expanded if it is stored by those it leaves out."""
        if self.among is None:
            return self.listed
        out = set(self.listed)
        return tuple(label for label in self.among if label not in out)

    @property
    def excluded(self) -> tuple[Label, ...] | None:
        """Labels left out of a set that is stored by them; else None."""
        return None if self.among is None else self.listed

    @property
    def size(self) -> int:
        """Number of categories in the set."""
        return len(self.listed) if self.among is None else len(self.among) - len(self.listed)

    @property
    def kind(self) -> str:
        """Kind of term: "outcome" of one category, "group" of several, or "given" that it lay in S.

        Examples
        --------
        >>> Term(2.0, ("a",)).kind, Term(2.0, ("a", "b")).kind, Term(-2.0, ("a", "b")).kind
        ('outcome', 'group', 'given')
        """
        return "given" if self.exponent < 0 else "outcome" if self.size == 1 else "group"

    def __str__(self) -> str:
        if self.kind == "outcome":
            return f"{plural(self.exponent, 'outcome')} in {{{self.members[0]}}}"
        return in_words(self.listed, self.among is not None, self.exponent)


def terms_of(
    labels: Sequence[Label], category_counts: FloatArray, family: SetFamily
) -> Iterator[Term]:
    """Yield a term for each category that was seen, then one for each set."""
    for i in np.flatnonzero(category_counts).tolist():
        yield Term(float(category_counts[i]), (labels[i],))
    excluded = family.complement[family.nest_of_set].tolist()
    for t, exponent in enumerate(family.exponent.tolist()):
        listed = np.sort(family.listed(t)).tolist()
        among = labels if excluded[t] else None
        yield Term(exponent, tuple(labels[i] for i in listed), among)


def frame_of(
    terms: Iterable[Term], backend: str, labels: Sequence[Label], events: Events | None
) -> Any:
    """Lay terms, and contests where there are some, out as a data frame of pandas or polars."""
    if backend not in _BACKENDS:
        raise MethodError(f"backend = {backend!r} was given; {some(_BACKENDS)} are possible.")
    try:
        library = import_module(backend)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{backend} is not installed; `pip install {backend}`, or take the terms one by one: "
            "counts.terms()."
        ) from None
    rows = list(terms)
    columns: dict[str, list[Any]] = {
        "kind": [term.kind for term in rows],
        "members": [term.listed if term.among is None else None for term in rows],
        "excluded": [term.excluded for term in rows],
        "size": [term.size for term in rows],
        "exponent": [term.exponent for term in rows],
    }
    if events is not None:
        columns = _with_contests(columns, labels, events)
    return library.DataFrame(columns) if backend == "pandas" else _polars_frame(library, columns)


def _with_contests(
    columns: dict[str, list[Any]], labels: Sequence[Label], events: Events
) -> dict[str, list[Any]]:
    """Append a row for each two sides that met, and the columns that only such rows have."""
    if not isinstance(events, Contests):
        raise DataError(
            f"{events.kind} are not laid out in a frame; counts.summary() describes them."
        )
    names = [labels[i] for i in events.members.tolist()]
    cuts = list(zip(events.start[:-1].tolist(), events.start[1:].tolist(), strict=True))
    sides = [tuple(names[a:b]) for a, b in cuts]
    before, m = len(columns["kind"]), len(events)
    wins, losses, ties = events.results.T.tolist() if m else ([], [], [])
    own: dict[str, list[Any]] = {
        "kind": ["contest"] * m,
        "members": sides[::2],
        "excluded": [None] * m,
        "size": [len(a) + len(b) for a, b in zip(sides[::2], sides[1::2], strict=True)],
        "exponent": events.results.sum(axis=1).tolist(),
        "against": sides[1::2],
        "at_home": events.at_home.tolist(),
        "wins": wins,
        "losses": losses,
        "ties": ties,
    }
    if events.weights is not None:
        weights = events.weights.tolist()
        each = [tuple(weights[a:b]) for a, b in cuts]
        own |= {"weights": each[::2], "against_weights": each[1::2]}
    return {name: columns.get(name, [None] * before) + values for name, values in own.items()}


def _polars_frame(polars: Any, columns: dict[str, list[Any]]) -> Any:
    """Build a frame whose labels are lists of one type or, where types are mixed, objects."""
    sets = [name for name in ("members", "excluded", "against") if name in columns]
    listed = [x for name in sets for x in columns[name] if x is not None]
    kinds = {type(label) for labels in listed for label in labels}
    plain = len(kinds) == 1 and kinds <= {str, int, float, bool}
    labels = polars.List(kinds.pop()) if plain else polars.Object
    types = {"kind": polars.String, "size": polars.Int64, "at_home": polars.Boolean}
    types |= dict.fromkeys(sets, labels)
    types |= dict.fromkeys(("weights", "against_weights"), polars.List(polars.Float64))
    series = ((name, x, types.get(name, polars.Float64)) for name, x in columns.items())
    return polars.DataFrame([polars.Series(name, x, dtype=kind) for name, x, kind in series])
