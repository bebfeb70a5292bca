"""Freeze what luce computes: ``python tests/goldens/make.py [folder]``.

Goldens are made anew only where a change of numbers is meant; the test compares with them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from goldens import draws, estimates, models, readers
from goldens.case import Place
from goldens.record import HERE, save_goldens

TOPICS = {
    "draws": draws.CASES,
    "models": models.CASES,
    "estimates": estimates.CASES,
    "readers": readers.CASES,
}


@contextmanager
def open_place() -> Iterator[Place]:
    """Give cases a folder and, once one of them asks for it, two worker processes."""
    with ExitStack() as stack:

        def start_cluster() -> Any:
            from distributed import LocalCluster

            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            return stack.enter_context(cluster)

        yield Place(Path(stack.enter_context(TemporaryDirectory())), start_cluster)


def main(folder: Path) -> None:
    """Compute all cases and write them to a folder."""
    with open_place() as place:
        goldens = {}
        for topic, cases in TOPICS.items():
            began = time.perf_counter()
            goldens[topic] = {name: case.arrays(place) for name, case in cases.items()}
            print(f"{topic}: {len(cases)} cases, {time.perf_counter() - began:.1f} s")
            refused = [name for name, found in goldens[topic].items() if "refused" in found]
            print(f"  refused: {'; '.join(refused) or 'none'}")
    folder.mkdir(parents=True, exist_ok=True)
    save_goldens(folder, goldens)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
