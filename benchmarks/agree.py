"""Do the samplers agree?  Means of p and of log p, and standard deviations, in standard errors.

    python benchmarks/agree.py DIR [PROBLEM ...]

reads what `run.py` left in DIR.  The truth is, where a Dirichlet comes near enough, importance
sampling with independent draws, which shares no code with any sampler; elsewhere it is luce.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import measure
import numpy as np
import problems
from scipy.stats import norm

Moments = dict[str, np.ndarray]

# Importance sampling is for truth only where this share of the draws is effective.
_LEAST_EFFICIENCY = 0.05
_TRUTH_DRAWS = 4_000_000


class Agreement(NamedTuple):
    """How far one sampler is from the truth: the largest distances in standard errors.

    `sd_low` and `sd_high` bound the ratios of standard deviations; `verdict` is in words.
    """

    z_mean: float
    z_sd: float
    z_log: float
    sd_low: float
    sd_high: float
    worst_log: int
    verdict: str


def run_path(folder: Path, problem: str, sampler: str) -> Path:
    """Where files about one sampler on one problem are, but for the suffix."""
    return folder / re.sub(r"[^\w]+", "-", f"{problem} {sampler}")


def truth(problem: problems.Problem) -> Moments | None:
    """Moments by importance sampling from Dirichlet(alpha + c), or None where that is hopeless."""
    if problem.n > 20 or len(problem.m) > 20 or problem.hyperprior:
        return None
    rng = np.random.default_rng(99)
    shape, matrix = problem.shape, problem.dense()
    total, parts = 0, []
    while total < _TRUTH_DRAWS:
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        size = (500_000, problem.n)
        logs = np.log(rng.standard_gamma(shape + 1, size)) + np.log(rng.random(size)) / shape
        log_p = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
        parts.append((log_p, -np.log(np.exp(log_p) @ matrix.T) @ problem.m))
        total += size[0]
    log_p, log_w = (np.concatenate(x) for x in zip(*parts, strict=True))
    w = np.exp(log_w - log_w.max())
    if w.sum() ** 2 / (w @ w) < _LEAST_EFFICIENCY * len(w):
        return None
    w /= w.sum()
    p = np.exp(log_p)

    def mean_and_error(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centre = w @ x
        return centre, np.sqrt(w**2 @ (x - centre) ** 2)

    mean, mean_se = mean_and_error(p)
    variance, variance_se = mean_and_error((p - mean) ** 2)
    log_mean, log_mean_se = mean_and_error(log_p)
    sd = np.sqrt(variance)
    return {
        "mean": mean, "mean_se": mean_se, "sd": sd, "sd_se": variance_se / (2 * sd),
        "log_mean": log_mean, "log_mean_se": log_mean_se,
    }  # fmt: skip


def converged(run: dict) -> bool:
    """Are there enough effective draws, and is R-hat small?  NaN is not."""
    return bool(run["ess"] >= measure.LEAST_ESS and run["rhat"] <= measure.MOST_RHAT)


def compare(run: dict, found: Moments, true: Moments) -> Agreement:
    """One sampler against the truth."""

    def distances(key: str) -> np.ndarray:
        error = np.sqrt(found[f"{key}_se"] ** 2 + true[f"{key}_se"] ** 2)
        return np.abs(found[key] - true[key]) / error

    z_mean, z_sd, z_log = (distances(key) for key in ("mean", "sd", "log_mean"))
    ratio = found["sd"] / true["sd"]
    bound = norm.isf(0.5e-4 / len(z_mean))  # a right sampler fails once in ten thousand runs
    if not converged(run):
        verdict = "did not converge"
    elif not z_mean.max() < bound:
        verdict = "means differ"
    elif not z_log.max() < bound:
        verdict = "means of log p differ"
    else:
        verdict = "agrees"
    return Agreement(
        float(z_mean.max()), float(z_sd.max()), float(z_log.max()), float(ratio.min()),
        float(ratio.max()), int(z_log.argmax()), verdict,
    )  # fmt: skip


def agreements(
    folder: Path, problem: str, runs: dict[str, dict]
) -> tuple[str, Moments | None, dict[str, Agreement]]:
    """Where truth comes from, what it is, and how every sampler that drew compares."""
    moments = {
        name: dict(np.load(run_path(folder, problem, name).with_suffix(".npz")))
        for name, run in runs.items()
        if "ess" in run
    }
    if not moments:
        return "nothing", None, {}
    source, true = "importance sampling", truth(problems.load(problem))
    if true is None:
        source, true = "luce", moments.get("luce")
    if true is None:
        return "nothing", None, {}
    others = {name: m for name, m in moments.items() if name != source}
    return source, true, {n: compare(runs[n], m, true) for n, m in others.items()}


def table(source: str, runs: dict[str, dict], found: dict[str, Agreement]) -> list[str]:
    """The agreements of one problem in Markdown."""
    lines = [
        f"Against {source}; distances are the largest over categories, in standard errors.",
        "",
        "| sampler | draws | ESS | R-hat | mean of p | sd of p | ratio of sd | mean of log p | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for name, run in runs.items():
        if "ess" not in run:
            continue
        start = f"| {name} | {run['draws']:,} | {run['ess']:,.0f} | {run['rhat']:.3f} | "
        if (a := found.get(name)) is None:
            doubt = "" if converged(run) else ", and did not converge"
            lines.append(f"{start}| | | | is the reference{doubt} |")
            continue
        lines.append(
            f"{start}{a.z_mean:.1f} | {a.z_sd:.1f} | {a.sd_low:.3f}–{a.sd_high:.3f} "
            f"| {a.z_log:.1f} | {a.verdict} |"
        )
    return lines


def main() -> None:
    from report import read_runs

    folder = Path(sys.argv[1])
    for problem, runs in read_runs(folder).items():
        if problem in sys.argv[2:] or not sys.argv[2:]:
            source, _, found = agreements(folder / "runs", problem, runs)
            print(f"\n{problem}\n\n" + "\n".join(table(source, runs, found)))


if __name__ == "__main__":
    main()
