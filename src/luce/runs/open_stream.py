"""The ways into a streamed run: a new one, and one that was broken off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from luce._types import FloatArray
from luce.errors import DataError
from luce.model.model import Model
from luce.runs.blocks import check_arrays, read_block
from luce.runs.disk import ChainEnd
from luce.runs.formats import format_of, open_zarr
from luce.runs.journal import read_settings
from luce.runs.moments import read_quantiles
from luce.runs.seal import settings_file
from luce.runs.stored_form import original_form
from luce.runs.stream import Stream, new_stream
from luce.sampling.convergence import looked_at, warn_if_not_converged
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import DataTree

# Who draws the chains, if not this process.
Elsewhere: TypeAlias = Callable[[Stream], list[ChainEnd]] | None


def begin(
    model: Model,
    settings: Settings,
    folder: Path,
    quantiles: Sequence[float] | None,
    elsewhere: Elsewhere = None,
) -> DataTree:
    """Start a run and bring it to its end."""
    check_folder(folder)
    stream = new_stream(folder, model, settings, read_quantiles(quantiles))
    stream.begin()
    return finished(stream, elsewhere)


def check_folder(folder: Path) -> None:
    """Refuse a place that a run cannot be written to, before any work is done."""
    if not format_of(folder).is_folder:
        raise DataError(f"to = {folder}; draws go to a folder whose name ends in '.zarr'.")
    if not folder.parent.is_dir():
        raise DataError(f"{folder} cannot be written: there is no folder {folder.parent}.")
    if folder.exists():
        unfinished = (folder / "journal").is_dir()
        how = f"; `luce resume {folder}` goes on with it" if unfinished else ""
        raise DataError(f"{folder} exists{how}. Give another name, or remove it first.")


def taken_up(
    model: Model,
    folder: Path,
    threads: int | None = None,
    progress: bool = True,
) -> DataTree:
    """Go on with a run that was broken off, and bring it to its end."""
    given = read_settings(folder)
    try:
        settings = _settings_of(given, model, threads, progress)
        block, quantiles = int(given["block"]), read_quantiles(given["quantiles"])
        stream = new_stream(folder, model, settings, quantiles)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"{settings_file(folder)} is damaged ({error!r}). The run has to be started anew."
        ) from error
    if stream.block != block:
        raise DataError(
            f"{folder} was begun in blocks of {block} draws, and this luce makes blocks "
            f"of {stream.block}: it was another version. Go on with that one, or start anew."
        )
    check_arrays(folder, stream.arrays, settings.chains, settings.draws)
    return finished(stream)


def _settings_of(
    given: dict[str, Any], model: Model, threads: int | None, progress: bool
) -> Settings:
    kept = given["kept"]
    return Settings(
        draws=given["draws"],
        chains=given["chains"],
        warmup=given["warmup"],
        seed=np.random.SeedSequence(
            given["seed"], spawn_key=given["seed_spawn_key"], pool_size=given["seed_pool_size"]
        ),
        method=given["method"],
        reduce=given["reduce"],
        initial=given["initial"],
        threads=threads,
        progress=progress,
        log_probabilities=given["log_probabilities"],
        proposal_concentration=given["proposal_concentration"],
        thin=given["thin"],
        keep=None if kept is None else [model.counts.categories[i] for i in kept],
    )


def finished(stream: Stream, elsewhere: Elsewhere = None) -> DataTree:
    """Run to the end, look whether the draws can be trusted, and open them."""
    stream.run(elsewhere)
    if not stream.origin.method.independent:
        warn_if_not_converged(*_watched(stream))
    return original_form(open_zarr(stream.folder), str(stream.folder))


def _watched(stream: Stream) -> tuple[FloatArray, FloatArray | None]:
    """Some columns of the draws, and what was accepted."""
    thin, chosen = looked_at(stream.settings.draws, stream.width)
    few = stream.columns(chosen, thin)
    parts = stream.origin.method.parts
    proposes = [part.kernel.statistic == "accepted" for part in parts]
    if not any(proposes):
        return few, None
    (array,) = (a for a in stream.arrays if a.name == "sample_stats/accepted")
    draws, block = stream.settings.draws, stream.block
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    accepted = [
        np.concatenate([
            np.asarray(read_block(stream.folder, array, chain, k, size))
            for k, size in enumerate(sizes)
        ])
        for chain in range(stream.settings.chains)
    ]  # fmt: skip
    return few, np.stack(accepted)[..., proposes]
