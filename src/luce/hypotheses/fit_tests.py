"""Goodness of fit: observed against expected counts of every outcome of every set.

With O the observed count of a cell, m the number of outcomes of its sample, π its probability under
the model and E = m π,

    G² = 2 Σ O log(O / E)          X² = Σ (O - E)² / E

compare the model with one in which each sample has probabilities of its own.  Under the model both
are about chi-square, with Σ_s (cells of s - 1) less the number of parameters as degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, SeedLike
from luce.answers.diagnostics import verdict
from luce.answers.view import DrawsView
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import label_array, plural, printable
from luce.errors import DataError, MethodError, NoMaximumError
from luce.estimates.estimate import Estimate
from luce.hypotheses.cells import Cells, Fit, cells_of
from luce.model.contents import model_of
from luce.posterior import Posterior
from luce.sampling.convergence import ess_of_mean
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

    from luce.answers.view import DrawsLike

# Expected counts below this one make chi-square p-values rough.
_SMALL = 5.0

# Most draws that are replicated, of all chains together.
_MOST_DRAWS = 2000

# Rows of a printed table.
_MOST_ROWS = 5

# Two statistics closer than this, relatively, are taken as equal.
_SAME = 1e-9

_WORDS = {"deviance": "deviance G²", "pearson": "Pearson X²"}


@dataclass(frozen=True, eq=False, repr=False)
class FitTest:
    """Observed and expected counts, and tests of their difference.

    Attributes
    ----------
    cells
        Dimension `cell`, with coordinates `given` (the set, meeting or row, in words) and
        `outcome`.  Variables: `observed`; `expected`; `pearson`, (O - E) / √E; `deviance`, the
        signed square root of 2 (O log(O / E) - O + E); `adjusted`, O - E in units of its standard
        deviation under the model, nan where that is 0 or not computed.
    deviance, pearson
        G² and X².
    degrees_of_freedom
        Degrees of freedom; None for a fit to draws.
    log_likelihood
        Σ O log π at the fit, without multinomial coefficients.
    fitted_to
        "likelihood": π at the maximum of the likelihood.  "draws": the mean of π over draws.
    simulated
        Maps "deviance" and "pearson" to simulated p-values with their standard errors; empty if
        nothing was simulated.
    notes
        Sentences printed below the tests.
    """

    cells: Dataset
    deviance: float
    pearson: float
    degrees_of_freedom: int | None
    log_likelihood: float
    fitted_to: str
    simulated: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def p_deviance(self) -> float:
        """Chi-square p-value of the deviance; nan without degrees of freedom."""
        return self._chi_square(self.deviance)

    @property
    def p_pearson(self) -> float:
        """Chi-square p-value of X²; nan without degrees of freedom."""
        return self._chi_square(self.pearson)

    def _chi_square(self, statistic: float) -> float:
        from scipy.special import chdtrc

        return (
            float(chdtrc(self.degrees_of_freedom, statistic))
            if self.degrees_of_freedom
            else (float("nan"))
        )

    def to_pandas(self) -> Any:
        """Make a pandas data frame of the cells.

        Examples
        --------
        >>> import luce
        >>> counts = luce.ConditionalCounts("ab").observe({"a": 3, "b": 1})
        >>> luce.goodness_of_fit(counts).to_pandas()[["given", "outcome", "observed", "expected"]]
          given outcome  observed  expected
        0   all       a       3.0       3.0
        1   all       b       1.0       1.0
        """
        columns = ["given", "outcome", *self.cells.data_vars]
        return self.cells.to_dataframe()[columns].rename_axis(None)

    def __str__(self) -> str:
        samples = len(set(self.cells["sample"].values.tolist()))
        lines = [
            f"{plural(self.cells.sizes['cell'], 'cell')} of {plural(samples, 'sample')}, fitted to "
            f"{'the mean of draws' if self.fitted_to == 'draws' else 'the maximum likelihood'}"
        ]
        for name in _WORDS:
            lines.append(f"  {_WORDS[name]}  {self._in_words(name)}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join([*lines, *self._furthest()])

    __repr__ = __str__

    def _in_words(self, name: str) -> str:
        words = f"{round(getattr(self, name), 9):.5g}"
        if self.degrees_of_freedom:
            freedom = plural(self.degrees_of_freedom, "degree")
            words += f" on {freedom} of freedom, p = {getattr(self, f'p_{name}'):.3g}"
        if name in self.simulated:
            p, error = self.simulated[name], float(self.simulated[name].standard_error)
            told = f"= {float(p):.3g} ± {error:.1g}"
            if float(p) in (0.0, 1.0):  # all replicates agree; the error is that of one more
                told = f"below {error:.3g}" if float(p) == 0 else f"above {1 - error:.5g}"
            words += f", {p.method} p {told}"
        return words

    def _furthest(self) -> list[str]:
        """List the cells that are furthest from their expected counts."""
        adjusted = self.cells["adjusted"].values
        name = "pearson" if np.isnan(adjusted).all() else "adjusted"
        size = np.abs(np.nan_to_num(self.cells[name].values))
        order = [i for i in np.argsort(-size, kind="stable")[:_MOST_ROWS].tolist() if size[i] > 0]
        if not order or size[order[0]] < 1e-6:
            return []
        head = "given", "outcome", "observed", "expected", f"{name} residual"
        named = [[printable(self.cells[x].values[i]) for x in ("given", "outcome")] for i in order]
        numbers = [
            [
                f"{self.cells['observed'].values[i]:g}",
                f"{self.cells['expected'].values[i]:.2f}",
                f"{self.cells[name].values[i]:+.2f}",
            ]
            for i in order
        ]
        table = [head, *([*a, *b] for a, b in zip(named, numbers, strict=True))]
        widths = [max(len(row[k]) for row in table) for k in range(len(head))]
        return [
            "  "
            + "  ".join(
                text.ljust(width) if k < 2 else text.rjust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]


def goodness_of_fit(
    data: ConditionalCounts | Posterior | DataTree,
    draws: DrawsLike | int | None = None,
    *,
    apart: bool = False,
    replicates: int = 0,
    seed: SeedLike = None,
    progress: bool = True,
) -> FitTest:
    """Compare observed with expected counts: residuals, G², X², and their p-values.

    Outcomes are counted by the set that they were recorded in, or by meeting in contests.  The
    alternative gives each set probabilities of its own.

    From counts, the expected counts are those at the maximum of the likelihood.  Where a maximum
    exists only at the end of the model, because somebody never won against others, expected counts
    are the limit: cells that the limit leaves at 0, and the parameters that they alone determine,
    are left out of the degrees of freedom.

    From a posterior, a run or `draws`, expected counts are means over draws.  A p-value is the
    share of draws under which replicated counts are at least as far from their expectation, by G²
    or X² at that draw, as the observed ones.

    Parameters
    ----------
    data
        Counts that remember the set of each outcome; a posterior, whose counts are taken and which
        is drawn from; or a run of contests, which is taken with its draws.
    draws
        A run of `Posterior.sample` or an array of shape (chain, draw, category); or a number of
        draws from each chain of a posterior, 1000 unless given.
    apart
        Keep rows of a table, and calls of `observe`, apart, even those in the same set?  The test
        is then also one of equal probabilities in them.
    replicates
        Number of data sets that are drawn from the fit, and fitted, for simulated p-values
        (parametric bootstrap).
    seed, progress
        Of replicates and draws.

    Raises
    ------
    DataError
        When the counts do not tell the set of each outcome, or when outcomes of a set overlap.
    NoMaximumError
        When there is no limit either: contests with a parameter or a side without a maximum, and
        grouped outcomes.

    Examples
    --------
    Three players; each beats the next one.

    >>> import luce
    >>> table = {"Topalov": [22, None, 8], "Anand": [13, 23, None], "Karpov": [None, 12, 10]}
    >>> counts = luce.from_table(table, categories=list(table))
    >>> fit = luce.goodness_of_fit(counts)
    >>> round(fit.deviance, 3), fit.degrees_of_freedom, round(fit.p_deviance, 4)
    (4.209, 1, 0.0402)
    >>> fit.cells["expected"].values.round(2)
    array([18.98, 16.02, 19.98, 15.02, 11.02,  6.98])
    """
    check_whole("replicates", replicates, 0)
    counts, source = _read(data, draws, seed, progress)
    cells = cells_of(counts, apart)
    if len(cells.observed) == 0:
        raise DataError("no outcome was recorded in a set of two categories or more.")
    rng = np.random.default_rng(seed)
    if source is not None:
        if replicates:
            raise MethodError(
                "replicates are drawn from a maximum-likelihood fit, which draws replace; give one "
                "of draws and replicates."
            )
        view = DrawsView.of(source)
        used = _in_order(view, counts)
        notes = _doubts_on_draws(source, view.n_draws, used.n_draws)
        return replace(_fit_to_draws(cells, used, rng, progress), notes=notes)
    pooled = () if apart or counts.events is not None else _pooled(counts)
    return fit_and_test(cells, replicates, rng, progress, pooled)


def _read(
    data: object, draws: DrawsLike | int | None, seed: SeedLike, progress: bool
) -> tuple[ConditionalCounts, DrawsLike | None]:
    """Read data and draws: what was given, or those that a posterior makes."""
    import xarray as xr

    if isinstance(data, ConditionalCounts):
        if isinstance(draws, int):
            raise DataError("a number of draws was given, but no posterior to draw from.")
        return data, draws
    if isinstance(data, Posterior):
        if draws is None or isinstance(draws, int):
            number = 1000 if draws is None else draws
            draws = data.sample(number, seed=seed, progress=progress)
        return data.counts, draws
    if isinstance(data, xr.DataTree):
        if draws is not None:
            raise DataError("a run was given as data; give it as draws=, with its counts as data.")
        counts = model_of(data).counts
        if counts.events is None:
            raise DataError(
                "a run does not keep the set that each outcome was recorded in. Give the counts "
                "too: luce.goodness_of_fit(counts, draws=run)."
            )
        return counts, data
    raise DataError(
        f"data must be counts, a posterior or a run; {type(data).__name__} was given. A table is "
        "read by luce.from_table; luce.hypotheses.independence_test takes it as it is."
    )


def _in_order(view: DrawsView, counts: ConditionalCounts) -> DrawsView:
    """Put the categories of draws into the order of counts, and keep some of the draws."""
    kept = view.take(view.categories.numbers(counts.categories, "the data"))
    return kept.one_chain(kept.evenly(_MOST_DRAWS))


def _doubts_on_draws(source: DrawsLike, total: int, used: int) -> tuple[str, ...]:
    """Say how many draws were replicated, and what is doubtful about them."""
    import xarray as xr

    found = []
    if used < total:
        found.append(f"Replicated from {used:,} of the {total:,} draws, evenly spaced.")
    judged = verdict(source) if isinstance(source, xr.DataTree) else None
    if judged is not None and judged.kind != "good":
        found.append(f"The draws that this rests on: {judged}")
    return tuple(found)


def _pooled(counts: ConditionalCounts) -> tuple[str, ...]:
    """Say that samples of the same set were added up, where that can hide a difference."""
    one_by_one = [one for one in counts.recorded(apart=True) if len(one.outcomes) > 1]
    sets = {one.given for one in one_by_one}
    if len(one_by_one) == len(sets):
        return ()
    return (
        f"{plural(len(one_by_one), 'sample')} of {plural(len(sets), 'set')} were added up by set; "
        "apart=True compares them too.",
    )


def fit_and_test(
    cells: Cells,
    replicates: int,
    rng: np.random.Generator,
    progress: bool,
    notes: Sequence[str] = (),
) -> FitTest:
    """Fit cells by maximum likelihood and test them."""
    fit = cells.fit()
    totals = np.bincount(cells.sample, cells.observed).astype(np.float64)
    expected = totals[cells.sample] * fit.probabilities
    kept = fit.probabilities > 0
    in_sample = np.bincount(cells.sample[kept], minlength=len(totals))
    freedom = int((in_sample - 1).sum()) - fit.n_parameters
    deviance, pearson = _statistics(cells.observed, expected)
    simulated = {}
    if replicates:
        simulated = _bootstrap(cells, fit, (deviance, pearson), replicates, rng, progress)
    return FitTest(
        _dataset(cells, expected, _adjusted(cells, fit, totals)),
        float(deviance),
        float(pearson),
        freedom,
        _log_likelihood(cells.observed, fit.probabilities),
        "likelihood",
        simulated,
        (*notes, *_doubts(expected, freedom, bool(replicates))),
    )


def _doubts(expected: FloatArray, freedom: int, simulated: bool) -> list[str]:
    """Say what makes the chi-square p-values rough, and what was left out."""
    doubts = []
    cells = plural(len(expected), "cell")
    zero = int((expected == 0).sum())
    if zero:
        doubts.append(
            f"{zero:,} of {cells} are fitted at 0, at the end of the model; they are left out of "
            "the degrees of freedom."
        )
    if freedom == 0:
        doubts.append("There are no degrees of freedom: the model fits any such data.")
    small = int(((expected < _SMALL) & (expected > 0)).sum())
    if small and freedom:
        more = "" if simulated else " replicates=1000 simulates them."
        doubts.append(
            f"{small:,} of {cells} have expected counts below {_SMALL:g}: chi-square p-values are "
            f"rough.{more}"
        )
    return doubts


def _statistics(observed: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute G² and X², for counts of shape (..., cell)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
        squares = np.where(observed == expected, 0.0, (observed - expected) ** 2 / expected)
    return np.maximum(2 * logs.sum(axis=-1), 0.0), squares.sum(axis=-1)


def _log_likelihood(observed: FloatArray, probabilities: FloatArray) -> float:
    seen = observed > 0
    with np.errstate(divide="ignore"):
        return float(observed[seen] @ np.log(probabilities[seen]))


def _adjusted(cells: Cells, fit: Fit, totals: FloatArray) -> FloatArray:
    """Divide O - E by its standard deviation under the model.

    The covariance of O - E is m (diag π - π π') less what the fit takes up, D I⁻ D', where D are
    slopes of E and I the information.
    """
    p, m = fit.probabilities, totals[cells.sample]
    if fit.slopes is None:
        return np.full(len(p), np.nan)
    slopes = m[:, None] * p[:, None] * fit.slopes
    information = slopes.T @ fit.slopes
    taken = np.einsum("ci,ij,cj->c", slopes, np.linalg.pinv(information, hermitian=True), slopes)
    variance = m * p * (1 - p) - taken
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (cells.observed - m * p) / np.sqrt(variance)
    return np.where(variance > 1e-9 * m * p, found, np.nan)


def _dataset(cells: Cells, expected: FloatArray, adjusted: FloatArray) -> Dataset:
    """Label the cells and compute their residuals."""
    import xarray as xr

    observed = cells.observed
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = np.where(expected > 0, (observed - expected) / np.sqrt(expected), 0.0)
        logs = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
    parts = np.maximum(2 * (logs - observed + expected), 0.0)
    given = label_array(cells.given)
    return xr.Dataset(
        {
            "observed": ("cell", observed),
            "expected": ("cell", expected),
            "pearson": ("cell", pearson),
            "deviance": ("cell", np.sign(observed - expected) * np.sqrt(parts)),
            "adjusted": ("cell", adjusted),
        },
        {
            "given": ("cell", given[cells.sample]),
            "outcome": ("cell", label_array(cells.outcomes)),
            "sample": ("cell", cells.sample),
        },
    )


def _draw(cells: Cells, p: FloatArray, totals: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw counts of all samples for each row of probabilities, shape (row, cell)."""
    out = np.empty(p.shape)
    size = np.bincount(cells.sample)
    first = np.cumsum(size) - size
    for k in np.unique(size).tolist():
        which = np.flatnonzero(size == k)
        columns = first[which][:, None] + np.arange(k)
        chances = p[:, columns]
        chances = chances / chances.sum(axis=-1, keepdims=True)
        out[:, columns] = rng.multinomial(totals[which], chances)
    return out


def _whole_totals(cells: Cells) -> IntArray:
    totals = np.bincount(cells.sample, cells.observed)
    if (cells.observed % 1).any():
        raise DataError("the data has fractions of outcomes; whole numbers can be replicated.")
    return totals.astype(np.int64)


def _at_least(simulated: FloatArray, observed: FloatArray) -> FloatArray:
    """Flag statistics that are at least as large as the observed ones."""
    return np.asarray(simulated >= observed * (1 - _SAME) - _SAME, np.float64)


def _bootstrap(
    cells: Cells,
    fit: Fit,
    observed: tuple[FloatArray, FloatArray],
    replicates: int,
    rng: np.random.Generator,
    progress: bool,
) -> dict[str, Estimate]:
    """Draw data sets from the fit, fit each of them, and compare their statistics."""
    totals = _whole_totals(cells)
    drawn = _draw(cells, np.repeat(fit.probabilities[None], replicates, axis=0), totals, rng)
    found = []
    with ProgressBar(replicates, progress) as bar:
        for counts in drawn:
            bar.step("replicates")
            try:
                p = cells.with_observed(counts).fit().probabilities
            except NoMaximumError:
                continue
            found.append(_statistics(counts, totals[cells.sample] * p))
    if len(found) < replicates:
        raise NoMaximumError(
            f"{replicates - len(found):,} of {plural(replicates, 'replicate')} have no maximum of "
            "the likelihood, so their statistics are not known. Give draws instead of replicates."
        )
    out = {}
    for k, name in enumerate(_WORDS):
        larger = float(_at_least(np.array(found)[:, k], observed[k]).sum())
        share = (1 + larger) / (1 + replicates)
        out[name] = Estimate(share, float(np.sqrt(share * (1 - share) / replicates)), "simulated")
    return out


def _fit_to_draws(
    cells: Cells, view: DrawsView, rng: np.random.Generator, progress: bool
) -> FitTest:
    """Compare the data with replicates from draws, at the probabilities of each draw."""
    totals = _whole_totals(cells)
    m = totals[cells.sample]
    chains, draws = view.probabilities.shape[:2]
    parameters = view.parameter_values(cells.unknowns, "the data")
    beyond = {name: np.empty((chains, draws)) for name in _WORDS}
    mean = np.zeros(len(m))
    with ProgressBar(chains * draws, progress) as bar:
        done = 0
        for chain, rows in view.blocks(4 * len(m) + view.n_categories):
            own = {name: values[chain, rows] for name, values in parameters.items()}
            p = cells.probabilities(view.logs(chain, rows), own)
            if not np.isfinite(p).all():
                numbers = np.arange(view.n_categories)
                view.refuse_zeros(~np.isfinite(p), numbers, "an expected count")
            mean += p.sum(axis=0)
            real = _statistics(cells.observed, m * p)
            again = _statistics(_draw(cells, p, totals, rng), m * p)
            for name, a, b in zip(_WORDS, again, real, strict=True):
                beyond[name][chain, rows] = _at_least(a, b)
            done += len(p)
            bar.update(done, "replicates")
    p = mean / (chains * draws)
    deviance, pearson = _statistics(cells.observed, m * p)
    return FitTest(
        _dataset(cells, m * p, np.full(len(m), np.nan)),
        float(deviance),
        float(pearson),
        None,
        _log_likelihood(cells.observed, p),
        "draws",
        {name: _share(flags) for name, flags in beyond.items()},
    )


def _share(flags: FloatArray) -> Estimate:
    """Estimate the probability of flagged draws; with an error of one draw where all agree."""
    agree = np.ptp(flags) == 0
    error = 1 / flags.size if agree else float(flags.std() / np.sqrt(ess_of_mean(flags)))
    return Estimate(float(flags.mean()), error, "posterior predictive")
