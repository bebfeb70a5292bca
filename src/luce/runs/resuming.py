"""Go on with a run that was broken off: killed, interrupted, or out of disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from luce.errors import DataError
from luce.runs.contents import model_of
from luce.runs.journal import read_settings
from luce.runs.lazily import open_run, read_folder, root_attributes
from luce.runs.open_stream import taken_up
from luce.runs.seal import settings_file
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree


def resume(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: bool = True
) -> DataTree:
    """Draw what is missing of a run that ``sample(to=...)`` began.

    The draws are, bit for bit, those that the run would have had uninterrupted, for any number of
    threads.  Blocks that are damaged are made again.

    Parameters
    ----------
    path
        The run's folder.
    threads, progress
        As in `Posterior.sample`.

    Returns
    -------
    DataTree
        The whole run, its draws read from the disk where they are asked for.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist, or is no folder.")
    attributes = root_attributes(folder)
    if attributes.get("complete", 1) == 1 and not settings_file(folder).exists():
        return open_run(folder)
    read_settings(folder)
    version = attributes.get("inference_library_version")
    if version != __version__:
        raise DataError(
            f"{folder} was begun with luce {version}, and this is luce {__version__}: the draws "
            "might differ. Go on with the other one, or start anew."
        )
    model = model_of(read_folder(folder, some=True))
    return taken_up(model, folder, threads, progress)
