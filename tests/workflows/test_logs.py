"""Logs reduced to counts where they lie."""

from pathlib import Path

import pandas as pd
import pytest
from distributed import Client
from lib.workers import DASK_WARNINGS

import luce
from luce import ConditionalCounts, LuceError
from luce.errors import DataError

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]


def games() -> pd.DataFrame:
    """Games between six players."""
    pairs = [(k % 6, (k % 6 + 1 + k % 5) % 6) for k in range(60)]
    return pd.DataFrame(
        {"winner": [f"player {a}" for a, _ in pairs], "loser": [f"player {b}" for _, b in pairs]}
    )


def test_logs_are_reduced_on_workers(client: Client, tmp_path: Path) -> None:
    frame = games()
    for k in range(4):
        frame[k::4].to_parquet(tmp_path / f"{k}.parquet")
    expected = luce.from_pairs(frame)
    for cluster, path in ((client, tmp_path), (None, f"{tmp_path}/*.parquet")):
        found = luce.workflows.reduce_logs(path, "pairs", cluster=cluster)
        assert ConditionalCounts(expected.categories) + found == expected


def test_logs_that_cannot_be_reduced_are_refused(tmp_path: Path) -> None:
    games().to_parquet(tmp_path / "games.parquet")
    with pytest.raises(LuceError, match="cannot be read as Parquet"):
        luce.workflows.reduce_logs(tmp_path / "nothing.parquet", "pairs", cluster=None)
    with pytest.raises(DataError, match="kind = 'duels'"):
        luce.workflows.reduce_logs(tmp_path, "duels", cluster=None)
    steps = pd.DataFrame({"from": list("xyz"), "to": list("yzx")})
    steps.to_parquet(tmp_path / "steps.parquet")
    with pytest.raises(DataError, match="read them one by one"):
        luce.workflows.reduce_logs(
            tmp_path / "steps.parquet", "transitions", cluster=None, rows="separate"
        )
