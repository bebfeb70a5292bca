"""Connecting to workers: those of a running Dask scheduler, or new processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias, Union

from luce.errors import LuceError
from luce.sampling.settings import processors

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

# A scheduler's address, or "local" for processes of this machine; a client; None for this process.
ClusterLike: TypeAlias = Union[str, "Client", None]

# Seconds to wait for a scheduler to answer, and for its first worker.
PATIENCE_SECONDS = 20.0


def check_cluster(cluster: object) -> None:
    """Refuse an argument that names no cluster, without connecting to one."""
    if cluster is None:
        return
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise LuceError("clusters need a package more: pip install 'luce[cluster]'") from None
    if not isinstance(cluster, str | Client):
        raise LuceError(
            f"cluster = {cluster!r}; give a scheduler's address, a distributed.Client, 'local' for "
            "processes of this machine, or None for this one."
        )


@contextmanager
def connected(cluster: ClusterLike, workers: int | None = None) -> Iterator[Client | None]:
    """Connect a client to the workers; processes started for it are stopped at the end.

    `workers` is the number of processes to start for "local"; one for each processor unless given.
    """
    check_cluster(cluster)
    if cluster is None:
        yield None
        return
    from distributed import Client, LocalCluster

    if isinstance(cluster, Client):
        yield cluster
    elif cluster == "local":
        import dask

        with (
            # Dask's profiler asks for the interpreter's lock every 10 ms, which slows short work.
            dask.config.set({"distributed.worker.profile.enabled": False}),
            LocalCluster(
                n_workers=workers or processors(),
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
            ) as own,
            Client(own, direct_to_workers=True) as client,
        ):
            try:
                yield client
            except KeyboardInterrupt:
                _kill_workers(own)
                raise
    else:
        try:
            client = Client(cluster, timeout=PATIENCE_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise LuceError(
                f"no Dask scheduler answers at {cluster!r}: {error}. Start one with `dask "
                "scheduler`, or say 'local' for processes of this machine."
            ) from error
        with client:
            yield client


def _kill_workers(cluster: LocalCluster) -> None:
    """End the processes of a cluster at once: to close them one by one takes seconds."""
    for nanny in cluster.workers.values():
        nanny.auto_restart = False
        if nanny.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)


def workers_of(client: Client) -> list[str]:
    """List the addresses of the workers in a fixed order; raise an error if there are none."""
    client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    return sorted(client.scheduler_info(n_workers=-1)["workers"])
