"""The loop that advances chains: chains of any length, stopped or extended by a watch."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lib.random_lengths import Lists, Walk, walk_plan

from luce.sampling.chains import run_chains


def paths(threads: int = 1, watch: Any = None, bound: float = 6.0) -> tuple[dict[int, Any], bool]:
    chains, sink = walk_plan().new_chains(), Lists()
    for chain in chains:
        assert isinstance(chain, Walk)
        chain.bound = bound
    stopped = run_chains(chains, sink, threads, watch=watch)
    assert {c.number: c.done for c in chains} == {k: len(p) for k, p in sink.paths.items()}
    return sink.paths, stopped


def test_chains_of_random_length_run_to_their_ends() -> None:
    found, stopped = paths()
    assert not stopped
    assert len({len(path) for path in found.values()}) > 1
    for path in found.values():
        assert abs(path[-1]) > 6
        assert max(map(abs, path[:-1])) <= 6


@pytest.mark.parametrize("threads", [2, 5])
def test_draws_do_not_depend_on_threads(threads: int) -> None:
    assert paths(threads) == paths()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_watch_may_extend_chains_that_are_finished(threads: int) -> None:
    """First to the bound, then further: as if the bound had been further from the start."""
    ends: list[list[int]] = []

    def watch(chains: Sequence[Any]) -> bool:
        if all(chain.finished for chain in chains):
            ends.append([chain.done for chain in chains])
            if len(ends) < 3:
                for chain in chains:
                    chain.bound += 3.0
        return False

    extended, stopped = paths(threads, watch)
    assert not stopped
    assert len(ends) == 3
    assert all(a <= b for a, b in zip(ends[0], ends[2], strict=True))
    assert ends[0] != ends[2]
    assert extended == paths(bound=12.0)[0]
    assert extended != paths()[0]  # the control


def test_a_watch_may_stop_chains_that_would_never_end() -> None:
    class Endless(Walk):
        def advance(self, sink: Any) -> None:
            super().advance(sink)
            time.sleep(0.001)

    chains = walk_plan(draws=10**9).new_chains()
    endless = [Endless(c.number, c.bits, 1e300, 10**9, 4) for c in chains]  # type: ignore[attr-defined]
    seen: list[int] = []

    def watch(chains: Sequence[Any]) -> bool:
        seen.append(sum(chain.done for chain in chains))
        return seen[-1] > 60

    sink = Lists()
    assert run_chains(endless, sink, 2, watch=watch)
    assert seen[-1] > 60
    assert not any(chain.finished for chain in endless)
    lengths = [len(path) for path in sink.paths.values()]
    assert min(lengths) > 0  # chains take turns


def test_a_watch_may_stop_a_run_as_its_chains_finish() -> None:
    found, stopped = paths(watch=lambda chains: all(chain.finished for chain in chains))
    assert stopped
    assert found == paths()[0]


def test_an_error_of_one_chain_is_an_error_of_the_run() -> None:
    class Broken(Walk):
        def advance(self, sink: Any) -> None:
            raise ArithmeticError("a broken chain")

    chains: list[Any] = walk_plan(draws=10**9).new_chains()
    for chain in chains:
        chain.bound = np.inf
    first = chains[0]
    chains[0] = Broken(0, first.bits, 6.0, 9, 4)
    with pytest.raises(ArithmeticError, match="a broken chain"):
        run_chains(chains, Lists(), 2)


def test_a_snapshot_restores_a_walk() -> None:
    plan = walk_plan()
    (walk,) = plan.new_chains([2])
    sink = Lists()
    for _ in range(5):
        walk.advance(sink)
    snapshot = {name: np.array(array) for name, array in walk.snapshot().items()}
    (again,) = plan.new_chains([2])
    again.restore(snapshot)
    rest, other = Lists(), Lists()
    run_chains([walk], rest)
    run_chains([again], other)
    assert rest.paths == other.paths
    assert rest.paths[2]


def test_an_error_of_the_watch_stops_the_chains() -> None:
    chain = Endless()

    def fail(chains: Sequence[Any]) -> bool:
        raise RuntimeError("the driver is gone")

    with pytest.raises(RuntimeError, match="the driver is gone"):
        run_chains([chain], chain, watch=fail)


class Endless:
    """A chain, and its own sink, that ends only when it is stopped."""

    number, done, steps, expected, finished = 0, 0, 0, None, False

    def advance(self, sink: Any) -> None:
        time.sleep(0.001)

    def snapshot(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Nothing to restore."""
