"""Fixtures that write files of data."""

from pathlib import Path
from typing import Any

import pytest

import luce


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def of_text(text: str, **options: Any) -> Any:
        path = tmp_path / "data.csv"
        path.write_text(text.replace(" / ", "\n") + "\n")
        return luce.read(path, **options)

    return of_text
