"""CSV and its relatives."""

from typing import Any

import pytest
from lib.data_files import EXPECTED, places, preflib, problems, refusal, skipping, table

import luce


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_with_any_delimiter_and_line_end(write: Any, delimiter: str, end: str) -> None:
    assert luce.read(write("duels.csv", table(delimiter, end))) == EXPECTED
    assert luce.read(write("duels.dat", table(delimiter, end)), delimiter=delimiter) == EXPECTED


def test_tab_separated_values_are_known_by_their_name(write: Any) -> None:
    path = write("duels.TSV", "winner,or so\tloser,too,and,more\nann\tbo\n")
    counts = luce.read(path, "pairs", winner="winner,or so", loser="loser,too,and,more")
    assert counts == luce.from_pairs([("ann", "bo")])


def test_a_header_and_nothing_else(write: Any) -> None:
    for text in ("winner,loser", "winner,loser\n", "winner,loser\n\n , \n"):
        assert "there are column names but no lines of data" in refusal(write("d.csv", text))
    assert "no rows" in refusal(write("t.csv", ",a,b\n"), kind="table")
    header = preflib("soc", "")
    assert "no lines of data" in refusal(write("d.soc", header))


def test_blank_lines_are_not_data(write: Any) -> None:
    path = write("d.csv", "\n  \n,\nwinner,loser\n\nann,bo\n , \n\t\nbo,bo\n")
    assert problems(path) == [(9, "'bo' is compared with itself.")]


def test_the_wrong_number_of_values(write: Any) -> None:
    path = write("d.csv", "winner,loser\na,b\na\na,b,c\nb,a\n")
    found = problems(path)
    assert [line for line, _ in found] == [3, 4]
    assert found[0][1] == "1 values stand here; the header has 2."
    counts, left_out = skipping(path)
    assert (counts, left_out) == (luce.from_pairs([("a", "b"), ("b", "a")]), [3, 4])


def test_names_with_quotes_commas_and_line_ends(write: Any) -> None:
    text = 'winner,loser\n"Smith, ""J""","Bo\r\nB"\n\nann,"x\n\ny"\n"z",z\n'
    path = write("d.csv", text)
    assert places(path) == [8]
    counts, _ = skipping(path)
    assert counts == luce.from_pairs([('Smith, "J"', "Bo\nB"), ("ann", "x\n\ny")])
    semicolons = write("ranks.csv", '"Smith, J, Jr";"Doe, A"\n1;2\n')
    assert luce.read(semicolons, "rankings").categories == ("Doe, A", "Smith, J, Jr")


def test_quotes_that_do_not_fit(write: Any) -> None:
    found = problems(write("d.csv", 'winner,loser\na,b\nb,"c\na,b\nb,a\n'))
    assert found == [
        (3, "a quotation mark opens here and is never closed; lines 3 to 5 cannot be read.")
    ]
    path = write("d.csv", 'winner,loser\na,b\nb,"c"d\nb,a\n')
    assert places(path) == [3]
    assert skipping(path)[0] == luce.from_pairs([("a", "b"), ("b", "a")])
    long = write("d.csv", "winner,loser\n" + "a,b\n" + f"a,{'x' * 200_000}\n" + "b,b\n")
    assert places(long) == [3, 4]


def test_a_record_over_a_line_that_cannot_be_read_is_left_out_whole(write: Any) -> None:
    path = write("d.csv", b'winner,loser\na,b\nb,"c\n\xff\nd"\nb,a\n')
    assert places(path) == [3, 4]
    counts, left_out = skipping(path)
    assert (counts, left_out) == (luce.from_pairs([("a", "b"), ("b", "a")]), [3, 4])


@pytest.mark.parametrize("header", [b"winner,los\xe9r\n", b'winner,"loser\n'])
def test_a_header_that_cannot_be_read_is_not_skipped(write: Any, header: bytes) -> None:
    path = write("d.csv", b"\n" + header + b"winner,loser\na,b\n")
    for skip_bad in (False, True):
        assert refusal(path, skip_bad=skip_bad).startswith("d.csv: line 2: ")


def test_columns_need_names_of_their_own(write: Any) -> None:
    text = refusal(write("d.csv", "\nwinner,loser, winner\na,b,c\n"))
    assert text.startswith("d.csv: line 2: the column 'winner' appears twice")
    found = problems(write("d.jsonl", '{"winner": 1, "loser": 2}\n{"winner": 1, "winner": 2}\n'))
    assert found == [(2, "this is not JSON: a key appears twice in one object.")]
