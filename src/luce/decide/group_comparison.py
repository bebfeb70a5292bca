"""Groups of data: one strength vector or several, and where they differ.

    one        all groups have the same probabilities p (and home, tie):  E_1 = ∫ Π_g L_g(p) π(p) dp
    several    each group g has its own, independent of the others:       E_s = Π_g ∫ L_g(p) π(p) dp

The Bayes factor of several against one is E_s / E_1.  Differences are those of the posteriors of
`several`, draw by draw.

The interval of a single difference is central.  Intervals that hold at once are the same ones,
stretched about the medians by one factor c: the smallest with which a share `ci_prob` of the draws
has every difference inside its interval.  For one difference c is 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, isfinite, log
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import Concentration, Label, SeedLike
from luce.answers.diagnostics import verdict
from luce.answers.scales import log_odds, shares
from luce.answers.simultaneous import Reach, least_stretch
from luce.answers.view import DrawsView, tail_of
from luce.counts.comparability import comparable_groups, prior_only
from luce.counts.confounding import untold_parameters
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import as_mapping, label_array, plural, printable, some
from luce.errors import DataError, EvidenceWarning, MethodError, warn_user, warnings_gathered
from luce.estimates.estimate import Estimate, with_error
from luce.hypotheses.bayes_factors import BayesFactor, bayes_factor
from luce.hypotheses.likelihood_ratio import LikelihoodRatio, ratio_of_groups
from luce.model.contents import attributes
from luce.model.priors import Dirichlet, ParameterPrior
from luce.page.words import percent, probability
from luce.posterior import Posterior
from luce.reading.by_group import read_groups
from luce.reading.files import TextOptions
from luce.sampling.settings import Settings
from luce.sequences.tables import Table
from luce.workflows.many_posteriors import sample_many

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

SCALES = ("log-odds", "probabilities")
CONTRASTS = ("pairs", "rest")

# Pairs of groups beyond which each must be compared with the rest instead.
_MOST_PAIRS = 1000

# Multiples of the concentration at which the Bayes factor is computed again.
_OTHER_PRIORS = (0.5, 2.0)

# Words of Kass and Raftery (1995) for a Bayes factor of at least so much, on either side.
_GRADES = (
    (150.0, "very strong evidence"),
    (20.0, "strong evidence"),
    (3.0, "positive evidence"),
    (1.0, "not worth more than a bare mention"),
)

# Standard errors of a log Bayes factor within which its grade is left open.
_ERRORS = 2.0

# Log Bayes factors below this are told as 0.
_EQUAL = 5e-4

_Posteriors = dict[Label, Posterior]


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison:
    """The answer of `compare_groups`: evidence, differences, and the draws of each group.

    Attributes
    ----------
    groups
        Number of outcomes of each group.
    bayes_factor
        The factor by which separate strengths make the data more probable than common ones.  Its
        `details` have the log evidences, "several" and "one".
    sensitivity
        The Bayes factor under other priors, by the multiple of the concentration.
    likelihood_ratio, why_none
        The classical test that all strengths are common; or None, and why there is none.
    log_odds, probabilities
        Differences on the two scales: mean, sd, median, lower and upper, simultaneous_lower and
        simultaneous_upper, p_positive and p_negative; dimensions (contrast, category).  The
        coordinates `first` and `second` name the groups of a contrast.
    parameters
        The same for differences of the logarithms of drawn parameters of contests, dimensions
        (contrast, parameter); None where there are none.
    prior
        The prior of each group's strengths, and of the common ones, in words.
    runs
        Draws of each group, under separate strengths.
    seed
        The seed, as text.
    notes
        Sentences on what was left out and what rests on the prior alone.
    """

    groups: Mapping[Label, float]
    bayes_factor: BayesFactor
    sensitivity: Mapping[float, BayesFactor]
    likelihood_ratio: LikelihoodRatio | None
    why_none: str
    log_odds: Dataset
    probabilities: Dataset
    parameters: Dataset | None
    prior: str
    runs: Mapping[Label, DataTree]
    seed: str
    notes: tuple[str, ...] = ()

    @property
    def probability_several(self) -> float:
        """The posterior probability of separate strengths, if both were equally probable before."""
        from scipy.special import expit

        return float(expit(float(self.bayes_factor.log)))

    @property
    def verdict(self) -> str:
        """A sentence on which model the data favours, and how strongly."""
        return evidence_sentence(self.bayes_factor)

    def differences(self, scale: str = "log-odds") -> Dataset:
        """Return `log_odds` or `probabilities` by the name of the scale."""
        if scale not in SCALES:
            raise MethodError(f"scale = {scale!r} was given; {some(SCALES)} are possible.")
        return self.log_odds if scale == "log-odds" else self.probabilities

    def table(self, scale: str = "log-odds") -> Table:
        """Make a table with a row for each difference, the largest mean first, either sign."""
        return _table(self.differences(scale), scale)

    def to_pandas(self, scale: str = "log-odds") -> Any:
        """Make a pandas data frame of the differences, as in `table`."""
        return self.table(scale).to_pandas()

    def to_text(self, scale: str = "log-odds", most: int = 40) -> str:
        """Tell the comparison in words, with at most `most` differences."""
        return "\n".join([*self._evidence_in_words(), "", *self._tables(scale, most), *self.notes])

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _evidence_in_words(self) -> Iterator[str]:
        named = [f"{printable(g)} ({plural(n, 'outcome')})" for g, n in self.groups.items()]
        more = [f"{len(named) - 6:,} more"] if len(named) > 6 else []
        yield f"{plural(len(named), 'group')}: {', '.join([*named[:6], *more])}"
        yield f"{self.verdict}."
        value, error = float(self.bayes_factor.log), float(self.bayes_factor.log.standard_error)
        number = with_error(value, error) if error else f"{value:.4g}"
        yield (
            f"  log Bayes factor  {number} of several against one ({self.bayes_factor.method}); "
            f"probability of several {probability(self.probability_several)} if it was 0.5 before"
        )
        yield (
            f"  prior             {self.prior} for one, and independently for each of several; "
            f"{self._priors()}"
        )
        ratio = self.likelihood_ratio
        if ratio is None:
            yield f"  likelihood ratio  none: {self.why_none}"
        else:
            freedom = plural(ratio.degrees_of_freedom, "degree")
            yield (
                f"  likelihood ratio  {ratio.statistic:.4g} on {freedom} of freedom, "
                f"p = {ratio.p_value:.3g}"
            )

    def _priors(self) -> str:
        if not self.sensitivity:
            return "the factor depends on it; sensitivity=True says how much"
        told = [f"with {x:g} × it {_digits(f)}" for x, f in self.sensitivity.items()]
        return f"the factor is {', '.join([_digits(self.bayes_factor), *told])}"

    def _tables(self, scale: str, most: int) -> Iterator[str]:
        found = self.differences(scale)
        yield self.table(scale).to_text(most)
        yield from claims_in_words(found, scale)
        if self.parameters is not None:
            yield ""
            words = "logarithms of parameters"
            yield _table(self.parameters, words).to_text(most)
            yield from claims_in_words(self.parameters, words)
        yield "All differences are those of separate strengths; under common ones they are 0."


def evidence_sentence(factor: BayesFactor) -> str:
    """Say which model the data favours, by how much, and how strong that is."""
    value, error = float(factor.log), float(factor.log.standard_error)
    known = isfinite(error)
    if known and error > 0 and abs(value) <= _ERRORS * error:
        return (
            "The Monte Carlo error leaves open whether the data favours separate strengths or "
            "common ones; take more draws"
        )
    if abs(value) < _EQUAL:
        return "The data is equally probable under separate and under common strengths"
    models = ["separate strengths for each group", "common strengths"]
    better, worse = models if value > 0 else models[::-1]
    size = abs(value)
    times = f"{exp(size):.3g}" if size < 300 else f"exp({size:.4g})"
    words = _grade(size, _ERRORS * error if known else 0.0)
    doubt = "" if known else "; its Monte Carlo error is not known"
    return f"The data is {times} times as probable under {better} as under {worse}: {words}{doubt}"


def _grade(size: float, error: float) -> str:
    """Grade a positive log Bayes factor; with both grades that its error allows."""
    low, high = (
        next(words for least, words in _GRADES if at >= log(least))
        for at in (max(size - error, 0.0), size + error)
    )
    return low if low == high else f"{low}, or {high}: the Monte Carlo error leaves it open"


def _digits(factor: BayesFactor) -> str:
    """Write a Bayes factor of any size with three digits."""
    value = float(factor.log)
    return f"{exp(value):.3g}" if abs(value) < 300 else f"exp({value:.4g})"


class Claims(NamedTuple):
    """Differences whose interval leaves out 0, among `total`.

    Attributes
    ----------
    pointwise, simultaneous
        Their number by the intervals of single differences, and by those that hold at once.
    wrong
        Expected number of the `pointwise` ones whose sign is wrong: the sum of the posterior
        probabilities of the other sign.
    least
        The smallest such number that the draws can tell from 0.
    """

    total: int
    pointwise: int
    simultaneous: int
    wrong: float
    least: float

    @classmethod
    def of(cls, found: Dataset) -> Claims:
        """Count the claims of differences."""
        low, high = found["lower"].values, found["upper"].values
        called = (low > 0) | (high < 0)
        wrong = 1 - np.where(low > 0, found["p_positive"], found["p_negative"])
        at_once = (found["simultaneous_lower"] > 0) | (found["simultaneous_upper"] < 0)
        least = 1 / int(found.attrs["draws"])
        number = int(called.sum())
        return cls(low.size, number, int(at_once.sum()), float(wrong[called].sum()), least)


def claims_in_words(found: Dataset, scale: str) -> Iterator[str]:
    """Say how many differences are told from 0, one by one and at once, and how many are wrong."""
    claims, level = Claims.of(found), percent(float(found.attrs["ci_prob"]))
    total = plural(claims.total, "difference")
    wrong = f"{claims.wrong:.2g}" if claims.wrong else f"below {claims.least:.2g}"
    yield (
        f"One by one: {claims.pointwise:,} of {total} in {scale} "
        f"{'has' if 1 in (claims.pointwise, claims.total) else 'have'} a {level} interval without 0"
        + (f"; expected wrong signs among them: {wrong}." if claims.pointwise else ".")
    )
    yield (
        f"At once: the simultaneous intervals hold for {'it' if claims.total == 1 else 'all'} with "
        f"probability {level}; {claims.simultaneous:,} "
        f"{'is' if claims.simultaneous == 1 else 'are'} without 0."
    )


def _table(found: Dataset, scale: str) -> Table:
    """Lay differences out in rows, the largest absolute mean first."""
    header = f"Differences in {scale}, the largest first"
    item = str(next(dim for dim in found["mean"].dims if dim != "contrast"))
    flat = {str(name): values.values.ravel() for name, values in found.data_vars.items()}
    order = np.argsort(-np.abs(flat["mean"]), kind="stable")
    rows, columns = np.unravel_index(order, found["mean"].shape)
    named = {item: found[item].values[columns]}
    if found.sizes["contrast"] > 1:
        named["contrast"] = found["contrast"].values[rows]
    else:
        header = f"{header}: {printable(found['contrast'].values[0])}"
    level = f"{round(100 * float(found.attrs['ci_prob']), 10):g}"
    names = {
        "mean": "mean",
        "sd": "sd",
        "lower": f"eti{level}_lb",
        "upper": f"eti{level}_ub",
        "simultaneous_lower": f"all{level}_lb",
        "simultaneous_upper": f"all{level}_ub",
        "p_positive": "p_positive",
    }
    numbers = {words: flat[name][order] for name, words in names.items()}
    return Table(named | numbers, [header], row="difference", probabilities=["p_positive"])


def compare_groups(
    data: Any,
    by: str | Sequence[str] | None = None,
    kind: str | None = None,
    *,
    concentration: Concentration = 1.0,
    home_prior: ParameterPrior | None = None,
    tie_prior: ParameterPrior | Mapping[str, ParameterPrior] | None = None,
    align: bool = False,
    contrasts: str = "pairs",
    sensitivity: bool | None = None,
    ci_prob: float = 0.9,
    draws: int = 1000,
    chains: int = 4,
    seed: SeedLike = None,
    progress: bool = True,
    **options: Any,
) -> GroupComparison:
    """Compare groups of data: do they share their strengths, and where do they differ?

    Parameters
    ----------
    data
        A mapping from names of groups to `ConditionalCounts`.  Or a file, or a frame (pandas,
        polars, pyarrow ...), whose column or columns `by` name the group of each row.
    by
        Name of that column, or names of several columns: groups are then named by tuples.  All
        groups have the categories of the whole.
    kind
        Kind of the rows, as in `luce.read`; found where the columns leave no doubt.
    concentration
        The prior's parameter: of the common strengths, and independently of each group's own.  The
        Bayes factor depends on it.
    home_prior, tie_prior
        Priors of the parameters of contests, `home` and `tie` of `Posterior`.  The parameters are
        common or separate as the strengths are; a number says that one is known, for all groups.
    align
        Compare groups whose categories differ?  Outcomes of a group are then taken as recorded
        among its own categories.  They are refused unless asked for.
    contrasts
        "pairs" compares each group with each later one; "rest" each group with the mean of all
        others.
    sensitivity
        Compute the Bayes factor at half and at twice the concentration too?  Unless given, where
        that is a closed form.
    ci_prob
        Probability of the intervals, between 0 and 1.
    draws, chains, seed, progress
        As in `Posterior.sample`, for each group and for evidences that need draws.
    options
        Options of the reader, with `by`: column names, ties, encoding and so on.

    Returns
    -------
    GroupComparison
        Prints as a verdict with a table.

    Examples
    --------
    >>> import luce
    >>> north = luce.ConditionalCounts("abc").observe({"a": 60, "b": 30, "c": 10})
    >>> south = luce.ConditionalCounts("abc").observe({"a": 35, "b": 45, "c": 20})
    >>> found = luce.compare_groups({"north": north, "south": south}, seed=1)
    >>> round(float(found.bayes_factor), 1)
    24.5
    >>> float(found.probabilities["mean"].sel(contrast="north - south", category="a").round(2))
    0.24
    """
    tail_of(ci_prob)
    if contrasts not in CONTRASTS:
        raise MethodError(f"contrasts = {contrasts!r} was given; {some(CONTRASTS)} are possible.")
    groups = _aligned(_read(data, by, kind, options), align)
    pairs = _contrasts(list(groups), contrasts)
    total = _total(groups)
    priors = {"home": home_prior, "tie": tie_prior}
    one = _posterior(total, concentration, priors)
    several = {name: _posterior(c, concentration, priors) for name, c in groups.items()}
    compared, left_out = _compared_categories(groups, total)
    base = Settings(draws=draws, chains=chains, seed=seed).seed_sequence()
    for_draws, for_evidence = base.spawn(2)
    asked: dict[str, Any] = {"draws": draws, "chains": chains, "progress": progress}
    factor = _factor(one, several, for_evidence, asked)
    others = {}
    if sensitivity or (sensitivity is None and factor.method == "exact"):
        for x in _OTHER_PRIORS:
            scaled = [_posterior(p.counts, x * p.concentration, priors) for p in several.values()]
            again = dict(zip(several, scaled, strict=True))
            common = _posterior(total, x * one.concentration, priors)
            others[x] = _factor(common, again, for_evidence, asked)
    ratio, why_none = ratio_of_groups(groups, total, _held(one))
    runs: dict[Label, DataTree] = sample_many(several, seed=for_draws, cluster=None, **asked)
    views = {name: DrawsView.of(run) for name, run in runs.items()}
    found = {
        scale: _differences(
            {name: function(view, among=compared) for name, view in views.items()}, pairs, ci_prob
        )
        for scale, function in (("log_odds", log_odds), ("probabilities", shares))
    }
    return GroupComparison(
        {name: counts.n_outcomes for name, counts in groups.items()},
        factor,
        others,
        ratio,
        why_none,
        found["log_odds"],
        found["probabilities"].clip(-1, 1, keep_attrs=True),
        _parameter_differences(views, pairs, ci_prob),
        str(attributes(one.model)["prior"]),
        runs,
        str(base.entropy),
        (*left_out, *_notes(groups, runs)),
    )


# -- data ------------------------------------------------------------------------------------------


def _read(
    data: Any, by: str | Sequence[str] | None, kind: str | None, options: dict[str, Any]
) -> dict[Label, ConditionalCounts]:
    """Read the counts of each group."""
    if by is not None:
        rows = dict(options)
        text = TextOptions()
        if isinstance(data, (str, PathLike)):
            text = TextOptions(*(rows.pop(name, None) for name in TextOptions._fields))
        _, readings = read_groups(data, by, kind, text, **rows)
        # A reading of several data sets was refused.
        return {name: reading.counts for name, reading in readings.items()}  # type: ignore[misc]
    if kind is not None or options:
        given = some([*(["kind"] if kind is not None else []), *options], quote=False)
        raise DataError(f"{given}: such options are for rows; name the column of groups with by=.")
    groups = as_mapping(data, "groups")
    if not isinstance(groups, Mapping):
        raise DataError(
            f"groups must be a mapping from names to ConditionalCounts; {type(data).__name__} was "
            "given. A file or a frame needs by=, the column that names the group of each row."
        )
    for name, counts in groups.items():
        if not isinstance(counts, ConditionalCounts):
            raise DataError(
                f"group {name!r} is {type(counts).__name__}; ConditionalCounts are needed. Those "
                "of a run are luce.posterior_of(run).counts; a mapping of columns needs by=."
            )
    return dict(groups)


def _aligned(groups: dict[Label, ConditionalCounts], align: bool) -> dict[Label, ConditionalCounts]:
    """Put the groups over the same categories, in the order of the first; refuse what cannot be."""
    if len(groups) < 2:
        raise DataError(f"{plural(len(groups), 'group')} given: {some(groups)}; two are needed.")
    empty = [name for name, counts in groups.items() if counts.n_outcomes == 0]
    if empty:
        raise DataError(f"group {empty[0]!r} has no outcomes; leave it out.")
    labels = list(dict.fromkeys(c for counts in groups.values() for c in counts.categories))
    lacking = {
        name: missing
        for name, counts in groups.items()
        if (missing := [c for c in labels if c not in set(counts.categories)])
    }
    if lacking and not align:
        told = "; ".join(f"{name!r} lacks {some(missing)}" for name, missing in lacking.items())
        raise DataError(
            f"the groups have different categories: {told}. With align=True (--align) the outcomes "
            "of a group are taken as recorded among its own categories, and the others have their "
            "prior alone. If a category was possible and never seen, name it in the counts of the "
            "group; counts.restrict([...]) leaves categories out."
        )
    return {name: counts.expand(labels) for name, counts in groups.items()}


def _total(groups: dict[Label, ConditionalCounts]) -> ConditionalCounts:
    """Add the groups up, which must be of one model."""
    names = {name: counts.parameters for name, counts in groups.items()}
    if len(set(names.values())) > 1:
        told = "; ".join(
            f"{name!r} has {some(own) if own else 'none'}" for name, own in names.items()
        )
        raise DataError(f"the groups have different parameters: {told}. One model is needed.")
    try:
        return sum(groups.values(), start=0)  # type: ignore[return-value]
    except DataError as error:
        raise DataError(f"the groups cannot share their strengths: {error}") from None


def _posterior(
    counts: ConditionalCounts, concentration: Concentration, priors: Mapping[str, Any]
) -> Posterior:
    posterior = Posterior(counts, concentration, **priors)
    if not (isinstance(posterior.prior, Dirichlet) and posterior.prior.is_fixed):
        raise DataError(
            f"the prior is {posterior.prior!r}; groups are compared under a Dirichlet prior whose "
            "concentration is a number."
        )
    return posterior


def _held(one: Posterior) -> dict[str, Any]:
    """Return the values of known parameters, as `maximum_likelihood` takes them."""
    found: dict[str, Any] = {}
    for name, value in one.model.known_parameters.items():
        found.setdefault(name.rstrip("0123456789"), {})[name] = value
    return {name: own.get(name, own) for name, own in found.items()}


def _compared_categories(
    groups: Mapping[Label, ConditionalCounts], total: ConditionalCounts
) -> tuple[list[Label], list[str]]:
    """List the competitors about which every group has data; say which categories are left out."""
    notes = []
    effects = [c for c in total.categories if c in total.effects]
    if effects:
        notes.append(f"Not compared, being no competitors: {some(effects, quote=False)}.")
    alone: set[Label] = set()
    for name, counts in groups.items():
        missing = [c for c in prior_only(counts) if c not in effects]
        alone.update(missing)
        if missing:
            notes.append(
                f"Not compared, since group {printable(name)} has no data on "
                f"{'it' if len(missing) == 1 else 'them'}: {some(missing, quote=False)}."
            )
    kept = [c for c in total.categories if c not in alone and c not in effects]
    if len(kept) < 2:
        raise DataError(
            f"the groups have data on {plural(len(kept), 'common category', 'common categories')}; "
            f"two are needed. {' '.join(notes)}".strip()
        )
    if notes:
        words = f"Probabilities are shares among the {len(kept):,} categories that are compared."
        notes.append(words)
    return kept, notes


# -- evidence --------------------------------------------------------------------------------------


def _factor(
    one: Posterior, several: _Posteriors, seed: np.random.SeedSequence, asked: Mapping[str, Any]
) -> BayesFactor:
    """Compute the Bayes factor of several against one."""
    # A copy, so that calls with one seed get the same children.
    seeds = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(len(several) + 1)
    common = _evidence("all groups together", one, seeds[0], asked)
    own = {
        name: _evidence(f"group {name!r}", posterior, child, asked)
        for (name, posterior), child in zip(several.items(), seeds[1:], strict=True)
    }
    separate = Estimate(
        float(sum(map(float, own.values()))),
        float(np.sqrt(sum(e.standard_error**2 for e in own.values()))),
        " and ".join(dict.fromkeys(e.method for e in own.values())),
        {"groups": own},
    )
    found = bayes_factor(separate, common)
    log_factor = replace(found.log, details={"several": separate, "one": common})
    return BayesFactor.of_log(log_factor)


def _evidence(
    of: str, posterior: Posterior, seed: np.random.SeedSequence, asked: Mapping[str, Any]
) -> Estimate:
    """Compute a log evidence; warnings and refusals say what it is of."""
    try:
        with warnings_gathered() as said:
            found = posterior.log_evidence(seed=seed, **asked)
    except MethodError as error:
        raise MethodError(f"{of}: {error}") from None
    for warning in said:
        if isinstance(warning, EvidenceWarning):
            warn_user(EvidenceWarning(f"{of}: {warning}", warning.estimates))
    return found


# -- differences -----------------------------------------------------------------------------------


class Contrast(NamedTuple):
    """A group, and the groups whose mean it is compared with."""

    first: Label
    others: tuple[Label, ...]
    second: Label


def _contrasts(groups: list[Label], which: str) -> list[Contrast]:
    if which == "pairs":
        number = len(groups) * (len(groups) - 1) // 2
        if number > _MOST_PAIRS:
            raise MethodError(
                f"{len(groups):,} groups make {number:,} pairs; at most {_MOST_PAIRS:,} are "
                'compared. contrasts="rest" (--contrasts rest) compares each with the others.'
            )
        return [Contrast(a, (b,), b) for a, b in combinations(groups, 2)]
    return [Contrast(a, tuple(b for b in groups if b != a), "rest") for a in groups]


def _differences(
    values: Mapping[Label, DataArray], contrasts: Sequence[Contrast], ci_prob: float
) -> Dataset:
    """Compute differences draw by draw, and what they are summarised by.

    Parameters
    ----------
    values
        Draws of each group, dimensions (chain, draw, item).
    contrasts
        The groups to compare.
    """
    import xarray as xr

    first = next(iter(values.values()))
    item = str(first.dims[-1])
    draws = {name: v.values.reshape(-1, v.shape[-1]) for name, v in values.items()}
    shape = len(contrasts), first.shape[-1]
    names = ("mean", "sd", "lower", "median", "upper", "p_positive", "p_negative")
    together = ("simultaneous_lower", "simultaneous_upper")
    table = {name: np.empty(shape) for name in (*names, *together)}
    reaches: list[Reach] = []
    tail = tail_of(ci_prob)
    farthest = np.zeros(len(next(iter(draws.values()))))
    for k, contrast in enumerate(contrasts):
        d = draws[contrast.first] - sum(draws[b] for b in contrast.others) / len(contrast.others)
        alone = np.quantile(d, [tail, 1 - tail], axis=0)
        reach = Reach.of(d, *alone)
        np.maximum(farthest, reach.farthest(d), out=farthest)
        reaches.append(reach)
        table["lower"][k], table["upper"][k] = alone
        table["mean"][k], table["sd"][k] = d.mean(axis=0), d.std(axis=0)
        table["p_positive"][k], table["p_negative"][k] = (d > 0).mean(axis=0), (d < 0).mean(axis=0)
    stretch = least_stretch(farthest, ci_prob)
    for k, reach in enumerate(reaches):
        table["median"][k] = reach.median
        ends = reach.stretched(stretch)
        table["simultaneous_lower"][k], table["simultaneous_upper"][k] = ends
    coords = {
        "contrast": [f"{printable(c.first)} - {printable(c.second)}" for c in contrasts],
        "first": ("contrast", label_array(c.first for c in contrasts)),
        "second": ("contrast", label_array(c.second for c in contrasts)),
        item: (item, first[item].values),
    }
    told = {"ci_prob": float(ci_prob), "stretch": stretch, "draws": len(farthest)}
    return xr.Dataset({n: (("contrast", item), v) for n, v in table.items()}, coords, told)


def _parameter_differences(
    views: Mapping[Label, DrawsView], contrasts: Sequence[Contrast], ci_prob: float
) -> Dataset | None:
    """Compare the logarithms of drawn parameters."""
    found = {}
    for name, view in views.items():
        if view.parameters is None:
            return None
        own = view.parameters
        logs = np.log(own.probabilities)
        labels = own.index["category"]
        found[name] = own.labelled(logs, ("chain", "draw", "parameter"), "log", parameter=labels)
    return _differences(found, contrasts, ci_prob)


def _notes(groups: Mapping[Label, ConditionalCounts], runs: Mapping[Label, DataTree]) -> list[str]:
    """Say what rests on the prior, and which draws are few."""
    notes = []
    for name, counts in groups.items():
        silent = set(prior_only(counts))
        parts = [part for part in comparable_groups(counts) if not set(part) <= silent]
        if len(parts) > 1:
            listed = " from ".join(f"{{{some(part, quote=False)}}}" for part in parts[:3])
            notes.append(
                f"The data of group {printable(name)} does not tell {listed}: there its prior does."
            )
        notes += [
            f"In group {printable(name)}, {parameter}: {why}."
            for parameter, why in untold_parameters(counts).items()
        ]
    for name, run in runs.items():
        trust = verdict(run)
        if trust.kind != "good":
            notes.append(f"Draws of group {printable(name)}: {trust}")
    return notes
