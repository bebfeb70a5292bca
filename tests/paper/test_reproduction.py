"""The report on the paper: its claims, page, figures and numbers, by library and by command."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from lib.bounds import SEED
from lib.browser import chromium, visit
from lib.paper_runs import a_microsecond, comparison, silent
from lib.places import DOCS

from luce.answers import diagnostics
from luce.cli import main
from luce.errors import MethodError
from luce.paper import FIGURES, Reproduction, reproduce, samplers
from luce.paper.claims import Verdict, tally
from luce.paper.examples import paper_posterior
from luce.paper.experiments import Experiments, steps_of
from luce.paper.figures import drawing_style, mpsrf_figure
from luce.paper.reproduction import publish
from luce.paper.samplers import HIDDEN, SAMPLERS, Scale
from luce.paper.sections import SECTIONS, count_steps
from luce.paper.tables import autocorrelation_table, convergence_table

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS
OWN = SEED + 1  # seed of the experiments
TINY = Scale(
    chains=3,
    draws=48,
    points=3,
    lags=5,
    spacing=2,
    tuning=10,
    sizes=(12, 20),
    size_chains=2,
    size_draws=20,
)
WRITTEN = ("graphical-models", "mpsrf-10")  # figures that the tiny report writes


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """The report at the scale of `--quick`."""
    return reproduce(tmp_path_factory.mktemp("paper"), quick=True, seed=OWN, progress=False)


@pytest.fixture(scope="module")
def tiny() -> Experiments:
    """All experiments at a tiny scale, each made when first asked for."""
    return Experiments(TINY, OWN, silent, a_microsecond)


@pytest.fixture(scope="module")
def tiny_report(tiny: Experiments, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Two figures of the tiny experiments."""
    with drawing_style():
        return publish(tiny, WRITTEN, tmp_path_factory.mktemp("tiny"), "luce paper --tiny", silent)


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_claims_of_tiny_experiments(tiny: Experiments) -> None:
    claims = {name: section.judge(tiny) for name, section in SECTIONS.items()}
    every = [claim for listed in claims.values() for claim in listed]
    assert len({claim.statement for claim in every}) == len(every) >= 20
    assert all(any(c.isdigit() for c in claim.measured) for claim in every)
    assert sum(claim.ours for claim in every) == 3
    (summed,) = claims["graphical-models"]
    assert summed.verdict is HOLDS
    assert claims["densities"][0].verdict is FAILS  # the formula as printed
    assert [size.n for size in tiny.sizes] == [10, 12, 20]
    assert tiny.sizes[0].effective == tiny.ten[HIDDEN].effective


def test_the_page_says_what_was_judged(tiny_report: Reproduction) -> None:
    assert tuple(tiny_report.claims) == WRITTEN
    claims = [claim for listed in tiny_report.claims.values() for claim in listed]
    page = tiny_report.page.read_text(encoding="utf-8")
    assert page.count("Holds if ") == len(claims)
    assert page.count("Check of ours: ") == sum(claim.ours for claim in claims)
    assert tally(claims) in page
    assert "luce paper --tiny" in page


def test_pictures_and_numbers_are_files(tiny_report: Reproduction) -> None:
    folder = tiny_report.page.parent
    for name in WRITTEN:
        pictures = sorted(folder.glob(f"{name}-*.svg"))
        assert len(pictures) == 2
        assert all(ElementTree.parse(svg).getroot().tag.endswith("svg") for svg in pictures)
        assert all(svg.with_suffix(".png").read_bytes().startswith(b"\x89PNG") for svg in pictures)
    claims = rows_of(folder, "claims")
    assert [float(row["value"]) for row in claims] == pytest.approx(
        [claim.value for listed in tiny_report.claims.values() for claim in listed], nan_ok=True
    )
    rates = rows_of(folder, "rates")
    assert [row["sampler"] for row in rates[:5]] == [s.key for s in SAMPLERS[10]]
    for row in rates:
        rate = float(row["effective_share"]) / float(row["seconds_a_draw"])
        assert float(row["effective_draws_a_second"]) == pytest.approx(rate)
        assert (row["accepted"] == "") == (not row["sampler"].startswith("metropolis"))


def test_the_numbers_are_those_of_the_draws(tiny_report: Reproduction, tiny: Experiments) -> None:
    """Numbers of the paper's sampler against plain ones from the same draws."""
    seed = np.random.SeedSequence([OWN, 10, SAMPLERS[10].index(HIDDEN)]).spawn(2)[1]
    tree = samplers.sample(paper_posterior(10), HIDDEN.options, 3, 48, seed=seed)
    p = tree["posterior"]["probabilities"].to_numpy()
    truth = p[:, 24:].mean(axis=(0, 1))
    errors = np.linalg.norm(p[:, 24:].mean(axis=1) - truth, axis=1)
    columns = convergence_table(tiny.ten)
    keys = list(zip(*(columns[k] for k in ("sampler", "statistic", "draws")), strict=True))
    last = keys.index((HIDDEN.key, "mean", 48))
    assert list(columns["mean"])[last] == pytest.approx(errors.mean())
    assert list(columns["percentile_90"])[last] == pytest.approx(np.percentile(errors, 90))
    rhat = [r for r in rows_of(tiny_report.page.parent, "mpsrf-10") if r["sampler"] == HIDDEN.key][
        -1
    ]
    assert float(rhat["rhat"]) == pytest.approx(diagnostics.mpsrf(p[:, 24:]))
    lags = autocorrelation_table(tiny.ten)
    mean = diagnostics.autocorrelation(p[..., :2], 5).to_numpy().mean(axis=0)
    assert list(lags["mean"])[:12] == pytest.approx(mean.T.ravel())


def test_each_figure_takes_what_it_says() -> None:
    said: list[str] = []
    found, steps = Experiments(TINY, OWN, said.append, a_microsecond), steps_of(TINY)
    for name in steps:  # "sizes" builds on "ten", which comes before it
        said.clear()
        getattr(found, name)
        assert len(said) == steps[name]
    for name, section in SECTIONS.items():
        asked = set()

        class Asked:
            def __getattr__(self, attribute: str, asked: set[str] = asked) -> Any:
                asked.add(attribute)
                return getattr(found, attribute)

        experiments: Any = Asked()
        section.judge(experiments)
        if section.tabulate is not None:
            section.tabulate(experiments)
        assert asked == set(section.needs), name
    assert count_steps(["mpsrf-10", "autocorrelation"], TINY) == steps["ten"] + 2
    assert count_steps(FIGURES, TINY) == sum(steps.values()) + len(FIGURES)


# -- figures -------------------------------------------------------------------------------------


def test_every_figure_is_drawn_and_has_its_numbers(tiny: Experiments) -> None:
    with drawing_style():
        drawn = {name: section.draw(tiny) for name, section in SECTIONS.items()}
    panels = dict.fromkeys(FIGURES, 2) | {"densities": 4, "statistic-convergence": 4}
    assert {name: len(some) for name, some in drawn.items()} == panels
    (patches,) = drawn["densities"][2].figure.axes[0].collections
    np.testing.assert_allclose(patches.get_array(), tiny.densities.truncated * 1600)
    first = drawn["autocorrelation"][0].figure.axes[0]
    for line, run in zip(first.lines, tiny.ten, strict=True):
        np.testing.assert_allclose(line.get_ydata(), run.autocorrelation[:, 1:, 0].mean(axis=0))
    assert first.xaxis.get_major_formatter()(2000, 0) == "2,000"
    columns = {
        name: {k: list(column) for k, column in section.tabulate(tiny).items()}
        for name, section in SECTIONS.items()
        if section.tabulate is not None
    }
    assert set(columns) == set(FIGURES) - {"graphical-models"}
    for column in ("prior", "posterior_plain", "posterior_truncated", "draws"):
        assert sum(columns["densities"][column]) == pytest.approx(1)
    assert len(columns["mpsrf-20"]["rhat"]) == len(SAMPLERS[20]) * TINY.points


def test_a_figure_shows_what_was_measured() -> None:
    twenty = comparison(20)
    with drawing_style():
        by_index, by_seconds = mpsrf_figure(twenty)
    ax = by_index.figure.axes[0]
    for line, run in zip(ax.lines, twenty, strict=True):
        np.testing.assert_allclose(line.get_ydata(), run.rhat - 1)
        assert line.get_label() == run.label
    assert ax.yaxis.get_major_formatter()(0.25, 0) == "1.25"
    seconds = by_seconds.figure.axes[0].lines[0].get_xdata()
    np.testing.assert_allclose(seconds, twenty[HIDDEN].index * 1e-6)
    assert "n = 20" in by_seconds.description


# -- the report of --quick -----------------------------------------------------------------------


@pytest.mark.compiled
def test_every_claim_has_a_number_a_criterion_and_a_verdict(report: Reproduction) -> None:
    assert tuple(report.claims) == FIGURES
    claims = [claim for listed in report.claims.values() for claim in listed]
    assert len({claim.statement for claim in claims}) == len(claims) >= 20
    for claim in claims:
        assert any(c.isdigit() for c in claim.measured), claim
        assert np.isfinite(claim.value), claim
        assert claim.criterion
    # Whatever does not rest on seconds: the slips of the paper, and nothing else, fail.
    seconds = ("elapsed time", "every second", "fast to execute", "scales easily")
    sure = [c for c in claims if not any(words in c.statement for words in seconds)]
    assert len(sure) == len(claims) - 6
    unsure = ["With one truncated", "Mean and mode", "R̂ is the largest", "In the experiments β"]
    in_doubt = [c for c in sure if c.verdict is not HOLDS]
    assert len(in_doubt) == len(unsure)
    for words, verdict in zip(unsure, (FAILS, IN_PART, FAILS, IN_PART), strict=True):
        assert [c.verdict for c in in_doubt if words in c.statement] == [verdict]
    assert sum(c.ours for c in claims) == 3
    assert sum(c.remark.startswith("A slip") for c in claims) == 3


@pytest.mark.compiled
def test_the_page_says_all_of_it(report: Reproduction) -> None:
    page = report.page.read_text(encoding="utf-8")
    assert page.count("Holds if ") == sum(map(len, report.claims.values()))
    assert page.count("Check of ours: ") == 3
    assert "3 checks of ours hold." in page


@pytest.mark.compiled
def test_files(report: Reproduction) -> None:
    folder = report.page.parent
    for name in FIGURES:
        pictures = sorted(folder.glob(f"{name}-*.svg"))
        assert len(pictures) == {"densities": 4, "statistic-convergence": 4}.get(name, 2)
        for svg in pictures:
            assert ElementTree.parse(svg).getroot().tag.endswith("svg")
            assert svg.with_suffix(".png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for name in [*FIGURES, "claims", "rates"]:
        if name != "graphical-models":
            rows = rows_of(folder, name)
            assert rows
            assert all(None not in row.values() for row in rows)
    claims = rows_of(folder, "claims")
    assert [float(row["value"]) for row in claims] == [
        claim.value for listed in report.claims.values() for claim in listed
    ]
    rates = rows_of(folder, "rates")
    assert len(rates) == len(SAMPLERS[10]) + len(SAMPLERS[20])
    assert all(float(row["seconds_a_draw"]) > 0 for row in rates)


@pytest.mark.compiled
@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_alone_or_with_others(
    report: Reproduction, tmp_path: Path
) -> None:
    reproduce(tmp_path / "new" / "folder", quick=True, seed=OWN, only="mpsrf-10", progress=False)
    alone = rows_of(tmp_path / "new" / "folder", "mpsrf-10")
    together = rows_of(report.page.parent, "mpsrf-10")
    assert [(r["sampler"], r["draws"], r["rhat"]) for r in alone] == [
        (r["sampler"], r["draws"], r["rhat"]) for r in together
    ]
    assert not list((tmp_path / "new" / "folder").glob("densities*"))


@pytest.mark.compiled
def test_truth_is_that_of_the_papers_sampler(report: Reproduction) -> None:
    # The numbers in the file against a plain computation from the same draws.
    number = SAMPLERS[10].index(HIDDEN)
    seed = np.random.SeedSequence([OWN, 10, number]).spawn(2)[1]
    draws = paper_posterior(10).sample(
        1000, chains=20, warmup=0, seed=seed, progress=False, **HIDDEN.options
    )
    p = draws["posterior"]["probabilities"].to_numpy()
    truth = p[:, 500:].mean(axis=(0, 1))
    errors = np.linalg.norm(p[:, 300:600].mean(axis=1) - truth, axis=1)
    row = next(
        r
        for r in rows_of(report.page.parent, "statistic-convergence")
        if (r["sampler"], r["statistic"], r["draws"]) == (HIDDEN.key, "mean", "600")
    )
    assert float(row["mean"]) == pytest.approx(errors.mean(), rel=1e-9)
    assert float(row["percentile_90"]) == pytest.approx(np.percentile(errors, 90), rel=1e-9)


@pytest.mark.slow
def test_the_page_in_a_browser(report: Reproduction, tmp_path: Path) -> None:
    with chromium() as browser:
        with visit(browser, report.page, width=1280) as seen:
            assert len(seen.images()) == 16
            assert seen.complaints() == []
        with visit(browser, report.page, width=360, dark=True) as seen:
            assert seen.complaints() == []
            # The smallest letters have 10 points, 10 * 96 / 72 pixels at the picture's own size.
            scales = seen.page.eval_on_selector_all(
                "img", "all => all.map(i => i.width / i.naturalWidth)"
            )
            assert min(scales) * 10 * 96 / 72 >= 9
            assert "does not hold" in seen.page.inner_text("main")


# -- the command ---------------------------------------------------------------------------------


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    where = tmp_path / "out"
    figure = ["--figure", "graphical-models"]
    assert main(["paper", "--quick", *figure, *figure, "--out", str(where)]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert str(where / "index.html") in first
    assert any(line.strip().startswith("holds  Summed over") for line in others)
    assert f"{'':16}It holds if the error is below 1e-9." in others
    page = (where / "index.html").read_text(encoding="utf-8")
    assert "1 claim of the paper holds." in page
    assert page.count("--figure graphical-models") == 1
    assert sorted(path.name for path in where.iterdir()) == [
        "claims.csv",
        "graphical-models-augmented.png",
        "graphical-models-augmented.svg",
        "graphical-models-unaugmented.png",
        "graphical-models-unaugmented.svg",
        "index.html",
    ]


def test_wrong_arguments_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["paper", "--figure", "mpsrf"]) == 1
    assert "choose from densities, graphical-models" in capsys.readouterr().err
    file = tmp_path / "file"
    file.write_text("mine")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "away")
    for out in (file, file / "below", tmp_path / "nowhere", "/proc/luce"):
        assert main(["paper", "--quick", "--out", str(out)]) == 1
        assert f"luce: cannot write to the folder '{out}': " in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert main(["paper", "--quick", "--out", ""]) == 1
    assert "has no name" in capsys.readouterr().err
    with pytest.raises(MethodError, match="seed = -1"):
        reproduce(tmp_path, seed=-1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["paper", "--quick", "--out", str(tmp_path / "new")]) == 1
    assert "pip install 'luce[plots]'" in capsys.readouterr().err


@pytest.mark.slow
def test_output_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "luce", "paper", "--quick", "--figure", "graphical-models"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(
        [*command, "--out", str(tmp_path / "π")], capture_output=True, check=True, env=ascii_only
    )
    assert b"?/index.html" in run.stdout


@pytest.mark.slow
def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    where = tmp_path / "out"
    command = [sys.executable, "-m", "luce", "paper", "--out", str(where)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not where.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.0)  # now it draws: the whole run takes many times as long
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "luce: interrupted"
    assert "Traceback" not in said
    assert list(where.iterdir()) == []


def test_the_docs_quote_the_run_of_their_figures() -> None:
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    page = re.sub(r"```.*?```|\(https?:[^)]*\)|arXiv:[\d.]+", "", page, flags=re.DOTALL)
    number = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
    claims = rows_of(DOCS / "paper", "claims")
    text = " ".join(row["measured"] + " " + row["remark"] + " " + row["claim"] for row in claims)
    known = {n.rstrip(",") for n in number.findall(text)}
    table = page[page.index("| claim |") : page.index("\n\n", page.index("| claim |"))]
    rounded = {n for r in re.findall(r"about ([\d, to]+\d)", table) for n in number.findall(r)}
    nearest = {f"{float(n.replace(',', '')):.0f}" for n in known}
    exact = {n.rstrip(",") for n in number.findall(table)} - rounded
    assert len(exact) > 15
    assert exact - known == set()
    assert {n.replace(",", "") for n in rounded} - nearest == set()
    # Elsewhere: whatever has decimals, and the counts of the test of the draws.
    elsewhere = {n for n in number.findall(page.replace(table, "")) if "." in n}
    assert elsewhere - known == set()
    assert re.search(r"χ² = [\d,]+ on\s[\d,]+ degrees of\sfreedom", page)[0] in text
    # Every row ends in a verdict; that it is the one of the run is not compared here.
    said = re.findall(r"\| (holds|holds in part|does not hold) \|$", table, re.MULTILINE)
    assert len(said) == len(table.splitlines()) - 2
