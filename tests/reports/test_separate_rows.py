"""A report on separate rows of transitions: the matrix, data, trust, the same again."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lib.report_runs import printouts, table_of, text_of
from lib.rows_of_transitions import CORES, FORBIDDEN, STATES, four_rows, shapes

import luce
from luce.errors import DataError
from luce.reports.findings import find
from luce.reports.trust import judge
from luce.sequences import SeparateRows

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_the_matrix_is_the_answer(tmp_path: Path) -> None:
    run = four_rows().sample(500, seed=1, progress=False)
    page = luce.report(run, tmp_path / "a.html")
    found, truth = table_of(page), shapes()
    mean = run.posterior["rows"].mean(("chain", "draw")).values
    assert len(found["Mean"]) == (~FORBIDDEN).sum()
    np.testing.assert_allclose(
        sorted(map(float, found["Mean"])), np.sort(mean[~FORBIDDEN]), atol=1e-12
    )
    assert found["From"][0] == "jump"  # a walk always follows it
    text = text_of(page)
    free = np.where((~FORBIDDEN).sum(axis=1, keepdims=True) > 1, mean, 0)
    i, j = np.unravel_index(free.argmax(), free.shape)
    words = f"the most probable is from {STATES[i]} to {STATES[j]} , with probability"
    assert f"{words} {free.max():.3f}" in " ".join(text.split())
    assert "7 transitions cannot occur and have probability 0" in text
    assert f"{len(truth)} states, 37 transitions" in text
    assert "× cannot occur" in text
    assert "exact and independent" in text


def test_rows_that_are_simulated(tmp_path: Path) -> None:
    model = SeparateRows(CORES, 0.7)
    run = model.sample(600, seed=1, method="waiting-times", progress=False)
    assert judge(find(run, 0.9)).kind == "good"
    page = luce.report(run, tmp_path / "a.html", pictures=False)
    text = " ".join(text_of(page).split())
    assert f"Transitions {model.n_outcomes:.0f}" in text
    assert "waiting-times" in text
    assert "Markov chains" in text
    always = SeparateRows({"a": luce.ConditionalCounts("b").observe({"b": 2})})
    page = luce.report(always.sample(200, seed=1), tmp_path / "c.html", pictures=False)
    assert "Each state is always followed by the same." in text_of(page)
    with pytest.raises(DataError, match="are not ranked"):
        luce.report(run, tmp_path / "b.html", among=["a"])


@pytest.mark.parametrize("method", ["auto", "waiting-times"])
def test_the_lines_on_the_page_draw_the_same(tmp_path: Path, method: str) -> None:
    run = SeparateRows(CORES, 0.7).sample(50, seed=7, method=method, warmup=30, progress=False)
    luce.save(run, tmp_path / "run.nc")
    page = luce.report(str(tmp_path / "run.nc"), tmp_path / "a.html", pictures=False)
    (lines,) = [x for x in printouts(page) if x.startswith("import luce")]
    # Dask leaves this behind where it has started workers; other numbers of threads give last bits
    # of their own.
    plain = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-W", "ignore", "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    assert done.stdout.strip() == "True"
