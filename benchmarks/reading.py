"""Ten million pair rows in a Parquet file: luce.read against the bare group-by it rests on.

Each of the two runs in a process of its own, with the same number of threads, several times in
turn; the ratio of the medians and the peak memory of luce's process are printed.  Aimed at: a
ratio of at most 2, and less than 2 GB.

    python benchmarks/reading.py [--rows 10000000] [--items 1000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
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
pl.DataFrame({"winner": names[np.where(first, a, b)], "loser": names[np.where(first, b, a)]}
             ).write_parquet(path)
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

LUCE = """
import json, resource, sys, time
import luce, narwhals, polars as pl
pl.scan_parquet(sys.argv[1]).head(10).collect()
began = time.perf_counter()
counts = luce.read(sys.argv[1])
print(json.dumps({"seconds": time.perf_counter() - began, "sets": len(counts),
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def run(code: str, *arguments: object) -> dict[str, float]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(printed) if printed else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("text", "numbers"):
            path = Path(folder) / f"{kind}.parquet"
            run(ROWS, path, given.rows, given.items, kind)
            bare, ours = [], []
            for _ in range(given.repeats):
                bare.append(run(BARE, path))
                ours.append(run(LUCE, path))
            seconds = [statistics.median(r["seconds"] for r in runs) for runs in (bare, ours)]
            print(
                f"{given.rows:,} rows, labels are {kind}: {bare[0]['groups']:,} distinct rows, "
                f"{ours[0]['sets']:,} distinct pairs, {bare[0]['threads']} threads\n"
                f"  bare group-by {seconds[0]:.2f} s, luce.read {seconds[1]:.2f} s: ratio "
                f"{seconds[1] / seconds[0]:.2f}; peak memory "
                f"{max(r['memory'] for r in ours) / 1e9:.2f} GB"
            )


if __name__ == "__main__":
    main()
