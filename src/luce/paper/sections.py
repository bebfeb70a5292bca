"""The sections of the report: for each figure of the paper its claims, pictures and numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from luce.paper import claims, figures, graphical_models, numbers
from luce.paper.claims import Claim
from luce.paper.densities import Densities, densities
from luce.paper.experiments import SAMPLERS, Comparison, Scale, Size, compare, grow

_SIZES = (10, 100, 1000)


class Experiments:
    """Everything that is measured, each thing when it is first asked for and then kept."""

    def __init__(self, scale: Scale, seed: int, say: Callable[[str], None]) -> None:
        self.scale, self._seed, self._say = scale, seed, say

    @cached_property
    def densities(self) -> Densities:
        """Three categories."""
        self._say("n = 3: hidden counts")
        return densities(self.scale.chains, self.scale.draws, self._seed)

    @cached_property
    def ten(self) -> Comparison:
        """All samplers on ten categories."""
        return compare(10, self.scale, self._seed, self._say)

    @cached_property
    def twenty(self) -> Comparison:
        """All samplers on twenty categories."""
        return compare(20, self.scale, self._seed, self._say)

    @cached_property
    def sizes(self) -> list[Size]:
        """The paper's sampler on ever more categories."""
        return grow(_SIZES, self._seed, self._say)

    @property
    def comparisons(self) -> list[Comparison]:
        """Those that some figure asked for."""
        return [self.__dict__[name] for name in ("ten", "twenty") if name in self.__dict__]


class Section(NamedTuple):
    """A figure of the paper: how to judge it, draw it, and list the numbers behind it."""

    title: str
    caption: str
    judge: Callable[[Experiments], list[Claim]]
    draw: Callable[[Experiments], list[figures.Panel]]
    list_numbers: Callable[[Experiments], numbers.Columns] | None = None


_SPREAD = "Lines are means over chains, bands reach from the 10th to the 90th percentile."
_HALF = "At each index the first half of the draws is discarded."

SECTIONS = {
    "densities": Section(
        "Three categories: densities over a mesh",
        "Prior Dir(2, 2, 2); two outcomes at category 2; category 1 truncated in the third panel. "
        "The fourth shows draws of the paper's sampler, counted in the triangles of the mesh.",
        lambda found: claims.about_densities(found.densities),
        lambda found: figures.densities_figure(found.densities),
        lambda found: numbers.densities_numbers(found.densities),
    ),
    "graphical-models": Section(
        "The two graphical models",
        "π are the probabilities, m the counts of term t; each outcome j has a hidden count k of "
        "truncated outcomes before it. Shaded: observed.",
        lambda found: claims.about_models(found.densities),
        lambda found: graphical_models.draw(),
    ),
    "autocorrelation": Section(
        "Autocorrelation, n\u00a0=\u00a010",
        f"Divided by lag 0. {_SPREAD}",
        lambda found: claims.about_autocorrelation(found.ten),
        lambda found: figures.autocorrelation_figure(found.ten),
        lambda found: numbers.autocorrelation_numbers(found.ten),
    ),
    "mpsrf-10": Section(
        "Convergence of chains to each other, n\u00a0=\u00a010",
        f"The multivariate potential scale reduction factor over all chains. {_HALF}",
        lambda found: claims.about_mpsrf_10(found.ten),
        lambda found: figures.mpsrf_figure(found.ten),
        lambda found: numbers.mpsrf_numbers(found.ten),
    ),
    "mpsrf-20": Section(
        "Convergence of chains to each other, n\u00a0=\u00a020",
        f"As before, with Metropolis as at n = 10 and tuned again. {_HALF}",
        lambda found: claims.about_mpsrf_20(found.ten, found.twenty, found.sizes),
        lambda found: figures.mpsrf_figure(found.twenty),
        lambda found: numbers.mpsrf_numbers(found.twenty),
    ),
    "statistic-convergence": Section(
        "Convergence of mean and variance, n\u00a0=\u00a010",
        f"Distance from the mean and variance of all second halves, pooled. {_SPREAD} {_HALF}",
        lambda found: claims.about_convergence(found.ten),
        lambda found: figures.convergence_figure(found.ten),
        lambda found: numbers.convergence_numbers(found.ten),
    ),
}

# Experiments and drawings, for the length of the progress bar.
N_STEPS = 1 + sum(map(len, SAMPLERS.values())) + len(_SIZES) + len(SECTIONS)
