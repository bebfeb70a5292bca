"""Python values as JSON text that gives back the same values, of the same types.

JSON itself tells text, whole numbers, other numbers, true, false, null and lists apart.  All other
types are written as an object with one key, the type:

    ("a", 1)                 {"tuple": ["a", 1]}
    frozenset({1})           {"frozenset": [1]}
    b"a"                     {"bytes": "61"}
    2**70                    {"int": "0x400000000000000000"}
    float("inf")             {"float": "inf"}
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from luce.counts.labels import describe
from luce.errors import DataError

_LARGEST = 2**63  # bound of the whole numbers that other readers of JSON keep


def to_text(value: object) -> str:
    """Write a value as typed JSON, or refuse a type that cannot be stored.

    Examples
    --------
    >>> to_text(("a", 1, 1.0, True, None))
    '{"tuple": ["a", 1, 1.0, true, null]}'
    """
    try:
        return json.dumps(_tagged(value), allow_nan=False)
    except RecursionError:
        raise DataError("a value is nested too deeply to be stored as text.") from None


def from_text(text: str) -> Any:
    """Read a value from the text that `to_text` wrote.

    Examples
    --------
    >>> from_text('{"tuple": ["a", 1, 1.0, true, null]}')
    ('a', 1, 1.0, True, None)
    """
    try:
        return _untagged(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{text[:60]!r} is not typed JSON: {error}") from error


def is_plain_text(value: object) -> bool:
    """Can the value be stored as plain text?  Null characters and lone surrogates cannot."""
    if type(value) is not str or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tagged(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    # Subclasses are left out on purpose: they would come back as something else.
    if type(value) is int:
        return value if -_LARGEST <= value < _LARGEST else {"int": hex(value)}
    if type(value) is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) is list:
        return [_tagged(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [_tagged(part) for part in value]}
    if type(value) is frozenset:
        return {"frozenset": sorted((_tagged(part) for part in value), key=json.dumps)}
    raise DataError(
        f"{describe(value)} cannot be stored: labels and attributes in a file are text, numbers, "
        "True, False, None, bytes, or tuples and frozensets of these. Turn it into text first."
    )


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(part) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an object with {len(value)} keys")
    ((kind, content),) = value.items()
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float(content)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "tuple":
        return tuple(_untagged(part) for part in content)
    if kind == "frozenset":
        return frozenset(_untagged(part) for part in content)
    raise ValueError(f"unknown type {kind!r}")
