"""A Zarr folder that is written file by file, and whose files are checked as they are read.

Zarr's own store hands every file to a thread.  When a disk is full the first error is raised while
other threads still write, and a folder that is being removed at that time stays behind.  A file
that is missing is a block of fill values to Zarr; here it is an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

from luce.runs.files import replace_file
from luce.runs.seal import CHECKSUMS, JOURNAL, Checksums, read_checked

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class ZarrFolder(LocalStore):
    """A store that writes its files one after another, and none after the first failure.

    The journal and the file of checksums are not listed, since they hold no arrays.

    Parameters
    ----------
    root
        The folder.
    read_only
        Refuse to write at all?
    checksums
        Fingerprints of the files: no other file is seen, and each is checked as it is read.  Where
        this is None, files are neither hidden nor checked.
    failed
        Names of files that could not be written; shared by all views of the same folder.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        read_only: bool = False,
        checksums: Checksums | None = None,
        failed: list[str] | None = None,
    ) -> None:
        super().__init__(root, read_only=read_only)
        self._checksums = checksums
        self._failed = [] if failed is None else failed

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return a view of the same folder that is read-only or not."""
        more: Any = {"checksums": self._checksums, "failed": self._failed}
        return type(self)(self.root, read_only=read_only, **more)

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List the names in a folder."""
        above = f"{prefix.strip('/')}/".lstrip("/")
        async for name in super().list_dir(prefix):
            if above or name not in (JOURNAL, CHECKSUMS):
                whole = f"{above}{name}"
                if self._checksums is None or whole in self._seen:
                    yield name

    @cached_property
    def _seen(self) -> set[str]:
        """Names of all files that have checksums, and of the folders that they are in."""
        names = self._checksums or ()
        return {str(p) for name in names for p in (Path(name), *Path(name).parents)}

    async def exists(self, key: str) -> bool:
        """Tell whether there is a file."""
        return await super().exists(key) if self._checksums is None else key in self._checksums

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read and check a file."""
        if self._checksums is None:
            return await super().get(key, prototype, byte_range)
        more: Any = {"prototype": prototype, "byte_range": byte_range}
        return await asyncio.to_thread(self.get_sync, key, **more)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read and check a file, in this thread."""
        if self._checksums is None:
            return super().get_sync(key, prototype=prototype, byte_range=byte_range)
        if key not in self._checksums:
            return None
        content = read_checked(self.root, key, self._checksums[key])
        if byte_range is not None:
            return super().get_sync(key, prototype=prototype, byte_range=byte_range)
        return (prototype or default_buffer_prototype()).buffer.from_bytes(content)

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
