"""Arrays of a run on a disk, in blocks of draws, one file a block.

A block of a chain is one chunk of a Zarr array: raw little-endian numbers of shape (1, rows, ...),
the last one padded with nan, or with the smallest of whole numbers.  Any reader of Zarr reads it,
and writing a block is writing a file.  A block has as many rows as draws, or fewer where only some
draws are stored; where the last block of a run has none, there is no file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from luce._types import NumberArray
from luce.errors import DataError, LuceError
from luce.runs.encoding import stored_attributes
from luce.sampling.chains import Output
from luce.sampling.plan import Plan


def block_file(run: Path, output: Output, chain: int, block: int) -> Path:
    """Name the file of one block of a chain."""
    place = run / output.path / "c" / str(chain) / str(block)
    return place.joinpath(*("0" for _ in output.dims))


def rows_of_block(output: Output, block: int) -> int:
    """Count the rows of a block of an output: its draws that are stored, but one at least."""
    return max(block // output.every, 1)


def _array_shape(output: Output, plan: Plan) -> tuple[int, ...]:
    """Return the shape of the array of all chains."""
    draws = plan.settings.draws // output.every
    return (plan.settings.chains, draws, *output.stored_shape)


def _stored_type(output: Output) -> np.dtype[Any]:
    """Return the type of the numbers in files."""
    return np.dtype(output.dtype).newbyteorder("<")


def _fill_value(dtype: np.dtype[Any]) -> Any:
    """Return the number that fills up the last block."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(np.nan)


def add_arrays(run: Path, plan: Plan) -> None:
    """Add the arrays' descriptions to a Zarr folder, without any numbers."""
    import zarr

    from luce.runs.zarr_folder import ZarrFolder

    root = zarr.open_group(ZarrFolder(run), mode="r+", zarr_format=3, use_consolidated=False)
    for output in plan.outputs:
        dtype, rows = _stored_type(output), rows_of_block(output, plan.block)
        # An output without entries is stored as an array of width 0, in chunks of width 1.
        root.create_array(
            output.path,
            shape=_array_shape(output, plan),
            chunks=(1, rows, *(max(width, 1) for width in output.stored_shape)),
            dtype=dtype,
            fill_value=_fill_value(dtype),
            compressors=None,
            dimension_names=("chain", "draw", *output.dims),
            attributes=stored_attributes(output.attributes or {}),
        )


def check_arrays(run: Path, plan: Plan) -> None:
    """Refuse a folder whose arrays are not those that would be filled."""
    for output in plan.outputs:
        file = run / output.path / "zarr.json"
        expected = list(_array_shape(output, plan))
        try:
            shape = json.loads(file.read_text(encoding="utf-8"))["shape"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{file} is missing or damaged: {error}.") from error
        if shape != expected:
            raise DataError(f"{file} has the shape {shape}, and the run's settings {expected}.")


def padded(output: Output, values: NumberArray, block: int) -> NumberArray:
    """Return a block of draws as it is stored: contiguous, little-endian, filled up."""
    dtype, rows = _stored_type(output), rows_of_block(output, block)
    plain = np.ascontiguousarray(values, dtype)
    if len(plain) == rows:
        return plain
    whole = np.full((rows, *plain.shape[1:]), _fill_value(dtype), dtype)
    whole[: len(plain)] = plain
    return whole


def read_block(
    run: Path, output: Output, chain: int, block: int, size: int
) -> np.memmap[Any, np.dtype[Any]]:
    """Map the first `size` rows of a block on disk into memory."""
    file = block_file(run, output, chain, block)
    try:
        return np.memmap(file, _stored_type(output), "r", shape=(size, *output.stored_shape))
    except (OSError, ValueError) as error:
        raise LuceError(f"{file} cannot be read: {error}.") from error
