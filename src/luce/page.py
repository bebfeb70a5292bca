"""One self-contained HTML page: text, pictures and tables, nothing fetched, nothing executed."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree

from luce.errors import DataError
from luce.page_words import Badge, Code, Inline, Link, Strong, Words, escaped, html_of, require

__all__ = ["Badge", "Code", "Inline", "Link", "Page", "Panel", "Strong", "Words"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 14 8 2l6 12z" fill="#0b55a0"/></svg>'
)


@dataclass(frozen=True)
class Panel:
    """One picture: its SVG, and a description for those who cannot see it."""

    svg: str
    description: str
    caption: Words = ""

    def __post_init__(self) -> None:
        require(self.description, "A picture's description")
        # A browser shows a broken picture without a word, so the SVG is read here, as it will be.
        try:
            root = ElementTree.fromstring(self.svg.encode()).tag
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise DataError(f"The picture {self.description!r} is not SVG: {error}.") from error
        if root != "{http://www.w3.org/2000/svg}svg":
            raise DataError(
                f"The picture {self.description!r} is not SVG: its root is {root!r}, "
                'not <svg xmlns="http://www.w3.org/2000/svg">.'
            )


class Page:
    """A page, filled from top to bottom.

    Words are joined as they are, so spaces between them are the caller's. Everything is escaped.

    Parameters
    ----------
    title
        The heading, and the title of the browser's tab.
    lead
        What the page says, in a sentence or two.

    Examples
    --------
    >>> page = Page("A fit", lead="All chains agree.")
    >>> page.section("Speed")
    >>> page.table(["method", "seconds"], [[Code("gibbs"), "1.2"]], caption="Time", numeric=[1])
    >>> page.to_html().count("<table>")
    1
    """

    def __init__(self, title: str, lead: Words = "") -> None:
        require(title, "A page's title")
        self._title = title
        self._lead = html_of(lead)
        self._sections: dict[str, str] = {}  # from id to title
        self._blocks: list[str] = []
        self._tables = 0
        self._printouts = 0

    def section(self, title: str) -> None:
        """Begin a section, listed among the contents; its id is made of its title."""
        require(title, "A section's title")
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
        name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "section"
        taken = {*self._sections, "main"}
        number, unique = 1, name
        while unique in taken:
            number += 1
            unique = f"{name}-{number}"
        self._sections[unique] = title
        self._blocks.append(f'<h2 id="{unique}">{html_of(title)}</h2>')

    def text(self, *words: Inline) -> None:
        """Add a paragraph."""
        self._blocks.append(f"<p>{html_of(words)}</p>")

    def figure(self, panels: Sequence[Panel], caption: Words = "") -> None:
        """Add pictures, side by side where there is room."""
        if not panels:
            raise DataError("A figure has no panels; give one or more.")
        kind = "panels single" if len(panels) == 1 else "panels"
        pictures = "\n".join(_picture(panel) for panel in panels)
        self._blocks.append(
            f'<figure class="{kind}">\n{pictures}\n{_captioned("figcaption", caption)}</figure>'
        )

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[Words]],
        *,
        caption: str = "",
        numeric: Collection[int] = (),
    ) -> None:
        """Add a table; the first cell of a row names the row.

        Parameters
        ----------
        head
            The names of the columns.
        rows
            Cells, as many in each row as there are columns.
        caption
            What the table shows.
        numeric
            Positions, from 0, of the columns that hold numbers.
        """
        width = len(head)
        if isinstance(head, str) or not width:
            raise DataError(f"A table's head is {head!r}; give the names of one or more columns.")
        wrong = [column for column in numeric if not 0 <= column < width]
        if wrong:
            raise DataError(f"Numeric columns {wrong} do not exist: there are {width}, from 0.")
        for i, row in enumerate(rows):
            if isinstance(row, str) or len(row) != width:
                raise DataError(f"Row {i} of the table is {row!r}; it needs {width} cells.")
        number = [' class="number"' if column in numeric else "" for column in range(width)]
        titles = "".join(
            f'<th scope="col"{number[j]}>{html_of(name)}</th>' for j, name in enumerate(head)
        )
        body = "\n".join(
            f'<tr><th scope="row"{number[0]}>{html_of(row[0])}</th>'
            + "".join(f"<td{number[j]}>{html_of(row[j])}</td>" for j in range(1, width))
            + "</tr>"
            for row in rows
        )
        self._tables += 1
        label = escaped(caption) or f"Table {self._tables}"
        # The span lets a caption stay in view while a wide table is scrolled under it.
        above = f"<caption><span>{html_of(caption)}</span></caption>\n" if caption else ""
        self._blocks.append(
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">\n<table>\n'
            f"{above}<thead>\n<tr>{titles}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n"
            "</table>\n</div>"
        )

    def facts(self, pairs: Mapping[str, Words]) -> None:
        """Add a list of names and what they stand for, such as where results came from."""
        if not pairs:
            raise DataError("A list of facts is empty; give one or more.")
        lines = "\n".join(f"<dt>{html_of(k)}</dt><dd>{html_of(v)}</dd>" for k, v in pairs.items())
        self._blocks.append(f"<dl>\n{lines}\n</dl>")

    def preformatted(self, text: str) -> None:
        """Add text as it is, such as a command or a printout."""
        self._printouts += 1
        # HTML drops a newline right after <pre>; this one, so that the text's own stays.
        self._blocks.append(
            f'<pre role="region" tabindex="0" aria-label="Printout {self._printouts}">\n'
            f"{html_of(text)}</pre>"
        )

    def to_html(self) -> str:
        """Write the page as HTML; the same calls always give the same text."""
        style = resources.files("luce").joinpath("page.css").read_text(encoding="utf-8")
        entries = "\n".join(
            f'<li><a href="#{name}">{html_of(title)}</a></li>'
            for name, title in self._sections.items()
        )
        contents = f'<nav aria-label="Contents">\n<ol>\n{entries}\n</ol>\n</nav>\n'
        lead = f'<p class="lead">{self._lead}</p>\n' if self._lead else ""
        body = "\n".join(self._blocks)
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escaped(self._title)}</title>
<link rel="icon" href="{_address(_ICON)}">
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<h1>{escaped(self._title)}</h1>
{lead}</header>
{contents if entries else ""}<main id="main" tabindex="-1">
{body}
</main>
</body>
</html>
"""

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all, and return the file's path."""
        path = Path(path)
        if not path.parent.is_dir():
            raise DataError(f"Cannot save {str(path)!r}: there is no folder {str(path.parent)!r}.")
        part = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            part.write_bytes(self.to_html().encode())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path


def _captioned(tag: str, words: Words) -> str:
    return f"<{tag}>{inner}</{tag}>\n" if (inner := html_of(words)) else ""


def _picture(panel: Panel) -> str:
    # An embedded image is a document of its own: the ids of two pictures cannot clash.
    return (
        f'<figure class="panel"><img src="{_address(panel.svg)}" '
        f'alt="{escaped(panel.description)}">\n{_captioned("figcaption", panel.caption)}</figure>'
    )


def _address(svg: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
