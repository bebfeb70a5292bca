"""Files of data that tests write, and how their refusals are looked at."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import luce

DUELS = [("ann", "bo", 2), ("bo", "cy", 1), ("ann", "cy", 3), ("cy", "ann", 1)]
EXPECTED = luce.from_pairs(DUELS)
NAMES = "# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Bo, B\n# ALTERNATIVE NAME 3: Cy\n"
OLD_NAMES = "1,Ann \n2,Bo, B\n3,Cy\n"
LABELS = ["Ann", "Bo, B", "Cy"]


def table(delimiter: str = ",", end: str = "\n") -> str:
    rows = [("winner", "loser", "count"), *DUELS]
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


def preflib(data_type: str, body: str, totals: str = "") -> str:
    return f"# DATA TYPE: {data_type}\n# NUMBER ALTERNATIVES: 3\n{totals}{NAMES}{body}"


def refusal(path: Path, **options: Any) -> str:
    """Why a whole file is refused."""
    with pytest.raises(luce.LuceError) as caught:
        luce.read(path, **options)
    text = str(caught.value)
    assert text.startswith((path.name, str(path)))
    return text


def problems(path: Path, **options: Any) -> list[tuple[int, str]]:
    with pytest.raises(luce.errors.BadRowsError) as caught:
        luce.read(path, **options)
    assert caught.value.source == path.name
    assert caught.value.unit == "line"
    assert str(caught.value).startswith(f"{path.name}: ")
    return [tuple(problem) for problem in caught.value.problems]


def places(path: Path, **options: Any) -> list[int]:
    return [place for place, _ in problems(path, **options)]


def skipping(path: Path, **options: Any) -> tuple[Any, list[int]]:
    with pytest.warns(luce.errors.SkippedRowsWarning) as said:
        counts = luce.read(path, skip_bad=True, **options)
    (warning,) = [w.message for w in said if isinstance(w.message, luce.errors.SkippedRowsWarning)]
    return counts, [problem.place for problem in warning.problems]


def read_within(megabytes: float, path: Path, **options: Any) -> Any:
    tracemalloc.start()
    try:
        counts = luce.read(path, **options)
        assert tracemalloc.get_traced_memory()[1] / 1e6 < megabytes
    finally:
        tracemalloc.stop()
    return counts
