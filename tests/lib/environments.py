"""The package as users get it: built, and installed into new environments.

Needs a package index.  Interpreters are looked for on the PATH and among those of pyenv.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.11", "3.12", "3.13"]
INSIDE = "bin" if os.name != "nt" else "Scripts"


def run(*command: str | Path, folder: Path, seconds: float = 900) -> str:
    """Run a command without anything of ours on its path; what it printed."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LUCE_"))}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=clean, text=True, capture_output=True, timeout=seconds
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@cache
def interpreter(version: str) -> Path:
    """Find a Python of a version, or skip the test."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for path in [sys.executable, *filter(None, found)]:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        told = subprocess.run([path, "-c", code], text=True, capture_output=True)
        if told.returncode == 0 and told.stdout.strip() == version:
            return Path(path)
    pytest.skip(f"no Python {version} on this machine")


def environment(python: Path, folder: Path, *requirements: str, group: str | None = None) -> Path:
    """Make a new environment with some requirements in it; its interpreter."""
    run(python, "-m", "venv", folder, folder=folder.parent)
    new = folder / INSIDE / "python"
    pip = [new, "-m", "pip", "install", "--quiet"]
    if group is not None:
        run(*pip, "--upgrade", "pip>=25.1", folder=folder)
        run(*pip, "--group", f"{ROOT / 'pyproject.toml'}:{group}", folder=folder)
    if requirements:
        run(*pip, *requirements, folder=folder)
    return new


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it."""
    builder = environment(interpreter("3.11"), folder / "builder", group="build")
    out = folder / "dist"
    run(builder, "-m", "build", "--outdir", out, ROOT, folder=folder)
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source
