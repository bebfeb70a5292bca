"""Real faults of whole processes: each ends in a sentence, and nothing is lost.

Faults of streamed runs are in test_streaming_faults, killed and failed saves in test_saving.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.processes import without_compilation

import luce
from luce.cli import main

CYCLE = "winner,loser\n" + "".join(f"p{i},p{(i * 5 + 3) % 22}\n" for i in range(22))
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="mounts and signals of Unix"),
    pytest.mark.compiled,
]


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser\na,b\nb,c\nc,a\na,b\n")
    return path


def mounted(place: Path, options: str) -> Iterator[Path]:
    """Mount a small disk; this needs rights that not everybody has."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A disk that holds a run and cannot be written, not even by root."""
    for place in mounted(tmp_path / "closed", "size=4m"):
        run = luce.Posterior(luce.ConditionalCounts("ab")).sample(9, seed=1, progress=False)
        for name in ("run.nc", "run.zarr"):
            luce.save(run, place / name)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for four pages of memory."""
    yield from mounted(tmp_path / "full", "size=16k")


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command that must fail says, in one line."""
    assert main([str(argument) for argument in arguments]) == 1
    lines = without_compilation(capsys.readouterr().err).splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("luce: ")
    return lines[0]


# -- where nothing can be written ------------------------------------------------------------------


def test_a_disk_that_cannot_be_written(
    games: Path, closed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = luce.load(closed / "run.nc"), luce.load(closed / "run.zarr")
    fit = ("fit", games, "--draws", 200, "--seed", 1, "--overwrite")
    for name in ("new.nc", "run.zarr"):
        assert "Read-only file system" in said(capsys, *fit, "--out", closed / name)
    assert "Read-only" in said(capsys, *fit, "--stream", "--out", closed / "streamed.zarr")
    assert "Read-only" in said(capsys, "report", closed / "run.nc")
    assert luce.load(closed / "run.nc").identical(before[0])
    assert luce.load(closed / "run.zarr").identical(before[1])
    assert sorted(os.listdir(closed)) == ["run.nc", "run.zarr"]


def test_a_disk_that_is_full(games: Path, full: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ("fit", games, "--draws", 5000, "--seed", 1)
    for name in ("run.nc", "run.zarr"):
        assert re.search("No space left|full", said(capsys, *fit, "--out", full / name))
    run = games.with_name("run.nc")
    assert main([*map(str, fit), "--out", str(run)]) == 0
    capsys.readouterr()
    assert "No space left" in said(capsys, "report", run, "--out", full / "page.html")
    assert os.listdir(full) == []


def test_targets_that_are_no_places(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ("fit", games, "--draws", 200, "--seed", 1)
    assert "no folder" in said(capsys, *fit, "--out", games / "run.nc")
    for folder in ("/proc", "/sys"):
        if Path(folder).is_dir():
            assert "could not be written" in said(capsys, *fit, "--out", f"{folder}/run.nc")


# -- processes -------------------------------------------------------------------------------------


def luce_process(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(
        [sys.executable, "-m", "luce", *map(str, arguments)],
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written(games: Path) -> None:
    with open("/dev/full", "w") as nowhere:
        process = luce_process("inspect", games, stdout=nowhere)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert without_compilation(errors) == "luce: output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_help_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as nowhere:
        # Where output is not buffered, argparse itself ignores that it cannot be written.
        buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        process = luce_process("--version", stdout=nowhere, env=buffered)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (1, "luce: output: No space left on device\n")


def in_a_shell(command: str, folder: Path) -> tuple[int, str, str]:
    """Run a command of which "luce" is this luce; return its exit code, output and errors."""
    words = f'luce() {{ "{sys.executable}" -m luce "$@"; }}\nset -o pipefail\n{command}'
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout, without_compilation(done.stderr)


def test_output_that_is_closed_or_not_read_to_its_end(games: Path) -> None:
    """No traceback: closed output is left out, and a reader that is gone ends the command."""
    fit, folder = "luce fit games.csv --seed 1 --draws 100", games.parent
    assert in_a_shell(f"{fit} --out closed.nc >&-", folder) == (0, "", "")
    assert in_a_shell("luce fit none.csv 2>&-", folder) == (1, "", "")
    line = "games.csv: pairs: 4 comparisons among 3 categories\n"
    assert luce.load(folder / "closed.nc").posterior.sizes["draw"] == 100
    assert in_a_shell(f"{fit} | head -1", folder) == (141, line, "")


@pytest.mark.slow
def test_no_control_codes_where_there_is_no_terminal(tmp_path: Path) -> None:
    """Neither in a table nor in a bar, which appears at once here."""
    (tmp_path / "games.csv").write_text(CYCLE)
    code = (
        "import luce.sampling.progress as p, luce.cli as c; "
        "p.PATIENCE = 0.0; raise SystemExit(c.main())"
    )
    command = [sys.executable, "-c", code, "fit", str(tmp_path / "games.csv"), "--seed", "1",
               "--draws", "6000", "--method", "waiting-times"]  # fmt: skip
    plain = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    done = subprocess.run(command, capture_output=True, text=True, env={**plain, "TERM": "dumb"})
    assert done.returncode == 0, done.stderr
    assert "4 chains of 6,000 draws" in done.stdout
    assert "sampling" in done.stderr
    for text in (done.stdout, done.stderr):
        assert re.search("[\x00-\x08\x0b-\x1f\x7f]", text) is None, ascii(text)


def interrupted_after(seconds: float, folder: Path, *more: str) -> tuple[int, str, str]:
    process = luce_process(
        "fit", folder / "games.csv", "--draws", 2_000_000, "--method", "waiting-times", *more
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def interrupted_while_drawing(wait: float, *command: object) -> str:
    """Interrupt a command some seconds after it has begun to draw; return what it says."""
    process = luce_process(*command)
    assert process.stdout is not None
    while "simulated together" not in process.stdout.readline():  # from here on it draws
        assert process.poll() is None
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    return errors


def test_ctrl_c_saves_what_there_is(games: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.nc"
    fit = ("fit", games, "--draws", 2_000_000, "--method", "waiting-times", "--seed", "1",
           "--chains", "2", "--out", target)  # fmt: skip
    for wait in (0.1, 0.4, 1.6, 6.4):  # a machine with much to do has drawn nothing at first
        errors = interrupted_while_drawing(wait, *fit)
        if target.exists():
            break
    told = re.search(r"luce: interrupted\. ([\d,]+) of 2,000,000 draws were made\.\n\Z", errors)
    assert told, errors
    assert "Ctrl-C again ends at once" in errors
    assert "Traceback" not in errors
    run = luce.load(target)
    made = int(told[1].replace(",", ""))
    assert run.posterior.sizes["draw"] == made
    assert 0 < made < 2_000_000
    posterior = luce.posterior_of(run)
    few = min(made, 2000)
    fresh = posterior.sample(few, chains=2, seed=1, method="waiting-times", progress=False,
                             warmup=run.attrs["warmup"])  # fmt: skip
    np.testing.assert_array_equal(
        run.posterior["probabilities"].values[:, :few], fresh.posterior["probabilities"].values
    )


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(games: Path) -> None:
    """Of 12 million numbers a third is summarised, unless Ctrl-C comes again."""
    names = [f"p{k}" for k in range(60)]
    pairs = zip(names, names[1:] + names[:1], strict=True)
    games.write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    fit = ("fit", games, "--draws", 500_000, "--method", "waiting-times", "--seed", 1)
    for wait in (0.5, 1, 2, 4, 8, 16, 32):  # until millions of numbers are drawn, but not all
        process = luce_process(*fit)
        assert process.stdout is not None
        assert process.stderr is not None
        while "simulated together" not in process.stdout.readline():
            assert process.poll() is None
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        line = next((line for line in process.stderr if "interrupted" in line), "")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        if "one in" in line:
            break
    assert re.search(r"The summary is of one in \d+ of the [\d,]+ draws made; Ctrl-C again", line)
    assert process.returncode == -signal.SIGINT
    assert "chains of" not in out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_ctrl_c_at_any_time(suffix: str, games: Path, tmp_path: Path) -> None:
    """Once luce is loaded: one line, 130.  While Python still loads it, Python says it itself."""
    rng = random.Random(SEED)
    loading = 0
    for k in range(12):
        target = tmp_path / f"{k}.{suffix}"
        code, _, errors = interrupted_after(rng.uniform(0.05, 5), tmp_path, "--out", str(target))
        assert code in (130, -signal.SIGINT, 1), errors
        if "Traceback" in errors:
            loading += 1
            assert "KeyboardInterrupt" in errors
            assert "in main" not in errors, errors  # the command itself catches it
            assert not target.exists()
        else:
            assert errors.splitlines()[-1].startswith("luce: interrupted"), errors
        if target.exists():
            assert luce.load(target).attrs["interrupted"] == 1
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert loading < 12


@pytest.mark.slow
def test_ctrl_c_of_a_streamed_run_and_of_its_resumption(tmp_path: Path) -> None:
    (tmp_path / "games.csv").write_text(CYCLE)
    folder = tmp_path / "run.zarr"
    command = ["fit", tmp_path / "games.csv", "--seed", 5, "--draws", 1_000_000, "--chains", 2,
               "--method", "waiting-times", "--out", folder, "--stream"]  # fmt: skip
    rng, times = random.Random(SEED), 0
    while True:
        process = luce_process(*command)
        try:
            _, errors = process.communicate(timeout=rng.uniform(1.2, 2.2) if times < 8 else 300)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
        times += 1
        if process.returncode == 0:
            break
        assert process.returncode in (130, -signal.SIGINT), errors
        if "Traceback" not in errors:
            assert errors.splitlines()[-1].startswith("luce: interrupted"), errors
        if folder.exists():
            command = ["resume", folder]
    assert process.returncode == 0, errors
    assert times >= 2
    run = luce.load(folder)
    whole = luce.posterior_of(run).sample(
        1_000_000, chains=2, seed=5, method="waiting-times", progress=False
    )
    np.testing.assert_array_equal(
        run.posterior["probabilities"].values, whole.posterior["probabilities"].values
    )
