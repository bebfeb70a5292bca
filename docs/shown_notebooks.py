"""Show notebooks while the site is built: a page names one, and gets its cells and their outputs.

A line of a page names the notebook, by its path in docs/::

    <!-- notebook: notebooks/league.ipynb -->

The page has the title itself, so the first heading of the notebook is left out.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

DOCS = Path(__file__).parent
NAMED = re.compile(r"^<!-- notebook: (\S+\.ipynb) -->$")
TITLE = re.compile(r"\A# [^\n]*\n+")


class Notebooks(Preprocessor):
    """Pages that name notebooks."""

    def run(self, lines: list[str]) -> list[str]:
        """Put cells and outputs in place of each line that names a notebook."""
        shown: list[str] = []
        for line in lines:
            named = NAMED.match(line)
            shown += [line] if named is None else self._notebook(DOCS / named[1])
        return shown

    def _notebook(self, path: Path) -> list[str]:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join(part for cell in cells for part in self._cell(cell))
        return TITLE.sub("", text).split("\n")

    def _cell(self, cell: dict[str, Any]) -> list[str]:
        """Write a cell, and each of its outputs, as Markdown."""
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            return [source]
        return [_fenced("python", source), *map(self._output, cell["outputs"])]

    def _output(self, output: dict[str, Any]) -> str:
        """Write an output: a picture, HTML or text, the first of these that there is."""
        data = output.get("data", {"text/plain": output.get("text", "")})
        png, html = ("".join(data.get(kind, "")) for kind in ("image/png", "text/html"))
        if not png and not html:
            return _fenced("text", "".join(data["text/plain"]).rstrip("\n"))
        if png:
            html = _picture(png.replace("\n", ""), output["metadata"].get("image/png", {}))
        # A wide table scrolls by itself, by keys too.
        box = '<div class="output" role="group" aria-label="Output" tabindex="0"'
        stored: str = self.md.htmlStash.store(f'{box} style="overflow-x: auto">{html}</div>')
        return stored


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _picture(png: str, size: dict[str, int]) -> str:
    """Embed a picture in the size that it has in the notebook."""
    sizes = "".join(f' {name}="{escape(str(value))}"' for name, value in size.items())
    words = "Picture drawn by the code above"
    return f'<img alt="{words}"{sizes} src="data:image/png;base64,{png}">'


class ShownNotebooks(Extension):
    """Show the notebooks that pages name."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the notebooks after spaces were made regular, before code is put away."""
        md.preprocessors.register(Notebooks(md), "notebooks", 28)  # spaces: 30, code: 25


def makeExtension(**settings: Any) -> ShownNotebooks:
    """Make the extension, as Python-Markdown asks for it."""
    return ShownNotebooks(**settings)
