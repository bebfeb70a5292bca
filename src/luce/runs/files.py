"""Files written whole or not at all, even if the process or the machine stops."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from luce.errors import DiskFullError, LuceError

# Error numbers of a file system without room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# End of the name of a file or folder that is being written.
PART = ".part"

# Bytes read at once.
_BLOCK = 1 << 24


def write_whole(path: Path, content: bytes | memoryview) -> bytes:
    """Write a file to the disk under another name, then rename it; return its SHA-256."""
    try:
        replace_file(path, content, durable=True)
    except OSError as error:
        if is_full(error):
            raise full(path, memoryview(content).nbytes) from error
        raise LuceError(f"{path} could not be written: {error.strerror or error}.") from error
    return hashlib.sha256(content).digest()


def replace_file(path: Path, content: bytes | memoryview, *, durable: bool = False) -> None:
    """Write a file under another name, then rename it; an OSError leaves no file behind.

    With `durable`, new folders and the content are on the disk before the file is renamed, and its
    name is when the function returns.
    """
    part = path.with_name(f".{path.name}{PART}")
    try:
        _make_folder(path.parent, durable)
        with part.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    if durable:
        flush_names(path.parent)


def _make_folder(folder: Path, durable: bool) -> None:
    """Make a folder and those above it."""
    if folder.is_dir():
        return
    _make_folder(folder.parent, durable)
    folder.mkdir(exist_ok=True)
    if durable:
        flush_names(folder.parent)


def remove_parts(folder: Path) -> None:
    """Remove files that were being written when their process was killed."""
    for part in folder.rglob(f".*{PART}"):
        part.unlink()


def flush_folder(folder: Path) -> None:
    """Flush all files in a folder to the disk, and their names."""
    for place, _, names in os.walk(folder):
        for name in names:
            flush_file(Path(place, name))
        flush_names(Path(place))


def flush_file(path: Path) -> None:
    """Flush the content of a file to the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def is_full(error: OSError) -> bool:
    """Was the error caused by a full disk?"""
    return error.errno in _FULL


def full(path: Path, wanted: int) -> DiskFullError:
    """Make the error of a full disk, with the bytes that are free and needed."""
    try:
        free = shutil.disk_usage(path.parent).free / 1e6
    except OSError:  # the folder itself could not be made
        free = 0.0
    return DiskFullError(
        f"the disk is full: {path} needs {wanted / 1e6:,.1f} MB, and {free:,.1f} MB are free."
    )


def digest_of(path: Path) -> bytes | None:
    """Compute the SHA-256 of a file; None where there is no file that can be read."""
    content = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                content.update(block)
    except OSError:
        return None
    return content.digest()


def flush_names(folder: Path) -> None:
    """Flush the names in a folder to the disk, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
