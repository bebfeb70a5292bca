"""A figure whose file depends on the picture alone, and axes that show it in a notebook.

A module of its own because it imports matplotlib, which must not load before something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_SHOWN = 96  # pixels of a page to an inch; the picture itself has more, for sharp screens

Shown = tuple[bytes, dict[str, int]]


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

    def _repr_png_(self) -> Shown:
        """Show the figure in a notebook, which by itself shows only figures of pyplot."""
        file = BytesIO()
        self.savefig(file, format="png")
        width, height = (round(_SHOWN * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


class PictureAxes(Axes):
    """Axes of a `Picture`."""

    def _repr_png_(self) -> Shown | None:
        """Show the whole figure where a cell of a notebook ends with its axes."""
        return _shown(self)


class Panels(np.ndarray):
    """Array of axes, which shows their figure in a notebook."""

    @classmethod
    def of(cls, axes: Sequence[Axes], shape: tuple[int, ...]) -> Panels:
        """Arrange axes in an array of this shape."""
        found: npt.NDArray[Any] = np.empty(len(axes), object)
        found[:] = axes
        return found.reshape(shape).view(cls)

    def _repr_png_(self) -> Shown | None:
        return _shown(self.flat[0]) if self.size else None


def _shown(ax: Any) -> Shown | None:
    """Draw the figure of some axes; None where it is not a `Picture`, but the reader's own."""
    figure = ax.figure.figure
    return figure._repr_png_() if isinstance(figure, Picture) else None
