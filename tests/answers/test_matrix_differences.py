"""Differences of two transition matrices."""

import re

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from scipy.stats import beta

import luce
from luce import ConditionalCounts
from luce.answers import transition_differences
from luce.errors import DataError
from luce.sequences import SeparateRows


def fitted(rows: dict[str, dict[str, int]], draws: int = 1000, seed: int = SEED) -> xr.DataTree:
    """Draw rows, each given by its states and their counts, under a uniform prior."""
    counts = {s: ConditionalCounts(list(row)).observe(row) for s, row in rows.items()}
    return SeparateRows(counts).sample(draws, seed=seed, progress=False)


BEFORE = {"a": {"b": 12, "c": 4}, "b": {"a": 3, "c": 9}, "c": {"a": 5, "b": 5}}
AFTER = {"a": {"b": 2, "c": 9}, "b": {"a": 4, "c": 11}, "c": {"a": 6, "b": 1}}


def exact(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """Mean of a difference of two beta variables, and the probability that it is positive."""
    x = (np.arange(200_000) + 0.5) / 200_000
    one, other = beta(first[0] + 1, first[1] + 1), beta(second[0] + 1, second[1] + 1)
    return one.mean() - other.mean(), float((one.pdf(x) * other.cdf(x)).mean())


@pytest.mark.compiled
def test_differences_agree_with_beta_laws() -> None:
    """Means and P(>0) by quadrature; the control swaps the two data sets."""
    n = 4 * 5000
    found = transition_differences(fitted(BEFORE, 5000), fitted(AFTER, 5000)).table
    assert found.attrs["draws"] == n
    off = []
    for source, row in BEFORE.items():
        for target in row:
            other = next(x for x in row if x != target)
            counts = [(each[source][target], each[source][other]) for each in (BEFORE, AFTER)]
            own = found.sel(source=source, target=target)
            for k, (mean, positive) in enumerate((exact(*counts), exact(*counts[::-1]))):
                z = (float(own["mean"]) - mean) / (float(own["sd"]) / np.sqrt(n))
                se = np.sqrt(positive * (1 - positive) / n)
                off.append((k, abs(z), abs(float(own["p_positive"]) - positive) / se))
    right, swapped = (np.array([x[1:] for x in off if x[0] == k]).max(axis=0) for k in (0, 1))
    limit = z_limit(12)
    assert (right < limit).all()
    assert (swapped > limit).all()


@pytest.mark.compiled
def test_runs_of_the_same_seed_are_paired_as_if_they_were_independent() -> None:
    """The standard deviation is that of independent draws; the control pairs equal draws."""
    run = fitted(BEFORE, 5000)
    found = transition_differences(run, run).table.sel(source="a", target="b")
    own = run.posterior["rows"].sel(source="a", state="b").values
    n = own.size
    assert float(found["sd"]) == pytest.approx(np.sqrt(2) * own.std(), rel=z_limit() / np.sqrt(n))
    assert (own - own).std() == 0
    assert float(found["mean"]) == pytest.approx(0, abs=1e-12)


def test_matrices_are_matched_by_labels() -> None:
    """States in another order, states of one alone, moves that are impossible in one or both."""
    after = {
        "c": {"b": 1, "a": 6},
        "d": {"a": 1, "b": 1},
        "b": {"a": 4, "c": 11},
        "a": {"b": 2, "d": 3},
    }
    before, later = fitted(BEFORE, 300), fitted(after, 200)
    found = transition_differences(before, later, 0.8, names=("before", "after"))
    table = found.table
    assert table["source"].values.tolist() == ["a", "b", "c"]
    assert table.attrs["draws"] == 800
    assert found.left_out == ((), ("d",))
    x, y = (luce.answers.transition_matrix(run) for run in (before, later))
    mean = (x - x).mean(("chain", "draw")) + x.mean(("chain", "draw"))
    mean = mean - y.mean(("chain", "draw"))  # xarray aligns by labels, too
    even = table["mean"].sel(source="b", target=["a", "c"])
    np.testing.assert_allclose(
        even, mean.sel(source="b", target=["a", "c"]), atol=0.02
    )  # of 300 draws 200 are used
    assert np.isnan(table["mean"].values.diagonal()).all()
    assert table["forbidden"].values.tolist() == np.eye(3, dtype=bool).tolist()
    assert np.argwhere(table["one_sided"].values).tolist() == [[0, 2]]
    assert not found.told_apart[0, 2]
    text = str(found)
    assert "Impossible in after, and not in before: a to c." in text
    assert "Only in after, and not compared: 'd'" in text
    assert "80 % all at once" in text


def test_what_is_printed_is_what_was_found() -> None:
    """The numbers of the sentences, counted again from the table; another table, others."""
    seen = []
    for second in (AFTER, BEFORE):
        found = transition_differences(fitted(BEFORE), fitted(second))
        table, text = found.table, str(found)
        alone = ((table["lower"] > 0) | (table["upper"] < 0)).values.sum()
        lower, upper = table["simultaneous_lower"], table["simultaneous_upper"]
        together = ((lower > 0) | (upper < 0)).values.sum()
        assert f"* {together} of 6 differences can be told from 0" in text
        assert f"Intervals that hold each alone tell {alone} from 0" in text
        assert len(re.findall(r"\d\*", text)) == together
        assert (lower <= table["lower"]).values[~np.eye(3, dtype=bool)].all()
        seen.append((int(together), int(alone)))
    assert seen[0][0] > 0
    assert seen[1][0] == 0
    rows = found.to_text(most=2).splitlines()
    assert "... and 4 more differences" in rows


def test_no_share_of_draws_is_printed_as_certain() -> None:
    sure = {"a": {"b": 400, "c": 1}, "b": {"a": 1, "c": 400}, "c": {"a": 400, "b": 1}}
    other = {"a": {"b": 1, "c": 400}, "b": {"a": 400, "c": 1}, "c": {"a": 1, "b": 400}}
    found = transition_differences(fitted(sure, 20), fitted(other, 20))
    assert found.table["p_positive"].max() == 1
    ends = {line.split()[-1] for line in str(found).splitlines()[3:9]}
    assert ends == {"<0.1", ">0.9"}  # 80 draws tell one decimal


def test_draws_that_are_too_few_are_told() -> None:
    """One draw tells everything from 0, and the print says that it is one draw."""
    before, after = fitted(BEFORE, 1000), fitted(AFTER, 1000)
    assert transition_differences(before, after).notes == ()  # control
    one = SeparateRows(
        {s: ConditionalCounts(list(row)).observe(row) for s, row in AFTER.items()}
    ).sample(1, chains=1, seed=1, progress=False)
    text = str(transition_differences(before, one, names=("before", "after")))
    assert "* 6 of 6 differences can be told from 0" in text
    assert "Draws of after: Trust the draws with care: 1 draw in all" in text
    assert "Draws of before" not in text


def test_matrices_that_cannot_be_compared_are_refused() -> None:
    run = fitted(BEFORE, 5)
    rows = luce.from_transitions("xyzxzy", rows="separate")
    with pytest.raises(DataError, match="no state in common"):
        transition_differences(run, SeparateRows(rows).sample(5, seed=1, progress=False))
    for names in (("a",), (1, 2)):
        with pytest.raises(DataError, match="two texts are needed"):
            transition_differences(run, run, names=names)  # type: ignore[arg-type]
