"""The site as people see it: built without a warning, and opened in a real browser."""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.browser import chromium
from lib.environments import ROOT, environment, interpreter, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

LOOKED_AT = ["index", "start", "choosing", "data", "examples/league", "paper", "api/posterior"]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(
        interpreter("3.11"), tmp_path_factory.mktemp("docs") / "builder", group="docs"
    )


@pytest.fixture(scope="module")
def site(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run(builder, "-m", "mkdocs", "build", "--strict", "--site-dir", folder, folder=ROOT)
    return folder


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing: standard error belongs to the tests."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Search asks for its index, which browsers refuse to fetch from a disk."""
    handler = functools.partial(Silent, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_page(name: str, width: int, dark: bool, address: str, browser: "Browser") -> None:
    scheme: Any = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}{name}.html", wait_until="networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    wide, window = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= window
    script = "all => all.filter(i => !i.complete || i.naturalWidth == 0).map(i => i.src)"
    assert page.eval_on_selector_all("img", script) == []
    assert page.evaluate("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
    context.close()


def test_search_finds_a_page(address: str, browser: "Browser") -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}index.html", wait_until="networkidle")
    page.click("input.md-search__input")
    page.keyboard.type("rejection", delay=20)
    page.wait_for_selector(".md-search-result__link", timeout=10_000)
    found = page.eval_on_selector_all(".md-search-result__link", "all => all.map(a => a.href)")
    assert any("model.html" in link or "choosing.html" in link for link in found)
    context.close()


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("[nowhere](no-such-page.md)", "no-such-page.md"),
        ("[nowhere](../data.md#no-such-heading)", "no-such-heading"),
        ("::: luce.no_such_name", "no_such_name"),
    ],
)
def test_a_warning_is_a_failure(page: str, words: str, builder: Path, tmp_path: Path) -> None:
    for name in ["docs", "src", "mkdocs.yml"]:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").unlink()
    run("cp", "-r", ROOT / "docs", tmp_path / "docs", folder=tmp_path)
    errors = tmp_path / "docs" / "api" / "errors.md"
    errors.write_text(errors.read_text() + f"\n{page}\n")
    with pytest.raises(AssertionError, match=words):
        run(builder, "-m", "mkdocs", "build", "--strict", folder=tmp_path)
