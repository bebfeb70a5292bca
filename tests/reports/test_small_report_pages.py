"""Pages: what a report says of a small run, and what any page is made of."""

import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray as xr

import luce
from luce.cli import main
from luce.errors import DataError, LuceError
from luce.page.document import Badge, Code, Folded, Link, Name, Number, Page, Panel, Strong
from luce.page.words import shortened
from luce.reports import answer, pictures, predictive, trust
from luce.reports.findings import Findings, find
from luce.reports.reproduce import python_lines, shell_lines
from luce.reports.whole import write_report
from luce.reports.wording import cell, digits_for, listed, names_of, percent, probability
from luce.sampling.convergence import _ENOUGH_ESS, _LARGEST_RHAT, _LEAST_ACCEPTANCE

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 6 4"><rect width="6" height="4"/></svg>'


def duels(labels: list[Any], rounds: int = 2) -> luce.ConditionalCounts:
    """Count duels of neighbours in a circle, which the earlier one mostly wins: a core."""
    counts = luce.ConditionalCounts(labels)
    for i, j in zip(range(len(labels)), [*range(1, len(labels)), 0], strict=True):
        wins = {labels[min(i, j)]: rounds, labels[max(i, j)]: 1}
        counts = counts.observe(wins, within=[labels[i], labels[j]])
    return counts


def sampled(counts: luce.ConditionalCounts, draws: int, a: Any = 1.0, **how: Any) -> xr.DataTree:
    how = {"chains": 2, "seed": 7, "progress": False, **how}
    return luce.Posterior(counts, a).sample(draws, **how)


@pytest.fixture(scope="module")
def exact() -> xr.DataTree:
    """Three ranked: independent draws, and enough of them."""
    counts = luce.ConditionalCounts(["Ann", "Bo", "Zoë"]).observe_ranking(["Bo", "Ann", "Zoë"], 9)
    return sampled(counts, 250)


@pytest.fixture(scope="module")
def saved(exact: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of these three."""
    file = tmp_path_factory.mktemp("saved") / "three.nc"
    luce.save(exact, file)
    return file


@pytest.fixture(scope="module")
def chains() -> xr.DataTree:
    """Duels among four, and one label that the data says nothing about."""
    labels = ["a", "b", "c", "d"]
    seen = duels(labels)
    powers: dict[Any, float] = dict(zip(labels, seen.category_counts.tolist(), strict=True))
    for t, power in enumerate(seen.sets.exponent.tolist()):
        powers[tuple(labels[i] for i in seen.sets.set_members(t))] = power
    grown = luce.ConditionalCounts.from_exponents([*labels, "unseen"], powers)
    return sampled(grown, 25, method="waiting-times", warmup=5)


@pytest.fixture(scope="module")
def drawn(chains: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the chains, with its pictures."""
    return luce.report(chains, tmp_path_factory.mktemp("drawn") / "a.html", ci_prob=0.8)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out, which take most of the time."""
    monkeypatch.setattr(pictures, "why_not", lambda: "none")


def text_of(page: Path) -> str:
    """All words of a page, without tags."""
    body = page.read_text(encoding="utf-8").split("</style>")[1]
    return " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())


def table_of(page: Path) -> dict[str, list[str]]:
    """The values by which the columns of the sortable table are sorted, or the texts."""
    html = page.read_text(encoding="utf-8").split('<div class="sortable">')[1]
    heads = [unescape(h) for h in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', html)]
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    rows = []
    for row in body.strip().split("\n"):
        found = re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row)
        values = [re.search(r'data-value="([^"]*)"', kind) for kind, _ in found]
        plain = [unescape(re.sub("<[^>]*>", "", inner)) for _, inner in found]
        rows.append([v[1] if v else t for v, t in zip(values, plain, strict=True)])
    return {h: [row[j] for row in rows] for j, h in enumerate(heads[: len(rows[0])])}


def printouts(page: Path) -> list[str]:
    return [unescape(x) for x in re.findall(r"<pre [^>]*>\n(.*?)</pre>", page.read_text(), re.S)]


def checks_of(run: xr.DataTree) -> dict[str, trust.Check]:
    return {check.what: check for check in trust.judge(find(run, 0.9)).checks}


# The report: its numbers.


def test_a_report_holds_the_numbers_of_the_summary(chains: xr.DataTree, drawn: Path) -> None:
    found = table_of(drawn)
    table = luce.summary(chains, 0.8, sort=True)
    assert found["Category"] == [str(label) for label in table.categories]
    for head, column in {
        "Mean": "mean", "80 % interval": "eti80_lb", "P(best)": "p_best", "Rank": "rank",
        "Rank, 80 %": "rank_lb", "ESS": "ess_bulk", "R-hat": "r_hat",
    }.items():  # fmt: skip
        values = [float(x) if x else np.nan for x in found[head]]
        np.testing.assert_allclose(values, table[column], rtol=1e-12, err_msg=head)
    elo = luce.elo(chains).mean(("chain", "draw"))
    np.testing.assert_allclose(
        [float(x) for x in found["Elo"]], elo.sel(category=list(table.categories))
    )
    assert [x.replace("\xa0", " ") for x in found["Known from"]] == [
        "◐ prior only" if label == "unseen" else "data" for label in table.categories
    ]


def test_pictures_are_described_by_their_numbers(chains: xr.DataTree, drawn: Path) -> None:
    html = drawn.read_text(encoding="utf-8")
    described = [unescape(alt) for alt in re.findall(r'alt="([^"]*)"', html)]
    assert len(described) == 6
    strengths, ranks, wins, traces, lags, check = described
    table = luce.summary(chains, 0.8, sort=True)
    first = f"\u2068{table.categories[0]}\u2069"
    assert f"{first} {table['mean'][0]:.3f} ({table['10%'][0]:.3f} to" in strengths
    order = luce.answers.expected_order(chains)
    best = luce.rank_probabilities(chains).sel(category=order[0]).to_numpy()
    assert f"\u2068{order[0]}\u2069 rank {best.argmax() + 1} ({best.max():.3f})" in ranks
    over = luce.answers.win_matrix(chains).to_numpy()
    place = [list(chains.posterior["category"].to_numpy()).index(label) for label in order[:2]]
    assert f"is chosen over \u2068{order[1]}\u2069 {over[place[0], place[1]]:.3f}" in wins
    assert "Draws of 2 chains, one after another, 25 each." in traces
    assert re.search(r"at lag 1, (below 0\.1 from lag \d+ on|above 0\.1 up to lag 24)", lags)
    assert "of 4 categories" in check
    for code in re.findall(r"<img src=\"data:image/svg\+xml;base64,([^\"]+)", html):
        assert ElementTree.fromstring(b64decode(code)).tag.endswith("svg")


@pytest.mark.usefixtures("undrawn")
def test_an_exact_run_is_told_as_such(exact: xr.DataTree, saved: Path, tmp_path: Path) -> None:
    page, verdict = write_report(saved, tmp_path / "three.html")
    said = text_of(page)
    assert verdict.kind == "good"
    assert "Every draw is an exact and independent draw" in said
    assert "there are enough draws to make it small" in said
    assert "none: independent draws need none" in said
    assert "three: 3 categories, 27 outcomes" in said
    best = luce.probability_best(exact)
    assert f"is the best with probability {float(best.max()):.3f}" in said


@pytest.mark.parametrize(
    ("wins", "words"),
    [
        ({"a": 90, "b": 1, "c": 1}, "is the best with probability"),
        ({"a": 5, "b": 3, "c": 2}, "is probably the best, with probability"),
        ({"a": 2, "b": 2, "c": 2}, "No category is likely to be the best"),
    ],
)
def test_the_lead_says_how_sure_the_best_is(wins: dict[str, int], words: str) -> None:
    found = find(sampled(luce.ConditionalCounts("abc").observe(wins), 60), 0.9)
    lead = "".join(x if isinstance(x, str) else x.text for x in answer.lead(found))
    assert words in lead
    assert f"{probability(float(found.table['p_best'].max()))}; next comes" in lead


def test_the_lead_counts_who_can_be_told_apart() -> None:
    def lead(wins: dict[str, int]) -> str:
        found = find(sampled(luce.ConditionalCounts("abc").observe(wins), 60), 0.9)
        groups = len(luce.tie_groups(found.run))
        assert groups == len(set(found.group.tolist()))
        return "".join(x if isinstance(x, str) else x.text for x in answer.lead(found))

    assert "All 3 can be told apart, each from the next, at 95 %" in lead({"a": 900, "b": 90})
    assert "The draws tell none of the 3 from the first, at 95 %" in lead({"a": 1})
    assert "fall into 2 groups that can be told apart" in lead({"a": 900, "b": 5, "c": 5})


@pytest.mark.usefixtures("undrawn")
def test_one_category_is_all_there_is(tmp_path: Path) -> None:
    run = sampled(luce.ConditionalCounts(["only"]).observe({"only": 2}), 220)
    page, verdict = write_report(run, tmp_path / "a.html")
    assert verdict.kind == "good"
    said = text_of(page)
    assert "There is only one category, only ." in said
    assert "no category varies" in said
    assert "nothing to compute: too few draws or chains, or no variation" in said
    assert "1 category, 2 outcomes" in said


def test_nothing_is_drawn_where_there_is_nothing_to_show(exact: xr.DataTree) -> None:
    page = Page("x")
    before = page.to_html()
    one = find(sampled(luce.ConditionalCounts(["only"]).observe({"only": 2}), 10), 0.9)
    pictures.write_answer_pictures(page, one)  # nobody to compare with
    pictures.write_chain_pictures(page, find(exact, 0.9))  # no chains
    pictures.write_check_picture(page, one, "the data has too many cells")
    assert page.to_html() == before


def test_of_many_categories_only_the_first_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sampled(luce.ConditionalCounts(range(5)).observe({0: 9, 1: 7, 2: 5, 3: 3}), 20)
    monkeypatch.setattr(answer, "MOST_ROWS", 2)
    monkeypatch.setattr(pictures, "_MOST_WINS", 4)
    monkeypatch.setattr(pictures, "_TOLD", 3)
    page, found = Page("x"), find(run, 0.9)
    answer.write_table(page, found)
    pictures.write_answer_pictures(page, found)
    said = unescape(page.to_html())
    table = luce.summary(run, sort=True)
    # Labels that are numbers are sorted as such.
    rows = re.findall(r'<th scope="row" class="number" data-value="([^"]*)">', said)
    assert rows == [repr(float(label)) for label in table.categories[:2]]  # type: ignore[arg-type]
    assert "The 3 smallest are left out." in said
    assert f"; 2 more, down to \u2068{table.categories[-1]}\u2069 with" in said
    assert "; 2 more follow." in said
    assert "column, the best 4 of 5." in said


def test_probabilities_stored_as_zero_have_no_odds_and_no_duels() -> None:
    run = sampled(luce.ConditionalCounts("abc").observe({"a": 3}), 20).copy(deep=True)
    run["posterior"]["probabilities"].to_numpy()[:, 0] = [1.0, 0.0, 0.0]
    page, found = Page("x"), find(run, 0.9)
    answer.write_table(page, found)
    assert found.log_odds is None
    assert "<th" in page.to_html()
    assert "Log odds" not in page.to_html()
    assert "draw again with log_probabilities=True" in page.to_html()
    assert pictures._wins(found) == []


# The report: data and model.


@pytest.mark.usefixtures("undrawn")
def test_sets_groups_and_priors_are_told(tmp_path: Path) -> None:
    counts = luce.ConditionalCounts("abcdefghij")
    counts = counts.observe({"a": 3, "b": 4}, within="ab").observe({"c": 2}, within="cd")
    counts = counts.observe({"e": 5, "f": 1}, without="a")
    how: dict[str, Any] = {"method": "waiting-times", "warmup": 2}
    run = sampled(counts, 10, np.linspace(1, 2, 10), **how)
    said = text_of(luce.report(run, tmp_path / "a.html"))
    assert "concentrations from 1 to 2, 15 together" in said
    assert "{a, b} given 2 7" in said
    assert "all but {a} given 9 6" in said
    apart = luce.ConditionalCounts("abcdefgh").observe({"a": 3, "b": 1}, within="ab")
    apart = apart.observe({"c": 1, "d": 4}, within="cd")
    said = text_of(luce.report(sampled(apart, 10, 2.0, **how), tmp_path / "b.html"))
    assert "as much as 2 outcomes of each would weigh" in said
    assert "within 6 groups only" in said
    assert "Groups of categories that the data compares" in said
    assert "4: " in said  # the categories known from the prior alone


@pytest.mark.usefixtures("undrawn")
def test_what_is_too_much_is_counted(tmp_path: Path) -> None:
    labels = [f"player {i}" for i in range(36)]
    counts = luce.ConditionalCounts(labels)
    for i in range(0, 36, 2):
        counts = counts.observe({labels[i]: 2, labels[i + 1]: 1}, within=labels[i : i + 2])
    counts = counts.observe_group(labels[:8], 5, within=labels[:10])
    run = sampled(counts, 10, method="waiting-times", warmup=2)
    said = text_of(luce.report(run, tmp_path / "a.html"))
    assert "The sets with the most outcomes; 10 more are not shown" in said
    assert "and 2 more} grouped 8 5" in said
    assert "within 14 groups only" in said  # ten, and 13 pairs
    assert "Groups of categories that the data compares; 4 smaller ones are not shown" in said


@pytest.mark.usefixtures("undrawn")
def test_every_core_is_told_with_its_method(tmp_path: Path) -> None:
    counts = luce.ConditionalCounts("abcdefgh")
    for some in ("abc", "def"):
        for pair in (some[:2], some[1:], some[::2]):
            counts = counts.observe({pair[0]: 2, pair[1]: 1}, within=pair)
    run = sampled(counts, 20, method="waiting-times", warmup=5)
    cores = luce.posterior_of(run).structure.cores
    assert len(cores) == 2
    said = text_of(luce.report(run, tmp_path / "a.html"))
    assert "Only the cores were simulated" in said
    for q, core in enumerate(cores, 1):
        assert f"{q} {core.n_atoms} {core.n_sets} waiting-times asked for" in said


@pytest.mark.usefixtures("undrawn")
def test_a_drawn_concentration_is_told_and_judged(tmp_path: Path) -> None:
    run = sampled(duels(list("abc")), 30, luce.Gamma(2, 1), warmup=5)
    page, _ = write_report(run, tmp_path / "a.html")
    drawn = run.posterior["concentration"].to_numpy()
    low, high = np.quantile(drawn, [0.05, 0.95])
    said = text_of(page)
    assert "gamma distribution of shape 2 and rate 1" in said
    assert f"posterior mean {drawn.mean():.3g}, with 90 % between {low:.3g} and {high:.3g}" in said
    apart = run.copy(deep=True)
    apart.posterior["concentration"][0] += 10  # a chain that never met the others
    assert checks_of(apart)["R-hat"].found[1] == Name("the concentration")  # type: ignore[index]


@pytest.mark.usefixtures("undrawn")
def test_grouped_and_too_large_data_have_no_check(
    tmp_path: Path, chains: xr.DataTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = luce.ConditionalCounts("abc").observe_group("ab", 3).observe({"c": 1})
    said = text_of(luce.report(sampled(counts, 20), tmp_path / "a.html"))
    assert "No posterior predictive check: " in said
    monkeypatch.setattr(predictive, "_WORK", 100)
    said = text_of(luce.report(chains, tmp_path / "a.html"))
    assert re.search(r"the data has \d+ cells, too many to replicate", said)


def test_a_predictive_check_finds_what_the_model_cannot_make() -> None:
    """Draws of other data: what was recorded lies outside all replicates."""
    labels = [chr(97 + i) for i in range(14)]
    posterior = luce.Posterior(luce.ConditionalCounts(labels).observe(dict.fromkeys(labels, 40)))
    run = posterior.sample(40, chains=2, seed=1, progress=False)
    found = find(run, 0.9)
    wrong = luce.ConditionalCounts(labels).observe({c: 20 + 3 * k for k, c in enumerate(labels)})
    found.__dict__["posterior"] = luce.Posterior(wrong)
    check = predictive.replicate(found)
    assert not isinstance(check, str)
    assert check.replicated.sum(axis=1).tolist() == [wrong.n_outcomes] * 80
    low, high = check.ends(0.9)
    out = (check.recorded < low) | (check.recorded > high)
    first = list(found.table.categories).index("a")
    assert check.surprise[check.rows.index(first)] == 0  # 20 of 40 were recorded
    page = Page("check")
    predictive.write_check(page, found, check)
    pictures.write_check_picture(page, found, check)
    html = unescape(page.to_html())
    assert f"recorded count of {(~out).sum()} of 14 categories lies within the 90 %" in html
    assert f"{(~out).sum()} of 14 categories; outside: " in html
    assert (", 1 more." in html) == (out.sum() == 11)


# The report: trust.


def test_the_thresholds_are_those_of_the_warning() -> None:
    assert (trust.ENOUGH_ESS, trust.LARGEST_RHAT) == (_ENOUGH_ESS, _LARGEST_RHAT)
    assert trust.LEAST_ACCEPTANCE == _LEAST_ACCEPTANCE


def made_up(p: np.ndarray, independent: int = 0) -> xr.DataTree:
    """Make a run of given draws of three categories."""
    run = sampled(luce.ConditionalCounts("abc").observe({"a": 2}), 4)
    dims = ("chain", "draw", "category")
    draws = xr.DataArray(p, {"category": list("abc")}, dims, "probabilities")
    groups = {name: run[name].to_dataset() for name in ("constant_data", "observed_data")
              if name in run.children}  # fmt: skip
    tree = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"probabilities": draws}), "sample_stats": xr.Dataset(), **groups}
    )
    tree.attrs.update(run.attrs, independent_draws=independent)
    return tree


WHITE = np.random.default_rng(1).dirichlet(np.ones(3), (4, 500))


def one_chain_apart(first: float) -> np.ndarray:
    """Chains that agree but for the first, of another concentration."""
    p = WHITE.copy()
    p[0] = np.random.default_rng(2).dirichlet([first, 1.0, 1.0], 500)
    return p


def test_verdicts_on_chains() -> None:
    white, shifted, apart = WHITE, one_chain_apart(1.4), one_chain_apart(9.0)
    assert trust.judge(find(made_up(white), 0.9)).kind == "good"
    worst = luce.summary(made_up(shifted))["r_hat"].max()
    assert 1.01 < worst < 1.05
    found = checks_of(made_up(shifted))
    assert found["R-hat"].kind == "mixed"
    assert found["R-hat"].found[0] == f"{worst:.3f} ("
    assert trust.judge(find(made_up(apart), 0.9)).kind == "bad"
    alone = checks_of(made_up(white[:1]))["R-hat"]
    assert (alone.kind, alone.found) == ("mixed", "cannot be computed from 1 chain of 500 draws")
    short = checks_of(made_up(white[:, :3]))
    assert [short[w].kind for w in ("R-hat", "Effective sample size")] == ["bad", "bad"]
    assert short["R-hat"].found == "cannot be computed from 4 chains of 3 draws"
    assert short["Monte Carlo error of the mean"].kind == "bad"
    assert short["Effective sample size"].found == "cannot be computed from 3 draws a chain"


def test_verdicts_on_independent_draws() -> None:
    white = np.random.default_rng(1).dirichlet(np.ones(3), (4, 120))
    found = checks_of(made_up(white, 1))
    assert {found[w].kind for w in ("Draws", "Effective sample size")} == {"good"}
    assert found["R-hat"].kind == "neutral"
    few = trust.judge(find(made_up(white[:, :10], 1), 0.9))
    assert (few.kind, few.headline) == ("mixed", "Trust the draws with care")
    three = checks_of(made_up(white[:, :3], 1))
    assert three["R-hat"].found == "not computed"
    assert three["Effective sample size"].kind == "mixed"


@pytest.mark.usefixtures("undrawn")
def test_the_reason_of_a_verdict_is_given(tmp_path: Path) -> None:
    for k, (p, independent, words) in enumerate(
        [
            (WHITE, 0, "and they have."),
            (one_chain_apart(1.4), 0, "They nearly have; more draws would make sure."),
            (one_chain_apart(9.0), 0, "They have not: take more draws, or another method."),
            (WHITE[:, :10], 1, "which is large here: take more draws."),
        ]
    ):
        page = luce.report(made_up(p, independent), tmp_path / f"{k}.html")
        assert words in text_of(page)


def test_accepted_proposals_and_interruptions_are_told() -> None:
    run = sampled(duels(list("abcd")), 20, method="metropolis", warmup=5)
    least = run["sample_stats"]["accepted"].mean("draw").to_numpy().min()
    check = checks_of(run)["Accepted proposals of a chain"]
    assert check.found == f"{100 * least:.2g} %"
    assert check.kind == ("good" if least >= trust.LEAST_ACCEPTANCE else "bad")
    run.attrs["interrupted"] = 1
    words = checks_of(run)["Interrupted"].found
    assert words == "Ctrl-C ended the run after 20 draws of each chain"


# The report: the same again.


@pytest.mark.parametrize(
    "how",
    [
        {"method": "metropolis", "proposal_concentration": 160.0},
        {"method": "metropolis"},
        {"log_probabilities": True, "seed": np.random.SeedSequence([3, 4]).spawn(3)[2]},
        {"seed": np.random.SeedSequence(3).spawn(2)[1], "method": "waiting-times", "reduce": False},
    ],
    ids=["given proposal", "tuned proposal", "logarithms", "raw categories"],
)
def test_the_lines_give_the_same_draws(how: dict[str, Any]) -> None:
    run = sampled(duels(list("abcd")), 8, **{"warmup": 3, **how})
    lines = python_lines(find(run, 0.9), None)
    assert lines is not None
    space: dict[str, Any] = {"run": run}
    exec("\n".join(line for line in lines if "luce.load" not in line), space)
    assert space["again"].posterior.to_dataset().equals(run.posterior.to_dataset())


def test_the_lines_begin_with_the_file(exact: xr.DataTree, tmp_path: Path) -> None:
    file = tmp_path / 'a "name".nc'
    luce.save(exact, file)
    lines = python_lines(find(exact, 0.9), str(file))
    assert lines is not None
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    assert space["again"].posterior.to_dataset().equals(exact.posterior.to_dataset())
    shell = shell_lines(lines, "a b.nc")
    assert shell[0] == "python - <<'END'"
    assert shell[-1] == "luce report 'a b.nc' --out 'a b.html'"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("seed", ["__import__('os').system('true')", "[]", "-1", "1.5"])
def test_a_seed_that_is_no_number_is_not_run(seed: str, exact: xr.DataTree, tmp_path: Path) -> None:
    run = exact.copy()
    run.attrs["seed"] = seed
    page = luce.report(run, tmp_path / "a.html")
    assert "so its draws cannot be made again" in text_of(page)
    assert not any("sample(" in text for text in printouts(page))


@pytest.mark.usefixtures("undrawn")
def test_a_run_in_memory_is_to_be_saved_first(chains: xr.DataTree, tmp_path: Path) -> None:
    page = luce.report(chains, tmp_path / "a.html", title="Mine")
    code = next(text for text in printouts(page) if text.startswith("import luce"))
    assert 'run = luce.load("run.nc")  # written by luce.save(run, "run.nc")' in code
    assert "if `initial` was given, give it again" in text_of(page)
    assert "<h1>Mine</h1>" in page.read_text()


# The command, and mistakes.


@pytest.mark.usefixtures("undrawn")
def test_the_command(
    chains: xr.DataTree, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    luce.save(chains, tmp_path / "chains.nc")
    assert main(["report", str(tmp_path / "chains.nc")]) == 3
    said = capsys.readouterr().out
    assert said.startswith("Do not trust these draws yet.")
    assert str(tmp_path / "chains.html") in said
    out = tmp_path / "x.html"
    assert main(["report", str(saved), "--out", str(out), "--title", "A <b>"]) == 0
    assert "<h1>A &lt;b&gt;</h1>" in out.read_text()
    assert main(["report", str(saved), "--out", str(tmp_path / "no" / "x.html")]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_mistakes(exact: xr.DataTree, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in \.html"):
        luce.report(exact, tmp_path / "a.nc")
    with pytest.raises(DataError, match="ci_prob"):
        luce.report(exact, tmp_path / "a.html", ci_prob=1.5)
    with pytest.raises(DataError, match="run"):
        luce.report(np.ones((1, 1, 1)), tmp_path / "a.html")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_page_has_no_pictures(
    exact: xr.DataTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = luce.report(exact, tmp_path / "a.html")
    assert "There are no pictures: drawing needs matplotlib" in text_of(page)
    assert "<img" not in page.read_text()


def test_findings_are_of_the_run(chains: xr.DataTree) -> None:
    found = find(chains, 0.9)
    own = Findings(chains, 0.9, found.table).posterior
    assert own.counts == found.posterior.counts
    assert (found.n, found.chains, found.draws, found.independent) == (5, 2, 25, False)
    odds = np.log(chains.posterior["probabilities"].to_numpy())
    odds -= odds.mean(axis=2, keepdims=True)
    order = [list("abcd").index(c) if c in "abcd" else 4 for c in found.table.categories]
    np.testing.assert_allclose(found.log_odds, odds.mean(axis=(0, 1))[order])
    assert [label for group in found.comparable for label in group].count("unseen") == 1


# Wording.


def test_numbers_and_names_in_words() -> None:
    assert names_of(["a", 1, "1", " "]) == ["a", "1", "'1'", "' '"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [percent(x) for x in (0.9, 0.995)] == ["90 %", "99.5 %"]
    assert [digits_for(np.array([x])) for x in (0.5, 0.001, 1e-9, 0.0)] == [3, 5, 6, 6]
    values = [probability(x) for x in (0.0, 1e-5, 0.1234, 0.99999, 1.0)]
    assert values == ["0", "<0.001", "0.123", ">0.999", "1"]
    texts = [cell(x, ".1f").text for x in (np.nan, np.inf, -2.0, -0.01, 3.0)]
    assert texts == ["–", "∞", "−2.0", "0.0", "3.0"]


# Pages in general.


def everything(text: str) -> Page:
    """The text in every position that takes text."""
    page = Page(text, [text, Code(text), Strong(text)])
    page.section(text)
    page.text(text, Link(text, "#main"), Badge(text, "bad"), Name(text), Number(text, 1.0))
    page.figure([Panel(SVG, text, text), Panel(SVG, text)], [text])
    page.table([text, text], [[text, [text, Code(text)]]], caption=text)
    page.table([text, text], [[Folded(text * 60), Number(text, 1.0)]], numeric=[1], sortable=True)
    page.facts({text: Folded(text)})
    page.preformatted(text)
    return page


def test_text_stays_text() -> None:
    hostile = everything("</p><script>alert(1)</script>\"' onfocus='x&amp;").to_html()
    tame = everything("tame").to_html()

    def tags(html: str) -> Iterator[str]:
        yield from re.findall(r"<(/?[a-z0-9]+)", html.split("</style>")[1])

    assert list(tags(hostile)) == list(tags(tame))
    assert "onfocus='x" not in hostile


def test_only_the_pages_own_script_is_allowed() -> None:
    html = everything("x").to_html()
    code = re.findall(r"<script>(.*?)</script>", html, re.S)
    digest = b64encode(sha256(code[0].encode()).digest()).decode()
    assert len(code) == 1
    assert f"script-src 'sha256-{digest}'" in html
    plain = Page("x").to_html()
    assert "<script" not in plain
    assert "script-src" not in plain
    assert "<nav" not in plain
    assert "default-src 'none'" in plain


def test_ids_are_unique_and_pictures_come_back() -> None:
    page = Page("x")
    for title in ["Main", "Été & co", "Été, co", "数", "数"]:
        page.section(title)
    page.figure([Panel(SVG, "alone")])
    html = page.to_html()
    ids = re.findall(r'<h2 id="([^"]*)"', html)
    assert ids == ["main-2", "ete-co", "ete-co-2", "section", "section-2"]
    (image,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert b64decode(image).decode() == SVG
    assert html == page.to_html()


def test_cells_are_sorted_by_their_values() -> None:
    page = Page("x")
    rows = [
        ["a", Number("1,000", 1000)], ["b", "-2,000.5"], ["c", Number("–", float("nan"))],
        ["d", Number("∞", float("inf"))],
    ]  # fmt: skip
    page.table(["team", "points"], rows, numeric=[1], sortable=True)
    values = re.findall(r'data-value="([^"]*)"', page.to_html())
    assert values == ["1000.0", "-2000.5", "", "Infinity"]
    with pytest.raises(DataError, match="'x' stands in a numeric column"):
        page.table(["a"], [["x"]], numeric=[0], sortable=True)
    with pytest.raises(DataError, match="give a Number"):
        page.table(["a"], [[Code("1")]], numeric=[0], sortable=True)


def test_what_html_cannot_hold_is_marked() -> None:
    page = Page("x")
    page.text("a\x00b\x1b\ud800c\r\nd")
    assert "<p>a\ufffdb\ufffd\ufffdc\nd</p>" in page.to_html()
    assert shortened("a name of many words", 10) == "a name of…"
    assert shortened("two\nlines") == "two lines"


@pytest.mark.parametrize("address", ["http://a.org/x?y=1", "mailto:a@b.org", "#x", "../a:b.html"])
def test_links_that_are_allowed(address: str) -> None:
    page = Page("x")
    page.text(Link("here", address))
    assert f'<a href="{address}">here</a>' in page.to_html()


@pytest.mark.parametrize("address", ["javascript:x", " data:x", "//host/x", "a b", "\\\\h", ""])
def test_links_that_are_refused(address: str) -> None:
    with pytest.raises(DataError, match="link"):
        Link("here", address)


WRONG: dict[str, Any] = {
    "Row 1 .* needs 2 cells": lambda p: p.table(["a", "b"], [["c", "d"], ["e"]]),
    "head is": lambda p: p.table([], []),
    r"columns \[2\] do not exist": lambda p: p.table(["a", "b"], [], numeric=[1, 2]),
    "1.5 is not words": lambda p: p.table(["a", "b"], [["c", 1.5]]),
    "7 is not words": lambda p: p.text(Code(7)),  # type: ignore[arg-type]
    "no panels": lambda p: p.figure([]),
    "facts is empty": lambda p: p.facts({}),
    "section's title is ' '": lambda p: p.section(" "),
    "kind 'great': choose from good, bad": lambda p: Badge("x", "great"),
    "is not SVG: not well-formed": lambda p: Panel("<svg><a & b></svg>", "x"),
    "its root is 'svg'": lambda p: Panel("<svg/>", "x"),
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_on_pages_are_named(message: str) -> None:
    page = Page("x")
    before = page.to_html()
    with pytest.raises(DataError, match=message):
        WRONG[message](page)
    assert page.to_html() == before


def test_a_page_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = everything("x")
    file = page.save(tmp_path / "a.html")
    assert file.read_text(encoding="utf-8") == page.to_html()
    with pytest.raises(DataError, match="no folder"):
        page.save(tmp_path / "none" / "a.html")

    def fail(self: Path, *_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(LuceError, match="disk full"):
        Page("other").save(file)
    assert file.read_text(encoding="utf-8") == page.to_html()
    assert list(tmp_path.iterdir()) == [file]
