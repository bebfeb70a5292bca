"""A page is valid, says what it was told, fetches nothing, and can be read by anyone."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lib.browser import chromium, visit

from luce.errors import DataError, LuceError
from luce.page.document import Badge, Code, Folded, Link, Name, Number, Page, Panel, Strong
from luce.page.words import shortened

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 40" width="60" height="40">'
    '<defs><linearGradient id="a"/></defs><rect width="60" height="40" fill="url(#a)"/></svg>'
)
HOSTILE = [
    "<script>window.ran = 1; alert(1)</script>",
    '"><img src=x onerror="window.ran = 1">',
    "' onfocus='window.ran = 1' autofocus='",
    "</style></title></pre></textarea><script>window.ran = 1</script>",
    "a & b &lt; &amp; ]]> --> <!-- {{7*7}}",
]
VOID = {"meta", "link", "img", "input"}


def ordinary() -> Page:
    page = Page("Experiments", ["What ", Strong("holds"), "."])
    page.section("Findings")
    page.text("A ", Code("call()"), " ", Link("to the facts", "#facts"), ": ")
    for kind in ["good", "bad", "mixed", "neutral"]:
        page.text(Badge(f"a {kind} one", kind))
    page.figure([Panel(SVG, "left", "(a)"), Panel(SVG, "right", "(b)")], "Two pictures.")
    page.figure([Panel(SVG, "alone")])
    page.section("Facts")
    page.facts({"version": "1", "digest": Code("0123456789abcdef" * 8)})
    page.preformatted("$ luce paper " + "--option " * 40)
    return page


def wide() -> Page:
    page = Page("Numbers")
    page.section("All")
    head = ["team", *(f"quantity {j}" for j in range(30))]
    rows = [[f"team {i}", *(f"{i / (j + 1):.5f}" for j in range(30))] for i in range(3)]
    page.table(head, rows, caption="Every quantity", numeric=range(1, 31))
    return page


def sortable() -> Page:
    """Two tables that can be sorted, with everything a cell can hold."""
    page = Page("Teams", ["Of ", Name("\u05d0"), "."])
    page.section("Table")
    rows = [
        [Folded("b" * 100), Number("1,000", 1000), Badge("no", "bad")],
        ["É", Number("–", float("nan")), "yes"],
        ["e 10", "-2", "yes"],
        ["E 9", Number("∞", float("inf")), "yes"],
    ]
    page.table(["team", "points", "known"], rows, caption="All", numeric=[1], sortable=True)
    page.table(["x"], [["2"], ["10"]], numeric=[0], sortable=True)
    return page


def hostile(text: str) -> Page:
    """The text in every position that takes text."""
    page = Page(text, [text, Code(text), Strong(text)])
    page.section(text)
    page.text(text, Code(text), Strong(text), Link(text, "#main"), Badge(text, "bad"))
    page.figure([Panel(SVG, text, text), Panel(SVG, text, [Code(text)])], [text, Strong(text)])
    page.table([text, text], [[text, [text, Badge(text, "good")]]], caption=text)
    row = [Folded(text, 10_000), [Name(text), Number(text, 1.0)]]
    page.table([text, text], [row], caption=text, sortable=True)
    page.facts({text: [text, Code(text)]})
    page.preformatted(text)
    return page


def colourful() -> Page:
    """Every kind of text there is, with badges and links within captions and cells too."""
    page = ordinary()
    link, code = Link("a link", "https://example.org"), Code("code")
    page.table(["a", "b"], [["c", [Badge("yes", "good"), link, code]]], caption="A caption")
    page.figure([Panel(SVG, "last", [link, code])], [link, code])
    return page


class Outline(HTMLParser):
    """The elements of a page, in order, with attributes and the text inside; nesting checked."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._open: list[int] = []
        self.feed(html)
        self.close()
        assert self._open == [], "an element was not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names))
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.texts.append("")
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.texts[i] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str) -> list[str]:
        pairs = zip(self.elements, self.texts, strict=True)
        return [text for (name, _), text in pairs if name == tag]


@pytest.mark.parametrize("page", [ordinary(), wide(), hostile("<b>&"), sortable(), Page("bare")])
def test_structure(page: Page) -> None:
    html = page.to_html()
    assert html.startswith("<!DOCTYPE html>\n<html lang=")
    outline = Outline(html)
    for tag in ["html", "head", "title", "body", "header", "h1", "main"]:
        assert len(outline.all(tag)) == 1, tag
    assert len(outline.all("nav")) == min(1, len(outline.all("h2")))
    ids = [a["id"] for _, a in outline.elements if "id" in a]
    assert len(ids) == len(set(ids))
    fragments = [a["href"][1:] for a in outline.all("a") if a["href"].startswith("#")]
    assert fragments[0] == "main"
    assert set(fragments) <= set(ids)
    assert all(image["alt"].strip() for image in outline.all("img"))
    assert {a.get("scope") for a in outline.all("th")} <= {"row", "col"}
    assert len(outline.all("caption")) == len([t for t in outline.text("table") if len(t) > 20])
    regions = [a for _, a in outline.elements if a.get("role") == "region"]
    assert all(a["tabindex"] == "0" and a["aria-label"].strip() for a in regions)
    policy = next(a["content"] for a in outline.all("meta") if "http-equiv" in a)
    allowed = {part.split()[0]: part.split()[1:] for part in policy.split(";")}
    assert allowed["default-src"] == ["'none'"]
    assert allowed["img-src"] == ["data:"]
    scripts = [text.encode() for text in outline.text("script")]
    hashes = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in scripts]
    assert len(scripts) == ('class="sortable"' in html)
    assert allowed.get("script-src", []) == hashes
    assert not any(name.startswith("on") for _, a in outline.elements for name in a)


def test_the_script_is_small_and_plain() -> None:
    script = Outline(sortable().to_html()).text("script")[0]
    assert len(script) < 8000
    assert not re.search(r"eval|innerHTML|Function\(|setAttribute|https?:", script)


def test_sections_have_stable_ids_of_their_own() -> None:
    page = Page("x")
    for title in ["Main", "Été & co", "Été, co", "ete co 2", "数", "数"]:
        page.section(title)
    names = [a["id"] for a in Outline(page.to_html()).all("h2")]
    assert names == ["main-2", "ete-co", "ete-co-2", "ete-co-2-2", "section", "section-2"]


def test_pictures_are_embedded_as_given() -> None:
    images = Outline(ordinary().to_html()).all("img")
    assert [image["alt"] for image in images] == ["left", "right", "alone"]
    for image in images:
        assert b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == SVG


def test_numeric_columns_and_row_names() -> None:
    page = Page("x")
    page.table(["a", "b", "c"], [["r", "1", "t"]], numeric={1})
    outline = Outline(page.to_html())
    assert [(a["scope"], a.get("class")) for a in outline.all("th")] == [
        ("col", None),
        ("col", "number"),
        ("col", None),
        ("row", None),
    ]
    assert [a.get("class") for a in outline.all("td")] == ["number", None]
    assert outline.all("caption") == []
    assert {"aria-label": "Table 1"}.items() <= outline.all("div")[0].items()


def test_cells_are_sorted_by_their_values() -> None:
    page = Page("x")
    rows: list[list[Any]] = [["a", Number("1,000", 1000)], ["b", "-2,000.5"]]
    rows += [["c", Number("–", float("nan"))], ["d", Number("∞", float("inf"))]]
    page.table(["team", "points"], rows, numeric=[1], sortable=True)
    values = re.findall(r'data-value="([^"]*)"', page.to_html())
    assert values == ["1000.0", "-2000.5", "", "Infinity"]


def test_details_fold_what_is_added_within() -> None:
    page = Page("x")
    with page.details("More <b>"):
        page.text("inside")
    page.text("outside")
    html = page.to_html()
    (folded,) = re.findall(r'<details class="more">(.*?)</details>', html, re.S)
    assert "<summary>More &lt;b&gt;</summary>" in folded
    assert "<p>inside</p>" in folded
    assert "outside" not in folded


def test_long_text_is_cut_and_put_on_one_line() -> None:
    assert shortened("a name of many words", 10) == "a name of…"
    assert shortened("two\nlines") == "two lines"


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text(text: str) -> None:
    outline, tame = (Outline(hostile(t).to_html()) for t in [text, "tame"])
    # The same elements with the same names of attributes: nothing came out of the text.
    assert [(t, list(a)) for t, a in outline.elements] == [(t, list(a)) for t, a in tame.elements]
    assert outline.text("title") == outline.text("h1") == outline.text("h2") == [text]
    assert outline.text("caption") == [text, text]
    assert outline.text("dt") == [text]
    assert outline.text("bdi") == [text, text, text][: len(outline.text("bdi"))]
    assert outline.text("pre") == ["\n" + text]
    assert {a["alt"] for a in outline.all("img")} == {text}
    assert outline.all("div")[0]["aria-label"] == text


def test_what_html_cannot_hold_is_marked() -> None:
    page = Page("x")
    page.text("a\x00b\x1b\ud800c\r\nd")
    assert Outline(page.to_html()).text("p") == ["a\ufffdb\ufffd\ufffdc\nd"]
    page.to_html().encode()


def test_a_first_newline_is_kept() -> None:
    page = Page("x")
    page.preformatted("\n one")
    assert ">\n\n one</pre>" in page.to_html()


@pytest.mark.parametrize(
    "address",
    ["http://a.org/x?y=1&z", "HTTPS://a.org:80", "mailto:a@b.org", "#x", "a/b.html", "../a:b.html"],
)
def test_links_that_are_allowed(address: str) -> None:
    page = Page("x")
    page.text(Link("here", address))
    assert Outline(page.to_html()).all("a")[-1]["href"] == address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        ":x",
        "//host/x",
        "\\\\host\\x",
        "/etc/passwd",
        "a b.html",
        "",
    ],
)
def test_links_that_are_refused(address: str) -> None:
    with pytest.raises(DataError, match="link"):
        Link("here", address)


WRONG: dict[str, Any] = {
    "Row 1 .* needs 2 cells": lambda p: p.table(["a", "b"], [["c", "d"], ["e"]]),
    "Row 0 of the table is 'cd'": lambda p: p.table(["a", "b"], ["cd"]),
    "head is": lambda p: p.table([], []),
    r"columns \[2\] do not exist": lambda p: p.table(["a", "b"], [], numeric=[1, 2]),
    "1.5 is not words": lambda p: p.table(["a", "b"], [["c", 1.5]]),
    "7 is not words": lambda p: p.text(Code(7)),
    "'x' stands in a numeric column": lambda p: p.table(["a"], [["x"]], numeric=[0], sortable=True),
    "no panels": lambda p: p.figure([]),
    "facts is empty": lambda p: p.facts({}),
    "section's title is ' '": lambda p: p.section(" "),
    "opens details is ''": lambda p: p.details("").__enter__(),
    "give a Number": lambda p: p.table(["a"], [[Code("1")]], numeric=[0], sortable=True),
    "page's title is ''": lambda p: Page(""),
    "kind 'great': choose from good, bad": lambda p: Badge("x", "great"),
    "badge's text": lambda p: Badge("", "good"),
    "description is ''": lambda p: Panel(SVG, ""),
    "is not SVG: not well-formed": lambda p: Panel("<svg><a & b></svg>", "x"),
    "its root is 'svg'": lambda p: Panel("<svg/>", "x"),
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_named(message: str) -> None:
    page = Page("x")
    before = page.to_html()
    with pytest.raises(DataError, match=message):
        WRONG[message](page)
    assert page.to_html() == before


def test_the_same_calls_give_the_same_text() -> None:
    page = ordinary()
    assert page.to_html() == page.to_html() == ordinary().to_html()


def test_save(tmp_path: Path) -> None:
    file = ordinary().save(str(tmp_path / "a.html"))
    assert file == tmp_path / "a.html"
    assert file.read_bytes().decode() == ordinary().to_html()
    wide().save(file)
    assert file.read_bytes().decode() == wide().to_html()
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(DataError, match="no folder"):
        ordinary().save(tmp_path / "none" / "a.html")


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_save_that_fails_changes_nothing(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ordinary().save(tmp_path / "a.html")
    before = file.read_bytes()

    def fail(self: Path, *_: object) -> None:
        with self.open("ab") as stream:
            stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Path, step, fail)
    with pytest.raises(LuceError, match="disk full"):
        wide().save(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


# In a real browser.


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as program:
        yield program


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("make", [wide, colourful])
def test_pages_are_quiet_and_fit(make: Any, width: int, browser: Any, tmp_path: Path) -> None:
    with visit(browser, make().save(tmp_path / "a.html"), width=width) as seen:
        assert seen.complaints() == []
        assert seen.requests == [seen.address]


@pytest.mark.slow
def test_panels_stand_side_by_side_where_there_is_room(browser: Any, tmp_path: Path) -> None:
    file = ordinary().save(tmp_path / "a.html")
    for width, beside in [(1280, True), (360, False)]:
        with visit(browser, file, width=width) as seen:
            left, right = (
                seen.page.locator(f"img[alt={x}]").bounding_box() for x in ["left", "right"]
            )
            assert (left["y"] == right["y"]) is beside


def test_nothing_executes(browser: Any, tmp_path: Path) -> None:
    text = " ".join(HOSTILE)
    with visit(browser, hostile(text).save(tmp_path / "a.html"), width=360) as seen:
        assert seen.page.title() == text
        for tag in ["h1", "h2", "caption", "dt", "pre"]:
            assert set(seen.page.locator(tag).all_text_contents()) == {text}
        assert seen.page.get_by_role("region", name=text, exact=True).count() == 2
        assert seen.page.evaluate("window.ran") is None
        assert seen.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.slow), True])
def test_contrast(dark: bool, browser: Any, tmp_path: Path) -> None:
    kinds = ["h1", ".lead", "h2", "p", "p a", "nav a", ".skip", "code", "pre", "figcaption", "dt"]
    kinds += ["dd", "caption", "thead th", "tbody th", "td", "td a", "td code", "figcaption a"]
    kinds += [f".badge.{kind}" for kind in ["good", "bad", "mixed", "neutral"]]
    with visit(browser, colourful().save(tmp_path / "a.html"), dark=dark) as seen:
        ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", ground)[0]) < 128) is dark
        for kind in kinds:
            found = seen.contrasts(kind)
            assert found, kind
            assert min(found) >= 4.5, kind
        for card in seen.page.query_selector_all("img"):
            assert card.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
        assert seen.complaints() == []


@pytest.mark.slow
def test_keyboard(browser: Any, tmp_path: Path) -> None:
    with visit(browser, wide().save(tmp_path / "a.html"), width=360) as seen:
        press = seen.page.keyboard.press
        press("Tab")
        assert seen.focused() == "a skip to the text"
        assert seen.page.locator(".skip").bounding_box()["y"] >= 0
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert seen.page.evaluate(outline) == "solid"
        press("Tab")
        assert seen.focused() == "a all"
        press("Shift+Tab")
        press("Enter")  # past the contents
        press("Tab")
        assert seen.focused() == "div every quantity"
        assert seen.page.evaluate(outline) == "solid"
        press("ArrowRight")
        # The page's policy forbids eval, and with it Playwright's wait_for_function.
        for _ in range(50):
            seen.page.wait_for_timeout(100)
            if scrolled := seen.page.evaluate("document.activeElement.scrollLeft"):
                break
        assert scrolled > 0
        assert seen.complaints() == []


def test_sorting(browser: Any, tmp_path: Path) -> None:
    with visit(browser, sortable().save(tmp_path / "a.html"), width=360) as seen:
        table = seen.page.locator("table").first
        names = table.locator("tbody th")
        assert table.locator("summary").inner_text() == "b" * 47 + "…"
        orders = {
            "points": ["e 10", "b", "E 9", "É"],
            "known": ["b", "e 10", "E 9", "É"],  # equal ones stay as they were
        }
        for name, order in orders.items():
            table.get_by_role("button", name=name).click()
            found = [text.rstrip("b…") or "b" for text in names.all_inner_texts()]
            assert found == order, name
            head = table.get_by_role("columnheader", name=name)
            assert head.get_attribute("aria-sort") == "ascending"
        table.get_by_role("button", name="points").click()
        table.get_by_role("button", name="points").click()
        found = [text.rstrip("b…") or "b" for text in names.all_inner_texts()]
        assert found == ["E 9", "b", "e 10", "É"]  # what is no number stays last
        other = seen.page.locator("table").nth(1)
        other.get_by_role("button", name="x").click()
        assert other.locator("tbody th").all_inner_texts() == ["2", "10"]
        seen.page.get_by_label("Search the table").first.fill("é")
        assert seen.page.get_by_role("status").all_inner_texts() == ["3 of 4 rows shown", "2 rows"]
        assert seen.complaints() == []


def test_the_browser_notices_what_is_wrong(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text(
        "<!DOCTYPE html><title>x</title><p style='width: 3000px; color: #999'>pale</p>"
        "<b style='color: #999; background: linear-gradient(#fff, #999)'>lost</b>"
        "<img alt='broken' src='data:image/svg+xml,no'>"
        "<img alt='outside' src='http://example.invalid/a.png'>"
        "<script>console.error('said'); throw new Error('thrown')</script>"
    )
    with visit(browser, file) as seen:
        complaints = seen.complaints()
        for expected in [
            "console: said",
            "error: thrown",
            "request: http://example.invalid/a.png",
            "failed: http://example.invalid/a.png",
            "broken image: broken",
            "broken image: outside",
            "sideways scroll: 3008 in 1280",
        ]:
            assert expected in complaints
        # #999 on white is 2.85 to 1 by the formula of WCAG 2.2.
        assert seen.contrasts("p") == pytest.approx([2.849], abs=0.001)
        # The same grey over a gradient that reaches it has no contrast left.
        assert seen.contrasts("b") == pytest.approx([1.0])


def test_without_the_escaping_something_would_execute(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text(f"<!DOCTYPE html><title>x</title><p>{HOSTILE[3]}")
    with visit(browser, file) as seen:
        assert seen.page.evaluate("window.ran") == 1
