"""Fixtures that several files of tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streaming_runs import BrokenOff

from luce.streaming import disk, durable, journal, layout

# The order of files.  On a new machine kernels are compiled on the way, and two processes that
# come to the same kernel at once compile it twice.  So one begins with what compiles most, the
# others with what compiles nothing; what takes long is not left for the end.
FILES = [
    "kernel_primitives", "page", "structure", "conditional_counts", "layers", "security",
    "files", "fuzz_readers", "readings", "preflib", "pgn", "simulate", "diagnostics",
    "convergence", "plots", "docs", "agreement", "report", "paper", "storage",
    "streaming_faults", "cluster", "frames", "engine",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files in that order, and the rest behind them."""
    place = {f"test_{name}.py": k for k, name in enumerate(FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(FILES)))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some dozen blocks a run, and places on the way."""
    monkeypatch.setattr("luce.sampling._CHUNK_STEPS", 300)
    monkeypatch.setattr(layout, "_MOST_CHUNKS", 3)


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let a run stop before the k-th file is written, as a kill would."""
    written = durable.write_whole

    def after(k: int) -> None:
        left = [k]

        def write(path: Path, content: Any) -> bytes:
            left[0] -= 1
            if left[0] < 0:
                raise BrokenOff
            return written(path, content)

        for module in (disk, journal):
            monkeypatch.setattr(module, "write_whole", write)

    return after
