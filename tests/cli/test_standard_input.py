"""Data from standard input: every format, and streams that end early or hold something else."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from lib.data_files import table

from luce.cli import main

PREFLIB = """# FILE NAME: x.soc
# DATA TYPE: soc
# NUMBER ALTERNATIVES: 2
# NUMBER VOTERS: 3
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: ann
# ALTERNATIVE NAME 2: bo
2: 1,2
1: 2,1
"""
PGN = '[White "ann"]\n[Black "bo"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
JSON_LINES = '{"winner": "ann", "loser": "bo"}\n{"winner": "bo", "loser": "ann"}\n'


def piped(
    content: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str, str]:
    """Run a command whose standard input holds the content."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("content", "kind"),
    [(table().encode(), "pairs"), (gzip.compress(table().encode()), "pairs"),
     (table().encode("utf-16"), "pairs"), (PREFLIB.encode(), "rankings"), (PGN.encode(), "pairs"),
     (JSON_LINES.encode(), "pairs")],
    ids=["CSV", "gzip", "UTF-16", "PrefLib", "PGN", "JSON Lines"],
)  # fmt: skip
def test_formats_are_recognised_by_their_content(
    content: bytes,
    kind: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = ("--home", "first") if content == PGN.encode() else ()
    code, out, err = piped(content, capsys, monkeypatch, "inspect", "-", *more)
    assert code == 0, err
    assert out.startswith(f"standard input: {kind}: ")


def test_parquet_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    file = io.BytesIO()
    polars.DataFrame({"winner": ["ann", "bo"], "loser": ["bo", "ann"]}).write_parquet(file)
    code, out, _ = piped(file.getvalue(), capsys, monkeypatch, "inspect", "-")
    assert (code, out.splitlines()[0]) == (
        0, "standard input: pairs: 2 comparisons among 2 categories"
    )  # fmt: skip
    code, out, err = piped(file.getvalue()[:40], capsys, monkeypatch, "inspect", "-")
    assert (code, out) == (1, "")
    assert err.startswith("luce: standard input: polars cannot read it")


def test_a_fit_has_the_draws_of_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "duels.csv"
    path.write_text(table())
    words = ("--draws", "50", "--seed", "4", "--until", "none")
    code, out, _ = piped(table().encode(), capsys, monkeypatch, "fit", "-", *words)
    main(["fit", str(path), *words])
    assert capsys.readouterr().out == out.replace("standard input", "duels.csv")
    assert code in (0, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "standard input: the file is empty."),
     (b"\x00\x01\x02\x03" * 90, "standard input: this is neither text nor Parquet"),
     (gzip.compress(table().encode() * 50)[:-20], "standard input.gz: cannot be read: "),
     (b"winner,loser\nann,bo\nann", "standard input:3: 1 value"),
     (b"winner,loser\nann,b\xff\n", "standard input:2: byte 0xff")],
    ids=["empty", "binary", "broken off gzip", "broken off line", "undecoded"],
)  # fmt: skip
def test_streams_that_cannot_be_used(
    content: bytes,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, err = piped(content, capsys, monkeypatch, "fit", "-")
    assert (code, out) == (1, "")
    assert words in err


def test_a_closed_stream_and_addresses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["fit", "-"]) == 1
    assert "standard input is closed" in capsys.readouterr().err
    assert main(["inspect", "https://example.org/x.csv"]) == 1
    assert "curl -sL https://example.org/x.csv | luce fit -" in capsys.readouterr().err
