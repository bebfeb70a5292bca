"""The journal of a run: places from which its chains can go on, and digests of their blocks.

The journal lies in the run's folder until the run is complete:

    journal/plan              the plan, the number of draws in a block, the SHA-256 of each file
                              that the run was begun with, and the files that its end rewrites
    journal/lock              held by the process that writes
    journal/<chain>/<steps>   a snapshot of the chain after that number of steps (npz), its running
                              moments, and the SHA-256 of each block so far; the last two are kept

Plan and places are sealed; a place belongs to one plan, chain and number of steps.  A place is
written only after its blocks are on the disk.  So the last whole place is true, and all draws after
it are made again, bit for bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from luce.errors import DataError, LuceError
from luce.runs.blocks import block_file
from luce.runs.files import digest_of, flush_names, remove_parts, write_whole
from luce.runs.formats import REWRITTEN
from luce.runs.moments import Running
from luce.runs.seal import JOURNAL, checksums_of, plan_file, sealed, unsealed
from luce.sampling.chains import Chain
from luce.sampling.plan import Plan

# Running moments of each parameter, by name.
Moments: TypeAlias = Mapping[str, Running]

# Errors that zipfile and numpy raise on a damaged file; NotImplementedError is a RuntimeError.
_UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


# Digest that stands for the file of a block without rows, which is not written.
NO_FILE = bytes(32)

# Number of places of a chain that are kept.
_KEPT = 2


def write_plan(run: Path, plan: dict[str, Any]) -> None:
    """Write the plan of a run, from which the run can be resumed, with checksums of its files."""
    begun = {
        "files": checksums_of(run),
        "rewritten": [(run / g / "zarr.json").read_text(encoding="utf-8") for g in REWRITTEN],
    }
    write_whole(plan_file(run), sealed(json.dumps({**plan, **begun}, indent=2).encode()))


def read_plan(run: Path) -> dict[str, Any]:
    """Read the plan of a run that is not finished."""
    file = plan_file(run)
    try:
        content = unsealed(file.read_bytes())
        plan = None if content is None else json.loads(content)
    except FileNotFoundError:
        raise DataError(
            f"{run} is not a run that was broken off: there is no {JOURNAL}/{file.name} in it."
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise DataError(f"{file} is damaged: {error}. The run has to be started anew.") from error
    if not isinstance(plan, dict):
        what = "its fingerprint does not fit" if plan is None else "no object"
        raise DataError(f"{file} is damaged: {what}. The run has to be started anew.")
    return plan


def restore_beginning(run: Path, plan: dict[str, Any]) -> None:
    """Write files as they were at the beginning, where an end that was broken off rewrote them."""
    remove_parts(run)
    for group, text in zip(REWRITTEN, plan["rewritten"], strict=True):
        file, content = run / group / "zarr.json", text.encode()
        if digest_of(file) != hashlib.sha256(content).digest():
            write_whole(file, content)


def close(run: Path) -> None:
    """Remove the journal; the run counts as finished once its plan is removed."""
    plan_file(run).unlink(missing_ok=True)
    flush_names(run / JOURNAL)
    shutil.rmtree(run / JOURNAL, ignore_errors=True)


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Lock the run for this process; the lock ends with the process, however that ends."""
    try:
        import fcntl
    except ModuleNotFoundError:
        raise LuceError("runs are streamed only where files can be locked: Linux, macOS.") from None
    file = run / JOURNAL / "lock"
    try:
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
    """The places of one chain, and the digests of its blocks, shape (blocks, outputs, 32).

    `placed` is the number of draws before the last place, from which the chain can go on.
    """

    def __init__(self, run: Path, number: int, plan: Plan) -> None:
        self._run, self._number, self._plan = run, number, plan
        self._folder = run / JOURNAL / str(number)
        self.digests = np.empty((0, len(plan.outputs), 32), np.uint8)
        self.placed = 0
        self._written = time.monotonic()

    def add_block(self, digests: list[bytes]) -> None:
        """Add the digests of a block that is on the disk."""
        new = np.frombuffer(b"".join(digests), np.uint8).reshape(1, len(digests), 32)
        self.digests = np.concatenate([self.digests, new])

    def note(self, chain: Chain, moments: Moments, *, always: bool = False) -> None:
        """Write the chain's place, unless it is large and the last one was written lately."""
        arrays = self._arrays(chain, moments)
        settings = self._plan.settings
        large = sum(np.asarray(a).nbytes for a in arrays.values()) > settings.place_bytes
        lately = time.monotonic() - self._written < settings.place_seconds
        if large and lately and not always:
            return
        content = io.BytesIO()
        np.savez(content, **arrays)
        place = self._folder / f"{chain.steps:015d}"
        write_whole(place, sealed(content.getbuffer(), context_of(self._run, place)))
        self._written, self.placed = time.monotonic(), chain.done
        for old in self._places()[_KEPT:]:
            with suppress(FileNotFoundError):
                old.unlink()

    def take_up(self, chain: Chain, moments: Moments) -> None:
        """Restore a new chain from the last place whose blocks are all whole, if there is one."""
        whole: dict[tuple[int, int, bytes], bool] = {}
        for place in self._places():
            arrays = read_place(place, context_of(self._run, place))
            if arrays is None or not self.fits(arrays, chain, moments, whole):
                continue
            try:
                chain.restore(_part(arrays, "chain"))
            except ValueError:
                continue
            for name, running in moments.items():
                running.restore(_part(arrays, name))
            self.digests, self.placed = arrays["digests"], chain.done
            return

    def _arrays(self, chain: Chain, moments: Moments) -> dict[str, Any]:
        found = {f"chain.{name}": array for name, array in chain.snapshot().items()}
        for parameter, running in moments.items():
            found |= {f"{parameter}.{name}": array for name, array in running.arrays().items()}
        return {**found, "digests": self.digests}

    def _places(self) -> list[Path]:
        """List the places written so far, the last one first."""
        return sorted(self._folder.glob("[0-9]*"), reverse=True)

    def fits(
        self,
        arrays: dict[str, Any],
        chain: Chain,
        moments: Moments,
        whole: dict[tuple[int, int, bytes], bool],
    ) -> bool:
        """Are the arrays a place of this chain, and its blocks unchanged on the disk?"""
        expected = self._arrays(chain, moments)
        if arrays.keys() != expected.keys():
            return False
        for name, array in arrays.items():
            shape, wanted = array.shape, np.shape(expected[name])
            if name == "digests":
                shape, wanted = shape[1:], wanted[1:]
            if shape != wanted or array.dtype != expected[name].dtype:
                return False
        digests, done = arrays["digests"], int(arrays["chain.done"])
        if len(digests) != -(-done // self._plan.block):
            return False
        return all(self._is_whole(block, row, whole) for block, row in enumerate(digests))

    def _is_whole(
        self, block: int, row: np.ndarray, whole: dict[tuple[int, int, bytes], bool]
    ) -> bool:
        for k, output in enumerate(self._plan.outputs):
            key = block, k, bytes(row[k])
            if key not in whole:
                file = block_file(self._run, output, self._number, block)
                whole[key] = (digest_of(file) or NO_FILE) == bytes(row[k])
            if not whole[key]:
                return False
        return True


def _part(arrays: dict[str, Any], owner: str) -> dict[str, Any]:
    """Select the arrays of one owner, the chain or a parameter, without its prefix."""
    prefix = f"{owner}."
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def context_of(run: Path, place: Path) -> str:
    """Return what a place belongs to: the run's plan, the chain, and the number of steps."""
    plan = digest_of(plan_file(run)) or b""
    return f"{plan.hex()} {place.parent.name} {place.name}"


def read_place(place: Path, context: str) -> dict[str, Any] | None:
    """Read a place; None if it is damaged, since the chain can go on from an earlier one."""
    try:
        content = unsealed(place.read_bytes(), context)
        if content is None:
            return None
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            sizes = sum(member.file_size for member in packed.infolist())
            if sizes > len(content):  # luce compresses nothing, so luce did not write it
                return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except _UNREADABLE:
        return None
