"""Designs: they draw truths from the prior and simulate the data recorded of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from luce._types import Concentration, FloatArray, IntArray, Label, Labels
from luce.counts.comparability import unconditional
from luce.counts.contests import Contests, draw_results
from luce.counts.counts import ConditionalCounts
from luce.counts.family import describe_set
from luce.counts.labels import plural
from luce.counts.likelihood import set_probabilities
from luce.errors import DataError
from luce.model.model import Model
from luce.model.priors import DirichletProcess, Gamma

if TYPE_CHECKING:
    from luce.counts.family import SetFamily

Prior: TypeAlias = Concentration | Gamma | DirichletProcess
Recorder: TypeAlias = Callable[[np.random.Generator, Mapping[Any, float]], ConditionalCounts]

# Largest number up to which all whole numbers are exact as doubles.
_LARGEST = 2.0**53
# Sums of probabilities below this may have lost digits; they are computed from logarithms.
_SMALLEST = 1e-290


@dataclass(frozen=True)
class Truth:
    """A draw of the prior.

    Attributes
    ----------
    log_p
        Log probabilities.
    concentration
        The concentration; None where it is fixed.
    parameters
        Values of the data's parameters beside the probabilities, drawn ones and known ones.
    """

    log_p: FloatArray
    concentration: float | None
    parameters: Mapping[str, float] = field(default_factory=dict)


class Design:
    """A design and a prior: draws truths, and records data of them.

    Parameters
    ----------
    given
        Counts, whose sets and totals are kept while their outcomes are drawn anew; or a function
        of a generator and a mapping from labels to probabilities that returns counts.
    categories
        The labels, where a function is given.
    prior
        As in `Posterior`.
    parameters
        Priors of the parameters `home` and `tie` of contests, or their values; as in `Posterior`.
    """

    def __init__(
        self,
        given: ConditionalCounts | Recorder,
        categories: int | Labels | None,
        prior: Prior,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._trials: list[tuple[IntArray, int]] | None = None
        self._contests: Contests | None = None
        if isinstance(given, ConditionalCounts):
            if categories is not None:
                raise DataError("the counts have categories of their own; leave out categories=.")
            self._trials = _trials_of(given)
            self._contests = _contests_of(given)
            self.labels, self._sets = given.categories, given.sets
            self.words = repr(given)
        elif callable(given):
            if categories is None:
                raise DataError("a design that is a function needs categories=, their labels.")
            self.labels = ConditionalCounts(categories).categories
            self._record: Recorder = given
            self.words = f"{getattr(given, '__name__', 'a function')}, a function"
        else:
            raise DataError(
                f"a design must be ConditionalCounts, or a function that simulates some; "
                f"{type(given).__name__} was given."
            )
        bare = ConditionalCounts(self.labels)
        if self._contests is not None:
            bare = bare.with_events(self._contests)
        self.prior = Model(bare, prior, parameters=parameters)
        self.given_prior = prior

    @property
    def prior_words(self) -> str:
        """The prior in words."""
        beside = (f"{name} {x!r}" for name, x in self.prior.parameter_priors.items())
        return ", ".join([repr(self.prior.prior), *beside])

    def draw_truth(self, rng: np.random.Generator) -> Truth:
        """Draw from the prior."""
        shape, hyperprior, a = self.prior.concentration, self.prior.hyperprior, None
        if hyperprior is not None:
            # Keep it above 0, and large enough that log probabilities do not overflow.
            a = max(float(rng.gamma(hyperprior.shape)) / hyperprior.rate, 1e-300)
            shape = shape * (a / hyperprior.mean)
        # log G(a) = log G(a + 1) + log(U) / a stays finite where G(a) underflows.
        logs = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(len(shape))) / shape
        return Truth(logs - np.logaddexp.reduce(logs), a, self._draw_parameters(rng))

    def _draw_parameters(self, rng: np.random.Generator) -> dict[str, float]:
        """Draw the parameters of contests from their priors; those known stay what they are."""
        found = {}
        for name, prior in self.prior.parameter_priors.items():
            found[name] = prior if isinstance(prior, float) else 0.0
            if isinstance(prior, Gamma):
                assert self._contests is not None
                excess = max(float(rng.gamma(prior.shape)) / prior.rate, 1e-300)
                found[name] = self._contests.least(name) + excess
        return found

    def record(self, rng: np.random.Generator, truth: Truth) -> ConditionalCounts:
        """Simulate the data that the design records of a truth."""
        if self._trials is not None:
            return self._redrawn(rng, truth, self._trials)
        p = np.exp(truth.log_p)
        counts = self._record(rng, dict(zip(self.labels, p.tolist(), strict=True)))
        if not isinstance(counts, ConditionalCounts):
            raise DataError(
                f"the design returned {type(counts).__name__}; ConditionalCounts are needed, as "
                "luce.from_rankings and the other readers make them."
            )
        if tuple(counts.categories) != tuple(self.labels):
            raise DataError(
                "the design returned counts with other categories, or in another order; give the "
                "reader the same categories=."
            )
        if counts.events is not None:
            raise DataError(
                f"the design returned data with {counts.events.model}, whose parameters a function "
                "of the probabilities does not know. Give counts with such contests as the design: "
                "their meetings are kept, and results are drawn anew."
            )
        return counts

    def _redrawn(
        self, rng: np.random.Generator, truth: Truth, trials: list[tuple[IntArray, int]]
    ) -> ConditionalCounts:
        """Return counts with the same sets and totals, and new outcomes."""
        new = np.zeros(len(truth.log_p))
        for members, total in trials:
            logs = truth.log_p[members]
            share = np.exp(logs - logs.max())
            new[members] += rng.multinomial(total, share / share.sum())
        sets: SetFamily = self._sets
        counts = ConditionalCounts.from_nests(self.labels, new, sets, merged=True)
        if self._contests is None:
            return counts
        return counts.with_events(_played_again(self._contests, rng, truth))


def _trials_of(counts: ConditionalCounts) -> list[tuple[IntArray, int]]:
    """List the members and the outcomes of each set; the set of all categories comes last."""
    family, labels = counts.sets, counts.categories
    grouped = np.flatnonzero(family.exponent > 0)
    if len(grouped):
        words = describe_set(labels, family, int(grouped[0]))
        raise DataError(
            f"the design has grouped outcomes ({words}), and counts do not tell what would have "
            "been recorded instead. Give a function that simulates them, with categories=."
        )
    trials = [(family.set_members(t), -float(family.exponent[t])) for t in range(family.n_sets)]
    free = unconditional(counts)
    if free > 0:
        trials.append((np.arange(len(labels)), free))
    for members, total in trials:
        if not total.is_integer() or total > _LARGEST:
            names = ", ".join(repr(labels[int(i)]) for i in members[:4])
            raise DataError(
                f"the design has {plural(total, 'outcome')} given a set of {names}...; whole "
                "numbers up to 2^53 can be simulated."
            )
    return [(members, int(total)) for members, total in trials]


def _contests_of(counts: ConditionalCounts) -> Contests | None:
    """Read the contests of a design; their numbers must be whole."""
    contests = counts.events
    if contests is None:
        return None
    if not isinstance(contests, Contests):
        raise DataError(
            f"the design has {contests.kind} ({contests.model}), of which calibration knows "
            "nothing. Contests of two sides can be simulated."
        )
    if not contests.is_whole:
        raise DataError("the design has meetings with fractions of results; whole ones are needed.")
    return contests


def _played_again(contests: Contests, rng: np.random.Generator, truth: Truth) -> Contests:
    """Return the same meetings, each as often, with results drawn from a truth."""
    p = np.exp(truth.log_p - truth.log_p.max())  # contests depend on ratios alone
    results = draw_results(contests.log_probabilities(p, truth.parameters), contests, rng)
    return replace(contests, results=results.astype(np.float64))


def log_likelihoods(
    log_p: FloatArray,
    counts: ConditionalCounts,
    parameters: Mapping[str, ArrayLike] | None = None,
) -> FloatArray:
    """Return the log likelihood, shape (...), of log probabilities of shape (..., category).

    `parameters` are values of the data's parameters, of shape (...) each.
    """
    family, n = counts.sets, counts.category_counts
    seen = np.flatnonzero(n)
    out = np.asarray(log_p[..., seen] @ n[seen])
    if counts.events is not None:
        top = log_p.max(axis=-1, keepdims=True)  # events depend on ratios alone
        out = out + counts.events.log_likelihood(np.exp(log_p - top), parameters or {})
    if family.n_sets == 0:
        return out
    sums = set_probabilities(np.exp(log_p), family)
    with np.errstate(divide="ignore"):
        log_sums = np.log(sums)
    for t in np.flatnonzero((sums < _SMALLEST).reshape(-1, family.n_sets).any(axis=0)):
        members = family.set_members(int(t))
        log_sums[..., t] = np.logaddexp.reduce(log_p[..., members], axis=-1)
    return np.asarray(out + log_sums @ family.exponent)


def quantity_names(
    labels: tuple[Label, ...] | range, drawn: bool, parameters: Sequence[str] = ()
) -> list[str]:
    """Name the ranked quantities in words."""
    own = ["the concentration"] if drawn else []
    return [*(f"p of {label!r}" for label in labels), "the log likelihood", *own, *parameters]
