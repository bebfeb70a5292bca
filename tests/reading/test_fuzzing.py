"""Every reader under a coverage-guided fuzzer, for a bounded time; and that the fuzzer finds bugs.

Needs atheris: the dependency group `fuzz`, which `make test-slow` installs.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lib.bounds import SEED

HARNESS = Path(__file__).parent / "fuzz" / "harness.py"
SECONDS = int(os.environ.get("LUCE_FUZZ_SECONDS", "20"))  # each reader
TARGETS = [
    "csv", "tsv", "json", "orders", "pgn", "soc", "soi", "toc", "toi", "wmd", "packed", "parquet",
    "typed-json", "zarr", "netcdf", "settings", "place",
]  # fmt: skip

pytestmark = pytest.mark.slow
if importlib.util.find_spec("atheris") is None:
    if os.environ.get("LUCE_REQUIRE_FUZZER") == "1":
        raise ModuleNotFoundError("atheris is not installed: pip install --group fuzz")
    pytestmark = [pytest.mark.slow, pytest.mark.skip("atheris is not installed: --group fuzz")]


def fuzzed(target: str, folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Run the fuzzer in a process of its own; its exit code, and the end of what it said."""
    command = [sys.executable, str(HARNESS), target, str(folder / "corpus"), f"-seed={SEED + 1}",
               "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={folder}/",
               *options]  # fmt: skip
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS + 240,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stdout.decode(errors="replace")[-6000:]


@pytest.mark.parametrize("target", TARGETS)
def test_only_errors_in_words_come_out(target: str, tmp_path: Path) -> None:
    code, said = fuzzed(target, tmp_path, f"-max_total_time={SECONDS}")
    assert code == 0, said
    done = re.search(r"Done (\d+) runs", said)
    assert done, said
    assert int(done[1]) >= 20, said
    covered = [int(found) for found in re.findall(r"cov: (\d+)", said)]
    # It does see luce's own branches; of a place in a journal numpy reads most.
    assert max(covered) > (5 if target == "place" else 30), said


def test_control_a_planted_bug_is_found(tmp_path: Path) -> None:
    code, said = fuzzed("planted", tmp_path, f"-max_total_time={3 * SECONDS}")
    assert code != 0
    assert "the planted bug" in said


def test_control_without_coverage_it_is_not(tmp_path: Path) -> None:
    """So it is coverage that guides; two million blind tries miss four bytes."""
    code, said = fuzzed("planted", tmp_path, "-runs=2000000", LUCE_FUZZ_BLIND="1")
    assert code == 0, said
    assert "Done 2000000 runs" in said
