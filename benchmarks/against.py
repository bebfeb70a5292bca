"""luce against luce: effective draws a CPU second of two sources, in one run.

    python benchmarks/against.py OLD NEW [PROBLEM ...] [--rounds 3] [--seconds 5] [--method auto]

OLD and NEW are checkouts, such as `git worktree add ../old COMMIT` makes, or names of commits,
which are checked out for the time of the run.  The problems and the measure (`rate.py`) are those
of this checkout for both.  In every round a process of the one is followed by one of the other, so
that whatever else the machine does falls on both.  Prints medians over all calls, and their ratio;
the range is that of the ratios of single rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from problems import MAKERS

HERE = Path(__file__).resolve().parent


@contextmanager
def checkout(given: str) -> Iterator[Path]:
    """The sources of a folder, or of a commit."""
    if (Path(given) / "src" / "luce").is_dir():
        yield Path(given).resolve() / "src"
        return
    git = ["git", "-C", str(HERE)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*git, "worktree", "add", "--detach", folder, given], check=True)
        try:
            yield Path(folder) / "src"
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", folder], check=True)


def rates(source: Path, problem: str, options: argparse.Namespace) -> list[dict]:
    """Run one process and read what it measured."""
    command = [sys.executable, str(HERE / "rate.py"), problem, "--json"]
    command += [f"--{name}={getattr(options, name)}" for name in ("method", "seconds", "repeats")]
    command += ["--fresh"] if options.fresh else []
    command += [f"--draws={options.draws}"] if options.draws else []
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{source}, {problem}:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def median(runs: list[dict], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def line(problem: str, rounds: list[tuple[list[dict], list[dict]]]) -> str:
    """A row of the table."""
    ratios = [median(new, "rate") / median(old, "rate") for old, new in rounds]
    cells = []
    for side in zip(*rounds, strict=True):
        runs = [run for found in side for run in found]
        warned = ", warned" if any(run["warned"] for run in runs) else ""
        cells += [
            f"{runs[0]['method']}{warned}",
            f"{median(runs, 'draws'):,.0f}",
            f"{median(runs, 'ess'):,.0f}",
            f"{median(runs, 'rate'):,.4g}",
            f"{median(runs, 'share'):.3g}",
        ]
    ratio = f"{statistics.median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"
    return "| " + " | ".join([problem, *cells, ratio]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("problems", nargs="*", default=list(MAKERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="calls a round")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a call")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--fresh", action="store_true", help="as in rate.py")
    options = parser.parse_intermixed_args()
    half = ["method", "draws", "ESS", "ESS/s", "of the limit"]
    head = ["problem", *(f"old {x}" for x in half), *(f"new {x}" for x in half), "new / old"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    with ExitStack() as stack:
        sources = [stack.enter_context(checkout(given)) for given in (options.old, options.new)]
        for problem in options.problems:
            rounds = [
                tuple(rates(source, problem, options) for source in sources)
                for _ in range(options.rounds)
            ]
            print(line(problem, rounds), flush=True)


if __name__ == "__main__":
    main()
