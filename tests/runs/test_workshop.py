"""Hidden folders that killed processes leave: the next one removes them, and no other folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from lib.saved_runs import run_over

import luce
from luce.runs.workshop import clear_up, move_aside, workshop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")

# Makes a workshop of the target and dies in it, or waits there until standard input is closed.
CHILD = """
import os, signal, sys
from pathlib import Path
from luce.runs.workshop import move_aside, workshop
target, what = Path(sys.argv[1]), sys.argv[2]
with workshop(target) as folder:
    (folder / "half").write_text("x")
    if what == "replacing":
        move_aside(target, folder)
    print(folder, flush=True)
    if what == "living":
        sys.stdin.read()
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_in(target: Path, what: str = "writing") -> Path:
    """Leave the workshop of a process that was killed in it."""
    command = [sys.executable, "-c", CHILD, str(target), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.is_dir()
    return folder


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return run_over()


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_the_next_to_save_or_load_clears_up(suffix: str, run: xr.DataTree, tmp_path: Path) -> None:
    target = tmp_path / f"run{suffix}"
    left = killed_in(target)
    luce.save(run, target)
    assert not left.exists()
    left, other = killed_in(target), killed_in(tmp_path / f"other{suffix}")
    assert luce.load(target).identical(run)
    assert not left.exists()
    assert other.exists()  # that of another target is not ours to judge


def test_the_next_to_draw_open_or_resume_clears_up(tmp_path: Path) -> None:
    target = tmp_path / "run.zarr"
    left = killed_in(target)
    posterior = luce.Posterior(luce.ConditionalCounts("ab").observe({"a": 1}))
    posterior.sample(9, seed=1, progress=False, to=target)
    assert not left.exists()
    for read in (luce.runs.open_run, luce.resume):
        left = killed_in(target)
        assert read(target).posterior.sizes["draw"] == 9
        assert not left.exists()


def test_a_folder_that_was_being_replaced_is_given_back(run: xr.DataTree, tmp_path: Path) -> None:
    target = tmp_path / "run.zarr"
    luce.save(run, target)
    left = killed_in(target, "replacing")
    assert not target.exists()
    assert luce.load(target).identical(run)
    assert not left.exists()
    with workshop(target) as folder:  # and one that ends before the new one is there
        move_aside(target, folder)
    assert os.listdir(tmp_path) == ["run.zarr"]


def test_a_folder_that_a_process_writes_is_let_be(tmp_path: Path) -> None:
    """The control: when the process is gone, the same call removes its folder."""
    target = tmp_path / "run.zarr"
    command = [sys.executable, "-c", CHILD, str(target), "living"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        clear_up(target)
        assert (folder / "half").read_text() == "x"
        with workshop(target) as ours:  # nor is that of another thread
            clear_up(target)
            assert ours.is_dir()
        child.kill()
    assert folder.is_dir()
    clear_up(target)
    assert os.listdir(tmp_path) == []


def test_folders_of_other_machines_are_let_be(tmp_path: Path) -> None:
    (tmp_path / ".run.zarr.elsewhere.abc.part").mkdir()
    clear_up(tmp_path / "run.zarr")
    assert os.listdir(tmp_path) == [".run.zarr.elsewhere.abc.part"]
    clear_up(tmp_path / "none" / "run.zarr")
