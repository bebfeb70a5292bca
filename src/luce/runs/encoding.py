"""Runs encoded as trees of numbers and text that any file format keeps, and back.

Stored are numbers, truth values and text; nothing else, so nothing is ever pickled.

    values    numbers as they are; text as it is; all other labels as typed JSON, marked by the
              attribute ``json_values``
    attributes    numbers and text as they are; all others as typed JSON, their names listed in the
                  attribute ``json_attributes``
    root    besides, ``format`` and ``format_version``
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Attributes
from luce.counts.labels import describe, label_array
from luce.errors import DataError
from luce.runs.typed_json import from_text, is_plain_text, to_text

if TYPE_CHECKING:
    from xarray import Dataset, DataTree, Variable

FORMAT = "luce run"
FORMAT_VERSION = 3

_STORAGE_ONLY = ("format", "format_version")
_JSON_VALUES = "json_values"
_JSON_ATTRIBUTES = "json_attributes"
_NUMBERS = "biuf"
_INT64 = np.iinfo(np.int64)


def stored_form(run: DataTree) -> DataTree:
    """Turn a run into a tree that any reader of xarray's files understands."""
    import xarray as xr

    groups = {node.path: stored_group(node.to_dataset(inherit=False)) for node in run.subtree}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION})
    return tree


def stored_group(data: Dataset) -> Dataset:
    """Turn one group of a run into numbers and text that any reader understands."""
    return _mapped(data, _stored, stored_attributes)


def original_form(stored: DataTree, source: str) -> DataTree:
    """Turn a stored tree back into the run it was made from."""
    import xarray as xr

    check_format(stored.attrs, source)
    groups = {
        node.path: _mapped(node.to_dataset(inherit=False), _original, _original_attributes)
        for node in stored.subtree
    }
    for name in _STORAGE_ONLY:
        groups["/"].attrs.pop(name, None)
    return xr.DataTree.from_dict(groups)


def check_format(attributes: Mapping[Any, Any], source: str) -> None:
    """Refuse a run of another format, or of another version of it."""
    given, version = attributes.get("format"), attributes.get("format_version")
    if not isinstance(given, str) or given != FORMAT:
        raise DataError(
            f"{source} was not written by luce.save: its attribute 'format' is {given!r}, "
            f"not {FORMAT!r}. Open it with xarray.open_datatree."
        )
    if not isinstance(version, int | np.integer) or version < 1:
        raise DataError(f"{source} has format_version {version!r}; a number from 1 on is needed.")
    if version < FORMAT_VERSION:
        raise DataError(
            f"{source} has format_version {version}, from before luce was released; this luce "
            f"reads {FORMAT_VERSION}. Draw the run again."
        )
    if version > FORMAT_VERSION:
        raise DataError(
            f"{source} has format_version {version}; this luce reads up to {FORMAT_VERSION}. "
            "Install a newer luce."
        )


def _mapped(
    data: Dataset,
    change: Callable[[Variable, Hashable], Variable],
    change_attributes: Callable[[Mapping[Any, Any]], Attributes],
) -> Dataset:
    """Change every variable and the attributes of a group; coordinates stay coordinates."""
    import xarray as xr

    variables = {name: change(variable, name) for name, variable in data.variables.items()}
    coordinates = {name: variables.pop(name) for name in data.coords}
    return xr.Dataset(variables, coordinates, change_attributes(data.attrs))


def _stored(variable: Variable, name: Hashable) -> Variable:
    import xarray as xr

    for word in (name, *variable.dims):
        if not (isinstance(word, str) and word.isidentifier()):
            raise DataError(
                f"a variable or dimension is called {describe(word)}; in a file, names are made "
                "of letters, digits and underscores. Rename it first."
            )
    values = np.asarray(variable.values)
    attributes = stored_attributes(variable.attrs)
    if values.dtype.kind in "OUT":
        flat = values.ravel().tolist()
        if not all(map(is_plain_text, flat)):
            flat = [to_text(value) for value in flat]
            attributes[_JSON_VALUES] = 1
        values = np.array(flat, object).reshape(values.shape)
    elif values.dtype.kind not in _NUMBERS:
        raise DataError(
            f"variable {name!r} holds {values.dtype}; numbers, truth values and text can be "
            "stored. Turn it into one of these, or leave it out."
        )
    return xr.Variable(variable.dims, values, attributes)


def _original(variable: Variable, name: Hashable) -> Variable:
    import xarray as xr

    attributes = _original_attributes(variable.attrs)
    if variable.dtype.kind not in "OUT":  # numbers stay where they are, in memory or on a disk
        same = variable.copy(deep=False)
        same.attrs = attributes
        return same
    flat = np.asarray(variable.values).ravel().tolist()
    if not all(isinstance(value, str) for value in flat):
        raise DataError(f"variable {name!r} holds something else than text or numbers.")
    if attributes.pop(_JSON_VALUES, 0):
        flat = [from_text(value) for value in flat]
    return xr.Variable(variable.dims, label_array(flat).reshape(variable.shape), attributes)


def stored_attributes(attributes: Mapping[Any, Any]) -> Attributes:
    """Turn attributes into numbers and text that files keep."""
    stored: Attributes = {}
    as_text = []
    for name, value in attributes.items():
        if not (isinstance(name, str) and name.isidentifier()):
            raise DataError(
                f"an attribute is called {describe(name)}; in a file, names are made of letters, "
                "digits and underscores. Rename it first."
            )
        plain = value.item() if isinstance(value, np.generic) else value
        if _is_native(plain):
            stored[name] = plain
        else:
            stored[name] = to_text(value)
            as_text.append(name)
    if as_text:
        stored[_JSON_ATTRIBUTES] = to_text(as_text)
    return stored


def merged_attributes(stored: Mapping[Any, Any], more: Mapping[Any, Any]) -> Attributes:
    """Add attributes to stored ones; return all as files keep them."""
    storage = {k: v for k, v in stored.items() if k in _STORAGE_ONLY}
    own = {k: v for k, v in stored.items() if k not in _STORAGE_ONLY}
    return {**storage, **stored_attributes({**_original_attributes(own), **more})}


def _original_attributes(attributes: Mapping[Any, Any]) -> Attributes:
    given = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in attributes.items()
    }
    as_text = from_text(str(given.pop(_JSON_ATTRIBUTES, "[]")))
    for name in as_text:
        if not isinstance(given.get(name), str):
            raise DataError(f"attribute {name!r} should be typed JSON, and is {given.get(name)!r}.")
        given[name] = from_text(given[name])
    return given


def _is_native(value: object) -> bool:
    """Do files keep this attribute exactly?"""
    if type(value) is int:
        return bool(_INT64.min <= value <= _INT64.max)
    if type(value) is float:
        return bool(np.isfinite(value))
    return value != "" and is_plain_text(value)
