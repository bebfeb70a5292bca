"""Runs that are looked at where they are, on the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.errors import DataError, LuceError
from luce.runs.formats import open_zarr
from luce.runs.seal import files_of, settings_file
from luce.runs.stored_form import original_form

if TYPE_CHECKING:
    from xarray import DataTree


def open_run(path: str | os.PathLike[str]) -> DataTree:
    """Open a Zarr run without reading its draws: these are fetched where they are asked for.

    Nothing is checked but that it is a run and complete; `luce.load` reads and checks it all.

    Parameters
    ----------
    path
        A folder that `luce.save` or ``sample(to=...)`` wrote.

    Examples
    --------
    >>> import luce
    >>> from tempfile import TemporaryDirectory
    >>> posterior = luce.Posterior(luce.ConditionalCounts("abc").observe({"b": 2}))
    >>> with TemporaryDirectory() as folder:
    ...     run = posterior.sample(10, seed=1, to=f"{folder}/run.zarr")
    ...     run["running"]["mean"].sizes["category"]
    3
    """
    source = Path(path)
    require_complete(source)
    return read_folder(source)


def read_folder(source: Path, *, some: bool = False) -> DataTree:
    """Open a folder as it is, of which there may be only `some` numbers as yet."""
    files_of(source)  # no links: they would lead out of the folder
    with reading(source, "Zarr"):
        return original_form(open_zarr(source, some=some), str(source))


@contextmanager
def reading(source: Path, form: str) -> Iterator[None]:
    """Turn whatever a library says about a file that it cannot read into an error of ours."""
    try:
        yield
    except LuceError:
        raise
    except Exception as error:
        raise DataError(
            f"{source} cannot be read as {form}: {type(error).__name__}: {error}"
        ) from error


def require_complete(source: Path) -> None:
    """Refuse a folder whose run is still to be finished."""
    attributes = root_attributes(source)
    if settings_file(source).exists() or attributes.get("complete", 1) == 0:
        raise DataError(
            f"{source} is not complete, unless it is being written just now. "
            f"`luce resume {source}` draws what is missing."
        )


def root_attributes(source: Path) -> dict[str, Any]:
    """Attributes of a run, without opening it."""
    try:
        metadata = json.loads((source / "zarr.json").read_text(encoding="utf-8"))
        attributes: dict[str, Any] = metadata["attributes"]
    except FileNotFoundError:
        raise DataError(
            f"{source} is not a Zarr folder: there is no file zarr.json in it."
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{source}/zarr.json is damaged: {error}.") from error
    except OSError as error:
        raise LuceError(f"{source} cannot be read: {error.strerror or error}.") from error
    return attributes
