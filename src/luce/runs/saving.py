"""Saving runs to files, loading them exactly, and opening them without reading their draws."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.errors import DataError, LuceError
from luce.runs.contents import check_run
from luce.runs.encoding import check_format, original_form, stored_form
from luce.runs.files import flush_file, flush_folder, flush_names
from luce.runs.formats import Format, format_of, open_zarr
from luce.runs.seal import Checksums, files_of, plan_file, read_checksums
from luce.runs.workshop import clear_up, move_aside, workshop

if TYPE_CHECKING:
    from xarray import DataTree


def check_target(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Refuse a path that `save` would refuse, before the run is drawn."""
    target = Path(path)
    _check_target(target, format_of(target), overwrite)
    if not target.parent.is_dir():
        raise DataError(f"{target} cannot be written: there is no folder {target.parent}.")


def save(run: DataTree, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a run to a file: draws, statistics, data, prior and settings.

    The file appears under its name only when it is whole and has been read back; until then a file
    of the same name stays unchanged.

    Parameters
    ----------
    run
        A run from `Posterior.sample`; variables and attributes may have been added.
    path
        Ends in ``.nc`` for NetCDF, in ``.zarr`` for a Zarr folder.
    overwrite
        Replace an existing file?

    Examples
    --------
    >>> import luce
    >>> from tempfile import TemporaryDirectory
    >>> run = luce.Posterior(luce.ConditionalCounts("abc").observe({"b": 2})).sample(10, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     luce.save(run, f"{folder}/run.nc")
    ...     luce.load(f"{folder}/run.nc").identical(run)
    True
    """
    target = Path(path)
    form = format_of(target)
    _check_target(target, form, overwrite)
    check_run(run)
    stored = stored_form(run)
    with _writing(target), workshop(target) as folder:
        new = folder / target.name
        form.write(stored, new)
        form.seal(new)
        if not original_form(form.read(new), str(target)).identical(run):
            raise DataError(
                f"{form.name} does not give back this run as it is. Take out the attributes and "
                "variables that you added."
            )
        (flush_folder if form.is_folder else flush_file)(new)
        _check_target(target, form, overwrite)  # it may have appeared meanwhile
        if form.is_folder and target.exists():
            move_aside(target, folder)
        new.replace(target)
        flush_names(target.parent)


def load(path: str | os.PathLike[str]) -> DataTree:
    """Read a run that `save` wrote, check it, and close the file.

    Parameters
    ----------
    path
        The file or folder.

    Returns
    -------
    DataTree
        Identical to the run that was saved.

    Raises
    ------
    LuceError
        When it is missing, damaged, changed, or was not written by `save`.
    """
    source = Path(path)
    form = format_of(source)
    clear_up(source)
    with reading(source, form.name):
        if not source.exists():
            raise DataError(f"{source} does not exist.")
        if source.is_dir() != form.is_folder:
            kinds = ("a folder", "a file") if form.is_folder else ("a file", "a folder")
            raise DataError(f"{source} should be {kinds[0]}, and is {kinds[1]}.")
        if form.is_folder:
            require_complete(source)
        run = original_form(form.read(source), str(source))
        check_run(run)
    return run


def open_run(path: str | os.PathLike[str]) -> DataTree:
    """Open a Zarr run without reading its draws, which are read when they are used.

    Data, prior and attributes are checked at once, and each block of draws when it is read: damage
    is a `luce.errors.DataError`.  `luce.load` reads and checks all of the run.

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
    ...     run["running"]["probabilities_mean"].sizes["category"]
    3
    """
    source = Path(path)
    clear_up(source)
    require_complete(source)
    return read_folder(source, read_checksums(source))


def read_folder(source: Path, checksums: Checksums, *, some: bool = False) -> DataTree:
    """Open a folder without reading its draws, of which perhaps only `some` are stored yet."""
    files_of(source)  # no links: they would lead out of the folder
    with reading(source, "Zarr"):
        return original_form(open_zarr(source, checksums, some=some), str(source))


@contextmanager
def reading(source: Path, form: str) -> Iterator[None]:
    """Turn any error of a library that cannot read a file into a DataError."""
    try:
        yield
    except LuceError:
        raise
    except Exception as error:
        raise DataError(
            f"{source} cannot be read as {form}: {type(error).__name__}: {error}"
        ) from error


def require_complete(source: Path) -> None:
    """Refuse a folder whose run is not complete, or of another format."""
    unfinished = plan_file(source).exists()
    if not unfinished:
        attributes = root_attributes(source)
        check_format(attributes, str(source))
        unfinished = attributes.get("complete", 1) == 0
    if unfinished:
        raise DataError(
            f"{source} is not complete, unless it is being written just now. "
            f"`luce resume {source}` draws what is missing."
        )


def root_attributes(source: Path) -> dict[str, Any]:
    """Read the attributes of a run without opening it."""
    try:
        metadata = json.loads((source / "zarr.json").read_text(encoding="utf-8"))
        attributes: dict[str, Any] = dict(metadata["attributes"])
    except FileNotFoundError:
        raise DataError(
            f"{source} is not a Zarr folder: there is no file zarr.json in it."
        ) from None
    except NotADirectoryError:
        raise DataError(
            f"{source} is a file; only folders of Zarr can be opened without reading their draws. "
            "luce.load reads the whole of it."
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{source}/zarr.json is damaged: {error}.") from error
    except OSError as error:
        raise LuceError(f"{source} cannot be read: {error.strerror or error}.") from error
    return attributes


def _check_target(target: Path, form: Format, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise DataError(
            f"{target} exists; give another name, or overwrite=True (--overwrite) to replace it."
        )
    ours = (target / "zarr.json").is_file() if form.is_folder else target.is_file()
    if not ours or (form.is_folder and target.is_symlink()):
        raise DataError(
            f"{target} exists and is no {form.name} {'folder' if form.is_folder else 'file'}; "
            "remove it yourself, or give another name."
        )


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except LuceError:
        raise
    except Exception as error:  # a full disk is an OSError to some libraries, not to all
        raise LuceError(
            f"{target} could not be written: {type(error).__name__}: {error}"
        ) from error
