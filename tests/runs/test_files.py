"""Files that are there whole or not at all, and folders that nobody writes after a failure."""

import asyncio
import errno
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from zarr.core.buffer import cpu
from zarr.storage import LocalStore

from luce import LuceError
from luce.errors import DiskFullError
from luce.runs import files
from luce.runs.zarr_folder import ZarrFolder


def test_files_are_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    digest = files.write_whole(file, b"content")
    assert files.digest_of(file) == digest
    assert files.digest_of(tmp_path / "none") is None
    assert os.listdir(file.parent) == ["file"]
    with pytest.raises(LuceError, match=r"could not be written: (Not a directory|File exists)"):
        files.write_whole(file / "beneath", b"x")
    assert file.read_bytes() == b"content"


def test_a_full_disk_says_how_much_room_there_is(tmp_path: Path) -> None:
    assert "0.0 MB are free" in str(files.full(tmp_path / "none" / "file", 10**6))
    assert files.is_full(OSError(errno.EDQUOT, ""))
    assert not files.is_full(OSError(errno.EACCES, ""))
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / ".file.part").symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"the disk is full: .*file needs"):
        files.write_whole(tmp_path / "file", b"x" * 10**5)
    assert os.listdir(tmp_path) == []


async def write_many(store: Any) -> list[Any]:
    """Write ten files at the same time, the first of them where it cannot be."""
    keys = ["file/beneath", *(f"group/{k}/c/0" for k in range(9))]
    writes = [store.set(key, cpu.Buffer.from_bytes(b"x" * 1000)) for key in keys]
    return await asyncio.gather(*writes, return_exceptions=True)


def test_nobody_writes_into_a_folder_after_a_failure(tmp_path: Path) -> None:
    """Zarr's own store, the control, goes on writing: a folder removed meanwhile would stay."""
    written = {}
    for name, kind in (("ours", ZarrFolder), ("control", LocalStore)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        failures = asyncio.run(write_many(kind(tmp_path / name)))
        assert isinstance(failures[0], OSError)
        written[name] = len(list((tmp_path / name).rglob("0")))
        if name == "ours":
            assert all(isinstance(failure, OSError) for failure in failures)
    assert written["ours"] == 0
    assert written["control"] > 0


def test_views_of_a_folder_share_the_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = ZarrFolder(tmp_path)
    value = cpu.Buffer.from_bytes(b"x")
    store.set_sync("first", value)
    asyncio.run(store.set_if_not_exists("first", cpu.Buffer.from_bytes(b"y")))
    asyncio.run(store.set_if_not_exists("second", cpu.Buffer.from_bytes(b"y")))
    assert [(tmp_path / name).read_bytes() for name in ("first", "second")] == [b"x", b"y"]
    with pytest.raises(OSError, match=r"exists|Not a directory"):
        store.set_sync("file/beneath", value)
    with pytest.raises(OSError, match="third is not written: file/beneath could not be"):
        store.with_read_only(False).set_sync("third", value)
    with pytest.raises(ValueError, match="read-only"):
        store.with_read_only(True).set_sync("third", value)
    assert pickle.loads(pickle.dumps(store)) == store  # workers read folders, too


def test_the_journal_is_not_shown(tmp_path: Path) -> None:
    for name in ("journal", "running", "posterior"):
        (tmp_path / name / "journal").mkdir(parents=True)

    async def names(store: Any, prefix: str = "") -> list[str]:
        return sorted([name async for name in store.list_dir(prefix)])

    assert asyncio.run(names(ZarrFolder(tmp_path))) == ["posterior", "running"]
    assert asyncio.run(names(ZarrFolder(tmp_path), "posterior")) == ["journal"]
    (tmp_path / "posterior" / "block").touch()
    one = ZarrFolder(tmp_path, checksums={"posterior/block": ""})
    assert asyncio.run(names(one.with_read_only(True))) == ["posterior"]
    assert asyncio.run(names(one, "posterior")) == ["block"]
