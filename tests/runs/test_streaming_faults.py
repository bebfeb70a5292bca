"""Real faults of real runs: kills, Ctrl-C, full disks, closed folders, two at once."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.streaming_runs import CHAINS, DRAWS, broken_off, draw, plan, same_numbers

import luce
from luce import LuceError
from luce.cli import main
from luce.errors import DataError, DiskFullError
from luce.runs import disk
from luce.runs.blocks import block_file
from luce.runs.files import write_whole
from luce.runs.stream import Stream

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

# A run of some seconds in some dozen blocks, begun or taken up.
SCRIPT = """
import os, pathlib, sys, numpy as np, luce
from luce.cluster.execution import carry_out
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings
rng = np.random.default_rng(3)
counts = luce.ConditionalCounts(600)
for _ in range(40):
    gone = rng.choice(600, 60, replace=False)
    here = np.setdiff1d(np.arange(600), gone)
    chosen, number = np.unique(rng.choice(here, 80), return_counts=True)
    counts = counts.observe(dict(zip(chosen.tolist(), number.tolist())), without=gone.tolist())
posterior = luce.Posterior(counts, 0.5)
posterior.sample(2, chains=1, warmup=1, seed=1, progress=False)  # compiled now, not on the clock
print("ready", flush=True)
def plan(**more):
    draws = int(os.environ.get("DRAWS", "700"))
    sizes = {"chunk_steps": 20_000, "block_chunks": 4}
    return PosteriorPlan.of(
        posterior.model, Settings(draws=draws, chains=4, seed=7, progress=False, **sizes, **more)
    )
if sys.argv[2] == "begin":
    carry_out(plan(quantiles=[0.1]), sys.argv[1])
elif sys.argv[2] == "resume":
    luce.resume(sys.argv[1], progress=False)
else:
    np.save(sys.argv[1], carry_out(plan()).posterior["probabilities"].values)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "run.py"
    path.write_text(SCRIPT)
    return path


def started(script: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_until_ready(run: subprocess.Popen[bytes]) -> float:
    assert run.stdout is not None
    assert run.stdout.readline() == b"ready\n", run.stderr.read() if run.stderr else ""
    return time.monotonic()


def killed_again_and_again(script: Path, folder: Path, kills: int, seconds: float) -> int:
    """Run to the end, killed so many times on the way; how many kills there really were."""
    rng, done = random.Random(SEED), 0
    while True:
        run = started(script, str(folder), "resume" if folder.exists() else "begin")
        wait_until_ready(run)
        try:
            _, errors = run.communicate(timeout=rng.uniform(0, seconds) if done < kills else None)
            assert run.returncode == 0, errors.decode()
            return done
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            done += 1


def reference(script: Path, folder: Path) -> tuple[np.ndarray, float]:
    run = started(script, str(folder / "reference.npy"), "memory")
    began = wait_until_ready(run)
    _, errors = run.communicate()
    assert run.returncode == 0, errors.decode()
    return np.load(folder / "reference.npy"), time.monotonic() - began


@pytest.mark.slow
def test_a_killed_run_goes_on_bit_for_bit(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWS", "300")
    values, seconds = reference(script, tmp_path)
    assert killed_again_and_again(script, tmp_path / "run.zarr", 1, seconds / 2) == 1
    run = luce.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(run.posterior["probabilities"].values, values)
    np.testing.assert_allclose(
        run["running"]["probabilities_mean"].values, values.mean(axis=1), rtol=1e-9
    )


@pytest.mark.slow
def test_fifty_kills(script: Path, tmp_path: Path) -> None:
    values, seconds = reference(script, tmp_path)
    kills = runs = 0
    while kills < 50:
        folder = tmp_path / f"{runs}.zarr"
        kills += killed_again_and_again(script, folder, 10, seconds)
        runs += 1
        found = luce.load(folder).posterior["probabilities"].values
        np.testing.assert_array_equal(found, values)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    run = started(script, str(folder), "begin")
    wait_until_ready(run)
    while not list(folder.glob("posterior/probabilities/c/*/1/*")):  # a block or two are there
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0
    assert f"`luce resume {folder}` goes on from there." in errors.decode()
    with pytest.raises(DataError, match="is not complete"):
        luce.load(folder)
    with pytest.raises(DataError, match="is not complete"):
        luce.runs.open_run(folder)


# -- no room ---------------------------------------------------------------------------------------


@pytest.fixture(params=["400k", "500k", "600k", "650k"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Full in the middle, or just before the end."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.compiled
def test_a_full_disk_is_told_of_and_loses_nothing(small_disk: Path) -> None:
    folder = small_disk / "run.zarr"
    with pytest.raises(DiskFullError, match=r"full|No space") as full:
        draw("logarithms", folder)
    assert f"`luce resume {folder}`" in str(full.value)
    with pytest.raises(DiskFullError):  # still full
        luce.resume(folder, progress=False)
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    assert same_numbers(luce.resume(folder, progress=False), draw("logarithms"))


def test_no_room_even_for_the_beginning(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 390_000)
    if os.statvfs(small_disk).f_bavail > 10:
        pytest.skip("there is room for a beginning")
    with pytest.raises(DiskFullError, match="No space"):
        draw("exact", small_disk / "run.zarr")
    assert os.listdir(small_disk) == ["filler"]


needs_a_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_a_full_disk
def test_a_block_that_finds_no_room_is_made_again(tmp_path: Path) -> None:
    stream = Stream(plan("waiting-times"), tmp_path / "run.zarr")
    stream.begin()
    part = block_file(stream.folder, stream.plan.outputs[0], 0, 1).with_name(".0.part")
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"the disk is full: \S+/c/\S+ needs 0\.0 MB") as full:
        stream.complete()
    assert f"`luce resume {stream.folder}` goes on from there." in str(full.value)
    assert same_numbers(luce.resume(stream.folder, progress=False), draw("waiting-times"))


@needs_a_full_disk
def test_a_block_that_was_not_written_is_not_counted(tmp_path: Path) -> None:
    """The last chain fails in its second block, when all others have theirs on the disk."""
    stream = Stream(plan("waiting-times", threads=1), tmp_path / "run.zarr")
    stream.begin()
    part = block_file(stream.folder, stream.plan.outputs[0], CHAINS - 1, 1).with_name(".0.part")
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=f" {stream.plan.block} of {DRAWS} draws of each"):
        stream.complete()


def failing(number: int) -> Callable[..., None]:
    """A function that fails as a disk would."""

    def fail(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_run_that_cannot_be_begun_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LuceError, match="cannot be written: No such file"):
        Stream(plan("waiting-times"), tmp_path / "none" / "run.zarr").begin()
    stream = Stream(plan("waiting-times"), tmp_path / "run.zarr")
    for number, kind in ((errno.ENOSPC, DiskFullError), (errno.EACCES, LuceError)):
        monkeypatch.setattr("luce.runs.stream.write_zarr", failing(number))
        with pytest.raises(kind, match=f"cannot be written: {os.strerror(number)}"):
            stream.begin()
        assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    stream.folder.mkdir()
    with pytest.raises(DataError, match="exists; give another name"):
        stream.begin()
    assert os.listdir(tmp_path) == ["run.zarr"]


def test_a_run_that_fails_at_its_very_end_has_all_its_draws(tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("luce.runs.stream.seal_folder", failing(errno.ENOSPC))
        with pytest.raises(DiskFullError, match="could not be brought to its end: No space"):
            draw("exact", folder)
        patch.setattr("luce.runs.stream.seal_folder", failing(errno.EACCES))
        with pytest.raises(LuceError, match="to its end: Permission denied") as error:
            luce.resume(folder, progress=False)
        assert not isinstance(error.value, DiskFullError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "write_whole", failing(errno.ENOSPC))  # no draw is left to be made
        assert same_numbers(luce.resume(folder, progress=False), draw("exact"))


def test_running_moments_that_were_torn_at_the_very_end_are_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("luce.runs.stream.seal_folder", failing(errno.ENOSPC))
        with pytest.raises(DiskFullError):
            draw("exact", folder)
    for array in ("category", "probabilities_sd"):  # as if it had been killed in between
        (folder / "running" / array / "zarr.json").unlink()
    assert same_numbers(luce.resume(folder, progress=False), draw("exact"))
    assert "probabilities_sd" in luce.load(folder)["running"]


def test_ctrl_c_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, files = tmp_path / "run.zarr", [0]
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    def write(path: Path, content: Any) -> bytes:
        files[0] += 1
        if files[0] == 8:
            signal.pthread_kill(main_thread, signal.SIGINT)
            time.sleep(0.3)  # or the run might be done before the signal is heard
        return write_whole(path, content)

    monkeypatch.setattr(disk, "write_whole", write)
    with pytest.raises(KeyboardInterrupt, match=r"`luce resume .*run\.zarr` goes on from there"):
        draw("waiting-times", folder)
    monkeypatch.undo()
    with pytest.raises(DataError, match="is not complete"):
        luce.runs.open_run(folder)
    assert same_numbers(luce.resume(folder, progress=False), draw("waiting-times"))


# -- refused ---------------------------------------------------------------------------------------


def test_places_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in '\.zarr'"):
        draw("exact", tmp_path / "run.nc")
    with pytest.raises(DataError, match="there is no folder"):
        draw("exact", tmp_path / "nowhere" / "run.zarr")
    (tmp_path / "there.zarr").mkdir()
    with pytest.raises(DataError, match="exists"):
        draw("exact", tmp_path / "there.zarr")
    with pytest.raises(DataError, match="does not exist"):
        luce.resume(tmp_path / "nothing.zarr")
    with pytest.raises(DataError, match=r"no file zarr\.json"):
        luce.resume(tmp_path / "there.zarr")


def test_the_command_goes_on_and_says_what_there_is(
    tmp_path: Path, breaking: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    assert main(["resume", str(folder)]) == 3  # so few draws are not to be trusted
    assert (
        f"is complete: {CHAINS} chains of {DRAWS} draws of 6 categories" in capsys.readouterr().out
    )
    assert same_numbers(luce.load(folder), draw("waiting-times"))
    assert main(["resume", str(tmp_path / "none.zarr")]) == 1
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.slow
def test_fit_writes_draws_as_they_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games.csv").write_text("winner,loser\na,b\nb,c\nc,a\na,b\n")
    common = ["fit", str(tmp_path / "games.csv"), "--seed", "1", "--draws", "3000"]
    assert main([*common, "--out", str(tmp_path / "run.zarr"), "--stream"]) == 0
    assert "Written: " in capsys.readouterr().out
    assert main([*common, "--out", str(tmp_path / "run.nc")]) == 0
    assert same_numbers(luce.load(tmp_path / "run.zarr"), luce.load(tmp_path / "run.nc"))
    assert main([*common, "--stream"]) == 1
    assert "--stream needs --out" in capsys.readouterr().err
