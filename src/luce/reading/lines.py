"""Text files as numbered lines, whatever their encoding and line ends."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from luce.errors import DataError, Problem

_LONGEST = 10_000_000  # characters of one line; more is not a table
_HEAD = 65_536
_BLOCK = 1 << 18

# Bytes that cannot be decoded come out as these; see PEP 383.
_UNDECODED = re.compile("[\udc80-\udcff]")


class TextFile:
    """A text file, read again from the start whenever it is asked for its lines.

    Parameters
    ----------
    path
        The file; one that ends in .gz is unpacked on the way.
    encoding
        How it is encoded; UTF-8 unless given, or UTF-16 where it begins with that mark.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        # A mark at the beginning of UTF-8 is none of the text.
        named = "utf-8-sig" if encoding and _is_utf_8(encoding) else encoding
        self._encoding = named or self._find_encoding()
        self.problems: set[Problem] = set()

    @property
    def suffix(self) -> str:
        """The suffix in small letters, without that of compression."""
        name = Path(self.path.stem) if self._packed else self.path
        return name.suffix.lower()

    @property
    def _packed(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    def head(self) -> str:
        """The beginning of the text, for finding out what it is."""
        with self._open() as file:
            return self._guarded(file, _HEAD)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line that could be decoded, without its end."""
        number = 0
        with self._open() as file:
            while text := self._guarded(file, _LONGEST, line=True):
                number += 1
                if len(text) >= _LONGEST:
                    raise DataError(
                        f"{self.path.name}: line {number} is longer than {_LONGEST:,} characters; "
                        "this is not a table of text."
                    )
                wrong = _UNDECODED.search(text)
                if wrong or "\0" in text:
                    self.problems.add(Problem(number, self._undecoded(text, wrong)))
                    continue
                yield number, text.rstrip("\n")

    def blocks(self) -> Iterator[list[str] | None]:
        """Many lines at a time, without their ends; None where some cannot be decoded."""
        with self._open() as file:
            while block := self._guarded(file, _BLOCK):
                if not block.endswith("\n"):
                    block += self._guarded(file, _LONGEST, line=True)
                unclear = "\0" in block or _UNDECODED.search(block) or len(block) >= _LONGEST
                yield None if unclear else block.removesuffix("\n").split("\n")

    def _undecoded(self, text: str, wrong: re.Match[str] | None) -> str:
        if wrong is None:
            return "a null character stands here; text is needed."
        byte = ord(wrong[0]) - 0xDC00
        before = text[max(0, wrong.start() - 20) : wrong.start()]
        return (
            f"byte 0x{byte:02x} after {before!r} is not {self._encoding.removesuffix('-sig')}; "
            "name the encoding of the file, as in encoding='latin-1' (--encoding latin-1)."
        )

    def _find_encoding(self) -> str:
        with self._open_bytes() as file:
            head = self._read(file, 4)
        return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"

    def _open_bytes(self) -> IO[bytes]:
        try:
            if self._packed:
                return cast(IO[bytes], gzip.GzipFile(self.path))
            return self.path.open("rb")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror or error}.") from None

    def _open(self) -> io.TextIOWrapper:
        file = self._open_bytes()
        try:
            # newline=None takes \n, \r\n and \r alike, even mixed.
            return io.TextIOWrapper(file, self._encoding, errors="surrogateescape", newline=None)
        except (LookupError, ValueError):
            file.close()
            raise DataError(f"encoding = {self._encoding!r} is not known to Python.") from None

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path.name}: cannot be read: {error}.") from None

    def _guarded(self, file: io.TextIOWrapper, size: int, line: bool = False) -> str:
        try:
            return file.readline(size) if line else file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path.name}: cannot be read: {error}.") from None
        except UnicodeError as error:  # UTF-16 that breaks off
            raise DataError(f"{self.path.name}: is not {self._encoding}: {error}.") from None


def _is_utf_8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")
