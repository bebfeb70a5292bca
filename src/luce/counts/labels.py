"""Read labels, counts and probabilities as users give them, and put them into words."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label, Labels
from luce.errors import DataError
from luce.page.short_texts import abridged
from luce.page.words import count

# Probabilities that were normalised in double precision add up to 1 within this.
_TOLERANCE = 1e-8
_JOINERS = "\u200c\u200d"  # invisible characters that are part of words and of emoji

# Largest number of categories: a single array of numbers for them takes 8 GB.
_MOST_CATEGORIES = 10**9

_MOST_SHOWN = 60  # characters of a label in a message

# Whole numbers up to the first are floats exactly; floats go up to the second.
_EXACT, _LARGEST = 2**53, Fraction(sys.float_info.max)


class Categories:
    """The categories: distinct hashable labels, each with a number from 0 on.

    Parameters
    ----------
    given
        The labels, or their number n for the labels 0..n-1.
    """

    def __init__(self, given: int | Labels) -> None:
        self.labels = _read_labels(given)

    @cached_property
    def index(self) -> Mapping[Label, int]:
        """Mapping from each label to its number."""
        return {label: i for i, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> Label:
        return self.labels[number]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categories):
            return NotImplemented
        same = self.labels == other.labels  # a tuple never equals a range
        return same or (len(self) == len(other) and tuple(self.labels) == tuple(other.labels))

    __hash__ = None  # type: ignore[assignment]

    def numbers(self, labels: Labels, what: str) -> IntArray:
        """Turn labels into category numbers; refuse a label that is unknown or repeated."""
        try:
            given = list(labels)
        except TypeError:
            raise DataError(
                f"{what} must be a list of labels; {describe(labels)} was given."
            ) from None
        try:
            numbers = [self.index[label] for label in given]
        except (KeyError, TypeError):
            unknown = next(x for x in given if not is_hashable(x) or x not in self.index)
            hint = " (a string is read as its characters)" if isinstance(labels, str) else ""
            raise DataError(
                f"{unknown!r} in {what} is not a category{hint}; "
                f"the categories are {some(self.labels)}."
            ) from None
        if len(set(numbers)) < len(numbers):
            twice = next(x for i, x in enumerate(given) if x in given[:i])
            raise DataError(f"{twice!r} appears twice in {what}; name each category once.")
        return np.asarray(numbers, np.int64)

    def as_set(self, key: object) -> Iterable[Label]:
        """Read the key of an exponent mapping: a label stands for its own category."""
        if is_hashable(key) and key in self.index:
            return [key]
        if isinstance(key, (tuple, frozenset)):
            return key
        raise DataError(f"{key!r} is neither a category nor a tuple or frozenset of categories.")


def _read_labels(given: int | Labels) -> tuple[Label, ...] | range:
    """Read distinct hashable labels, or the number of them."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if given < 1:
            raise DataError(f"{given} categories were asked for; at least 1 is needed.")
        if given > _MOST_CATEGORIES:
            raise DataError(
                f"{given:,} categories were asked for; at most {_MOST_CATEGORIES:,} are possible, "
                "since each needs memory of its own."
            )
        return range(int(given))
    if isinstance(given, range) and given == range(len(given)) and len(given) > 0:
        return given
    try:
        labels = tuple(given)  # type: ignore[arg-type]
    except TypeError:
        raise DataError(
            f"categories must be a list of labels or a number of them; {describe(given)} was given."
        ) from None
    if not labels:
        raise DataError("no categories were given; at least 1 is needed.")
    seen: set[Label] = set()
    for label in labels:
        if not is_hashable(label):
            raise DataError(f"{shown(label)} cannot be a label: labels must be hashable.")
        if not _equals_itself(label):
            raise DataError(f"{label!r} cannot be a label: it does not equal itself.")
        if _is_time(label):
            raise DataError(
                f"{label!r} cannot be a label: runs do not keep it as it is. Turn it into text."
            )
        if label in seen:
            raise DataError(
                f"{label!r} appears twice in categories; every label must be different."
            )
        seen.add(label)
    if None in seen and all(isinstance(label, str) for label in seen - {None}):
        raise DataError(
            "None cannot be a label beside texts: xarray turns it into NaN. Turn it into text."
        )
    return labels


def _equals_itself(label: Label) -> bool:
    """Tell labels from NaN, which cannot be looked up."""
    try:
        return bool(label == label)
    except TypeError:  # pandas' missing value has no truth value
        return False


def _is_time(label: Label) -> bool:
    """Tell times of NumPy and pandas, which xarray changes into others."""
    of_numpy = isinstance(label, np.datetime64 | np.timedelta64)
    return of_numpy or hasattr(label, "to_datetime64") or hasattr(label, "to_timedelta64")


def read_count(value: object, what: object) -> float:
    """Read a non-negative finite number."""
    number = read_number(value, what)
    if number < 0:
        raise DataError(f"the count of {what!r} is {value!r}; counts cannot be negative.")
    return number


def read_number(value: object, what: object) -> float:
    """Read a finite number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"the count of {what!r} is {value!r}; a number is needed.") from None
    if not np.isfinite(number):
        raise DataError(f"the count of {what!r} is {value!r}; counts must be finite.")
    return number


def read_probabilities(given: ArrayLike, n: int) -> FloatArray:
    """Read probabilities of shape (..., n), each row non-negative and adding up to 1."""
    try:
        p = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"probabilities must be numbers; {given!r} was given.") from None
    if p.ndim == 0 or p.shape[-1] != n:
        raise DataError(f"probabilities of shape {p.shape} were given; (..., {n}) is needed.")
    off = ~(p >= 0).all(axis=-1) | ~(np.abs(p.sum(axis=-1) - 1) <= _TOLERANCE)
    if off.any():
        row = p.reshape(-1, n)[int(np.argmax(off))]
        raise DataError(
            "probabilities must be non-negative and add up to 1; some add up to "
            f"{row.sum():.10g} with a least entry of {row.min():.3g}. Divide by their sum first."
        )
    return p


def labelled_values(given: Any) -> list[tuple[Label, Any]] | None:
    """List labels and values of a mapping or a pandas Series, whose labels may repeat.

    Returns None where the object has no labels.
    """
    if not (hasattr(given, "keys") and hasattr(given, "items")):
        return None
    pairs = list(given.items())
    for label, _ in pairs:
        if not is_hashable(label):
            raise DataError(f"{shown(label)} cannot be a label: labels must be hashable.")
    return pairs


def as_mapping(given: Any, what: str) -> Any:
    """Turn a pandas Series, or the like, into a dict; refuse a label that appears twice.

    Mappings, and objects without labels, stay as they are.
    """
    pairs = None if isinstance(given, Mapping) else labelled_values(given)
    if pairs is None:
        return given
    made: dict[Label, Any] = {}
    for label, value in pairs:
        if label in made:
            raise DataError(f"{label!r} appears twice in {what}; name each label once.")
        made[label] = value
    return made


def is_hashable(label: object) -> bool:
    """Tell whether a value is hashable, as labels must be."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def canonical_name(label: Label) -> str:
    """Name a label such that equal labels have equal names, in every process.

    Examples
    --------
    >>> canonical_name(1) == canonical_name(np.float64(1))
    True
    """
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, Number):
        return _name_of_number(label)
    if isinstance(label, str):
        return repr(str.__str__(label))
    if isinstance(label, bytes):
        return repr(bytes(label))
    if isinstance(label, (tuple, frozenset)):
        names = [canonical_name(part) for part in label]
        return f"tuple{names}" if isinstance(label, tuple) else f"frozenset{sorted(names)}"
    return repr(label)


def _name_of_number(number: Any) -> str:
    """Name a number by its value, whatever its type."""
    if isinstance(number, complex):
        if number.imag:
            return repr(complex(number.real + 0.0, number.imag))
        number = number.real
    if type(number) is float or (type(number) is int and abs(number) <= _EXACT):
        return repr(float(number) + 0.0)  # -0.0 equals 0.0
    try:
        exact = Fraction(*number.as_integer_ratio())
    except (OverflowError, ValueError):  # infinite, or no number
        return repr(float(number))
    except (AttributeError, TypeError):  # a type of number that Python does not know
        return repr(number)
    if abs(exact) <= _LARGEST and Fraction(float(exact)) == exact:
        return repr(float(exact) + 0.0)
    return repr(exact.numerator) if exact.denominator == 1 else repr(exact)


def hash_of_names(labels: tuple[Label, ...] | range) -> Any:
    """Return an open SHA-256 hash of the labels in their order."""
    return _hash_of_names(_Same(labels)).copy()


class _Same:
    """Labels that equal themselves alone: equal labels may be of other types."""

    def __init__(self, labels: tuple[Label, ...] | range) -> None:
        self.labels = labels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.labels is other.labels

    def __hash__(self) -> int:
        return id(self.labels)


@lru_cache(maxsize=4)  # hashing a million names takes two seconds
def _hash_of_names(same: _Same) -> Any:
    """Hash the labels once."""
    return hashlib.sha256("\n".join(map(canonical_name, same.labels)).encode())


def printable(label: object) -> str:
    r"""Print a label on a terminal: control characters and marks of direction become escapes.

    The joiners of Persian and of emoji are kept, and so are all kinds of spaces within a line.

    Examples
    --------
    >>> print(printable("\x1b[31mred\r"), printable("Zoë"), printable(7))
    \x1b[31mred\r Zoë 7
    """
    text = str(label)
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else repr(c)[1:-1] for c in text)


def printable_lines(text: object) -> str:
    """Print a message of several lines on a terminal, each as `printable` does."""
    return "\n".join(map(printable, str(text).split("\n")))


def _is_harmless(character: str) -> bool:
    """Tell whether a character is shown where it stands, and changes nothing around it."""
    if character.isprintable() or character in _JOINERS:
        return True
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def some(labels: Iterable[Label], most: int = 6, quote: bool = True) -> str:
    """Name the first few labels, long ones without their middle."""
    write = repr if quote else printable
    names = [abridged(write(x), _MOST_SHOWN) for _, x in zip(range(most + 1), labels, strict=False)]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def describe(value: object) -> str:
    """Print a value with its type."""
    return f"{shown(value)} ({type(value).__name__})"


def shown(value: object) -> str:
    """Print a value, unless it is nested too deeply."""
    try:
        return repr(value)
    except RecursionError:
        return f"a {type(value).__name__} nested too deeply to be shown"


def plural(number: float, one: str, many: str | None = None) -> str:
    """Count things in words.

    Examples
    --------
    >>> plural(1, "set"), plural(2500, "category", "categories")
    ('1 set', '2,500 categories')
    """
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def label_array(labels: Iterable[Label]) -> np.ndarray:
    """Turn labels into an array: numbers and strings as such, anything else as objects."""
    if isinstance(labels, range):
        return np.asarray(labels)
    plain = [x.item() if isinstance(x, np.generic) else x for x in labels]
    kinds = {type(x) for x in plain}
    if kinds <= {str} or kinds <= {int} or kinds <= {float}:
        typed = np.asarray(plain)
        back = typed.tolist()
        # NumPy turns huge integers into floats and drops a null at the end of a string.
        if back == plain and {type(x) for x in back} == kinds:
            return typed
    objects = np.empty(len(plain), object)
    objects[:] = plain
    return objects
