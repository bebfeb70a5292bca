"""Carrying out a plan: in memory or to a disk, in this process or on a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from luce.cluster.connect import ClusterLike, check_cluster, connected
from luce.errors import MethodError
from luce.runs.tree import as_tree
from luce.sampling import convergence
from luce.sampling.memory import Memory, check_memory, check_thinning, draw_in_memory
from luce.sampling.plan import Plan
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from distributed import Client
    from xarray import DataTree


def check_destination(
    settings: Settings, to: str | os.PathLike[str] | None, cluster: object = None
) -> Path | None:
    """Refuse an unusable folder, settings that need a folder, and objects that are no cluster."""
    check_cluster(cluster)
    if settings.until is not None and (to is not None or cluster is not None):
        raise MethodError(
            "until= draws on in the memory of this process; with to= or cluster= the number of "
            "draws is fixed beforehand. Leave until= out and ask for more draws."
        )
    if to is not None:
        if not isinstance(to, str | os.PathLike):
            raise MethodError(f"to = {to!r}; the path of a folder is needed, ending in .zarr.")
        from luce.runs.stream import check_folder

        check_folder(Path(to))
        return Path(to)
    if settings.quantiles is not None:
        raise MethodError("quantiles are followed only in a run that goes to a disk, to=...")
    return None


def carry_out(
    plan: Plan, to: str | os.PathLike[str] | None = None, cluster: ClusterLike = None
) -> DataTree:
    """Draw all chains of a plan, check their convergence, and return the run.

    Parameters
    ----------
    plan
        Plan of the run.
    to
        Folder that draws are written to as they are made; None keeps draws in memory.
    cluster
        Workers that draw the chains; None for threads of this process.
    """
    folder = check_destination(plan.settings, to, cluster)
    check_thinning(plan)
    if folder is None:
        check_memory(plan)
    with connected(cluster) as client:
        if folder is not None:
            return _draw_to_disk(plan, folder, client)
        sink = draw_in_memory(plan) if client is None else _draw_on(client, plan)
    convergence.warn(sink.verdict or convergence.judge(plan, sink))
    return as_tree(plan, sink)


def _draw_to_disk(plan: Plan, folder: Path, client: Client | None) -> DataTree:
    """Draw to a disk; what writes and reads files is imported here, since most runs need none."""
    from luce.cluster.chains import stream_on
    from luce.runs.stream import draw_to_disk

    return draw_to_disk(plan, folder, None if client is None else stream_on(client))


def _draw_on(client: Client, plan: Plan) -> Memory:
    from luce.cluster.chains import draw_on

    return draw_on(client, plan)
