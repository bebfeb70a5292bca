"""The paper's two graphical models, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from luce.paper.figures import Drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RADIUS = 0.32
_INK = "#222222"
_SEEN = "#cfd8e3"


def draw() -> list[Drawing]:
    """Draw the model of the data, and the one with hidden counts."""
    return [
        Drawing(
            "unaugmented",
            _model(augmented=False),
            "Graphical model: the concentration alpha points to the probabilities pi, which point "
            "to the observed counts m of each truncated term.",
        ),
        Drawing(
            "augmented",
            _model(augmented=True),
            "Graphical model: as before, and in each term, for each of its outcomes, a hidden "
            "count k that depends on pi; the number of them depends on m.",
        ),
    ]


def _model(augmented: bool) -> Figure:
    figure, axes = new_figure(4.3, 3.3, (0.02, 0.02, 0.96, 0.86))
    middle = -0.4 if augmented else 0.4
    axes.set(xlim=(-0.6, 4.6), ylim=(middle - 1.8, middle + 1.8), aspect="equal")
    axes.axis("off")
    axes.set_title("With hidden counts" if augmented else "As observed")
    pi, m, k = (1.3, 0.5), (3.1, 0.5), (3.1, -0.95)
    axes.plot(0, 0.5, "o", color=_INK, markersize=5)
    axes.annotate("α", (0, 0.5), (0, 9), textcoords="offset points", ha="center", fontsize=14)
    _arrow(axes, (0.08, 0.5), pi)
    _node(axes, pi, "π")
    _node(axes, m, "$m_t$", seen=True)
    _arrow(axes, pi, m)
    bottom = -2.0 if augmented else -0.35
    _plate(axes, (2.2, bottom), 4.3, 1.2, "t = 1, …, T")
    if augmented:
        _node(axes, k, "$k_{tj}$")
        _arrow(axes, pi, k)
        _arrow(axes, m, k)
        _plate(axes, (2.4, -1.7), 4.1, -0.4, "j = 1, …, m$_{t·}$")
    return figure


def _node(axes: Axes, at: tuple[float, float], text: str, seen: bool = False) -> None:
    from matplotlib.patches import Circle

    face = _SEEN if seen else "white"
    axes.add_patch(Circle(at, _RADIUS, facecolor=face, edgecolor=_INK, linewidth=1.4, zorder=3))
    axes.annotate(text, at, ha="center", va="center", fontsize=14, zorder=4)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    # Nodes lie above arrows and hide what runs below them.
    axes.annotate(
        "", end, start, zorder=2,
        arrowprops={"arrowstyle": "-|>", "color": _INK, "shrinkB": 21, "linewidth": 1.4},
    )  # fmt: skip


def _plate(axes: Axes, corner: tuple[float, float], right: float, top: float, text: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = right - corner[0], top - corner[1]
    box = FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.12")
    box.set(facecolor="none", edgecolor=_INK, linewidth=1.1)
    axes.add_patch(box)
    axes.annotate(
        text, (right, corner[1]), (-6, 5), textcoords="offset points", ha="right", va="bottom",
        fontsize=10,
    )  # fmt: skip
