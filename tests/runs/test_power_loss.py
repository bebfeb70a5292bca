"""Loss of power: a run that was begun goes on with the same draws, whatever was not flushed."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from lib.bounds import SEED
from lib.power_loss import Recorder, rebuild, recorded
from lib.saved_runs import run_over
from lib.streaming_runs import plan, same_numbers

import luce
from luce.cluster.execution import carry_out
from luce.runs import journal
from luce.runs.stream import Stream

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc"),
]

SMALL: dict[str, Any] = {"draws": 60, "chains": 2, "warmup": 4, "threads": 1, "progress": False}
HOW = ["flushed", "names", "mixed"]


def streamed(folder: Path, *, lying: bool = False) -> tuple[Recorder, int, xr.DataTree]:
    """Record a run to a disk; return also the number of crash points when it had begun."""
    folder.mkdir()
    small = plan("waiting-times", **SMALL)
    stream = Stream(small, folder / "run.zarr")
    with recorded(folder, lying=lying) as recorder:
        stream.begin()
        begun = len(recorder.points)
        with journal.locked(stream.folder):
            stream.complete()
    return recorder, begun, carry_out(small)


def check(points: list[int], folder: Path, ways: int = 1) -> None:
    """Lose power at some points, in one or all ways; negative numbers count from the end."""
    recorder, begun, truth = streamed(folder / "disk")
    last = len(recorder.points)
    assert begun > 50
    assert last - begun > 100
    for k in sorted({k if k >= 0 else last + k for k in points if k < last}):
        for how in [HOW[(k + way) % len(HOW)] for way in range(ways)]:
            crashed = folder / f"{k}-{how}"
            rebuild(recorder.points[k], crashed, how, random.Random(SEED + k))
            run, words = crashed / "run.zarr", f"{k}, {how}: {recorder.points[k].operation}"
            assert run.exists() or k < begun, words
            if run.exists():
                assert same_numbers(luce.resume(run, progress=False), truth), words
                assert same_numbers(luce.load(run), truth), words


def test_a_run_outlives_a_loss_of_power(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    check([rng.randrange(60, 250) for _ in range(3)] + [-rng.randrange(1, 40), -15], tmp_path)


@pytest.mark.slow
def test_a_run_outlives_a_loss_of_power_at_any_time(tmp_path: Path) -> None:
    check(list(range(10**4)), tmp_path)
    (tmp_path / "end").mkdir()
    check(list(range(-60, 0)), tmp_path / "end", ways=3)


def test_control_a_disk_that_flushes_nothing_loses_the_run_and_luce_says_so(tmp_path: Path) -> None:
    recorder, _, _ = streamed(tmp_path / "disk", lying=True)
    rebuild(recorder.points[-1], tmp_path / "flushed", "flushed", random.Random(SEED))
    assert not (tmp_path / "flushed" / "run.zarr").exists()
    rebuild(recorder.points[-1], tmp_path / "names", "names", random.Random(SEED))
    for read in (luce.load, luce.resume):
        with pytest.raises(luce.LuceError):
            read(tmp_path / "names" / "run.zarr")


@pytest.mark.parametrize("ways", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
def test_a_saved_run_outlives_a_loss_of_power(name: str, ways: int, tmp_path: Path) -> None:
    """While another replaces it, too: one of both is there, whole."""
    (tmp_path / "disk").mkdir()
    runs = [run_over(3), run_over(4)]
    with recorded(tmp_path / "disk") as recorder:
        luce.save(runs[0], tmp_path / "disk" / name)
        saved = len(recorder.points)
        luce.save(runs[1], tmp_path / "disk" / name, overwrite=True)
    last = len(recorder.points)
    places = [saved - 1, (saved + last) // 2, last - 12, last - 2, last - 1]
    for place, k in enumerate(places):
        for how in [HOW[(place + way) % len(HOW)] for way in range(ways)]:
            crashed = tmp_path / f"{k}-{how}"
            rebuild(recorder.points[k], crashed, how, random.Random(SEED + k))
            found = luce.load(crashed / name)
            assert any(found.identical(run) for run in runs), (k, how)
