"""Links within a built site: pages, pictures, scripts and anchors that its pages name."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAMES_A_FILE = {"href", "src"}


class Page(HTMLParser):
    """The places that a page names, and those in it that others may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note targets and anchors."""
        for name, value in attrs:
            if name in NAMES_A_FILE and value:
                self.targets.append(value)
            if name == "id" and value:
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """List "page: target" for each target inside a folder that is not there."""
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    broken = []
    for page in pages.values():
        if page.path.name == "404.html":  # shown at any depth, so its links start at the host
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = page.path.parent / unquote(parts.path) if parts.path else page.path
            anchor = unquote(parts.fragment)
            found = pages.get(file.resolve())
            # The theme links to its own top, and search marks nothing here.
            is_there = file.exists() and (
                not anchor or anchor.startswith("__") or found is None or anchor in found.anchors
            )
            if not is_there:
                broken.append(f"{page.path.relative_to(folder)}: {target}")
    return broken
