"""Parts of pages that answer readers: numbers as Python computes them, links, keys, screens."""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.browser import Visit, chromium, visit
from lib.contest_runs import counts_of
from lib.report_runs import sampled
from lib.rows_of_transitions import four_rows

import luce
from luce.answers.view import DrawsView
from luce.errors import DataError
from luce.page.words import probability
from luce.reports.findings import ChoiceFindings, find
from luce.reports.live_parts import MOST_CATEGORIES, live_data

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
]

DRAWS = 250  # that the pages carry, of 600
HOSTILE = [
    "<script>alert(1)</script>",
    "'quotes\" & </script>",
    "😀 emoji 🇩🇪",
    "مرحبا بالعالم",
    "L" + "o" * 198 + "g",
    "two\nlines",
    "run of 2026 with the learning rate 0.001 and the seed 1 of 100",
    "run of 2026 with the learning rate 0.003 and the seed 1 of 100",
]


def games_with_effects() -> luce.ConditionalCounts:
    """Ties and a home advantage as categories of their own."""
    games: dict[str, list[Any]] = {"item1": [], "item2": [], "outcome": [], "home": []}
    for first, second, wins in [("a", "b", 5), ("b", "c", 4), ("c", "a", 2), ("b", "a", 3)]:
        for outcome in [first] * wins + [second, "tie"]:
            for key, value in zip(games, (first, second, outcome, first), strict=True):
                games[key].append(value)
    return luce.from_pairs(games, ties="entity", home="home", home_effect="entity")


def make(name: str) -> xr.DataTree:
    match name:
        case "davidson" | "rao-kupper":
            return sampled(counts_of(name, True), 300)
        case "effects":
            return sampled(games_with_effects(), 300)
        case "hostile":
            wins = {label: 3 * k + 1 for k, label in enumerate(HOSTILE)}
            return sampled(luce.ConditionalCounts(HOSTILE).observe(wins), 300)
        case "thirty" | "large":
            n = 30 if name == "thirty" else 300
            labels = [f"Player {i}" for i in range(n)]
            wins = dict(zip(labels, np.random.default_rng(2).poisson(9, n).tolist(), strict=True))
            return sampled(luce.ConditionalCounts(labels).observe(wins), 300)
        case "rows":
            return four_rows().sample(300, seed=1, progress=False)
        case "moves":
            model = luce.HDPTransitions(["rest", "walk", "eat"], luce.Gamma(2, 1), 3.0)
            days = [["rest", "walk", "eat", "rest", "walk"], ["walk", "rest", "eat", "walk"]]
            return model.fit(days, 200, seed=1, progress=False)
        case _:
            counts = luce.ConditionalCounts("abcd").observe({"b": 4, "c": 1, "d": 2})
            return sampled(counts.observe({"a": 1, "c": 3}, within=["a", "c"]), 300)


class Pages(dict[str, tuple[xr.DataTree, Path]]):
    """Runs and their pages by name, each made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> tuple[xr.DataTree, Path]:
        run = make(name)
        drawn = name not in ("plain", "effects", "rao-kupper")
        path = self.folder / f"{name}.html"
        self[name] = run, luce.report(run, path, pictures=drawn, live_draws=DRAWS)
        return self[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as program:
        yield program


def thinned(run: xr.DataTree) -> DrawsView:
    """Keep the draws that a page carries."""
    whole = DrawsView.of(run)
    return whole.one_chain(whole.evenly(DRAWS))


def spread(values: Any, decimals: int = 3) -> list[str]:
    """Write mean and 90 % interval of draws as a page does."""
    at = np.ravel(values)
    numbers = at.mean(), *np.quantile(at, [0.05, 0.95])
    return [probability(float(x), decimals) for x in numbers]


def points(value: float, decimals: int = 0) -> str:
    text = f"{value:,.{decimals}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def wanted_answers(x: DrawsView, a: str, b: str, home: str | None, verb: str) -> list[str]:
    """Compute in Python what a page says of two."""
    first, tie, second = np.moveaxis(
        luce.predict(x, a, b, home, all_draws=True).to_numpy().reshape(-1, 3), 1, 0
    )

    def told(values: Any) -> str:
        mean, low, high = spread(values)
        return f"{mean} (90 % interval {low} to {high})."

    larger = float(luce.answers.probability_larger(x).sel(category=a, opponent=b))
    elo = luce.elo(x)
    gap = np.ravel(elo.sel(category=a) - elo.sel(category=b))
    mean, low, high = (points(v) for v in (gap.mean(), *np.quantile(gap, [0.05, 0.95])))
    ties = [f"They tie with probability {told(tie)}"] if tie.any() else []
    return [
        f"{a} {verb} {b} with probability {told(first)}",
        *ties,
        f"{b} {verb} {a} with probability {told(second)}",
        f"{a} is the stronger with probability {probability(larger)}.",
        f"Elo of {a} minus that of {b}: {mean} (90 % interval {low} to {high}).",
    ]


def answers(seen: Visit) -> list[str]:
    return [str(text) for text in seen.page.locator(".answer p").all_inner_texts()]


def order_of(run: xr.DataTree) -> list[str]:
    return list(luce.summary(run, sort=True).categories)


def choose(seen: Visit, a: str, b: str, home: str | None) -> None:
    # Either may be the other one before: then the two change places.
    for _ in range(2):
        seen.page.get_by_label("First", exact=True).select_option(label=a)
        seen.page.get_by_label("Second", exact=True).select_option(label=b)
    if home is not None:
        seen.page.get_by_label(f"The {home}").check()


@pytest.mark.parametrize(
    ("name", "homes", "verb"),
    [
        ("davidson", [None, "first", "second"], "beats"),
        ("rao-kupper", [None, "first", "second"], "beats"),
        ("effects", [None, "first", "second"], "beats"),
        ("plain", [None], "is chosen over"),
    ],
)
def test_two_are_compared_as_python_does(
    name: str, homes: list[str | None], verb: str, pages: Pages, browser: Any
) -> None:
    run, page = pages[name]
    x = thinned(run)
    with visit(browser, page) as seen:
        for home in homes:
            choose(seen, "c", "a", home)
            found = answers(seen)
            assert found == wanted_answers(x, "c", "a", home, verb)
            # The control: the other way round is another answer, also with its names exchanged.
            swapped = str.maketrans("ac", "ca")
            other = wanted_answers(x, "a", "c", home, verb)
            assert found != [text.translate(swapped) for text in other]
            assert found[0].split("probability")[1] != other[0].split("probability")[1]
        assert seen.page.get_by_label("The first").count() == (len(homes) > 1)
        assert seen.complaints() == []


@pytest.mark.parametrize("name", ["davidson", "plain"])
def test_one_against_all_and_shares_are_as_python_computes_them(
    name: str, pages: Pages, browser: Any
) -> None:
    run, page = pages[name]
    x, order = thinned(run), order_of(run)
    one = order[1]
    with visit(browser, page) as seen:
        seen.page.get_by_label("Name", exact=True).select_option(label=one)
        ranks = seen.page.get_by_role("region", name="Probability of each rank").locator("li")
        found = dict(text.split("\n") for text in ranks.all_inner_texts())
        chances = luce.rank_probabilities(x).sel(category=one).to_numpy()
        wanted = {f"Rank {k}": probability(float(p)) for k, p in enumerate(chances, 1)}
        assert found == {k: text for k, text in wanted.items() if float(text.strip("<>")) >= 0.005}
        others = [label for label in order if label != one]
        texts = seen.page.locator(".two > div:nth-child(2) h4 ~ .list li").all_inner_texts()
        for other, text in zip(others, texts, strict=True):
            draws = luce.predict(x, one, other, all_draws=True).sel(result="first")
            mean, low, high = spread(draws)
            assert text.split("\n") == [other, f"{mean} ({low} to {high})"]

        among = [order[0], order[2]]
        seen.page.get_by_role("button", name="None").click()
        assert "choose one at least" in seen.page.locator(".two [role=status]").inner_text()
        for label in among:
            seen.page.get_by_label(label, exact=True).check()
        texts = seen.page.get_by_role("region", name="Shares").locator("li").all_inner_texts()
        shares = luce.shares(x, among)
        wanted_lines = {}
        for label in among:
            mean, low, high = spread(shares.sel(category=label))
            wanted_lines[label] = f"{mean} ({low} to {high})"
        by_mean = sorted(among, key=lambda label: -float(shares.sel(category=label).mean()))
        assert [text.split("\n") for text in texts] == [[c, wanted_lines[c]] for c in by_mean]
        # The control: shares among all are others.
        assert wanted_lines != {
            c: "{} ({} to {})".format(*spread(luce.shares(x).sel(category=c))) for c in among
        }
        assert seen.complaints() == []


def test_strengths_are_those_of_all_draws_on_every_scale(pages: Pages, browser: Any) -> None:
    run, page = pages["davidson"]
    order = order_of(run)
    draws = run.posterior["probabilities"]
    on_scale = {
        "Probability": (draws, 3),
        "Log odds": (luce.log_odds(run), 2),
        "Elo": (luce.elo(run), 0),
    }
    with visit(browser, page) as seen:
        rows = seen.page.get_by_role("listbox", name="Strengths").get_by_role("option")
        table = seen.page.locator(".sortable tbody th").all_inner_texts()
        for scale, (values, decimals) in on_scale.items():
            seen.page.get_by_label(scale, exact=True).check()
            labels = [row.get_attribute("aria-label") for row in rows.all()]
            wanted = []
            for label in order:
                own = np.ravel(values.sel(category=label))
                ends = own.mean(), *np.quantile(own, [0.05, 0.95])
                mean, low, high = (
                    probability(float(x), 3) if scale == "Probability" else points(x, decimals)
                    for x in ends
                )
                wanted.append(f"{label}, {mean}, 90 % interval {low} to {high}")
            assert labels == wanted
        assert table == order  # the table is sorted as the picture is
        assert labels != wanted[::-1]


def test_a_link_keeps_what_was_chosen(pages: Pages, browser: Any) -> None:
    run, page = pages["davidson"]
    with visit(browser, page) as seen:
        choose(seen, "c", "b", "second")
        seen.page.get_by_label("Log odds", exact=True).check()
        seen.page.get_by_role("button", name="None").click()
        seen.page.get_by_label("b", exact=True).check()
        seen.page.get_by_label("Search the table").fill("b")
        seen.page.get_by_role("button", name="Mean").click()
        seen.page.get_by_label("Name", exact=True).select_option(label="c")
        seen.page.evaluate("navigator.clipboard.writeText = async text => { window.kept = text; }")
        seen.page.get_by_role("button", name="Copy a link").click()
        seen.page.get_by_text("Link copied").wait_for()
        link, said = seen.page.evaluate("window.kept"), answers(seen)
        shares = seen.page.get_by_role("region", name="Shares").inner_text()
    context = browser.new_context()
    try:
        again = context.new_page()
        again.goto(link)
        assert again.locator(".answer p").all_inner_texts() == said
        assert again.get_by_label("Log odds", exact=True).is_checked()
        assert again.get_by_label("The second").is_checked()
        assert again.get_by_role("region", name="Shares").inner_text() == shares
        assert again.get_by_label("Search the table").input_value() == "b"
        assert again.locator(".sortable tbody tr:visible").count() == 1
        assert again.locator("[aria-sort=ascending]").inner_text().startswith("Mean")
        number = again.get_by_label("Name", exact=True).input_value()
        assert order_of(run)[int(number)] == "c"
        # Anything may stand in a link.
        again = context.new_page()  # an open page would load itself again
        again.goto(page.as_uri() + "#scale=x&a=99&b=-1&one=x&among=7.x&sort=99up&home=c&q=%3Cb%3E")
        assert again.locator(".answer p").count() == len(said)
        assert again.locator(".answer p").all_inner_texts() != said
    finally:
        context.close()


def test_a_table_is_copied_as_csv(pages: Pages, browser: Any) -> None:
    run, page = pages["hostile"]
    table = luce.summary(run, sort=True)
    with visit(browser, page) as seen:
        seen.page.evaluate("navigator.clipboard.writeText = async text => { window.kept = text; }")
        seen.page.get_by_role("button", name="Copy as CSV").first.click()
        seen.page.get_by_text(f"{len(HOSTILE)} rows copied").wait_for()
        rows = list(csv.DictReader(StringIO(seen.page.evaluate("window.kept"), newline="")))
        assert [row["Category"] for row in rows] == list(table.categories)
        for column, values in {
            "Mean": table["mean"],
            "90 % interval, lower": table["eti90_lb"],
            "90 % interval, upper": table["eti90_ub"],
            "Rank, 90 %, upper": table["rank_ub"],
        }.items():
            assert [float(row[column]) for row in rows] == pytest.approx(list(values), rel=1e-12)
        seen.page.get_by_label("Search the table").fill("lines")
        seen.page.get_by_role("button", name="Copy as CSV").first.click()
        seen.page.get_by_text("1 row copied").wait_for()
        assert len(list(csv.reader(StringIO(seen.page.evaluate("window.kept"), newline="")))) == 2
        assert seen.complaints() == []


def test_keys_choose_rows_and_show_numbers(pages: Pages, browser: Any) -> None:
    run, page = pages["davidson"]
    order = order_of(run)
    with visit(browser, page) as seen:
        rows = seen.page.get_by_role("listbox", name="Strengths").get_by_role("option")
        chosen = "all => all.map(row => row.ariaSelected === 'true')"
        assert rows.evaluate_all(chosen) == [True, True, False]
        rows.first.focus()
        tip = seen.page.locator(".tip")
        assert tip.is_visible()
        assert order[0] in tip.inner_text()
        for key, wanted in [("End", 2), ("ArrowUp", 1), ("Home", 0), ("ArrowUp", 0)]:
            seen.page.keyboard.press(key)
            assert rows.nth(wanted).evaluate("row => row === document.activeElement")
        seen.page.keyboard.press("End")
        assert "rank" in tip.inner_text()
        seen.page.keyboard.press("Enter")
        assert rows.evaluate_all(chosen) == [False, True, True]
        assert answers(seen)[0].startswith(f"{order[1]} beats {order[2]} with probability")
        seen.page.keyboard.press("Escape")
        assert not tip.is_visible()
        rows.first.click()
        assert answers(seen)[0].startswith(f"{order[2]} beats {order[0]} with probability")
        rows.nth(1).hover()
        assert order[1] in tip.inner_text()
        around = seen.page.locator(".around").bounding_box()
        shown = tip.bounding_box()
        assert around
        assert shown
        assert shown["x"] >= around["x"]
        assert shown["x"] + shown["width"] <= around["x"] + around["width"] + 1
        assert tip.evaluate(  # nothing lies above it
            """tip => {
              const { left, top, width, height } = tip.getBoundingClientRect();
              tip.style.pointerEvents = "auto";
              const corners = [[3, 3], [width - 3, 3], [3, height - 3], [width - 3, height - 3]];
              return corners.every(([x, y]) =>
                tip.contains(document.elementFromPoint(left + x, top + y)));
            }"""
        )
        assert seen.complaints() == []


def test_keys_scroll_to_rows_out_of_view(pages: Pages, browser: Any) -> None:
    run, page = pages["thirty"]
    with visit(browser, page, height=500) as seen:
        seen.page.get_by_role("option").first.focus()
        seen.page.keyboard.press("End")
        last = seen.page.get_by_role("listbox", name="Strengths").get_by_role("option").last
        assert order_of(run)[-1] in last.inner_text()
        seen.page.wait_for_function(  # scrolling is told a frame later
            """() => {
              const [tip, row] = [document.querySelector(".tip"), document.activeElement];
              const gap = tip.getBoundingClientRect().top - row.getBoundingClientRect().bottom;
              return !tip.hidden && Math.abs(gap) < 2;
            }"""
        )
        assert seen.complaints() == []


def test_moves_from_one_state_are_those_of_all_draws(pages: Pages, browser: Any) -> None:
    run, page = pages["moves"]
    rows = run.posterior["rows"].to_numpy()
    with visit(browser, page, width=360) as seen:
        seen.page.get_by_label("From", exact=True).select_option(label="walk")
        found = seen.page.locator(".bars li").all_inner_texts()
        wanted = []
        for j, name in [(0, "rest"), (2, "eat")]:
            mean, low, high = spread(rows[:, :, 1, j])
            wanted.append((-rows[:, :, 1, j].mean(), [name, f"{mean} ({low} to {high})"]))
        assert [text.split("\n") for text in found] == [text for _, text in sorted(wanted)]
        assert "from=1" in seen.page.url
        assert seen.page.locator(".replaced-narrow").is_visible() is False
        assert seen.complaints() == []


OFTEN = [("davidson", 360, False), ("hostile", 360, True), ("moves", 768, True)]
SCREENS = [
    (name, width, dark)
    for name in ("davidson", "thirty", "large", "hostile", "moves", "rows")
    for width in (360, 768, 1280)
    for dark in (False, True)
]


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [*OFTEN, *(pytest.param(*x, marks=pytest.mark.slow) for x in SCREENS if x not in OFTEN)],
)
def test_screens(name: str, width: int, dark: bool, pages: Pages, browser: Any) -> None:
    with visit(browser, pages[name][1], width=width, dark=dark) as seen:
        assert seen.violations() == []
        assert seen.clipped() == []
        for details in seen.page.locator("details > summary:visible").all():
            details.click()
        for button in seen.page.get_by_role("button", name="All columns").all():
            if button.is_visible():
                button.click()
        assert seen.violations() == []
        assert seen.clipped() == []
        assert seen.complaints() == []


def test_faults_of_a_screen_are_found(pages: Pages, browser: Any) -> None:
    with visit(browser, pages["plain"][1], width=360) as seen:
        seen.page.evaluate(
            """() => {
              const box = document.querySelector("h1");
              box.style.cssText = "overflow: hidden; white-space: nowrap; width: 3rem";
              document.querySelector(".note").style.color = "#ddd";
              document.querySelector("select").id = "";
            }"""
        )
        assert len(seen.clipped()) == 1
        kinds = {text.split(":")[0] for text in seen.violations()}
        assert {"color-contrast", "select-name"} <= kinds


def test_phones_get_one_against_all_for_heat_maps(pages: Pages, browser: Any) -> None:
    _, page = pages["davidson"]
    for width, shown in [(360, False), (1280, True)]:
        with visit(browser, page, width=width) as seen:
            assert seen.page.locator(".replaced-narrow").is_visible() is shown
            assert seen.page.locator(".replaced-always").is_visible() is False
            assert seen.page.get_by_role("region", name="Probability to beat each").is_visible()
            further = seen.page.locator("thead .further").first
            assert further.is_visible() is shown
            if not shown:
                seen.page.get_by_role("button", name="All columns").first.click()
                assert further.is_visible()
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    try:
        plain = context.new_page()
        plain.goto(page.as_uri())
        assert plain.locator(".replaced-narrow").is_visible()
        assert plain.locator(".replaced-always").is_visible()
        assert plain.get_by_text("Scripts are turned off").is_visible()
    finally:
        context.close()


def choices(run: xr.DataTree) -> ChoiceFindings:
    found = find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    return found


def test_draws_are_thinned_and_the_page_says_so(pages: Pages) -> None:
    run, page = pages["plain"]
    assert "from 250 of the 600 draws, evenly spaced" in page.read_text()
    found = choices(run)
    assert live_data(found, 5000)["draws"]["number"] == 600
    assert "from all draws" in live_data(found, 5000)["draws"]["meaning"]
    assert live_data(found, 7)["draws"]["number"] == 7


def test_a_page_without_draws_has_no_questions(pages: Pages, tmp_path: Path) -> None:
    run, _ = pages["plain"]
    page = luce.report(run, tmp_path / "a.html", pictures=False, live_draws=0)
    html = page.read_text()
    assert "data-place" not in html
    assert "application/json" not in html
    assert "replaced-always" not in html
    for wrong in (-1, 1.5, True, "many"):
        with pytest.raises(DataError, match="whole number from 0 on"):
            luce.report(run, page, live_draws=wrong)  # type: ignore[arg-type]


def test_many_categories_stay_within_the_bytes_of_a_page() -> None:
    n = MOST_CATEGORIES + 100
    p = np.random.default_rng(1).dirichlet(np.ones(n), size=(1, 400))
    labels = [f"c{i}" for i in range(n)]
    counts = luce.ConditionalCounts(labels).observe({"c1": 1})
    run = sampled(counts, 300, chains=1)
    run.posterior["probabilities"][:] = p[:, :300]
    data = live_data(choices(run), 1000)
    assert data["draws"]["categories"] == MOST_CATEGORIES
    assert data["draws"]["number"] == 250
    assert f"first {MOST_CATEGORIES:,} of {n:,} categories" in data["draws"]["meaning"]
    assert len(json.dumps(data)) < 3e6


def test_probabilities_too_small_to_be_stored_are_told(browser: Any, tmp_path: Path) -> None:
    run = sampled(luce.ConditionalCounts("abc").observe({"b": 4}), 50)
    run.posterior["probabilities"][0, 3] = [0.0, 0.5, 0.5]
    page = luce.report(run, tmp_path / "a.html", pictures=False)
    with visit(browser, page) as seen:
        assert "too small to be stored" in seen.page.locator("[data-place=questions]").inner_text()
        assert seen.page.get_by_label("Elo", exact=True).count() == 0
        assert seen.page.get_by_label("Probability", exact=True).is_checked()
        assert seen.complaints() == []


def test_an_outlier_squashes_nobody(tmp_path: Path) -> None:
    few = choices(sampled(luce.ConditionalCounts("abc").observe({"a": 3, "b": 2}), 300))
    wide = choices(sampled(luce.ConditionalCounts("abc").observe({"a": 900, "b": 20}), 300))
    assert few.scale == "probability"
    assert wide.scale == "log-odds"
    games = choices(sampled(counts_of("davidson", True, [("a", "b", 1, 300, 0, 1)]), 100))
    assert games.scale == "elo"
    page = luce.report(wide.run, tmp_path / "a.html")
    words = "Strengths, drawn as log odds and told as probabilities, mean"
    assert f'alt="{words}' in page.read_text()
    assert live_data(wide, 10)["scale"] == "log-odds"


def test_scripts_are_plain() -> None:
    folder = Path(luce.__file__).parent / "reports" / "live"
    for script in folder.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"eval|innerHTML|Function\(|https?:|import|</", text), script.name
        assert len(text) < 6000, script.name
        assert text.startswith("// ")
