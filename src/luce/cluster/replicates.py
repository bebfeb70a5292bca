"""Independent replicates on the workers of a cluster, with the same results as in this process."""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray
from luce.cluster.chains import ReportingWatch
from luce.cluster.connect import ClusterLike, connected
from luce.cluster.tasks import map_tasks
from luce.sampling.replicates import Replicated, number_of_blocks, repeat


def repeat_on(
    cluster: ClusterLike, experiment: Replicated, threads: int, progress: bool
) -> FloatArray:
    """Make all replicates of an experiment, on workers or in threads of this process; a row each.

    Parameters
    ----------
    cluster
        Workers, as in `Posterior.sample`; None for threads of this process.
    experiment
        What is repeated.
    threads
        Number of threads of this process.
    progress
        Show a bar?
    """
    with connected(cluster) as client:
        if client is None:
            return repeat(experiment, threads=threads, progress=progress)
        found = map_tasks(
            client,
            _one_block,
            experiment,
            range(number_of_blocks(experiment)),
            total=experiment.replicates,
            progress=progress,
        )
    return np.concatenate(found)


def _one_block(experiment: Replicated, number: int, name: str) -> FloatArray:
    """Make the replicates of one block, on a worker."""
    try:
        return repeat(experiment, [number], watch=ReportingWatch(name, number))
    except KeyboardInterrupt:
        raise InterruptedError("the replicates were stopped") from None
