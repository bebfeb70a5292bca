"""Hidden folders beside a target, in which a run is written until it is whole.

The process that writes holds a lock on its folder, however it ends.  A folder without a lock is
what a killed process left: the next process that saves, draws, opens or resumes the same run
removes it.  Folders of other machines are let be, since not every file system shares locks.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from luce.runs.files import PART

# Name in a workshop of the folder that the new one replaces: folders cannot be replaced in one
# step.
_OLD = "old"

_MACHINE = re.sub(r"\W", "-", platform.node())


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside the target, on the same disk, and remove it at the end."""
    clear_up(target)
    folder, lock = _new(target)
    try:
        yield folder
    finally:
        _remove(folder, target)
        if lock is not None:
            os.close(lock)


def move_aside(target: Path, folder: Path) -> None:
    """Move a folder that is to be replaced into the workshop, which gives it back if need be."""
    target.rename(folder / _OLD)


def clear_up(target: Path) -> None:
    """Remove workshops of the target that killed processes left; give back what they replaced."""
    prefix = _prefix(target)
    try:
        names = os.listdir(target.parent)
    except OSError:  # no such folder: whoever reads or writes the target says so
        return
    for name in names:
        if name.startswith(prefix) and name.endswith(PART):
            _remove_unless_locked(target.with_name(name), target)


def _new(target: Path) -> tuple[Path, int | None]:
    """Make a workshop and lock it; anew where a process that clears up was faster."""
    while True:
        folder = Path(tempfile.mkdtemp(PART, _prefix(target), target.parent))
        try:
            lock = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue
        if folder.is_dir():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _remove_unless_locked(folder: Path, target: Path) -> None:
    try:
        lock = _lock(folder)
    except OSError:  # somebody writes, has cleared up already, or does not let us in
        return
    if lock is not None:
        _remove(folder, target)
        os.close(lock)


def _remove(folder: Path, target: Path) -> None:
    old = folder / _OLD
    if old.exists() and not os.path.lexists(target):
        old.rename(target)
    shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path) -> int | None:
    """Lock a folder for this process; None where folders cannot be locked.

    Raises
    ------
    BlockingIOError
        When another process holds the lock.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def _prefix(target: Path) -> str:
    return f".{target.name}.{_MACHINE}."
