"""Millions of pair rows in a file: luce.read against a bare group-by of the same file by polars.

Ten million rows of a Parquet file, whose group-by luce.read rests on; then five million rows of a
CSV file, which luce.read splits itself, among 20,000 labels (nearly all rows differ) and among 300.
Each of the two runs in a process of its own, several times in turn: Parquet with the same number of
threads, CSV on one core, in seconds of CPU time.  The ratio of the medians and the peak memory of
luce's process are printed.  Aimed at: a ratio of at most 2, and less than 2 GB.

    python benchmarks/reading.py [--rows 10000000] [--items 1000] [--csv-rows 5000000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = """
import sys, numpy as np, polars as pl
path, rows, items, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "text"
rng = np.random.default_rng(1)
strength = rng.gamma(2.0, size=items)
a = rng.integers(0, items, rows)
b = (a + rng.integers(1, items, rows)) % items
first = rng.random(rows) < strength[a] / (strength[a] + strength[b])
names = np.array([f"item {i:05d}" for i in range(items)]) if text else np.arange(items)
winner, loser = names[np.where(first, a, b)], names[np.where(first, b, a)]
frame = pl.DataFrame({"winner": winner, "loser": loser})
frame.write_csv(path) if path.endswith(".csv") else frame.write_parquet(path)
"""

BARE = """
import json, resource, sys, time
import polars as pl
pl.scan_parquet(sys.argv[1]).head(10).collect()
began = time.perf_counter()
groups = pl.scan_parquet(sys.argv[1]).group_by("winner", "loser").len().collect(engine="streaming")
print(json.dumps({"seconds": time.perf_counter() - began, "groups": groups.height,
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                  "threads": pl.thread_pool_size()}))
"""

BARE_CSV = """
import json, resource, sys, time
import polars as pl
pl.read_csv(sys.argv[1], n_rows=10)
began = time.process_time()
groups = pl.read_csv(sys.argv[1]).group_by("winner", "loser").len()
print(json.dumps({"seconds": time.process_time() - began, "groups": groups.height,
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                  "threads": pl.thread_pool_size()}))
"""

LUCE_CSV = """
import json, resource, sys, time
import luce
luce.from_pairs([("a", "b")])
began = time.process_time()
counts = luce.read(sys.argv[1])
print(json.dumps({"seconds": time.process_time() - began, "sets": len(counts),
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""

LUCE = """
import json, resource, sys, time
import luce, narwhals, polars as pl
pl.scan_parquet(sys.argv[1]).head(10).collect()
began = time.perf_counter()
counts = luce.read(sys.argv[1])
print(json.dumps({"seconds": time.perf_counter() - began, "sets": len(counts),
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def run(code: str, *arguments: object, **environment: str) -> dict[str, float]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    ).stdout
    return json.loads(printed) if printed else {}


def compare(
    what: str, path: Path, codes: tuple[str, str], repeats: int, **environment: str
) -> None:
    bare, ours = [], []
    for _ in range(repeats):
        bare.append(run(codes[0], path, **environment))
        ours.append(run(codes[1], path, **environment))
    seconds = [statistics.median(r["seconds"] for r in runs) for runs in (bare, ours)]
    print(
        f"{what}: {bare[0]['groups']:,} distinct rows, "
        f"{ours[0]['sets']:,} distinct pairs, threads: {bare[0]['threads']}\n"
        f"  bare group-by {seconds[0]:.2f} s, luce.read {seconds[1]:.2f} s: ratio "
        f"{seconds[1] / seconds[0]:.2f}; peak memory "
        f"{max(r['memory'] for r in ours) / 1e9:.2f} GB "
        f"(polars {max(r['memory'] for r in bare) / 1e9:.2f} GB)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--csv-rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("text", "numbers"):
            path = Path(folder) / f"{kind}.parquet"
            run(ROWS, path, given.rows, given.items, kind)
            what = f"{given.rows:,} rows of Parquet, labels are {kind}"
            compare(what, path, (BARE, LUCE), given.repeats)
        for items in (20_000, 300):
            path = Path(folder) / f"{items}.csv"
            run(ROWS, path, given.csv_rows, items, "text")
            what = f"{given.csv_rows:,} rows of CSV, {items:,} labels, CPU time"
            compare(what, path, (BARE_CSV, LUCE_CSV), given.repeats, POLARS_MAX_THREADS="1")


if __name__ == "__main__":
    main()
