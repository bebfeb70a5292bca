"""Event logs in Parquet, one row an event, added up to counts by Dask workers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from luce.cluster.connect import ClusterLike, connected
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError, LuceError
from luce.reading.kinds import KINDS


def reduce_logs(
    path: str | os.PathLike[str] | Sequence[str],
    kind: str,
    *,
    cluster: ClusterLike = "local",
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> ConditionalCounts:
    """Read event logs with Dask: workers group equal rows, and only distinct rows are sent back.

    Parameters
    ----------
    path
        A Parquet file or folder, a pattern or a list of them; on this machine or, with a prefix
        such as ``s3://`` or ``gs://``, on any store that fsspec can reach.
    kind
        Kind of the rows: "pairs", "rankings", "choices", "transitions", "table", "teams" or
        "groups".
    cluster
        As in `luce.sample_sharded`; None reads in threads of this process.
    storage_options
        Options of fsspec for an object store: keys, endpoints.
    options
        Options of the reader: column names, ties and so on.

    Examples
    --------
    >>> import luce, pandas
    >>> from tempfile import TemporaryDirectory
    >>> games = pandas.DataFrame({"winner": list("aab"), "loser": list("bca")})
    >>> with TemporaryDirectory() as folder:
    ...     games.to_parquet(f"{folder}/games.parquet")
    ...     luce.workflows.reduce_logs(f"{folder}/*.parquet", "pairs", cluster=None)
    ConditionalCounts(3 categories, 3 outcomes, 2 sets)
    """
    if kind not in KINDS:
        raise DataError(f"kind = {kind!r}; choose one of {', '.join(KINDS)}.")
    try:
        import dask.dataframe as dd
    except ImportError:
        raise LuceError("logs need a package more: pip install 'luce[cluster]'") from None
    source: Any = path if isinstance(path, str) or not hasattr(path, "__fspath__") else str(path)
    with connected(cluster):
        try:
            frame = dd.read_parquet(source, storage_options=dict(storage_options or {}))
        except (OSError, ValueError, ImportError) as error:
            raise LuceError(f"{path} cannot be read as Parquet: {error}") from error
        counts = KINDS[kind].read(frame, **options).counts
    if isinstance(counts, dict):
        raise DataError("rows='separate' makes several posteriors; read them one by one.")
    return counts
