"""Time series of any form become one `Series`, or are refused in a sentence."""

import datetime
import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from lib.bounds import SEED

from luce.errors import DataError, IgnoredColumnsWarning, QuestionsError
from luce.sequences.series import Series, check_candidates, read_series

NAN = float("nan")


def table(rows: int = 40, channels: int = 3) -> Any:
    """Draw numbers with gaps: a whole row, a part of one, and the first of a channel."""
    values = np.random.default_rng(SEED).normal(2.0, 3.0, (rows, channels))
    values[5] = values[rows // 2, 1] = values[0, -1] = NAN
    return values


def frame(values: Any, **more: Any) -> pl.DataFrame:
    columns = {name: values[:, k] for k, name in enumerate("xyz"[: values.shape[1]])}
    return pl.DataFrame({**more, **columns}).fill_nan(None)


def refusal(given: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_series(given, *arguments, **options)
    return str(caught.value)


def equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=True)


# -- arrays ----------------------------------------------------------------------------------------


def test_an_array_of_one_or_more_channels() -> None:
    one = read_series(np.array([0.5, 2.0, 1.0]))
    assert one.values.shape == (3, 1)
    assert one.borders.tolist() == [0, 3]
    assert one.borders.dtype == np.int64
    assert (one.channels, one.names, one.times, one.categories) == ((0,), (0,), None, ())
    values = table()
    series = read_series(values)
    assert equal(series.values, values)
    assert series.values.flags.c_contiguous
    assert (series.length, series.n_sequences, series.n_channels) == (40, 1, 3)
    assert series.n_missing == 5
    assert repr(series) == "Series(40 rows, 3 channels, 1 sequence, 5 missing values)"
    assert series.moments.tolist() == list(range(40))


def test_the_given_array_stays_apart_from_the_series() -> None:
    values = table()
    kept = values.copy()
    series = read_series(values)
    values[:] = 0.0
    assert equal(series.values, kept)


@pytest.mark.parametrize(
    "given",
    [
        [0, 1, None, 3],
        [0.0, 1.0, NAN, 3.0],
        (0.0, 1.0, NAN, 3.0),
        ["0", "1", "NA", " 3 "],
        [np.float32(0.0), 1, pd.NA, True + 2],
        np.array([0, 1, NAN, 3], np.float32),
        np.array([0, 1, None, 3], object),
        np.array(["0", "1", "", "3"]),
        np.ma.masked_array([0, 1, 7, 3], [False, False, True, False]),
        np.ma.masked_array([0.0, 1.0, 7.0, 3.0], [False, False, True, False]),
        np.ma.masked_array(np.array([0, 1, "x", 3], object), [False, False, True, False]),
        [[0.0], [1.0], [None], [3.0]],
        [[0.0], [1.0], ["n/a"], [3.0]],
        [np.array([0.0, 1.0, NAN, 3.0])],
        pa.array([0, 1, None, 3]),
        pd.array([0, 1, None, 3], dtype="Int64"),
        xr.DataArray([0.0, 1.0, NAN, 3.0]),
    ],
)
def test_every_spelling_of_a_missing_value(given: Any) -> None:
    series = read_series(given)
    assert equal(series.values, [[0.0], [1.0], [NAN], [3.0]])
    assert series.digest == read_series([0.0, 1.0, NAN, 3.0]).digest


def test_whole_numbers_and_flags_are_numbers() -> None:
    assert read_series(np.array([True, False, True])).values[:, 0].tolist() == [1.0, 0.0, 1.0]
    assert read_series(range(3)).values[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert read_series([2**80, 1]).values[:, 0].tolist() == [2.0**80, 1.0]


def test_a_list_of_arrays_is_several_sequences() -> None:
    first, second = table(7, 2), table(12, 2)
    for given in ([first, second], (first, second), [first.tolist(), second.tolist()]):
        series = read_series(given)
        assert equal(series.values, np.concatenate([first, second]))
        assert series.borders.tolist() == [0, 7, 19]
        assert series.names == (0, 1)
    named = read_series({"ann": first, "bo": second})
    assert named.names == ("ann", "bo")
    assert named.rows_of(1) == slice(7, 19)
    assert named.sequence_of.tolist() == [0] * 7 + [1] * 12
    assert named.sequence_of.dtype == np.int64
    back = named.as_given()
    assert equal(back[0], first)
    assert equal(back[1], second)
    assert equal(read_series(first).as_given(), first)
    moments = named.moments
    assert moments.tolist() == [*range(7), *range(12)]
    ragged = np.empty(2, object)
    ragged[:] = [first, second]
    assert read_series(ragged).digest == read_series([first, second]).digest


def test_one_rule_for_nested_lists() -> None:
    """Arrays in a list are sequences; plain lists in a list are rows of one array."""
    plain = [[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]]
    assert read_series(plain).values.tolist() == plain
    arrays = read_series([np.asarray(row) for row in plain])
    assert arrays.borders.tolist() == [0, 2, 4, 6]
    assert arrays.values[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 6.0]
    told = refusal([[0.0, 1.0], [2.0, 3.0, 4.0]])
    assert "read as rows of one array; row 0 holds 2 values and row 1 holds 3 values" in told
    assert "[np.asarray(x) for x in ...]" in told
    assert "row 1 holds a single value" in refusal([[0.0, 1.0], 2.0])


def test_names_of_the_channels_of_an_array() -> None:
    assert read_series(table(), columns=["a", 1, ("b", 2)]).channels == ("a", 1, ("b", 2))
    assert "names 2 channels; the data has 3" in refusal(table(), columns=["a", "b"])
    assert "names 'a' twice" in refusal(table(), columns=["a", "a", "b"])
    assert "a list of names of columns is needed" in refusal(table(), columns=[])
    assert "a list of columns is needed" in refusal(table(), columns=3)


def test_a_data_array_keeps_its_coordinates() -> None:
    values = table()
    when = np.arange(40) * 0.5
    given = xr.DataArray(
        values, dims=("time", "place"), coords={"time": when, "place": ["a", "b", "c"]}
    )
    series = read_series(given)
    assert equal(series.values, values)
    assert series.channels == ("a", "b", "c")
    assert equal(series.times, when)
    assert series.moments is series.times
    assert read_series(given[:, 1].drop_vars("place").rename("b")).channels == ("b",)
    days = pd.date_range("2024-02-28", periods=40).to_numpy()
    dated = read_series(given.assign_coords(time=days))
    assert dated.dates
    assert dated.moments[1] == np.datetime64("2024-02-29")
    spelled = given.assign_coords(time=[str(day)[:10] for day in days])
    assert equal(read_series(spelled).times, dated.times)
    doubled = given.assign_coords(place=["a", "b", "a"])
    assert "two channels are called 'a'; each needs a name of its own." in refusal(doubled)
    assert "time must be the first" in refusal(given.T)
    assert "one xarray.DataArray" in refusal(given.to_dataset(name="x"))
    assert "row 3 (counted from 0): 1.0 comes after 3.0" in refusal(
        given.assign_coords(time=[0, 1, 3, *([1] * 37)])
    )
    assert "the coordinate 'time' holds" in refusal(
        given.assign_coords(time=["noon", *map(str, range(39))])
    )
    assert "some have not" in refusal([given, given.drop_vars("time")])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "an empty list was given; an array (T,)"),
        ((), "an empty tuple was given"),
        ({}, "an empty mapping was given"),
        (np.empty((0, 2)), "there are no rows; at least one is needed."),
        (np.empty((3, 0)), "an array of shape (3, 0) was given"),
        (np.float64(3.0), "the single value"),
        (np.array(3.0), "an array of shape () was given"),
        (3.0, "3.0 (float) was given; an array (T,) or (T, channels)"),
        (None, "None (NoneType) was given"),
        ({1.0, 2.0}, "a set has no order"),
        ((x for x in (1.0, 2.0)), "(generator) was given"),
        (np.zeros((2, 3, 4)), "(2, 3, 4) was given; an array (T,) or (T, channels)"),
        ([np.zeros((2, 3, 4))], "was given; an array"),
        ([[[[1.0]]]], "lists within lists within lists"),
        ([1.0, "fast"], "row 1 (counted from 0), channel 0: 'fast' (str) stands where a number"),
        ([[1.0, 2.0], [3.0, "x"]], "row 1 (counted from 0), channel 1: 'x' (str)"),
        ([1.0, "1_000"], "'1_000' (str) stands where a number is needed"),
        ([1.0, b"2"], "row 1 (counted from 0), channel 0"),
        ([np.array([1.0]), np.array(["x"])], "row 0 (counted from 0) of sequence 1, channel 0"),
        (np.array([1 + 2j, 3]), "complex numbers (complex128) was given; real numbers"),
        (np.array(["2024-01-01"], "M8[D]"), "dates or durations (datetime64[D])"),
        ([1.0, NAN, np.inf], "row 2 (counted from 0): inf in channel 0; values must be finite"),
        ([np.ones(2), np.array([2.0, -np.inf])], "row 1 of sequence 1 (counted from 0): -inf"),
        ([np.arange(3.0), np.ones((3, 2))], "sequence 1 has 2 channels and sequence 0 has 1; all"),
        ({"a": np.arange(3.0), "b": np.empty(0)}, "sequence 'b' is empty; leave it out."),
        ([np.arange(3.0), 5.0], "some entries of the list are sequences and one is 5.0 (float)"),
    ],
)
def test_what_cannot_be_a_series(given: Any, sentence: str) -> None:
    assert sentence in refusal(given, strict=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1.0], "there is 1 row; at least 2 are needed."),
        ([NAN, None, NAN], "all 3 rows are missing; some values are needed."),
        ([2.0, NAN, 2.0], "channel 0 is 2.0 in all rows, which tells nothing about states; leave"),
        ([[1.0, 4.0], [2.0, 4.0]], "channel 1 is 4.0 in all rows"),
        ([[1.0, None], [2.0, None]], "channel 1 holds no value, which tells nothing"),
    ],
)
def test_what_is_refused_only_for_a_fit(given: Any, sentence: str) -> None:
    assert sentence in refusal(given)
    assert read_series(given, strict=False).length == len(given)


def test_a_channel_may_be_constant_in_a_sequence() -> None:
    assert read_series([np.ones(3), np.zeros(4)]).length == 7


def test_columns_of_frames_are_not_named_for_arrays() -> None:
    told = refusal(table(), sequence="dog")
    assert "sequence = 'dog' names a column of a frame or a file" in told
    assert "time = 't' names a column" in refusal({"a": np.arange(3.0)}, time="t")


def test_the_kind_is_one_of_three() -> None:
    assert refusal([1, 2], "number") == (
        "kind = 'number'; 'numbers', 'counts' or 'categories' is needed."
    )


# -- counts and categories -------------------------------------------------------------------------


def test_counts_are_whole_and_not_negative() -> None:
    given = [[0, 3], [None, 2], [7, 1e6]]
    assert equal(read_series(given, "counts").values, [[0, 3], [NAN, 2], [7, 1e6]])
    told = refusal([[0, 3], [2, 2.5]], "counts")
    assert "row 1 (counted from 0): 2.5 in channel 1 is no count; counts are whole" in told
    assert "row 0 (counted from 0): -1 in channel 0" in refusal([-1, 2], "counts", strict=False)


def test_categories_are_codes_of_sorted_labels() -> None:
    series = read_series(["run", "rest", None, "walk", "rest"], "categories")
    assert series.categories == ("rest", "run", "walk")
    assert equal(series.values, [[1.0], [0.0], [NAN], [2.0], [0.0]])
    assert series.values.dtype == np.float64
    mixed = read_series(["b", 2, ("c", 1), "a", 1], "categories")
    assert mixed.categories == (1, 2, "a", "b", ("c", 1))
    several = read_series([["b", "a"], ["c", "b", "b"]], "categories")
    assert several.borders.tolist() == [0, 2, 5]
    assert several.values[:, 0].tolist() == [1.0, 0.0, 2.0, 1.0, 1.0]
    floats = read_series(np.array([[3.0], [1.0], [NAN], [3.0]]), "categories")
    assert floats.categories == (1.0, 3.0)
    assert floats.digest == read_series([3, 1, None, 3], "categories").digest
    assert read_series({"x": ["a", "b"], "y": ["a"]}, "categories").names == ("x", "y")


def test_what_cannot_be_categories() -> None:
    assert "categories have one channel, (T,)" in refusal(np.ones((4, 2)), "categories")
    assert "row 1 (counted from 0): {'b'} (set) is no label" in refusal(["a", {"b"}], "categories")
    assert "channel 0 is 'a' in all rows" in refusal(["a", "a"], "categories")
    assert "all 2 rows are missing" in refusal([None, None], "categories")
    days = [np.datetime64("2024-01-03"), np.datetime64("2024-01-04")]
    assert "cannot be a label" in refusal(days, "categories")


def test_categories_are_coded_by_those_of_a_fit() -> None:
    new = read_series(["run", None, "rest"], "categories", strict=False)
    coded = new.coded_by(["idle", "rest", "run"])
    assert equal(coded.values, [[2.0], [NAN], [1.0]])
    assert coded.categories == ("idle", "rest", "run")
    with pytest.raises(DataError, match="'rest' is not among the categories 'run', 'walk'"):
        new.coded_by(["run", "walk"])
    with pytest.raises(DataError, match="series of numbers, which has no categories"):
        read_series([1.0, 2.0]).coded_by(["a"])


# -- frames and files ------------------------------------------------------------------------------


def written(folder: Path, given: pl.DataFrame) -> dict[str, Any]:
    """Give the same data in every form."""
    given.write_csv(folder / "a.csv")
    given.write_csv(folder / "a.tsv", separator="\t", null_value="NA")
    given.write_parquet(folder / "a.parquet")
    given.write_ndjson(folder / "a.jsonl")
    (folder / "loose.csv").write_text(
        (folder / "a.csv").read_text().replace(",", " , ").replace("\n", "\n\n")
    )
    given.to_pandas().to_csv(folder / "indexed.csv")
    forms = ("a.csv", "a.tsv", "a.parquet", "a.jsonl", "loose.csv", "indexed.csv")
    return {
        **{name: folder / name for name in forms},
        "text": str(folder / "a.csv"),
        "polars": given,
        "lazy": given.lazy(),
        "pandas": given.to_pandas(),
        "arrow": given.to_arrow(),
        "records": given.to_dicts(),
        "objects": given.to_pandas().astype(object),
    }


def test_all_routes_give_the_same_series(tmp_path: Path) -> None:
    values = table()
    when = [*(np.arange(15) * 0.25), *(np.arange(25) - 3.0)]
    given = frame(values, sequence=["b"] * 15 + ["a_1"] * 25, time=when)
    truth = read_series([values[:15], values[15:]])
    digests = set()
    for name, form in written(tmp_path, given).items():
        series = read_series(form)
        assert equal(series.values, values), name
        assert series.values.flags.c_contiguous
        assert series.borders.tolist() == truth.borders.tolist()
        assert series.channels == ("x", "y", "z")
        assert series.names == ("b", "a_1")
        assert equal(series.times, when)
        digests.add(series.digest)
    assert len(digests) == 1
    expected = Series(truth.values, truth.borders, ("x", "y", "z"), ("b", "a_1"), np.asarray(when))
    assert digests == {expected.digest}


def test_all_routes_give_the_same_categories(tmp_path: Path) -> None:
    labels = ["run", "rest", None, "walk", "rest", "run"]
    given = pl.DataFrame({"state": labels, "sequence": ["a", "a", "a", "b", "b", "b"]})
    truth = read_series({"a": labels[:3], "b": labels[3:]}, "categories")
    for name, form in written(tmp_path, given).items():
        series = read_series(form, "categories")
        assert equal(series.values, truth.values), name
        assert series.categories == truth.categories
        assert series.names == truth.names


def test_rows_in_which_all_is_missing_are_kept(tmp_path: Path) -> None:
    """A row of nothing but delimiters is a moment; a blank line is none."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n,\n\n3,4\n")
    assert equal(read_series(path).values, [[1, 2], [NAN, NAN], [3, 4]])
    path.write_text('x,y\n1,2\n,\n\n"3",Na\n   \n4,5\n')  # one line at a time
    assert equal(read_series(path).values, [[1, 2], [NAN, NAN], [3, NAN], [4, 5]])
    path.write_text('x\n1\n""\n3\n\n\n')
    assert equal(read_series(path).values, [[1], [NAN], [3]])
    path.write_text("x\n1\n\n3\n")
    assert "a.csv: line 3: this line is empty; write NA where a value is missing" in refusal(path)


def test_a_million_rows_are_read_by_arrays(tmp_path: Path) -> None:
    """The time of a loop over lines would be ten times as long."""
    path = tmp_path / "a.csv"
    values = np.random.default_rng(SEED).normal(size=(100_000, 3))
    frame(values, sequence=[f"dog_{k // 1000}" for k in range(100_000)]).write_csv(path)
    began = time.process_time()
    series = read_series(path)
    assert time.process_time() - began < 2.0
    assert equal(series.values, values)
    assert series.n_sequences == 100


def test_dates_are_seconds(tmp_path: Path) -> None:
    start = datetime.datetime(2024, 2, 28, 23, 59, 58, 250_000)
    dates = [start + datetime.timedelta(seconds=k) for k in range(4)]
    seconds = [1709164798.25 + k for k in range(4)]
    given = pl.DataFrame({"when": dates, "x": [1.0, 2.0, 4.0, 3.0]})
    for name, form in written(tmp_path, given).items():
        if name == "a.jsonl":
            continue
        series = read_series(form, time="when")
        assert series.times is not None, name
        assert series.times.tolist() == seconds, name
        assert series.dates
        assert series.moments[3] == np.datetime64("2024-02-29T00:00:01.25")
    zoned = given.with_columns(pl.col("when").dt.replace_time_zone("Europe/Paris"))
    for form in (zoned, zoned.to_pandas()):
        at = read_series(form, time="when").times
        assert at is not None
        assert at.tolist() == [second - 3600 for second in seconds]
    days = pl.DataFrame({"time": [d.date() for d in dates[::3]], "x": [1.0, 2.0]})
    for form in (days, days.to_pandas(), days.to_arrow()):
        assert np.diff(read_series(form).moments).tolist() == [datetime.timedelta(days=1)]
    plain = days.to_pandas().astype(object)
    assert read_series(plain).digest == read_series(days).digest
    plain.loc[1, "time"] = datetime.time(12)
    assert "row 2 (counted from 1): datetime.time(12, 0) in 'time' is no time" in refusal(plain)
    spans = pl.DataFrame({"time": [d - start for d in dates], "x": [1.0, 2.0, 3.0, 4.0]})
    series = read_series(spans)
    assert series.moments.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert not series.dates


def test_an_index_of_dates_is_the_time() -> None:
    index = pd.date_range("2024-05-01", periods=3, freq="h")
    given = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=index)
    for form in (given, given["x"], given.rename_axis("time")):
        series = read_series(form)
        assert series.channels == ("x",)
        assert series.moments[1] == np.datetime64("2024-05-01T01:00")
        assert series.uses["time"].startswith("time, by its name")
    assert read_series(given, time=False).times is None


def test_columns_of_frames() -> None:
    assert read_series(pd.Series([1.0, 2.0])).channels == (0,)
    assert read_series(pl.Series("x", [1.0, 2.0])).channels == ("x",)
    numbered = pd.DataFrame(table())
    assert read_series(numbered).channels == (0, 1, 2)
    assert read_series(numbered, columns=[2, 0]).channels == (2, 0)
    series = read_series(numbered.rename(columns={0: "who"}).assign(who="a"), sequence="who")
    assert (series.channels, series.names) == ((1, 2), ("a",))
    both = [numbered[:10], numbered[10:]]
    assert read_series(both).borders.tolist() == [0, 10, 40]
    whole = frame(table(), sequence=["a"] * 9 + ["b"] * 31)
    assert "the one of sequence 0 holds 2. Join the frames" in refusal([whole, whole])
    assert "the channels of sequence 1 are" in refusal([both[0], both[1].rename(columns={0: 7})])
    twice = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=[1, "1"])
    assert "two columns are called '1'" in refusal(twice)
    labels = [pd.DataFrame({"s": ["a", None, "b"]}), pd.DataFrame({"s": ["c", "a"]})]
    joined = read_series(labels, "categories")
    assert equal(joined.values[:, 0], [0.0, NAN, 1.0, 2.0, 0.0])
    assert joined.categories == ("a", "b", "c")


def test_labels_of_sequences_are_any_hashable() -> None:
    given = pd.DataFrame({"sequence": [(1, "a"), (1, "a"), 7], "x": [1.0, 2.0, 3.0]})
    assert read_series(given).names == ((1, "a"), 7)
    assert read_series({None: np.arange(3.0), 2.5: np.arange(2.0)}).names == (None, 2.5)


def test_columns_are_chosen_by_name() -> None:
    given = frame(table(), dog=["a"] * 20 + ["b"] * 20, at=range(40))
    series = read_series(given, columns=["z", "x"], sequence="dog", time="at")
    assert equal(series.values, table()[:, [2, 0]])
    assert series.names == ("a", "b")
    told = {"dog": "sequence", "at": "time", "y": "left out, as asked"}
    assert series.uses == {**told, "z": "channel", "x": "channel"}
    assert read_series(given, columns="x").channels == ("x",)
    assert "columns = 'w': there is no such column; the columns are" in refusal(given, columns="w")
    assert "Did you mean 'dog'?" in refusal(given, columns="x", sequence="dogs")
    assert "'x' is named twice" in refusal(given, columns=["x", "y"], time="x")
    assert "'at' is named twice" in refusal(given, columns=["x", "y"], time="at", sequence="at")
    assert "sequence = True; the name of a column" in refusal(given, sequence=True)
    with pytest.raises(QuestionsError):
        read_series(given, columns=["v", "w"])


def test_columns_called_sequence_and_time_are_taken_and_said_so() -> None:
    given = frame(table(), time=range(40), sequence=["a"] * 40)
    series = read_series(given)
    assert series.uses["time"] == "time, by its name (time=False leaves it out)"
    assert series.uses["sequence"] == "sequence, by its name (sequence=False leaves it out)"
    assert read_series(given, columns=["time", "x"]).times is None
    untimed = read_series(given, time=False)
    assert untimed.channels == ("x", "y", "z")
    assert untimed.uses["time"] == "left out, as asked"
    with pytest.warns(IgnoredColumnsWarning, match="'trial' .called as the sequence often is; no"):
        assert read_series(given.with_columns(trial=1)).channels == ("x", "y", "z")


@pytest.mark.parametrize("name", ["seq", "ID", "subject", "trial", "animal"])
def test_columns_that_may_be_the_sequence_are_asked_about(name: str) -> None:
    given = frame(table(), **{name: [1] * 20 + [2] * 20})
    for options in ({}, {"columns": ["x", "y"]}):
        told = refusal(given, **options)
        assert f"{name!r} may be the sequence; say sequence={name!r} (--sequence {name})" in told
        assert "sequence=False (--sequence none) if all rows are one sequence" in told
    assert read_series(given, sequence=name).names == (1, 2)
    assert read_series(given, columns=[name, "x"]).channels == (name, "x")
    assert read_series(given, columns=["x"], sequence=False).n_sequences == 1


@pytest.mark.parametrize("name", ["t", "Frame", "date", "timestamp"])
def test_columns_that_may_be_the_time_are_asked_about(name: str) -> None:
    given = frame(table(), **{name: range(40)})
    told = refusal(given)
    assert f"{name!r} may be the time; say time={name!r} (--time {name})" in told
    assert "time=False (--time none) if the order of rows is enough" in told
    assert equal(read_series(given, time=name).times, range(40))
    assert read_series(given, columns=["x"]).times is None


def test_a_column_of_dates_of_any_name_is_asked_about() -> None:
    given = pl.DataFrame({"measured": [datetime.date(2024, 1, k) for k in (1, 2)], "x": [1.0, 2.0]})
    assert "'measured' may be the time" in refusal(given)
    told = refusal(given, columns=["x", "measured"])
    assert "the column 'measured' holds dates, no numbers; if it is the time, say time=" in told


def test_all_is_asked_at_once() -> None:
    with pytest.raises(QuestionsError) as caught:
        read_series(frame(table(), subject=["a"] * 40, t=range(40)))
    assert len(caught.value.questions) == 2


def test_columns_that_play_no_part_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    given = frame(table(), note=["calm"] * 40, good=[True, False] * 20)
    given.write_csv(path)
    for form, start in ((given, "ignored: 'note'"), (path, "a.csv: ignored: 'note'")):
        with pytest.warns(IgnoredColumnsWarning) as caught:
            series = read_series(form)
        told = str(caught[0].message)
        assert told.startswith(start)
        assert "name the channels: columns=[...]" in told
        assert series.channels == ("x", "y", "z")
        assert series.uses["note"] == "ignored: it holds 'calm', no numbers"
        copied = pickle.loads(pickle.dumps(caught[0].message))
        assert str(copied) == told
    numbered = frame(table()).to_pandas()
    numbered.to_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_series(path).uses[""] == "ignored: it names or numbers rows"
        read_series(given, columns=["x"])


def test_a_column_whose_first_rows_are_missing_is_a_channel(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,\n2,NA\n" * 600 + "1,5\n2,6\n")
    series = read_series(path)
    assert series.channels == ("x", "y")
    assert series.n_missing == 1200


def test_text_in_a_column_of_numbers_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2\n2,3\n" * 600 + "3,fast\n4,slow\n")
    told = refusal(path)
    assert told.startswith(
        "a.csv: 2 lines cannot be used\n  line 1202: 'fast' in 'y' is no number."
    )
    assert "--emission categories" in told
    words = pd.DataFrame({"x": [1.0, 2.0], "y": ["1", "fast"]})
    assert refusal(words, columns=["x", "y"]).startswith("row 2: 'fast' in 'y' is no number.")


def test_lines_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3\n4,5\n")
    told = refusal(path)
    assert told.startswith("a.csv: line 3: 1 value stands here; the header has 2.")
    assert "a series needs all its rows" in told
    path.write_text("0.5,1.5\n1,2\n3,4\n")
    assert "a.csv: the first line holds the numbers 0.5, 1.5; a line with the names" in refusal(
        path
    )
    path.write_text("0,1\n1,2\n3,4\n")
    assert read_series(path).channels == ("0", "1")
    path.write_text("x,y\n")
    assert refusal(path) == "a.csv: there are no rows; at least one is needed."
    path.write_text("")
    assert refusal(path) == "a.csv: the file is empty."
    path.write_bytes("größe\n1\n2\n".encode("latin-1"))
    assert "name the encoding of the file, as in encoding='latin-1'" in refusal(path)
    assert read_series(path, encoding="latin-1").channels == ("größe",)
    assert "there is no such file" in refusal(tmp_path / "b.csv")
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"x": 1}\n[2]\n{"x": 3}\n')
    assert "a.jsonl: line 2: a list stands here" in refusal(lines)
    lines.write_text('{"x": 1}\n{"x": [2, 3]}\n')
    assert "a.jsonl: line 2: (2, 3) in 'x' is no number." in refusal(lines, columns="x")


def test_infinite_values_and_constant_channels_of_a_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n\n2,inf\n")
    assert refusal(path).startswith("a.csv: line 4: inf in channel 'y'; values must be finite.")
    path.write_text("x,y\n1,2\n2,2\n")
    assert refusal(path) == (
        "a.csv: channel 'y' is 2.0 in all rows, which tells nothing about states; leave it out."
    )
    path.write_text("x\n1\n2.5\n")
    assert "a.csv: line 3: 2.5 in channel 'x' is no count" in refusal(path, "counts")
    assert "no column of numbers is left" in refusal(pl.DataFrame({"x": ["a", "b"]}))


def test_times_must_increase_in_each_sequence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sequence,time,x\na,0,1\na,2,2\na,1,4\nb,0,3\n")
    told = refusal(path)
    assert told.startswith("a.csv: line 4: 1.0 comes after 2.0; times must increase in each")
    path.write_text("sequence,time,x\na,0,1\nb,2,2\nb,2,4\n")
    assert "line 4: 2.0 is the same time again; times must increase" in refusal(path)
    path.write_text("time,x\n2024-05-02,1\n2024-05-01,2\n")
    assert "line 3: 2024-05-01T00:00:00.000000 comes after 2024-05-02" in refusal(path)
    path.write_text("time,x\n2024-05-02,1\nlater,2\n")
    assert "line 3: 'later' in 'time' is no time; numbers are needed, or dates" in refusal(path)
    path.write_text("time,x\n1,1\n,2\n")
    assert "line 3: the time is missing or infinite" in refusal(path)
    given = pd.DataFrame({"time": [0.0, 1.0, 1.0], "x": [1.0, 2.0, 3.0]})
    assert refusal(given).startswith("row 3 (counted from 1): 1.0 is the same time again")
    path.write_text("sequence,time,x\na,5,1\na,6,2\nb,0,4\nb,1,3\n")
    assert read_series(path).names == ("a", "b")


def test_rows_of_a_sequence_stand_together() -> None:
    given = pl.DataFrame({"sequence": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    told = refusal(given)
    assert told.startswith(
        "row 3 (counted from 1): sequence 'a', which began in row 1 (counted from 1), goes on"
    )
    assert "Sort the rows by 'sequence'" in told
    assert refusal(given.clear()) == "there are no rows; at least one is needed."
    unknown = pl.DataFrame({"sequence": ["a", None, "b"], "x": [1.0, 2.0, 3.0]})
    assert "row 2 (counted from 1): the sequence is missing in 'sequence'" in refusal(unknown)


def test_categories_in_columns() -> None:
    given = pl.DataFrame({"state": ["a", "b"], "x": [1.0, 2.0], "time": [0, 1]})
    told = refusal(given, "categories")
    assert "categories have one channel; 'state', 'x' may be it." in told
    assert read_series(given, "categories", columns="state").categories == ("a", "b")
    told = refusal(given, "categories", columns=["state", "x"])
    assert "categories have one channel, so name one column" in told
    assert "no column is left for it" in refusal(given.select("time"), "categories")


# -- the series ------------------------------------------------------------------------------------


def test_the_digest_depends_on_the_data_alone() -> None:
    values = np.round(table(), 1)
    values[3, 0] = 0.0
    digest = read_series(values).digest
    negative = values.copy()
    negative[3, 0] = -0.0
    odd = values.copy()
    odd.view(np.uint64)[np.isnan(odd)] ^= np.uint64(1 << 63 | 5)  # other nans
    padded = np.zeros((80, 6))
    padded[::2, ::2] = values
    same = [np.asfortranarray(values), negative, odd, padded[::2, ::2], values.astype(">f8")]
    for given in (*same, values.tolist(), values.astype(object)):
        assert read_series(given).digest == digest
    wholes = np.arange(6).reshape(3, 2)
    assert read_series(wholes.astype(np.int8)).digest == read_series(wholes.astype(float)).digest
    other = values.copy()
    other[3, 0] = 1e-300
    different = [other, values[::-1], values[:, ::-1], [values[:10], values[10:]]]
    digests = {read_series(given).digest for given in different}
    digests.add(read_series(values, columns=["a", "b", "c"]).digest)
    timed = xr.DataArray(values, coords={"t": np.arange(40)}, dims=("t", "c"))
    digests.add(read_series(timed).digest)
    assert len(digests - {digest}) == 6


def test_a_series_pickles_and_is_read_again() -> None:
    series = read_series({"a": table(), "b": table()})
    again = pickle.loads(pickle.dumps(series))
    assert again.digest == series.digest
    assert again.names == ("a", "b")
    assert read_series(series) is series
    assert "a series of numbers was given; categories are needed" in refusal(series, "categories")
    assert "row 0 of sequence 'a' (counted from 0)" in refusal(series, "counts")
    labels = read_series(["a", "b"], "categories")
    assert read_series(labels, "categories") is labels
    assert "a series of categories was given; numbers are needed" in refusal(labels)


def test_other_values_in_the_same_rows() -> None:
    series = read_series({"a": table(), "b": table()})
    filled = series.with_values(np.nan_to_num(series.values))
    assert filled.n_missing == 0
    assert filled.names == series.names
    assert filled.digest != series.digest
    with pytest.raises(DataError, match=r"shape \(3,\) were given; this series needs \(80, 3\)"):
        series.with_values([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="sequence number 2 was asked for; there are 2"):
        series.rows_of(2)


def test_large_arrays_take_a_moment() -> None:
    values = np.random.default_rng(SEED).normal(size=(200_000, 12))
    read_series(values)
    began = time.process_time()
    read_series(values)
    assert time.process_time() - began < 0.2


# -- candidates ------------------------------------------------------------------------------------


def test_candidates_of_one_sequence() -> None:
    series = read_series(np.arange(6.0))
    truth = [False, True, False, False, True, True]
    flags = np.zeros(6, np.bool_)
    flags[[2, 5]] = True
    first = flags.copy()
    first[0] = True
    forms = ([2, 5], [5, 2, 2], np.array([2, 5]), (2.0, 5.0), [[2, 5]], flags, first)
    for given in (*forms, flags.tolist(), [flags], {0: [2, 5]}, range(2, 6, 3)):
        may_end = check_candidates(series, given)
        assert may_end.dtype == np.bool_
        assert may_end.tolist() == truth
    assert check_candidates(series).all()
    assert check_candidates(series, range(1, 6)).all()
    assert check_candidates(series, []).tolist() == [False] * 5 + [True]


def test_candidates_of_several_sequences() -> None:
    series = read_series({"a": np.arange(3.0), "b": np.arange(4.0)})
    truth = [True, False, True, False, False, True, True]
    flags = np.array([False, True, False, True, False, False, True])
    for given in ([[1], [3]], {"b": [3], "a": [1]}, flags, [flags[:3], flags[3:]]):
        assert check_candidates(series, given).tolist() == truth
    ends = [False, False, True, False, False, False, True]
    assert check_candidates(series, []).tolist() == ends
    assert check_candidates(series, [[], []]).tolist() == ends
    assert check_candidates(series, {"a": [1]}).tolist() == [True, *ends[1:]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([[-1], [3]], "candidates of sequence 'a' hold -1; row numbers from 0 to 2 are needed"),
        ([[1], [4]], "candidates of sequence 'b' hold 4; row numbers from 0 to 3"),
        ([[1], [1.5]], "hold 1.5; row numbers"),
        ([[1], ["x"]], "hold 'x'; row numbers"),
        ([[-1], [1]], "hold -1; row numbers"),
        ([1, 2], "one list of candidates was given for 2 sequences; give a list of row numbers"),
        ([[1], [1], [1]], "3 lists of candidates were given for 2 sequences; one for each"),
        ({"c": [1]}, "candidates name the sequence 'c'; the sequences are 'a', 'b'."),
        (np.ones(6, np.bool_), "flags of candidates have shape (6,); (7,), one for each row"),
        ({1, 2}, "a set has no order"),
        (3, "candidates = 3 (int); a list of row numbers is needed."),
        ([[1], 2], "candidates of sequence 'b' are 2 (int); a list of row numbers is needed."),
    ],
)
def test_candidates_that_are_refused(given: Any, sentence: str) -> None:
    series = read_series({"a": np.arange(3.0), "b": np.arange(4.0)})
    with pytest.raises(DataError) as caught:
        check_candidates(series, given)
    assert sentence in str(caught.value)
