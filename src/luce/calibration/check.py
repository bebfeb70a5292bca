"""Simulation-based calibration: a test that draws have the posterior distribution of a design.

If p is drawn from the prior, data from p, and draws from the posterior of these data, then the
rank of p among the draws is uniform for every design (Cook, Gelman and Rubin 2006; Talts,
Betancourt, Simpson, Vehtari and Gelman 2018), and so is the rank of any function of p and the
data.  The log likelihood is ranked too, because ranks of p alone cannot see some errors: draws of
the prior pass (Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman and Vehtari 2023).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Labels, SeedLike
from luce.answers.rank_uniformity import p_value_of
from luce.calibration.design import Design, Prior, Recorder, quantity_names
from luce.calibration.replications import NearlyIndependent, Replication, Replicator
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import label_array, plural
from luce.errors import ConvergenceWarning, MethodError, warn_user
from luce.model.priors import ParameterPrior
from luce.page.words import escaped
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import Settings, check_whole
from luce.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

# Quantities that are single numbers in most designs.
_SINGLES = ("log_likelihood", "concentration")

# Share of replications with chains that did not mix, above which a warning is given.
_FEW = 0.01


@dataclass(frozen=True, eq=False)
class CalibrationCheck:
    """Ranks of truths among draws, and the test that they are uniform.

    Attributes
    ----------
    ranks
        Dataset of whole numbers from 0 to `draws`: "probabilities" (replication, category),
        "log_likelihood" (replication) and, where they are drawn, "concentration", "home" and "tie"
        (replication).  Its attributes hold version, seed, method, prior and design.
    draws
        Number of nearly independent draws that each truth was ranked among.
    level
        The check is rejected where uniform ranks stray as far with a probability below this.
    """

    ranks: Dataset
    draws: int
    level: float

    @property
    def replications(self) -> int:
        """Number of truths that were ranked."""
        return int(self.ranks.sizes["replication"])

    @cached_property
    def p_values(self) -> Dataset:
        """Probability, for each quantity, that uniform ranks stray as far."""

        def of_columns(ranks: IntArray, axis: int) -> FloatArray:
            return np.apply_along_axis(p_value_of, axis, ranks, self.draws)

        return self.ranks.map(lambda each: each.reduce(of_columns, "replication"))

    @cached_property
    def p_value(self) -> float:
        """The smallest of the p-values times their number, at most 1: all quantities together."""
        return float(min(1.0, self._flat.min() * len(self._flat)))

    @property
    def passed(self) -> bool:
        """Is the p-value at least the level?"""
        return self.p_value >= self.level

    @property
    def quantities(self) -> list[str]:
        """Names of the ranked quantities, in words."""
        return quantity_names(
            tuple(self.ranks["category"].values.tolist()),
            "concentration" in self.ranks,
            [name for name in self._singles if name not in _SINGLES],
        )

    @property
    def _singles(self) -> list[str]:
        """Ranked quantities that are single numbers, in the order of `quantities`."""
        beside = [str(name) for name in self.ranks if name not in ("probabilities", *_SINGLES)]
        return [*(name for name in _SINGLES if name in self.ranks), *beside]

    def __str__(self) -> str:
        attrs, worst = self.ranks.attrs, int(self._flat.argmin())
        most = attrs["largest_thin"]
        spaced = f", up to {most:,} sweeps between draws" if most > 1 else ""
        verdict = "passed" if self.passed else "rejected"
        return "\n".join(
            [
                f"calibration {verdict} at level {self.level:g}: p = {self.p_value:.3g}",
                f"  replications   {self.replications:,}, each ranked among "
                f"{plural(self.draws, 'draw')}",
                f"  quantities     {len(self._flat):,}, furthest from uniform "
                f"{self.quantities[worst]} (p = {self._flat[worst]:.3g})",
                f"  method         {attrs['method']}{spaced}",
                f"  prior          {attrs['prior']}",
                f"  design         {attrs['design']}",
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = str(self).splitlines()
        cells = (row.strip().split("  ", 1) for row in rows)
        body = "\n".join(
            f'<tr><th scope="row">{escaped(a)}</th><td>{escaped(b.strip())}</td></tr>'
            for a, b in cells
        )
        return f"<table>\n<caption>{escaped(head)}</caption>\n<tbody>\n{body}\n</tbody>\n</table>"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the deviation of each quantity's ranks from uniform ones, and the band allowed.

        A line leaves the band if, and only if, the check is rejected because of its quantity.
        """
        from luce.plots.checks import rank_curves

        return rank_curves(self.columns, self.quantities, self.draws, self.level, ax=ax)

    @cached_property
    def columns(self) -> IntArray:
        """All ranks, shape (replication, quantity), in the order of `quantities`."""
        singles = [self.ranks[name].values[:, None] for name in self._singles]
        return np.concatenate([self.ranks["probabilities"].values, *singles], axis=1)

    @cached_property
    def _flat(self) -> FloatArray:
        """All p-values, in the order of `quantities`."""
        names = ("probabilities", *self._singles)
        return np.concatenate([np.atleast_1d(self.p_values[name].values) for name in names])


def check_calibration(
    design: ConditionalCounts | Recorder,
    concentration: Prior = 1.0,
    *,
    home: ParameterPrior | None = None,
    tie: ParameterPrior | None = None,
    replications: int = 500,
    draws: int = 63,
    method: str = "auto",
    reduce: bool = True,
    level: float = 0.01,
    categories: int | Labels | None = None,
    warmup: int = 500,
    most_thin: int = 512,
    seed: SeedLike = None,
    progress: bool = True,
) -> CalibrationCheck:
    """Check by simulation that posteriors of a design are drawn right.

    Each replication draws p from the prior, data from p and the design, draws from the posterior of
    these data, and ranks p_i and the log likelihood among the draws.

    Parameters
    ----------
    design
        Counts that were or will be observed: their sets and totals are kept, while their outcomes
        are drawn anew; so are the results of contests, whose meetings are kept.  Or a function of
        a NumPy generator and a dict from labels to probabilities that returns counts: for grouped
        outcomes, for rankings, whose sets depend on who was first, or for any other way to record
        data.
    concentration
        The prior, as in `Posterior`: a number, one for each category, a `Gamma`, or a
        `DirichletProcess` whose base has all the labels.
    home, tie
        Priors of the parameters of contests, as in `Posterior`; those that are drawn are ranked
        too.
    replications
        Number of replications; more of them show smaller errors.
    draws
        Draws that each truth is ranked among.  Those of Markov chains are spaced until they are
        nearly independent.
    method, reduce
        As in `Posterior.sample`.
    level
        Largest probability of rejecting a right sampler.
    categories
        The labels, where the design is a function.
    warmup
        Sweeps that each Markov chain discards first; as many as `Posterior.sample` discards before
        1,000 draws.
    most_thin
        Sweeps between draws beyond which a chain counts as not mixing.
    seed
        Equal seeds give equal ranks.
    progress
        Show a bar for anything longer than two seconds?

    Returns
    -------
    CalibrationCheck
        Prints as a verdict; knows `passed`, `p_value`, `p_values` and `ranks`, and has `plot()`.

    Warns
    -----
    ConvergenceWarning
        Where chains did not mix in more than 1 % of the replications: a rejection then means that
        chains are slow, not that they are wrong.

    Examples
    --------
    >>> import luce
    >>> duels = luce.ConditionalCounts("abc").observe({"a": 8}, within="ab")
    >>> duels = duels.observe({"b": 8}, within="bc")
    >>> luce.calibration.check_calibration(duels, replications=80, seed=1, progress=False).passed
    True
    """
    check_whole("replications", replications, 1)
    check_whole("draws", draws, 1)
    check_whole("warmup", warmup, 0)
    check_whole("most_thin", most_thin, 1)
    if not isinstance(level, (float, int)) or not 0 < level < 1:
        raise MethodError(f"level = {level!r}; a number between 0 and 1 is needed.")
    given = Design(design, categories, concentration, {"home": home, "tie": tie})
    entropy = Settings(draws=draws, chains=1, seed=seed).seed_sequence()
    replicate = Replicator(given, NearlyIndependent(draws, method, reduce, warmup, most_thin))
    found: list[Replication] = []
    with ProgressBar(replications, progress) as bar:
        for own in entropy.spawn(replications):
            found.append(replicate(own))
            bar.update(len(found), "calibrating")
    stuck = sum(not each.mixed for each in found)
    if stuck > _FEW * replications:
        message = (
            f"in {stuck:,} of {replications:,} replications the chains did not mix, so their ranks "
            "need not be uniform even if the sampler is right. Leave method='auto', or take "
            "another one."
        )
        warn_user(ConvergenceWarning(message))
    return CalibrationCheck(_dataset(given, found, entropy), draws, float(level))


def _dataset(design: Design, found: list[Replication], seed: np.random.SeedSequence) -> Dataset:
    """Return the ranks with their labels, and their origin as attributes."""
    import xarray as xr

    ranks = np.array([each.ranks for each in found])
    n = len(design.labels)
    variables: dict[str, Any] = {
        "probabilities": (("replication", "category"), ranks[:, :n]),
        "log_likelihood": ("replication", ranks[:, n]),
    }
    if design.prior.hyperprior is not None:
        variables["concentration"] = ("replication", ranks[:, n + 1])
    for k, name in enumerate(design.prior.drawn_parameters, len(variables) - 1):
        variables[name] = ("replication", ranks[:, n + k])
    used = Counter(each.method for each in found).most_common()
    attributes = {
        "inference_library": "luce",
        "inference_library_version": __version__,
        "method": ", ".join(
            name if len(used) == 1 else f"{name} ({times:,})" for name, times in used
        ),
        "seed": str(seed.entropy),
        "prior": design.prior_words,
        "design": design.words,
        "largest_thin": max(each.thin for each in found),
        "unmixed_replications": sum(not each.mixed for each in found),
    }
    if seed.spawn_key:
        attributes["seed_spawn_key"] = list(seed.spawn_key)
    index = {"category": label_array(design.prior.counts.categories)}
    return xr.Dataset(variables, index, attributes)
