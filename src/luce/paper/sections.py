"""The sections of the report: for each figure of the paper its claims, pictures and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from luce.paper import figures, graphical_models, judge_mixing, judge_models, judge_mpsrf, numbers
from luce.paper.augmented import SummedOut, sum_out
from luce.paper.claims import Claim
from luce.paper.densities import Densities, densities
from luce.paper.experiments import Comparison, Size, compare, grow
from luce.paper.samplers import SAMPLERS, Scale

_MORE_SIZES = (100, 1000)

# What each experiment says while it runs, counted for the length of the progress bar.
STEPS = {
    "densities": 1,
    "summed_out": 1,
    **{name: 1 + len(SAMPLERS[n]) for name, n in (("ten", 10), ("twenty", 20))},
    "sizes": 1 + len(_MORE_SIZES),
}


class Experiments:
    """Everything that is measured, each thing when it is first asked for and then kept."""

    def __init__(self, scale: Scale, seed: int, say: Callable[[str], None]) -> None:
        self._scale, self._seed, self._say = scale, seed, say
        self._densities: Densities | None = None
        self._summed_out: SummedOut | None = None
        self._ten: Comparison | None = None
        self._twenty: Comparison | None = None
        self._sizes: list[Size] | None = None

    @property
    def densities(self) -> Densities:
        """Three categories."""
        if self._densities is None:
            self._say("n = 3: hidden counts")
            self._densities = densities(self._scale.chains, self._scale.draws, self._seed)
        return self._densities

    @property
    def summed_out(self) -> SummedOut:
        """The augmented model without its hidden counts."""
        if self._summed_out is None:
            self._say("n = 4: sums over hidden counts")
            self._summed_out = sum_out(self._seed)
        return self._summed_out

    @property
    def ten(self) -> Comparison:
        """All samplers on ten categories."""
        if self._ten is None:
            self._ten = compare(10, self._scale, self._seed, self._say)
        return self._ten

    @property
    def twenty(self) -> Comparison:
        """All samplers on twenty categories."""
        if self._twenty is None:
            self._twenty = compare(20, self._scale, self._seed, self._say)
        return self._twenty

    @property
    def sizes(self) -> list[Size]:
        """The paper's sampler on ten categories and ever more."""
        if self._sizes is None:
            self._sizes = grow(self.ten, _MORE_SIZES, self._seed, self._say)
        return self._sizes

    @property
    def comparisons(self) -> list[Comparison]:
        """Those that some figure asked for."""
        return [found for found in (self._ten, self._twenty) if found is not None]


class Section(NamedTuple):
    """A figure of the paper: how to judge it, draw it, and list the numbers behind it.

    `needs` are the experiments, attributes of `Experiments`, that it is made from.
    """

    title: str
    caption: str
    needs: tuple[str, ...]
    judge: Callable[[Experiments], list[Claim]]
    draw: Callable[[Experiments], list[figures.Drawing]]
    list_numbers: Callable[[Experiments], numbers.Columns] | None = None


def count_steps(names: list[str]) -> int:
    """How often a report on these figures says what it does: experiments, then drawings."""
    needed = {need for name in names for need in SECTIONS[name].needs}
    return sum(STEPS[need] for need in needed) + len(names)


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
        lambda found: judge_models.about_densities(found.densities),
        lambda found: figures.densities_figure(found.densities),
        lambda found: numbers.densities_numbers(found.densities),
    ),
    "graphical-models": Section(
        "The two graphical models",
        "π are the probabilities, m the counts of term t; each outcome j has a hidden count k of "
        "truncated outcomes before it. Shaded: observed.",
        ("summed_out",),
        lambda found: judge_models.about_models(found.summed_out),
        lambda found: graphical_models.draw(),
    ),
    "autocorrelation": Section(
        "Autocorrelation, n\u00a0=\u00a010",
        f"Divided by lag 0. {_SPREAD}",
        ("ten",),
        lambda found: judge_mixing.about_autocorrelation(found.ten),
        lambda found: figures.autocorrelation_figure(found.ten),
        lambda found: numbers.autocorrelation_numbers(found.ten),
    ),
    "mpsrf-10": Section(
        "Convergence of chains to each other, n\u00a0=\u00a010",
        f"The multivariate potential scale reduction factor over all chains. {_HALF} {_SECONDS}",
        ("ten",),
        lambda found: judge_mpsrf.about_mpsrf_10(found.ten),
        lambda found: figures.mpsrf_figure(found.ten),
        lambda found: numbers.mpsrf_numbers(found.ten),
    ),
    "mpsrf-20": Section(
        "Convergence of chains to each other, n\u00a0=\u00a020",
        f"As before, with Metropolis as at n = 10 and tuned again. {_HALF} {_SECONDS}",
        ("ten", "twenty", "sizes"),
        lambda found: judge_mpsrf.about_mpsrf_20(found.ten, found.twenty, found.sizes),
        lambda found: figures.mpsrf_figure(found.twenty),
        lambda found: numbers.mpsrf_numbers(found.twenty),
    ),
    "statistic-convergence": Section(
        "Convergence of mean and variance, n\u00a0=\u00a010",
        "Distance from the mean and variance of all second halves of hidden counts, pooled. That "
        "they are its own, as in the paper, makes its last errors look smaller by a part in twice "
        f"the number of chains: 1 % for 50. {_SPREAD} {_HALF} {_SECONDS}",
        ("ten",),
        lambda found: judge_mixing.about_convergence(found.ten),
        lambda found: figures.convergence_figure(found.ten),
        lambda found: numbers.convergence_numbers(found.ten),
    ),
}
