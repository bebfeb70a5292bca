"""Build one self-contained HTML page of text, pictures and tables, which fetches nothing.

The only script a page can run is luce's own, for tables that can be sorted and for parts that
answer readers; the page's security policy names the script by its hash and forbids all others.
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree

from luce.errors import DataError, LuceError
from luce.page.tables import table_html
from luce.page.words import (
    Badge,
    Cell,
    Code,
    Folded,
    Inline,
    Link,
    Name,
    Number,
    Strong,
    Words,
    escaped,
    html_of,
    html_of_cell,
    require_text,
)

__all__ = [
    "Badge",
    "Cell",
    "Code",
    "Folded",
    "Inline",
    "Link",
    "Name",
    "Number",
    "Page",
    "Panel",
    "Strong",
    "Words",
]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 14 8 2l6 12z" fill="#0b55a0"/></svg>'
)


@dataclass(frozen=True)
class Panel:
    """A picture as SVG, with a description for readers who cannot see it."""

    svg: str
    description: str
    caption: Words = ""

    def __post_init__(self) -> None:
        require_text(self.description, "A picture's description")
        # A browser shows a broken picture without an error, so the SVG is parsed here.
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

    Words are joined without spaces: put spaces into the words. Everything is escaped.

    Parameters
    ----------
    title
        The heading, and the title of the browser's tab.
    lead
        A summary in a sentence or two.

    Examples
    --------
    >>> page = Page("A fit", lead="All chains agree.")
    >>> page.section("Speed")
    >>> page.table(["method", "seconds"], [[Code("gibbs"), "1.2"]], caption="Time", numeric=[1])
    >>> page.to_html().count("<table>")
    1
    """

    def __init__(self, title: str, lead: Words = "") -> None:
        require_text(title, "A page's title")
        self._title = title
        self._lead = html_of(lead)
        self._sections: dict[str, str] = {}  # from id to title
        self._blocks: list[str] = []
        self._tables = 0
        self._scripts: list[str] = []
        self._styles: list[str] = []
        self._printouts = 0

    def section(self, title: str) -> None:
        """Begin a section, list it in the contents, and derive its id from its title."""
        require_text(title, "A section's title")
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

    def figure(
        self, panels: Sequence[Panel], caption: Words = "", *, replaced: str | None = None
    ) -> None:
        """Add pictures, side by side where there is room.

        Parameters
        ----------
        panels
            The pictures.
        caption
            Words below all of them.
        replaced
            "always" or "narrow": where a script of the page runs, its places stand in for these
            pictures, always or on narrow screens.
        """
        if not panels:
            raise DataError("A figure has no panels; give one or more.")
        kind = "panels single" if len(panels) == 1 else "panels"
        kind += f" replaced-{replaced}" if replaced else ""
        pictures = "\n".join(_picture(panel) for panel in panels)
        self._blocks.append(
            f'<figure class="{kind}">\n{pictures}\n{_captioned("figcaption", caption)}</figure>'
        )

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        caption: str = "",
        numeric: Collection[int] = (),
        sortable: bool = False,
        further: Collection[int] = (),
    ) -> None:
        """Add a table; the first cell of a row names the row.

        Parameters
        ----------
        head
            The names of the columns.
        rows
            Cells, as many in each row as there are columns.
        caption
            Title of the table.
        numeric
            Positions, from 0, of the columns that hold numbers.
        sortable
            Let readers sort the table by any column, and search it.  Cells of numeric columns must
            then be `Number`, or text that is a number.  The page gets a script; where scripts are
            turned off, the table stays as it is.
        further
            Positions of the columns that a narrow screen shows only when asked, where the table is
            sortable.
        """
        label = f"Table {self._tables + 1}"
        self._blocks.append(table_html(head, rows, caption, label, numeric, sortable, further))
        self._tables += 1
        if sortable and _read("tables.js") not in self._scripts:
            self._scripts.append(_read("tables.js"))

    def facts(self, pairs: Mapping[str, Cell]) -> None:
        """Add a list of names and values, such as the origin of results."""
        if not pairs:
            raise DataError("A list of facts is empty; give one or more.")
        lines = "\n".join(
            f"<dt>{html_of(k)}</dt><dd>{html_of_cell(v)}</dd>" for k, v in pairs.items()
        )
        self._blocks.append(f"<dl>\n{lines}\n</dl>")

    def preformatted(self, text: str) -> None:
        """Add text with its spaces and line breaks, such as a command or a printout."""
        self._printouts += 1
        # HTML drops a newline right after <pre>; this extra one saves the first of the text.
        self._blocks.append(
            f'<pre role="region" tabindex="0" aria-label="Printout {self._printouts}">\n'
            f"{html_of(text)}</pre>"
        )

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Fold all that is added within behind a line, which opens it.

        Examples
        --------
        >>> page = Page("A fit")
        >>> with page.details("Technical details"):
        ...     page.text("All 3 cores were simulated.")
        >>> page.to_html().count("<details")
        1
        """
        require_text(summary, "The line that opens details")
        self._blocks.append(f'<details class="more">\n<summary>{html_of(summary)}</summary>')
        yield
        self._blocks.append("</details>")

    def place(self, name: str, without_script: str = "") -> None:
        """Add a place that a script fills, with words that stand there until then."""
        words = f"<p>{html_of(without_script)}</p>" if without_script else ""
        self._blocks.append(f'<div data-place="{escaped(name)}">{words}</div>')

    def program(self, data: Mapping[str, object], script: str, style: str = "") -> None:
        """Add a script of luce's own that fills places of the page, its data and its style.

        Parameters
        ----------
        data
            Anything that JSON can hold; the script finds it in the element of type
            ``application/json``.
        script
            JavaScript that runs after ``basics.js``, in its scope.
        style
            Rules of CSS.
        """
        # A data block is never run, and without "<" nothing in it can end it.
        text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
        self._blocks.append(f'<script type="application/json">{text}</script>')
        self._scripts.append(script)
        self._styles.append(style)

    def to_html(self) -> str:
        """Write the page as HTML; the same calls always give the same text."""
        style = "\n".join([_read("page.css"), *self._styles])
        entries = "\n".join(
            f'<li><a href="#{name}">{html_of(title)}</a></li>'
            for name, title in self._sections.items()
        )
        contents = f'<nav aria-label="Contents">\n<ol>\n{entries}\n</ol>\n</nav>\n'
        lead = f'<p class="lead">{self._lead}</p>\n' if self._lead else ""
        body = "\n".join(self._blocks)
        policy, code = _POLICY, ""
        if self._scripts:
            parts = "\n".join([_read("basics.js"), *self._scripts])
            text = f'"use strict";\n\n{{\n{parts}}}\n'
            digest = b64encode(sha256(text.encode()).digest()).decode()
            policy = f"{_POLICY}; script-src 'sha256-{digest}'"
            code = f"<script>{text}</script>\n"
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
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
{code}</body>
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
        except OSError as error:
            why = error.strerror or error
            raise LuceError(f"{str(path)!r} could not be written: {why}.") from error
        finally:
            with suppress(OSError):  # on a disk that cannot be written there is no partial file
                part.unlink(missing_ok=True)
        return path


def _read(name: str) -> str:
    """Read a file of this package."""
    return resources.files("luce.page").joinpath(name).read_text(encoding="utf-8")


def _captioned(tag: str, words: Words) -> str:
    """Wrap words in a tag; return nothing for no words."""
    return f"<{tag}>{inner}</{tag}>\n" if (inner := html_of(words)) else ""


def _picture(panel: Panel) -> str:
    """Embed one picture with its caption."""
    # Each embedded image is a separate document, so that ids of two pictures cannot clash.
    return (
        f'<figure class="panel"><img src="{_address(panel.svg)}" '
        f'alt="{escaped(panel.description)}">\n{_captioned("figcaption", panel.caption)}</figure>'
    )


def _address(svg: str) -> str:
    """Turn an SVG into a data: address."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
