"""Damage to the files of stored runs, and the outcomes that a reader may have."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import xarray as xr

import luce

# Attribute that differs between two runs with the same draws.
_CLOCK = "sampling_time"


class Damage(NamedTuple):
    """One file of a run, and the kind of damage that is done to it."""

    file: str
    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} {self.file} ({self.seed})"

    def apply(self, run: Path) -> None:
        """Damage the run."""
        KINDS[self.kind](run, run / self.file, random.Random(self.seed))


def _rewrite(change: Callable[[bytearray, random.Random], bytes]) -> Callable[..., None]:
    def apply(_: Path, file: Path, rng: random.Random) -> None:
        file.write_bytes(change(bytearray(file.read_bytes()), rng))

    return apply


def _flip(content: bytearray, rng: random.Random) -> bytes:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def _zero(content: bytearray, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    content[start : start + 512] = bytes(len(content[start : start + 512]))
    return content


def _insert(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.randbytes(rng.randrange(1, 9)) + content[at:]


def _others(run: Path, file: Path) -> list[Path]:
    """List the other files of a run, those of the same size first."""
    files = [f for f in sorted(run.rglob("*")) if f.is_file() and f != file] or [file]
    return sorted(files, key=lambda f: f.stat().st_size != file.stat().st_size)


def _swap(run: Path, file: Path, rng: random.Random) -> None:
    other = rng.choice(_others(run, file)[:4])
    ours, theirs = file.read_bytes(), other.read_bytes()
    file.write_bytes(theirs)
    other.write_bytes(ours)


def _copy(run: Path, file: Path, rng: random.Random) -> None:
    file.write_bytes(rng.choice(_others(run, file)[:4]).read_bytes())


def _turn_into_a_folder(_: Path, file: Path, __: random.Random) -> None:
    file.unlink()
    file.mkdir()


KINDS: dict[str, Callable[[Path, Path, random.Random], None]] = {
    "flip a bit of": _rewrite(_flip),
    "truncate": _rewrite(lambda content, rng: content[: rng.randrange(len(content) + 1)]),
    "empty": _rewrite(lambda *_: b""),
    "zero": _rewrite(lambda content, _: bytes(len(content))),
    "zero a sector of": _rewrite(_zero),
    "lengthen": _rewrite(_insert),
    "swap": _swap,
    "overwrite": _copy,
    "delete": lambda _, file, __: file.unlink(),
    "make a folder of": _turn_into_a_folder,
}


def damages(run: Path, rounds: int, seed: int) -> Iterator[Damage]:
    """Damage files of a run in turn; each kind of damage meets each file in some rounds."""
    rng = random.Random(seed)
    files = [run] if run.is_file() else [f for f in sorted(run.rglob("*")) if f.is_file()]
    pairs = [(file, kind) for file in files for kind in KINDS]
    rng.shuffle(pairs)
    for k in range(rounds):
        file, kind = pairs[k % len(pairs)]
        # A single file is its own parent: "." leads back to it.
        yield Damage(str(file.relative_to(run)), kind, rng.randrange(10**6))


def outcome(read: Callable[[Path], xr.DataTree], path: Path, truth: xr.DataTree) -> str:
    """Read a run: "same", "other" data, "refused" in words, or the name of another error."""
    try:
        run = read(path).load()
    except luce.LuceError as error:
        return "refused" if len(str(error).split()) > 3 else f"{error!r}"
    except Exception as error:
        return type(error).__name__
    return "same" if timeless(run).identical(timeless(truth)) else "other"


def timeless(run: xr.DataTree) -> xr.DataTree:
    """Copy a run without the seconds that it took."""
    groups = {node.path: node.to_dataset(inherit=False) for node in run.subtree}
    for group in groups.values():
        group.attrs = {name: value for name, value in group.attrs.items() if name != _CLOCK}
    return xr.DataTree.from_dict(groups)
