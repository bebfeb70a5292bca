"""The experiments of the paper: run, compared with what is known, and looked at in a browser."""

import csv
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import chromium, visit

from luce.cli import main
from luce.errors import MethodError
from luce.examples import paper_posterior
from luce.paper import FIGURES, Report, reproduce
from luce.paper.claims import Verdict, disagreement
from luce.paper.densities import densities, triangle_of, triangles
from luce.paper.experiments import (
    FLOOR,
    FULL,
    HIDDEN,
    METROPOLIS,
    TUNED,
    Comparison,
    Scale,
    compare,
)

SEED = int(os.environ.get("LUCE_TEST_SEED", "1"))


def silent(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def ten() -> Comparison:
    return compare(10, FULL, SEED, silent)


@pytest.fixture(scope="module")
def twenty() -> Comparison:
    return compare(20, Scale(chains=50, draws=2000), SEED, silent)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return reproduce(tmp_path_factory.mktemp("paper"), quick=True, seed=SEED, progress=False)


def test_the_papers_proposal_accepts_what_was_measured_elsewhere(ten: Comparison) -> None:
    assert ten[METROPOLIS].accepted == pytest.approx(0.224, abs=0.01)


def test_at_twenty_the_proposal_is_out_of_tune_and_can_be_tuned(twenty: Comparison) -> None:
    # Chains start at the prior, where more is accepted, so the rate lies a little above the 0.015
    # of the stationary chain.
    assert 0.01 < twenty[METROPOLIS].accepted < 0.03
    assert twenty[TUNED].accepted == pytest.approx(0.24, abs=0.03)
    assert 650 < twenty[TUNED].proposal < 950


@pytest.mark.parametrize("n", [10, 20])
def test_all_samplers_have_one_mean(n: int, request: pytest.FixtureRequest) -> None:
    found: Comparison = request.getfixturevalue({10: "ten", 20: "twenty"}[n])
    z, bound = disagreement([run.chain_means for run in found])
    assert z <= bound


def hidden_counts_by_numpy(n: int, first: int, rng: np.random.Generator) -> np.ndarray:
    """Means of 50 chains of the paper's sampler, hidden counts starting at `first` (0 is right)."""
    chains, draws, half = 50, 2000, n // 2
    p = rng.dirichlet(np.full(n, 2.0), chains)
    kept, total = range(half), np.zeros((chains, n))
    for t in range(draws):
        shape = np.full((chains, n), 2.0)
        for j in kept:
            r = (j - 1) % half
            shape[:, j] += 10
            # Ten geometric counts of the truncated outcomes before each kept one.
            shape[:, r] += rng.negative_binomial(10, 1 - p[:, r]) + 10 * first
        p = rng.standard_gamma(shape)
        p /= p.sum(axis=1, keepdims=True)
        if t >= draws // 2:
            total += p
    return total / (draws - draws // 2)


def test_a_plain_sampler_agrees_and_a_broken_one_is_told(ten: Comparison) -> None:
    rng = np.random.default_rng(SEED)
    ours = [run.chain_means for run in ten]
    z, bound = disagreement([*ours, hidden_counts_by_numpy(10, 0, rng)])
    assert z <= bound
    # Counting trials instead of failures leaves every truncated category too large.  The paper's
    # data are symmetric under a rotation, so the error shows between its two halves.
    z, bound = disagreement([*ours, hidden_counts_by_numpy(10, 1, rng)])
    assert z > 2 * bound


def test_the_floor_is_of_independent_draws(ten: Comparison) -> None:
    # Mean autocorrelations over 50 chains of 5,000 independent draws: sd about 1 / sqrt(250,000),
    # bias -1 / 5,000; 2 components and 200 lags are looked at.
    mean = ten[FLOOR].autocorrelation[:, 1:].mean(axis=0)
    assert np.abs(mean + 1 / FULL.draws).max() < 5.6 / np.sqrt(FULL.chains * FULL.draws)
    # The same bound refuses the paper's sampler.
    mean = ten[HIDDEN].autocorrelation[:, 1:].mean(axis=0)
    assert np.abs(mean).max() > 50 / np.sqrt(FULL.chains * FULL.draws)


def test_triangles_tile_the_simplex() -> None:
    corners = triangles(7)
    assert len(corners) == 49
    flat = corners[:, :, :2]
    (ax, ay), (bx, by) = ((flat[:, k] - flat[:, 0]).T for k in (1, 2))
    np.testing.assert_allclose(np.abs(ax * by - ay * bx) / 2, 0.5 / 49)
    p = np.random.default_rng(SEED).dirichlet([0.7, 1.3, 1.0], 2000)
    found = triangle_of(p, 7)
    inside = np.linalg.solve(corners[found].transpose(0, 2, 1), p[:, :, None])[..., 0]
    assert inside.min() > -1e-9


def test_densities_agree_and_wrong_draws_are_told() -> None:
    found = densities(20, 1000, SEED)
    assert found.p_value > 1e-4
    np.testing.assert_allclose(found.mesh_mean, found.closed_mean, atol=1e-5)
    # Under the density as printed the truncated probability is Beta(2, 1).
    assert found.printed_mean[0] == pytest.approx(2 / 3, abs=2e-3)
    # Were the draws those of the posterior without truncation, the same test would say so.
    shape = np.array([2.0, 4.0, 2.0])
    wrong = np.random.default_rng(SEED).dirichlet(shape, found.n_draws)
    counts = np.bincount(triangle_of(wrong, 40), minlength=1600)
    expected = found.n_draws * found.truncated
    common = expected >= 5
    statistic = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert statistic > 2 * found.freedom


def test_every_claim_has_a_number_and_a_verdict(report: Report) -> None:
    assert tuple(report.claims) == FIGURES
    claims = [claim for listed in report.claims.values() for claim in listed]
    assert len(claims) >= 14
    for claim in claims:
        assert any(c.isdigit() for c in claim.measured), claim
        assert isinstance(claim.verdict, Verdict)
    # The three slips of the paper, and nothing else, fail.
    slips = [c for c in claims if c.verdict is not Verdict.HOLDS]
    assert len(slips) == 3
    assert all(c.remark.startswith("A slip") for c in slips)


def test_files(report: Report) -> None:
    folder = report.page.parent
    for name in FIGURES:
        pictures = sorted(folder.glob(f"{name}-*.svg"))
        assert len(pictures) == {"densities": 4, "statistic-convergence": 4}.get(name, 2)
        for svg in pictures:
            assert ElementTree.parse(svg).getroot().tag.endswith("svg")
            assert svg.with_suffix(".png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for name in [*FIGURES, "claims"]:
        if name != "graphical-models":
            with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            assert rows
            assert all(None not in row.values() for row in rows)


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_same_seed_gives_the_same_numbers_alone_or_with_others(
    report: Report, tmp_path: Path
) -> None:
    reproduce(tmp_path / "new" / "folder", quick=True, seed=SEED, only=["mpsrf-10"], progress=False)
    alone = rows_of(tmp_path / "new" / "folder", "mpsrf-10")
    together = rows_of(report.page.parent, "mpsrf-10")
    assert [(r["sampler"], r["draws"], r["rhat"]) for r in alone] == [
        (r["sampler"], r["draws"], r["rhat"]) for r in together
    ]
    assert not list((tmp_path / "new" / "folder").glob("densities*"))


def test_truth_is_that_of_the_papers_sampler(report: Report) -> None:
    # The numbers in the file against a plain computation from the same draws.
    number = 0
    seed = np.random.SeedSequence([SEED, 10, number]).spawn(3)[1]
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


def test_the_page_in_a_browser(report: Report, tmp_path: Path) -> None:
    with chromium() as browser:
        for width, dark in ((1280, False), (360, False), (360, True)):
            with visit(browser, report.page, width=width, dark=dark) as seen:
                assert len(seen.images()) == 16
                assert seen.complaints() == []
        with visit(browser, report.page, width=360) as seen:
            shown = seen.page.eval_on_selector_all("img", "all => all.map(i => i.width)")
            # Letters of 11 points in a picture of 4.8 inches are 11 pixels high at this width.
            assert min(shown) >= 0.75 * 360
            assert "does not hold" in seen.page.inner_text("main")


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    where = tmp_path / "out"
    arguments = ["paper", "--quick", "--figure", "graphical-models", "--out", str(where)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "holds" in printed
    assert str(where / "index.html") in printed
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
    assert main(["paper", "--quick", "--out", str(file)]) == 1
    assert "is a file" in capsys.readouterr().err
    assert file.read_text() == "mine"
    with pytest.raises(MethodError, match="seed = -1"):
        reproduce(tmp_path, seed=-1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["paper", "--quick", "--out", str(tmp_path / "new")]) == 1
    assert "pip install 'luce[plots]'" in capsys.readouterr().err
