"""Single values as people write them: missing values, numbers, flags, labels, lists of labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from luce._types import Label
from luce.errors import DataError

# Texts that stand for a missing value in a table of text, unless the user names others.
MISSING = frozenset({"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"})
# Texts that stand for a missing number, in any data.
NO_NUMBER = frozenset({"", "na", "nan", "n/a", "null", "none", "-", ".", "?"})
_DEEPEST = 10  # levels of lists within lists; a ranking of teams has two
_SEPARATORS = ("|", ";", "+", ",")
# A list as Python prints it: [7, 10] or ['a'].
_PRINTED = re.compile(r"""\s*\[(\s*["'].*["']\s*|[^\[\]]*,[^\[\]]*)\]\s*""", re.DOTALL)
_WORDS = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])\d*")
_PLUS_BETWEEN = re.compile(r"\w\s*\+\s*\w")  # a plus that ends a label, as in SR3+, is part of it


def is_missing(value: Any) -> bool:
    """Tell whether a value is missing: None, nan, not-a-time, or empty text."""
    if value is None or (isinstance(value, str) and not value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        # Pandas' missing value has no truth value, arrays have several, and decimals may signal.
        return type(value).__name__ in ("NAType", "NaTType")


def as_number(value: Any) -> float | None:
    """Read a number: nan if the value is missing, None if it is not a number."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str):
        if value.strip().lower() in NO_NUMBER:
            return math.nan
        if "_" in value:  # Python would read 1_000; nobody writes that in a file
            return None
    elif isinstance(value, (bytes, tuple, frozenset)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_flag(value: Any) -> bool | None:
    """Read yes or no, 1 or 0; a missing value is no, and None stands for anything else."""
    if isinstance(value, str) and value.strip().lower() in ("true", "yes", "y", "t"):
        return True
    if isinstance(value, str) and value.strip().lower() in ("false", "no", "n", "f", ""):
        return False
    number = as_number(value)
    if number is None or number not in (0.0, 1.0):
        return False if number != number and number is not None else None
    return number == 1.0


def is_list(value: Any) -> bool:
    """Tell whether a value can be iterated and is not a text."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return False
    return not (isinstance(value, np.ndarray) and value.ndim == 0)


def refuse_set(given: Any, what: str) -> None:
    """Refuse a set where order or repeats matter."""
    if isinstance(given, (set, frozenset)):
        raise DataError(
            f"{describe_type(given)} was given as {what}; a set has no order and drops repeats. "
            "Give a list or a tuple."
        )


def refuse_weights(given: Any) -> None:
    """Refuse a mapping from labels to weights other than 1, which no set has."""
    if not isinstance(given, Mapping):
        return
    weighted = {label: weight for label, weight in given.items() if as_number(weight) != 1.0}
    if weighted:
        raise DataError(
            f"{describe_type(given)} gives its members weights; members of a set count alike "
            "here, each with weight 1. Give a list of labels if weights do not matter."
        )


def hashable(value: Any, most: int = _DEEPEST) -> Any:
    """Turn a list into a tuple, and lists and sets within it (ties, teams) into frozensets."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if hasattr(value, "tolist"):  # arrays and their scalars
        value = value.tolist()
    elif hasattr(value, "to_list"):  # series
        value = value.to_list()
    if most == 0:
        raise DataError(f"lists are nested more than {_DEEPEST} deep; no data are like that.")
    most -= 1
    if isinstance(value, list):
        parts = [(hashable(x, most), isinstance(x, (list, set))) for x in value]
        return tuple(frozenset(part) if nested else part for part, nested in parts)
    if isinstance(value, (set, frozenset)):
        return frozenset(hashable(x, most) for x in value)
    try:
        hash(value)
    except TypeError:
        weights = (
            " Weights of players stand in columns of their own, weights1 and weights2; or give a "
            "list of (winners, losers)."
            if isinstance(value, Mapping)
            else ""
        )
        raise DataError(
            f"{describe_type(value)} is neither a label nor a list of labels.{weights}"
        ) from None
    return value


def describe_type(value: Any, most: int = 60) -> str:
    """Show a value, or the beginning of a long one, and its type."""
    try:
        text = repr(value)
    except Exception:  # nested too deep, or broken in itself
        text = "something"
    return f"{text if len(text) <= most else text[:most] + '...'} ({type(value).__name__})"


def quoted(text: str, most: int = 40) -> str:
    """Quote a text, or the beginning of a long one."""
    return repr(text if len(text) <= most else text[:most] + "...")


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Sort distinct labels, by type and text where they cannot be compared.

    The engines behind frames return groups in any order; sorting makes the result unique.
    """
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except (TypeError, ArithmeticError):  # decimals that are not numbers have no order
        return sorted(distinct, key=lambda x: (type(x).__name__, repr(x)))


def stripped(value: Any) -> Any:
    """Remove the spaces around a text; other values stay as they are."""
    return value.strip() if isinstance(value, str) else value


def objects(values: Iterable[Any]) -> np.ndarray[Any, Any]:
    """Pack values into an array of objects, where equal lists stay lists."""
    given = list(values)
    array = np.empty(len(given), object)
    array[:] = given
    return array


def repeated(values: Iterable[Any]) -> Any:
    """Return the first value that occurs a second time, or None."""
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def is_unnamed(column: str) -> bool:
    """Tell whether a column holds names or numbers of rows: pandas and R leave it without a name.

    R's function calls it row.names, and files made from R's data sets rownames.
    """
    name = column.strip().lower()
    return name in ("", "rownames", "row.names", "row_names") or name.startswith("unnamed: ")


def is_printed_list(text: str) -> bool:
    """Tell whether a text is a printed list, as pandas writes lists into a CSV file."""
    return "[" in text and _PRINTED.fullmatch(text) is not None


def find_separator(texts: Iterable[str]) -> str | None:
    """Find the one separator of labels, among | ; + and comma, that occurs in any text."""
    every = list(texts)
    joined = "\n".join(every)
    found = [s for s in _SEPARATORS if s in joined]
    if "+" in found and not any(map(_PLUS_BETWEEN.search, every)):
        found.remove("+")
    if len(found) > 1:
        raise DataError(
            f"labels may be separated by {' or by '.join(map(repr, found))}; say which with "
            "separator=... (--separator)."
        )
    return found[0] if found else None


def missing_texts(given: Iterable[str] | None) -> frozenset[str]:
    """Read the texts that stand for a missing value in a table of text."""
    if given is None:
        return MISSING
    if isinstance(given, str) or not is_list(given):
        raise DataError(f"missing = {given!r}; a list of texts is needed, as ['NA', '-'].")
    texts = list(given)
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise DataError(f"missing holds {wrong[0]!r}; a list of texts is needed, as ['NA', '-'].")
    return frozenset(text.strip() for text in texts)


def as_labels(
    value: Any, separator: str | None, absent: frozenset[str] = frozenset()
) -> tuple[tuple[Any, ...], str]:
    """Read a list of different labels; returns them and, where there are none, what is wrong.

    A text in `absent` stands for a missing value.
    """
    if is_missing(value):
        return (), "is empty; at least one label is needed."
    if isinstance(value, str):
        if is_printed_list(value):
            return (), f"is {value!r}, a list printed as text; write the labels as a|b|c."
        texts = tuple(map(str.strip, value.split(separator) if separator else [value]))
        if all(texts) and absent.isdisjoint(texts) and len(set(texts)) == len(texts):
            return texts, ""
        listed: Iterable[Any] = texts
    elif isinstance(value, frozenset):
        listed = sorted(value, key=repr)
    else:
        listed = value if isinstance(value, tuple) else (value,)
    labels = tuple(map(stripped, listed))
    if not labels or any(is_missing(label) or label in absent for label in labels):
        return (), f"is {value!r}; a label in it is empty or missing."
    if len(set(labels)) < len(labels):
        return (), f"names {repeated(labels)!r} twice."
    return labels, ""


@lru_cache(maxsize=1 << 17)  # asked for each role and each column, and tables can be wide
def plain(name: str) -> str:
    """Spell a column's name in small letters without spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def words_of(name: str) -> list[str]:
    """Split a column's name into words in small letters: winner_name, WinnerName."""
    return [word.lower() for word in _WORDS.findall(name)]
