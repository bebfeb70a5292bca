"""Pairs of Markov chains that meet: sweeps of waiting times of two chains, jointly drawn."""

from typing import Any, NamedTuple, Protocol

from luce._types import FloatArray, WordArray
from luce.kernels import waiting_times
from luce.kernels.contests import sweep as contest_sweep
from luce.kernels.coupled import blocks, contests, sets
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.rankings import blocks as ranking_blocks


class AdvancePair(Protocol):
    """The signature of every kernel of two coupled chains."""

    def __call__(
        self,
        bits: WordArray,
        problem: Any,
        fit: Any,
        x: FloatArray,
        y: FloatArray,
        stops: bool,
        out_x: FloatArray,
        out_y: FloatArray,
        space: SplitSpace | None,
        /,
    ) -> int:
        """Make up to ``len(out_x)`` steps of two chains, and return their number.

        Parameters
        ----------
        bits
            Generator of this pair alone, four words; advanced.
        problem, fit, space
            As in `luce.kernels.Advance`.
        x, y
            States of the two chains; replaced by those after the last step.
        stops
            Whether to stop after the step in which the two states become equal, bit for bit.
            Equal states remain equal, so that a pair of them is a single chain.
        out_x, out_y
            Receive the states after each step, as `out` in `luce.kernels.Advance`.
        """


class Pair(NamedTuple):
    """The kernels of one kind of data.

    Attributes
    ----------
    both
        Advances two coupled chains.
    alone
        Advances one chain, a sampling kernel with the law that each chain of a pair has; None where
        a pair with equal states must serve.
    """

    both: AdvancePair
    alone: Any


SETS = Pair(sets.advance_pair, waiting_times.advance)
CONTESTS = Pair(contests.advance_pair, contest_sweep.advance)
RAO_KUPPER = Pair(contests.advance_pair, None)
BLOCKS = Pair(blocks.advance_pair, ranking_blocks.advance)
