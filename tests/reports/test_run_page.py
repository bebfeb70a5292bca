"""The page as a whole: from Python, from a file, from the command line; and mistakes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import text_of

import luce
from luce.cli import main
from luce.errors import DataError
from luce.reports.run_page import write_report

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.fixture(scope="module")
def saved(exact: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the three ranked categories."""
    file = tmp_path_factory.mktemp("saved") / "three.nc"
    luce.save(exact, file)
    return file


def test_an_exact_run_is_told_as_such(exact: xr.DataTree, saved: Path, tmp_path: Path) -> None:
    page, verdict = write_report(saved, tmp_path / "three.html", pictures=False)
    said = text_of(page)
    assert verdict.kind == "good"
    assert "Every draw is an exact and independent draw" in said
    assert "there are enough draws to make it small" in said
    assert "none: independent draws need none" in said
    assert "three: 3 categories, 27 outcomes" in said
    best = luce.probability_best(exact)
    assert f"is the best with probability {float(best.max()):.3f}" in said


def test_the_command(
    chains: xr.DataTree, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    luce.save(chains, tmp_path / "chains.nc")
    assert main(["report", str(tmp_path / "chains.nc")]) == 3
    said = capsys.readouterr().out
    assert said.startswith("Do not trust these draws yet.")
    assert str(tmp_path / "chains.html") in said
    out = tmp_path / "x.html"
    options = ["--title", "A <b>", "--ci-prob", "0.8"]
    assert main(["report", str(saved), "--out", str(out), *options]) == 0
    assert "<h1>A &lt;b&gt;</h1>" in out.read_text()
    assert "80 % interval" in out.read_text()
    before = sorted(tmp_path.iterdir())
    assert main(["report", str(saved), "--out", str(tmp_path / "no" / "x.html")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert main(["report", str(saved), "--out", str(tmp_path / "x.nc")]) == 1
    assert main(["report", str(tmp_path / "none.nc")]) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_mistakes(exact: xr.DataTree, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in \.html"):
        luce.report(exact, tmp_path / "a.nc")
    with pytest.raises(DataError, match=r"ci_prob = 1\.5 was given; a number between 0 and 1"):
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


def test_a_folder_is_reported_like_a_file(exact: xr.DataTree, tmp_path: Path) -> None:
    luce.save(exact, tmp_path / "a.zarr")
    page, verdict = write_report(tmp_path / "a.zarr", tmp_path / "a.html", pictures=False)
    assert verdict.kind == "good"
    assert "a: 3 categories, 27 outcomes" in text_of(page)


def test_pictures_can_be_left_out(exact: xr.DataTree, tmp_path: Path) -> None:
    page, _ = write_report(exact, tmp_path / "a.html", pictures=False)
    assert "There are no pictures: they were not asked for." in text_of(page)
    assert "<img" not in page.read_text()
