"""Everything that luce computes is what it was when `goldens/make.py` was run last."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np
import pytest
from goldens.case import Arrays, Case, Kind, Place
from goldens.make import TOPICS, open_place
from goldens.record import check_same, is_recorded_platform, load_goldens

# Dask's own doings when clusters are closed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def cases() -> Iterator[Any]:
    """List all cases; those that start processes, and most runs to a disk, are slow.

    Other tests compare draws of workers, on a disk, and of resumed runs with draws in memory.
    """
    for topic, listed in TOPICS.items():
        for name, case in listed.items():
            on_disk = "disk" in name and not {"auto", "plain", "shards"} & set(name.split(", "))
            slow = case.on_cluster or name == "resumed" or on_disk
            yield pytest.param(topic, name, marks=[pytest.mark.slow] if slow else [])


@cache
def goldens(topic: str) -> dict[str, Arrays]:
    return load_goldens(topic)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with open_place() as own:
        yield own


def skip_where_impossible(case: Case) -> None:
    if case.is_compiled and numba.config.DISABLE_JIT:
        pytest.skip("goldens are draws of compiled code")
    if case.on_cluster and find_spec("distributed") is None:
        pytest.skip("needs distributed")


@pytest.mark.parametrize(("topic", "name"), list(cases()))
def test_numbers_are_those_that_were_stored(topic: str, name: str, place: Place) -> None:
    case = TOPICS[topic][name]
    skip_where_impossible(case)
    check_same(case.arrays(place), goldens(topic)[name], case.kind, is_recorded_platform())


@pytest.mark.parametrize("topic", TOPICS)
def test_every_stored_case_is_computed(topic: str) -> None:
    assert set(goldens(topic)) == set(TOPICS[topic])


# -- controls: what must be found ----------------------------------------------------------------


def stored_draws() -> Arrays:
    return goldens("draws")["memory, waiting-times, plain"]


def nudged(arrays: Arrays, ulps: int) -> Arrays:
    """Move the last number of every array by so many of its smallest steps."""
    moved = {name: array.copy() for name, array in arrays.items()}
    for array in moved.values():
        array.flat[-1] += ulps * np.spacing(array.flat[-1])
    return moved


def test_one_bit_is_noticed_where_draws_were_recorded() -> None:
    check_same(stored_draws(), stored_draws(), Kind.DRAWS, every_bit=True)
    with pytest.raises(AssertionError, match="differs in 1 places"):
        check_same(nudged(stored_draws(), 1), stored_draws(), Kind.DRAWS, every_bit=True)


def test_elsewhere_bits_may_differ_but_not_digits() -> None:
    check_same(nudged(stored_draws(), 1), stored_draws(), Kind.DRAWS, every_bit=False)
    far = nudged(stored_draws(), 10**8)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_same(far, stored_draws(), Kind.DRAWS, every_bit=False)


def test_wrong_estimates_digests_and_shapes_are_noticed() -> None:
    fit = goldens("estimates")["fit, league"]
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_same(nudged(fit, 10**9), fit, Kind.ESTIMATE, every_bit=False)
    digests = goldens("estimates")["digests, league"]
    changed = {**digests, "digest": digests["digest"][::-1].copy()}
    with pytest.raises(AssertionError, match="digest differs"):
        check_same(changed, digests, Kind.EXACT, every_bit=False)
    shorter = {name: array[:, 1:] for name, array in stored_draws().items()}
    with pytest.raises(AssertionError, match="has shape"):
        check_same(shorter, stored_draws(), Kind.DRAWS, every_bit=False)
    with pytest.raises(AssertionError, match="other arrays"):
        check_same({}, stored_draws(), Kind.DRAWS, every_bit=False)
