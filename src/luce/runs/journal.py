"""Where a chain can be taken up again, and which of its blocks are known to be whole.

The journal lies in the run's folder until the run is complete:

    journal/run.json             settings, and the sizes that everything depends on
    journal/lock                 held by the process that writes
    journal/<chain>/<done>.npz   the chain after so many draws and warm-up sweeps: generators,
                                 states, tunings, moments, and the SHA-256 of each block so far

A place is written only after its blocks are on the disk.  So whatever the last whole place says is
true, and everything after it is made again, bit for bit.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from luce.errors import DataError, LuceError
from luce.runs.blocks import StreamedArray
from luce.runs.files import digest_of, write_whole
from luce.runs.moments import Running
from luce.runs.seal import JOURNAL, settings_file
from luce.sampling.chains import Chain

# Places up to this size are written after every block and all kept; larger ones every so many
# seconds, and only the last two are kept.
_SMALL, _SECONDS = 1 << 18, 30.0

# What zipfile and numpy say of a file that is not whole; NotImplementedError is a RuntimeError.
_UNREADABLE = (OSError, ValueError, TypeError, EOFError, KeyError, RuntimeError, MemoryError,
               SyntaxError, struct.error, zlib.error, zipfile.BadZipFile)  # fmt: skip


def write_settings(run: Path, settings: dict[str, Any]) -> None:
    """Write what a run is to be."""
    write_whole(settings_file(run), json.dumps(settings, indent=2).encode())


def read_settings(run: Path) -> dict[str, Any]:
    """Read what a run is to be."""
    file = settings_file(run)
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{run} is not a run that was broken off: there is no {JOURNAL}/run.json in it."
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise DataError(f"{file} is damaged: {error}. The run has to be started anew.") from error
    if not isinstance(settings, dict):
        raise DataError(f"{file} is damaged: no object. The run has to be started anew.")
    return settings


def close(run: Path) -> None:
    """Take the journal away; the run counts as finished once its settings are gone."""
    settings_file(run).unlink(missing_ok=True)
    shutil.rmtree(run / JOURNAL, ignore_errors=True)


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold the run for this process; the lock is gone with the process, however it ends."""
    try:
        import fcntl
    except ModuleNotFoundError:
        raise LuceError("runs are streamed only where files can be locked: Linux, macOS.") from None
    file = run / JOURNAL / "lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = file.open("w")
    except OSError as error:
        raise LuceError(f"{run} cannot be written: {error.strerror or error}.") from error
    with opened as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LuceError(
                f"{run} is being written by another process. Wait for it, or stop it first."
            ) from None
        yield


class Journal:
    """The places of one chain, and the digests of its blocks, shape (blocks, arrays, 32)."""

    def __init__(self, run: Path, chain: int, arrays: list[StreamedArray], block: int) -> None:
        self._run, self._chain, self._arrays, self._block = run, chain, arrays, block
        self._folder = run / JOURNAL / str(chain)
        self.digests = np.empty((0, len(arrays), 32), np.uint8)
        self._written = time.monotonic()

    def add_block(self, digests: list[bytes]) -> None:
        """Note a block that is on the disk."""
        new = np.frombuffer(b"".join(digests), np.uint8).reshape(1, len(self._arrays), 32)
        self.digests = np.concatenate([self.digests, new])

    def note(self, chain: Chain, running: Running, *, always: bool = False) -> None:
        """Write down where the chain is, unless that is much and was done a moment ago."""
        arrays = {**_arrays_of(chain), **running.arrays(), "digests": self.digests}
        large = sum(np.asarray(array).nbytes for array in arrays.values()) > _SMALL
        if large and not always and time.monotonic() - self._written < _SECONDS:
            return
        content = io.BytesIO()
        np.savez(content, **arrays)
        name = f"{chain.done:012d}-{chain.to_warm:012d}.npz"
        write_whole(self._folder / name, content.getbuffer())
        self._written = time.monotonic()
        if large:
            for old in self._places()[2:]:
                with suppress(FileNotFoundError):
                    old.unlink()

    def take_up(self, chain: Chain, running: Running) -> None:
        """Put a new chain where it was: at the last place whose blocks are all whole."""
        whole: dict[tuple[int, int, bytes], bool] = {}
        for place in self._places():
            arrays = _read(place)
            if arrays is None or not self._fits(arrays, chain, running, whole):
                continue
            _restore(chain, arrays)
            running.restore(arrays)
            self.digests = arrays["digests"]
            return

    def _places(self) -> list[Path]:
        """Places written so far, the last one first."""

        def far(file: Path) -> tuple[int, int]:
            done, _, to_warm = file.stem.partition("-")
            return int(done), -int(to_warm)

        return sorted(self._folder.glob("[0-9]*-[0-9]*.npz"), key=far, reverse=True)

    def _fits(
        self,
        arrays: dict[str, Any],
        chain: Chain,
        running: Running,
        whole: dict[tuple[int, int, bytes], bool],
    ) -> bool:
        """Is this a place of this chain, with all its blocks as they were?"""
        expected = {**_arrays_of(chain), **running.arrays(), "digests": self.digests}
        if arrays.keys() != expected.keys():
            return False
        digests = arrays.pop("digests")
        if digests.shape[1:] != (len(self._arrays), 32) or digests.dtype != np.uint8:
            return False
        for name, array in arrays.items():
            if array.shape != np.shape(expected[name]) or array.dtype != expected[name].dtype:
                return False
        arrays["digests"] = digests
        if arrays["done"] + arrays["to_draw"] != chain.to_draw or arrays["to_draw"] < 0:
            return False
        for block, row in enumerate(digests):
            for k, array in enumerate(self._arrays):
                key = block, k, bytes(row[k])
                if key not in whole:
                    file = array.file(self._run, self._chain, block)
                    whole[key] = digest_of(file) == bytes(row[k])
                if not whole[key]:
                    return False
        return len(digests) == -(-int(arrays["done"]) // self._block)


def _arrays_of(chain: Chain) -> dict[str, Any]:
    """Everything that the next sweep of a chain depends on."""
    return {
        "done": np.int64(chain.done),
        "to_warm": np.int64(chain.to_warm),
        "to_draw": np.int64(chain.to_draw),
        "splitter": chain.splitter,
        "generators": np.array(chain.generators, np.uint64).reshape(-1, 4),
        "tunings": np.array(chain.tunings, np.float64).reshape(-1, 4),
        "states": np.concatenate([np.empty(0), *chain.states]),
    }


def _restore(chain: Chain, arrays: dict[str, Any]) -> None:
    chain.done, chain.to_warm = int(arrays["done"]), int(arrays["to_warm"])
    chain.to_draw = int(arrays["to_draw"])
    chain.splitter[:] = arrays["splitter"]
    start = 0
    for q, state in enumerate(chain.states):
        chain.generators[q][:] = arrays["generators"][q]
        chain.tunings[q][:] = arrays["tunings"][q]
        state[:] = arrays["states"][start : start + len(state)]
        start += len(state)


def _read(place: Path) -> dict[str, Any] | None:
    """Read a place; None if it is damaged: an earlier one will do."""
    try:
        with zipfile.ZipFile(place) as packed:
            sizes = sum(member.file_size for member in packed.infolist())
            if sizes > place.stat().st_size:  # nothing is compressed, so this was not luce
                return None
        with place.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except _UNREADABLE:
        return None
