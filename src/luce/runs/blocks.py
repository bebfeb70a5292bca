"""Where each number of a streamed run stands: arrays in blocks of draws, one file a block.

A block of a chain is one chunk of a Zarr array: raw little-endian doubles, (1, block, width), the
last one padded with nan.  So any reader of Zarr reads it, and writing one is writing a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.errors import DataError, LuceError

# A block is at most so many bytes of draws, and so many chunks of work (half a second).
_MOST_BYTES, _MOST_CHUNKS = 1 << 26, 100


class StreamedArray(NamedTuple):
    """An array whose draws come one block after the other.

    Attributes
    ----------
    name
        Path of the array in the run, as posterior/probabilities.
    dims
        Dimensions, chain and draw first.
    width
        Numbers a draw, None where a draw is one number and the array has no dimension for it.
    """

    name: str
    dims: tuple[str, ...]
    width: int | None

    def shape(self, draws: int) -> tuple[int, ...]:
        """Of so many draws of one chain."""
        return (draws,) if self.width is None else (draws, self.width)

    def file(self, run: Path, chain: int, block: int) -> Path:
        """The file of one block of a chain."""
        place = run / self.name / "c" / str(chain) / str(block)
        return place if self.width is None else place / "0"


def block_of(draws: int, chunk: int, width: int) -> int:
    """Draws in a block: whole chunks of work, since a chain can be taken up again only between."""
    by_size = _MOST_BYTES // (8 * max(width, 1)) // chunk
    return min(draws, chunk * min(max(by_size, 1), _MOST_CHUNKS))


def add_arrays(run: Path, arrays: list[StreamedArray], chains: int, draws: int, block: int) -> None:
    """Add the arrays' descriptions to a Zarr folder, without any numbers."""
    import zarr

    root = zarr.open_group(run, mode="r+", zarr_format=3, use_consolidated=False)
    for array in arrays:
        tail = () if array.width is None else (array.width,)
        # Of nothing (a run without cores) there is still an array, of width 0.
        root.create_array(
            array.name,
            shape=(chains, draws, *tail),
            chunks=(1, block, *(max(w, 1) for w in tail)),
            dtype="<f8",
            fill_value=np.nan,
            compressors=None,
            dimension_names=array.dims,
        )


def check_arrays(run: Path, arrays: list[StreamedArray], chains: int, draws: int) -> None:
    """Refuse a folder whose arrays are not those that would be filled."""
    for array in arrays:
        file = run / array.name / "zarr.json"
        expected = [chains, draws] if array.width is None else [chains, draws, array.width]
        try:
            shape = json.loads(file.read_text(encoding="utf-8"))["shape"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{file} is missing or damaged: {error}.") from error
        if shape != expected:
            raise DataError(f"{file} has the shape {shape}, and the run's settings {expected}.")


def padded(values: FloatArray, block: int) -> FloatArray:
    """A block as it is stored: contiguous, little-endian, filled up with nan."""
    plain = np.ascontiguousarray(values, "<f8")
    if len(plain) == block:
        return plain
    whole = np.full((block, *plain.shape[1:]), np.nan, "<f8")
    whole[: len(plain)] = plain
    return whole


def read_block(
    run: Path, array: StreamedArray, chain: int, block: int, size: int
) -> np.memmap[Any, np.dtype[np.float64]]:
    """A block on disk, as if it were in memory."""
    file = array.file(run, chain, block)
    try:
        return np.memmap(file, "<f8", "r", shape=array.shape(size))
    except (OSError, ValueError) as error:
        raise LuceError(f"{file} cannot be read: {error}.") from error
