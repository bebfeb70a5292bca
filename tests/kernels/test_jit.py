"""Compiled code is never older than its sources."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import luce
from luce.kernels.jit import digest_of_sources


def folder_of(package: Path, **environment: str) -> str:
    code = "from luce.kernels.jit import cache_folder; print(cache_folder())"
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
    before = folder_of(package, **settings)
    assert Path(before).parent == package / "kernels" / "__pycache__"
    assert folder_of(package, **settings) == before
    with (package / "kernels" / "set_sums.py").open("a") as kernel:  # used by all, no entry itself
        kernel.write("# an edit\n")
    assert folder_of(package, **settings) != before


def test_the_users_choice_of_cache_is_kept(tmp_path: Path) -> None:
    chosen = folder_of(Path(luce.__file__).parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(chosen).parent == tmp_path


def test_numbas_own_setting_is_left_alone() -> None:
    code = (
        "import numba; before = numba.config.CACHE_DIR; import luce.kernels; "
        "assert numba.config.CACHE_DIR == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


SAME = """
import luce
import numpy as np
counts = luce.ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
counts = counts.observe({"b": 2, "c": 1}, within="bc").observe({"a": 2, "c": 1}, within="ac")
counts = counts.observe_group("ac", 2)
for method in ("waiting-times", "hidden-counts", "metropolis"):
    how = dict(chains=2, warmup=20, seed=1, progress=False, method=method)
    print(luce.Posterior(counts).sample(30, **how).posterior["probabilities"].values.tolist())
print(np.asarray(luce.Posterior(counts).mode("log-odds")).tolist())
"""


@pytest.mark.compiled
def test_python_and_compiled_code_draw_the_same() -> None:
    """Compare draws up to rounding: coverage and debuggers see the code that is run."""
    printed = []
    for disabled in ("0", "1"):
        settings = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-W", "ignore", "-c", SAME]
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
        printed.append([json.loads(line) for line in done.stdout.splitlines()])
    assert [len(drawn) for drawn in printed[0]] == [2, 2, 2, 3]
    for compiled, interpreted in zip(*printed, strict=True):
        np.testing.assert_allclose(interpreted, compiled, rtol=1e-9)


def test_an_edit_in_a_subfolder_changes_the_digest(tmp_path: Path) -> None:
    nested = tmp_path / "structure" / "overlap.py"
    nested.parent.mkdir()
    (tmp_path / "jit.py").write_text("a = 1\n")
    nested.write_text("b = 1\n")
    before = digest_of_sources(tmp_path)
    nested.write_text("b = 2\n")
    edited = digest_of_sources(tmp_path)
    nested.rename(tmp_path / "overlap.py")
    moved = digest_of_sources(tmp_path)
    assert len({before, edited, moved}) == 3
    (tmp_path / "overlap.py").rename(nested)
    assert digest_of_sources(tmp_path) == edited
