"""Resuming a run that was broken off: killed, interrupted, or stopped by a full disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import DataError, LuceError
from luce.runs.blocks import check_arrays
from luce.runs.journal import read_plan
from luce.runs.saving import read_folder, root_attributes
from luce.runs.seal import plan_file
from luce.runs.stream import Stream
from luce.sampling.plan import Plan
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree


def is_finished(folder: Path) -> bool:
    """Is the run in this folder complete?"""
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist, or is no folder.")
    return root_attributes(folder).get("complete", 1) == 1 and not plan_file(folder).exists()


def go_on(folder: Path, rebuild: Callable[[DataTree, dict[str, Any]], Plan]) -> DataTree:
    """Draw the missing draws of a run, by the plan that it was begun with.

    Parameters
    ----------
    folder
        The run's folder.
    rebuild
        Function that makes the plan again, from the run without its draws and the stored plan.
    """
    given = read_plan(folder)
    _require_this_version(folder)
    run = read_folder(folder, some=True)
    try:
        plan = rebuild(run, given)
        block = int(given["block"])
        _require_kept_entries(plan)
    except LuceError as error:
        raise DataError(f"{folder} cannot be gone on with: {error}") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"{plan_file(folder)} is damaged ({error!r}). The run has to be started anew."
        ) from error
    if plan.block != block:
        raise DataError(
            f"{folder} was begun in blocks of {block} draws, and this luce makes blocks "
            f"of {plan.block}: it was another version. Go on with that one, or start anew."
        )
    check_arrays(folder, plan)
    return Stream(plan, folder).complete()


def _require_kept_entries(plan: Plan) -> None:
    """Raise an IndexError where a plan stores entries that a parameter does not have."""
    for output in plan.outputs:
        output.stored(np.empty((1, *output.shape)))


def _require_this_version(folder: Path) -> None:
    version = root_attributes(folder).get("inference_library_version")
    if version != __version__:
        raise DataError(
            f"{folder} was begun with luce {version}, and this is luce {__version__}: the draws "
            "might differ. Go on with the other one, or start anew."
        )
