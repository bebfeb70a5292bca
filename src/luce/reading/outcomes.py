"""How people write down who won."""

from __future__ import annotations

from typing import Any

import numpy as np

from luce._types import IntArray
from luce.reading.columns import Column, as_number, is_missing
from luce.reading.roles import plain

UNKNOWN, FIRST, SECOND, TIE = range(4)

_FIRST = {"modela", "left", "first", "item1", "player1", "w1", "white", "home", "win", "h",
          "w", "side1", "team1", "true"}  # fmt: skip
_SECOND = {"modelb", "right", "b", "second", "item2", "player2", "w2", "black", "away", "loss",
           "side2", "team2", "false"}  # fmt: skip
_TIE = {"tie", "draw", "d", "tiebothbad", "bothbad", "tied", "drawn", "equal", "x", "t"}
_SCORES = {"1-0": FIRST, "0-1": SECOND, "1/2-1/2": TIE, "½-½": TIE}


def read_names(named: Column, first: Column, second: Column) -> IntArray:
    """Tell for each row whom it names: FIRST, SECOND or UNKNOWN."""
    result = np.full(len(named), UNKNOWN)
    result[_same(named, first)] = FIRST
    result[_same(named, second)] = SECOND
    return result


def read_outcomes(
    outcome: Column, first: Column, second: Column, roles: dict[str, str]
) -> IntArray:
    """Tell for each row who won: FIRST, SECOND, TIE or UNKNOWN.

    An outcome may be the label of the winner, the name of the winner's column, or one of the
    usual words and codes.  Labels go first: a competitor may be called "b".
    """
    named = read_names(outcome, first, second)
    words = _codes_beside(outcome, {*first.values, *second.values}, roles)[outcome.codes]
    labels = (named != UNKNOWN) | (words == TIE)
    if labels.all() and (named != UNKNOWN).any():
        return np.where(named == UNKNOWN, words, named)
    clash = (named != UNKNOWN) & (words != UNKNOWN) & (named != words)
    # Where words alone explain every row, a label that looks like a word is a coincidence.
    return np.where((words == UNKNOWN) | (clash & ~(words != UNKNOWN).all()), named, words)


def _same(outcome: Column, side: Column) -> Any:
    """In which rows does the outcome name the competitor?"""
    place = {_text(value): k for k, value in enumerate(side.values)}
    codes = [place.get(_text(value), -1) for value in outcome.values]
    return np.asarray(codes, np.int64)[outcome.codes] == side.codes


def _text(value: Any) -> Any:
    """A label as it is compared: numbers in a file of text are numbers."""
    if is_missing(value):
        return None
    number = as_number(value)
    if number is not None and number == number:
        return number
    return value.strip() if isinstance(value, str) else value


def _codes_beside(outcome: Column, competitors: set[Any], roles: dict[str, str]) -> IntArray:
    """Read outcomes as words, unless all winners are competitors: then a label is no word.

    A label in a row where it did not compete is so found, and not taken for "a" or "b".
    """
    codes = _codes(outcome, roles)
    labels = {_text(value) for value in competitors} - {None}
    label = np.asarray([_text(v) in labels for v in outcome.values], bool)
    told = (codes != TIE) & ~np.asarray([is_missing(v) for v in outcome.values], bool)
    coded = {_text(v) for v in outcome.values} - {None} <= {0.0, 0.5, 1.0}
    if coded:  # 1 and 0 are results, unless every row names one of its two: that is seen above
        return codes
    if told.any() and label[told].all():
        return np.where((codes == TIE) & ~label, TIE, UNKNOWN)
    return codes


def _meaning_of_letters(outcome: Column, roles: dict[str, str]) -> dict[str, int]:
    """Tell what A, L and R are: A and B, or the guest of H, D and A; left and right, or a loss."""
    words = {plain(value) for value in outcome.values if isinstance(value, str)}
    one, two = (plain(roles.get(role, "")) for role in ("item1", "item2"))
    guest, first = two.startswith("away") or "h" in words, one.endswith("a") or "b" in words
    left = one.startswith("left") or "r" in words
    return {
        "a": UNKNOWN if guest == first else SECOND if guest else FIRST,
        "l": FIRST if left else SECOND if "w" in words else UNKNOWN,
        "r": SECOND if two.startswith("right") or "l" in words else UNKNOWN,
    }


def _codes(outcome: Column, roles: dict[str, str]) -> IntArray:
    """Read the distinct outcomes as words or codes."""
    columns = {plain(roles[r]): k for r, k in (("item1", FIRST), ("item2", SECOND)) if r in roles}
    numbers = [as_number(value) for value in outcome.values]
    counts_two = 2.0 in numbers  # 1 and 2 name the sides; else 1 is a win and 0 a loss
    letters = _meaning_of_letters(outcome, roles)
    codes = []
    for value, number in zip(outcome.values, numbers, strict=True):
        if number is not None and number == number:
            scale = {1.0: FIRST, 2.0: SECOND} if counts_two else {1.0: FIRST, 0.0: SECOND, 0.5: TIE}
            codes.append(scale.get(number, UNKNOWN))
            continue
        text = value.strip().lower() if isinstance(value, str) else ""
        word = plain(text)
        if text in _SCORES:
            codes.append(_SCORES[text])
        elif word in columns:
            codes.append(columns[word])
        elif word in letters:
            codes.append(letters[word])
        else:
            known = ((_TIE, TIE), (_FIRST, FIRST), (_SECOND, SECOND))
            codes.append(next((k for words, k in known if word in words), UNKNOWN))
    return np.asarray(codes, np.int64)
