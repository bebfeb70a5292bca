"""Blocks of draws as chunks of Zarr arrays."""

from pathlib import Path

import numpy as np
import pytest
from lib.streaming_runs import CHAINS, CHUNK_STEPS, DRAWS, draw, plan

from luce import LuceError
from luce.errors import DataError
from luce.runs.blocks import block_file, check_arrays, padded, read_block
from luce.runs.disk import StoredDraws
from luce.runs.files import write_whole
from luce.sampling.chains import Output
from luce.sampling.screen import columns


def test_blocks_that_are_missing_are_told_of(tmp_path: Path) -> None:
    output = Output("posterior/concentration", (), ())
    with pytest.raises(DataError, match="is missing or damaged"):
        check_arrays(tmp_path, plan("concentration"))
    with pytest.raises(LuceError, match="cannot be read"):
        read_block(tmp_path, output, 0, 0, 4)
    write_whole(block_file(tmp_path, output, 0, 0), padded(output, np.arange(3.0), 4).data)
    np.testing.assert_array_equal(read_block(tmp_path, output, 0, 0, 4), [0.0, 1.0, 2.0, np.nan])


def test_a_block_is_whole_chunks_and_no_larger_than_allowed() -> None:
    chosen = plan("waiting-times")
    assert chosen.block == 3 * chosen.chunk
    assert chosen.chunk == CHUNK_STEPS // (6 + chosen.method.work)
    assert plan("waiting-times", block_bytes=8 * 6 * chosen.chunk).block == chosen.chunk
    assert plan("waiting-times", block_bytes=1).block == chosen.chunk
    assert plan("waiting-times", block_chunks=10**6).block == DRAWS


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("every", [1, 2, 7])
def test_columns_are_read_across_blocks(every: int, tmp_path: Path) -> None:
    values = draw("waiting-times", tmp_path / "run.zarr").posterior["probabilities"].values
    stored = StoredDraws(tmp_path / "run.zarr", plan("waiting-times"))
    found = columns(stored, CHAINS, "posterior/probabilities", np.array([4, 1]), every)
    assert stored.draws == DRAWS
    assert len(found) == CHAINS
    np.testing.assert_array_equal(found, values[:, ::every, [4, 1]])


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 17, 4), slice(None, None, 7), slice(5, -1)])
def test_rows_are_read_across_blocks(rows: slice, tmp_path: Path) -> None:
    values = draw("waiting-times", tmp_path / "run.zarr").posterior["probabilities"].values
    small = plan("waiting-times")
    stored = StoredDraws(tmp_path / "run.zarr", small)
    assert small.block < DRAWS
    for chain in range(CHAINS):
        found = stored.read("posterior/probabilities", chain, rows, slice(1, 5))
        np.testing.assert_array_equal(found, values[chain, rows, 1:5])
