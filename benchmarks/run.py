"""luce and its peers on all problems: effective draws a second, against the limit.

    python benchmarks/run.py [--problems P1,P3] [--samplers luce,numpyro] [--seconds 30] [--out DIR]
                             [--peers PYTHON]

Every sampler runs on every problem in a process of its own, on one core and one thread, and is
ended when it takes too long.  The limit, independent Dirichlet draws by NumPy, is measured in the
same process just before and just after.  Samplers that are not installed are reported so.  A first
process fills the caches of compilers, so that setup is measured with warm ones.  "luce:METHOD"
forces a method; a problem may have changes, as "teams:players=100".  Of luce the whole call counts,
of the others sampling alone.  --peers names another Python in which they are installed.
Writes DIR/results.md, results.json, results.png and results.svg.
"""

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from agree import run_path
from problems import MAKERS
from report import write_report
from samplers import SAMPLERS, find

HERE = Path(__file__).parent

# One thread for everything that would start more.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_COMPILATION_CACHE_DIR": str(Path("~/.cache/luce-benchmark").expanduser()),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "PYTHONWARNINGS": "ignore",
}


def work(sampler: str, problem: str, step: str, out: Path, options: argparse.Namespace) -> dict:
    """Run one worker and read what it found, or say why there is nothing."""
    out.with_suffix(".json").unlink(missing_ok=True)
    python = options.peers if find(sampler).peer else sys.executable
    command = [python, str(HERE / "worker.py"), sampler, problem, step]
    command += [str(options.seconds), str(options.core), str(out)]
    paths = [str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | _ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    log = out.with_suffix(".log")
    allowed = options.cap + (4 * options.seconds if step == "draw" else 0)
    with log.open("w") as stream:
        # A session of its own: some samplers start processes, which must end with it.
        process = subprocess.Popen(
            command, env=environment, stdout=stream, stderr=stream, start_new_session=True
        )
        try:
            process.wait(allowed)
        except subprocess.TimeoutExpired:
            return {"failed": f"ended after {allowed:.0f} s"}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode or not out.with_suffix(".json").exists():
        last = log.read_text().strip().splitlines()[-1:] or [""]
        return {"failed": f"exit code {process.returncode}: {last[0][:200]}"}
    return json.loads(out.with_suffix(".json").read_text())


def measure_from_nothing(
    sampler: str, problem: str, out: Path, ess_per_draw: float, options: argparse.Namespace
) -> dict:
    """Time luce until 1000 effective draws are there: measured, not computed."""
    draws = math.ceil(1100 / ess_per_draw)
    for _ in range(4):
        found = work(sampler, problem, str(draws), out.with_name(out.name + "-1000"), options)
        if "failed" in found or found["ess"] >= 1000:
            break
        draws = math.ceil(draws * 1.1 * 1000 / found["ess"])
    return found


def measure_pair(sampler: str, problem: str, folder: Path, options: argparse.Namespace) -> dict:
    """All steps of one sampler on one problem."""
    out = run_path(folder, problem, sampler)
    out.with_suffix(".npz").unlink(missing_ok=True)
    first = work(sampler, problem, "prepare", out, options)
    result = first
    if "failed" not in first:
        result = work(sampler, problem, "draw", out, options)
        result["first_setup_seconds"] = first["setup_seconds"]
    if "ess_per_second" in result:
        rate = result["ess_per_second"]
        result["limit"] = (result["limit_before"] + result["limit_after"]) / 2
        result["share"] = rate / result["limit"]
        result["seconds_to_1000"] = result["setup_seconds"] + 1000 / rate
        if find(sampler).module == "luce_sample":
            direct = measure_from_nothing(sampler, problem, out, result["ess_per_draw"], options)
            result["from_nothing"] = direct
            result["seconds_to_1000"] = direct.get("seconds")
    result |= {"sampler": sampler, "problem": problem}
    out.with_suffix(".json").write_text(json.dumps(result, indent=1))
    return result


def names(allowed: list[str]) -> Callable[[str], list[str]]:
    """Read names with commas between them; a name may have changes, with commas of their own."""

    def read(given: str) -> list[str]:
        chosen = re.split(r",(?!\w+=)", given)
        for name in chosen:
            if name.partition(":")[0] not in allowed:
                raise argparse.ArgumentTypeError(f"{name}; choose from {', '.join(allowed)}")
        return chosen

    return read


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=names(list(MAKERS)), default=list(MAKERS))
    parser.add_argument("--samplers", type=names(list(SAMPLERS)), default=list(SAMPLERS))
    parser.add_argument("--seconds", type=float, default=30.0, help="of sampling, each")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds for all the rest")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=Path("luce-benchmark"))
    options = parser.parse_args()
    folder = (options.out / "runs").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for problem in options.problems:
        for sampler in options.samplers:
            run = measure_pair(sampler, problem, folder, options)
            told = run.get("failed")
            if told is None:
                told = f"{run['ess_per_second']:,.4g} effective draws a second, "
                told += f"{run['share']:.2g} of the limit"
            print(f"{problem} {sampler}: {told}", flush=True)
    write_report(options.out)
    print(f"Written: {options.out / 'results.md'}")


if __name__ == "__main__":
    main()
