"""Random sequences of saving, streaming, breaking off and resuming, against runs in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
import xarray as xr
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from lib.state_machines import run_sequences
from lib.streaming_runs import BrokenOff, draw, flip_a_bit, same_numbers

import luce
from luce import LuceError
from luce.runs import open_run

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # runs are short here

NAMES = ("exact", "waiting-times", "hamiltonian", "metropolis", "keep", "concentration", "process")
BEGUN, ALL = 12, 10**9  # files after which a run can be resumed; more files than any run has

names, seeds = st.sampled_from(NAMES), st.integers(0, 2)
places = st.sampled_from(["a.zarr", "b.zarr", "c.nc", "d.nc"])
folders = st.sampled_from(["a.zarr", "b.zarr"])


@cache
def in_memory(name: str, seed: int) -> xr.DataTree:
    return draw(name, seed=seed)


class CallsOnRuns(RuleBasedStateMachine):
    """`whole` and `parts` are the model: which run each path holds, complete or broken off."""

    breaking: ClassVar[Callable[[int], None]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.whole: dict[str, tuple[str, int]] = {}
        self.parts: dict[str, tuple[str, int]] = {}

    def teardown(self) -> None:
        self.stop_after(ALL)
        shutil.rmtree(self.folder)

    @classmethod
    def stop_after(cls, files: int) -> None:
        cls.__dict__.get("breaking", CallsOnRuns.breaking)(files)

    def expected(self, place: str) -> xr.DataTree:
        return in_memory(*self.whole[place])

    def exists(self, place: str) -> bool:
        return place in self.whole or place in self.parts

    @rule(name=names, seed=seeds, place=places, overwrite=st.booleans())
    def save(self, name: str, seed: int, place: str, overwrite: bool) -> None:
        run = in_memory(name, seed)
        if self.exists(place) and not overwrite:
            with pytest.raises(LuceError):
                luce.save(run, self.folder / place)
            return
        if place in self.parts:  # a run that may still be drawn is not replaced
            shutil.rmtree(self.folder / place)
            del self.parts[place]
        luce.save(run, self.folder / place, overwrite=overwrite)
        self.whole[place] = name, seed

    @rule(
        name=names, seed=seeds, place=folders, files=st.one_of(st.just(ALL), st.integers(BEGUN, 90))
    )
    def stream(self, name: str, seed: int, place: str, files: int) -> None:
        if self.exists(place):
            with pytest.raises(LuceError):
                draw(name, self.folder / place, seed=seed)
            return
        self.stop_after(files)
        try:
            run = draw(name, self.folder / place, seed=seed)
        except BrokenOff:
            self.parts[place] = name, seed
        else:
            assert same_numbers(run, in_memory(name, seed))
            self.whole[place] = name, seed
        finally:
            self.stop_after(ALL)

    @rule(place=folders, files=st.one_of(st.just(ALL), st.integers(0, 60)))
    def resume(self, place: str, files: int) -> None:
        if not self.exists(place):
            with pytest.raises(LuceError):
                luce.resume(self.folder / place)
            return
        if place in self.whole:
            assert same_numbers(luce.resume(self.folder / place), self.expected(place))
            return
        self.stop_after(files)
        try:
            run = luce.resume(self.folder / place)
        except BrokenOff:
            return
        finally:
            self.stop_after(ALL)
        self.whole[place] = self.parts.pop(place)
        assert same_numbers(run, self.expected(place))

    @rule(place=places)
    def load(self, place: str) -> None:
        if place in self.whole:
            found, known = luce.load(self.folder / place), self.expected(place)
            assert same_numbers(found, known)
            assert found.attrs["data_digest"] == known.attrs["data_digest"]
            assert luce.posterior_of(found).counts.digest == known.attrs["data_digest"]
            return
        with pytest.raises(LuceError):
            luce.load(self.folder / place)

    @rule(place=folders)
    def open(self, place: str) -> None:
        if place in self.whole:
            assert same_numbers(open_run(self.folder / place), self.expected(place))
            return
        with pytest.raises(LuceError):
            open_run(self.folder / place)

    @rule(place=places)
    @precondition(lambda self: self.whole)
    def damage_and_mend(self, place: str) -> None:
        """A changed file is refused; the same file as it was is read again."""
        if place not in self.whole:
            return
        path = self.folder / place
        files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
        file = max(sorted(files), key=lambda f: f.stat().st_size)
        content = file.read_bytes()
        flip_a_bit(file)
        with pytest.raises(LuceError):
            luce.load(path)
        file.write_bytes(content)
        assert same_numbers(luce.load(path), self.expected(place))

    @rule(place=places)
    def remove(self, place: str) -> None:
        path = self.folder / place
        if self.exists(place):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.whole.pop(place, None)
        self.parts.pop(place, None)

    @rule()
    def nothing_else_is_left(self) -> None:
        left = {path.name for path in self.folder.iterdir()}
        assert left == {*self.whole, *self.parts}


def test_calls_on_runs(breaking: Any) -> None:
    CallsOnRuns.breaking = staticmethod(breaking)  # type: ignore[assignment]
    run_sequences(CallsOnRuns, 3, steps=8)


@pytest.mark.slow
@pytest.mark.compiled
def test_many_more_calls_on_runs(breaking: Any) -> None:
    CallsOnRuns.breaking = staticmethod(breaking)  # type: ignore[assignment]
    run_sequences(CallsOnRuns, 60, steps=20, salt=1)


class MistakesTheSeed(CallsOnRuns):
    """A control: the model believes that a stored run has another seed."""

    def expected(self, place: str) -> xr.DataTree:
        name, seed = self.whole[place]
        return in_memory(name, seed + 1)


def test_control_a_wrong_run_is_found(breaking: Any) -> None:
    CallsOnRuns.breaking = staticmethod(breaking)  # type: ignore[assignment]
    with pytest.raises(AssertionError):
        run_sequences(MistakesTheSeed, 20, steps=10, shrink=False)
