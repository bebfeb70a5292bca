"""The folder of compiled code: its name, its age, its locks, and the times of compilations.

Numba's cache on disk checks the file of a function, not the files of the functions that it calls.
luce therefore keeps compiled code in a folder named by a digest of all kernels, so that no edit and
no upgrade of numba leaves old code in use.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import numba

LONGEST_WAIT = 300.0  # seconds for a process that compiles; then the code is compiled here too
PATIENCE = 0.4  # seconds of waiting without a word
KEPT_DAYS = 30  # since the last use, for folders that other installations may need

_SOURCES = Path(__file__).parent
_MOST_TIMES = 1000  # entries in the file of times
_config: Any = numba.config


def digest_of_sources(folder: Path) -> str:
    """Hash numba's version and the name and content of every Python file below a folder."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> str | None:
    """Find the folder of compiled kernels: beside their sources, else in the user's cache.

    None if neither can be written: kernels are then compiled anew in each process.  Numba's default
    folders are not used, since numba does not check all kernels before it loads old code.  Folders
    of older kernels are removed when a new one is made.
    """
    name = f"luce-{numba.__version__}-{digest_of_sources(_SOURCES)}"
    chosen = _config.CACHE_DIR  # set by the user through NUMBA_CACHE_DIR
    beside = _SOURCES / "__pycache__"
    for base in [Path(chosen)] if chosen else [beside, Path("~/.cache/luce")]:
        try:
            folder = base.expanduser() / name
            new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)  # the day of the last use
        except (OSError, RuntimeError):  # read-only, full, or without a home directory
            continue
        if new:
            remove_old_folders(folder, shared=folder.parent != beside)
        return str(folder)
    return None


def remove_old_folders(folder: Path, shared: bool) -> None:
    """Remove compiled code of older kernels that stands beside a new folder.

    Code for another version of numba, and code in a place that installations share, is kept for
    `KEPT_DAYS` after its last use.  A process that still uses a removed folder compiles again.

    Parameters
    ----------
    folder
        The folder of today's kernels, which is kept.
    shared
        Whether kernels of other installations may stand there too.
    """
    long_ago = time.time() - KEPT_DAYS * 86400
    for other in folder.parent.glob("luce-*"):
        name = re.fullmatch(r"luce-(?:(.+)-)?[0-9a-f]{16}", other.name)
        if name is None or other == folder:
            continue
        needed = shared or name[1] not in (None, numba.__version__)
        with suppress(OSError):  # removed by another process
            if not needed or other.stat().st_mtime < long_ago:
                shutil.rmtree(other, ignore_errors=True)


# -- locks -----------------------------------------------------------------------------------------


@contextmanager
def held(lock: Path, waiting: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Hold a lock against other processes; the system releases that of a process which is killed.

    Where no lock can be had (a folder that was closed, a file system without locks) none is held:
    two processes may then compile the same code, as they do after `LONGEST_WAIT`.

    Parameters
    ----------
    lock
        The file that is locked; made if it is not there.
    waiting
        Entered if another process holds the lock for longer than `PATIENCE`, until it is free.
    """
    try:
        lock.parent.mkdir(exist_ok=True)
        file = lock.open("ab")
    except OSError:
        yield
        return
    with file:
        if not _locked_within(PATIENCE, file):
            with waiting():
                _locked_within(LONGEST_WAIT, file)
        try:
            yield
        finally:  # by a word of its own: a forked child may have the file open
            _unlock(file)


def _locked_within(seconds: float, file: IO[bytes]) -> bool:
    """Lock a file as soon as no other process has; False if one has for all that time."""
    until = time.monotonic() + seconds
    while not _locked(file):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


if sys.platform == "win32":
    import msvcrt

    def _locked(file: IO[bytes]) -> bool:
        """Lock a file unless another process has; False if one has."""
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        with suppress(OSError):  # not held, after the longest wait
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _locked(file: IO[bytes]) -> bool:
        """Lock a file unless another process has; False if one has."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def _unlock(file: IO[bytes]) -> None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


# -- times of compilations -------------------------------------------------------------------------


def last_seconds(name: str) -> float | None:
    """Return the seconds that a compilation took last time, or None where that is unknown.

    Times outlive the code: they stand beside its folder, so that they are known after an edit too.
    """
    seconds = _times().get(name)
    if isinstance(seconds, float | int) and 0 <= seconds < float("inf"):
        return float(seconds)
    return None


def note_seconds(name: str, seconds: float) -> None:
    """Write down how long a compilation took; nothing happens where that cannot be written."""
    file = _file_of_times()
    if file is None:
        return
    times = _times()
    times.pop(name, None)
    newest = dict(list({**times, name: round(seconds, 3)}.items())[-_MOST_TIMES:])
    part = file.with_suffix(f".{os.getpid()}")
    try:
        part.write_text(json.dumps(newest, indent=0))
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink()


def _times() -> dict[str, Any]:
    """Read the file of times; a damaged one counts as empty."""
    file = _file_of_times()
    try:
        times = json.loads(file.read_text()) if file is not None else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return times if isinstance(times, dict) else {}


def _file_of_times() -> Path | None:
    folder = cache_folder()
    return None if folder is None else Path(folder).parent / "luce-compilations.json"
