"""Sharded runs: one posterior with too many terms for one process, held by workers in blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from luce._types import Attributes, Concentration, Labels, SeedLike
from luce.cluster.connect import ClusterLike, connected
from luce.cluster.execution import carry_out, check_destination
from luce.cluster.shards import Piece, Shards
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.errors import DataError, MethodError
from luce.model.contents import model_of
from luce.model.model import Model
from luce.model.priors import Prior, PriorLike, as_prior
from luce.model.shapes import require_no_events
from luce.sampling.choice import Choice
from luce.sampling.methods import Method, Part
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from distributed import Client
    from xarray import DataTree

# Stored members of a block, unless pieces are given; fixed, since draws depend on the blocks.
_BLOCK_MEMBERS = 1_000_000


def sample_sharded(
    data: ConditionalCounts | Sequence[Piece],
    concentration: Concentration = 1.0,
    draws: int = 1000,
    *,
    chains: int = 4,
    warmup: int | None = None,
    seed: SeedLike = None,
    thin: int = 1,
    keep: Labels | None = None,
    to: str | os.PathLike[str] | None = None,
    quantiles: Sequence[float] | None = None,
    progress: bool = True,
    cluster: ClusterLike = "local",
) -> DataTree:
    """Draw one huge posterior by waiting times, its terms held by the workers of a cluster.

    In every sweep each worker is sent p and returns the rates of its blocks of terms, from which
    the driver draws the next p.  Random bits belong to the block and the sweep: draws depend on
    data, blocks and seed alone, not on the number of workers, nor on the loss of one.

    Parameters
    ----------
    data
        Pieces that add up to the data, each a block: counts, or functions without arguments that
        return counts and are called by the worker that holds the block.  All over the same
        categories in the same order.  Or counts, which are cut into blocks of a million stored
        members.
    concentration, draws, chains, warmup, seed, thin, keep, to, quantiles, progress
        As in `Posterior` and `Posterior.sample`.
    cluster
        The address of a Dask scheduler or a `distributed.Client`; "local" starts as many worker
        processes as this machine has processors; None does all in this process.

    Returns
    -------
    DataTree
        A run as from `Posterior.sample`; data that was given in pieces is not stored in it.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 9, "b": 3}, within="ab")
    >>> counts = counts.observe({"b": 4, "c": 2}, within="bc")
    >>> run = sample_sharded([counts, counts], draws=2000, seed=1, cluster=None)
    >>> luce.answers.expected_order(run)
    ['a', 'b', 'c']
    """
    settings = Settings(
        draws=draws,
        chains=chains,
        warmup=warmup,
        seed=seed,
        method="waiting-times",
        reduce=False,
        threads=chains,
        progress=progress,
        thin=thin,
        keep=keep,
        quantiles=quantiles,
        log_probabilities=False,
    )
    check_destination(settings, to, cluster)
    _check_fixed(as_prior(concentration))
    whole = data if isinstance(data, ConditionalCounts) else None
    if whole is not None:  # refuse arguments that do not fit before workers are started
        require_no_events(whole, "a sharded posterior")
        model = Model(whole, concentration)
        settings.kept_numbers(whole)
        _check_prior(model)
    pieces = cut_into_pieces(whole) if whole is not None else _read_pieces(data)
    with connected(cluster) as client:
        plan = ShardedPlan.of_pieces(pieces, whole, concentration, settings, client)
        return carry_out(plan, to)


@dataclass(frozen=True, eq=False)
class ShardedPlan(PosteriorPlan):
    """Plan of a run that draws a posterior whose terms are held by workers in blocks.

    Parameters
    ----------
    shards
        Handle of the blocks of terms; since workers hold these, the plan cannot be pickled.
    pieces
        Digests of the pieces in which data was given; none where it is whole and stored.
    """

    kind: ClassVar[str] = "sharded"

    shards: Shards
    pieces: tuple[str, ...] = ()

    @classmethod
    def of_pieces(
        cls,
        pieces: Sequence[Piece],
        whole: ConditionalCounts | None,
        concentration: PriorLike,
        settings: Settings,
        client: Client | None,
    ) -> ShardedPlan:
        """Hand the pieces to workers, and make the plan."""
        shards = Shards(pieces, client)
        counts = whole
        if counts is None:
            counts = ConditionalCounts(shards.categories)
            for fact in shards.facts:
                counts = counts.with_effects(fact["effects"])
        digests = tuple(fact["digest"] for fact in shards.facts) if whole is None else ()
        model = Model(counts, concentration)
        reason = f"asked for, with {shards.n_blocks} blocks of terms held by workers"
        choice = Choice(("waiting-times",), (reason,), reduced=False)
        kept = settings.kept_numbers(counts)
        plan = cls(model, settings, choice, False, kept, shards, digests)
        _ = plan.method  # refuses a concentration that is too small
        return plan

    @cached_property
    def method(self) -> Method:
        """One kernel for all categories, whose waiting times the shards provide."""
        from luce.kernels import Kernel
        from luce.kernels.problem import make_problem

        prior, shards = self.model.concentration, self.shards
        _check_prior(self.model)
        none = np.empty(0, np.int64)
        problem = make_problem(
            members=none,
            nest_start=np.zeros(1, np.int64),
            complement=np.empty(0, np.bool_),
            set_start=np.zeros(1, np.int64),
            set_end=none,
            exponent=np.empty(0),
            shape=prior + shards.category_counts,
            total_shape=float(prior.sum() + max(shards.net, 0.0)),
        )
        return Method((Part(Kernel(shards.advance, "log_waiting_time"), problem, prior),), None)

    def attributes(self) -> Attributes:
        """Describe method, prior and data; data in pieces by a digest of the pieces' digests."""
        found = super().attributes()
        if self.pieces:
            found["data_digest"] = hashlib.sha256("\n".join(self.pieces).encode()).hexdigest()
            found["data_pieces"] = len(self.pieces)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and prior are stored elsewhere."""
        return {**super().to_json(), "pieces": len(self.pieces), "block_members": _BLOCK_MEMBERS}

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to pickle the plan, whose blocks are held by workers."""
        raise MethodError("the plan of a sharded run cannot be sent: workers hold its blocks.")


def sharded_plan_of(run: DataTree, given: dict[str, Any], **more: Any) -> ShardedPlan:
    """Make the plan of a sharded run again, in this process; refuse a run without stored data.

    Draws do not depend on the holders of the blocks, so the run goes on with the same draws.
    """
    if given["pieces"]:
        raise MethodError(
            f"the data of this run was given in {given['pieces']} pieces and is not stored in it, "
            "so it cannot go on from its folder. Call luce.sample_sharded again with the same "
            "pieces, the same seed and another folder: the draws will be the same."
        )
    model = model_of(run)
    pieces = cut_into_pieces(model.counts, int(given["block_members"]))
    plan = PosteriorPlan.from_json(model, given, **more)
    shards = Shards(pieces, None)
    return ShardedPlan(model, plan.settings, plan.choice, plan.logs, plan.kept, shards)


def _check_fixed(prior: Prior) -> None:
    if not prior.is_fixed:
        raise MethodError("a sharded posterior needs a concentration that is a number.")


def _check_prior(model: Model) -> None:
    """Refuse a concentration that is drawn too, or too small for probabilities as doubles.

    The probability of a set may be as small as a gamma whose shape is the prior's part of the set,
    however often its members were seen.
    """
    from luce.kernels.problem import SMALL_SHAPE

    _check_fixed(model.prior)
    own = model.concentration[model.concentration > 0]  # a process gives none to named categories
    if own.min(initial=1.0) < SMALL_SHAPE:
        raise MethodError(
            f"a sharded posterior needs a concentration of at least {SMALL_SHAPE}, and "
            f"{own.min():g} was given: below, probabilities leave the range of doubles. "
            "Posterior.sample keeps their logarithms."
        )


def _read_pieces(given: object) -> list[Piece]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not given:
        raise DataError(
            "data must be ConditionalCounts, or a list of pieces, each counts or a function that "
            f"returns them; {type(given).__name__} was given."
        )
    for k, piece in enumerate(given):
        if not isinstance(piece, ConditionalCounts) and not callable(piece):
            raise DataError(
                f"piece {k} is {type(piece).__name__}; counts, or a function that returns them, is "
                "needed."
            )
    return list(given)


def cut_into_pieces(counts: ConditionalCounts, members: int = _BLOCK_MEMBERS) -> list[Piece]:
    """Cut counts into blocks of whole nests, each of about `members` stored members."""
    f = counts.sets
    block = f.nest_start[:-1] // members
    cuts = np.r_[0, np.flatnonzero(np.diff(block)) + 1, f.n_nests]
    nothing = np.zeros(counts.n_categories)
    pieces: list[Piece] = []
    for k, (a, b) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
        first, last = f.set_start[a], f.set_start[b]
        start, stop = f.nest_start[a], f.nest_start[b]
        own = SetFamily(
            n=f.n,
            members=f.members[start:stop],
            nest_start=f.nest_start[a : b + 1] - start,
            complement=f.complement[a:b],
            set_start=f.set_start[a : b + 1] - first,
            set_end=f.set_end[first:last] - start,
            exponent=f.exponent[first:last],
        )
        single = counts.category_counts if k == 0 else nothing
        pieces.append(ConditionalCounts.from_nests(counts.categories, single, own, merged=True))
    return pieces
