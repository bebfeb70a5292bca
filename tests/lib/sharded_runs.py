"""Sharded runs in small blocks, made the same way here and in a process that is killed."""

from pathlib import Path
from typing import Any

from lib.terms import small_piece, small_whole

from luce import ConditionalCounts
from luce.cluster.execution import carry_out
from luce.cluster.sharded import ShardedPlan, cut_into_pieces
from luce.sampling.settings import Settings

# Draws of a chain, and blocks of terms.
LENGTH, BLOCKS = 240, 4


def sharded_plan(pieces: list[Any], whole: ConditionalCounts | None) -> ShardedPlan:
    """A sharded run in blocks of eight draws each, the fewest that chains make at once."""
    settings = Settings(
        draws=LENGTH,
        chains=2,
        warmup=3,
        seed=5,
        threads=2,
        progress=False,
        method="waiting-times",
        reduce=False,
        log_probabilities=False,
        chunk_steps=5,
        block_chunks=1,
    )
    return ShardedPlan.of_pieces(pieces, whole, 1.0, settings, None)


def sharded(whole: bool, to: Path | None = None) -> Any:
    """Draw in blocks; data given whole is cut where its run would be cut on resuming."""
    counts = small_whole(BLOCKS)
    pieces = cut_into_pieces(counts) if whole else list(map(small_piece, range(BLOCKS)))
    return carry_out(sharded_plan(pieces, counts if whole else None), to)


def tell(run: Any) -> dict[str, Any]:
    """Attributes that name the sampler and the data."""
    names = ("kind", "method", "core_methods", "reason", "core_reasons", "reduced", "data_digest")
    return {name: run.attrs[name] for name in names}
