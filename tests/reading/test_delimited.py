"""CSV and its relatives."""

from typing import Any

import pytest
from lib.data_files import DUELS, EXPECTED, places, preflib, problems, refusal, skipping, table

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
    assert found[0][1] == "1 value stands here; the header has 2."
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


SPACED = "winner  loser\tcount\n ann bo 2\nbo  cy\t1 \n\nann cy 3\n  cy ann 1\n"


@pytest.mark.parametrize("name", ["duels.txt", "duels.dat", "duels.csv"])
def test_tables_with_white_space_between_values(write: Any, name: str) -> None:
    text = SPACED.replace("\t", "   ")
    assert luce.read(write(name, text)) == EXPECTED
    assert luce.read(write(name, SPACED), delimiter=" ") == EXPECTED
    quoted = write(name, '"winner" "loser"\n"Smith, \\"J\\"" \'de Boer\'\n"de Boer" O\'Brien\n')
    counts = luce.read(quoted)
    assert counts == luce.from_pairs([('Smith, "J"', "de Boer"), ("de Boer", "O'Brien")])


def test_a_header_without_a_name_for_the_rows(write: Any) -> None:
    """R's write.table leaves the names of rows out of the header."""
    numbered = "winner loser count\n" + "".join(
        f'"{i}" {a} {b} {n}\n' for i, (a, b, n) in enumerate(DUELS, 1)
    )
    assert luce.read(write("duels.txt", numbered)) == EXPECTED
    assert luce.read(write("duels.csv", numbered.replace(" ", ","))) == EXPECTED
    assert luce.read(write("duels.tsv", numbered.replace(" ", "\t"))) == EXPECTED
    wins = " ann bo cy\nann 0 2 3\nbo 0 0 1\ncy 1 0 0\n"
    assert luce.read(write("wins.txt", wins), "pairs") == EXPECTED
    assert luce.read(write("wins.csv", wins.strip().replace(" ", ";")), "pairs") == EXPECTED
    races = write("races.txt", "  Spa Monza\nann 1 2\nbo 2 1\ncy 3 DNF\n")
    assert luce.read(races, "rankings") == luce.from_rankings(
        {"driver": ["ann", "bo", "cy"], "Spa": [1, 2, 3], "Monza": [2, 1, "DNF"]}
    )


@pytest.mark.parametrize(
    "text",
    [
        "winner loser\nann bo 3\nbo cy 2\n",  # the last name may be missing as well
        "winner,loser\nann,bo,3\nbo,cy,2\n",
        "winner,loser\n1,2,\n2,3,\n",  # a delimiter at the end of each row
        "winner,loser\n1,ann,bo\n",  # one row only
        "driver,place\nann,1,2\nbo,2,1\n",
    ],
)
def test_other_headers_that_are_too_short_are_refused(write: Any, text: str) -> None:
    found = problems(write("d.csv", text), kind="pairs", winner=text[:6], loser=text[7:12])
    assert {what for _, what in found} == {"3 values stand here; the header has 2."}


def test_lines_between_spaces_that_cannot_be_read(write: Any) -> None:
    path = write("d.txt", 'winner loser\nann bo\nbo "cy\nbo\n"bo"x cy\ncy ann\n')
    assert places(path) == [3, 4, 5]
    counts, left_out = skipping(path)
    assert (counts, left_out) == (luce.from_pairs([("ann", "bo"), ("cy", "ann")]), [3, 4, 5])


def test_texts_with_spaces_in_one_column_stay_whole(write: Any) -> None:
    path = write("d.csv", "order\nann bo cy\nbo ann cy\n")
    assert luce.read(path) == luce.from_rankings([["ann", "bo", "cy"], ["bo", "ann", "cy"]])
    path = write("e.csv", "my order\nann > bo > cy\nbo > ann > cy\n")
    assert luce.read(path, "rankings", order="my order") == luce.read(
        write("d.csv", path.read_text().replace("my ", ""))
    )
    plain = write("heats.txt", "ann bo cy\nbo ann cy\n")  # no header: nothing in it is a number
    assert luce.read(plain, "rankings") == luce.read(
        write("d.csv", "order\nann bo cy\nbo ann cy\n")
    )


@pytest.mark.parametrize("unnamed", ['""', "Unnamed: 0", "rownames", "row.names"])
def test_a_column_of_row_numbers(write: Any, unnamed: str) -> None:
    def numbered(text: str, first: int = 1) -> Any:
        header, *rows = text.strip().split("\n")
        lines = [f"{unnamed},{header}", *(f"{i},{row}" for i, row in enumerate(rows, first))]
        return write("numbered.csv", "\n".join(lines) + "\n")

    for text, options in {
        table(): {},
        "1st,2nd,3rd\nann,bo,cy\nbo,ann,cy\n": {},
        "driver,Spa,Monza\nann,1,2\nbo,2,1\n": {"kind": "rankings"},
        "ann,bo,cy\n1,2,3\n2,1,3\n3,1,2\n": {"kind": "rankings"},
        "choice,avail_ann,avail_bo\nann,1,1\nbo,1,1\n": {},
        "winners,losers\nann+bo,cy\ncy,bo\n": {},
        "ann,bo,cy\n1,0,\n0,1,1\n": {"kind": "teams"},
        "ann,bo,cy\n5,4,\n2,1,1\n": {"kind": "table"},
        "from,to\nann,bo\nbo,cy\n": {},
    }.items():
        expected = luce.read(write("d.csv", text), **options)
        for first in (0, 1):
            assert luce.read(numbered(text, first), **options) == expected
