"""Readers of damaged inputs refuse them in words of their own, or return valid counts.

LUCE_TEST_SEED sweeps the seeds of the slow run.
"""

import gzip
import random
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib import bounds
from lib.mutated_inputs import (
    FILES,
    FRAMES,
    KNOWN,
    OBJECTS,
    PAIRS,
    Sample,
    attempted,
    check,
    is_deep,
    mutate_bytes,
    mutate_object,
    mutate_options,
    shown_value,
)

import luce
from luce.reading import rows
from luce.reading.inspection import Inspection
from luce.reading.kinds import KINDS
from luce.reading.text import TextFile

SEED = 1000 * bounds.SEED
LONGEST = 20.0  # seconds that one small input may take, on a busy machine
# Reported and not mended yet: in which file and function, and as what. Take out what is mended.
REPORTED: set[tuple[str, str, type[BaseException]]] = set()


def is_reported(error: BaseException) -> bool:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/luce/" in f.filename]
    while frames and frames[-1].name in ("<genexpr>", "<listcomp>", "<dictcomp>"):
        frames.pop()
    if not frames:
        return False
    return (Path(frames[-1].filename).name, frames[-1].name, type(error)) in REPORTED


class Tally:
    """How many inputs were read, refused, and how long the slowest took."""

    def __init__(self) -> None:
        self.read = self.refused = self.reported = 0
        self.slowest = 0.0

    def attempt(self, call: Callable[[], Any], shown: Callable[[], str]) -> None:
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_later = call()
            silent = False
            self.read += 1
        except luce.LuceError as error:
            check_later, silent = None, not str(error)
            self.refused += 1
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if is_reported(error):
                self.reported += 1
                return
            raise AssertionError(f"{type(error).__name__}: {error}\n{shown()}") from error
        seconds = time.perf_counter() - began
        self.slowest = max(self.slowest, seconds)
        assert not silent, f"an error without words: {shown()}"
        assert seconds < LONGEST, f"{seconds:.0f} seconds: {shown()}"
        if check_later is not None:
            try:
                check(check_later)
            except Exception as error:
                raise AssertionError(f"invalid counts: {error!r}\n{shown()}") from error


def fuzz_files(n: int, seed: int, folder: Path, tally: Tally) -> None:
    for k in range(n):
        rng = random.Random(f"file {seed} {k}")
        sample = rng.choice(FILES)
        content, options = mutate_bytes(sample.content, rng), mutate_options(sample.options, rng)
        if sample.name.endswith(".gz") and rng.random() < 0.5:
            content = gzip.compress(mutate_bytes(PAIRS.encode(), rng))
        name = sample.name if rng.random() < 0.95 else rng.choice(FILES).name
        path = folder / name
        path.write_bytes(content)
        shown = f"seed {seed}, file {k}, {name}, {options}: {content!r}"
        tally.attempt(lambda p=path, o=options: luce.read(p, **o), lambda s=shown: s)  # type: ignore[misc]


def read_by_the_block(path: Path, options: dict[str, Any]) -> Any:
    return luce.read(path, **options)


def read_by_line(path: Path, options: dict[str, Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextFile, "blocks", lambda file: iter([None]))
        return luce.read(path, **options)


def fuzz_objects(n: int, seed: int, tally: Tally) -> None:
    for k in range(n):

        def make(k: int = k) -> tuple[str, Any, dict[str, Any]]:
            rng = random.Random(f"object {seed} {k}")
            kind, data, options = rng.choice(OBJECTS)
            kind = kind if rng.random() < 0.9 else rng.choice(list(KINDS))
            for _ in range(rng.choice([1, 1, 2, 4])):
                data = mutate_object(data, rng)
            options = {o: v for o, v in mutate_options(options, rng).items() if o in KNOWN[kind]}
            for name in ("counts", "possible", "forbidden", "categories"):
                if name in options and rng.random() < 0.3:
                    options[name] = mutate_object(options[name], rng)
            if isinstance(data, (dict, list)) and not is_deep(data) and rng.random() < 0.3:
                data = attempted(rng.choice(FRAMES), data)
            return kind, data, options

        kind, data, options = make()
        reader = getattr(luce, f"from_{kind}")

        def shown(make: Any = make, k: int = k) -> str:
            kind, data, options = make()
            given = f"{shown_value(data)}, **{shown_value(options)}"
            return f"seed {seed}, object {k}, from_{kind}({given})"

        tally.attempt(lambda r=reader, d=data, o=options: r(d, **o), shown)  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _quiet_panics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars prints every panic, which takes long with a backtrace."""
    monkeypatch.setenv("RUST_BACKTRACE", "0")


@pytest.mark.parametrize("sample", FILES, ids=lambda sample: sample.name)
def test_every_file_of_the_corpus_is_read_as_it_is(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.name
    path.write_bytes(sample.content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.errors.HalfWinsWarning)
        warnings.simplefilter("ignore", luce.errors.ConfoundedHomeWarning)
        check(luce.read(path, **sample.options))


@pytest.mark.parametrize("k", range(len(OBJECTS)))
def test_every_object_of_the_corpus_is_read_as_it_is(k: int) -> None:
    kind, data, options = OBJECTS[k]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.errors.HalfWinsWarning)
        warnings.simplefilter("ignore", luce.errors.ConfoundedHomeWarning)
        check(getattr(luce, f"from_{kind}")(data, **options))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # polars' own
def test_mutated_inputs_are_refused_in_words_or_read(tmp_path: Path) -> None:
    tally = Tally()
    fuzz_files(500, SEED, tmp_path, tally)
    fuzz_objects(300, SEED, tally)
    assert tally.read + tally.refused + tally.reported == 800
    assert tally.read > 120  # else only refusals are tested
    assert tally.refused > 120


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # polars' own
@pytest.mark.parametrize("quarter", range(1, 5))
def test_a_hundred_thousand_mutated_inputs(quarter: int, tmp_path: Path) -> None:
    tally = Tally()
    fuzz_files(15_000, SEED + quarter, tmp_path, tally)
    fuzz_objects(10_000, SEED + quarter, tally)
    assert tally.read + tally.refused + tally.reported == 25_000
    print(f"{tally.read:,} read, {tally.refused:,} refused, {tally.reported:,} with reported bugs, "
          f"slowest {tally.slowest:.2f} s")  # fmt: skip


def test_lines_by_the_block_and_one_by_one_give_the_same(tmp_path: Path) -> None:
    tables = [s for s in FILES if s.name.endswith((".csv", ".tsv", "spaced.txt", "wins.txt"))]
    compared = 0
    for k in range(400):
        rng = random.Random(f"table {SEED} {k}")
        sample = rng.choice(tables)
        content, options = mutate_bytes(sample.content, rng), sample.options | {"skip_bad": True}
        path = tmp_path / sample.name
        path.write_bytes(content)
        answers = [outcome_of(read, path, options) for read in (read_by_the_block, read_by_line)]
        assert answers[0] == answers[1], f"{sample.name}: {content!r}"
        compared += not isinstance(answers[0], str)
    assert compared > 100


def outcome_of(read: Callable[..., Any], path: Path, options: dict[str, Any]) -> Any:
    """What comes out: counts and warnings, or an error's words."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            counts = read(path, options)
        except luce.LuceError as error:
            return str(error)
    return counts, sorted(str(warning.message) for warning in said)


def test_a_broken_reader_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(text: str) -> float:
        return float(text)

    with monkeypatch.context() as patch:
        patch.setattr(rows, "as_number", careless)
        with pytest.raises(AssertionError, match=r"Error: .*\nseed \d+, file \d+, "):
            fuzz_files(2_000, 1, tmp_path, Tally())
    with monkeypatch.context() as patch:
        patch.setattr(Inspection, "counts", lambda self, role="count": -self.rows.repeats)
        with pytest.raises(AssertionError, match="invalid counts"):
            fuzz_files(2_000, 1, tmp_path, Tally())
    monkeypatch.setattr(luce, "from_pairs", lambda data, **options: {}[str(type(data))])
    with pytest.raises(AssertionError, match=r"KeyError: .*\nseed \d+, object \d+, from_pairs\("):
        fuzz_objects(200, 1, Tally())
