"""A figure that is the same file whenever it is the same picture.

Imported only when something is drawn, since it loads matplotlib.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import PurePath
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure


class Picture(Figure):
    """A figure outside pyplot: no window and no state, and nothing to close."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as `Figure.savefig` does; SVG without the date and with names that repeat."""
        path = fname if isinstance(fname, (str, PurePath)) else ""
        kind = options.get("format") or PurePath(path).suffix[1:] or rcParams["savefig.format"]
        if kind.lower() == "svg":
            options["metadata"] = {"Date": None, **(options.get("metadata") or {})}
        with rc_context({"svg.hashsalt": "luce", "svg.fonttype": "path"}):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """Show in a notebook, which shows by itself only figures of pyplot."""
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
