"""A real browser for tests of pages: what it fetched, what it said, and what it shows.

with chromium() as browser, visit(browser, file, width=360, dark=True) as seen:
    assert seen.complaints() == []
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ["chromium", "chromium-browser", "google-chrome"]
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page that asks for something is caught by its request; nothing leaves this machine.
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# The smallest contrast between text and what lies behind it (WCAG 2.2, 1.4.3), for one element.
# Behind it is the colour of each element around, under any one of the colours of its gradient.
CONTRAST = """element => {
  const parse = text => {
    const found = text.match(/^rgba?\\(([^)]*)\\)$/);
    if (!found) throw new Error("cannot read the colour " + text);
    const [r, g, b, a = 1] = found[1].split(/[ ,/]+/).map(Number);
    return [r, g, b, a];
  };
  const over = (top, low) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * low[i]);
  const luminance = rgb => {
    const [r, g, b] = rgb.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = ground => {
    const ink = over(parse(getComputedStyle(element).color), ground);
    const [dark, light] = [luminance(ground), luminance(ink)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const around = [];
  for (let e = element; e; e = e.parentElement) around.unshift(getComputedStyle(e));
  let grounds = [[255, 255, 255]];
  for (const style of around) {
    if (style.backgroundImage.includes("url(") || style.opacity !== "1")
      throw new Error("contrast is not computed through images or opacity");
    grounds = grounds.map(low => over(parse(style.backgroundColor), low));
    const shades = (style.backgroundImage.match(/rgba?\\([^)]*\\)/g) || []).map(parse);
    grounds = grounds.concat(shades.flatMap(top => grounds.map(low => over(top, low))));
  }
  return Math.min(...grounds.map(contrast));
}"""


# Texts of which a part lies outside the window, or outside a box that cuts it off.  What scrolls
# in a frame of its own can be reached, and is left out.
CLIPPED = """() => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("script, option, .skip")) continue;
    if (!own.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    let [left, right] = [0, document.documentElement.clientWidth];
    for (let e = own; e !== document.body; e = e.parentElement) {
      const flow = getComputedStyle(e).overflowX;
      if (flow === "auto" || flow === "scroll") { [left, right] = [-Infinity, Infinity]; break; }
      if (flow !== "hidden" && flow !== "clip") continue;
      const around = e.getBoundingClientRect();
      [left, right] = [Math.max(left, around.left), Math.min(right, around.right)];
    }
    if (box.left < left - 1 || box.right > right + 1) found.push(node.data.trim().slice(0, 60));
  }
  return found;
}"""


@dataclass
class Visit:
    """One opened page, and everything the browser noticed while it was open."""

    page: "Page"
    address: str
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def images(self) -> list[tuple[str, int]]:
        """Give the description and the natural width of each image; a broken one has width 0."""
        script = "all => all.map(i => [i.alt, i.complete ? i.naturalWidth : 0])"
        return [(alt, width) for alt, width in self.page.eval_on_selector_all("img", script)]

    def widths(self) -> tuple[int, int]:
        """Give the width of the document and that of the window."""
        width, window = self.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        return width, window

    def contrasts(self, selector: str) -> list[float]:
        """Compute the contrast of the text of each element the selector finds."""
        return [float(e.evaluate(CONTRAST)) for e in self.page.query_selector_all(selector)]

    def clipped(self) -> list[str]:
        """List texts that cannot be read whole."""
        return [str(text) for text in self.page.evaluate(CLIPPED)]

    def violations(self) -> list[str]:
        """List what axe-core finds serious or critical, with the first element of each kind."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        found = axe.Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {each['nodes'][0]['target']}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    def focused(self) -> str:
        """Name the element that has the keyboard: its tag, then its label or text."""
        script = "(e => e.tagName + ' ' + (e.ariaLabel || e.innerText))(document.activeElement)"
        return str(self.page.evaluate(script)).lower()

    def complaints(self) -> list[str]:
        """List all that no page of ours should do; call it once everything has been tried."""
        outside = [r for r in self.requests if r != self.address and not r.startswith("data:")]
        width, window = self.widths()
        return [
            *(f"console: {text}" for text in self.console),
            *(f"error: {text}" for text in self.errors),
            *(f"request: {url}" for url in outside),
            *(f"failed: {url}" for url in self.failed),
            *(f"broken image: {alt}" for alt, natural in self.images() if natural == 0),
            *([f"sideways scroll: {width} in {window}"] if width > window else []),
        ]


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("LUCE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{reason}, and LUCE_REQUIRE_BROWSER=1 requires one")
    pytest.skip(reason)


def find_chromium() -> str:
    """Give the path of a browser, or skip the test (fail it if LUCE_REQUIRE_BROWSER=1)."""
    given = os.environ.get("LUCE_CHROMIUM")
    found = next(filter(None, map(shutil.which, [given] if given else NAMES)), None)
    if found is None:
        looked = f"LUCE_CHROMIUM={given}" if given else f"{', '.join(NAMES)} on PATH"
        _give_up(f"no browser: {looked} not found")
    return found


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Start a browser; a start takes a second, so tests share one."""
    program = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _give_up("no browser: Playwright for Python is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(
    browser: "Browser", file: Path, *, width: int = 1280, height: int = 900, dark: bool = False
) -> Iterator[Visit]:
    """Open a file in a fresh profile of the browser and wait until it has loaded."""
    scheme: Any = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    try:
        page = context.new_page()
        seen = Visit(page, file.resolve().as_uri())
        page.on("console", lambda message: seen.console.append(message.text))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("dialog", lambda dialog: (seen.errors.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("requestfailed", lambda request: seen.failed.append(request.url))
        page.goto(seen.address, wait_until="networkidle")
        yield seen
    finally:
        context.close()
