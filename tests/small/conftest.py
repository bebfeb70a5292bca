"""A suite for `make coverage`, where kernels are plain Python; compiled, it is a slow one.

Its tests use what stands beside them in tests/.
"""

import sys
from pathlib import Path

import numba
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is tested here is tested sharply elsewhere, by default."""
    for item in items:
        if HERE in item.path.parents and not numba.config.DISABLE_JIT:
            item.add_marker(pytest.mark.slow)
