"""The menu of the site, the lists of the README and the names of links agree with the pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ENTRY = re.compile(r"^(  |      )- (?:(.+?): ?)?([\w/-]+\.md)?$")


def menu(text: str) -> dict[str, list[str]]:
    """Read the headings of a menu, each with its pages in order."""
    found: dict[str, list[str]] = {}
    for line in text.split("\nnav:\n")[1].splitlines():
        entry = ENTRY.match(line)
        assert entry is not None, line
        indent, title, page = entry.groups()
        if len(indent) == 2:
            heading = title
            found[heading] = []
        if page:
            found[heading].append(page)
    return found


MENU = menu((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def test_every_page_is_in_the_menu_once() -> None:
    listed = [page for pages in MENU.values() for page in pages]
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md"))


def test_the_readme_has_the_headings_of_the_menu() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## More\n")[1]
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", readme, re.MULTILINE)
    listed = {
        title: re.findall(r"\]\(docs/([^)#]+)\)", links) for title, links in rows if "](" in links
    }
    assert listed == {title: MENU[title] for title in MENU if title not in ("Home", "Reference")}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_have_titles(path: Path) -> None:
    """Readers of the site do not know the names of files."""
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\[[^]`]*\.md\]\(", text) == []
