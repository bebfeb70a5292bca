"""Transition matrices as text."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import luce
from luce.answers.transition_tables import per_cent


def matrix(names: list[Any], rows: Any = None, seed: int = 1) -> xr.DataArray:
    """Make draws of a matrix without self-loops; or a matrix that is known."""
    n = len(names)
    shape = np.where(np.eye(n), 0.0, np.linspace(0.2, 3.0, n * n).reshape(n, n))
    x = np.random.default_rng(seed).gamma(shape, size=(2, 300, n, n))
    x = x / x.sum(axis=3, keepdims=True) if rows is None else np.broadcast_to(rows, (1, 3, n, n))
    labels = np.empty(n, object)
    labels[:] = names
    dims = ("chain", "draw", "source", "target")
    return xr.DataArray(x, {"source": labels, "target": labels}, dims)


def test_per_cents_never_round_to_what_is_not_so() -> None:
    shares = [0.0, 1e-9, 0.005, 0.00501, 0.4349, 0.995, 0.99499, 1 - 1e-12, 1.0]
    written = ["<1", "<1", "<1", "1", "43", ">99", "99", ">99", "100"]
    assert [per_cent(x) for x in shares] == written
    assert [per_cent(x, 1) for x in (0.0004, 0.4349, 0.9996)] == ["<0.1", "43.5", ">99.9"]


def test_a_matrix_of_known_probabilities() -> None:
    rows = [[0, 0.004, 0.996], [0.25, 0, 0.75], [1, 0, 0]]
    found = luce.answers.transition_summary(matrix(["a", "b", "c"], rows))
    assert str(found).splitlines() == [
        "Moves from row to column: mean probability in per cent",
        "",
        "     a   b    c",
        "a    ·  <1  >99",
        "b   25   ·   75",
        "c  100   ·    ·",
        "· cannot occur",
    ]


@pytest.mark.parametrize("width", [30, 60, 80, 120, 300])
@pytest.mark.parametrize(
    "names",
    [
        list("abc"),
        [f"a state with a long name of {k}" for k in range(12)],
        [f"s{k}" for k in range(12)],
        [f"state {k}" for k in range(45)],
    ],
    ids=["3", "12 long", "12", "45"],
)
def test_lines_are_no_longer_than_the_width(names: list[str], width: int) -> None:
    found = luce.answers.transition_summary(matrix(names))
    for how in ({}, {"intervals": True}, {"decimals": 1}):
        lines = found.to_text(width, most=20, **how).splitlines()  # type: ignore[arg-type]
        long = [line for line in lines[2:] if len(line) > width]
        assert all(line.count(",") <= 1 for line in long)  # one move, and the others together
        assert not long or width < 80
        listed = lines[0].startswith("Most probable")
        assert listed == ("·" not in "".join(lines[2:]))
        if listed and len(names) > 20:
            assert lines[-1] == "... and 25 more states"


def test_cells_are_means_and_intervals_of_the_draws() -> None:
    draws = matrix(["up", "down", "left"])
    found = luce.answers.transition_summary(draws, 0.8)
    lines = [line.split() for line in found.to_text(intervals=True).splitlines()]
    assert lines[0][-4:] == ["80", "%", "interval", "beneath"]
    assert lines[2] == ["up", "down", "left"]
    for i, state in enumerate(["up", "down", "left"]):
        mean = draws[:, :, i].mean(("chain", "draw")).values
        low, high = (draws[:, :, i].quantile(q, ("chain", "draw")).values for q in (0.1, 0.9))
        own = [per_cent(x) for x in mean.tolist()]
        span = [f"{per_cent(a)}–{per_cent(b)}" for a, b in zip(low, high, strict=True)]
        own[i] = span[i] = "·"
        assert lines[3 + 2 * i] == [state, *own]
        assert lines[4 + 2 * i] == span


def test_a_list_holds_the_most_probable_moves_and_the_rest_of_their_probability() -> None:
    draws = matrix([f"s{k}" for k in range(45)])
    found = luce.answers.transition_summary(draws)
    line = found.to_text(80).splitlines()[2]
    mean = found.table["mean"].values[0]
    order = np.argsort(-mean, kind="stable")
    *moves, rest = line.removeprefix("s0 ").strip().split(", ")
    assert moves == [f"s{j} {per_cent(mean[j])}" for j in order[: len(moves)]]
    left = 44 - len(moves)
    assert rest == f"{left} others {per_cent(mean[order[len(moves) :]].sum())}"


def test_names_that_are_alike_are_told_apart() -> None:
    alike = [f"a very long name, {k} of two, with an end" for k in ("first", "other")]
    lines = str(luce.answers.transition_summary(matrix(alike))).splitlines()
    assert lines[2].split() == ["1", "2"]
    lines = str(luce.answers.transition_summary(matrix([1, "1"]))).splitlines()
    assert lines[2].split() == ["1", "'1'"]
    lines = str(luce.answers.transition_summary(matrix(["a", "\x1b[31mb"]))).splitlines()
    assert r"\x1b[31mb" in lines[2]


def test_states_that_are_only_entered_are_named_where_columns_are_numbered() -> None:
    names = [f"a state with a long name {k}" for k in range(6)]
    draws = matrix(names)[:, :, :4]
    text = luce.answers.transition_summary(draws).to_text(70)
    assert text.splitlines()[2].split() == ["1", "2", "3", "4", "5", "6"]
    assert "Column 5 a state w…ong name 4, 6 a state w…ong name 5" in text.splitlines()
