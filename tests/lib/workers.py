"""Workers of a cluster that tests kill, and the warnings that Dask gives when they go."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from distributed import Client

# Runs are short, and Dask leaves sockets and futures behind when workers go and clusters close.
DASK_WARNINGS = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def killing(client: "Client", when: Callable[[], bool]) -> threading.Thread:
    """Kill a worker, as a machine that goes down would, once `when` says so."""
    pid = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        while not when():
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread
