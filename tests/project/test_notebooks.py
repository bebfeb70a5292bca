"""The notebooks of the documentation do what they show, and a notebook shows what luce makes."""

import copy
import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lib.places import DOCS

from luce import plots

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

# Notebooks draw as users do, which takes too long as plain Python.
pytestmark = pytest.mark.compiled

PATHS = sorted((DOCS / "notebooks").glob("*.ipynb"))
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
EVERY = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@cache
def script(name: str) -> ModuleType:
    """Import a script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def kept(notebook: Any, kind: str) -> list[Any]:
    """Outputs of one kind of data."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output for output in outputs if kind in output.get("data", {})]


# The notebooks of the documentation


@EVERY
def test_a_notebook_shows_what_it_does(path: Path) -> None:
    """`python docs/run_notebooks.py` stores what they show now."""
    texts = script("run_notebooks").texts
    assert texts(script("run_notebooks").executed(path)) == texts(stored(path))


@EVERY
def test_a_notebook_is_whole_and_tells_nothing_of_the_machine(path: Path) -> None:
    notebook = stored(path)
    nbformat.validate(notebook)
    assert 8 <= len(notebook.cells) <= 20
    assert not [o for cell in notebook.cells for o in cell.get("outputs", []) if "name" in o
                and o.name == "stderr"]  # fmt: skip
    assert "image/png" in notebook.cells[-1].outputs[-1].data
    assert notebook == script("run_notebooks").normalised(copy.deepcopy(notebook))
    picture = script("run_notebooks").last_picture(notebook)
    assert path.with_suffix(".png").read_bytes() == picture
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"/home/|/tmp/|site-packages", text) == []
    assert len(text) < 300_000


@EVERY
def test_a_notebook_has_a_page_and_a_place_in_the_gallery(path: Path) -> None:
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert page.splitlines()[0] == stored(path).cells[0].source.splitlines()[0]
    assert f"]({path.name})" in page
    assert f"<!-- notebook: notebooks/{path.name} -->" in page
    assert f"(notebooks/{path.stem}.png)](notebooks/{path.stem}.md)" in GALLERY


def test_the_pictures_of_plots_are_in_the_gallery() -> None:
    pictures = {path.stem for path in (DOCS / "plots").glob("*.svg")}
    assert set(re.findall(r"\(plots/(\w+)\.svg\)\]\(plots\.md#[\w-]+\)", GALLERY)) == pictures
    assert pictures <= set(plots.__all__)


def test_a_wrong_output_is_found_out() -> None:
    notebook = stored(DOCS / "notebooks" / "league.ipynb")
    texts = script("run_notebooks").texts
    for kind in ("text/plain", "text/html"):
        wrong = copy.deepcopy(notebook)
        data = kept(wrong, kind)[-1].data
        data[kind] = data[kind].replace("i", "j", 1)
        assert texts(wrong) != texts(notebook)
    other = copy.deepcopy(notebook)  # another drawing of the same is not another answer
    for output in kept(other, "image/png"):
        output.data["image/png"] = ""
    assert texts(other) == texts(notebook)


def test_the_site_shows_a_notebook() -> None:
    markdown = pytest.importorskip("markdown")
    page = "# A title\n\n<!-- notebook: notebooks/shop.ipynb -->\n"
    extensions = [script("shown_notebooks").ShownNotebooks(), "fenced_code"]
    html = markdown.Markdown(extensions=extensions).convert(page)
    notebook = stored(DOCS / "notebooks" / "shop.ipynb")
    assert html.count("<h1") == 1
    assert html.count("data:image/png;base64,") == len(kept(notebook, "image/png"))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert html.count('<code class="language-python">') == len(code)
    assert html.count("<table>") == sum(
        output.data["text/html"].count("<table>") for output in kept(notebook, "text/html")
    )
    assert "truly 33%" in html
    assert "notebook:" not in html


# What a kernel shows of luce


class Watched(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
    """A client that keeps the messages of the kernel."""

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        self.__dict__.setdefault("messages", []).append((cell_index, msg["msg_type"]))
        return super().process_message(msg, cell, cell_index)


def run(*cells: str) -> tuple[list[list[Any]], list[tuple[int, str]]]:
    """Run cells in one kernel; their outputs, and the messages that made these."""
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    client = Watched(nbformat.v4.new_notebook(cells=made), timeout=120, kernel_name="python3")
    client.execute()
    return [cell.outputs for cell in made], client.__dict__["messages"]


BAR = """
import time
from luce.sampling.progress import ProgressBar
with ProgressBar({steps}, True) as bar:
    for k in range({steps}):
        time.sleep(0.1)
        bar.update(k + 1)
"""


def test_a_kernel_shows_plots_and_bars() -> None:
    outputs, messages = run(
        "import numpy as np, luce\nluce.plots.shares([[[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]])",
        "luce.plots.trace(np.random.default_rng(1).dirichlet([1, 2], (2, 20)))",
        "print(luce.plots.shares([[[0.5, 0.5], [0.2, 0.8]]]))",
        BAR.format(steps=30),
        BAR.format(steps=5),
    )
    for (shown,), width in zip(outputs[:2], (605, 653), strict=True):
        assert shown.output_type == "execute_result"
        assert shown.data["image/png"]
        assert shown.metadata["image/png"]["width"] == pytest.approx(width, abs=80)
    assert outputs[2][0].output_type == "stream"
    (bar,) = outputs[3]  # one output, drawn over itself
    assert bar.data["text/plain"].startswith("sampling, 100 %, ")
    assert bar.data["text/html"].count("<progress") == 1
    drawn = [kind for cell, kind in messages if cell == 3 and "display" in kind]
    assert drawn[0] == "display_data"
    assert len(drawn) >= 4
    assert set(drawn[1:]) == {"update_display_data"}
    assert outputs[4] == []
