"""What is written comes back the same: values, labels, attributes and their types.

Fixed cases, and what files are made of, are in test_saving.
"""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from lib.bounds import SEED
from lib.random_data import entered, priors_over, terms_over, tried

import luce
from luce.runs.typed_json import from_text, to_text

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")  # runs are short here

# Numbers of all sizes, text with every character but those of no text, and what holds them.
numbers: Any = st.integers() | st.floats(allow_nan=False)
texts: Any = st.text(max_size=8) | st.binary(max_size=5)
plain: Any = st.none() | st.booleans() | numbers | texts


def held(part: Any) -> Any:
    """Lists and tuples of values."""
    return st.lists(part, max_size=3) | st.lists(part, max_size=3).map(tuple)


values = st.recursive(plain, held, max_leaves=6)
labels = plain | st.tuples(plain, plain) | st.frozensets(plain, max_size=3)


def same(a: Any, b: Any) -> bool:
    """Equal in value and in type, all the way down; 0.0 and -0.0 differ."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b)


@tried(100)
@given(values)
def test_typed_json_gives_back_the_same_value_of_the_same_type(value: Any) -> None:
    text = to_text(value)
    assert same(from_text(text), value)
    json.loads(text, parse_constant=pytest.fail)  # no NaN, no Infinity: any reader reads it


def test_control_plain_json_would_not() -> None:
    for value in [(1, 2), b"a", [True, (None,)]]:
        try:
            assert not same(json.loads(json.dumps(value)), value)
        except TypeError:
            continue


@st.composite
def runs(draw: st.DrawFn) -> tuple[luce.Posterior, xr.DataTree]:
    """A run over any labels, with attributes of any kind."""
    # Python takes 1, 1.0 and True for one label, and so does luce.
    named = draw(st.lists(labels, min_size=2, max_size=5, unique=True))
    n = len(named)
    counts = entered(n, draw(terms_over(n)))
    renamed = luce.ConditionalCounts.from_nests(
        named, counts.category_counts, counts.sets, counts.n_outcomes
    )
    posterior = luce.Posterior(renamed, draw(priors_over(n, 0.05)))
    run = posterior.sample(7, chains=2, warmup=5, seed=SEED, progress=False)
    names = st.text("abcXYZ_é", min_size=1, max_size=6).map(lambda x: f"own_{x}")
    run.attrs.update(draw(st.dictionaries(names, values, max_size=4)))
    return posterior, run


def check_round_trip(posterior: luce.Posterior, run: xr.DataTree, suffix: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"run{suffix}")
        luce.save(run, path)
        loaded = luce.load(path)
    xr.testing.assert_identical(loaded, run)
    for here in run.subtree:
        there = loaded[here.path]
        assert same(sorted(here.attrs.items()), sorted(there.attrs.items()))
        for name, variable in here.variables.items():
            found = there.variables[name]
            assert found.dtype == variable.dtype
            if variable.dtype.kind == "f":  # bit for bit
                assert found.values.tobytes() == variable.values.tobytes()
            assert same(found.values.tolist(), variable.values.tolist())
    again = luce.posterior_of(loaded)
    assert again.counts == posterior.counts
    assert again.counts.digest == posterior.counts.digest
    assert again.counts.n_outcomes == posterior.counts.n_outcomes
    np.testing.assert_array_equal(again.concentration, posterior.concentration)
    redrawn = again.sample(7, chains=2, warmup=5, seed=SEED, progress=False)
    np.testing.assert_array_equal(
        redrawn.posterior["probabilities"], run.posterior["probabilities"]
    )


@tried(4)
@given(runs())
def test_runs_come_back_from_netcdf(case: Any) -> None:
    check_round_trip(*case, ".nc")


@tried(3)
@given(runs())
def test_runs_come_back_from_zarr(case: Any) -> None:
    check_round_trip(*case, ".zarr")


# Text that a table can hold: no line ends within JSON Lines, no blanks at the edges.
cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
names = cells.filter(lambda x: x == x.strip() and x.strip("\x1c\x1d\x1e\x1f\x85"))
players = st.lists(names, min_size=3, max_size=5, unique=True)


@st.composite
def picks(draw: st.DrawFn) -> list[dict[str, Any]]:
    among = draw(players)
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        offered = draw(st.lists(st.sampled_from(among), min_size=2, unique=True))
        rows.append({"chosen": offered[0], "offered": offered, "count": draw(st.integers(1, 9))})
    return rows


@tried(30)
@given(picks())
def test_choices_written_as_json_lines_are_read_as_they_were(rows: list[dict[str, Any]]) -> None:
    by_hand = luce.from_choices([(r["chosen"], r["offered"], r["count"]) for r in rows])
    with TemporaryDirectory() as folder:
        path = Path(folder, "picks.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found = luce.read(path, kind="choices")
    assert found.n_outcomes == by_hand.n_outcomes
    assert sorted(found.categories) == sorted(by_hand.categories)
    assert by_hand + found == by_hand + by_hand
