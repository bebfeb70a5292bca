"""Fixtures that several rooms of tests share."""

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.processes import listen_to_ctrl_c
from lib.size import PLAIN_PYTHON
from lib.streaming_runs import BrokenOff

from luce.runs import disk, journal
from luce.runs.files import write_whole

if TYPE_CHECKING:
    from distributed import Client, LocalCluster


def pytest_configure() -> None:
    """Set up the processes of the tests, and those that they start.

    Tests of Ctrl-C run also where the tests were started in the background.
    """
    listen_to_ctrl_c()
    os.environ.pop("COLUMNS", None)  # the width of somebody's terminal, or of no terminal
    share_processors()
    share_bytecode()


def share_processors() -> None:
    """Let idle threads of OpenBLAS sleep at once, in processes that start from now on.

    By default they wait some hundredths of a second at full speed, on processors that other tests
    need.  Fewer threads would give other last bits of draws.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def share_bytecode() -> None:
    """Write bytecode beside the sources, where compiled kernels are too, even if told not to.

    Otherwise each of the many processes that tests start compiles the sources again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def uses_workers(file: str) -> bool:
    """Tell whether the tests of a file start workers of a cluster, by its room."""
    return file.startswith(("tests/cluster/", "tests/workflows/"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, and all tests that share a cluster too."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = nodeid.split("::", 1)[0]
            return "workers" if uses_workers(file) else file

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that take long together; skip those that need kernels that are not there."""
    items.sort(key=lambda item: not uses_workers(item.nodeid))
    skipped = pytest.mark.skip(reason="needs compiled kernels")
    for item in items:
        if PLAIN_PYTHON and item.get_closest_marker("compiled"):
            item.add_marker(skipped)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let a run stop before the k-th file is written, as a kill would."""

    def after(k: int) -> None:
        left = [k]

        def write(path: Path, content: Any) -> bytes:
            left[0] -= 1
            if left[0] < 0:
                raise BrokenOff
            return write_whole(path, content)

        for module in (disk, journal):
            monkeypatch.setattr(module, "write_whole", write)

    return after


@contextmanager
def workers(processes: bool) -> "Iterator[LocalCluster]":
    """Start two workers; sockets that Dask leaves behind are closed here, not in another test."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0"
    ) as own:
        yield own
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def cluster() -> "Iterator[LocalCluster]":
    """Two worker processes; one that is killed is started again."""
    with workers(processes=True) as own:
        yield own


@pytest.fixture
def client(cluster: "LocalCluster") -> "Iterator[Client]":
    """A client of two worker processes."""
    from distributed import Client

    with Client(cluster) as own:
        own.wait_for_workers(2)
        yield own


@pytest.fixture(scope="module")
def threads_client() -> "Iterator[Client]":
    """A client of two workers that are threads of this process, so that tests can patch them."""
    with workers(processes=False) as own:
        from distributed import Client

        with Client(own) as client:
            yield client
