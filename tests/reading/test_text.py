"""Text files: encodings, line ends, compression, and lines that cannot be read."""

import gzip
import zlib
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.data_files import EXPECTED, places, preflib, problems, refusal, skipping, table

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


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        ("d.csv.gz", "winner,loser\n", "ann,bo\n"),
        ("d.csv.gz", "winner,loser\n", "ann\n"),
        ("d.txt.gz", "winner loser\n", "ann bo\n"),
        ("d.jsonl.gz", "", '{"winner": "a", "loser": "b"}\n'),
        ("d.pgn.gz", "", '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n\n'),
        ("d.soc.gz", preflib("soc", ""), "1: 1,2,3\n"),
    ],
)
def test_compressed_text_far_larger_than_its_file(
    write: Any, name: str, head: str, line: str
) -> None:
    """200 MB in 200 KB: refused after a look, not after all of it was read line by line."""
    million = zlib.compressobj(9, wbits=31)
    packed = million.compress(head.encode())
    block = line.encode() * (1_000_000 // len(line))
    packed += b"".join(million.compress(block) for _ in range(30)) + million.flush()
    text = refusal(write(name, packed))
    assert "more than 200 times as large as the compressed file" in text
    assert "gunzip" in text


def test_compressed_text_of_many_equal_lines(write: Any) -> None:
    """Below 5 MB any text is read; above, one that is as random as three players' games."""
    few = "winner,loser\n" + "ann,bo\n" * 500_000
    assert luce.read(write("d.csv.gz", gzip.compress(few.encode(), 1))).n_outcomes == 500_000
    games = np.random.default_rng(SEED).choice(["ann,bo", "bo,cy", "cy,ann"], 800_000)
    text = "winner,loser\n" + "\n".join(games.tolist()) + "\n"
    assert len(text) > 5_000_000
    assert luce.read(write("d.csv.gz", gzip.compress(text.encode(), 1))).n_outcomes == 800_000


def test_equal_lines_are_counted_as_often_as_they_stand(write: Any) -> None:
    """Many equal lines are split once; a line like the header below it is data."""
    text = "\nwinner,loser\n" + "ann,bo\n\nbo,cy\n" * 300 + "winner,loser\n" * 100
    found = luce.read(write("d.csv", text))
    assert found == luce.from_pairs(
        [("ann", "bo", 300), ("bo", "cy", 300), ("winner", "loser", 100)]
    )
    assert luce.read(write("e.csv", text.replace(",", ", "))) == found
    with pytest.raises(luce.errors.BadRowsError, match="line 903: 1 value stands here"):
        luce.read(write("f.csv", text.replace("winner,loser\n" * 100, "ann\n")))


def test_one_line_of_twenty_million_characters(write: Any) -> None:
    for name in ("d.csv", "d.jsonl", "d.txt", "d.pgn", "d.soc"):
        options = {"kind": "rankings"} if name == "d.txt" else {}
        start = {"d.pgn": '[White "', "d.soc": "3\n", "d.jsonl": "["}.get(name, "a,b,")
        path = write(name, start + "x" * 20_000_000)
        assert "is longer than 10,000,000 characters" in refusal(path, **options)
