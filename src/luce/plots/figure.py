"""A figure whose file depends on the picture alone.

A module of its own because it imports matplotlib, which must not load before something is drawn.
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
        """Save as `Figure.savefig` does; SVG without the date and with reproducible ids."""
        path = fname if isinstance(fname, (str, PurePath)) else ""
        kind = options.get("format") or PurePath(path).suffix[1:] or rcParams["savefig.format"]
        if kind.lower() == "svg":
            options["metadata"] = {"Date": None, **(options.get("metadata") or {})}
        with rc_context({"svg.hashsalt": "luce", "svg.fonttype": "path"}):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook, which by itself shows only figures of pyplot."""
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
