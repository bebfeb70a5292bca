"""What was given: a frame, columns, records, or something that needs another door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from luce.errors import DataError
from luce.reading.columns import shown
from luce.reading.frames import NAMELESS, FrameSource
from luce.reading.sources import PlainSource, Source


def source_of(data: Any) -> Source:
    """Find out what was given: a frame, a mapping of columns, or a list of records."""
    if isinstance(data, Source):
        return data
    refuse_path(data)
    if isinstance(data, Mapping):
        if not all(isinstance(k, str) for k in data):
            raise DataError("a mapping must go from names of columns to lists of values.")
        return PlainSource({name: _listed(name, values) for name, values in data.items()})
    if isinstance(data, np.ndarray) and data.dtype.names:
        return PlainSource({name: data[name].tolist() for name in data.dtype.names})
    if isinstance(data, (list, tuple)) and data and all(isinstance(x, Mapping) for x in data):
        names = dict.fromkeys(name for record in data for name in record)
        if not all(isinstance(name, str) for name in names):
            raise DataError("records must go from names of columns, as text, to values.")
        return PlainSource({name: [record.get(name) for record in data] for name in names})
    import narwhals as nw

    try:
        return FrameSource(nw.from_native(data))
    except nw.exceptions.NarwhalsError as error:  # two columns of one name, say
        raise DataError(f"this frame cannot be read: {error}") from None
    except TypeError:
        raise DataError(
            f"{describe_type(data)} was given; a frame (pandas, polars, pyarrow, duckdb, dask, "
            "pyspark), a mapping of columns or a list of records is needed."
        ) from None


def has_named_rows(data: Any) -> bool:
    """Is this a frame of pandas whose rows have texts for names, as a table of wins may have?"""
    index = getattr(data, "index", None)
    of_pandas = type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "reset_index")
    return of_pandas and len(index) > 0 and all(isinstance(name, str) for name in index)  # type: ignore[arg-type,union-attr]


def with_named_rows(data: Any) -> Any:
    """The names of rows as a first column, where a frame of pandas has them."""
    if not has_named_rows(data):
        return data
    name = data.index.name if isinstance(data.index.name, str) else NAMELESS
    return data.rename_axis(index=name).reset_index() if name not in data.columns else data


def refuse_path(data: Any) -> None:
    """Send whoever gives the name of a file to the function that opens files."""
    if isinstance(data, PurePath) or (isinstance(data, str) and PurePath(data).suffix):
        raise DataError(f"{str(data)!r} looks like a file; luce.read opens files.")


def is_frame(data: Any) -> bool:
    """Is this something with named columns?"""
    if isinstance(data, (Source, Mapping)) or (isinstance(data, np.ndarray) and data.dtype.names):
        return True
    if isinstance(data, (list, tuple, set, frozenset, str, bytes, np.ndarray, Iterator)):
        return isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], Mapping)
    return hasattr(data, "collect_schema") or hasattr(data, "columns")


def describe_type(data: Any) -> str:
    """Say what was given, without printing all of it."""
    return f"{shown(data)} ({type(data).__name__})"


def _listed(name: str, values: Any) -> Sequence[Any]:
    scalar = isinstance(values, np.ndarray) and values.ndim == 0
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or scalar:
        raise DataError(f"column {name!r} is {describe_type(values)}; a list of values is needed.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
