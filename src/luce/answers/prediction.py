"""Predict data from draws: densities of new data, and replicates of a design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, NumberArray, SeedLike
from luce.answers.results import Meetings, ResultModel
from luce.answers.view import DrawsView
from luce.cluster.execution import carry_out
from luce.counts.comparability import unconditional
from luce.counts.contests import FIRST, SECOND, TIE, Contests, draw_results
from luce.counts.counts import ConditionalCounts
from luce.counts.events import Events
from luce.counts.family import SetFamily, describe_set
from luce.counts.labels import describe, label_array, plural, some
from luce.counts.likelihood import set_probabilities
from luce.errors import DataError, EvidenceWarning, MethodError, warn_user
from luce.estimates.bridge import effective_draws
from luce.estimates.estimate import Estimate
from luce.estimates.evidence import log_evidence
from luce.estimates.weights import basis, effective_number, is_trusted, log_mean
from luce.model.contents import model_of, require_run
from luce.model.model import Model
from luce.sampling.laplace import MOST_DENSE
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.answers.view import DrawsLike

_METHODS = ("auto", "draws", "evidences", "steps")

# Largest number of steps from the old to the new posterior, and halvings that find one.
_MOST_STEPS = 200
_HALVINGS = 40

# Smallest probability of a set that a sum of doubles has with all its digits.
_SMALLEST = 1e-290
# Largest error of a draw's sum, which should be 1; single precision stays below it.
_SUM_TOLERANCE = 1e-6
# Largest number of outcomes: whole numbers up to this one are exact as doubles.
_LARGEST = 2.0**53


def log_predictive(
    draws: DrawsLike,
    new_counts: ConditionalCounts,
    *,
    method: str = "auto",
    seed: SeedLike = 0,
    progress: bool = True,
) -> Estimate:
    """Compute the log posterior predictive density of new data, taken as a whole.

        log E[L(p)],        L(p) = Π_i p_i^(n_i) Π_S p(S)^(e_S),

    over the posterior that was drawn from, without multinomial coefficients.  For contests L is the
    product of the probabilities of all results, and depends on home and tie as well.  Three
    methods:

    - "draws": the log of the mean of L over the draws;
    - "evidences": the log evidence of old and new data together minus that of the old data;
    - "steps": the power of L is raised from 0 to 1 in steps that leave half of the draws effective,
      with draws of the posterior after each.

    A mean of likelihoods rests on the draws that happen to lie where the new data puts them.  It
    is trusted with 200 effective draws at least and a Pareto k of at most 0.5.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    new_counts
        Counts over the same categories, in any order.
    method
        "auto" takes the mean over draws where it can be trusted, then evidences, and steps where
        there is no evidence: with a prior on the concentration, a core of more than 2,000 atoms,
        or contests.
        Or one of the three.  All but "draws" need a run, which holds its data and its prior.
    seed, progress
        For the draws of evidences and steps, as in `Posterior.log_evidence`.

    Returns
    -------
    Estimate
        The number with its Monte Carlo standard error and the `method`; "exact" where both
        evidences have a closed form.  In `details`, `effective_draws` is the number of independent
        draws of equal weight that the estimate rests on, and `pareto_k` the Pareto k of the
        likelihoods of the draws given; with evidences, `before` and `after` are those without and
        with the new data; with steps, `shares` are the powers after each.

    Warns
    -----
    EvidenceWarning
        Where the mean cannot be trusted and nothing else can be had.  The standard error is nan
        then.

    Examples
    --------
    One more success after one: probability 2/3.

    >>> import luce, numpy as np
    >>> once = luce.ConditionalCounts(2).observe({0: 1})
    >>> draws = luce.Posterior(once).sample(20_000, seed=1, progress=False)
    >>> found = luce.log_predictive(draws, once)
    >>> round(float(np.exp(found.value)), 2), found.standard_error < 0.01
    (0.67, True)
    """
    if method not in _METHODS:
        raise MethodError(f"method = {method!r}; choose one of {', '.join(_METHODS)}.")
    x = DrawsView.of(draws)
    mean = log_mean(log_likelihoods(x, new_counts), "draws")
    if method != "evidences" and is_trusted(mean, x.n_draws):
        return mean
    if method == "draws":
        return _doubted(mean, "")
    settings = Settings(seed=seed, progress=progress)
    try:
        update = _Update(model_of(draws), new_counts, settings)  # type: ignore[arg-type]
        by_evidences = method == "evidences" or (method == "auto" and update.has_evidences)
        return update.by_evidences(mean) if by_evidences else update.by_steps(x, mean)
    except (DataError, MethodError) as error:
        if method != "auto":
            raise
        return _doubted(mean, f" It could be had otherwise, but {error}")


@dataclass(frozen=True)
class _Update:
    """A model, the new data, and the settings of draws that lead from one to the other."""

    model: Model
    new_counts: ConditionalCounts
    settings: Settings

    def with_share(self, share: float) -> Model:
        """Return the model of the old data and the likelihood of the new data to this power."""
        new, events = self.new_counts, self.new_counts.events
        if share < 1:
            constant = share * new.sets.log_constant
            sets = replace(new.sets, exponent=share * new.sets.exponent, log_constant=constant)
            counts = share * new.category_counts
            to_power = None if events is None else events.to_power(share)
            given = new.categories, counts, sets
            new = ConditionalCounts.from_nests(*given, merged=True, events=to_power)
        return self.model.with_counts(self.model.counts + new)

    @property
    def has_evidences(self) -> bool:
        """Do both models have an evidence within reach?"""
        plain = self.model.counts.events is None
        return (
            plain
            and self.model.hyperprior is None
            and all(
                core.n_atoms <= MOST_DENSE
                for model in (self.model, self.with_share(1))
                for core in model.structure.cores
            )
        )

    def by_evidences(self, mean: Estimate) -> Estimate:
        """Subtract the log evidence of the old data from that of old and new data together."""
        self.model.require_number("the evidence")
        models = self.model, self.with_share(1)
        seeds = self.settings.seed_sequence().spawn(2)
        before, after = (
            log_evidence(model, self.settings.reseeded(own), "bridge")
            for model, own in zip(models, seeds, strict=True)
        )
        bridged = [each.details["bridge"] for each in (before, after) if each.method == "bridge"]
        return Estimate(
            value=float(after) - float(before),
            standard_error=float(np.hypot(before.standard_error, after.standard_error)),
            method="evidences" if bridged else "exact",
            details={
                "effective_draws": min(map(effective_draws, bridged), default=np.inf),
                "pareto_k": mean.details["pareto_k"],
                "before": before,
                "after": after,
            },
        )

    def by_steps(self, x: DrawsView, mean: Estimate) -> Estimate:
        """Raise the power of the likelihood from 0 to 1 in steps, with draws of each posterior."""
        shares, means = [0.0], list[Estimate]()
        seeds = self.settings.seed_sequence().spawn(_MOST_STEPS)
        logs = log_likelihoods(x, self.new_counts)
        while True:
            step = _largest_step(logs, 1 - shares[-1])
            means.append(log_mean(step * logs, "steps"))
            shares.append(shares[-1] + step if step < 1 - shares[-1] else 1.0)
            if not is_trusted(means[-1], logs.size) or len(means) == _MOST_STEPS:
                raise MethodError(
                    f"after {plural(len(means), 'step')} with {shares[-1]:.2g} of the new data "
                    f"the mean of likelihoods {basis(means[-1])}."
                )
            if shares[-1] == 1:
                break
            settings = self.settings.reseeded(seeds[len(means)])
            run = carry_out(PosteriorPlan.of(self.with_share(shares[-1]), settings))
            logs = log_likelihoods(DrawsView.of(run), self.new_counts)
        return Estimate(
            value=sum(float(each) for each in means),
            standard_error=float(np.sqrt(sum(each.standard_error**2 for each in means))),
            method="steps",
            details={
                "effective_draws": min(map(effective_draws, means)),
                "pareto_k": mean.details["pareto_k"],
                "shares": shares[1:],
            },
        )


def _largest_step(logs: FloatArray, rest: float) -> float:
    """Find the largest power of weights, up to `rest`, that leaves half of the draws effective."""
    if np.isneginf(logs.max()):
        raise MethodError("the new data has probability 0 in all draws.")
    wanted = logs.size / 2

    def effective(power: float) -> float:
        return effective_number(np.exp(power * (logs - logs.max())))

    if effective(rest) >= wanted:
        return rest
    low, high = 0.0, rest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if effective(middle) >= wanted else (low, middle)
    return low


def _doubted(mean: Estimate, why: str) -> Estimate:
    """Warn of a mean of likelihoods that cannot be trusted, and drop its standard error."""
    found = replace(mean, standard_error=float("nan"))
    message = (
        f"the log predictive density {basis(mean)}, so its error is not known.{why} Give the run "
        "that Posterior.sample returned, take more draws, or predict the new data piece by piece, "
        "each from the posterior of all data before it."
    )
    warn_user(EvidenceWarning(message, {"draws": found}))
    return found


def posterior_predictive(
    draws: DrawsLike, design: ConditionalCounts, seed: SeedLike = None
) -> DataArray:
    """Draw replicates of a design, one for each draw of the probabilities.

    For each set S of the design with its m outcomes, m outcomes are drawn with probabilities
    p_i / p(S) or, in a set with weights, a_i p_i / Σ_j a_j p_j.  Of contests each meeting is
    replicated, as often as it took place.

    Parameters
    ----------
    draws
        As for `log_predictive`.
    design
        Counts whose sets and numbers of outcomes are replicated; all outcomes must be single
        categories.  Or counts with contests and nothing else.  Give the data itself for a posterior
        predictive check.
    seed
        The same seed gives the same replicates.

    Returns
    -------
    DataArray
        Whole numbers, dimensions (chain, draw, outcome).  Along `outcome` lie the coordinates
        `set` (its place in ``design.sets``, -1 for all categories), `given` (the set in words),
        `category` (the label) and `total` (m).  Its length is the sum of the sets' sizes.  For
        contests dimensions (chain, draw, meeting, result), the results being "first", "second" and
        "tie", with `meeting` in words and `total`.

    Examples
    --------
    >>> import luce
    >>> design = luce.ConditionalCounts(3).observe({0: 4}, within=[0, 1]).observe({2: 2})
    >>> replicates = luce.answers.posterior_predictive([[[0.2, 0.2, 0.6]]], design, seed=1)
    >>> replicates["category"].values.tolist(), replicates["total"].values.tolist()
    ([0, 1, 0, 1, 2], [4, 4, 2, 2, 2])
    >>> replicates.groupby("set").sum("outcome").values.tolist()
    [[[2, 4]]]
    """
    x = DrawsView.of(draws)
    _, family = aligned(x, design, "design")
    if design.events is not None:
        return _replicated_contests(x, design, seed)
    sets = _planned(x, design, family)
    if not sets:
        raise DataError("the design records nothing; give counts with one outcome at least.")
    rng = np.random.default_rng(seed)
    sizes = [len(members) for _, members, _, _ in sets]
    out = np.empty((*x.values.shape[:2], sum(sizes)), np.int64)
    start = 0
    for t, members, total, _ in sets:
        here = slice(start, start + len(members))
        start += len(members)
        for chain, rows in x.blocks(len(members)):
            shares = x.shares(chain, rows, members)
            if t >= 0 and family.weighted[t]:
                shares = shares * np.exp(_log_weights(family, t))
                shares /= shares.sum(axis=-1, keepdims=True)
            out[chain, rows, here] = rng.multinomial(total, shares)
    along: dict[str, Any] = {
        "set": np.repeat([t for t, _, _, _ in sets], sizes),
        "given": np.repeat([words for _, _, _, words in sets], sizes),
        "category": x.index["category"][np.concatenate([members for _, members, _, _ in sets])],
        "total": np.repeat([total for _, _, total, _ in sets], sizes),
    }
    bare = x.labelled(out, ("chain", "draw", "outcome"), "counts")
    return bare.assign_coords({name: ("outcome", values) for name, values in along.items()})


def _replicated_contests(x: DrawsView, design: ConditionalCounts, seed: SeedLike) -> DataArray:
    """Draw results of all meetings of a design, one replicate for each draw."""
    contests = contests_of_draws(x, design, "design")
    if design.n_outcomes > contests.n_outcomes:
        beside = plural(design.n_outcomes - contests.n_outcomes, "outcome")
        raise DataError(
            f"the design has {beside} beside its contests; replicate these and the contests apart."
        )
    if not contests.is_whole:
        raise DataError("the design has fractions of results; whole numbers can be replicated.")
    model, meetings = ResultModel.of(x), Meetings.of_contests(contests)
    rng = np.random.default_rng(seed)
    out = np.empty((*x.values.shape[:2], len(contests), 3), np.int64)
    for chain, rows in x.blocks(8 * len(contests.members)):
        logs = model.log_probabilities(meetings, chain, rows)
        out[chain, rows] = draw_results(logs, contests, rng)
    index = np.array(["first", "second", "tie"])
    dims = ("chain", "draw", "meeting", "result")
    words = [contests.sides_in_words(x.categories.labels, t) for t in range(len(contests))]
    bare = x.labelled(out, dims, "counts", result=index, meeting=label_array(words))
    return bare.assign_coords(total=("meeting", contests.results.sum(axis=1).astype(np.int64)))


def tally_results(contests: Contests, results: NumberArray) -> tuple[FloatArray, FloatArray]:
    """Count wins and ties of each category, shape (..., n) each.

    Parameters
    ----------
    contests
        The meetings.
    results
        Results of all meetings, shape (..., meetings, 3), recorded or replicated.
    """
    from scipy.sparse import csr_array

    side = np.repeat(np.arange(2 * len(contests)), np.diff(contests.start))
    shape = 2 * len(contests), contests.n
    sides = csr_array((np.ones(len(side)), (side, contests.members)), shape)
    won = np.stack([results[..., FIRST], results[..., SECOND]], axis=-1)
    tied = np.repeat(results[..., TIE], 2, axis=-1)

    def added(each: NumberArray) -> FloatArray:
        flat = each.reshape(-1, 2 * len(contests)) @ sides
        return np.asarray(flat, np.float64).reshape(*results.shape[:-2], contests.n)

    return added(won), added(tied)


def contests_of_draws(x: DrawsView, counts: ConditionalCounts, what: str) -> Contests:
    """Return contests numbered by the draws' categories, of the model that the draws have."""
    contests = counts.events
    if not isinstance(contests, Contests):
        raise DataError(f"{what} must be counts of contests; {describe(counts)} was given.")
    own = ResultModel.of(x)
    same = own.ties == contests.ties and (own.home == "multiplicative") == contests.home
    if not same:
        raise DataError(
            f"{what} has {contests.model}, the model of the draws {own.words}. Read both data with "
            "the same ties= and home=; luce.answers.scores takes meetings of any model."
        )
    return contests.renumbered(places(x, counts), x.n_categories)


def places(x: DrawsView, counts: ConditionalCounts) -> IntArray:
    """Return the number of each category of the counts among those of the draws."""
    index = x.categories.index
    return np.fromiter((index[c] for c in counts.categories), np.int64, x.n_categories)


def attach_posterior_predictive(
    run: DataTree, design: ConditionalCounts | None = None, seed: SeedLike = None
) -> DataTree:
    """Add a group `posterior_predictive` with replicates of a design to a run.

    Parameters
    ----------
    run
        A run of `Posterior.sample`; it is not changed.
    design
        As for `posterior_predictive`; the run's own data unless given.
    seed
        The same seed gives the same replicates.

    Returns
    -------
    DataTree
        The run with the new group: `counts`, with the dimensions of `posterior_predictive`.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 4, "b": 1}, within="ab")
    >>> run = luce.Posterior(counts).sample(100, seed=1)
    >>> run = luce.answers.attach_posterior_predictive(run, seed=2)
    >>> run["posterior_predictive"]["counts"].sum("outcome").values.max()
    np.int64(5)
    """
    require_run(run)
    design = model_of(run).counts if design is None else design
    return with_group(run, "posterior_predictive", posterior_predictive(run, design, seed))


def with_group(run: DataTree, group: str, values: DataArray) -> DataTree:
    """Copy a run, data shared, and add a group with one variable."""
    import xarray as xr

    return run.assign({group: xr.DataTree(values.to_dataset())})


def aligned(x: DrawsView, counts: ConditionalCounts, what: str) -> tuple[FloatArray, SetFamily]:
    """Renumber counts and sets by the draws' categories."""
    if not isinstance(counts, ConditionalCounts):
        raise DataError(f"{what} must be ConditionalCounts; {type(counts).__name__} was given.")
    strangers = [c for c in counts.categories if c not in x.categories.index]
    if strangers or counts.n_categories != x.n_categories:
        unknown = f"; not so {some(strangers)}" if strangers else ""
        raise DataError(
            f"{what} has {counts.n_categories} categories, the draws have {x.n_categories}; they "
            f"must be the same, in any order. The draws' are {some(x.categories)}{unknown}. "
            "Readers take all of them by categories=."
        )
    where = places(x, counts)
    ordered = np.empty(x.n_categories)
    ordered[where] = counts.category_counts
    return ordered, counts.sets.renumbered(where, x.n_categories)


def log_likelihoods(x: DrawsView, new_counts: ConditionalCounts) -> FloatArray:
    """Compute the log likelihood of each draw, shape (chain, draw).

    Parameters
    ----------
    x
        The draws, those of the parameters of the counts included.
    new_counts
        Counts over the draws' categories, in any order.
    """
    counts, family = aligned(x, new_counts, "new_counts")
    out = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(x.n_categories + len(family.members) + family.n_sets):
        out[chain, rows] = _of_rows(x, x.logs(chain, rows), counts, family)
    if new_counts.events is not None:
        out += log_likelihood_of_events(x, new_counts, "new_counts")
    return out


def log_likelihood_of_events(x: DrawsView, counts: ConditionalCounts, what: str) -> FloatArray:
    """Compute the log likelihood of the events of some counts alone, shape (chain, draw).

    Parameters
    ----------
    x
        The draws, those of the events' parameters included.
    counts
        Counts over the draws' categories, in any order, with events.
    what
        The counts, for messages.
    """
    events = _events_of_draws(x, counts, what)
    values = x.parameter_values(events.parameters, what)
    out = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(x.n_categories + 8 * len(events)):
        logs = x.logs(chain, rows)
        # The scale of p does not matter to events: no draw underflows as a whole.
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        own = {name: drawn[chain, rows] for name, drawn in values.items()}
        out[chain, rows] = events.log_likelihood(p, own)
    return out


def _events_of_draws(x: DrawsView, counts: ConditionalCounts, what: str) -> Events:
    """Return new events numbered by the draws' categories; refuse those of another model."""
    events = counts.events
    assert events is not None
    if isinstance(events, Contests):
        return contests_of_draws(x, counts, what)
    return events.renumbered(places(x, counts), x.n_categories)


def _of_rows(x: DrawsView, logs: FloatArray, counts: FloatArray, family: SetFamily) -> FloatArray:
    """Compute log likelihoods, shape (draw,), from log probabilities of shape (draw, category)."""
    p = np.exp(logs)
    off = np.abs(p.sum(axis=1) - 1)
    if off.max() > _SUM_TOLERANCE:
        raise DataError(
            f"each draw must add up to 1 within {_SUM_TOLERANCE:g}; one is off by {off.max():.3g}. "
            "Give all categories, and divide by their sum."
        )
    seen = np.flatnonzero(counts)
    out = logs[:, seen] @ counts[seen]
    if family.n_sets:
        out += set_logarithms(x, logs, family) @ family.exponent
    return np.asarray(out + family.log_constant)


def set_logarithms(x: DrawsView, logs: FloatArray, family: SetFamily) -> FloatArray:
    """Compute log probabilities of sets, shape (draw, set), from those of categories.

    With weights, log Σ_i a_i p_i over each set.
    """
    sums = set_probabilities(np.exp(logs), family)
    tiny = sums < _SMALLEST
    with np.errstate(divide="ignore"):
        log_sums = np.log(sums)
    for t in np.flatnonzero(tiny.any(axis=0)):
        members, rows = family.set_members(int(t)), np.flatnonzero(tiny[:, t])
        terms = logs[np.ix_(rows, members)] + _log_weights(family, int(t))
        log_sums[rows, t] = np.logaddexp.reduce(terms, axis=1)
        if family.exponent[t] < 0:
            x.refuse_zeros(np.isneginf(log_sums[rows, t]), members, "the likelihood")
    return np.asarray(log_sums)


def _log_weights(family: SetFamily, t: int) -> FloatArray | float:
    """Return log weights of a set's members, in the order of `set_members`; 0 without weights."""
    if not family.weighted[t]:
        return 0.0
    return np.asarray(np.log(family.listed_weights(t)[np.argsort(family.listed(t))]))


def _planned(
    x: DrawsView, design: ConditionalCounts, family: SetFamily
) -> list[tuple[int, IntArray, int, str]]:
    """List the sets of a design: place, members, number of outcomes, and the set in words."""
    grouped = np.flatnonzero(family.exponent > 0)
    if len(grouped):
        words = describe_set(x.categories.labels, family, int(grouped[0]))
        raise DataError(
            f"the design has grouped outcomes ({words}), whose conditions cannot be read off the "
            "counts. Only outcomes that are single categories can be replicated; predictions of "
            "groups are checked by luce.answers.reliability, which takes outcomes one by one."
        )
    planned = []
    for t, exponent in enumerate(family.exponent.tolist()):
        words = describe_set(x.categories.labels, family, t).split(" given ", 1)[1]
        planned.append((t, family.set_members(t), -exponent, words))
    free = unconditional(design)
    if free > 0:
        planned.append((-1, np.arange(x.n_categories), free, "all"))
    for _, _, total, words in planned:
        if not total.is_integer() or total > _LARGEST:
            raise DataError(
                f"the design has {plural(total, 'outcome')} given {words}; whole numbers up to "
                "2^53 can be replicated."
            )
    return [(t, members, int(total), words) for t, members, total, words in planned]
