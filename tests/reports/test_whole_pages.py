"""Whole pages of all kinds of runs, most of them in a real browser."""

import os
import re
import subprocess
import sys
import time
import warnings
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.browser import chromium, visit
from lib.report_runs import printouts

import luce
from luce.reports import trust
from luce.reports.findings import find

# The runs are long enough to be trusted, which takes compiled kernels.
pytestmark = pytest.mark.compiled

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes\" and 'quotes'",
    '" onmouseover="alert(1)',
    "😀 emoji 🇩🇪",
    "مرحبا بالعالم",
    "L" + "o" * 9_998 + "g",
    "two\nlines",
    "</style></table></script><b>bold",
    "]]> --> &amp; <!--",
    "$x^2 \\frac{",
    "mean",
]

RUNS = ["exact", "chains", "one", "two", "tuples", "bad", "hostile", "large"]


def duels(labels: list[Any], seed: int = 1) -> luce.ConditionalCounts:
    rng = np.random.default_rng(seed)
    counts = luce.ConditionalCounts(labels)
    for k in range(4 * len(labels)):
        i, j = k % len(labels), int(rng.integers(len(labels)))
        if i != j:
            winner = labels[min(i, j) if rng.random() < 0.8 else max(i, j)]
            counts = counts.observe({winner: 1}, within=[labels[i], labels[j]])
    return counts


def make(name: str) -> Any:
    def sample(counts: luce.ConditionalCounts, draws: int, a: float = 1.0, **how: Any) -> Any:
        return luce.Posterior(counts, a).sample(draws, seed=7, progress=False, **how)

    match name:
        case "exact":
            counts = luce.ConditionalCounts(["Ann", "Bo", "Zoë"])
            return sample(counts.observe_ranking(["Bo", "Ann", "Zoë"], 3), 300)
        case "chains":
            labels = ["Élan", "elan 10", "elan 9", "Ödön", "x", "y", "unseen"]
            seen = duels(labels[:-1])
            grown = luce.ConditionalCounts.from_exponents(labels, dict(_exponents(seen)))
            return sample(grown, 600, method="waiting-times", warmup=50)
        case "one":
            return sample(luce.ConditionalCounts(["only"]).observe({"only": 2}), 200)
        case "two":
            return sample(luce.ConditionalCounts(["a", "b"]).observe({"a": 3, "b": 1}), 200)
        case "tuples":
            return sample(duels([("a", 1), ("a", 2), ("b", 1)]), 150)
        case "bad":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", luce.ConvergenceWarning)
                return sample(duels(list("abcdef")), 20, method="waiting-times", warmup=0)
        case "hostile":
            wins = {label: 12 - k for k, label in enumerate(HOSTILE[:-2])}
            counts = luce.ConditionalCounts(HOSTILE).observe(wins, without=["mean"])
            return sample(counts, 150)
        case _:
            labels = [f"Player {i}" for i in range(300)]
            rng = np.random.default_rng(2)
            wins = dict(zip(labels, rng.poisson(9, 300).tolist(), strict=True))
            return sample(luce.ConditionalCounts(labels).observe(wins), 60)


def _exponents(counts: luce.ConditionalCounts) -> Iterator[tuple[Any, float]]:
    yield from zip(counts.categories, counts.category_counts.tolist(), strict=True)
    for t, power in enumerate(counts.sets.exponent.tolist()):
        yield tuple(counts.categories[i] for i in counts.sets.set_members(t)), power


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


class MadeWhenAsked(dict[str, Any]):
    """Values by name, each made when first asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self.make = make

    def __missing__(self, name: str) -> Any:
        self[name] = self.make(name)
        return self[name]


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, Any]:
    def saved(name: str) -> Any:
        run = make(name)
        luce.save(run, folder / f"{name}.nc")
        return run

    return MadeWhenAsked(saved)


@pytest.fixture(scope="module")
def pages(folder: Path, runs: dict[str, Any]) -> dict[str, Path]:
    def written(name: str) -> Path:
        assert runs[name]
        return luce.report(folder / f"{name}.nc", folder / f"{name}.html")

    return MadeWhenAsked(written)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as program:
        yield program


CELLS = """() => [...document.querySelectorAll(".sortable tbody tr")].map(row =>
  [...row.cells].map(c => [(c.querySelector(".whole") ?? c).textContent, c.dataset.value ?? null]))
"""


def cells(seen: Any) -> list[list[list[str]]]:
    return list(seen.page.evaluate(CELLS))


def names(seen: Any) -> list[str]:
    return [row[0][0] for row in cells(seen)]


OFTEN = ["chains", "hostile"]


@pytest.mark.parametrize(
    "name", [*OFTEN, *(pytest.param(k, marks=pytest.mark.slow) for k in RUNS if k not in OFTEN)]
)
def test_numbers_are_those_of_the_library(
    name: str, runs: dict[str, Any], pages: dict[str, Path], browser: Any
) -> None:
    run = runs[name]
    with visit(browser, pages[name], width=360) as seen:
        assert seen.complaints() == []  # and no sideways scrolling at the width of a phone
        assert seen.requests == [seen.address]
        heads = seen.page.locator(".sortable thead th").all_inner_texts()
        rows = cells(seen)
    table = luce.summary(run, counts=luce.posterior_of(run).counts, sort=True)
    assert [row[0][0] for row in rows] == [str(label) for label in table.categories]
    columns = {head: [row[j][1] for row in rows] for j, head in enumerate(heads)}
    wanted = {
        "Mean": table["mean"],
        "90 % interval": table["eti90_lb"],
        "P(best)": table["p_best"],
        "Rank": table["rank"],
        "Rank, 90 %": table["rank_lb"],
        "ESS": table["ess_bulk"],
        "R-hat": table["r_hat"],
    }
    if name != "hostile":  # there "mean" is a label
        by_label = luce.elo(run).mean(("chain", "draw")).to_numpy().tolist()
        place = run.posterior["category"].to_numpy().tolist()
        wanted["Elo"] = np.array([by_label[place.index(c)] for c in table.categories])
    for head, values in wanted.items():
        found = [float(x) if x else np.nan for x in columns[head]]
        np.testing.assert_allclose(found, values, rtol=1e-12, err_msg=head)
    group = {label: g for g, some in enumerate(luce.tie_groups(run), 1) for label in some}
    assert [float(x) for x in columns["Group"]] == [group[c] for c in table.categories]
    if table["prior_only"].any():
        assert ["prior only" in row[-1][0].replace("\xa0", " ") for row in rows] == (
            table["prior_only"].tolist()
        )
    else:
        assert "Known from" not in heads


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("exact", "good", "exact and independent draw"),
        ("chains", "good", "Markov chains"),
        ("one", "good", "no category varies"),
        ("bad", "bad", "Do not trust these draws yet"),
    ],
)
def test_verdict(name: str, kind: str, words: str, runs: Any, pages: dict[str, Path]) -> None:
    verdict = trust.judge(find(runs[name], 0.9))
    assert verdict.kind == kind
    html = pages[name].read_text()
    assert html.count(f'<span class="badge {kind}"><span aria-hidden') >= 2
    assert verdict.headline in html
    assert words in html


def test_worst_numbers_are_told(runs: dict[str, Any]) -> None:
    table = luce.summary(runs["bad"])
    found = {check.what: str(check.found) for check in trust.judge(find(runs["bad"], 0.9)).checks}
    assert f"{table['r_hat'].max():.3f}" in found["R-hat"]
    assert f"{table['ess_bulk'].min():,.0f}" in found["Effective sample size"]


@pytest.mark.parametrize(
    "name", ["exact", "chains", "bad", pytest.param("tuples", marks=pytest.mark.slow)]
)
def test_the_lines_give_the_same_draws(
    name: str, folder: Path, runs: dict[str, Any], pages: dict[str, Path]
) -> None:
    code = next(text for text in printouts(pages[name]) if text.startswith("import luce"))
    space: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.ConvergenceWarning)
        exec(code, space)
    again, run = space["again"], runs[name]
    assert np.array_equal(again.posterior["probabilities"], run.posterior["probabilities"])
    assert list(again.posterior) == list(run.posterior)


@pytest.mark.slow
def test_the_shell_lines_work(folder: Path, pages: dict[str, Path], tmp_path: Path) -> None:
    shell = next(text for text in printouts(pages["one"]) if text.startswith("python - <<"))
    shell = shell.replace("python -", f"{sys.executable} -").replace(
        "luce report", f"{sys.executable} -m luce report"
    )
    place = {**os.environ, "PYTHONPATH": str(Path(luce.__file__).parents[1])}
    done = subprocess.run(
        shell, shell=True, cwd=tmp_path, env=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True\n")
    assert (tmp_path / "one.html").read_bytes() == pages["one"].read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_every_column_sorts(by: str, pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["chains"]) as seen:
        heads = seen.page.locator(".sortable thead th")
        buttons = seen.page.locator(".sortable thead th button")
        assert buttons.count() == heads.count() == 13
        if by == "keyboard":
            seen.page.locator(".search input").focus()
            seen.page.keyboard.press("Tab")  # the button that copies
            seen.page.keyboard.press("Tab")  # the frame, which scrolls
        for j in range(heads.count()):
            if by == "keyboard":
                seen.page.keyboard.press("Tab")
            for k, direction in enumerate(["ascending", "descending"]):
                if by == "mouse":
                    buttons.nth(j).click()
                else:
                    assert seen.page.evaluate("document.activeElement.tagName") == "BUTTON"
                    seen.page.keyboard.press(["Enter", "Space"][k])
                states = heads.evaluate_all("all => all.map(h => h.getAttribute('aria-sort'))")
                wanted = ["none"] * heads.count()
                wanted[j] = direction
                assert states == wanted
                column = [row[j] for row in cells(seen)]
                if column[0][1] is None:
                    continue
                values = [float(value) for _, value in column]
                assert values == sorted(values, reverse=direction == "descending")
        assert seen.complaints() == []


@pytest.mark.slow
def test_text_sorts_as_people_sort(pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["chains"]) as seen:
        seen.page.get_by_role("button", name="Category").click()
        assert names(seen) == ["Élan", "elan 9", "elan 10", "Ödön", "unseen", "x", "y"]
        seen.page.get_by_role("button", name="Category").click()
        assert names(seen) == ["y", "x", "unseen", "Ödön", "elan 10", "elan 9", "Élan"]
        # Ties keep their order: known from data are all but one.
        seen.page.get_by_role("button", name="Known from").click()
        assert names(seen) == ["y", "x", "Ödön", "elan 10", "elan 9", "Élan", "unseen"]


@pytest.mark.slow
def test_missing_numbers_come_last(pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["one"]) as seen:
        seen.page.get_by_role("button", name="R-hat").click()
        assert ["–", ""] in cells(seen)[0]
        assert seen.complaints() == []


@pytest.mark.slow
def test_search(pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["chains"]) as seen:
        field = seen.page.get_by_label("Search the table")
        status = seen.page.locator(".search").get_by_role("status")
        assert status.get_attribute("aria-live") == "polite"
        assert status.inner_text() == "7 rows"
        shown = seen.page.locator(".sortable tbody tr:visible th")
        for text, wanted in [
            ("ELAN", ["Élan", "elan 10", "elan 9"]),
            ("élan  9", ["elan 9"]),
            ("odon", ["Ödön"]),
            ("prior", ["unseen"]),
            ("nobody", []),
            ("", list("1234567")),
        ]:
            field.fill(text)
            assert len(shown.all_inner_texts()) == len(wanted)
            if text:
                assert sorted(shown.all_inner_texts()) == sorted(wanted)
                assert status.inner_text() == f"{len(wanted)} of 7 rows shown"
        field.focus()
        seen.page.keyboard.type("elan")
        seen.page.get_by_role("button", name="Category").click()
        assert shown.all_inner_texts() == ["Élan", "elan 9", "elan 10"]
        assert seen.complaints() == []


@pytest.mark.slow
def test_without_script_the_table_is_whole(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(pages["chains"].as_uri())
        assert page.locator(".sortable tbody tr:visible").count() == 7
        assert page.locator("button, input:visible").count() == 0
        assert page.get_by_text("Search the table").is_visible() is False
        assert page.get_by_text("Scripts are turned off").is_visible()
        assert page.locator(".panel img:visible").count() == 6
    finally:
        context.close()


def test_hostile_labels_are_text(pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["hostile"], width=360) as seen:
        assert sorted(names(seen)) == sorted(HOSTILE)
        assert seen.page.locator("script:not([type])").count() == 1  # the page's own
        assert seen.page.locator("script").count() == 2  # and its data
        assert seen.page.locator("[onmouseover], main b, main style").count() == 0
        texts = " ".join(alt for alt, _ in seen.images())
        for label in HOSTILE:
            assert " ".join(label.split())[:30] in texts
        seen.page.get_by_role("button", name="All columns").click()
        for button in seen.page.locator(".sortable thead button").all():
            button.click()
        long = seen.page.locator(".sortable tbody summary")
        assert long.count() == 1
        assert len(long.inner_text()) <= 48
        long.focus()
        seen.page.keyboard.press("Enter")
        assert seen.page.locator(".sortable .whole").is_visible()
        seen.page.get_by_label("Search the table").fill("<SCRIPT>")
        assert seen.page.locator(".sortable tbody tr:visible").count() == 1
        assert seen.complaints() == []


def test_pictures_hold_no_script(pages: dict[str, Path]) -> None:
    for page in (pages["chains"], pages["hostile"]):
        for code in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page.read_text()):
            svg = re.sub(r"<!--.*?-->", "", b64decode(code).decode(), flags=re.S)
            assert not re.search(r"<script|\son\w+=|href=\"(?!#|data:image/png)", svg)


def test_technical_details_fold(pages: dict[str, Path], browser: Any) -> None:
    with visit(browser, pages["chains"], width=360) as seen:
        details = seen.page.locator("details.more")
        assert not seen.page.get_by_text("How the cores were drawn").is_visible()
        details.locator("summary").focus()
        seen.page.keyboard.press("Enter")
        assert seen.page.get_by_text("How the cores were drawn").is_visible()
        assert min(seen.contrasts("details.more > summary")) >= 4.5
        assert seen.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.slow), True])
def test_contrast(dark: bool, pages: dict[str, Path], browser: Any) -> None:
    kinds = [".search label", ".search input", ".search p", "thead button"]
    kinds += [
        ".sortable tbody tr:first-child > *",
        ".sortable tr:last-child > *",
        "caption",
        "dt",
        "dd",
        ".badge",
        "h2",
        "p",
        "pre",
        "figcaption",
        "nav a",
    ]
    with visit(browser, pages["chains"], dark=dark) as seen:
        ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", ground)[0]) < 128) is dark
        seen.page.get_by_role("button", name="Mean").click()
        for kind in kinds:
            found = seen.contrasts(kind)
            assert found, kind
            assert min(found) >= 4.5, kind
        assert seen.complaints() == []


def seconds_to_a_sorted_table(page: Any, address: str) -> float:
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.get_by_role("button", name="Category").click()
    first = page.locator(".sortable tbody tr").first.locator("th").inner_text()
    seconds = time.perf_counter() - began
    assert first == "Player 0"
    return seconds


@pytest.mark.slow
def test_large_is_ready_soon(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        # The best of three: the machine may be busy with something else.
        tries = [seconds_to_a_sorted_table(page, pages["large"].as_uri()) for _ in range(3)]
        assert page.locator(".sortable tbody tr").count() == 300
        assert page.get_by_role("option").count() > 300  # rows of the picture, and names to choose
        assert "with probability" in page.locator(".answer").inner_text()
        assert "No category is likely to be the best" in pages["large"].read_text()
        print(f"{min(tries):.2f} s, {pages['large'].stat().st_size / 1e6:.2f} MB")
        assert min(tries) < 2
        assert pages["large"].stat().st_size < 3e6
    finally:
        context.close()
