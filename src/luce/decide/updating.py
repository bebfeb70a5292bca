"""The posterior after more data, from the draws of the posterior before it.

With L the likelihood of the new data, draws of the old posterior with weights

    w_k  ∝  L(p_k)

are draws of the new one.  N of them are chosen by systematic resampling, in the order of chains and
draws, so that copies of a draw are neighbours and lower the effective sample size.  Where weights
rest on too few draws, new ones are sampled under the sum of the data: each chain then starts at one
of its old draws, chosen by weight, and sweeps that leave the new posterior invariant follow.

New categories.  Strengths λ_i ~ Gamma(a_i) of all categories are independent under the prior, and
the old data tells of ratios among the m old ones alone.  So their total is independent of p:

    Λ ~ Gamma(Σ a_i),    λ_new ~ Gamma(a),    p_i becomes p_i Λ / (Λ + Σ λ_new)

which extends draws of the old posterior to exact draws of the same data among all categories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luce._types import Attributes, FloatArray, IntArray, Label, SeedLike
from luce.answers.diagnostics import verdict
from luce.answers.prediction import log_likelihoods
from luce.answers.updates import Update as Update
from luce.answers.view import DrawsView
from luce.cluster.execution import carry_out
from luce.counts.comparability import unconditional
from luce.counts.counts import ConditionalCounts
from luce.counts.events import added
from luce.counts.labels import describe, label_array, plural, some
from luce.counts.tied_blocks import TiedBlocks
from luce.errors import DataError, MethodError
from luce.estimates.weights import effective_number, pareto_k
from luce.model import contents
from luce.model.contents import model_of
from luce.model.model import Model
from luce.model.priors import Dirichlet, Prior
from luce.runs.tree import DESCRIBED, dataset
from luce.sampling.convergence import ENOUGH_ESS, Kind
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import DataTree

_METHODS = ("auto", "reweight", "sample")

# Largest Pareto k of weights that draws are chosen by (Vehtari et al. 2024), and the smallest
# effective share of the draws that were sampled last.
MOST_K, LEAST_SHARE = 0.7, 1 / 3

# Variable of `sample_stats`: the number of each draw among those that were sampled last.
_ORIGIN = "origin"

# Attributes that tell of the draws asked for, not of those that are there.
_OUTDATED = (
    "until",
    "until_met",
    "draws_asked_for",
    "sampling_time",
    "complete",
    "certified",
    "certified_bound",
    "certified_limit",
    "certified_pairs",
    "certified_lag",
)


def update(
    run: DataTree,
    new_counts: ConditionalCounts,
    *,
    seed: SeedLike = None,
    method: str = "auto",
    threads: int | None = None,
    progress: bool = True,
) -> DataTree:
    """Take new data into a run: return a run of the posterior of old and new data together.

    The old draws are weighted by the likelihood of the new data, and as many draws of equal weight
    are chosen among them.  Where that would rest on too few draws, the posterior of the sum is
    sampled instead, so that nothing stays approximate however many updates follow.

    Parameters
    ----------
    run
        A run of `Posterior.sample` or of this function, in memory or loaded.  It is not changed.
    new_counts
        The new data alone, read as the old data was: with the same ``ties=`` and ``home=``.  It may
        leave out categories of the run, unless they could have been outcomes, as states that
        could follow in transitions.  Categories that the run does not have are taken in, where
        the prior is one number for all; outcomes among all categories of either data are then
        outcomes given that they lay among these.
    seed
        The same seed gives the same draws.
    method
        "auto" reweights where the draws before can be trusted, the Pareto k of the weights is at
        most 0.7, their effective share of the draws that were sampled last at least a third, and
        400 effective draws are left.  "reweight" refuses where one of these fails, and "sample"
        always samples.
    threads, progress
        As in `Posterior.sample`, where draws are sampled.

    Returns
    -------
    DataTree
        A run of as many chains and draws, which can be saved, summarised and updated as any other.
        `luce.decide.Update.of` says how its draws came about.  Groups that were added to the old
        run are left behind, since they tell of the old data.

    Warns
    -----
    ConvergenceWarning
        Where draws were sampled, and cannot be trusted yet.

    Examples
    --------
    >>> import luce
    >>> yesterday = luce.from_pairs([("Ann", "Bo"), ("Bo", "Cy"), ("Ann", "Cy")])
    >>> run = luce.Posterior(yesterday, 2.0).sample(seed=1)
    >>> run = luce.update(run, luce.from_pairs([("Cy", "Ann"), ("Dee", "Cy")]), seed=2)
    >>> found = luce.decide.Update.of(run)
    >>> found.way, found.new_categories
    ('reweighted', ('Dee',))
    """
    if method not in _METHODS:
        raise MethodError(f"method = {method!r}; choose one of {', '.join(_METHODS)}.")
    settings = Settings(seed=seed, threads=threads, progress=progress)
    step = _Step(run, _Data.of(model_of(run), new_counts), settings)
    obstacle = "asked for" if method == "sample" else step.obstacle
    if obstacle is None:
        return step.reweighted()
    if method == "reweight":
        raise MethodError(
            f"method='reweight' would rest on too few draws: {obstacle}. Leave method='auto', "
            "which samples then."
        )
    return step.sampled(obstacle)


@dataclass(frozen=True, eq=False)
class _Data:
    """A model and new data, both among all categories.

    Attributes
    ----------
    before
        Model of the old data alone.
    after
        Model of the sum.
    new
        The new data.
    labels
        Categories that only the new data has.
    closed
        Data whose outcomes among all of its categories are now given these: "old", "new".
    """

    before: Model
    after: Model
    new: ConditionalCounts
    labels: tuple[Label, ...]
    closed: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, new: ConditionalCounts) -> _Data:
        """Check new data against a model, and add it."""
        if not isinstance(new, ConditionalCounts):
            raise DataError(
                f"new_counts must be ConditionalCounts; {describe(new)} was given. Read the new "
                "data as the old: luce.read, luce.from_pairs, ..."
            )
        old = model.counts
        labels = _strangers(old, new)
        _refuse_another_model(old, new)
        every = [*old.categories, *labels]
        closed = [
            name
            for name, counts in (("old", old), ("new", new))
            if counts.n_categories < len(every) and unconditional(counts) > 0
        ]
        prior = _prior_of_all(model, labels) if labels else model.prior
        total = old.expand(every)
        wide = new.expand(total.categories)
        after = model.with_counts(total + wide, prior=prior)
        return cls(model, after, wide, tuple(labels), tuple(closed))

    @property
    def comparable(self) -> ConditionalCounts | None:
        """The new data under the model of the sum; None where draws lack parameters of that."""
        events, old = self.new.events, self.before.counts.events
        if self.after.counts.parameters != self.before.counts.parameters:
            return None
        if events is None or old is None:
            return self.new
        n = self.new.n_categories
        none = old.take(np.zeros(len(old), np.bool_)).renumbered(np.arange(old.n), n)  # type: ignore[attr-defined]
        plain = ConditionalCounts.from_nests(
            self.new.categories, self.new.category_counts, self.new.sets, merged=True
        )
        whole = added(none, events)
        assert whole is not None
        return plain.with_events(whole)


def _strangers(old: ConditionalCounts, new: ConditionalCounts) -> list[Label]:
    """List the categories that only the new data has; refuse data that shares none."""
    known = set(old.categories)
    strangers = [label for label in new.categories if label not in known]
    if len(strangers) == new.n_categories:
        raise DataError(
            f"none of the categories of new_counts ({some(strangers)}) is one of the run "
            f"({some(old.categories)}). Labels must be the same in both, of the same type: "
            "new_counts.relabel(...) changes them."
        )
    return strangers


def _refuse_another_model(old: ConditionalCounts, new: ConditionalCounts) -> None:
    """Refuse plain outcomes where the old data has ties or a home advantage, and the reverse."""
    has_model = [
        counts.events is not None and not isinstance(counts.events, TiedBlocks)
        for counts in (old, new)
    ]
    plain = not old.sets.n_sets and not old.category_counts.any()
    told = new.n_outcomes > 0
    if has_model == [True, False] and plain and told and new.events is None:
        assert old.events is not None
        raise DataError(
            f"the data of the run has {old.events.model}, and new_counts was read without. Read it "
            "with the same ties= and home=, even where nothing was tied today."
        )
    if has_model == [False, True]:
        assert new.events is not None
        raise DataError(
            f"new_counts has {new.events.model}, and the data of the run was read without. Read "
            "new_counts as the old data was, or both anew with the same ties= and home=."
        )


def _prior_of_all(model: Model, labels: list[Label]) -> Prior:
    """Return the prior of all categories, where it is one number for all; refuse others."""
    if not isinstance(model.prior, Dirichlet):
        raise DataError(
            f"{some(labels)} of new_counts is no category of the run, and its Dirichlet process "
            "has their mass in the remainder. Fit anew: luce.Posterior(counts of all data, prior)."
        )
    a = model.concentration
    if model.hyperprior is None and (a != a[0]).any():
        raise DataError(
            f"{some(labels)} of new_counts is no category of the run, whose prior has a number of "
            "its own for each category. Fit anew with one for each: luce.Posterior(counts of all "
            "data, concentration={...})."
        )
    return Dirichlet(model.hyperprior or float(a[0]))


@dataclass(frozen=True, eq=False)
class _Step:
    """A run, the data to take in, and the settings of new draws."""

    run: DataTree
    data: _Data
    settings: Settings

    @cached_property
    def seeds(self) -> list[np.random.SeedSequence]:
        """Seeds of the extension, of the choice of draws, of starts, and of new draws.

        They depend on the data and the number of updates too: a stream with one seed for all of its
        updates would otherwise choose by the same random numbers each time.
        """
        given = self.settings.seed_sequence()
        told = f"{given.generate_state(4).tolist()} {self.data.after.counts.digest} {self.number}"
        return np.random.SeedSequence(int(sha256(told.encode()).hexdigest()[:32], 16)).spawn(4)

    @property
    def number(self) -> int:
        """Number of this update of the run."""
        before = Update.in_attributes(self.run.attrs)
        return 1 if before is None else before.number + 1

    @cached_property
    def view(self) -> DrawsView:
        """The draws, extended by new categories."""
        x = DrawsView.of(self.run)
        if not self.data.labels:
            return x
        return _extended(x, self.data, np.random.default_rng(self.seeds[0]))

    @cached_property
    def logs(self) -> FloatArray:
        """Log likelihood of the new data in each draw, flat."""
        comparable = self.data.comparable
        assert comparable is not None
        return log_likelihoods(self.view, comparable).ravel()

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the draws, flat; the largest is 1."""
        return np.asarray(np.exp(self.logs - self.logs.max()))

    @cached_property
    def origin(self) -> IntArray:
        """Number of each draw among those that were sampled last, flat."""
        if self.last is None or self.last.way == "sampled":
            return np.arange(self.n_draws)
        return np.asarray(self.run["sample_stats"][_ORIGIN].values).ravel()

    @property
    def n_draws(self) -> int:
        """Draws of all chains."""
        sizes = self.run["posterior"].sizes
        return int(sizes["chain"] * sizes["draw"])

    @cached_property
    def last(self) -> Update | None:
        """The last update, where it tells of just these draws and not of a selection."""
        found = Update.in_attributes(self.run.attrs)
        return found if found is not None and found.draws == self.n_draws else None

    @cached_property
    def source(self) -> tuple[Kind, float]:
        """The verdict on the draws that were sampled last, and their effective number."""
        if self.last is not None and self.last.way == "reweighted":
            return self.last.source_verdict, self.last.source_ess
        if self.run.attrs.get("independent_draws") == 1:  # nothing to judge
            return "good", float(self.n_draws)
        found = verdict(self.run)
        ess = self.n_draws if np.isnan(found.ess) else found.ess
        return found.kind, float(ess)

    @cached_property
    def pareto_k(self) -> float:
        """Pareto k of the weights, at least 0; nan for too few draws."""
        return float(np.maximum(pareto_k(self.logs), 0.0))

    @cached_property
    def effective(self) -> float:
        """Effective share of the draws that were sampled last, with these weights."""
        by_origin = np.bincount(self.origin, self.weights, self.n_draws)
        return effective_number(by_origin.astype(np.float64)) / self.n_draws

    @cached_property
    def obstacle(self) -> str | None:
        """The reason why draws cannot be chosen by weights; None where they can."""
        return self._missing or self._few

    @property
    def _missing(self) -> str | None:
        """Say what is missing for weights."""
        if "kept_categories" in self.run.attrs:
            return "the run keeps the draws of some categories alone"
        if self.data.comparable is None:
            return (
                f"the new data has parameters that were not drawn: "
                f"{some(self.data.after.counts.parameters, quote=False)}"
            )
        if not self.view.are_logs and not self.view.probabilities.all():
            return "some probabilities of the draws are too small to be stored"
        if np.isneginf(self.logs).all():
            return "the new data is impossible in all draws"
        return None

    @property
    def _few(self) -> str | None:
        """Say why weights would rest on too few draws."""
        if not self.pareto_k <= MOST_K:
            if np.isnan(self.pareto_k):
                return f"{plural(self.n_draws, 'draw')} cannot tell what their weights are worth"
            return f"the Pareto k of the weights is {self.pareto_k:.2f}, above {MOST_K}"
        if self.effective < LEAST_SHARE:
            return f"the effective share of the draws is {self.effective:.3f}, below a third"
        kind, ess = self.source
        if kind == "bad":
            return "the draws before could not be trusted"
        if ess * self.effective < ENOUGH_ESS:
            return (
                f"{ess * self.effective:.0f} effective draws would be left, and "
                f"{ENOUGH_ESS:.0f} are wanted"
            )
        return None

    def reweighted(self) -> DataTree:
        """Choose draws by their weights, and make a run of them."""
        import xarray as xr

        index = systematic(self.weights, np.random.default_rng(self.seeds[1]))
        origin = self.origin[index]
        distinct = len(np.unique(origin)) / self.n_draws
        kind, ess = self.source
        before = self.last
        told = self._told(
            way="reweighted",
            reason=(
                f"Pareto k {self.pareto_k:.2f}, effective share {self.effective:.2f} of the draws "
                "that were sampled"
            ),
            since_sampling=1 if before is None else before.since_sampling + 1,
            distinct=distinct,
            effective=self.effective,
            pareto_k=max(self.pareto_k, 0.0 if before is None else before.pareto_k),
            source_ess=ess,
            source_verdict=kind,
        )
        same = bool((index == np.arange(self.n_draws)).all())
        attributes: Attributes = {
            **{str(k): v for k, v in self.run.attrs.items() if k not in _OUTDATED},
            **contents.attributes(self.data.after),
            "independent_draws": int(same and self.run.attrs.get("independent_draws") == 1),
            **told.attributes(),
        }
        found = {"/": xr.Dataset(attrs=attributes)}
        for name in DESCRIBED:
            found[f"/{name}"] = self._chosen(name, index, origin, attributes)
        for name, group in contents.groups(self.data.after).items():
            found[f"/{name}"] = dataset(group.variables, group.coords, group.attributes)
        return xr.DataTree.from_dict(found)

    def _chosen(self, group: str, index: IntArray, origin: IntArray, attributes: Attributes) -> Any:
        """Choose the draws of one group of the run."""
        given = self.run[group].to_dataset()
        coords: dict[str, Any] = {dim: given[dim].values for dim in ("chain", "draw")}
        shape = (len(coords["chain"]), len(coords["draw"]))
        variables: dict[str, Any] = {}

        def choose(name: str, dims: Any, values: npt.NDArray[Any], own: Any = None) -> None:
            flat = values.reshape(self.n_draws, *values.shape[2:])
            variables[name] = (dims, flat[index].reshape(values.shape), own)

        if group == "posterior":
            p = {"probabilities": self.view.probabilities}
            if self.view.log_probabilities is not None:
                p["log_probabilities"] = self.view.log_probabilities
            marks = self.data.after.parameters[0].attributes
            for name, values in p.items():
                own = marks if name == "probabilities" else dict(given[name].attrs)
                choose(name, ("chain", "draw", "category"), values, own)
            coords["category"] = label_array(self.data.after.counts.categories)
            names = [parameter.name for parameter in self.data.after.parameters[1:]]
        else:
            names = [str(name) for name in given.data_vars if name != _ORIGIN]
            variables[_ORIGIN] = (("chain", "draw"), origin.reshape(shape), None)
        for name in names:
            one = given[name].transpose("chain", "draw", ...)
            choose(name, one.dims, one.values, dict(one.attrs))
        return dataset(variables, coords, attributes)

    def sampled(self, reason: str) -> DataTree:
        """Sample the posterior of the sum, from starts among the old draws."""
        sizes, attributes = self.run["posterior"].sizes, self.run.attrs
        posterior = self.run["posterior"].to_dataset()
        settings = replace(
            self.settings.reseeded(self.seeds[3]),
            draws=int(sizes["draw"]),
            chains=int(sizes["chain"]),
            thin=int(attributes.get("thin", 1)),
            log_probabilities=True if "log_probabilities" in posterior else None,
            keep=self._kept,
            initial="prior" if self._missing else self._starts(),
        )
        found = carry_out(PosteriorPlan.of(self.data.after, settings))
        told = self._told(way="sampled", reason=reason).attributes()
        for group in ("/", *DESCRIBED):
            found[group].attrs.update(told)
        return found

    @property
    def _kept(self) -> list[Label] | None:
        """The categories whose draws the run keeps, and the new ones; None for all."""
        if "kept_categories" not in self.run.attrs:
            return None
        kept = self.run["posterior"].to_dataset()["category"].values.tolist()
        return [*kept, *self.data.labels]

    def _starts(self) -> FloatArray:
        """Choose a draw of each chain by its weight."""
        p = self.view.probabilities
        rng = np.random.default_rng(self.seeds[2])
        logs = self.logs.reshape(p.shape[:2])
        noise = rng.gumbel(size=logs.shape)  # the largest of the sums is a draw by weight
        return np.asarray(p[np.arange(len(p)), np.argmax(logs + noise, axis=1)])

    def _told(self, **given: Any) -> Update:
        """Describe the update."""
        return Update(
            number=self.number,
            outcomes=self.data.new.n_outcomes,
            new_categories=self.data.labels,
            closed=self.data.closed,
            draws=self.n_draws,
            seed=str(self.settings.seed_sequence().entropy),
            before=self.data.before.counts.digest,
            **given,
        )


def systematic(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Choose as many draws as there are by their weights, in their order.

    Draw k is chosen ⌊N w_k⌋ or ⌈N w_k⌉ times, N w_k on average; equal weights choose each once.

    Parameters
    ----------
    weights
        Weights, not negative, shape (N,).
    rng
        Draws the one number that places all N points.
    """
    n = len(weights)
    ends = np.cumsum(weights)
    points = (rng.random() + np.arange(n)) * (ends[-1] / n)
    return np.asarray(np.minimum(np.searchsorted(ends, points, side="right"), n - 1))


def _extended(x: DrawsView, data: _Data, rng: np.random.Generator) -> DrawsView:
    """Extend draws of the old posterior by the categories that only the new data has."""
    sample, new = x.probabilities.shape[:2], len(data.labels)
    drawn = x.parameter("concentration") if data.before.hyperprior is not None else None
    a = np.full(sample, data.after.concentration[0]) if drawn is None else drawn
    old = _log_gammas(rng, a * x.n_categories)
    own = _log_gammas(rng, np.broadcast_to(a[..., None], (*sample, new)))
    total = np.logaddexp(old, np.logaddexp.reduce(own, axis=-1))
    share, logs = (old - total)[..., None], own - total[..., None]
    p = np.concatenate([x.probabilities * np.exp(share), np.exp(logs)], axis=-1)
    known = x.log_probabilities
    return replace(
        x,
        probabilities=p / p.sum(axis=-1, keepdims=True),
        log_probabilities=None if known is None else np.concatenate([known + share, logs], axis=-1),
        index={**x.index, "category": label_array(data.after.counts.categories)},
    )


def _log_gammas(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Draw logarithms of gamma variates: log G(a) = log G(a + 1) + log(U) / a never underflows."""
    return np.asarray(
        np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    )
