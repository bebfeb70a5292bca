"""Files that are there whole, or not at all, whatever happens to the process or the machine."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from luce.errors import DiskFullError, LuceError

# What a file system says when there is no more room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_BLOCK = 1 << 24


def write_whole(path: Path, content: bytes | memoryview) -> bytes:
    """Write a file, have the disk keep it, then give it its name; returns its SHA-256."""
    try:
        replace_file(path, content, durable=True)
        _flush_names(path.parent)
    except OSError as error:
        if is_full(error):
            raise full(path, memoryview(content).nbytes) from error
        raise LuceError(f"{path} could not be written: {error.strerror or error}.") from error
    return hashlib.sha256(content).digest()


def replace_file(path: Path, content: bytes | memoryview, *, durable: bool = False) -> None:
    """Write a file under another name, then give it its own; an OSError leaves nothing behind.

    `durable` has the disk keep the content before the name.
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
    """Was it for want of room?"""
    return error.errno in _FULL


def full(path: Path, wanted: int) -> DiskFullError:
    """Say how much there is and how much is needed."""
    try:
        free = shutil.disk_usage(path.parent).free / 1e6
    except OSError:  # the folder itself could not be made
        free = 0.0
    return DiskFullError(
        f"the disk is full: {path.name} needs {wanted / 1e6:,.1f} MB, and {free:,.1f} MB are free."
    )


def digest_of(path: Path) -> bytes | None:
    """SHA-256 of a file, None where there is none."""
    content = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                content.update(block)
    except FileNotFoundError:
        return None
    return content.digest()


def _flush_names(folder: Path) -> None:
    """Have the disk keep the names in a folder; not every system can be asked to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
