"""Let wide tables scroll by themselves while the site is built, by keys too."""

from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor


class Boxes(Treeprocessor):
    """Tables, each in a box that can have the keyboard."""

    def run(self, root: Element) -> None:
        """Put each table into a box."""
        for parent in list(root.iter()):
            for place, child in enumerate(parent):
                if child.tag == "table":
                    box = Element(
                        "div",
                        {"class": "table", "role": "group", "aria-label": "Table", "tabindex": "0"},
                    )
                    box.append(child)
                    parent[place] = box


class Tables(Extension):
    """Box the tables of a page."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the boxes, to be made when cells are read."""
        md.treeprocessors.register(Boxes(md), "boxes", 15)  # cells: 20; HTML is written at 10


def makeExtension(**settings: Any) -> Tables:
    """Make the extension, as Python-Markdown asks for it."""
    return Tables(**settings)
