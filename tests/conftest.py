"""Fixtures that several files of tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.processes import listen_to_ctrl_c
from lib.size import PLAIN_PYTHON
from lib.streaming_runs import BrokenOff

from luce.runs import blocks as layout
from luce.runs import disk, journal
from luce.runs import files as durable


def pytest_configure() -> None:
    """Let tests of Ctrl-C run where the tests were started in the background."""
    listen_to_ctrl_c()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need compiled kernels where there are none."""
    skipped = pytest.mark.skip(reason="needs compiled kernels")
    for item in items:
        if PLAIN_PYTHON and item.get_closest_marker("compiled"):
            item.add_marker(skipped)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        if item.path.name.startswith("test_small_") and not PLAIN_PYTHON:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some dozen blocks a run, and places on the way."""
    monkeypatch.setattr("luce.sampling.chains._CHUNK_STEPS", 300)
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
