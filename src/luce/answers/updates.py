"""What became of the draws of a run that took in new data, as attributes of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from luce._types import Attributes, Label
from luce.counts.labels import plural, printable, some
from luce.errors import DataError
from luce.estimates.weights import LARGEST_K
from luce.model.contents import require_run
from luce.sampling.convergence import Kind

if TYPE_CHECKING:
    from xarray import DataTree

Way = Literal["reweighted", "sampled"]

# Beginning of the names of the attributes, and the one that every updated run has.
_PREFIX, _WAY = "update_", "update_way"


@dataclass(frozen=True, kw_only=True)
class Update:
    """The last update of a run: how its draws came about, and what they are worth.

    Parameters
    ----------
    way
        "reweighted" for draws chosen among those before by their weights; "sampled" for new ones.
    reason
        The reason for the way, in words.
    number
        Updates of the run so far, this one included.
    since_sampling
        Updates by weights since draws were last sampled.
    outcomes
        Number of new outcomes.
    new_categories
        Categories that the new data brought in.
    closed
        Data whose outcomes among all categories are taken as outcomes among its own: "old", "new".
    distinct
        Share of distinct draws: those of the last sampled run that are left, over their number.
    effective
        Effective share of their weights since then, (Σ w)² / (N Σ w²), before they were chosen.
    pareto_k
        Largest Pareto k of the weights of an update since then, at least 0.
    source_ess, source_verdict
        Smallest effective sample size of the draws that were sampled last, and the verdict on them.
    draws
        Draws of all chains together.
    seed, before
        Seed of the update, and the digest of the data before it.

    Examples
    --------
    >>> import luce
    >>> games = luce.ConditionalCounts("abc").observe({"a": 4, "b": 2}, within="ab")
    >>> run = luce.Posterior(games, 2.0).sample(seed=1)
    >>> today = luce.ConditionalCounts("ab").observe({"b": 1})
    >>> found = luce.decide.Update.of(luce.update(run, today, seed=2))
    >>> found.way, found.number, found.distinct > 0.7
    ('reweighted', 1, True)
    """

    way: Way
    reason: str
    number: int = 1
    since_sampling: int = 0
    outcomes: float = 0.0
    new_categories: tuple[Label, ...] = ()
    closed: tuple[str, ...] = ()
    distinct: float = 1.0
    effective: float = 1.0
    pareto_k: float = 0.0
    source_ess: float = 0.0
    source_verdict: Kind = "good"
    draws: int = 0
    seed: str = ""
    before: str = ""

    @classmethod
    def of(cls, run: DataTree) -> Update:
        """Read the last update of a run; refuse a run that was never updated."""
        require_run(run)
        found = cls.in_attributes(run.attrs)
        if found is None:
            raise DataError("this run was never updated: luce.update(run, new_counts) does that.")
        return found

    @classmethod
    def in_attributes(cls, attributes: Mapping[Any, Any]) -> Update | None:
        """Read the last update from the attributes of a run; None where there was none."""
        if _WAY not in attributes:
            return None
        known = cls.__dataclass_fields__
        names = {name: f"{_PREFIX}{name}" for name in known}
        given = {name: attributes[key] for name, key in names.items() if key in attributes}
        for name in ("new_categories", "closed"):
            given[name] = tuple(given.get(name, ()))
        return cls(**given)

    def attributes(self) -> Attributes:
        """Return the attributes of a run that hold all of this."""
        found = {f"{_PREFIX}{name}": getattr(self, name) for name in self.__dataclass_fields__}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}

    @property
    def care(self) -> tuple[str, ...]:
        """Reasons to take the draws with care that the draws themselves do not tell."""
        if self.way == "sampled":
            return ()
        found = []
        if self.source_verdict != "good":
            found.append("the draws before the update were to be taken with care")
        if self.pareto_k > LARGEST_K:
            found.append(
                f"the weights of an update had a Pareto k of {self.pareto_k:.2f}, so that errors "
                f"may be larger than they look (at most {LARGEST_K} is wanted)"
            )
        return tuple(found)

    def __str__(self) -> str:
        new = plural(self.outcomes, "new outcome")
        if self.way == "reweighted":
            told = (
                f"Reweighted by {new}: {self.reason}. {self.distinct:.0%} of the draws are "
                f"distinct, after {plural(self.since_sampling, 'update')} since they were sampled."
            )
        else:
            told = f"Sampled anew with {new}: {self.reason}."
        if self.new_categories:
            told += f" New among the categories: {some(self.new_categories)}."
        for which in self.closed:
            told += f" Outcomes among all categories of the {which} data count as given these."
        return printable(told)
