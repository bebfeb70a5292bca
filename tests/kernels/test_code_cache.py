"""The folder of compiled code: never older than its sources, compiled once, and cleaned up."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import pytest

import luce
from luce.kernels import code_cache
from luce.kernels.code_cache import (
    digest_of_sources,
    held,
    last_seconds,
    note_seconds,
    remove_old_folders,
)


def folder_of(package: Path, **environment: str) -> str:
    code = "from luce.kernels.code_cache import cache_folder; print(cache_folder())"
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


# -- old folders -----------------------------------------------------------------------------------

TODAY, OLDER = "0" * 16, "1" * 16


def folders(base: Path, *names: str, days: float = 0.0) -> list[Path]:
    """Make folders of compiled code that were last used some days ago."""
    made = [base / name for name in names]
    for folder in made:
        (folder / "kernels").mkdir(parents=True)
        (folder / "kernels" / "code.nbc").touch()
        os.utime(folder, (time.time() - 86400 * days,) * 2)
    return made


def test_code_of_older_kernels_is_removed(tmp_path: Path) -> None:
    version = numba.__version__
    folder, _, _ = folders(
        tmp_path, f"luce-{version}-{TODAY}", f"luce-{version}-{OLDER}", f"luce-{OLDER}"
    )
    folders(tmp_path, f"luce-0.1-{OLDER}", "luce-notes", "other")
    folders(tmp_path, f"luce-0.2-{OLDER}", days=31)
    remove_old_folders(folder, shared=False)
    left = {folder.name, f"luce-0.1-{OLDER}", "luce-notes", "other"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_code_that_another_installation_may_need_is_kept_for_a_month(tmp_path: Path) -> None:
    version = numba.__version__
    folder, recent = folders(
        tmp_path, f"luce-{version}-{TODAY}", f"luce-{version}-{OLDER}", days=29
    )
    folders(tmp_path, f"luce-{version}-{'2' * 16}", f"luce-{'3' * 16}", days=31)
    remove_old_folders(folder, shared=True)
    assert set(tmp_path.iterdir()) == {folder, recent}


def test_a_new_folder_is_marked_as_used_and_old_ones_go(tmp_path: Path) -> None:
    """In a process of its own, which finds its folder for the first time."""
    folders(tmp_path, f"luce-{OLDER}", days=31)
    chosen = folder_of(Path(luce.__file__).parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [Path(chosen).name]
    assert time.time() - Path(chosen).stat().st_mtime < 60


# -- locks -----------------------------------------------------------------------------------------


@contextmanager
def noted(notes: list[str]) -> Iterator[None]:
    notes.append("waiting")
    yield
    notes.append("no longer")


def test_a_lock_is_held_by_one_at_a_time_and_waiting_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks of two open files exclude each other, in one process as in two."""
    monkeypatch.setattr(code_cache, "PATIENCE", 0.01)
    order, notes, first = list[str](), list[str](), threading.Event()

    def hold() -> None:
        with held(tmp_path / "lock", lambda: noted([])):
            first.set()
            time.sleep(0.15)
            order.append("first")

    other = threading.Thread(target=hold)
    other.start()
    first.wait()
    with held(tmp_path / "lock", lambda: noted(notes)):
        order.append("second")
    other.join()
    assert order == ["first", "second"]
    assert notes == ["waiting", "no longer"]


def test_a_lock_is_free_after_an_error_and_without_a_word(tmp_path: Path) -> None:
    notes = list[str]()
    with pytest.raises(KeyError), held(tmp_path / "lock", lambda: noted(notes)):
        raise KeyError
    with held(tmp_path / "lock", lambda: noted(notes)):
        pass
    assert notes == []


HOLDER = """
import time
import fcntl
file = open({lock!r}, "ab")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_nobody_waits_for_a_process_that_was_killed_or_that_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr(code_cache, "PATIENCE", 0.01)
    lock, notes = tmp_path / "lock", list[str]()
    code = HOLDER.format(lock=str(lock))
    with subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with monkeypatch.context() as impatient:
            impatient.setattr(code_cache, "LONGEST_WAIT", 0.05)
            with held(lock, lambda: noted(notes)):  # not had, and work goes on
                pass
        holder.kill()
        with held(lock, lambda: noted(notes)):
            pass
    assert notes[:2] == ["waiting", "no longer"]


def test_work_goes_on_where_no_lock_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notes = list[str]()
    with held(tmp_path / "file" / "lock", lambda: noted(notes)):
        notes.append("done")
    assert notes == ["done"]


TOGETHER = """
import sys, time
from pathlib import Path
import numpy as np
from luce.kernels.running_moments import add_moments
here, own, other = map(Path, sys.argv[1:])
(here / own).touch()
while not (here / other).exists():
    time.sleep(0.001)
mean = np.zeros(3)
add_moments(np.ones((4, 3)), 0, mean, np.zeros(3))
assert list(mean) == [1, 1, 1]
print(sum(add_moments.stats.cache_misses.values()), sum(add_moments.stats.cache_hits.values()))
"""


@pytest.mark.compiled
def test_of_two_processes_that_need_the_same_code_one_compiles_it(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code")}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(tmp_path), *names],
            env=environment, stdout=subprocess.PIPE, text=True,
        )
        for names in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    found = sorted(process.communicate(timeout=120)[0].strip() for process in started)
    assert found == ["0 1", "1 0"]  # misses and hits of the cache


# -- times -----------------------------------------------------------------------------------------


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(code_cache, "cache_folder", lambda: str(tmp_path / f"luce-{TODAY}"))
    return tmp_path


def test_times_of_compilations_are_remembered(own_folder: Path) -> None:
    assert last_seconds("a") is None
    note_seconds("a", 1.25)
    note_seconds("b", 2.0)
    note_seconds("a", 1.5)
    assert (last_seconds("a"), last_seconds("b")) == (1.5, 2.0)
    assert [path.name for path in own_folder.iterdir()] == ["luce-compilations.json"]


@pytest.mark.parametrize("damaged", ["", "{", "[1]", '{"a": "soon"}', '{"a": -1}', '{"a": NaN}'])
def test_a_damaged_file_of_times_is_replaced(damaged: str, own_folder: Path) -> None:
    file = own_folder / "luce-compilations.json"
    file.write_text(damaged)
    assert last_seconds("a") is None
    note_seconds("a", 1.0)
    assert last_seconds("a") == 1.0
    json.loads(file.read_text())


def test_times_that_cannot_be_written_are_forgotten(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_folder.rmdir()
    note_seconds("a", 1.0)
    assert last_seconds("a") is None
    monkeypatch.setattr(code_cache, "cache_folder", lambda: None)
    note_seconds("a", 1.0)
    assert last_seconds("a") is None


def test_times_do_not_grow_without_end(own_folder: Path) -> None:
    file = own_folder / "luce-compilations.json"
    file.write_text(json.dumps({str(k): 1.0 for k in range(5000)}))
    note_seconds("new", 2.0)
    kept = json.loads(file.read_text())
    assert len(kept) == 1000
    assert list(kept)[-1] == "new"
