"""Streams: runs whose draws go to a disk as they are made, begun, resumed and completed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from luce.errors import DataError, DiskFullError, LuceError
from luce.runs import journal, moments
from luce.runs.blocks import add_arrays, block_file
from luce.runs.disk import ChainEnd, Disk, StoredDraws
from luce.runs.encoding import stored_form, stored_group
from luce.runs.files import flush_folder, flush_names, is_full
from luce.runs.formats import complete_zarr, format_of, write_zarr
from luce.runs.saving import open_run
from luce.runs.seal import JOURNAL, Checksums, seal_folder
from luce.runs.tree import labelled, run_tree
from luce.runs.workshop import clear_up, workshop
from luce.sampling import convergence
from luce.sampling.chains import Watch, run_chains
from luce.sampling.plan import Plan

if TYPE_CHECKING:
    from xarray import DataTree


def check_folder(folder: Path) -> None:
    """Refuse a path that a run cannot be written to, before any work is done."""
    if not format_of(folder).is_folder:
        raise DataError(f"to = {folder}; draws go to a folder whose name ends in '.zarr'.")
    if not folder.parent.is_dir():
        raise DataError(f"{folder} cannot be written: there is no folder {folder.parent}.")
    clear_up(folder)
    if folder.exists():
        unfinished = (folder / JOURNAL).is_dir()
        how = f"; `luce resume {folder}` goes on with it" if unfinished else ""
        raise DataError(f"{folder} exists{how}. Give another name, or remove it first.")


def draw_to_disk(plan: Plan, folder: Path, elsewhere: Elsewhere | None = None) -> DataTree:
    """Draw a run into a new folder, and open it."""
    check_folder(folder)
    stream = Stream(plan, folder)
    stream.begin()
    with journal.locked(folder):
        return stream.complete(elsewhere)


@dataclass(frozen=True)
class Stream:
    """A plan, and the folder that its draws are written to."""

    plan: Plan
    folder: Path

    def begin(self) -> None:
        """Make the folder with everything but draws, whole or not at all."""
        target = self.folder
        empty = run_tree(self.plan, {}, self.plan.settings.draws, {"complete": 0})
        try:
            with workshop(target) as folder:
                new = folder / target.name
                write_zarr(stored_form(empty), new)
                add_arrays(new, self.plan)
                journal.write_plan(new, {**self.plan.to_json(), "block": self.plan.block})
                if target.exists():
                    raise DataError(f"{target} exists; give another name, or remove it first.")
                flush_folder(new)
                new.rename(target)
                flush_names(target.parent)
        except OSError as error:
            kind = DiskFullError if is_full(error) else LuceError
            raise kind(f"{target} cannot be written: {error.strerror or error}.") from error

    def complete(self, elsewhere: Elsewhere | None = None) -> DataTree:
        """Draw the missing draws, seal the folder, check convergence, and open the run.

        The caller has locked the folder.  `elsewhere` draws the chains in other processes, which
        see the same folder.
        """
        began = time.perf_counter()
        every = range(self.plan.settings.chains)
        ends = self.draw(every) if elsewhere is None else elsewhere(self)
        self._finish(ends, time.perf_counter() - began)
        convergence.check(self.plan, StoredDraws(self.folder, self.plan))
        return open_run(self.folder)

    def draw(self, numbers: Sequence[int], watch: Watch | None = None) -> list[ChainEnd]:
        """Draw the missing draws of some chains; `watch` may stop them."""
        chains = self.plan.new_chains(numbers)
        sink = Disk(self.folder, self.plan, chains)
        sink.take_up()
        settings = self.plan.settings
        threads = min(settings.n_threads(), len(chains))
        try:
            stopped = run_chains(chains, sink, threads, settings.progress, watch)
        except DiskFullError as error:
            raise DiskFullError(f"{error} {self._how_far(sink)}") from error
        if stopped:
            raise KeyboardInterrupt(self._how_far(sink) if watch is None else "")
        return [sink.end_of(chain) for chain in chains]

    def _how_far(self, sink: Disk) -> str:
        return (
            f"{sink.placed:,} of {self.plan.settings.draws:,} draws of each chain are in "
            f"{self.folder}; `luce resume {self.folder}` goes on from there."
        )

    def _finish(self, ends: Sequence[ChainEnd], seconds: float) -> None:
        """Write moments and final attributes, seal the folder, and remove the journal."""
        plan = self.plan
        final = {
            "sampling_time": seconds,
            "interrupted": 0,
            "complete": 1,
            **plan.final_attributes([end.snapshot for end in ends]),
        }
        try:
            complete_zarr(self.folder, stored_group(self._running(ends)), final)
            seal_folder(self.folder, self._known_digests(ends))
        except OSError as error:
            kind = DiskFullError if is_full(error) else LuceError
            raise kind(
                f"{self.folder} could not be brought to its end: {error.strerror or error}. All "
                f"draws are there; `luce resume {self.folder}` tries again."
            ) from error
        journal.close(self.folder)

    def _running(self, ends: Sequence[ChainEnd]) -> Any:
        """Return moments and quantiles of all entries of all parameters."""
        quantiles = self.plan.settings.quantiles
        more = {} if quantiles is None else {"quantile": list(quantiles)}
        found = moments.variables(self.plan, [end.moments for end in ends])
        return labelled(self.plan, found, more)

    def _known_digests(self, ends: Sequence[ChainEnd]) -> Checksums:
        files = {
            block_file(self.folder, output, end.number, block): bytes(row[k]).hex()
            for end in ends
            for block, row in enumerate(end.digests)
            for k, output in enumerate(self.plan.outputs)
        }
        return {file.relative_to(self.folder).as_posix(): own for file, own in files.items()}


# Function that draws the chains of a stream in other processes, and returns their ends in order.
Elsewhere: TypeAlias = Callable[[Stream], list[ChainEnd]]
