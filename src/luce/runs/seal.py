"""Checksums of stored runs: fingerprints (SHA-256) of all bytes that a run rests on.

The libraries that read NetCDF can hang or crash on damaged bytes, so damaged files are refused
before any library reads them.

    file      the last line is ``luce sha256 <fingerprint of all bytes before it>``; NetCDF readers
              do not look beyond the end that the file itself states
    folder    the file ``checksums`` has a line ``<fingerprint>  <name>`` for each other file, as
              ``sha256sum --check`` reads it, and ends in the line of a sealed file
    journal   an unfinished run has the fingerprints of its files in its plan, a sealed file
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from luce.errors import DataError
from luce.runs.files import replace_file

# Beginning of the last line of a sealed file, bytes of that line, and bytes read at once.
_MARK = b"\nluce sha256 "
_LENGTH = len(_MARK) + 64 + 1
_BLOCK = 1 << 20

# Name of the folder in a run that holds its journal, which is removed when the run is finished.
JOURNAL = "journal"

# Name of the file with the fingerprints of all other files of a finished run.
CHECKSUMS = "checksums"

# Fingerprint of each file of a folder, by its name relative to the folder.
Checksums = Mapping[str, str]


def plan_file(run: Path) -> Path:
    """Name the file with the plan of a run, which exists as long as the run is not finished."""
    return run / JOURNAL / "plan"


def sealed(content: bytes | memoryview, context: str = "") -> bytes:
    """Append the line with the fingerprint to bytes; `context` says what they belong to."""
    return b"".join([content, _MARK, _of_bytes(context.encode(), content).encode(), b"\n"])


def unsealed(content: bytes, context: str = "") -> bytes | None:
    """Return the bytes that `sealed` was given; None where these or their context have changed."""
    inner = content[: max(len(content) - _LENGTH, 0)]
    return inner if sealed(inner, context) == content else None


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
        raise changed(path)


def seal_folder(path: Path, known: Checksums | None = None) -> None:
    """Write the checksums of a folder; `known` holds those of some files."""
    lines = (f"{digest}  {name}\n" for name, digest in checksums_of(path, known).items())
    replace_file(path / CHECKSUMS, sealed("".join(lines).encode()), durable=True)


def checksums_of(path: Path, known: Checksums | None = None) -> dict[str, str]:
    """Compute the checksums of a folder's files, its journal left out."""
    known = known or {}
    return {
        name: known.get(name) or _of_file(path / name, (path / name).stat().st_size)
        for name in _names(path)
    }


def read_checksums(path: Path) -> dict[str, str]:
    """Read the checksums of a folder; refuse it where files are missing, or are too many."""
    file = path / CHECKSUMS
    try:
        lines = unsealed(file.read_bytes())
    except OSError as error:
        raise DataError(
            f"{path} was not written by luce.save, or its file {CHECKSUMS!r} cannot be read: "
            f"{error.strerror or error}. If another program wrote it, open it with "
            "xarray.open_datatree."
        ) from error
    if lines is None:
        raise changed(file)
    pairs = [line.partition("  ") for line in lines.decode(errors="replace").splitlines()]
    checksums = {name: digest for digest, _, name in pairs}
    for name in sorted(set(_names(path)) - checksums.keys()):
        raise changed(path / name, "the file does not belong there")
    require_files(path, checksums)
    return checksums


def require_files(path: Path, checksums: Checksums) -> None:
    """Refuse a folder in which files are missing."""
    for name in sorted(checksums.keys() - set(_names(path))):
        raise changed(path / name, "the file is missing")


def read_checked(path: Path, name: str, checksum: str) -> bytes:
    """Read a file of a folder; refuse it where it has changed since its checksum was computed."""
    file = path / name
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if _of_bytes(content) != checksum:
        raise changed(file)
    return content


def changed(path: Path, how: str = "its fingerprint does not fit") -> DataError:
    """Make the error of a file that is not as luce wrote it."""
    return DataError(
        f"{path} has been changed or damaged since luce wrote it: {how}. Take a copy that is "
        "whole, or save or draw the run again."
    )


def _of_bytes(*parts: bytes | memoryview) -> str:
    content = hashlib.sha256()
    for part in parts:
        content.update(part)
    return content.hexdigest()


def _of_file(path: Path, size: int) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(size, _BLOCK))):
            content.update(block)
            size -= len(block)
    return content.hexdigest()


def _names(path: Path) -> list[str]:
    """List the names of the files that have checksums."""
    names = (file.relative_to(path).as_posix() for file in files_of(path))
    return [n for n in names if n != CHECKSUMS and not n.startswith(f"{JOURNAL}/")]


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
