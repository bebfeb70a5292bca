"""Progress bars, and the announcement that kernels are being compiled."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from luce.sampling import progress
from luce.sampling.progress import Announcement, ProgressBar


def test_a_bar_appears_only_where_one_waits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(wanted: bool) -> str:
        with progress.ProgressBar(4, wanted) as bar:
            bar.update(1)
            bar.update(3, "drawing")
        return capsys.readouterr().err

    assert shown(True) == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert shown(False) == ""
    assert "75%" in shown(True)
    with progress.ProgressBar(2, True) as bar:
        bar.step("reading")
        bar.step("drawing")
    said = capsys.readouterr().err
    assert "drawing" in said
    assert "100%" in said
    with suppress(KeyError), progress.ProgressBar(2, True) as bar:
        bar.step("reading")
        bar.step("drawing")
        raise KeyError
    assert "100%" not in capsys.readouterr().err  # what failed is not done


def test_the_bar_is_full_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luce.sampling.progress.PATIENCE", -1.0)
    with ProgressBar(2, wanted=True) as bar:
        bar.step("first")
        bar.step("second")
        assert bar.completed == 1
    assert bar.completed == 2
    with pytest.raises(KeyboardInterrupt), ProgressBar(2, wanted=True) as bar:  # noqa: PT012
        bar.step("first")
        raise KeyboardInterrupt
    assert bar.completed == 0


def test_each_part_that_is_compiled_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Announcement(kept=True)
    for module in ("structure.overlap", "structure.partition", "waiting_times", "hamiltonian"):
        tell(module)
    first, *later = capsys.readouterr().err.splitlines()
    assert first.startswith("luce: compiling structure; this happens once for each kind of problem")
    assert later == [
        "luce: compiling waiting times (some seconds)",
        "luce: compiling hamiltonian (some seconds)",
    ]
    tell("waiting_times")  # for another kind of problem
    assert capsys.readouterr().err == "luce: compiling waiting times (some seconds)\n"
    Announcement(kept=False)("rejection")
    assert "in every process" in capsys.readouterr().err


TWO_KINDS = """
import numpy as np
from luce.kernels.running_moments import add_moments
from luce.sampling.progress import announce_compilation

announce_compilation()
announce_compilation()  # once is enough
for order in "CF":  # numba compiles a kernel for each layout of its arrays
    add_moments(np.ones((4, 3), order=order), 0, np.zeros(3), np.zeros(3))
"""


@pytest.mark.compiled
def test_a_kernel_is_announced_when_it_is_compiled_and_only_then(tmp_path: Path) -> None:
    """Compiled in the first process, loaded from the cache in the second."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TWO_KINDS]

    def said() -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stderr

    assert said().startswith("luce: compiling running moments; this happens once")
    assert said() == ""
