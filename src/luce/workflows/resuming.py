"""Resume an interrupted run of any kind: of a posterior, of shards, of transitions, of states."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luce.errors import DataError
from luce.runs.resuming import go_on, is_finished
from luce.runs.saving import open_run
from luce.sampling.plan import Plan

if TYPE_CHECKING:
    from xarray import DataTree


def resume(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: bool = True
) -> DataTree:
    """Draw the missing draws of a run that was begun with ``to=...``.

    The draws are, bit for bit, those that the run would have had uninterrupted, for any number of
    threads.  Damaged blocks are drawn again.

    Parameters
    ----------
    path
        The run's folder.
    threads, progress
        As in `Posterior.sample`.

    Returns
    -------
    DataTree
        The whole run; draws are read from the disk when they are used.
    """
    folder = Path(path)
    if is_finished(folder):
        return open_run(folder)

    def rebuild(run: DataTree, given: dict[str, Any]) -> Plan:
        return _rebuild(run, given, {"threads": threads, "progress": progress})

    return go_on(folder, rebuild)


def _rebuild(run: DataTree, given: dict[str, Any], more: dict[str, Any]) -> Plan:
    """Rebuild the plan of a run from its stored form."""
    kind = given["kind"]
    if kind == "posterior":
        from luce.model.contents import model_of
        from luce.sampling.plan import PosteriorPlan

        return PosteriorPlan.from_json(model_of(run), given, **more)
    if kind == "sharded":
        from luce.cluster.sharded import sharded_plan_of

        return sharded_plan_of(run, given, **more)
    if kind == "transitions":
        from luce.sequences.hdp_runs import transitions_plan_of

        return transitions_plan_of(run, given, **more)
    if kind == "separate-rows":
        from luce.sequences.separate_rows_runs import separate_rows_plan_of

        return separate_rows_plan_of(run, given, **more)
    if kind == "semi-markov":
        from luce.sequences.semi_markov_runs import semi_markov_plan_of

        return semi_markov_plan_of(run, given, **more)
    raise DataError(f"the run is of the kind {kind!r}, which this luce does not know.")
