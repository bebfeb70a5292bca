"""Labels, names and attributes as text and numbers, or a sentence that says why not."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.streaming_runs import draw

import luce
from luce.errors import DataError
from luce.runs.encoding import original_form, stored_form
from luce.runs.typed_json import from_text, to_text


def test_typed_json_refuses_what_it_cannot_give_back() -> None:
    class Text(str):
        __slots__ = ()

    for value in (object(), Text("a"), 1j, {"a": 1}, (1, object())):
        with pytest.raises(DataError, match="Turn it into text first"):
            to_text(value)
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(DataError, match="nested too deeply"):
        to_text(deep)
    for text in ("{", "[" * 100_000, '{"a": 1}', '{"int": 3}', '{"tuple": 3}', '{"a":1,"b":2}'):
        with pytest.raises(DataError, match="not typed JSON"):
            from_text(text)
    assert from_text(to_text(float("-inf"))) == float("-inf")


def test_names_and_values_that_no_file_keeps(tmp_path: Path) -> None:
    def refused(words: str, **variables: Any) -> None:
        run = draw("exact")
        run["more"] = xr.Dataset(variables)
        with pytest.raises(DataError, match=words):
            luce.save(run, tmp_path / "run.nc")

    refused("a variable or dimension is called 'a b'", **{"a b": 1})
    refused("holds complex128", x=("u", np.array([1j])))
    run = draw("exact")
    run.attrs["two words"] = 1
    with pytest.raises(DataError, match="an attribute is called 'two words'"):
        luce.save(run, tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []


def test_stored_trees_that_luce_did_not_write_are_refused() -> None:
    for attributes, words in (
        ({"json_attributes": '["x"]', "x": 3}, "should be typed JSON, and is 3"),
        ({"format_version": 0}, "a number from 1 on is needed"),
    ):
        stored = stored_form(draw("exact"))
        stored.attrs.update(attributes)
        with pytest.raises(DataError, match=words):
            original_form(stored, "a run")
    stored = stored_form(draw("exact"))
    stored["more"] = xr.Dataset({"x": ("u", np.array([1, "a"], object))})
    with pytest.raises(DataError, match="something else than text or numbers"):
        original_form(stored, "a run")
