"""A million categories to the disk, against independent Dirichlet draws written the same way.

    python benchmarks/streaming.py [--categories N] [--draws D] [--chains C] [--folder DIR]

The posterior has 50 terms, each of which leaves out a random hundredth of the categories.  Both
runs are processes of their own; each is deleted before the next one starts.  The Dirichlet draws
are NumPy's, by as many threads, in the same blocks, written by the same function with the same
fingerprints.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

TERMS, LEFT_OUT, OUTCOMES, CONCENTRATION = 50, 0.01, 20_000, 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--categories", type=int, default=1_000_000)
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to write; a scratch folder"
    )
    parser.add_argument("--only", choices=["luce", "dirichlet"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    size = (arguments.categories, arguments.draws, arguments.chains)
    if arguments.only:
        work = luce_run if arguments.only == "luce" else dirichlet_run
        print(json.dumps(work(arguments.folder, *size)))
        return
    gigabytes = 8 * np.prod(size, dtype=float) / 1e9
    print(f"{size[2]} chains of {size[1]} draws of {size[0]:,} categories: {gigabytes:.1f} GB")
    found = {}
    for name in ("dirichlet", "luce"):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            command = [sys.executable, __file__, "--only", name, "--folder", folder]
            command += ["--categories", str(size[0]), "--draws", str(size[1])]
            command += ["--chains", str(size[2])]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name] = json.loads(done.stdout.splitlines()[-1])
        told = ", ".join(f"{key} {value:.2f}" for key, value in found[name].items())
        print(f"{name:>10}: {told}")
    ratio = found["luce"]["seconds"] / found["dirichlet"]["seconds"]
    print(
        f"luce takes {ratio:.2f} times as long, and {found['luce']['peak_gb']:.2f} GB at its peak"
    )


def luce_run(folder: Path, n: int, draws: int, chains: int) -> dict[str, float]:
    import luce

    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(n, 0.1))
    counts = luce.ConditionalCounts(n)
    for _ in range(TERMS):
        out = rng.choice(n, int(n * LEFT_OUT), replace=False)
        inside = np.ones(n, bool)
        inside[out] = False
        seen = rng.multinomial(OUTCOMES, np.where(inside, p, 0.0) / p[inside].sum())
        chosen = np.flatnonzero(seen)
        own = dict(zip(chosen.tolist(), seen[chosen].tolist(), strict=True))
        counts = counts.observe(own, without=out.tolist())
    posterior = luce.Posterior(counts, CONCENTRATION)
    # Compile, and look at the structure, before the clock starts.
    began = time.perf_counter()
    posterior.structure.cores  # noqa: B018
    structure = time.perf_counter() - began
    luce.Posterior(luce.ConditionalCounts(3).observe({0: 1}, within=[0, 1]).observe(
        {1: 1}, within=[1, 2])).sample(10, warmup=5, to=folder / "small.zarr",
                                       method="waiting-times", progress=False)  # fmt: skip
    before = peak()
    began = time.perf_counter()
    posterior.sample(draws, chains=chains, seed=1, to=folder / "run.zarr", progress=False,
                     log_probabilities=False)  # fmt: skip
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_gb": peak(), "before_gb": before, "structure": structure}


def dirichlet_run(folder: Path, n: int, draws: int, chains: int) -> dict[str, float]:
    import luce
    from luce.model.model import Model
    from luce.runs.blocks import block_file, padded
    from luce.runs.files import write_whole
    from luce.sampling.plan import PosteriorPlan
    from luce.sampling.settings import Settings

    settings = Settings(draws=draws, chains=chains, log_probabilities=False)
    plan = PosteriorPlan.of(Model(luce.ConditionalCounts(n), CONCENTRATION), settings)
    block, output = plan.block, plan.output("posterior/probabilities")
    shape = np.full(n, CONCENTRATION)

    def chain(number: int) -> None:
        rng, room = np.random.default_rng(number), np.empty((block, n))
        for start in range(0, draws, block):
            size = min(block, draws - start)
            for d in range(size):
                room[d] = rng.dirichlet(shape)
            file = block_file(folder, output, number, start // block)
            write_whole(file, padded(output, room[:size], block).data)

    threads = min(chains, len(__import__("os").sched_getaffinity(0)))
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(chain, range(chains)))
    return {"seconds": time.perf_counter() - began, "peak_gb": peak()}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
