"""One posterior whose terms are too many for one process: blocks of terms, held by workers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from luce._types import Concentration, FloatArray, Labels, SeedLike
from luce.cluster.connect import ClusterLike, connected
from luce.cluster.shards import Piece, Shards
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.errors import DataError, MethodError
from luce.model.model import Model
from luce.runs.moments import read_quantiles
from luce.runs.open_stream import check_folder, finished
from luce.runs.stream import Stream
from luce.runs.tree import Origin, as_datatree
from luce.sampling.convergence import warn_if_not_converged
from luce.sampling.memory import draw_by
from luce.sampling.methods import Method, Part
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import DataTree

# Stored members in a block, unless pieces are given: fixed, since draws depend on the blocks.
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

    In every sweep each worker is sent p and returns, for its blocks of terms, what the driver needs
    to draw the next p.  Random bits belong to the block and the sweep: draws depend on data, blocks
    and seed alone, not on the number of workers, nor on one of them dying.

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
        As `Posterior.sample` does; data that was given in pieces is not stored in it.

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
        draws, chains, warmup, seed, "waiting-times", False, threads=chains, progress=progress,
        thin=thin, keep=keep,
    )  # fmt: skip
    whole = data if isinstance(data, ConditionalCounts) else None
    pieces = _cut(whole) if whole is not None else _read_pieces(data)
    folder = None if to is None else Path(to)
    if folder is not None:
        check_folder(folder)
    with connected(cluster) as client:
        shards = Shards(pieces, client)
        counts = whole if whole is not None else ConditionalCounts(shards.categories)
        model = Model(counts, concentration)
        method = Method((_part_of(shards, model.concentration),), None)
        digests = () if whole is not None else tuple(fact["digest"] for fact in shards.facts)
        settings = settings.reseeded(settings.seed_sequence())
        origin = Origin(
            model, method, settings.sweeps_to_discard,
            settings.seed_sequence(), thin, settings.kept_numbers(counts), digests,
        )  # fmt: skip
        if folder is not None:
            stream = Stream(folder, origin, None, settings, False, read_quantiles(quantiles))
            stream.begin()
            return finished(stream)
        if quantiles is not None:
            raise MethodError("quantiles are followed only in a run that goes to a disk, to=...")
        result = draw_by(method, counts.n_categories, origin.kept, False, settings)
    warn_if_not_converged(result.probabilities)
    return as_datatree(result, origin)


def _part_of(shards: Shards, prior: FloatArray) -> Part:
    """All categories, drawn by waiting times that the shards provide."""
    from luce.kernels import Kernel
    from luce.kernels.problem import SMALL_SHAPE, make_problem

    if (prior + shards.category_counts).min() < SMALL_SHAPE:
        raise MethodError(
            f"a sharded posterior needs a concentration of at least {SMALL_SHAPE} for categories "
            "never seen: below, probabilities leave the range of doubles."
        )
    none = np.empty(0, np.int64)
    problem = make_problem(
        none, np.zeros(1, np.int64), np.empty(0, np.bool_), np.zeros(1, np.int64), none,
        np.empty(0), prior + shards.category_counts, float(prior.sum() + max(shards.net, 0.0)),
    )  # fmt: skip
    reason = f"asked for, with {shards.n_blocks} blocks of terms held by workers"
    return Part("waiting-times", reason, Kernel(shards.advance, "log_waiting_time"), problem, prior)


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


def _cut(counts: ConditionalCounts, members: int = _BLOCK_MEMBERS) -> list[Piece]:
    """Cut counts into blocks by whole chains, each of about so many stored members."""
    f = counts.sets
    block = f.nest_start[:-1] // members
    cuts = np.r_[0, np.flatnonzero(np.diff(block)) + 1, f.n_nests]
    pieces: list[Piece] = []
    nothing = np.zeros(counts.n_categories)
    for k, (a, b) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
        first, last = f.set_start[a], f.set_start[b]
        start, stop = f.nest_start[a], f.nest_start[b]
        own = SetFamily(
            f.n, f.members[start:stop], f.nest_start[a : b + 1] - start, f.complement[a:b],
            f.set_start[a : b + 1] - first, f.set_end[first:last] - start, f.exponent[first:last],
        )  # fmt: skip
        single = counts.category_counts if k == 0 else nothing
        pieces.append(ConditionalCounts.from_nests(counts.categories, single, own, merged=True))
    return pieces
