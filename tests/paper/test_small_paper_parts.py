"""The paper's experiments at a tiny scale: numbers, claims, figures and the page."""

import csv
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from lib.paper_runs import comparison, made_up
from scipy.stats import chisquare, dirichlet

from luce.answers import diagnostics
from luce.errors import MethodError
from luce.paper import FIGURES, Report, augmented, experiments, reproduce, samplers
from luce.paper import report as paper_report
from luce.paper.agreement import agreement, disagreement
from luce.paper.claims import Claim, Verdict, graded, tally, unless_it_holds
from luce.paper.densities import _chi_square, densities, triangle_of, triangles
from luce.paper.examples import paper_posterior
from luce.paper.experiments import Comparison, Size
from luce.paper.figures import drawing_style, mpsrf_figure
from luce.paper.judge_mixing import about_autocorrelation, about_convergence, spread
from luce.paper.judge_mpsrf import about_mpsrf_10, about_mpsrf_20
from luce.paper.numbers import autocorrelation_numbers, convergence_numbers
from luce.paper.samplers import (
    FLOOR,
    HIDDEN,
    METROPOLIS,
    SAMPLERS,
    Scale,
    seconds_a_draw,
    way_to_draw,
)
from luce.paper.sections import SECTIONS, STEPS, Experiments, count_steps
from luce.posterior import Posterior

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS
SCALE = Scale(chains=3, draws=48, points=3, lags=5)
SEED = 3


@pytest.fixture(scope="module")
def tiny() -> Iterator[None]:
    """Make all that is fixed for the paper small, and let a draw take a microsecond."""
    whole = samplers.sample

    def sample(*arguments: Any, warmup: int = 0, **more: Any) -> Any:
        return whole(*arguments, warmup=min(warmup, 10), **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "sample", sample)
        patch.setattr(experiments, "_SWEEPS_APART", 2)
        patch.setattr(experiments, "Scale", lambda **_: Scale(chains=2, draws=20))
        patch.setattr(
            experiments, "seconds_a_draw", lambda ways, *_, **__: dict.fromkeys(ways, 1e-6)
        )
        patch.setattr("luce.paper.sections._MORE_SIZES", (12, 20))
        patch.setattr(paper_report, "QUICK", SCALE)
        yield


@pytest.fixture(scope="module")
def found(tiny: None) -> Experiments:
    """All experiments, each made when first asked for."""
    return Experiments(SCALE, SEED, lambda _: None)


WRITTEN = ("graphical-models", "mpsrf-10")


@pytest.fixture(scope="module")
def report(found: Experiments, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report on some figures, from these experiments: to write all of them takes long."""
    folder = tmp_path_factory.mktemp("paper") / "new"
    with pytest.MonkeyPatch.context() as patch:
        made = {(SCALE, SEED): found}
        patch.setattr(paper_report, "Experiments", lambda scale, seed, _: made[scale, seed])
        return reproduce(folder, quick=True, seed=SEED, only=WRITTEN, progress=False)


def rows_of(report: Report, name: str) -> list[dict[str, str]]:
    with (report.page.parent / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# The report


def test_every_claim_has_a_number_and_a_criterion(found: Experiments) -> None:
    claims = {name: section.judge(found) for name, section in SECTIONS.items()}
    every = [claim for listed in claims.values() for claim in listed]
    assert len({claim.statement for claim in every}) == len(every) >= 20
    assert all(any(c.isdigit() for c in claim.measured) for claim in every)
    assert sum(claim.ours for claim in every) == 3
    (summed,) = claims["graphical-models"]
    assert summed.verdict is HOLDS
    assert claims["densities"][0].verdict is FAILS  # the formula as printed
    assert [size.n for size in found.sizes] == [10, 12, 20]
    assert found.sizes[0].effective == found.ten[HIDDEN].effective


def test_the_page_says_what_was_judged(report: Report) -> None:
    assert tuple(report.claims) == WRITTEN
    claims = [claim for listed in report.claims.values() for claim in listed]
    page = report.page.read_text(encoding="utf-8")
    assert page.count("Holds if ") == len(claims)
    assert page.count("Check of ours: ") == sum(claim.ours for claim in claims)
    assert tally(claims) in page
    assert "luce paper --quick --seed 3 --figure graphical-models --figure mpsrf-10" in page


def test_pictures_and_numbers_are_files(report: Report) -> None:
    folder = report.page.parent
    for name in WRITTEN:
        pictures = sorted(folder.glob(f"{name}-*.svg"))
        assert len(pictures) == 2
        assert all(ElementTree.parse(svg).getroot().tag.endswith("svg") for svg in pictures)
        assert all(svg.with_suffix(".png").read_bytes().startswith(b"\x89PNG") for svg in pictures)
    claims = rows_of(report, "claims")
    assert [float(row["value"]) for row in claims] == pytest.approx(
        [claim.value for listed in report.claims.values() for claim in listed], nan_ok=True
    )
    rates = rows_of(report, "rates")
    assert [row["sampler"] for row in rates[:5]] == [s.key for s in SAMPLERS[10]]
    for row in rates:
        rate = float(row["effective_share"]) / float(row["seconds_a_draw"])
        assert float(row["effective_draws_a_second"]) == pytest.approx(rate)
        assert (row["accepted"] == "") == (not row["sampler"].startswith("metropolis"))


def test_every_figure_is_drawn_and_has_its_numbers(found: Experiments) -> None:
    with drawing_style():
        drawn = {name: section.draw(found) for name, section in SECTIONS.items()}
    assert {name: len(some) for name, some in drawn.items()} == {
        **dict.fromkeys(FIGURES, 2), "densities": 4, "statistic-convergence": 4,
    }  # fmt: skip
    (patches,) = drawn["densities"][2].figure.axes[0].collections
    np.testing.assert_allclose(patches.get_array(), found.densities.truncated * 1600)
    first = drawn["autocorrelation"][0].figure.axes[0]
    for line, run in zip(first.lines, found.ten, strict=True):
        np.testing.assert_allclose(line.get_ydata(), run.autocorrelation[:, 1:, 0].mean(axis=0))
    assert first.xaxis.get_major_formatter()(2000, 0) == "2,000"
    columns = {
        name: {k: list(column) for k, column in section.list_numbers(found).items()}
        for name, section in SECTIONS.items()
        if section.list_numbers is not None
    }
    assert set(columns) == set(FIGURES) - {"graphical-models"}
    for column in ("prior", "posterior_plain", "posterior_truncated", "draws"):
        assert sum(columns["densities"][column]) == pytest.approx(1)
    assert len(columns["mpsrf-20"]["rhat"]) == len(SAMPLERS[20]) * SCALE.points


def test_the_numbers_are_those_of_the_draws(report: Report, found: Experiments) -> None:
    """Numbers of the paper's sampler against plain ones from the same draws."""
    seed = np.random.SeedSequence([SEED, 10, SAMPLERS[10].index(HIDDEN)]).spawn(2)[1]
    tree = samplers.sample(paper_posterior(10), HIDDEN.options, 3, 48, seed=seed)
    p = tree["posterior"]["probabilities"].to_numpy()
    truth = p[:, 24:].mean(axis=(0, 1))
    errors = np.linalg.norm(p[:, 24:].mean(axis=1) - truth, axis=1)
    columns = convergence_numbers(found.ten)
    keys = list(zip(*(columns[k] for k in ("sampler", "statistic", "draws")), strict=True))
    last = keys.index((HIDDEN.key, "mean", 48))
    assert list(columns["mean"])[last] == pytest.approx(errors.mean())
    assert list(columns["percentile_90"])[last] == pytest.approx(np.percentile(errors, 90))
    rhat = [r for r in rows_of(report, "mpsrf-10") if r["sampler"] == HIDDEN.key][-1]
    assert float(rhat["rhat"]) == pytest.approx(diagnostics.mpsrf(p[:, 24:]))
    lags = autocorrelation_numbers(found.ten)
    mean = diagnostics.autocorrelation(p[..., :2], 5).to_numpy().mean(axis=0)
    assert list(lags["mean"])[:12] == pytest.approx(mean.T.ravel())


@pytest.mark.usefixtures("tiny")
def test_one_figure_alone_takes_only_what_it_needs(tmp_path: Path) -> None:
    alone = reproduce(tmp_path, quick=True, only="graphical-models", progress=False)
    assert list(alone.claims) == ["graphical-models"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "claims.csv",
        "graphical-models-augmented.png",
        "graphical-models-augmented.svg",
        "graphical-models-unaugmented.png",
        "graphical-models-unaugmented.svg",
        "index.html",
    ]
    assert "--figure graphical-models" in alone.page.read_text(encoding="utf-8")
    assert count_steps(["graphical-models"]) == 2
    assert count_steps(list(FIGURES)) == sum(STEPS.values()) + len(SECTIONS)


def test_wrong_arguments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MethodError, match="no figure 'mpsrf'; choose from densities"):
        reproduce(tmp_path, only=["mpsrf"])
    with pytest.raises(MethodError, match="seed = -1"):
        reproduce(tmp_path, seed=-1)
    with pytest.raises(MethodError, match="has no name"):
        reproduce("", progress=False)
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(MethodError, match="cannot write to the folder"):
        reproduce(file, progress=False)
    assert file.read_text() == "mine"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MethodError, match=r"pip install 'luce\[plots\]'"), drawing_style():
        pass


# Three categories, and hidden counts


def test_triangles_tile_the_simplex() -> None:
    corners = triangles(5)
    (ax, ay), (bx, by) = ((corners[:, k, :2] - corners[:, 0, :2]).T for k in (1, 2))
    np.testing.assert_allclose(np.abs(ax * by - ay * bx) / 2, 0.5 / 25)
    p = np.random.default_rng(SEED).dirichlet([0.7, 1.3, 1.0], 200)
    inside = np.linalg.solve(corners[triangle_of(p, 5)].transpose(0, 2, 1), p[:, :, None])
    assert inside.min() > -1e-9


def test_masses_of_the_mesh_are_those_of_the_density() -> None:
    found = densities(2, 20, SEED)
    assert found.n_draws == 40
    np.testing.assert_allclose(found.mesh_mean, found.closed_mean, atol=1e-5)
    assert found.printed_mean[0] == pytest.approx(2 / 3, abs=2e-3)  # Beta(2, 1) as printed
    centre = found.corners.mean(axis=1)
    by_scipy = dirichlet([2, 4, 2]).pdf(centre.T)
    np.testing.assert_allclose(found.plain, by_scipy / by_scipy.sum(), atol=2e-5)


def test_rare_triangles_are_joined_for_the_test_of_the_draws() -> None:
    counts, expected = np.array([12, 30, 3, 1, 4]), np.array([10.0, 33.0, 2.0, 4.0, 1.0])
    joined = chisquare([12, 30, 8], [10, 33, 7])
    statistic, freedom = _chi_square(counts, expected)
    assert (statistic, freedom) == (pytest.approx(joined.statistic), 2)
    found = replace(densities(2, 2, SEED), chi_square=statistic, freedom=freedom)
    assert found.p_value == pytest.approx(joined.pvalue)


def test_hidden_counts_sum_out() -> None:
    found = augmented.sum_out(SEED, 30)
    assert found.points == 30
    assert found.largest_error < 1e-11
    p = np.random.default_rng(SEED).dirichlet([2.0, 3.0, 2.0, 3.0], 20)
    p = p[p.max(axis=1) < augmented.LARGEST]
    shape = np.array(augmented.CONCENTRATION) - 1 + np.array([2, 4, 1, 2])
    by_hand = np.log(p) @ shape - 4 * np.log1p(-p[:, 0]) - 5 * np.log1p(-p[:, 2])
    gap = augmented.log_sum(p, augmented.CONCENTRATION, augmented.TERMS) - by_hand
    assert np.ptp(gap) < 1e-11


# Draws and seconds


def test_draws_cut_short_are_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Posterior.sample

    def interrupted(*arguments: Any, **options: Any) -> Any:
        tree = whole(*arguments, **options)
        tree.attrs["interrupted"] = 1
        return tree

    monkeypatch.setattr(Posterior, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        samplers.sample(paper_posterior(4), HIDDEN.options, 2, 5)


def test_ways_to_draw_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = paper_posterior(4)
    drawn: Any = way_to_draw(posterior, HIDDEN, HIDDEN.options)(6, 1)
    same = samplers.sample(posterior, HIDDEN.options, 1, 6, seed=1)
    assert drawn["posterior"]["probabilities"].equals(same["posterior"]["probabilities"])
    independent: Any = way_to_draw(posterior, FLOOR, {})(5, 1)
    assert independent.shape == (5, 4)
    np.testing.assert_allclose(independent.sum(axis=1), 1)


def test_seconds_are_those_of_draws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def way(set_up: float, a_draw: float) -> Callable[[int, int], None]:
        def draw(draws: int, seed: int) -> None:
            now[0] += set_up + a_draw * draws + (5.0 if seed == 1 else 0.0)  # busy in one round

        return draw

    found = seconds_a_draw({"a": way(3.0, 2e-6), "b": way(0.1, 7e-6)}, 3, 4_000)
    assert found == pytest.approx({"a": 2e-6, "b": 7e-6})
    # Where many draws never take longer than few, all of the time is counted.
    assert seconds_a_draw({"c": way(3.0, 0.0)}, 1, 4_000) == pytest.approx({"c": 3.0 / 4_000})


# Claims


def verdicts(ten: Comparison, twenty: Comparison, *words: str) -> list[Verdict]:
    """Verdicts on the claims that have these words, one claim each."""
    sizes = [Size(10, 1e-6, 0.7), Size(100, 1e-5, 0.8)]
    claims = [*about_autocorrelation(ten), *about_mpsrf_10(ten), *about_convergence(ten)]
    claims += about_mpsrf_20(ten, twenty, sizes)
    found = []
    for word in words:
        (claim,) = [c for c in claims if word in c.statement]
        found.append(claim.verdict)
    return found


SAID = ["falls far faster", "At n = 10 the auxiliary", "At n = 10 the same", "fast to mix",
        "mean is smaller at every index", "mean is smaller at every second",
        "variance is smaller at every index", "variance is smaller at every second"]  # fmt: skip


def test_verdicts_on_what_the_paper_saw() -> None:
    twenty = comparison(20, metropolis={"excess": 50.0, "accepted": 0.02}, tuned={"excess": 3.0})
    words = ["At n = 20 the auxiliary", "even greater", "scales easily"]
    assert verdicts(comparison(), twenty, *SAID, *words) == [HOLDS] * 11
    slips = ["β is tuned", "W^(½)", "Mean and mode"]
    assert verdicts(comparison(), twenty, *slips) == [IN_PART, FAILS, IN_PART]


def test_verdicts_when_the_samplers_are_swapped() -> None:
    worse: dict[str, Any] = {"forgets": 99, "excess": 2.0, "error": 0.5, "effective": 0.01}
    better: dict[str, Any] = {"forgets": 2, "excess": 0.02, "error": 0.1, "effective": 0.7}
    swapped = comparison(hidden={**worse, "seconds": 2e-6}, metropolis={**better, "seconds": 1e-6})
    assert verdicts(swapped, comparison(20), *SAID) == [FAILS] * len(SAID)
    assert "more than 30 and more than 30" in about_autocorrelation(swapped)[0].measured


def test_verdicts_without_a_second_in_common() -> None:
    slow = comparison(hidden={"seconds": 7e-5})
    words = ["mean is smaller at every index", "mean is smaller at every second"]
    assert verdicts(slow, comparison(20), *words) == [HOLDS, FAILS]
    assert spread(np.array([np.nan])) == "unknown, there is no second in common"
    assert spread(np.array([2.0, 30.0])) == "2.0 to 30.0"
    assert spread(np.array([20.0, 3000.0])) == "20 to 3,000"


def test_no_slip_where_none_is_measured() -> None:
    right = comparison(hidden={"printed_rhat": float(comparison()[HIDDEN].rhat[-1])})
    (claim,) = [c for c in about_mpsrf_10(right) if "W^(½)" in c.statement]
    assert (claim.verdict, claim.remark) == (HOLDS, "")


def test_samplers_that_disagree_are_told() -> None:
    rng = np.random.default_rng(SEED)
    same = [rng.normal(0, 1, (40, 3)) for _ in range(3)]
    right = disagreement(same)
    assert right.z <= right.bound
    wrong = disagreement([*same[:2], same[2] + [0, 0, 9]])
    assert wrong.z > 2 * wrong.bound
    assert wrong.difference == pytest.approx(9, abs=1)
    runs = {
        s.key: made_up(
            s, chain_means=rng.normal(0, 1, (40, 3)), chain_variances=rng.normal(0, 1, (40, 3))
        )
        for s in SAMPLERS[10]
    }
    assert agreement(Comparison(10, runs)).verdict is HOLDS
    far = replace(runs[METROPOLIS.key], chain_variances=rng.normal(9, 1, (40, 3)))
    assert agreement(Comparison(10, {**runs, METROPOLIS.key: far})).verdict is FAILS


def test_counts_of_verdicts_are_sentences() -> None:
    def claims(*found: Verdict, ours: bool = False) -> list[Claim]:
        return [Claim("It is so.", "1", "1", v, 1.0, ours=ours) for v in found]

    assert tally(claims(HOLDS)) == "1 claim of the paper holds."
    assert tally(claims(FAILS, IN_PART, FAILS) + claims(HOLDS, ours=True)) == (
        "1 claim of the paper holds in part, 2 do not hold. 1 check of ours holds."
    )
    assert [graded(x) for x in ([True], [True, False], [False])] == [HOLDS, IN_PART, FAILS]
    assert unless_it_holds(HOLDS, "wrong") == ""
    assert unless_it_holds(IN_PART, "wrong") == "wrong"


# Figures


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
