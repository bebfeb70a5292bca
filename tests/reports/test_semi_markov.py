"""A report on a segmented time series: every number against one counted by hand."""

import json
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.browser import chromium, visit
from lib.report_runs import printouts, table_of, text_of
from lib.segmented_runs import SECOND_WAY, by_hand, fit
from lib.size import draws

import luce
from luce.cli import main
from luce.errors import DataError
from luce.page.document import Page
from luce.reports import semi_markov
from luce.reports.findings import SegmentFindings, find
from luce.reports.provenance import python_lines
from luce.reports.run_page import write_report
from luce.reports.semi_markov_trust import judge_segments
from luce.sequences import (
    Autoregressive,
    Categories,
    Counts,
    Custom,
    DiagonalGaussian,
    Gaussian,
    Geometric,
    Histogram,
    NegativeBinomial,
    Poisson,
)


def found_in(run: xr.DataTree, ci_prob: float = 0.9) -> SegmentFindings:
    found = find(run, ci_prob)
    assert isinstance(found, SegmentFindings)
    return found


def checks_of(run: xr.DataTree) -> dict[str, Any]:
    return {check.what: check for check in judge_segments(found_in(run)).checks}


def model_words(model: luce.SemiMarkov, series: Any, **how: Any) -> str:
    """Read the section on the model of a short run."""
    page = Page("x")
    semi_markov.write_model(page, found_in(fit(model, series, 4, chains=1, **how)))
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.to_html().split("</style>")[1])).split())


def levels(n: int = 15, seed: int = 1) -> np.ndarray:
    """Make a series of two levels, four segments of n rows."""
    rng = np.random.default_rng(seed)
    return np.repeat([0.0, 8.0, 0.0, 8.0], n) + rng.normal(size=4 * n)


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return by_hand()


@pytest.fixture(scope="module")
def page(run: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return luce.report(run, tmp_path_factory.mktemp("segments") / "a.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as program:
        yield program


def test_the_lead_tells_numbers_with_their_probabilities(run: xr.DataTree, page: Path) -> None:
    said = text_of(page)
    assert "12 rows of 2 channels in 2 sequences, segmented" in said
    assert "In all draws 2 states hold at least 1 % of the time." in said
    assert "The point estimate has 4 segments of 2 states;" in said
    assert "90 % of the draws have between 4 and 4 segments." in said
    varied = run.copy(deep=True)
    varied["states"]["states"][0, :3] = 1  # three of eight draws have one state
    varied["states"]["states"][1, 0, 7:] = [0, 1, 2, 2, 2]
    words = str(semi_markov.lead(found_in(varied))[0])
    assert words == (
        "The number of states that hold at least 1 % of the time is 2 with probability 0.500, "
        "1 with probability 0.375 and 3 with probability 0.125. "
    )


def test_small_states_are_not_counted() -> None:
    made = fit(luce.SemiMarkov(4, duration=Poisson(mean=50)), levels(60), 4, chains=1)
    label = np.repeat([0, 1, 0, 1], 60)
    label[100:102] = 2  # of 240 rows
    made["states"]["states"][:] = label
    words = "".join(map(str, semi_markov.lead(found_in(made))))
    assert "In all draws 2 states hold at least 1 % of the time." in words
    assert "has 6 segments of 3 states, 2 of which hold at least 1 % of the time; " in words


def test_states_are_summed_up(page: Path) -> None:
    found = table_of(page, 1)
    assert found["State"] == ["0.0", "1.0"]
    # Seven and five rows the first way, six and six the second.
    shares = [(6 * 7 + 2 * 6) / 96, (6 * 5 + 2 * 6) / 96]
    np.testing.assert_allclose([float(x) for x in found["Share of time"]], shares)
    assert [float(x) for x in found["90 % interval"]] == pytest.approx([6 / 12, 5 / 12])
    assert [float(x) for x in found["Visits"]] == [2.0, 2.0]
    np.testing.assert_allclose([float(x) for x in found["Duration"]], np.array(shares) * 6)
    np.testing.assert_allclose([float(x) for x in found["Sure"]], [(6 + 0.75) / 7, 1.0])
    # A quarter of the draws differs in one row of twelve.
    assert f"Draws differ from the point estimate in {100 / 48:.1f} % of the time" in text_of(page)


def test_parameters_are_those_of_matched_states(page: Path) -> None:
    found = table_of(page, 2)
    assert found["State"] == ["0.0", "0.0", "1.0", "1.0"]
    assert found["Channel"] == ["0", "1", "0", "1"]
    way = SECOND_WAY.ravel()
    numbers = np.arange(8)
    means = [(10 * np.where(way, k, j) + numbers).mean() for j, k in ((0, 3), (1, 2))]
    np.testing.assert_allclose([float(x) for x in found["Mean"]], np.repeat(means, 2))
    np.testing.assert_allclose([float(x) for x in found["Standard deviation"]], 2.0)


def test_segments_are_listed_with_their_borders(page: Path) -> None:
    found = table_of(page, 3)
    assert found["Sequence"] == ["a", "a", "b", "b"]
    rows = [[float(x) for x in found[head]] for head in ("Start", "End", "Rows", "State")]
    assert rows == [[0, 4, 0, 2], [4, 7, 2, 5], [4, 3, 2, 3], [0, 1, 1, 0]]
    np.testing.assert_allclose([float(x) for x in found["Sure"]], [(3 + 0.75) / 4, 1.0, 1.0, 1.0])
    # The change at row 4 or 3 is near row 4 in all draws; first segments have none before them.
    assert found["P(change within 2 rows)"] == ["", "1.0", "", "1.0"]
    said = text_of(page)
    assert "A draw has 2.0 changes of state on average (90 % between 2 and 2)." in said
    assert "2 rows have a probability of at least 0.5 that a segment begins there" in said


def test_tables_are_cut_and_say_so(run: xr.DataTree) -> None:
    page, found = Page("x"), found_in(run)
    semi_markov.write_segments(page, found, most=3)
    semi_markov.write_states(page, found, most=1)
    semi_markov.write_parameters(page, found, most=3)
    semi_markov.write_transitions(page, found, most=1)
    html = page.to_html()
    assert "The first 3 are shown; 1 more is in luce.sequences.segments(run)." in html
    assert "1 state that holds less is left out." in html
    assert "1 row is left out." in html
    assert "The 1 last are left out." in html


def test_transitions_are_counted_and_drawn(page: Path) -> None:
    found = table_of(page, 4)
    pairs = list(zip(found["From"], found["To"], strict=True))
    assert pairs == [("1.0", "0.0"), ("0.0", "1.0")]  # one move each; the more probable first
    assert [float(x) for x in found["Moves"]] == [1.0, 1.0]
    assert [float(x) for x in found["Probability"]] == pytest.approx([0.625, 0.575])


def test_the_data_is_told(run: xr.DataTree, page: Path) -> None:
    said = text_of(page)
    assert "Rows 12 Sequences 2 Their names a, b Rows of a sequence 5 to 7 Channels 0, 1" in said
    missing = "3 values of 24 in 2 rows, 1 of which is missing as a whole"
    assert f"Missing values {missing}" in said
    found = table_of(page, 5)
    values = run["observed_data"]["values"].values
    assert [float(x) for x in found["Missing"]] == [2.0, 1.0]
    np.testing.assert_allclose([float(x) for x in found["Mean"]], np.nanmean(values, axis=0))
    np.testing.assert_allclose([float(x) for x in found["Largest"]], np.nanmax(values, axis=0))
    assert all(0 < float(x) < 1 for x in found["Between states"])


def test_pictures_tell_their_numbers(run: xr.DataTree, page: Path) -> None:
    described = [unescape(alt) for alt in re.findall(r'alt="([^"]*)"', page.read_text())]
    assert len(described) == 5
    assert "rows 4 to 6 of sequence \u2068a\u2069 in state 1" in described[0]
    assert "at least 0.5 at 2 rows and sums up to 2.0." in described[0]
    assert "state 0 2.75 (2 to 5), state 1 3.25 (3 to 4)." in described[1]
    assert "from state 0 to state 1 0.575, from state 1 to state 0 0.625." in described[2]
    off = luce.sequences.similarity(run).values[~np.eye(12, dtype=bool)]
    assert f"It is {off.mean():.3f} on average over pairs" in described[3]
    sure = np.mean((off <= 0.05) | (off >= 0.95))
    assert f"for {100 * sure:.3g} % of them." in described[3]
    assert "Draws of 2 chains, one after another, 4 each." in described[4]


def test_figures_of_trust_are_those_of_the_draws(run: xr.DataTree, page: Path) -> None:
    found = found_in(run)
    said, checks = text_of(page), checks_of(run)
    for sentence in found.doubts.sentences:
        assert sentence in said
    proposed = run["sample_stats"]["split_merge_proposed"].sum().item()
    accepted = run["sample_stats"]["split_merge"].sum().item()
    words = f"{accepted:,.0f} of {proposed:,.0f} accepted, {100 * accepted / proposed:.3g} %"
    assert checks["Moves that split or merge states"].found == words
    assert checks["States used"].found == "never all 4"
    differ = checks["Draws differ from the point estimate, after matching"].found
    assert differ == "2.08 % of the time on average (0 % to 8.33 %)"
    between = checks["Variation of information between chains"]
    assert f"{found.doubts.between:.2f} nats" in between.found
    assert "log likelihood" in said
    likelihood = run["posterior"]["log_likelihood"].values
    assert f"{likelihood.mean():.4g}".replace("-", "−") in said
    assert (
        "The chains began differently, from random segments, from one state for all rows." in said
    )


def test_chains_that_disagree_are_told(run: xr.DataTree, tmp_path: Path) -> None:
    torn = run.copy(deep=True)
    torn["states"]["states"][0] = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    torn["states"]["states"][1] = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    page, trust = write_report(torn, tmp_path / "a.html", pictures=False)
    assert trust.kind == "bad"
    said = text_of(page)
    assert (
        "The chains disagree on what is one state: two draws of different chains differ by" in said
    )
    assert "The numbers on this page may be wrong: see why" in said
    assert checks_of(torn)["Variation of information between chains"].kind == "bad"
    assert checks_of(run)["Variation of information between chains"].kind == "good"
    html = page.read_text()
    (address,) = re.findall(r'<a href="#([^"]*)">why</a>', html)
    assert f'<h2 id="{address}">' in html


def test_a_full_limit_and_cut_segments_are_told(run: xr.DataTree) -> None:
    full = run.copy(deep=True)
    full["sample_stats"]["states_used"][0, :2] = 4.0
    full["sample_stats"]["at_longest"][1, 1] = 1.0
    checks = checks_of(full)
    assert checks["States used"].found == "all 4 are used in 25 % of the draws"
    assert checks["States used"].kind == "bad"
    longest = int(run.attrs["longest"])
    cut = checks[f"Segments of {longest} rows, the most that are looked for"]
    assert cut.found == f"{100 / 32:.3g} % of all"
    assert cut.kind == "bad"


def test_one_chain_has_no_other_to_agree_with(tmp_path: Path) -> None:
    made = fit(luce.SemiMarkov(3, duration=Poisson(mean=15)), levels(), 8, chains=1)
    said = text_of(luce.report(made, tmp_path / "a.html"))
    assert "One chain has no other to agree with: take several." in said
    assert "The chain began from random segments." in said
    assert "Variation of information between chains" not in said
    assert "Sequences 1 Channels 0 Missing values none" in said


@pytest.mark.compiled
def test_a_good_run_is_called_so(tmp_path: Path) -> None:
    law = Geometric(mean=25, shape=20)
    model = luce.SemiMarkov(6, Gaussian(weight=1.0), law, concentration=2, base_concentration=2)
    made = fit(model, levels(30), 2000, warmup=300, keep_states=200, split_merge=0)
    found = found_in(made)
    assert (found.doubts.kind, judge_segments(found).kind) == ("good", "good")
    said = text_of(luce.report(made, tmp_path / "a.html", pictures=False))
    assert "By all of them the chains have met and moved." in said
    assert "none were proposed" in said
    assert "Geometric: a state ends with any of its rows with the same probability" in said
    assert "may be wrong" not in said
    assert (
        "α (large: all states are followed alike; small: each in its own way) is fixed at 2."
        in said
    )


def test_without_pictures_or_matplotlib(
    run: xr.DataTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = luce.report(run, tmp_path / "a.html", pictures=False)
    assert "There are no pictures: they were not asked for." in text_of(plain)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    bare = luce.report(run, tmp_path / "b.html")
    said = text_of(bare)
    assert "drawing needs matplotlib, which is not installed" in said
    assert "<img" not in bare.read_text()
    assert table_of(bare, 1) == table_of(plain, 1)


def test_priors_from_the_data_are_named() -> None:
    said = model_words(luce.SemiMarkov(3, duration=Poisson(mean=15, shape=4)), levels())
    assert "“center” and “covariance” were not given and were taken from this very series" in said
    assert (
        "a state lasts 15 rows on average, and the standard deviation of a state’s rate is 50 %"
        in said
    )
    assert "Longest segment. 60 rows, chosen by the prior of the durations." in said
    given = Gaussian(center=0.0, covariance=1.0)
    said = model_words(luce.SemiMarkov(3, given, longest=20), levels())
    assert "taken from this very series" not in said
    assert "20 rows, as given." in said


@pytest.mark.parametrize(
    ("emission", "words"),
    [
        (DiagonalGaussian(), "independent of each other, with means and variances"),
        (Autoregressive(lags=2), "a linear function of the 2 rows before, plus normal noise"),
    ],
)
def test_emissions_are_described(emission: Any, words: str, tmp_path: Path) -> None:
    model = luce.SemiMarkov(
        3, emission, NegativeBinomial(mean=9, r=2), start="base", end="complete",
        forbidden=[(0, 2)],
    )  # fmt: skip
    made = fit(model, levels(), 4, chains=1, candidates=[15, 30, 45])
    said = text_of(luce.report(made, tmp_path / "a.html", pictures=False))
    assert words in said
    assert "r is 2. Before any data a state lasts 9 rows on average" in said
    assert "The first state of a sequence is drawn from β." in said
    assert "The last segment of a sequence ends with its last row." in said
    assert "1 transition besides self-loops cannot occur." in said
    assert "None: segments may be as long as their sequence." in said
    assert "segments may begin at 3 rows besides first rows of sequences, which were given" in said


def test_autoregressive_states_have_coefficients_and_means(tmp_path: Path) -> None:
    values = np.c_[levels(), levels(seed=2)]
    made = fit(luce.SemiMarkov(3, Autoregressive(), Poisson(mean=15)), values, 4, chains=1)
    made["states"]["states"][:] = np.repeat([0, 1, 0, 1], 15)
    found = table_of(luce.report(made, tmp_path / "a.html", pictures=False), 2)
    own = made["states"]["coefficients"].values[0][:, :2]  # (draw, state, channel, regressor)
    expected = [own[:, k, j, j].mean() for k in (0, 1) for j in (0, 1)]
    heard = [float(x) for x in found["Coefficient of the row before"]]
    np.testing.assert_allclose(heard, expected)
    means = [values[np.repeat([k == 0, k == 1] * 2, 15), j].mean() for k in (0, 1) for j in (0, 1)]
    np.testing.assert_allclose([float(x) for x in found["Mean of its rows"]], means)


def test_categories_and_counts_are_described(tmp_path: Path) -> None:
    letters = list("aaaaabbbbbcaaaaabbbbb")
    made = fit(luce.SemiMarkov(3, Categories(), Histogram(np.ones(9))), letters, 4, chains=1)
    page = luce.report(made, tmp_path / "a.html", pictures=False)
    said = text_of(page)
    assert "Categories, with probabilities for each state." in said
    assert (
        "with concentration given for each length. The mean duration before any data is 5" in said
    )
    found = table_of(page, 2)
    assert found["Category"][:3] == ["a", "b", "c"]
    drawn = found_in(made).states.emission_parameter("probabilities")
    assert drawn.shape[2] == 3  # of categories, not of durations
    chances = [float(x) for x in found["Probability"][:3]]
    np.testing.assert_allclose(chances, np.nanmean(drawn[:, 0], axis=0))
    assert table_of(page, 5) == {"Category": ["a", "b", "c"], "Rows": ["10.0", "10.0", "1.0"]}
    numbers = np.repeat([1.0, 9.0, 2.0], 12)
    made = fit(luce.SemiMarkov(3, Counts(), Poisson(mean=12)), numbers, 4, chains=1)
    page = luce.report(made, tmp_path / "b.html", pictures=False)
    said = text_of(page)
    assert "Counts, Poisson and independent of each other, with rates for each state." in said
    rates = made["states"]["rate"].values[0]
    numbers_of = found_in(made).states.numbers[:, 0]
    there = [rates[d, k, 0] for d, k in enumerate(numbers_of) if k >= 0]
    assert float(table_of(page, 2)["Rate"][0]) == pytest.approx(np.mean(there))


def test_times_stand_in_the_table_where_they_are_not_rows(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    model = luce.SemiMarkov(3, duration=Poisson(mean=15))
    frame = pandas.DataFrame({"time": 0.5 * np.arange(60), "x": levels()})
    made = fit(model, frame, 4, chains=1)
    made["states"]["states"][:] = np.repeat([0, 1, 0, 1], 15)
    page = luce.report(made, tmp_path / "a.html", pictures=False)
    found = table_of(page, 3)
    assert found["From"] == ["0.0", "7.5", "15.0", "22.5"]
    assert found["Until"] == ["7.0", "14.5", "22.0", "29.5"]
    assert "Times from 0 to 29.5" in text_of(page)
    made = fit(model, frame.assign(time=np.arange(60)), 4, chains=1)
    assert "From" not in table_of(luce.report(made, tmp_path / "b.html", pictures=False), 3)
    days = pandas.date_range("2024-03-01", periods=60, freq="D")
    made = fit(model, frame.assign(time=days), 4, chains=1)
    made["states"]["states"][:] = np.repeat([0, 1, 0, 1], 15)
    found = table_of(luce.report(made, tmp_path / "c.html", pictures=False), 3)
    assert found["From"] == ["2024-03-01", "2024-03-16", "2024-03-31", "2024-04-15"]


def test_functions_of_a_user_are_refused(tmp_path: Path) -> None:
    emission = Custom(
        lambda series, parameters: -0.5 * (series - parameters["m"]) ** 2,
        lambda rng, series, labels, parameters: parameters,
        lambda rng, n: {"m": rng.normal(size=n)},
    )
    made = fit(luce.SemiMarkov(3, emission, Poisson(mean=15)), levels(), 4, chains=1)
    assert luce.plots.segmentation(made).shape == (1, 2)
    with pytest.raises(DataError, match="the emission of this run is Custom"):
        luce.report(made, tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("candidates", [None, [10, 15, 30, 45]])
def test_the_lines_give_the_same_draws(candidates: Any) -> None:
    model = luce.SemiMarkov(3, duration=Poisson(mean=15))
    size = draws(compiled=10, plain=4)
    made = fit(model, levels(), size, candidates=candidates, keep_states=size // 2)
    lines = python_lines(found_in(made), None)
    assert lines is not None
    space: dict[str, Any] = {"run": made}
    quiet = "import warnings\nwarnings.simplefilter('ignore')\n"
    exec(quiet + "\n".join(line for line in lines if "luce.load" not in line), space)
    for group in ("posterior", "states"):
        for name, values in made[group].data_vars.items():
            np.testing.assert_array_equal(space["again"][group][name], values)


def test_a_saved_run_is_reported_by_the_command(
    run: xr.DataTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = fit(luce.SemiMarkov(3, duration=Poisson(mean=15)), levels(), 8)
    luce.save(made, tmp_path / "steps.nc")
    code = main(["report", str(tmp_path / "steps.nc")])
    assert code == (3 if judge_segments(found_in(made)).kind == "bad" else 0)
    written = tmp_path / "steps.html"
    assert "steps: 60 rows of 1 channel, segmented" in text_of(written)
    assert any("luce report" in text for text in printouts(written))
    assert json.loads(made.attrs["specification"])["duration"]["name"] == "poisson"
    capsys.readouterr()
    assert main(["report", str(tmp_path / "steps.nc"), "--among", "a"]) != 0
    assert "leave --among and --exclude out" in capsys.readouterr().err
    with pytest.raises(DataError, match="among chooses categories to rank"):
        luce.report(run, tmp_path / "a.html", among=["a"])


@pytest.mark.compiled
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_in_a_browser(browser: Any, page: Path, width: int) -> None:
    with visit(browser, page, width=width, dark=width == 360) as seen:
        assert len(seen.images()) == 5
        assert min(seen.contrasts("p, dd, caption span")) >= 4.5
        head = seen.page.query_selector_all(".sortable thead th")[1]
        button = head.query_selector("button")
        assert button is not None
        button.click()
        first = ".sortable tbody tr:first-child th"
        assert seen.page.eval_on_selector(first, "cell => cell.textContent") == "1"
        assert seen.violations() == []
        assert seen.clipped() == []
        assert seen.complaints() == []
