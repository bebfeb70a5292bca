"""Loss of power, simulated: what a disk holds when writes that were not flushed are dropped.

A recorder notes every change of names and every flush below a folder.  A crash point is the state
after one of them: the files as programs see them, and the part that was flushed.  `rebuild` makes
the folder again as a crash might leave it: each name and each content is the flushed one or the
later one, and a content that was not flushed may also be empty, half, or zeros.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

# Names in each folder, and the content of each file, by a number that no other file ever has.
Names = dict[int, dict[str, int]]
Contents = dict[int, bytes]


@dataclass(frozen=True)
class CrashPoint:
    """What programs see after an operation, and what has been flushed by then."""

    operation: str
    root: int
    names: Names
    contents: Contents
    flushed_names: Names
    flushed_contents: Contents


@dataclass
class Recorder:
    """Crash points of everything that happens below a folder; `lying` disks flush nothing."""

    folder: Path
    lying: bool = False
    points: list[CrashPoint] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _count: Iterator[int] = field(default_factory=count)
    _names: Names = field(default_factory=dict)
    _contents: Contents = field(default_factory=dict)

    def number(self, path: Path | str) -> int:
        """Return the number of a file or folder: that of its inode, as long as it is there."""
        inode = os.lstat(path).st_ino
        if inode not in self._numbers:
            self._numbers[inode] = next(self._count)
        return self._numbers[inode]

    def gone(self, path: Path | str) -> None:
        """Forget the inode of a file that is removed: another file may get it."""
        if os.path.lexists(path):
            self.number(path)
            del self._numbers[os.lstat(path).st_ino]

    def flush(self, handle: int) -> None:
        """Note that a file or the names in a folder were flushed."""
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if self.lying or not path.is_relative_to(self.folder):
            return
        if path.is_dir():
            self._names[self.number(path)] = self._listed(path)
        else:
            self._contents[self.number(path)] = path.read_bytes()

    def note(self, operation: str) -> None:
        """Add a crash point."""
        names: Names = {}
        contents: Contents = {}
        for place, _, files in os.walk(self.folder):
            names[self.number(place)] = self._listed(Path(place))
            for name in files:
                file = Path(place, name)
                contents[self.number(file)] = file.read_bytes()
        root = self.number(self.folder)
        self.points.append(
            CrashPoint(operation, root, names, contents, dict(self._names), dict(self._contents))
        )

    def _listed(self, folder: Path) -> dict[str, int]:
        return {name: self.number(folder / name) for name in os.listdir(folder)}


@contextmanager
def recorded(folder: Path, *, lying: bool = False) -> Iterator[Recorder]:
    """Record changes of names and flushes below a folder, in one thread."""
    recorder = Recorder(folder, lying)

    def patched(name: str, before: Callable[..., None]) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*given: Any, **more: Any) -> Any:
            before(*given, **more)
            result = original(*given, **more)
            recorder.note(f"{name} {given}")
            return result

        return call

    def removed(path: Any, dir_fd: int | None = None) -> None:
        above = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        recorder.gone(os.path.join(above, path))

    with pytest.MonkeyPatch.context() as patch:
        for name, before in {
            "fsync": recorder.flush,
            "mkdir": lambda *_, **__: None,
            "replace": lambda _, target: recorder.gone(target),
            "rename": lambda *_: None,
            "unlink": removed,
            "rmdir": removed,
        }.items():
            patch.setattr(os, name, patched(name, before))
        yield recorder


def rebuild(point: CrashPoint, target: Path, how: str, rng: random.Random) -> None:
    """Make the folder as a crash might leave it.

    `how` is "flushed" for what was flushed alone, "names" for all names and only those contents
    that were flushed, and "mixed" for any mixture.
    """

    def later() -> bool:
        return {"flushed": False, "names": True, "mixed": rng.random() < 0.5}[how]

    def make(number: int, place: Path) -> None:
        if number not in point.names and number not in point.flushed_names:
            place.write_bytes(content(number))
            return
        place.mkdir()
        old, new = point.flushed_names.get(number, {}), point.names.get(number, {})
        for name in sorted({*old, *new}):
            chosen = (new if later() else old).get(name)
            if chosen is not None:
                make(chosen, place / name)

    def content(number: int) -> bytes:
        flushed, seen = point.flushed_contents.get(number), point.contents.get(number)
        if flushed is not None and (seen in (None, flushed) or not later()):
            return flushed
        whole = seen or b""
        return rng.choice([b"", whole[: len(whole) // 2], bytes(len(whole))])

    make(point.root, target)
