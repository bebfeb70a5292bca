"""Choose the comparison to make next, or a batch of them, and say when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, Labels, NumberArray, SeedLike
from luce.answers.diagnostics import verdict
from luce.answers.view import DrawsView
from luce.counts.labels import describe, is_hashable, plural, printable, read_number
from luce.decide.candidates import Candidate, Candidates, Matches, read_candidates
from luce.decide.information import (
    GOALS,
    Batch,
    Target,
    all_values,
    blocks,
    choose,
    independent_draws,
    winners,
)
from luce.decide.outlook import Outlook, look_ahead
from luce.errors import DataError, MethodError
from luce.estimates.estimate import with_error
from luce.page.words import probability
from luce.sampling.convergence import Verdict
from luce.sampling.mixing import errors_of_means
from luce.sampling.settings import Settings, check_whole
from luce.sequences.tables import Table

if TYPE_CHECKING:
    from luce.answers.view import DrawsLike

# Candidates that the table lists at most.
_LISTED = 100

# Bundles in which the comparisons of a forecast are planned, each for one candidate.
_BUNDLES = 8

# Mean effective draws given the outcomes of a batch, below which its last choices are doubtful.
_LEAST_LEFT = 100.0

# Bits below which information is what rounding leaves of none.
_ROUNDING = 1e-12

# Fewest draws of a chain whose autocorrelation is looked at.
_LEAST_CHAIN = 8

_ABOUT = {
    "information": "the probabilities",
    "best": "who is best",
    "order": "which of those compared is the larger",
}


@dataclass(frozen=True, eq=False)
class NextComparison:
    """The comparison to make next, with the best of the others and a word on when to stop.

    Prints as text; shows as a table in a notebook.

    Attributes
    ----------
    goal
        "information", "best" or "order".
    batch
        The comparisons to make, first the best one.
    gains
        What each of them adds, in bits, given the outcomes of those before.
    table
        The best candidates by value for their cost: `candidate`, `value` in bits, its Monte Carlo
        standard error `mcse`, `cost`, and `outcomes`, the probabilities of the next outcome.
    outlook
        How well the best is known, and what more comparisons would change.
    trust
        The verdict on the draws.
    n_candidates
        Number of candidates that were compared.
    of_meetings
        Are candidates meetings of two sides, rather than sets of which one is chosen?
    notes
        Sentences on what limits the answer.
    attrs
        Provenance: `seed`, `draws`, `independent_draws`, and of a run its `method`, `seed` and
        `data_digest` as `run_method`, `run_seed` and `data_digest`.
    """

    goal: str
    batch: list[Candidate]
    gains: FloatArray
    table: Table
    outlook: Outlook
    trust: Verdict
    n_candidates: int
    of_meetings: bool = False
    notes: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._printed(10).to_html()

    def to_text(self, most: int = 10) -> str:
        """Print the batch, the best candidates, at most `most`, and when to stop."""
        return self._printed(most).to_text(most)

    def to_pandas(self) -> Any:
        """Make a pandas data frame of the table."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Make a polars data frame of the table."""
        return self.table.to_polars()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, labels being as they are."""
        outlook = self.outlook

        def number(estimate: Any) -> Any:
            return None if estimate is None else float(estimate)

        def error(estimate: Any) -> Any:
            return None if estimate is None else float(estimate.standard_error)

        return {
            "goal": self.goal,
            "batch": [list(each) for each in self.batch],
            "gains": self.gains.tolist(),
            "candidates": [
                {
                    "candidate": list(name),
                    "value": float(value),
                    "mcse": float(mcse),
                    "cost": float(cost),
                    "outcomes": [{"outcome": k, "probability": v} for k, v in outcomes],
                }
                for name, value, mcse, cost, outcomes in zip(
                    *self.table.columns.values(), strict=True
                )
            ],
            "n_candidates": self.n_candidates,
            "leader": outlook.leader,
            "probability_best": float(outlook.probability),
            "probability_best_mcse": error(outlook.probability),
            "more": outlook.more,
            "expected_change": number(outlook.change),
            "expected_change_mcse": error(outlook.change),
            "expected_change_less_than": (
                None if np.isnan(outlook.less_than) else outlook.less_than
            ),
            "expected_probability_best": number(outlook.after),
            "trust": self.trust.kind,
            "sentences": list(outlook.sentences),
            "notes": list(self.notes),
            **self.attrs,
        }

    def _printed(self, most: int) -> Table:
        """Lay the best candidates out, with sentences above and below."""
        of = self.table
        rows = slice(0, most)
        own = {name: values[rows] for name, values in of.columns.items()}
        costs = {} if (of["cost"] == 1).all() else {"cost": own["cost"]}
        columns = {
            "candidate": _objects(map(self._words, own["candidate"])),
            "bits": _objects(map(_bits, own["value"].tolist(), own["mcse"].tolist())),
            **costs,
            "next outcome": _objects(
                ", ".join(f"{self._outcome(label)} {probability(p)}" for label, p in each)
                for each in own["outcomes"]
            ),
        }
        left = self.n_candidates - len(own["candidate"])
        more = [f"... of {plural(self.n_candidates, 'candidate')}."] if left else []
        return Table(columns, self._head(), [*more, "", *self.outlook.sentences, *self.notes])

    def _head(self) -> list[str]:
        """Name the comparisons to make."""
        most = "" if (self.table["cost"] == 1).all() else " for its cost"
        about = f"to learn most{most} about {_ABOUT[self.goal]}"
        if len(self.batch) == 1:
            return [f"Compare next: {self._words(self.batch[0])}, {about}.", ""]
        times = Counter(map(self._words, self.batch))
        lines = [f"  {name}{f', {n} times' if n > 1 else ''}" for name, n in times.items()]
        return [f"Compare next, {about}:", *lines, ""]

    def _outcome(self, outcome: Any) -> str:
        """Print an outcome: a label, or a side and all of its members."""
        return _text(outcome) if self.of_meetings else printable(outcome)

    def _words(self, candidate: Candidate) -> str:
        """Print a candidate."""
        sides, at_home = candidate, None
        if self.of_meetings:
            sides, at_home = candidate[:2], candidate[2] if len(candidate) > 2 else None
        named = [_text(side) if self.of_meetings else printable(side) for side in sides]
        if at_home is not None:
            named[at_home == "second"] += " at home"
        return " – ".join(named)


def next_comparison(
    draws: DrawsLike,
    candidates: Iterable[Any] | None = None,
    goal: str = "information",
    *,
    cost: Mapping[Any, float] | Sequence[float] | None = None,
    batch: int = 1,
    more: int = 100,
    among: Labels | None = None,
    seed: SeedLike = 0,
    progress: bool = True,
) -> NextComparison:
    """Choose the comparison to make next, by the information that its outcome is expected to give.

    With q the probabilities of a comparison's outcomes in a draw and H the entropy in bits, its
    value is H(E q) - E H(q | G), the mutual information of its outcome and G, which is:

    - "information": all probabilities, so that E H(q | G) = E H(q);
    - "best": the identity of the best; those who are best in fewer than 10 independent draws, or in
      less than 0.5 % of the draws, are taken as one;
    - "order": which of the two that are compared is the larger; in sets of more, and with teams,
      the sum over the pairs of sides.

    Divided by its cost it ranks the candidates.  A first-order correction takes off what a finite
    number of draws adds to it, so that a value near 0 may come out negative.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    candidates
        What could be compared, a tuple each: labels of which one will be chosen; or, where the
        draws are of contests, two sides and, if a side is at home, "first" or "second" behind them.
        A side is a label or a team, as for `luce.predict`.  Unless given, all pairs of competitors,
        nobody being at home.
    goal
        "information", "best" or "order".
    cost
        The cost of each candidate: a list of numbers in their order, or a mapping from candidates
        to numbers, all others costing 1.
    batch
        Number of comparisons to choose at once: each is the best for its cost given the outcomes of
        those before, on average over these.  The same may be chosen again.
    more
        Number of comparisons for which `outlook` says what they would change.
    among
        Who may be best, and whose pairs are the candidates unless these are given; all but effects
        (a tie, a home advantage) unless given.
    seed
        Of simulated outcomes; the same seed gives the same answer.
    progress
        Show a progress bar after two seconds?

    Returns
    -------
    NextComparison
        It prints the comparison, the best candidates and when to stop.

    Examples
    --------
    >>> import luce
    >>> games = [("a", "b"), ("b", "a"), ("a", "c"), ("a", "c"), ("b", "c"), ("b", "c")]
    >>> run = luce.Posterior(luce.from_pairs(games)).sample(1000, seed=1)
    >>> found = luce.next_comparison(run, goal="best")
    >>> found.batch
    [('a', 'b')]
    """
    if not is_hashable(goal) or goal not in GOALS:
        raise MethodError(f"goal = {goal!r}; choose one of {', '.join(GOALS)}.")
    check_whole("batch", batch, 1)
    check_whole("more", more, 0)
    settings = Settings(seed=seed, progress=progress)
    x = DrawsView.of(draws)
    trust = verdict(draws)
    competitors = DrawsView.ranked(x, among)
    found = read_candidates(x, candidates, among)
    costs = _read_costs(found, cost)
    independent = independent_draws(competitors)
    ever, shares = winners(competitors)
    target = Target.of(goal, shares, independent)
    rng = np.random.default_rng(settings.seed_sequence())
    values = all_values(target, found, x, progress)
    one_each = np.ones(batch, np.int64)
    chosen = choose(target, found, x, values, costs, one_each, rng, progress)
    bundles = np.diff(np.linspace(0, more, min(more, _BUNDLES) + 1).round()).astype(np.int64)
    ahead = choose(target, found, x, values, costs, bundles, rng, progress).numbers
    labels = [competitors.categories[int(i)] for i in ever]
    of = _among_whom(draws, x, competitors)
    outlook = look_ahead(x, labels, shares, found, ahead, bundles, independent, trust, rng, of)
    return NextComparison(
        goal=goal,
        batch=[found.name(int(number)) for number in chosen.numbers],
        gains=chosen.gains,
        table=_table(target, found, x, values, costs),
        outlook=outlook,
        trust=trust,
        n_candidates=len(found),
        of_meetings=isinstance(found, Matches),
        notes=_notes(target, chosen, batch, outlook, trust),
        attrs=_provenance(draws, x, independent, seed),
    )


def _among_whom(draws: DrawsLike, x: DrawsView, competitors: DrawsView) -> str:
    """Say among whom the best is looked for, where it is not among all."""
    some, every = competitors.n_categories, DrawsView.ranked(x).n_categories
    if some < every:
        return f" among {some:,} of {plural(every, 'competitor')}"
    return (
        " of those whose draws were kept"
        if "kept_categories" in getattr(draws, "attrs", {})
        else ""
    )


def _table(
    target: Target, found: Candidates, x: DrawsView, values: FloatArray, costs: FloatArray
) -> Table:
    """List the best candidates with Monte Carlo errors and outcomes."""
    listed = np.argsort(-values / costs, kind="stable")[:_LISTED]
    errors, outcomes = [], list[Any]()
    for some in blocks(found, listed, x):
        each = target.influences(found, some).reshape(len(some), *x.values.shape[:2])
        errors.append(_errors(each))
        means = found.probabilities(some).mean(axis=2)
        for number, p in zip(some, means.tolist(), strict=True):
            names = found.outcomes(int(number))
            outcomes.append(tuple(zip(names, p[: len(names)], strict=True)))
    return Table(
        {
            "candidate": _objects(found.name(int(number)) for number in listed),
            "value": values[listed],
            "mcse": np.concatenate(errors),
            "cost": costs[listed],
            "outcomes": _objects(outcomes),
        },
        row="candidate",
    )


def _errors(influences: FloatArray) -> FloatArray:
    """Compute Monte Carlo errors of means, shape (candidate, chain, draw)."""
    found = np.asarray(influences.std(axis=(1, 2)) / np.sqrt(influences[0].size))
    moving = np.ptp(influences, axis=(1, 2)) > 0
    if influences.shape[2] >= _LEAST_CHAIN and moving.any():
        found[moving] = errors_of_means(influences[moving])
    return found


def _read_costs(found: Candidates, given: Any) -> FloatArray:
    """Read the cost of each candidate."""
    costs = np.ones(len(found))
    if given is None:
        return costs
    if isinstance(given, Mapping):
        numbers = found.find(list(given))
        values = list(given.values())
    else:
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise DataError(f"cost = {describe(given)}; a list or a mapping of numbers is needed.")
        values = list(given)
        if len(values) != len(found):
            raise DataError(
                f"cost has {plural(len(values), 'number')} for {plural(len(found), 'candidate')}; "
                "give one for each, or a mapping from candidates to numbers."
            )
        numbers = np.arange(len(found))
    for number, value in zip(numbers.tolist(), values, strict=True):
        costs[number] = read_number(value, found.name(number))
        if costs[number] <= 0:
            raise DataError(
                f"the cost of {found.name(number)!r} is {value!r}; it must be positive."
            )
    return costs


def _notes(
    target: Target, chosen: Batch, batch: int, outlook: Outlook, trust: Verdict
) -> tuple[str, ...]:
    """Say what limits the answer."""
    notes = [str(trust)] if trust.kind == "mixed" else []
    if target.goal == "best" and target.groups.shape[1] == 1:
        notes.append(
            "Too few draws differ in who is best: they cannot say which comparison would tell more "
            "about it."
        )
    elif target.goal == "best" and target.together > 1:
        notes.append(
            f"{target.together:,} competitors that are rarely best are taken as one by the goal "
            "'best'."
        )
    if batch > 1 and chosen.effective < _LEAST_LEFT:
        notes.append(
            "The last choices of the batch rest on the equivalent of "
            f"{plural(round(chosen.effective), 'draw')} on average: take more draws, or a smaller "
            "batch."
        )
    return tuple(notes)


def _provenance(
    draws: DrawsLike, x: DrawsView, independent: float, seed: SeedLike
) -> dict[str, Any]:
    """Say which draws and which seed the answer came from."""
    own = getattr(draws, "attrs", {})
    known = {"method": "run_method", "seed": "run_seed", "data_digest": "data_digest"}
    return {
        "seed": seed if isinstance(seed, int) else str(seed),
        "draws": x.n_draws,
        "independent_draws": round(independent),
        **{name: own[key] for key, name in known.items() if key in own},
    }


def _bits(value: float, error: float) -> str:
    """Write information with its error; what rounding leaves of none is none."""
    return with_error(value if abs(value) > _ROUNDING else 0.0, error)


def _text(side: Any) -> str:
    """Print a label, or the labels of a team."""
    if isinstance(side, tuple | list | set | frozenset | Mapping):
        return " + ".join(map(printable, side))
    return printable(side)


def _objects(values: Iterable[Any]) -> NumberArray:
    """Make an array of objects, which may be tuples."""
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found
