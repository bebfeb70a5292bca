"""Compiled code is never older than its sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import luce


def cache_folder(package: Path, **environment: str) -> str:
    code = "from luce.kernels.jit import _cache_folder; print(_cache_folder())"
    settings = {**os.environ, "PYTHONPATH": str(package.parent), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_editing_any_kernel_gives_another_cache(tmp_path: Path) -> None:
    package = tmp_path / "luce"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(luce.__file__).parent, package, ignore=ignore)
    settings = {"NUMBA_CACHE_DIR": ""}
    before = cache_folder(package, **settings)
    assert Path(before).parent == package / "kernels" / "__pycache__"
    assert cache_folder(package, **settings) == before
    with (package / "kernels" / "set_sums.py").open("a") as kernel:  # used by all, no entry itself
        kernel.write("# an edit\n")
    assert cache_folder(package, **settings) != before


def test_the_users_choice_of_cache_is_kept(tmp_path: Path) -> None:
    chosen = cache_folder(Path(luce.__file__).parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(chosen).parent == tmp_path


def test_numbas_own_setting_is_left_alone() -> None:
    code = (
        "import numba; before = numba.config.CACHE_DIR; import luce.kernels; "
        "assert numba.config.CACHE_DIR == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
