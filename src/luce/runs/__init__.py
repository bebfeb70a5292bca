"""Results: runs as trees in memory and as folders and files on disk."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.runs.saving import load as load
    from luce.runs.saving import open_run as open_run
    from luce.runs.saving import save as save

_HOMES = {
    "load": "saving",
    "open_run": "saving",
    "save": "saving",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
