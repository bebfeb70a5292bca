"""Tables and a plot of what `run.py` measured.

    python benchmarks/report.py DIR

makes them again from what it left there.
"""

import json
import math
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import agree
import numpy as np
import problems
import samplers

PACKAGES = ["numpy", "numba", "pymc", "nutpie", "numpyro", "blackjax", "jax", "pystan"]
Runs = dict[str, dict[str, dict]]


def read_runs(folder: Path) -> Runs:
    """What was measured, by problem and sampler, in the order of the registries."""
    found: Runs = {}
    for path in sorted((folder / "runs").glob("*.json")):
        run = json.loads(path.read_text())
        if "seconds" not in run:  # luce's runs from nothing are parts of others
            found.setdefault(run["problem"], {})[run["sampler"]] = run
    order = list(samplers.SAMPLERS)

    def rank(name: str) -> tuple[int, str]:
        return (order.index(name) if name in order else 0, name)

    kinds = list(problems.MAKERS)
    return {
        p: {s: found[p][s] for s in sorted(found[p], key=rank)}
        for p in sorted(found, key=lambda name: kinds.index(name.partition(":")[0]))
    }


def number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.2g}"


def grid(head: str, runs: Runs, rows: dict[str, list[str]]) -> list[str]:
    lines = [f"| {head} | " + " | ".join(runs) + " |", "| --- |" + " ---: |" * len(runs)]
    return lines + [f"| {title} | " + " | ".join(cells) + " |" for title, cells in rows.items()]


def best_peer(runs: dict[str, dict]) -> dict | None:
    """The fastest of the general samplers that converged."""
    fit = [
        r
        for name, r in runs.items()
        if samplers.find(name).peer and "share" in r and agree.converged(r)
    ]
    return max(fit, key=lambda r: r["share"], default=None)


def speed_rows(runs: Runs) -> dict[str, list[str]]:
    """Effective draws a second, and the share of the limit."""

    def cell(run: dict | None) -> str:
        if run is None:
            return "–"
        if "failed" in run:
            return run["failed"].split(":")[0].split(" (")[0]
        mark = "" if agree.converged(run) else " †"
        return f"{number(run['ess_per_second'])} ({run['share']:.2g}){mark}"

    every = list(dict.fromkeys(s for of_problem in runs.values() for s in of_problem))
    rows = {samplers.find(s).title: [cell(runs[p].get(s)) for p in runs] for s in every}
    rows["**limit**"], rows["luce / best peer"] = [], []
    for of_problem in runs.values():
        limits = [r["limit"] for r in of_problem.values() if "limit" in r]
        rows["**limit**"].append(number(sum(limits) / len(limits)) if limits else "–")
        ours, peer = of_problem.get("luce", {}), best_peer(of_problem)
        both = "share" in ours and peer is not None
        # Shares, not rates: the machine may have been faster for one than for the other.
        rows["luce / best peer"].append(f"{ours['share'] / peer['share']:.3g} ×" if both else "–")
    return rows


def time_rows(runs: Runs) -> dict[str, list[str]]:
    """Seconds from the call to 1000 effective draws."""
    every = list(dict.fromkeys(s for of_problem in runs.values() for s in of_problem))

    def cell(run: dict) -> str:
        if not run.get("seconds_to_1000"):
            return "–"
        total = run["seconds_to_1000"] + run["import_seconds"]
        return f"{run['seconds_to_1000']:.2g} ({total:.2g})"

    return {samplers.find(s).title: [cell(runs[p].get(s, {})) for p in runs] for s in every}


def log_lines(runs: dict[str, dict], true: agree.Moments, folder: Path) -> list[str]:
    """Mean log probability of the category where each sampler is furthest from the truth."""
    lines = [
        "Means of log p, of each sampler where it is worst:",
        "",
        "| sampler | category | truth | mean | standard error | distance | ESS of log p |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, run in runs.items():
        if "worst_log" in run:
            found, i = (
                np.load(agree.run_path(folder, run["problem"], name).with_suffix(".npz")),
                run["worst_log"],
            )
            mean, se, effective = (found[key][i] for key in ("log_mean", "log_mean_se", "log_ess"))
            z = (mean - true["log_mean"][i]) / np.hypot(se, true["log_mean_se"][i])
            lines.append(
                f"| {name} | {i} | {true['log_mean'][i]:.3f} | {mean:.3f} | {se:.3f} | {z:.1f} "
                f"| {effective:,.0f} |"
            )
    return lines


def machine() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return f"Python {platform.python_version()}, {', '.join(found)}; {platform.machine()}."


def write_report(out: Path) -> None:
    """Write results.md, results.json and the plot into the folder of the runs."""
    from plot import plot_speed

    runs, folder = read_runs(out), out / "runs"
    details = []
    for problem, of_problem in runs.items():
        source, true, found = agree.agreements(folder, problem, of_problem)
        for name, agreement in found.items():
            of_problem[name] |= agreement._asdict()
        if true is None:
            continue
        details += ["", f"### {problem}", "", *agree.table(source, of_problem, found)]
        if problem == "P5":
            details += ["", *log_lines(of_problem, true, folder)]
    lines = [
        "# Benchmark", "", machine(), "",
        "## Effective draws a second", "",
        "Least bulk ESS over the categories, at most the number of draws, by the second of "
        "sampling; in brackets the share of the limit, which is NumPy's independent Dirichlet "
        "draws at the same n in the same process. One chain, one core. † did not converge.", "",
        *grid("sampler", runs, speed_rows(runs)), "",
        "## Seconds from the call to 1000 effective draws", "",
        "Compilation included, caches warm. For luce measured in a fresh process; for the others "
        "compilation and warm-up, plus 1000 over the rate above. In brackets with imports.", "",
        *grid("sampler", runs, time_rows(runs)), "",
        "## Agreement", *details, "",
    ]  # fmt: skip
    (out / "results.md").write_text("\n".join(lines))
    for run in (run for of_problem in runs.values() for run in of_problem.values()):
        for key, value in run.items():
            if isinstance(value, float) and not math.isfinite(value):
                run[key] = None  # JSON has no NaN
    (out / "results.json").write_text(json.dumps({"machine": machine(), "runs": runs}, indent=1))
    plot_speed(runs, out)


if __name__ == "__main__":
    write_report(Path(sys.argv[1]))
