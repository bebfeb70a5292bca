"""The plots of the benchmark, in the colours of Okabe and Ito, which the colour-blind can tell."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import samplers

BLACK, GREY = "#000000", "#777777"
LUCE = "#D55E00"
COLOURS = ["#E69F00", "#F0E442", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", GREY, "white", BLACK]
MARKERS = "osD^vP<>X*hp"


def save(figure: plt.Figure, path: Path) -> None:
    for kind in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=150, bbox_inches="tight")
    plt.close(figure)


def plot_speed(runs: dict[str, dict[str, dict]], out: Path) -> None:
    """One line a problem: the limit as a bar, every sampler as a mark, its share along the line."""
    every = list(dict.fromkeys(s for of_problem in runs.values() for s in of_problem))
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.5 * len(runs)))
    for k, name in enumerate(every):
        points = [
            (run[name]["share"], y)
            for y, run in enumerate(runs.values())
            if "share" in run.get(name, {})
        ]
        if points:
            colour = LUCE if name == "luce" else COLOURS[(k - 1) % len(COLOURS)]
            x, y = zip(*points, strict=True)
            axes.scatter(
                x, y, s=110 if name == "luce" else 55, color=colour,
                marker=MARKERS[k % len(MARKERS)], edgecolor=BLACK, linewidth=0.6, zorder=3,
                label=samplers.find(name).title,
            )  # fmt: skip
    axes.axvline(1.0, color=BLACK, linewidth=2, label="limit: independent draws")
    axes.set_xscale("log")
    axes.set_yticks(range(len(runs)), list(runs))
    axes.invert_yaxis()
    axes.grid(color=GREY, alpha=0.3)
    axes.set_xlabel("effective draws a second, as a share of NumPy's independent Dirichlet draws")
    axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left", frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save(figure, out / "results")


def plot_scaling(curves: dict[str, dict], out: Path) -> None:
    """Sweep times on logarithmic axes; a grey line goes in proportion to the size."""
    figure, panels = plt.subplots(1, len(curves), figsize=(9, 3.6), squeeze=False)
    for axes, (title, found), colour in zip(panels[0], curves.items(), COLOURS[2::2], strict=False):
        sizes, seconds = found["sizes"], found["seconds"]
        line = [seconds[-1] * size / sizes[-1] for size in sizes]
        axes.loglog(sizes, line, color=GREY, linestyle="--", label="in proportion")
        label = f"measured, exponent {found['exponent']:.2f}"
        axes.loglog(sizes, seconds, "o-", color=colour, label=label)
        axes.set_xlabel(title)
        axes.set_ylabel("seconds a sweep")
        axes.grid(color=GREY, alpha=0.3)
        axes.legend(frameon=False)
    figure.tight_layout()
    save(figure, out / "scaling")
