"""Resuming a run that was broken off: killed, interrupted, or stopped by a full disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import DataError, DiskFullError, LuceError
from luce.runs import journal
from luce.runs.blocks import check_arrays
from luce.runs.encoding import check_format
from luce.runs.saving import read_folder, root_attributes
from luce.runs.seal import files_of, plan_file, require_files
from luce.runs.stream import Stream
from luce.runs.workshop import clear_up
from luce.sampling.plan import Plan
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree


def is_finished(folder: Path) -> bool:
    """Is the run in this folder complete?"""
    clear_up(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist, or is no folder.")
    if plan_file(folder).exists():
        return False
    attributes = root_attributes(folder)
    check_format(attributes, str(folder))
    return bool(attributes.get("complete", 1) == 1)


def go_on(folder: Path, rebuild: Callable[[DataTree, dict[str, Any]], Plan]) -> DataTree:
    """Draw the missing draws of a run, by the plan that it was begun with.

    Parameters
    ----------
    folder
        The run's folder.
    rebuild
        Function that makes the plan again, from the run without its draws and the stored plan.
    """
    files_of(folder)  # no links: they would lead out of the folder
    journal.read_plan(folder)  # before anything is written
    with journal.locked(folder):
        plan = _plan(folder, rebuild)
        check_arrays(folder, plan)
        return Stream(plan, folder).complete()


def _plan(folder: Path, rebuild: Callable[[DataTree, dict[str, Any]], Plan]) -> Plan:
    """Make the plan of a run again from its stored form."""
    given = journal.read_plan(folder)
    try:
        journal.restore_beginning(folder, given)
        checksums = {str(name): str(own) for name, own in given["files"].items()}
        require_files(folder, checksums)
        _require_this_version(folder)
        run = read_folder(folder, checksums, some=True)
        plan = rebuild(run, given)
        block = int(given["block"])
        _require_kept_entries(plan)
    except DiskFullError:
        raise
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
    return plan


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
