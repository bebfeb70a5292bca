"""Read probabilities and designs as users give them, and draw winners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.counts.labels import Categories, as_mapping, describe
from luce.errors import DataError

Rng: TypeAlias = np.random.Generator | int
Truth: TypeAlias = Mapping[Any, float]
Table: TypeAlias = dict[str, list[Any]]


def generator(rng: Rng) -> np.random.Generator:
    """Read a generator or a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise DataError(f"rng is {describe(rng)}; a numpy Generator or a seed from 0 on is needed.")
    return np.random.default_rng(rng)


def read_truth(given: Truth) -> tuple[Categories, FloatArray]:
    """Read labels and their probabilities, scaled to add up to 1."""
    known = as_mapping(given, "probabilities")
    if not isinstance(known, Mapping) or len(known) < 2:
        raise DataError(
            f"probabilities are {describe(given)}; two labels or more are needed, each with a "
            "number."
        )
    for label, value in known.items():
        blank = isinstance(label, str) and (not label or label != label.strip())
        if blank or label is None or isinstance(label, frozenset):
            raise DataError(f"{label!r} cannot be a label: no reader would keep it as it is.")
        numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not numeric or not 0 <= value < np.inf:
            raise DataError(
                f"the probability of {label!r} is {value!r}; a finite number, 0 or more, is needed."
            )
    p = np.asarray(list(known.values()), np.float64)
    if not p.any():
        raise DataError("all probabilities are 0; one at least must be positive.")
    p /= p.max()  # since the sum of large numbers may overflow
    return Categories(known), p / p.sum()


def whole(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """Read a whole number from `least` to `most`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upto = "on" if most is None else f"to {most}"
        raise DataError(f"{what} is {value!r}; a whole number from {least} {upto} is needed.")
    return int(value)


def one_of(value: str, what: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among the `known` ones."""
    if value not in known:
        raise DataError(f"{what} = {value!r}; one of {', '.join(map(repr, known))} is needed.")


def listed(value: Any, what: str) -> list[Any]:
    """Read a list."""
    if not isinstance(value, Iterable):
        raise DataError(f"{what} holds or is {describe(value)}, where a list is needed.")
    return list(value)


def require_winner(possible: bool) -> None:
    """Refuse a design in which all labels of a set may have probability 0."""
    if not possible:
        raise DataError("all labels in one set may have probability 0: then nobody could win.")


def in_turn(labels: Categories, lists: Iterable[Labels], n: int) -> IntArray:
    """Turn lists of labels, taken in turn, into n rows of numbers, padded with len(labels)."""
    rows = [labels.numbers(row, "the design") for row in listed(lists, "the design")]
    if not rows or not all(map(len, rows)):
        raise DataError("the design is empty, or a list in it is; at least one label is needed.")
    filled = np.full((len(rows), max(map(len, rows))), len(labels))
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled[np.arange(n) % len(rows)]


def named(labels: Categories, fields: IntArray) -> list[tuple[Label, ...]]:
    """Turn rows of numbers into tuples of labels, without the padding len(labels)."""
    names = labels.labels
    if fields.max() < len(names):
        return list(zip(*([names[i] for i in c.tolist()] for c in fields.T), strict=True))
    return [tuple(names[i] for i in row if i < len(names)) for row in fields.tolist()]


def subsets(random: np.random.Generator, n: int, m: int, size: int) -> IntArray:
    """Draw n lists of `size` different numbers below m, all such lists equally likely."""
    if 2 * size >= m:
        return np.argsort(random.random((n, m)), axis=1)[:, :size]
    drawn = np.empty((n, size), np.int64)
    for k in range(size):
        number = random.integers(m - k, size=n)
        for taken in np.sort(drawn[:, :k], axis=1).T:  # skip the numbers already drawn
            number += number >= taken
        drawn[:, k] = number
    return drawn


def arrivals(random: np.random.Generator, weights: FloatArray) -> FloatArray:
    """Draw logs of exponential waiting times with given rates; their order is Plackett-Luce."""
    with np.errstate(divide="ignore"):
        return -(np.log(weights) + random.gumbel(size=weights.shape))


def first_arrivals(random: np.random.Generator, weights: FloatArray) -> IntArray:
    """Draw the winner of each row, in proportion to the weights."""
    require_winner(bool((weights.max(axis=1) > 0).all()))
    first: IntArray = arrivals(random, weights).argmin(axis=1)
    return first
