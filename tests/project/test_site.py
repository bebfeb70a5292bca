"""The site as people see it: built without a warning, and opened from a disk in a real browser."""

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.browser import chromium, visit
from lib.environments import ROOT, environment, interpreter, run
from lib.site_links import broken_links

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

# One page of each kind, for what takes seconds a page.
LOOKED_AT = ["index", "coming-from", "model", "speed", "plots", "examples/league", "api/posterior"]
COLOURS = re.compile(r"\x1b\[[\d;]*m")
# The theme hides names of its own for readers of screens there.
WITHOUT_THE_HEADER = 'document.querySelector(".md-header").remove()'
# Tables and formulas that do not fit, and so would be cut if they did not scroll.
TOO_WIDE = """[...document.querySelectorAll(".table, .formula")]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 60))"""


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Find a Python that can build the site: this one, or that of a new environment."""
    if all(map(importlib.util.find_spec, ["zensical", "mkdocstrings", "math_core"])):
        return Path(sys.executable)
    return environment(
        interpreter("3.11"), tmp_path_factory.mktemp("docs") / "builder", group="docs"
    )


def build(builder: Path, folder: Path, *, changed: str = "") -> Path:
    """Build the site in a folder, with some text behind the page of errors."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "src").symlink_to(ROOT / "src")
    errors = folder / "docs" / "api" / "errors.md"
    errors.write_text(errors.read_text(encoding="utf-8") + changed, encoding="utf-8")
    run(builder, "-m", "zensical", "build", "--strict", folder=folder)
    return folder / "site"


@pytest.fixture(scope="module")
def site(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(builder, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize(
    ("width", "dark"), [(360, True), (768, False), (1280, False), (1280, True)]
)
def test_every_page(width: int, dark: bool, site: Path, browser: "Browser") -> None:
    """Nothing in the console, no request to a host, nothing beyond the edge, pictures there."""
    wrong = []
    for file in sorted(site.rglob("*.html")):
        if file.name == "404.html":  # its links start at the host
            continue
        with visit(browser, file, width=width, dark=dark) as seen:
            asked = [url for url in seen.requests if not url.startswith(("file:", "data:"))]
            wide, window = seen.widths()
            found = [*seen.console, *seen.errors, *seen.failed, *asked]
            found += [f"broken picture: {alt}" for alt, natural in seen.images() if natural == 0]
            found += [f"sideways scroll: {wide} in {window}"] if wide > window else []
            if width >= 1280:
                found += [f"does not fit: {text}" for text in seen.page.evaluate(TOO_WIDE)]
            scheme = seen.page.evaluate("document.body.dataset.mdColorScheme")
            found += [] if scheme == ("slate" if dark else "default") else [f"scheme {scheme}"]
            seen.page.evaluate(WITHOUT_THE_HEADER)
            found += [f"clipped: {text}" for text in seen.clipped()]
            wrong += [f"{file.relative_to(site)}: {text}" for text in found]
    assert wrong == []


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1280, False)])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_accessible(name: str, width: int, dark: bool, site: Path, browser: "Browser") -> None:
    with visit(browser, site / f"{name}.html", width=width, dark=dark) as seen:
        assert seen.violations() == []


def test_axe_is_not_blind(site: Path, browser: "Browser") -> None:
    with visit(browser, site / "index.html") as seen:
        seen.page.add_style_tag(content=".md-typeset p { color: #aaa !important; }")
        assert any("color-contrast" in found for found in seen.violations())


@pytest.mark.parametrize("width", [360, 1280])
def test_search_works_from_a_disk(width: int, site: Path, browser: "Browser") -> None:
    with visit(browser, site / "examples" / "league.html", width=width) as seen:
        page = seen.page
        opener = "label[for=__search].md-header__button" if width < 960 else ".md-search__button"
        page.locator(opener).click()
        page.get_by_role("combobox").fill("rejection")
        first = page.get_by_role("option").first
        first.wait_for(timeout=20_000)
        assert "Rejection" in first.inner_text()
        assert seen.console == seen.errors == []
        page.keyboard.press("Enter")
        page.wait_for_url((site / "model.html").as_uri() + "#rejection*")
        assert page.locator("h2#rejection").is_visible()


def test_wide_tables_scroll_by_keys(site: Path, browser: "Browser") -> None:
    with visit(browser, site / "speed.html", width=360) as seen:
        tables = seen.page.locator(".table")
        wide = [t for t in tables.all() if t.evaluate("e => e.scrollWidth > e.clientWidth")]
        assert wide
        wide[0].focus()
        seen.page.keyboard.press("ArrowRight")
        seen.page.wait_for_function("document.activeElement.scrollLeft > 0")


def test_every_link_leads_somewhere(site: Path) -> None:
    assert broken_links(site) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#end"></a>')
    (tmp_path / "b.html").write_text('<p id="end"></p><a href="a.html#top"></a>')
    assert broken_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<img src="no.svg"><a href="a.html#no"></a><a href="#no"></a>')
    assert sorted(broken_links(tmp_path)) == [
        "a.html: b.html#end",
        "b.html: #no",
        "b.html: a.html#no",
        "b.html: no.svg",
    ]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("[nowhere](no-such-page.md)", "no-such-page"),
        ("[nowhere](../data.md#no-such-heading)", "anchor does not exist"),
        ("::: luce.no_such_name", "no_such_name"),
        ("$$\n\\nosuchcommand\n$$", "nosuchcommand"),
    ],
)
def test_a_warning_is_a_failure(page: str, words: str, builder: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as failure:
        build(builder, tmp_path, changed=f"\n{page}\n")
    assert words in COLOURS.sub("", str(failure.value))
