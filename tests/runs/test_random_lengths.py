"""Chains of random length on a disk: killed, taken up, and as long as they would have been."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.killed_runs import draw_and_die
from lib.random_lengths import Lists, WalkPlan, walk_plan

from luce.runs.blocks import read_block
from luce.runs.disk import ChainEnd
from luce.runs.journal import read_plan
from luce.runs.stream import Stream
from luce.sampling.chains import run_chains


def whole() -> dict[int, list[float]]:
    """All walks, in memory."""
    sink = Lists()
    run_chains(walk_plan().new_chains(), sink)
    return sink.paths


def stored(stream: Stream, ends: list[ChainEnd]) -> dict[int, list[float]]:
    """All walks, from their blocks."""
    found: dict[int, list[float]] = {}
    (output,), block = stream.plan.outputs, stream.plan.block
    for end in ends:
        done, path = int(end.snapshot["done"]), []
        for k in range(-(-done // block)):
            path += read_block(stream.folder, output, end.number, k, block).tolist()
        assert np.isnan(path[done:]).all()
        found[end.number] = path[:done]
    return found


def test_the_lengths_are_not_those_of_the_arrays() -> None:
    lengths = [len(path) for path in whole().values()]
    assert len(set(lengths)) == len(lengths)
    assert max(lengths) < walk_plan().settings.draws
    assert walk_plan().block == 8
    assert min(lengths) > walk_plan().block


def test_walks_on_a_disk_are_those_in_memory(tmp_path: Path) -> None:
    stream = Stream(walk_plan(), tmp_path / "run.zarr")
    stream.begin()
    ends = stream.draw(range(5))
    assert stored(stream, ends) == whole()
    for end in ends:
        mean = np.mean(whole()[end.number])
        assert end.moments["place"].seen == len(whole()[end.number])
        np.testing.assert_allclose(end.moments["place"].mean, mean, rtol=1e-12)


CODE = """
from luce.runs.stream import Stream
stream = Stream(random_lengths.walk_plan(), folder)
stream.begin()
stream.draw(range(5))
"""


@pytest.mark.parametrize(
    "files", [pytest.param(1, marks=pytest.mark.slow), 9, pytest.param(14, marks=pytest.mark.slow)]
)
def test_walks_that_were_killed_are_taken_up(files: int, tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    draw_and_die(CODE, "random_lengths", folder, files)
    stream = Stream(WalkPlan.from_json(read_plan(folder)), folder)
    made = len(list((folder / "posterior" / "place" / "c").glob("*/*")))
    assert made == files
    written: list[Path] = []
    assert stored(stream, drawn(stream, written)) == whole()
    blocks = sum(-(-len(path) // stream.plan.block) for path in whole().values())
    assert len(written) == blocks - made  # what was there is not drawn again


def drawn(stream: Stream, written: list[Path]) -> list[ChainEnd]:
    """Draw what is missing, and note the blocks that are written."""
    from luce.runs import disk

    write_whole = disk.write_whole

    def write(path: Path, content: Any) -> bytes:
        written.append(path)
        return write_whole(path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "write_whole", write)
        return stream.draw(range(5))
