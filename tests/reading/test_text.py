"""Text files: encodings, line ends, compression, and lines that cannot be read."""

import gzip
from typing import Any

import numpy as np
import pytest
from lib.data_files import EXPECTED, places, problems, refusal, skipping, table

import luce


def test_packed_tables(write: Any) -> None:
    assert luce.read(write("duels.csv.gz", gzip.compress(table().encode()))) == EXPECTED
    assert luce.read(write("duels.tsv.GZ", gzip.compress(table("\t").encode()))) == EXPECTED


def test_bytes_that_are_not_utf_8(write: Any) -> None:
    path = write("duels.csv", "winner,loser\nann,bo\nJosé,bo\nbo,cy\nbo,bo\n".encode("latin-1"))
    found = problems(path)
    assert [line for line, _ in found] == [3, 5]
    assert "byte 0xe9 after 'Jos' is not utf-8" in found[0][1]
    assert "encoding='latin-1'" in found[0][1]
    counts, left_out = skipping(path)
    assert left_out == [3, 5]
    assert counts == luce.from_pairs([("ann", "bo"), ("bo", "cy")])
    latin, left_out = skipping(path, encoding="latin-1")
    assert left_out == [5]
    assert latin.categories == ("José", "ann", "bo", "cy")
    assert "not known" in refusal(path, encoding="nonsense")
    assert "not known" in refusal(path, encoding="hex")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_marks_of_the_encoding_are_no_text(write: Any, encoding: str) -> None:
    path = write("duels.csv", table().encode(encoding))
    assert luce.read(path) == EXPECTED
    assert luce.read(path, encoding=encoding.removesuffix("-sig")) == EXPECTED


def test_utf_16_that_breaks_off(write: Any) -> None:
    assert "utf-16" in refusal(write("duels.csv", table().encode("utf-16")[:-1]))


def test_mixed_line_ends(write: Any) -> None:
    text = "winner,loser\r\nann,bo\rbo,cy\n\r\n\rcy,cy\r\nann,ann\n"
    assert places(write("duels.csv", text)) == [6, 7]


def test_line_numbers_stay_right_after_lines_that_cannot_be_read(write: Any) -> None:
    path = write("d.csv", b"winner,loser\na,b\n\xff,b\n\xff,b\nc,c\n\xff,b\nd,d\n")
    assert places(path) == [3, 4, 5, 6, 7]


def test_null_bytes_and_binary_junk(write: Any) -> None:
    junk = np.random.default_rng(1).bytes(20_000)
    assert refusal(write("d.csv", junk))
    assert "null bytes" in refusal(write("d.csv", "winner,loser\n".encode("utf-16-le")))
    path = write("d.csv", "winner,loser\n" + "a,b\n" * 5000 + "a,\0b\n")
    assert problems(path) == [(5002, "a null character stands here; text is needed.")]


def test_packed_files_that_break_off(write: Any) -> None:
    packed = gzip.compress(table().encode() * 100)
    for content in (packed[:-1], packed[:-9], packed[: len(packed) // 2], packed[:5], b"", b"junk"):
        assert refusal(write("d.csv.gz", content))
    rubbed = bytearray(packed)
    rubbed[-6] ^= 1  # the sum of the content
    assert "cannot be read" in refusal(write("d.csv.gz", bytes(rubbed)))


def test_one_line_of_twenty_million_characters(write: Any) -> None:
    for name in ("d.csv", "d.jsonl", "d.txt", "d.pgn", "d.soc"):
        options = {"kind": "rankings"} if name == "d.txt" else {}
        start = {"d.pgn": '[White "', "d.soc": "3\n", "d.jsonl": "["}.get(name, "a,b,")
        path = write(name, start + "x" * 20_000_000)
        assert "is longer than 10,000,000 characters" in refusal(path, **options)
