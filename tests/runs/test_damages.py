"""Damaged runs: every reader gives the same data as before, or an error in words."""

import shutil
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from lib.bounds import SEED
from lib.damages import Damage, damages, outcome
from lib.streaming_runs import broken_off, draw

import luce

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

SMALL: dict[str, Any] = {"draws": 30, "chains": 2, "warmup": 8, "threads": 1}
READERS: dict[str, Callable[[Path], xr.DataTree]] = {
    "load": luce.load,
    "open_run": luce.runs.open_run,
    "resume": lambda path: luce.resume(path, progress=False),
}
KINDS = ["saved.nc", "saved.zarr", "streamed.zarr", "begun.zarr"]


def stored(kind: str, folder: Path, breaking: Any) -> Path:
    """Store a small run: saved, streamed to its end, or broken off."""
    path = folder / kind
    if kind == "begun.zarr":
        broken_off(path, breaking, "waiting-times", k=9, **{**SMALL, "draws": 60})
    elif kind == "streamed.zarr":
        draw("waiting-times", path, **SMALL)
    else:
        luce.save(draw("waiting-times", **SMALL), path)
    return path


def readers_of(kind: str) -> list[str]:
    return {"saved.nc": ["load"], "begun.zarr": ["resume"]}.get(kind, list(READERS))


def copied(path: Path, name: str) -> Path:
    """Copy a stored run, in place of an earlier copy."""
    copy = path.with_name(f"{name}{path.suffix}")
    if copy.is_dir():
        shutil.rmtree(copy)
    return Path((shutil.copytree if path.is_dir() else shutil.copy)(path, copy))


def check(kind: str, rounds: int, folder: Path, breaking: Any) -> None:
    """Damage copies of a run, and read them by all readers in turn."""
    path = stored(kind, folder, breaking)
    names = readers_of(kind)
    truth = READERS[names[0]](copied(path, "whole")).load()
    found: Counter[str] = Counter()
    for damage, name in zip(damages(path, rounds, SEED), cycle(names), strict=False):
        copy = copied(path, "copy")
        damage.apply(copy)
        result = outcome(READERS[name], copy, truth)
        assert result in ("same", "refused"), f"{name}: {damage}: {result}"
        if result == "same" and kind == "begun.zarr":
            assert outcome(luce.load, copy, truth) == "same", f"load afterwards: {damage}"
        found[result] += 1
        if copy.is_dir() and kind == "saved.nc":
            copy.rmdir()
    assert found["refused"] > 0
    if kind == "begun.zarr":  # blocks, places and metadata can be made again
        assert found["same"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_run_is_the_same_or_refused(kind: str, tmp_path: Path, breaking: Any) -> None:
    check(kind, 20 if kind == "saved.nc" else 6, tmp_path, breaking)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_damaged_runs(kind: str, tmp_path: Path, breaking: Any) -> None:
    check(kind, 400, tmp_path, breaking)


def test_control_without_checksums_other_data_is_read(tmp_path: Path, breaking: Any) -> None:
    path = stored("saved.zarr", tmp_path, breaking)

    def plain(folder: Path) -> xr.DataTree:
        return xr.open_datatree(folder, engine="zarr")

    truth = plain(path).load()
    for file in ("constant_data/concentration/c/0", "posterior/probabilities/c/0/0/0"):
        for kind, result in (("flip a bit of", "other"), ("delete", "other")):
            copy = copied(path, "copy")
            Damage(file, kind, SEED).apply(copy)
            assert outcome(plain, copy, truth) == result
            assert outcome(luce.runs.open_run, copy, truth) == "refused"
