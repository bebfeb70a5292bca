"""Fixtures that several files of tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streaming_runs import BrokenOff

from luce.streaming import disk, durable, journal, layout


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
