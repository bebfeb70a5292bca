"""A Zarr folder that is written file by file, and no further once a write has failed.

Zarr's own store hands every file to a thread.  When a disk is full the first error is raised while
other threads still write, and a folder that is being removed at that time stays behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from zarr.storage import LocalStore

from luce.runs.files import replace_file
from luce.runs.seal import JOURNAL

if TYPE_CHECKING:
    from zarr.core.buffer import Buffer


class ZarrFolder(LocalStore):
    """A store that writes its files one after another, and none after the first failure.

    Parameters
    ----------
    root
        The folder.
    read_only
        Refuse to write at all?
    hidden
        Names in the folder that are not listed: the journal holds no arrays.
    failed
        Names of files that could not be written; shared by all views of the same folder.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        read_only: bool = False,
        hidden: Sequence[str] = (JOURNAL,),
        failed: list[str] | None = None,
    ) -> None:
        super().__init__(root, read_only=read_only)
        self._hidden = tuple(hidden)
        self._failed = [] if failed is None else failed

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return a view of the same folder that is read-only or not."""
        return type(self)(self.root, read_only=read_only, hidden=self._hidden, failed=self._failed)

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List the names in a folder."""
        async for name in super().list_dir(prefix):
            if prefix.strip("/") or name not in self._hidden:
                yield name

    async def set(self, key: str, value: Buffer) -> None:
        """Write a file."""
        self.set_sync(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Write a file unless it exists."""
        if not (self.root / key).exists():
            self.set_sync(key, value)

    def set_sync(self, key: str, value: Buffer) -> None:
        """Write a file at once, in this thread."""
        self._check_writable()
        if self._failed:
            raise OSError(f"{key} is not written: {self._failed[0]} could not be.")
        content: Any = value.as_numpy_array()
        try:
            replace_file(self.root / key, memoryview(content))
        except OSError:
            self._failed.append(key)
            raise
