"""Tests of Ctrl-C run where a shell started them in the background, which switches Ctrl-C off."""

import signal
import subprocess
import sys
from pathlib import Path

from lib.places import ROOT

INSIDE = """
import os, signal, subprocess, sys
import pytest


def test_ctrl_c():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    code = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


def run_without_ctrl_c(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder in a process that was told to ignore SIGINT."""
    ignoring = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    ignoring += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", ignoring, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *options, str(folder)], cwd=folder, capture_output=True, text=True, check=False
    )


def test_ctrl_c_is_heard_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "test_inside.py").write_text(INSIDE)
    assert run_without_ctrl_c(tmp_path).returncode == 1  # the control: without the project's setup
    listening = "from lib.processes import listen_to_ctrl_c\n\n\ndef pytest_configure():\n"
    (tmp_path / "conftest.py").write_text(f"{listening}    listen_to_ctrl_c()\n")
    done = run_without_ctrl_c(tmp_path, "-o", f"pythonpath={ROOT / 'tests'}")
    assert done.returncode == 0, done.stdout
    assert "listen_to_ctrl_c()" in (ROOT / "tests" / "conftest.py").read_text()
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
