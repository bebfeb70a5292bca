"""Every plot: where it is drawn, whether it can be read, and the file it makes."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.pictures import (
    names,
    outside,
    overlapping,
    shown_texts,
    some_counts,
    some_draws,
    some_outcomes,
    three,
)
from lib.places import DOCS
from matplotlib import pyplot as plt
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import luce
from luce import plots
from luce.errors import DataError, MethodError
from luce.plots.canvas import BLUE, GREY, VERMILION
from luce.plots.figure import Picture

PICTURES = DOCS / "plots"
HOSTILE = [  # the first are drawn by every plot
    "🦊 مرحبا بالعالم <script>",
    "$x_1$",
    "x" * 10_000,
    "two\nlines\t",
    "\\alpha_{i}^2 % & #",
    "",
    "中文",
    "e\u0301\u202e\u200d",
    "x" * 9_999 + "y",
    ("a", 1),
    None,
]

Plot = Callable[..., Any]
PLOTS: dict[str, Plot] = {
    "strengths": plots.strengths,
    "log-odds": lambda d, **k: plots.strengths(
        d, scale="log-odds", reference=d["category"].values.tolist()[0], **k
    ),
    "elo": lambda d, **k: plots.strengths(d, scale="elo", **k),
    "shares": plots.shares,
    "rank_heatmap": plots.rank_heatmap,
    "win_matrix": plots.win_matrix,
    "simplex": lambda d, **k: plots.simplex(three(d), **k),
    "trace": lambda d, **k: plots.trace(d, d["category"].values.tolist()[:1], **k)[0],
    "autocorrelation": lambda d, **k: plots.autocorrelation(
        d, d["category"].values.tolist()[:1], **k
    )[0],
    "predictive_check": lambda d, **k: plots.predictive_check(d, some_counts(d), **k),
    "predictive_check by set": lambda d, **k: plots.predictive_check(d, some_outcomes(d), **k),
    "reliability": lambda d, **k: plots.reliability(
        luce.answers.reliability(d, some_outcomes(d)), **k
    ),
}
EVERY = pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)


@pytest.fixture(autouse=True)
def _no_figure_is_left_open() -> Iterator[None]:
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


# Where it is drawn


@EVERY
def test_axes_are_respected(plot: Plot) -> None:
    draws = some_draws(4)
    figure = Figure()
    given, other = figure.subplots(1, 2)
    assert plot(draws, ax=given) is given
    assert figure.axes == [given, other]
    assert given.has_data()
    assert not other.has_data()
    own = plot(draws)
    assert isinstance(own, Axes)
    assert isinstance(own.figure, Picture)


def test_axes_for_many() -> None:
    draws = some_draws(4)
    axes = Figure().subplots(2, 1)
    found = plots.trace(draws, ["category 1", "category 2"], ax=axes)
    assert list(found) == list(axes)
    with pytest.raises(DataError, match="3 sets of matplotlib axes needed"):
        plots.trace(draws, ["category 0", "category 1", "category 2"], ax=axes)
    with pytest.raises(DataError, match="1 set of matplotlib axes needed"):
        plots.strengths(draws, ax=axes)  # type: ignore[arg-type]


def test_a_dark_figure_of_the_readers_keeps_its_colours() -> None:
    draws = some_draws(3)
    with rc_context({"text.color": "white", "xtick.color": "white", "ytick.color": "white"}):
        ax = plots.strengths(draws, ax=Figure().subplots())
        assert ax.get_yticklabels()[0].get_color() == "white"
    ax = plots.strengths(draws)
    with rc_context({"xtick.color": "red", "ytick.color": "red"}):
        ax.figure.draw_without_rendering()
        assert {t.get_color() for t in [*ax.get_xticklabels(), *ax.get_yticklabels()]} == {GREY}


@EVERY
def test_given_axes_get_the_style_and_nothing_else_does(plot: Plot) -> None:
    before = dict(rcParams)
    given, other = Figure().subplots(1, 2)
    plot(some_draws(3), ax=given)
    own = plot(some_draws(3))
    assert dict(rcParams) == before

    def look(ax: Axes) -> dict[str, Any]:
        ticks, words = ax.xaxis.get_tick_params(), ax.xaxis.label
        return {
            "ticks": (ticks.get("labelcolor"), ticks.get("labelsize")),
            "words": (words.get_color(), words.get_size()),
            "title": (ax.title.get_color(), ax.title.get_size()),
            "spines": {k: (s.get_visible(), s.get_edgecolor()) for k, s in ax.spines.items()},
            "grid": ax.xaxis.get_tick_params().get("gridOn"),
        }

    assert look(given) == look(own)
    assert look(other) == look(Figure().subplots()) != look(own)


def test_settings_of_the_reader_stay() -> None:
    with rc_context({"ytick.labelsize": 5, "axes.labelcolor": "red", "axes.spines.top": True}):
        ax = plots.strengths(some_draws(3), ax=Figure().subplots())
        assert ax.xaxis.label.get_color() == "red"
        assert ax.yaxis.get_tick_params().get("labelsize", 5) == 5
        assert ax.xaxis.get_tick_params()["labelsize"] == 9
    title = plots.strengths(some_draws(3), ax=Figure().subplots(subplot_kw={"title": "Teas"}))
    assert title.get_title() == "Teas"


# Whether it can be read


@EVERY
@pytest.mark.parametrize("n", [3, pytest.param(300, marks=pytest.mark.slow)])
def test_nothing_overlaps_or_is_cut(plot: Plot, n: int) -> None:
    ax = plot(some_draws(n, [f"label number {i} " + "of a category" * (i % 2) for i in range(n)]))
    seen = shown_texts(ax)
    assert sum(map(len, seen.values())) > 2
    assert overlapping(seen) == []
    assert outside(ax, seen) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["strengths", "shares", "rank_heatmap", "win_matrix"])
def test_nothing_overlaps_when_all_are_drawn_or_room_is_small(name: str) -> None:
    draws = some_draws(300, size=50)
    ax = PLOTS[name](draws, most=300)
    assert overlapping(shown_texts(ax)) == []
    assert len(names(ax)) < 300
    small = Figure(figsize=(3, 2)).subplots()
    PLOTS[name](draws, ax=small)
    assert overlapping(shown_texts(small)) == []
    assert len(names(small)) > 3


@EVERY
def test_hostile_labels_are_only_text(plot: Plot, tmp_path: Path) -> None:
    ax = plot(some_draws(len(HOSTILE), HOSTILE))
    ax.figure.savefig(tmp_path / "picture.svg")
    assert "<script" not in (tmp_path / "picture.svg").read_text(encoding="utf-8")
    for each in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
        assert "\n" not in each.get_text()
        assert len(each.get_text()) <= 32


def test_crowded_and_cut_texts_are_found_out() -> None:
    ax = plots.strengths(some_draws(30))
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.set_size_inches(3, 2)
    assert overlapping(shown_texts(ax))
    ax = plots.simplex(some_draws(3))
    ax.texts[0].set(text="wide " * 30, in_layout=False)
    seen = shown_texts(ax)
    assert outside(ax, seen) == ["wide " * 30]


def luminance(color: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("color", [GREY, BLUE, VERMILION])
def test_colours_stand_on_white_and_on_black(color: str) -> None:
    light = luminance(color)
    assert 1.05 / (light + 0.05) > (4.5 if color == GREY else 3)
    assert (light + 0.05) / 0.05 > (4.5 if color == GREY else 3)


# Files


@pytest.mark.parametrize(
    "plot",
    [
        "strengths",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("win_matrix", "simplex", "trace")),
    ],
)
def test_the_same_picture_is_the_same_file(plot: str, tmp_path: Path) -> None:
    draws = some_draws(5)
    for name in ("a.svg", "b.svg"):
        PLOTS[plot](draws).figure.savefig(tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    stream = BytesIO()
    PLOTS[plot](draws).figure.savefig(stream, format="svg")
    assert first == stream.getvalue()
    assert b"<dc:date>" not in first
    assert len(first) < 150_000


def test_figures_are_transparent_and_show_in_notebooks() -> None:
    draws = some_draws(3)
    ax = plots.strengths(draws)
    figure = ax.figure
    assert isinstance(figure, Picture)
    assert figure.get_facecolor()[3] == 0
    panels = plots.trace(draws)
    for each, owner in [(figure, figure), (ax, figure), (panels, panels[0].figure)]:
        png, size = each._repr_png_()  # type: ignore[union-attr]
        assert png.startswith(b"\x89PNG")
        assert [size["width"] / 96, size["height"] / 96] == pytest.approx(
            owner.get_size_inches(), abs=0.01
        )
    assert plots.trace(draws, ax=Figure().subplots(3, 1))._repr_png_() is None


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    page = PICTURES.with_suffix(".md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(plots/(\w+\.svg)\)", page))
    assert shown == set(re.findall(r'^ax.*savefig\("(\w+\.svg)"\)', page, re.M))
    assert shown == {path.name for path in PICTURES.iterdir()}
    drawn = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert set(plots.__all__) <= set(re.findall(r"luce\.plots\.(\w+)\(", drawn))
    assert all((PICTURES / name).stat().st_size < 150_000 for name in shown)


# What is needed


@pytest.mark.parametrize("name", plots.__all__)
def test_what_to_install_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    draws = three(some_draws(3))
    arguments = {
        "predictive_check": (draws, some_counts(draws)),
        "reliability": (luce.answers.reliability(draws, some_outcomes(draws)),),
        "transition_differences": (draws, draws),
    }
    with pytest.raises(MethodError, match=r"pip install 'luce\[plots\]'"):
        getattr(plots, name)(*arguments.get(name, (draws,)))


def test_importing_plots_is_light() -> None:
    code = "import sys; from luce import plots; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_every_plot_takes_axes() -> None:
    for name in plots.__all__:
        assert inspect.signature(getattr(plots, name)).parameters["ax"].default is None
