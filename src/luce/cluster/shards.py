"""Shards: blocks of terms held by workers, which draw the waiting times of every sweep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from luce._types import FloatArray, Label, WordArray
from luce.cluster.connect import workers_of
from luce.cluster.tree_sums import Node, nodes_of, sum_of, total_of
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import hash_of_names
from luce.errors import DataError, LuceError
from luce.model.shapes import require_no_events

if TYPE_CHECKING:
    from distributed import Client

    from luce.kernels.problem import Problem

# Counts, or a function that a worker calls to make them.
Piece: TypeAlias = ConditionalCounts | Callable[[], ConditionalCounts]

# Times in a row that a lost shard is built again before the run fails.
_MOST_REBUILDS = 5


class Shard:
    """Blocks of terms held by one worker; `first` is the number of its first block."""

    def __init__(self, first: int, pieces: Sequence[Piece]) -> None:
        self.first = first
        self._counts = [_made(piece, first + k) for k, piece in enumerate(pieces)]
        self._problems = [_problem(counts) for counts in self._counts]
        self._nodes = nodes_of(first, first + len(pieces))
        self._categories = self._counts[0].categories
        _check_same(first, self._counts)
        # Counts are needed for these sums and facts alone, and are not kept beside the problems.
        self._summary = [(node, self._totals(node)) for node in self._nodes]
        self._facts = [
            {
                "categories": len(counts.categories),
                "labels": hash_of_names(counts.categories).hexdigest(),
                "effects": counts.effects,
                "digest": counts.digest,
                "n_outcomes": counts.n_outcomes,
                "members": len(counts.sets.members),
                "grouped": bool((counts.sets.exponent > 0).any()),
            }
            for counts in self._counts
        ]
        self._counts = []

    def facts(self) -> tuple[list[dict[str, Any]], list[tuple[Node, list[FloatArray]]]]:
        """Return a description of each block, and sums of counts and exponents by node."""
        return self._facts, self._summary

    def categories(self) -> Sequence[Label]:
        """Return the labels of the categories, in order."""
        return self._categories

    def sweep(self, p: FloatArray, word: int, grouped: bool) -> list[tuple[Node, list[FloatArray]]]:
        """Draw waiting times u_t; return rates, grouped outcomes (if any) and Σ_t u_t by node."""
        from luce.kernels.shards import block_bits, term_rates

        p = np.ascontiguousarray(p)

        def leaf(block: int) -> list[FloatArray]:
            problem, space = self._problems[block - self.first]
            rates, extra = np.empty(len(p)), np.zeros(len(p) if grouped else 0)
            bits = block_bits(word, block)
            waited = term_rates(bits, problem, p, space, rates, extra)
            return [rates, extra, np.array([waited])]

        return [(node, sum_of(node, leaf)) for node in self._nodes]

    def _totals(self, node: Node) -> list[FloatArray]:
        def leaf(block: int) -> list[FloatArray]:
            counts = self._counts[block - self.first]
            single = np.array(counts.category_counts)
            return [single, np.array([single.sum() + counts.sets.exponent.sum()])]

        return sum_of(node, leaf)


def _made(piece: Piece, block: int) -> ConditionalCounts:
    counts = piece if isinstance(piece, ConditionalCounts) else piece()
    if not isinstance(counts, ConditionalCounts):
        raise DataError(
            f"piece {block} gave {type(counts).__name__}; a piece is ConditionalCounts, or a "
            "function that returns them."
        )
    return counts


def _check_same(first: int, pieces: Sequence[ConditionalCounts]) -> None:
    for k, counts in enumerate(pieces):
        require_no_events(counts, "a sharded posterior")
        if counts.categories != pieces[0].categories:
            raise _different(first + k, counts.n_categories, first, pieces[0].n_categories)


def _different(block: int, n: int, other: int, n_other: int) -> DataError:
    return DataError(
        f"piece {block} has other categories than piece {other} ({n:,} and {n_other:,}), or in "
        "another order. Give all of them the same categories=[...]."
    )


def _problem(counts: ConditionalCounts) -> tuple[Problem, Any]:
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.problem import make_problem

    f = counts.sets
    problem = make_problem(
        members=f.members,
        nest_start=f.nest_start,
        complement=f.complement,
        set_start=f.set_start,
        set_end=f.set_end,
        exponent=f.exponent,
        shape=np.ones(counts.n_categories),
        total_shape=1.0,
    )._replace(wide=None)
    return problem, split_space(problem)


@dataclass
class _Held:
    """Consecutive blocks, and the actor and worker that hold them now."""

    first: int
    pieces: Sequence[Piece]
    actor: Any = None
    worker: str = ""
    future: Any = None  # the scheduler keeps the actor as long as this future exists


class Shards:
    """All blocks, held by workers or, without a client, by this process.

    Attributes
    ----------
    assigned
        First block and worker of every shard that was handed out, in order; a shard whose worker
        was lost is listed again.
    """

    def __init__(self, pieces: Sequence[Piece], client: Client | None) -> None:
        self._client = client
        self.n_blocks = len(pieces)
        self.assigned: list[tuple[int, str]] = []
        workers = [""] if client is None else workers_of(client)
        cuts = np.linspace(0, len(pieces), min(len(workers), len(pieces)) + 1).astype(int)
        self._held = [_Held(int(a), pieces[int(a) : int(b)]) for a, b in pairwise(cuts)]
        self._mending = threading.Lock()
        for held, worker in zip(self._held, workers, strict=False):
            self._begin(held, worker)
        for held in self._held:  # all workers are building their shards by now
            self._settle(held)
        facts = self._ask("facts")
        self.facts = [fact for facts_of, _ in facts for fact in facts_of]
        self._check_facts()
        self.categories: Sequence[Label] = self._ask_one("categories")
        self.grouped = any(fact["grouped"] for fact in self.facts)
        found = [node for _, nodes in facts for node in nodes]
        self.category_counts, net = total_of(self.n_blocks, found)
        self.net = float(net[0])

    def sweep(self, p: FloatArray, word: int) -> tuple[FloatArray, FloatArray, float]:
        """Draw waiting times; return their sum, after rates and grouped outcomes by category."""
        found = [node for nodes in self._ask("sweep", p, word, self.grouped) for node in nodes]
        rates, extra, waited = total_of(self.n_blocks, found)
        return rates, extra, float(waited[0])

    def advance(
        self,
        bits: WordArray,
        problem: Problem,
        fit: None,
        state: FloatArray,
        tuning: FloatArray,
        adapt: bool,
        out: FloatArray,
        stat: FloatArray,
        space: object,
    ) -> None:
        """Make ``len(out)`` sweeps, with the arguments of any kernel."""
        from luce.kernels.shards import draw_strengths, new_word

        for d in range(len(out)):
            rates, extra, waited = self.sweep(state, int(new_word(bits)))
            draw_strengths(bits, problem.shape, extra, rates, problem.total_shape, state)
            out[d] = state
            stat[d] = np.log(waited) if waited > 0 else -np.inf

    def _ask_one(self, what: str) -> Any:
        return self._ask(what, only=1)[0]

    def _ask(self, what: str, *arguments: Any, only: int | None = None) -> list[Any]:
        """Call the same method of every shard; a shard lost with its worker is built again."""
        asked = [(held, held.actor, ask(held.actor, what, arguments)) for held in self._held[:only]]
        return [self._answer(what, arguments, *one) for one in asked]

    def _answer(
        self, what: str, arguments: tuple[Any, ...], held: _Held, actor: Any, answer: Any
    ) -> Any:
        for _ in range(_MOST_REBUILDS):
            try:
                return answer() if callable(answer) else answer.result()
            except (OSError, RuntimeError) as error:  # Dask's errors for a lost worker
                if self._client is None or isinstance(error, DataError):
                    raise
                actor = self._mend(held, actor)
                answer = ask(actor, what, arguments)
        raise LuceError(
            f"blocks {held.first} to {held.first + len(held.pieces) - 1} were lost "
            f"{_MOST_REBUILDS} times in a row, with the workers that held them. Look at the "
            "workers' logs; they may be short of memory."
        )

    def _mend(self, held: _Held, actor: Any) -> Any:
        """Hand the blocks of a lost worker to another one; return the new actor."""
        with self._mending:
            if held.actor is actor:  # else another chain has replaced it already
                assert self._client is not None
                load = dict.fromkeys(workers_of(self._client), 0)
                if len(load) > 1:
                    load.pop(held.worker, None)  # the scheduler may not have noticed yet
                for other in self._held:
                    if other is not held and other.worker in load:
                        load[other.worker] += 1
                self._begin(held, min(load, key=lambda worker: load[worker]))
                self._settle(held)
            return held.actor

    def _begin(self, held: _Held, worker: str) -> None:
        """Build a shard on a worker, or on another one if that worker is lost meanwhile."""
        self.assigned.append((held.first, worker))
        if self._client is None:
            held.actor = Shard(held.first, held.pieces)
            return
        held.worker = worker
        held.future = self._client.submit(
            Shard,
            held.first,
            list(held.pieces),
            actor=True,
            workers=[worker],
            allow_other_workers=True,
            pure=False,
        )

    def _settle(self, held: _Held) -> None:
        """Wait until a shard is built, and note its worker."""
        if self._client is None:
            return
        with self._client.as_current():  # an actor belongs to the client that is current here
            held.actor = held.future.result()
        holders = self._client.who_has([held.future])
        held.worker = next(iter(next(iter(holders.values()))), held.worker)

    def _check_facts(self) -> None:
        first = self.facts[0]
        for block, fact in enumerate(self.facts):
            if fact["labels"] != first["labels"]:
                raise _different(block, fact["categories"], 0, first["categories"])


def ask(actor: Any, what: str, arguments: tuple[Any, ...]) -> Any:
    """Call a method of a shard; errors are raised only when the answer is fetched."""
    if isinstance(actor, Shard):
        return lambda: getattr(actor, what)(*arguments)
    try:
        return getattr(actor, what)(*arguments)
    except RuntimeError as error:  # Dask knows already that the worker is lost
        return _Failed(error)


class _Failed:
    """Answer of a lost worker, which raises an error when it is fetched."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error
