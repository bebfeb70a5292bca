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

# Bytes read at once.
_BLOCK = 1 << 24


def write_whole(path: Path, content: bytes | memoryview) -> bytes:
    """Write a file to the disk under another name, then rename it; return its SHA-256."""
    try:
        replace_file(path, content, durable=True)
        _flush_names(path.parent)
    except OSError as error:
        if is_full(error):
            raise full(path, memoryview(content).nbytes) from error
        raise LuceError(f"{path} could not be written: {error.strerror or error}.") from error
    return hashlib.sha256(content).digest()


def replace_file(path: Path, content: bytes | memoryview, *, durable: bool = False) -> None:
    """Write a file under another name, then rename it; an OSError leaves no file behind.

    With `durable`, the content is on the disk before the file is renamed.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
        f"the disk is full: {path.name} needs {wanted / 1e6:,.1f} MB, and {free:,.1f} MB are free."
    )


def digest_of(path: Path) -> bytes | None:
    """Compute the SHA-256 of a file; None where there is no file."""
    content = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                content.update(block)
    except FileNotFoundError:
        return None
    return content.digest()


def _flush_names(folder: Path) -> None:
    """Flush the names in a folder to the disk, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
