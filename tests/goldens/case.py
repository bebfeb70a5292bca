"""What a case is: a name, what kind of numbers it gives, and how they are computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt
from goldens.names import ConvergenceWarning, EvidenceWarning, HalfWinsWarning, LuceError

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

# Runs are short, and warn of it; ties are read as half wins on purpose.
EXPECTED_WARNINGS = (ConvergenceWarning, EvidenceWarning, HalfWinsWarning)

# The array of a case that holds a fingerprint of numbers too many to be stored.
FINGERPRINT = "sha256"


class Kind(Enum):
    """How near to the stored numbers new ones must be."""

    DRAWS = "draws"  # every bit, on the machine that they were recorded on
    ESTIMATE = "estimate"  # found by Newton's method, or in closed form
    EVIDENCE = "evidence"  # an average over draws
    EXACT = "exact"  # digests and whole numbers: every bit, everywhere


@dataclass
class Place:
    """Where cases are computed: folders for their files, and a cluster if one is wanted.

    Parameters
    ----------
    folder
        Holds whatever cases write.
    start_cluster
        Starts two worker processes; called once, by the first case that needs them.
    """

    folder: Path
    start_cluster: Callable[[], Any]

    @cached_property
    def _cluster(self) -> Any:
        return self.start_cluster()

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Connect to the cluster for as long as a case needs it: others must not find it."""
        from distributed import Client

        with Client(self._cluster) as client:
            client.wait_for_workers(2)
            yield client

    def new_folder(self) -> Path:
        """An empty folder."""
        return Path(mkdtemp(dir=self.folder))


@dataclass(frozen=True)
class Case:
    """One golden.

    Parameters
    ----------
    kind
        How its arrays are compared.
    compute
        Gives them.
    on_cluster
        Does it need worker processes?
    """

    kind: Kind
    compute: Callable[[Place], Arrays]
    on_cluster: bool = False

    @property
    def is_compiled(self) -> bool:
        """Does it rest on draws, which are those of compiled code?"""
        return self.kind in (Kind.DRAWS, Kind.EVIDENCE)

    def arrays(self, place: Place) -> Arrays:
        """Compute its arrays; what luce refuses to do is frozen as the name of the error."""
        with warnings.catch_warnings():
            for category in EXPECTED_WARNINGS:
                warnings.simplefilter("ignore", category)
            try:
                return self.compute(place)
            except LuceError as error:
                return {"refused": np.frombuffer(type(error).__name__.encode(), np.uint8)}


def fingerprint(array: Array) -> Array:
    """The sha256 of an array's bytes, as 32 small numbers."""
    return np.frombuffer(sha256(np.ascontiguousarray(array).tobytes()).digest(), np.uint8)


def part_and_fingerprint(array: Array, step: int) -> Arrays:
    """Every so-many-th draw of (chain, draw, ...), and a fingerprint of all of them."""
    return {"part": array[:, ::step], FINGERPRINT: fingerprint(array)}
