"""Results: runs in memory and on disk, saved, loaded and resumed."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.runs.lazily import open_run as open_run
    from luce.runs.resuming import resume as resume
    from luce.runs.saving import load as load
    from luce.runs.saving import save as save

_HOMES = {
    "load": "saving",
    "open_run": "lazily",
    "resume": "resuming",
    "save": "saving",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
