"""Standard input as a file: readers go through data more than once, so it is kept for a while."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from luce.cli.printing import complain
from luce.errors import DataError

STANDARD_INPUT = "-"
_NAME = "standard input"  # in messages
_GZIP = b"\x1f\x8b"


def called(file: str) -> str:
    """Return the name of a file for messages."""
    return _NAME if file == STANDARD_INPUT else Path(file).name


@contextmanager
def kept_file(file: str) -> Iterator[str]:
    """Yield a file that can be read again: the one given, or standard input where it is "-"."""
    if file != STANDARD_INPUT:
        yield file
        return
    source = sys.stdin
    if source is None or source.closed:
        raise DataError("standard input is closed; name a file, or write data into luce.")
    if source.isatty():
        complain("luce: reading data from the terminal; Ctrl-D ends them.")
    with TemporaryDirectory(prefix="luce-") as folder:
        path = Path(folder, _NAME)
        with path.open("wb") as target:
            shutil.copyfileobj(source.buffer, target)
        with path.open("rb") as copy:
            packed = copy.read(2) == _GZIP
        yield str(path.rename(f"{path}.gz") if packed else path)
