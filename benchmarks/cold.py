"""How long is the way to a first answer: in a new process, with nothing compiled, and after that?

    python benchmarks/cold.py [KIND ...]

CPU seconds of a process that imports luce, builds its data and draws 4 chains of 1,000, first with
an empty folder of compiled code and then with what the first left there; the demo likewise.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from os import environ
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np

import luce

REPEATS = 3  # of the second process; the fastest counts


def paper() -> luce.Posterior:
    """P1: ten categories, each truncated in five outcomes of another."""
    counts = luce.ConditionalCounts(10)
    for j in range(10):
        counts = counts.observe({j: 5}, without=[(j - 1) % 10])
    return luce.Posterior(counts)


def strengths(n: int) -> np.ndarray:
    return np.random.default_rng(7).lognormal(size=n)


def pairs() -> luce.Posterior:
    rng, p = np.random.default_rng(0), strengths(30)
    games = [rng.choice(30, 2, replace=False) for _ in range(600)]
    won = [(i, j) if rng.random() * (p[i] + p[j]) < p[i] else (j, i) for i, j in games]
    return luce.Posterior(luce.from_pairs([(f"t{i}", f"t{j}") for i, j in won]))


def rankings() -> luce.Posterior:
    rng, p = np.random.default_rng(0), strengths(30)
    races = [rng.choice(30, 12, replace=False) for _ in range(50)]
    orders = [race[np.argsort(-np.log(p[race]) - rng.gumbel(size=12))] for race in races]
    named = [[f"t{i}" for i in order] for order in orders]
    return luce.Posterior(luce.from_rankings(named, unranked="absent"))


def groups() -> luce.Posterior:
    rng = np.random.default_rng(0)
    games = [[f"t{i}" for i in rng.choice(20, 6, replace=False)] for _ in range(300)]
    return luce.Posterior(luce.from_teams([(six[:3], six[3:]) for six in games]))


def transitions() -> luce.Posterior:
    states = np.random.default_rng(0).integers(12, size=400)
    states = states[np.r_[True, states[1:] != states[:-1]]]
    return luce.Posterior(luce.from_transitions([states.tolist()]))


def nested() -> luce.Posterior:
    counts = luce.ConditionalCounts("abcd").observe({"a": 4, "b": 1})
    return luce.Posterior(counts.observe({"b": 2, "c": 3}, without="a"))


def random_concentration() -> luce.Posterior:
    return luce.Posterior(pairs().counts, luce.Gamma(2.0, 1.0))


def tiny_concentration() -> luce.Posterior:
    return luce.Posterior(luce.from_pairs([("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")]), 1e-3)


POSTERIORS: dict[str, Callable[[], luce.Posterior]] = {
    "P1": paper,
    "pairs": pairs,
    "rankings": rankings,
    "groups": groups,
    "transitions": transitions,
    "nested sets": nested,
    "Gamma prior": random_concentration,
    "concentration 0.001": tiny_concentration,
}


def draw(kind: str) -> None:
    POSTERIORS[kind]().sample(1000, chains=4, seed=1, progress=False)


def hdp() -> None:
    counts = np.random.default_rng(0).integers(9, size=(8, 8))
    luce.HDPTransitions(8, luce.Gamma(2, 1)).fit(counts, 1000, seed=1, progress=False)


def time_series() -> None:
    rng = np.random.default_rng(0)
    levels = np.repeat(3.0 * rng.integers(6, size=60), 30)
    luce.SemiMarkov(12).fit(levels + rng.normal(size=1800), 100, seed=1, progress=False)


# Models that are fitted to data without a `Posterior`.
FITS: dict[str, Callable[[], None]] = {"HDP": hdp, "time series": time_series}


def seconds(arguments: list[str], folder: str) -> float:
    """Run a command with a folder of compiled code, and return its CPU seconds."""

    def used() -> float:
        children = getrusage(RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    command = [sys.executable, "-W", "ignore", *arguments]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, env={**environ, "NUMBA_CACHE_DIR": folder}, **quiet)
    return used() - before


def main(kinds: list[str]) -> None:
    known = [*POSTERIORS, *FITS, "demo"]
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        sys.exit(f"there is no kind {unknown[0]!r}; choose from {', '.join(known)}.")
    print(f"{'CPU seconds':<22}{'nothing compiled':>18}{'second process':>16}")
    for kind in kinds or known:
        with tempfile.TemporaryDirectory() as folder:
            command = [__file__, "--once", kind]
            if kind == "demo":
                command = ["-m", "luce", "paper", "--quick", "--out", f"{folder}/paper"]
            first = seconds(command, folder)
            second = min(seconds(command, folder) for _ in range(REPEATS))
        print(f"{kind:<22}{first:>18.1f}{second:>16.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        FITS[sys.argv[2]]() if sys.argv[2] in FITS else draw(sys.argv[2])
    else:
        main(sys.argv[1:])
