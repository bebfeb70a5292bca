"""Parquet files."""

from pathlib import Path
from typing import Any

import polars as pl
from lib.data_files import DUELS, EXPECTED, refusal, table

import luce


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "duels.parquet"
    pl.DataFrame(DUELS, schema=["winner", "loser", "count"], orient="row").write_parquet(path)
    assert luce.read(path) == EXPECTED
    assert luce.read(path.rename(tmp_path / "duels.dat")) == EXPECTED  # known by its first bytes
    lists = tmp_path / "orders.pq"
    pl.DataFrame({"order": [["a", "b", "c"], ["b", "a", "c"]], "n": [2, 1]}).write_parquet(lists)
    assert luce.read(lists) == luce.from_rankings({("a", "b", "c"): 2, ("b", "a", "c"): 1})


def test_parquet_that_breaks_off(tmp_path: Path, write: Any) -> None:
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"]}).write_parquet(whole)
    content = whole.read_bytes()
    for cut in (4, 8, len(content) // 2, len(content) - 1):
        assert "cannot read it" in refusal(write("d.parquet", content[:cut]))
    assert "does not begin with PAR1" in refusal(write("d.parquet", table()))
