"""Independence of tables with impossible cells: published p-values, both methods, and refusals."""

import numpy as np
import pandas as pd
import pytest
from lib.bounds import SEED, z_limit
from lib.table_oracles import GEAR, HANDOVER, IQD, NAN, SHIFTS, array, p_by_brute_force
from scipy.stats import fisher_exact

import luce
from luce.errors import ConvergenceWarning, DataError, LuceError, MethodError
from luce.hypotheses import IndependenceTest, independence_test


def run(table: object, **options: object) -> IndependenceTest:
    return independence_test(array(table), progress=False, **options)  # type: ignore[arg-type]


def test_handover_to_printed_digits() -> None:
    """Altham and Hankin (2010): 0.169 for the difference of the two disagreements."""
    found = run(HANDOVER, statistic=lambda x: x[0, 1] - x[1, 0])
    assert (round(found.p_value, 3), found.n_tables) == (0.169, 2121)
    # Negative control: the other way round.
    assert round(run(HANDOVER, statistic=lambda x: x[1, 0] - x[0, 1]).p_value, 3) != 0.169


def test_gear_to_printed_digits() -> None:
    """The example of R's aylmer: two-sided 0.05094, and 6.651e-05 for the odds ratio "less"."""
    assert f"{run(GEAR).p_value:.4g}" == "0.05094"

    # The sum of the diagonal orders these tables as the odds ratio does; "less" leaves the
    # observed table out.
    observed = np.nan_to_num(array(GEAR))
    up_to = run(GEAR, statistic=lambda x: -float(np.trace(x))).p_value
    itself = run(GEAR, statistic=lambda x: float((x == observed).all())).p_value
    assert f"{up_to - itself:.4g}" == "6.651e-05"


def test_conclusions_of_west_and_hankin() -> None:
    """Their text: not rejected at 5 % for iqd, but for its first cell and for shifts."""
    assert run(IQD).p_value > 0.05
    assert run(IQD, statistic=lambda x: x[0, 0]).p_value < 0.05
    assert run(SHIFTS).p_value < 0.05
    for complete in (array(SHIFTS)[1:], array(SHIFTS)[:, :2]):
        assert run(complete).p_value > 0.05
        assert run(complete).p_value == pytest.approx(p_by_brute_force(complete)[1], rel=1e-9)


@pytest.mark.parametrize("table", [IQD, SHIFTS, GEAR], ids=["iqd", "shifts", "gear"])
def test_random_tables_estimate_the_enumerated_p_value(table: object) -> None:
    truth = run(table)
    found = run(table, method="sampling", seed=[SEED, 1], tables=8000, steps=300)
    assert found.n_tables is None
    error = np.sqrt(truth.p_value * (1 - truth.p_value) / 8000)
    assert abs(found.p_value - truth.p_value) < z_limit(3) * error + 1 / 8000
    assert error * 0.9 < found.exact.standard_error < 3 * error
    # Negative control: impossible cells that are held for possible ones with a count of 0.
    zeros = np.nan_to_num(array(table))
    filled = run(zeros, method="sampling", seed=[SEED, 1], tables=8000, steps=300)
    assert abs(filled.p_value - truth.p_value) > z_limit(3) * error + 1 / 8000


def test_a_full_table_is_fishers() -> None:
    table = [[8, 2], [1, 5]]
    found = run(table)
    assert found.p_value == pytest.approx(fisher_exact(table).pvalue, rel=1e-9)
    assert found.fit.degrees_of_freedom == 1


def test_labels_shape_and_words() -> None:
    frame = pd.DataFrame(SHIFTS, index=["S1", "S2", "S3"], columns=list("ABC"))
    found = independence_test(frame, progress=False)
    cell = found.table.sel(row="S1", column="B")
    assert float(cell.observed) == 1
    assert np.isnan(found.table["expected"].sel(row="S1", column="C"))
    expected = found.table["expected"]
    assert expected.sum("column").values == pytest.approx(found.table["observed"].sum("column"))
    assert expected.sum("row").values == pytest.approx(found.table["observed"].sum("row"))
    lines = str(found).splitlines()
    assert lines[0] == "8 cells of 3 rows, fitted to the maximum likelihood"
    assert lines[1] == "  given totals  p = 0.04752 (220 tables with these totals)"
    assert "S1" in str(found)
    sampled = str(independence_test(frame, method="sampling", tables=200, progress=False))
    assert "(random tables)" in sampled


def test_the_same_seed_gives_the_same_tables() -> None:
    options = {"method": "sampling", "tables": 300, "steps": 50}
    assert run(IQD, seed=4, **options).exact == run(IQD, seed=4, **options).exact


def test_rows_that_say_nothing() -> None:
    """A row without counts, and one of a single cell, are kept in the table and change nothing."""
    more = [*SHIFTS, [0, 0, 0], [NAN, 4, NAN]]
    found, plain = run(more), run(SHIFTS)
    assert found.p_value == pytest.approx(plain.p_value)
    assert found.fit.deviance == pytest.approx(plain.fit.deviance)
    assert found.table["observed"].shape == (5, 3)
    assert float(found.table["expected"][4, 1]) == 4
    only = run([[3, NAN], [2, 5]])
    assert (only.p_value, only.n_tables) == (1.0, 1)


def test_short_chains_warn() -> None:
    table = np.diag([40.0] * 5)
    with pytest.warns(ConvergenceWarning, match="R-hat"):
        run(table, method="sampling", steps=3, tables=320)


REFUSED: dict[str, tuple[object, dict[str, object], type[LuceError], str]] = {
    "fractions": ([[1.5, 2], [1, 1]], {}, DataError, "fractions"),
    "large": ([[9e6, 2], [1, 1]], {}, DataError, "up to 1,000,000"),
    "empty": ([[0, 0], [0, 0]], {}, DataError, "no row of the table"),
    "method": (SHIFTS, {"method": "exact"}, MethodError, "enumeration"),
    "tables": (SHIFTS, {"tables": 3}, MethodError, "tables = 3"),
    "too many": (
        np.full((6, 6), 60), {"method": "enumeration"}, MethodError, "method='sampling'",
    ),
    "statistic": (SHIFTS, {"statistic": lambda x: NAN}, DataError, "finite"),
    "sums": ([[1, 2], [3, 4], [4, 6]], {}, DataError, "is the sum of the others"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    table, options, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        run(table, **options)


def test_a_row_that_cannot_be_used_is_named_and_cannot_be_skipped() -> None:
    with pytest.raises(DataError, match=r"row 2: 1 is -1\.0; a count, 0 or more") as found:
        run([[1, 2], [3, -1]])
    assert "skip" not in str(found.value)
    with pytest.raises(DataError, match="skip_bad"):  # control: the reader can leave rows out
        luce.from_table(array([[1, 2], [3, -1]]))


def test_columns_called_by_numbers_are_refused_with_a_remedy() -> None:
    frame = pd.DataFrame([[3, 1], [2, 4]])
    with pytest.raises(DataError, match=r"is called 0; .* frame\.rename\(columns=str\)"):
        independence_test(frame)
    found = independence_test(frame.rename(columns=str), progress=False)
    assert found.p_value == independence_test(frame.values, progress=False).p_value


def test_a_column_of_totals_is_asked_about() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "Total": [4, 6]})
    with pytest.raises(DataError, match="Total"):
        independence_test(frame)
