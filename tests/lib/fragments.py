"""Read the HTML that notebooks show, and say what is wrong with it."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG = "{http://www.w3.org/2000/svg}"


def parsed(html: str) -> Element:
    """Parse a fragment; every tag must be closed, and every sign escaped."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def faults(html: str) -> list[str]:
    """Name what a notebook or a screen reader would stumble over."""
    found = []
    root = parsed(html)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    found += sorted(tags & {"script", "style", "link", "iframe", "foreignObject"})
    attributes = {name for element in root.iter() for name in element.attrib}
    found += sorted(name for name in attributes if name.startswith("on") or name == "href")
    found += ["head without scope" for th in root.iter("th") if "scope" not in th.attrib]
    found += [
        "picture that is read" for p in root.iter(f"{SVG}svg") if "aria-hidden" not in p.attrib
    ]
    for table in root.iter("table"):
        widths = {len(row) for row in table.iter("tr")}
        found += [f"rows of {sorted(widths)} cells"] if len(widths) > 1 else []
    return found


def cells(html: str, table: int = 0) -> list[list[str]]:
    """Return the words of a table, row by row; the cell of a picture is empty."""
    found = list(parsed(html).iter("table"))[table]
    return [[cell.text or "" for cell in row] for row in found.iter("tr")]


def drawn(html: str, tag: str) -> list[Element]:
    """List the shapes of one kind in the pictures."""
    return list(parsed(html).iter(f"{SVG}{tag}"))
