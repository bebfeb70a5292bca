"""Files as such: empty ones, missing ones, and those that must not be read."""

import os
from pathlib import Path
from typing import Any

import pytest
from lib.data_files import EXPECTED, refusal, table

import luce


@pytest.mark.parametrize("content", [b"", b"\n\r\n \t \n", b"\xef\xbb\xbf", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.soc", "d.pgn", "d.txt"])
def test_files_with_nothing_in_them(write: Any, name: str, content: bytes) -> None:
    assert refusal(write(name, content)) == f"{name}: the file is empty."
    assert "PAR1" in refusal(write("d.parquet", content))


def test_what_is_not_a_file(tmp_path: Path, write: Any) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: this is not a file."
    assert "no such file" in refusal(tmp_path / "none.csv")
    assert "cannot be read" in refusal(tmp_path / ("x" * 5000))


def test_a_file_that_must_not_be_read(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("d.csv", table())
    path.chmod(0)
    if os.access(path, os.R_OK):  # the administrator may read everything

        def forbidden(*arguments: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", forbidden)
    assert refusal(path) == f"{path}: cannot be read: Permission denied."


def test_only_some_categories(write: Any) -> None:
    path = write("d.csv", table())
    assert luce.read(path, only=["bo", "ann"]) == EXPECTED.restrict(["ann", "bo"])
    numbers = write("d.jsonl", '{"winner": 1, "loser": 2}\n{"winner": 2, "loser": 3}\n')
    assert luce.read(numbers, only=["1", 2]).categories == (1, 2)
    assert "there is no category 'ane'" in refusal_of(path, only=["ane"])
    assert "Did you mean 'ann'?" in refusal_of(path, only=["ane"])
    assert "a list of labels is needed: ['ann']" in refusal_of(path, only="ann")
    moves = write("m.csv", "from,to\na,b\nb,c\nc,a\na,c\n")
    rows = luce.read(moves, rows="separate", only=["a", "c"])
    assert {state: row.categories for state, row in rows.items()} == {"a": ("c",), "c": ("a",)}
    assert "there is no category 'z'" in refusal_of(moves, rows="separate", only=["z"])


def refusal_of(path: Any, **options: Any) -> str:
    with pytest.raises(luce.LuceError) as caught:
        luce.read(path, **options)
    return str(caught.value)
