"""The same draws wherever a process runs: without a home, with any number of threads, forked or
spawned, with compiled code kept or not, and while another process compiles.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import luce

SOURCE = Path(luce.__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="mounts and processes of Unix")

# Prints digests of draws by each method, and bits of a mode, of an evidence and of errors.
SCRIPT = """
import hashlib, json, multiprocessing, os, sys, warnings
import numpy as np, luce

def digests(seed):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(7)
    counts = luce.ConditionalCounts(40)
    for _ in range(25):
        some = rng.choice(40, 6, replace=False).tolist()
        counts = counts.observe(dict(zip(some, rng.integers(0, 9, 6).tolist())), within=some)
    posterior = luce.Posterior(counts, 1.5)
    found = {}
    for method in ("hamiltonian", "waiting-times", "hidden-counts"):
        run = posterior.sample(60, chains=4, warmup=30, seed=seed, method=method, progress=False,
                               threads=int(os.environ.get("THREADS", "2")))
        values = run.posterior["probabilities"].values
        found[method] = hashlib.sha256(values.tobytes()).hexdigest()
    found["mode"] = np.asarray(posterior.mode()).round(9).tolist()
    return found

if __name__ == "__main__":
    if sys.argv[1] == "here":
        print(json.dumps(digests(3)))
    else:
        before = digests(3) if sys.argv[1] == "fork" else None  # threads have run by then
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            several = pool.map(digests, [3, 3])
        assert several[0] == several[1], several
        assert before in (None, several[0])
        print(json.dumps(several[0]))
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "digests.py"
    path.write_text(SCRIPT)
    return path


def started(script: Path, how: str = "here", **environment: str) -> subprocess.Popen[str]:
    """Run with nothing in the environment but what is given."""
    environment = {"PYTHONPATH": str(SOURCE), **environment}
    return subprocess.Popen(
        [sys.executable, str(script), how], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    out, errors = process.communicate(timeout=500)
    assert process.returncode == 0, errors
    return json.loads(out), errors


@pytest.fixture(scope="module")
def digests(script: Path) -> dict[str, Any]:
    found, errors = ended(started(script, THREADS="1", NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1",
                                  OPENBLAS_NUM_THREADS="1"))  # fmt: skip
    assert "Traceback" not in errors
    assert len(set(map(str, found.values()))) == 4
    return found


@pytest.mark.slow
def test_four_threads_and_no_home(script: Path, digests: dict[str, Any]) -> None:
    """The environment of the fixture and of this process are empty but for these."""
    threads = {
        "THREADS": "4",
        "NUMBA_NUM_THREADS": "4",
        "OMP_NUM_THREADS": "4",
        "OPENBLAS_NUM_THREADS": "4",
    }
    found, _ = ended(started(script, **threads))
    assert found == digests


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_forked_and_spawned(how: str, script: Path, digests: dict[str, Any]) -> None:
    assert ended(started(script, how))[0] == digests


@pytest.mark.slow
def test_a_cache_that_cannot_be_written(script: Path, digests: dict[str, Any]) -> None:
    """Compiled code is not kept then, which is said once; the draws are the same."""
    found, errors = ended(started(script, NUMBA_CACHE_DIR="/proc/nowhere"))
    assert errors.count("no folder to keep it in; set NUMBA_CACHE_DIR") == 1
    assert found == digests


@pytest.fixture
def closed_package(tmp_path: Path) -> Iterator[Path]:
    """The package on a disk that even root cannot write."""
    place = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "luce", place / "luce", ignore=ignored)
    bind = subprocess.run(["mount", "--bind", str(place), str(place)], capture_output=True)
    if bind.returncode:
        pytest.skip("a folder cannot be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def cache_of(package: Path, **environment: str) -> str:
    code = "from luce.kernels.code_cache import cache_folder as f; print(f())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(package), **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_where_compiled_code_goes_when_the_package_is_closed(
    closed_package: Path, tmp_path: Path
) -> None:
    home = cache_of(closed_package, HOME=str(tmp_path))
    assert Path(home).parent == tmp_path / ".cache" / "luce"
    assert Path(home).is_dir()
    assert cache_of(closed_package, HOME="/proc") == "None"


@pytest.mark.slow
def test_two_processes_compile_at_once(
    script: Path, digests: dict[str, Any], tmp_path: Path
) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [started(script, **cache) for _ in range(2)]
    assert [ended(process)[0] for process in both] == [digests, digests]
    found, errors = ended(started(script, **cache))  # what they left can be used
    assert found == digests
    assert errors == ""
