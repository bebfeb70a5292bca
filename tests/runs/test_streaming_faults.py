"""Real faults of real runs: kills, Ctrl-C, full disks, closed folders, two at once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.streaming_runs import broken_off, draw, same_numbers

import luce
from luce import LuceError
from luce.cli import main
from luce.errors import DataError, DiskFullError

SEED = int(os.environ.get("LUCE_TEST_SEED", "0"))
pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.usefixtures("small_blocks"),
]

# A run of some seconds in some dozen blocks, begun or taken up.
SCRIPT = """
import os, sys, numpy as np, luce, luce.sampling, luce.streaming.layout as layout
luce.sampling._CHUNK_STEPS, layout._MOST_CHUNKS = 20_000, 4
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
draws = int(os.environ.get("DRAWS", "700"))
if sys.argv[2] == "begin":
    posterior.sample(draws, chains=4, seed=7, to=sys.argv[1], progress=False, quantiles=[0.1])
elif sys.argv[2] == "resume":
    luce.resume(sys.argv[1], progress=False)
else:
    values = posterior.sample(draws, chains=4, seed=7, progress=False)
    np.save(sys.argv[1], values.posterior["probabilities"].values)
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
    np.testing.assert_allclose(run["running"]["mean"].values, values.mean(axis=1), rtol=1e-9)


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


@pytest.fixture(params=["400k", "500k", "700k"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Full before the first draw, in the middle, or just before the end."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_told_of_and_loses_nothing(small_disk: Path) -> None:
    folder = small_disk / "run.zarr"
    with pytest.raises(DiskFullError, match=r"full|No space") as full:
        draw("logarithms", to=folder)
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
        draw("exact", to=small_disk / "run.zarr")
    assert os.listdir(small_disk) == ["filler"]


# -- refused ---------------------------------------------------------------------------------------


def test_places_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in '\.zarr'"):
        draw("exact", to=tmp_path / "run.nc")
    with pytest.raises(DataError, match="there is no folder"):
        draw("exact", to=tmp_path / "nowhere" / "run.zarr")
    (tmp_path / "there.zarr").mkdir()
    with pytest.raises(DataError, match="exists"):
        draw("exact", to=tmp_path / "there.zarr")
    with pytest.raises(DataError, match="does not exist"):
        luce.resume(tmp_path / "nothing.zarr")
    with pytest.raises(DataError, match=r"no file zarr\.json"):
        luce.resume(tmp_path / "there.zarr")


def test_two_processes_do_not_write_one_run(tmp_path: Path, breaking: Any, script: Path) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    import fcntl

    with (folder / "journal" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LuceError, match="another process"):
            luce.resume(folder)
    luce.resume(folder, progress=False)


def test_another_version_does_not_go_on(
    tmp_path: Path, breaking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    monkeypatch.setattr("luce.runs.resuming.__version__", "99")
    with pytest.raises(DataError, match="this is luce 99"):
        luce.resume(folder)
    monkeypatch.undo()
    with pytest.raises(DataError, match="blocks of"):  # without the small blocks of these tests
        luce.resume(folder)


def test_a_journal_that_cannot_be_read(tmp_path: Path, breaking: Any) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    (folder / "journal" / "run.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        luce.resume(folder)


def test_the_command_goes_on_and_says_what_there_is(
    tmp_path: Path, breaking: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, breaking)
    assert main(["resume", str(folder)]) == 0
    assert "is complete: 3 chains of 437 draws of 6 categories" in capsys.readouterr().out
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
