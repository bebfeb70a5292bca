"""Arrays of a run on a disk, in blocks of draws, one file a block.

A block of a chain is one chunk of a Zarr array: raw little-endian doubles of shape (1, block, ...),
the last one padded with nan.  Any reader of Zarr reads it, and writing a block is writing a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.errors import DataError, LuceError
from luce.runs.encoding import stored_attributes
from luce.sampling.chains import Output
from luce.sampling.plan import Plan


def block_file(run: Path, output: Output, chain: int, block: int) -> Path:
    """Name the file of one block of a chain."""
    place = run / output.path / "c" / str(chain) / str(block)
    return place.joinpath(*("0" for _ in output.dims))


def add_arrays(run: Path, plan: Plan) -> None:
    """Add the arrays' descriptions to a Zarr folder, without any numbers."""
    import zarr

    from luce.runs.zarr_folder import ZarrFolder

    root = zarr.open_group(ZarrFolder(run), mode="r+", zarr_format=3, use_consolidated=False)
    size = (plan.settings.chains, plan.settings.draws)
    for output in plan.outputs:
        # An output without entries is stored as an array of width 0, in chunks of width 1.
        root.create_array(
            output.path,
            shape=(*size, *output.stored_shape),
            chunks=(1, plan.block, *(max(width, 1) for width in output.stored_shape)),
            dtype="<f8",
            fill_value=np.nan,
            compressors=None,
            dimension_names=("chain", "draw", *output.dims),
            attributes=stored_attributes(output.attributes or {}),
        )


def check_arrays(run: Path, plan: Plan) -> None:
    """Refuse a folder whose arrays are not those that would be filled."""
    for output in plan.outputs:
        file = run / output.path / "zarr.json"
        expected = [plan.settings.chains, plan.settings.draws, *output.stored_shape]
        try:
            shape = json.loads(file.read_text(encoding="utf-8"))["shape"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{file} is missing or damaged: {error}.") from error
        if shape != expected:
            raise DataError(f"{file} has the shape {shape}, and the run's settings {expected}.")


def padded(values: FloatArray, block: int) -> FloatArray:
    """Return a block as it is stored: contiguous, little-endian, filled up with nan."""
    plain = np.ascontiguousarray(values, "<f8")
    if len(plain) == block:
        return plain
    whole = np.full((block, *plain.shape[1:]), np.nan, "<f8")
    whole[: len(plain)] = plain
    return whole


def read_block(
    run: Path, output: Output, chain: int, block: int, size: int
) -> np.memmap[Any, np.dtype[np.float64]]:
    """Map a block on disk into memory."""
    file = block_file(run, output, chain, block)
    try:
        return np.memmap(file, "<f8", "r", shape=(size, *output.stored_shape))
    except (OSError, ValueError) as error:
        raise LuceError(f"{file} cannot be read: {error}.") from error
