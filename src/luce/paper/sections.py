"""The figures of the paper: for each its claims, pictures and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from luce.paper import figures, judge, tables
from luce.paper.claims import Claim
from luce.paper.experiments import Experiments, steps_of
from luce.paper.samplers import Scale


class Section(NamedTuple):
    """A figure of the paper: functions that judge it, draw it, and list the numbers behind it.

    `needs` names the attributes of `Experiments` that it is made from.
    """

    title: str
    caption: str
    needs: tuple[str, ...]
    judge: Callable[[Experiments], list[Claim]]
    draw: Callable[[Experiments], list[figures.Drawing]]
    tabulate: Callable[[Experiments], tables.Columns] | None = None


def count_steps(names: Iterable[str], scale: Scale) -> int:
    """Count the steps of a report on these figures: those of experiments, then one a figure."""
    wanted = list(names)
    needed = {need for name in wanted for need in SECTIONS[name].needs}
    steps = steps_of(scale)
    return sum(steps[need] for need in needed) + len(wanted)


_SPREAD = "Lines are means over chains, bands reach from the 10th to the 90th percentile."
_HALF = "At each index the first half of the draws is discarded."
_SECONDS = (
    "Seconds are of one processor, without set-up; those of independent draws are the time NumPy "
    "takes for a Dirichlet of the same length."
)

SECTIONS = {
    "densities": Section(
        "Three categories: densities over a mesh",
        "Prior Dir(2, 2, 2); two outcomes at category 2; category 1 truncated in the third panel. "
        "The fourth shows draws of the paper's sampler, counted in the triangles of the mesh.",
        ("densities",),
        lambda found: judge.about_densities(found.densities),
        lambda found: figures.densities_figure(found.densities),
        lambda found: tables.densities_table(found.densities),
    ),
    "graphical-models": Section(
        "The two graphical models",
        "π are the probabilities, m the counts of term t; each outcome j has a hidden count k of "
        "truncated outcomes before it. Shaded: observed.",
        ("summed_out",),
        lambda found: judge.about_models(found.summed_out),
        lambda found: figures.graphical_models_figure(),
    ),
    "autocorrelation": Section(
        "Autocorrelation, n\u00a0=\u00a010",
        f"Divided by lag 0. {_SPREAD}",
        ("ten",),
        lambda found: judge.about_autocorrelation(found.ten),
        lambda found: figures.autocorrelation_figure(found.ten),
        lambda found: tables.autocorrelation_table(found.ten),
    ),
    "mpsrf-10": Section(
        "Convergence of chains to each other, n\u00a0=\u00a010",
        f"The multivariate potential scale reduction factor over all chains. {_HALF} {_SECONDS}",
        ("ten",),
        lambda found: judge.about_mpsrf_10(found.ten),
        lambda found: figures.mpsrf_figure(found.ten),
        lambda found: tables.mpsrf_table(found.ten),
    ),
    "mpsrf-20": Section(
        "Convergence of chains to each other, n\u00a0=\u00a020",
        f"As before, with Metropolis as at n = 10 and tuned again. {_HALF} {_SECONDS}",
        ("ten", "twenty", "sizes"),
        lambda found: judge.about_mpsrf_20(found.ten, found.twenty, found.sizes),
        lambda found: figures.mpsrf_figure(found.twenty),
        lambda found: tables.mpsrf_table(found.twenty),
    ),
    "statistic-convergence": Section(
        "Convergence of mean and variance, n\u00a0=\u00a010",
        "Distance from the mean and variance of all second halves of hidden counts, pooled. That "
        "they are its own, as in the paper, makes its last errors look smaller by a part in twice "
        f"the number of chains: 1 % for 50. {_SPREAD} {_HALF} {_SECONDS}",
        ("ten",),
        lambda found: judge.about_convergence(found.ten),
        lambda found: figures.convergence_figure(found.ten),
        lambda found: tables.convergence_table(found.ten),
    ),
}

FIGURES = tuple(SECTIONS)
