"""Pictures of transition matrices and of their differences."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.pictures import names, outside, overlapping, shades, shown_texts
from matplotlib.figure import Figure

import luce
from luce import ConditionalCounts, plots
from luce.answers.transition_tables import per_cent
from luce.errors import DataError
from luce.sequences import SeparateRows


def run_of(n: int, seed: int, never: Any = (), label: str = "state {}") -> xr.DataTree:
    """Draw rows without self-loops, and without the moves (i, j) in `never`."""
    rng = np.random.default_rng(seed)
    states, rows = [label.format(i) for i in range(n)], {}
    for i, state in enumerate(states):
        to = [x for j, x in enumerate(states) if j != i and (i, j) not in never]
        counts = rng.poisson(40 * n * rng.dirichlet(np.ones(len(to)))).tolist()
        rows[state] = ConditionalCounts(to).observe(dict(zip(to, counts, strict=True)))
    return SeparateRows(rows).sample(100, seed=seed, progress=False)


@pytest.mark.parametrize(
    ("n", "label"), [(2, "{}"), (4, "a long name of a state {}"), (12, "state {}"), (40, "s{}")]
)
def test_means_and_intervals_stand_in_cells(n: int, label: str) -> None:
    run = run_of(n, 1, never=[(0, 1)] if n > 2 else [], label=label)
    ax = plots.transition_matrix(run, ci_prob=0.8)
    rows = run.posterior["rows"]
    mean, (low, high) = rows.mean(("chain", "draw")).values, np.quantile(rows, [0.1, 0.9], (0, 1))
    never = run.constant_data["forbidden"].values
    np.testing.assert_allclose(shades(ax)[~never], mean[~never])
    assert {(int(y), int(x)) for x, y in ax.lines[0].get_xydata()} == {  # type: ignore[union-attr]
        (int(i), int(j)) for i, j in np.argwhere(never)
    }
    shown = {t.get_text() for t in ax.texts}
    means = {per_cent(x) for x in mean[~never].tolist()}
    spans = zip(low[~never].tolist(), high[~never].tolist(), strict=True)
    wanted = means | {f"{per_cent(a)}–{per_cent(b)}" for a, b in spans}
    assert shown == (wanted if n <= 12 else set())
    words = ax.get_xlabel().replace("\n", " ")
    assert words == "× cannot occur" + "; beneath each mean its 80 % interval" * (n <= 12)
    texts = shown_texts(ax)
    assert overlapping(texts) == []
    assert outside(ax, texts) == []


def test_some_states_in_another_order() -> None:
    run = run_of(5, 1)
    ax = plots.transition_matrix(run, states=["state 3", "state 0"])
    assert names(ax) == names(ax, "x") == ["state 3", "state 0"]
    mean = run.posterior["rows"].mean(("chain", "draw")).values
    assert shades(ax)[0, 1] == pytest.approx(mean[3, 0])
    ax = plots.transition_matrix(run, most=3)
    assert names(ax) == ["state 0", "state 1", "state 2"]
    assert "the first 3 of 5 states" in ax.get_xlabel().replace("\n", " ")
    with pytest.raises(DataError, match="'state 9' in states"):
        plots.transition_matrix(run, states=["state 9"])


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_runs_of_other_models() -> None:
    film = list("abcabcacbab")
    hdp = luce.HDPTransitions("nonparametric").fit([film], 20, chains=1, seed=1, progress=False)
    assert names(plots.transition_matrix(hdp), "x") == ["a", "b", "c", "remainder"]
    shared = luce.Posterior(luce.from_transitions(film)).sample(20, seed=1, progress=False)
    given = Figure().subplots()
    assert plots.transition_matrix(shared, ax=given) is given
    never = {"a": ["c"]}
    with pytest.raises(DataError, match="no state has these"):
        plots.transition_matrix(shared, forbidden=never)


@pytest.mark.parametrize("n", [4, 12, 30])
def test_differences_are_marked(n: int) -> None:
    runs = run_of(n, 1, never=[(0, 1)]), run_of(n, 2, never=[(0, 1), (1, 2)])
    found = luce.answers.transition_differences(*runs)
    ax = plots.transition_differences(*runs, names=("now", "then"))
    mean, never = found.table["mean"].values, found.table["forbidden"].values
    np.testing.assert_allclose(shades(ax)[~never], mean[~never])
    assert len(ax.patches) == 1  # 1 to 2, possible in the first alone
    told = int(found.told_apart.sum())
    assert told > 0
    if n <= 12:
        bold = [text for text in ax.texts if text.get_fontweight() == "bold"]
        assert len(bold) == told
        assert len(ax.texts) == (~never).sum()
    else:
        assert len(ax.lines[1].get_xydata()) == told  # type: ignore[arg-type]
    words = ax.get_xlabel().replace("\n", " ")
    assert words.startswith("now minus then, points of per cent; × can occur in neither; ")
    assert "dashed: can occur in one alone" in words
    texts = shown_texts(ax)
    assert overlapping(texts) == []
    assert outside(ax, texts) == []
    same = plots.transition_differences(runs[0], runs[0])
    assert "none told from 0 all at once" in same.get_xlabel().replace("\n", " ").replace(",", "")
