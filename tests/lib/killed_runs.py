"""Runs that a process of their own begins, and that SIGKILL ends in the middle of their blocks."""

import signal
import subprocess
import sys
from pathlib import Path

from lib.places import ROOT

# Draws to a folder, and kills itself before a file of draws is written.
_SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, "tests")
from luce.runs import disk
from luce.runs.files import write_whole
from lib import {module}
folder, left = Path(sys.argv[1]), [int(sys.argv[2])]
def write(path, content):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return write_whole(path, content)
disk.write_whole = write
{code}
"""


def draw_and_die(code: str, module: str, folder: Path, files: int) -> None:
    """Run code that uses a module of `lib` and writes to `folder`; kill it after some files."""
    script = _SCRIPT.format(module=module, code=code)
    command = [sys.executable, "-c", script, str(folder), str(files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
