"""A run that goes to a disk as it is made: begun, taken up again, and brought to its end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.labels import label_array
from luce.errors import DataError, DiskFullError, LuceError
from luce.model.model import Model
from luce.model.shapes import ModuleShapes
from luce.runs import journal
from luce.runs.blocks import StreamedArray, add_arrays, block_of, read_block
from luce.runs.disk import ChainEnd, Disk
from luce.runs.files import is_full
from luce.runs.formats import complete_zarr, write_zarr
from luce.runs.moments import summarised
from luce.runs.seal import seal_folder
from luce.runs.stored_form import stored_form, stored_group
from luce.runs.tree import Origin, final_attributes, run_tree
from luce.sampling.chains import Chain, Task, new_chains, run_chains, warmup_of
from luce.sampling.memory import wants_logs
from luce.sampling.methods import choose_method
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class Stream:
    """A run and its folder.

    Parameters
    ----------
    folder
        Where it is.
    origin
        What it is made from.
    shapes, settings
        What its chains need besides.
    logs
        Are logarithms kept too?
    quantiles
        Fractions whose quantiles are followed, or None.
    """

    folder: Path
    origin: Origin
    shapes: ModuleShapes | None
    settings: Settings
    logs: bool
    quantiles: FloatArray | None

    @property
    def task(self) -> Task:
        """What its chains do."""
        tunes = self.settings.proposal_concentration is None
        return Task(self.origin.method, self.origin.counts.n_categories, self.origin.thin, tunes)

    @property
    def width(self) -> int:
        """Categories whose draws are kept."""
        kept = self.origin.kept
        return self.task.n if kept is None else len(kept)

    @property
    def arrays(self) -> list[StreamedArray]:
        """What is streamed: probabilities first, then logarithms, then each statistic."""
        sample = ("chain", "draw", "category")
        found = [StreamedArray("posterior/probabilities", sample, self.width)]
        if self.logs:
            found.append(StreamedArray("posterior/log_probabilities", sample, self.width))
        if self.origin.hyperprior is not None:
            found.append(StreamedArray("posterior/concentration", ("chain", "draw"), None))
        cores = len(self.origin.method.parts)
        found += [
            StreamedArray(f"sample_stats/{name}", ("chain", "draw", "core"), cores)
            for name in self.origin.statistics
        ]
        return found

    @property
    def block(self) -> int:
        """Draws in a block."""
        return block_of(self.settings.draws, self.task.chunk, self.task.n)

    def begin(self) -> None:
        """Make the folder with everything but draws; it appears whole or not at all."""
        target = self.folder
        size = (self.settings.chains, self.settings.draws)
        tree = stored_form(run_tree(self.origin, size, {}, {}, {"complete": 0}))
        parent = target.parent
        try:
            workshop = Path(tempfile.mkdtemp(".part", f".{target.name}.", parent))
        except OSError as error:
            raise LuceError(f"{target} cannot be written: {error.strerror or error}.") from error
        try:
            new = workshop / target.name
            write_zarr(tree, new)
            add_arrays(new, self.arrays, *size, self.block)
            journal.write_settings(new, self._spec())
            if target.exists():
                raise DataError(f"{target} exists; give another name, or remove it first.")
            new.rename(target)
        except OSError as error:
            kind = DiskFullError if is_full(error) else LuceError
            raise kind(f"{target} cannot be written: {error.strerror or error}.") from error
        finally:
            shutil.rmtree(workshop, ignore_errors=True)

    def run(self, elsewhere: Callable[[Stream], list[ChainEnd]] | None = None) -> None:
        """Draw what is still missing, and bring the run to its end.

        `elsewhere` has the chains drawn by others, who see the same folder.
        """
        with journal.locked(self.folder):
            began = time.perf_counter()
            every = list(range(self.settings.chains))
            ends = self.draw(every) if elsewhere is None else elsewhere(self)
            self._finish(ends, time.perf_counter() - began)

    def draw(
        self, numbers: list[int], watch: Callable[[list[Chain]], bool] | None = None
    ) -> list[ChainEnd]:
        """Draw what is missing of some chains; `watch` may say to stop."""
        chains = [
            chain
            for chain in new_chains(self.task, self.shapes, self.settings)
            if chain.number in numbers
        ]
        sink = Disk(self, chains)
        sink.take_up()
        threads = min(self.settings.n_threads(), len(chains))
        seen = None if watch is None else lambda: watch(chains)
        try:
            stopped = run_chains(self.task, chains, sink, threads, self.settings.progress, seen)
        except DiskFullError as error:
            raise DiskFullError(f"{error} {self._how_far(chains)}") from error
        if stopped:
            raise KeyboardInterrupt(self._how_far(chains) if watch is None else "")
        return [sink.end_of(chain) for chain in chains]

    def columns(self, numbers: IntArray, every: int) -> FloatArray:
        """Some columns of every so-many-th draw, (chain, draw, column)."""
        draws, block = self.settings.draws, self.block
        out = []
        for chain in range(self.settings.chains):
            rows = []
            for k in range(-(-draws // block)):
                size = min(block, draws - k * block)
                first = -(k * block) % every
                found = read_block(self.folder, self.arrays[0], chain, k, size)
                rows.append(np.asarray(found[first::every][:, numbers]))
            out.append(np.concatenate(rows))
        return np.stack(out)

    def _how_far(self, chains: list[Chain]) -> str:
        done = min(chain.done for chain in chains) // self.block * self.block
        return (
            f"{done:,} of {self.settings.draws:,} draws of each chain are in {self.folder}; "
            f"`luce resume {self.folder}` goes on from there."
        )

    def _spec(self) -> dict[str, object]:
        s = self.settings
        return {
            "draws": s.draws,
            "chains": s.chains,
            "warmup": self.origin.warmup,
            "seed": np.asarray(self.origin.seed.entropy, object).tolist(),
            "seed_spawn_key": list(self.origin.seed.spawn_key),
            "seed_pool_size": self.origin.seed.pool_size,
            "method": s.method,
            "reduce": bool(s.reduce),
            "initial": s.initial if isinstance(s.initial, str) else np.asarray(s.initial).tolist(),
            "log_probabilities": self.logs,
            "proposal_concentration": s.proposal_concentration,
            "thin": self.origin.thin,
            "kept": None if self.origin.kept is None else self.origin.kept.tolist(),
            "quantiles": None if self.quantiles is None else self.quantiles.tolist(),
            "block": self.block,
        }

    def _finish(self, ends: list[ChainEnd], seconds: float) -> None:
        """Write what is known at the end, seal the folder, and take the journal away."""
        log_tuning = np.array([end.log_tuning for end in ends]).reshape(len(ends), -1)
        final = final_attributes(self.origin, seconds, False, log_tuning)
        known = {
            array.file(self.folder, end.number, block): bytes(row[k]).hex()
            for end in ends
            for block, row in enumerate(end.digests)
            for k, array in enumerate(self.arrays)
        }
        try:
            complete_zarr(self.folder, "running", self._running(ends), {**final, "complete": 1})
            seal_folder(self.folder, known)
        except OSError as error:
            kind = DiskFullError if is_full(error) else LuceError
            raise kind(
                f"{self.folder} could not be brought to its end: {error.strerror or error}. All "
                f"draws are there; `luce resume {self.folder}` tries again."
            ) from error
        journal.close(self.folder)

    def _running(self, ends: list[ChainEnd]) -> Dataset:
        """The group `running`: moments and quantiles of all categories."""
        import xarray as xr

        found = summarised([end.running for end in ends], self.quantiles, self.logs)
        index: dict[str, object] = {"chain": np.arange(self.settings.chains)}
        if self.quantiles is not None:
            index["quantile"] = self.quantiles
        index["category"] = label_array(self.origin.counts.categories)
        return stored_group(xr.Dataset(found, index))


def new_stream(
    folder: Path, model: Model, settings: Settings, quantiles: FloatArray | None
) -> Stream:
    """Decide how to draw, and with which seed."""
    method = choose_method(model, settings)
    seed = settings.seed_sequence()
    settings = settings.reseeded(seed)
    warmup, kept = warmup_of(method, settings), settings.kept_numbers(model.counts)
    origin = Origin(model, method, warmup, seed, settings.thin, kept)
    logs = wants_logs(model.shapes, settings)
    return Stream(folder, origin, model.shapes, settings, logs, quantiles)
