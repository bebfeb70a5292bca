"""The seal of a saved run: a fingerprint of its bytes, checked before any library reads them.

The libraries that read NetCDF can hang or crash on damaged bytes, so damaged files are refused.

    file      the last line is ``luce sha256 <fingerprint of all bytes before it>``; NetCDF readers
              do not look beyond the end that the file itself states
    folder    the attribute ``sha256`` of the root's zarr.json: the fingerprint of all other files,
              and of zarr.json without that attribute
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luce.errors import DataError

# Beginning of the last line of a sealed file, bytes of that line, and bytes read at once.
_MARK = b"\nluce sha256 "
_LENGTH = len(_MARK) + 64 + 1
_BLOCK = 1 << 20
_ATTRIBUTE = "sha256"

# Name of the folder in a run that holds its journal, which is not sealed.
JOURNAL = "journal"


def plan_file(run: Path) -> Path:
    """Name the file with the plan of a run, which exists as long as the run is not finished."""
    return run / JOURNAL / "run.json"


def seal_file(path: Path) -> None:
    """Append the line with the fingerprint to a file."""
    fingerprint = _of_file(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(_MARK + fingerprint.encode() + b"\n")


def check_file(path: Path) -> None:
    """Refuse a file that has changed since `seal_file`."""
    size = path.stat().st_size - _LENGTH
    last = b""
    if size >= 0:
        with path.open("rb") as file:
            file.seek(size)
            last = file.read()
    if not last.startswith(_MARK):
        raise DataError(
            f"{path} was not written by luce.save, or its end is missing. If another program wrote "
            "it, open it with xarray.open_datatree."
        )
    if last[len(_MARK) :] != _of_file(path, size).encode() + b"\n":
        raise _changed(path)


def seal_folder(path: Path, known: Mapping[Path, str] | None = None) -> None:
    """Write the fingerprint into the root's metadata; `known` holds digests of some files."""
    root = path / "zarr.json"
    metadata = json.loads(root.read_text(encoding="utf-8"))
    metadata["attributes"].pop(_ATTRIBUTE, None)
    metadata["attributes"][_ATTRIBUTE] = _of_folder(path, metadata, known or {})
    new = root.with_name(".zarr.json.part")
    new.write_text(json.dumps(metadata, indent=2), encoding="utf-8")
    new.replace(root)


def check_folder(path: Path) -> None:
    """Refuse a folder that has changed since `seal_folder`."""
    root = path / "zarr.json"
    if not root.is_file():
        raise DataError(f"{path} is not a Zarr folder: there is no file zarr.json in it.")
    try:
        metadata = json.loads(root.read_text(encoding="utf-8"))
        given = metadata["attributes"].pop(_ATTRIBUTE)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{path} was not written by luce.save, or its zarr.json is damaged. If another program "
            "wrote it, open it with xarray.open_datatree."
        ) from error
    if given != _of_folder(path, metadata, {}):
        raise _changed(path)


def _changed(path: Path) -> DataError:
    return DataError(
        f"{path} has been changed or damaged since luce.save wrote it: its fingerprint does not "
        "fit. Take a copy that is whole, or save the run again."
    )


def _of_file(path: Path, size: int) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(size, _BLOCK))):
            content.update(block)
            size -= len(block)
    return content.hexdigest()


def _of_folder(path: Path, metadata: Any, known: Mapping[Path, str]) -> str:
    content = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for file in files_of(path):
        name = file.relative_to(path).as_posix()
        if name != "zarr.json" and not name.startswith(f"{JOURNAL}/"):
            own = known.get(file) or _of_file(file, file.stat().st_size)
            content.update(f"\n{name} {own}".encode())
    return content.hexdigest()


def files_of(path: Path) -> list[Path]:
    """List all files in a folder in a fixed order; refuse links, which could lead anywhere."""
    found = []
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            entry = Path(folder, name)
            if entry.is_symlink() or (name in files and not entry.is_file()):
                raise DataError(f"{entry} is a link, or no file at all; luce.save writes none.")
        found += [Path(folder, name) for name in files]
    return sorted(found)
