"""Files of every format and the command line: what is read, said, saved and refused."""

import gzip
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import luce
from luce import cli
from luce.cli import main
from luce.reading import files as reading

DUELS = [("ann", "bo", 2), ("bo", "cy", 1), ("ann", "cy", 3), ("cy", "ann", 1)]
EXPECTED = luce.from_pairs(DUELS)
NAMES = "# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Bo, B\n# ALTERNATIVE NAME 3: Cy\n"
OLD_NAMES = "1,Ann \n2,Bo, B\n3,Cy\n"
LABELS = ["Ann", "Bo, B", "Cy"]
PGN = (
    '[White "Ann"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    '[White "Bo"]\n[Black "Ann"]\n[Result "0-1"]\n\n*\n\n'.replace("\n*\n", "\n1. d4 0-1\n")
    + '[White "Ann"]\n[Black "Cy"]\n[Result "*"]\n\n*\n'
)


def table(delimiter: str = ",", end: str = "\n") -> str:
    rows = [("winner", "loser", "count"), *DUELS]
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


def preflib(data_type: str, body: str, totals: str = "") -> str:
    return f"# DATA TYPE: {data_type}\n# NUMBER ALTERNATIVES: 3\n{totals}{NAMES}{body}"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def refusal(path: Path, **options: Any) -> str:
    """Why a whole file is refused."""
    with pytest.raises(luce.LuceError) as caught:
        luce.read(path, **options)
    text = str(caught.value)
    assert text.startswith((path.name, str(path)))
    return text


def problems(path: Path, **options: Any) -> list[tuple[int, str]]:
    with pytest.raises(luce.errors.BadRowsError) as caught:
        luce.read(path, **options)
    assert caught.value.source == path.name
    assert caught.value.unit == "line"
    assert str(caught.value).startswith(f"{path.name}: ")
    return [tuple(problem) for problem in caught.value.problems]


def places(path: Path, **options: Any) -> list[int]:
    return [place for place, _ in problems(path, **options)]


def skipping(path: Path, **options: Any) -> tuple[Any, list[int]]:
    with pytest.warns(luce.errors.SkippedRowsWarning) as said:
        counts = luce.read(path, skip_bad=True, **options)
    (warning,) = [w.message for w in said if isinstance(w.message, luce.errors.SkippedRowsWarning)]
    return counts, [problem.place for problem in warning.problems]


# Formats


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_with_any_delimiter_and_line_end(write: Any, delimiter: str, end: str) -> None:
    assert luce.read(write("duels.csv", table(delimiter, end))) == EXPECTED
    assert luce.read(write("duels.dat", table(delimiter, end)), delimiter=delimiter) == EXPECTED


def test_tab_separated_values_are_known_by_their_name(write: Any) -> None:
    path = write("duels.TSV", "winner,or so\tloser,too,and,more\nann\tbo\n")
    counts = luce.read(path, "pairs", winner="winner,or so", loser="loser,too,and,more")
    assert counts == luce.from_pairs([("ann", "bo")])


def test_packed_tables(write: Any) -> None:
    assert luce.read(write("duels.csv.gz", gzip.compress(table().encode()))) == EXPECTED
    assert luce.read(write("duels.tsv.GZ", gzip.compress(table("\t").encode()))) == EXPECTED


def test_json_lines(write: Any) -> None:
    records = [dict(zip(("winner", "loser", "count"), duel, strict=True)) for duel in DUELS]
    lines = "\n\n".join(map(json.dumps, records))
    assert luce.read(write("duels.jsonl", lines)) == EXPECTED
    assert luce.read(write("duels.txt", lines)) == EXPECTED
    orders = '["ann", "bo", "cy"]\n["bo", ["ann", "cy"]]\n'
    with pytest.warns(luce.errors.HalfWinsWarning):
        read = luce.read(write("orders.jsonl", orders), ties="half")
    with pytest.warns(luce.errors.HalfWinsWarning):
        assert read == luce.from_rankings([["ann", "bo", "cy"], ["bo", {"ann", "cy"}]], ties="half")


def test_a_key_that_comes_late_counts_and_others_may_hold_anything(write: Any) -> None:
    early = ['{"winner": "a", "loser": "b", "talk": [{"said": {"x": 1}}]}'] * 1500
    late = '{"winner": "b", "loser": "a", "count": 7}'
    path = write("duels.jsonl", "\n".join([*early, late]))
    assert places(path) == [*range(1, 1501)]
    counts, left_out = skipping(path)
    assert counts == luce.from_pairs([("b", "a", 7)])
    assert left_out == [*range(1, 1501)]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "duels.parquet"
    pl.DataFrame(DUELS, schema=["winner", "loser", "count"], orient="row").write_parquet(path)
    assert luce.read(path) == EXPECTED
    assert luce.read(path.rename(tmp_path / "duels.dat")) == EXPECTED  # known by its first bytes
    lists = tmp_path / "orders.pq"
    pl.DataFrame({"order": [["a", "b", "c"], ["b", "a", "c"]], "n": [2, 1]}).write_parquet(lists)
    assert luce.read(lists) == luce.from_rankings({("a", "b", "c"): 2, ("b", "a", "c"): 1})


STRICT = {("Bo, B", "Ann", "Cy"): 4, ("Cy", "Ann", "Bo, B"): 3}
PARTIAL = {("Bo, B",): 4, ("Cy", "Ann"): 3}


@pytest.mark.parametrize(
    ("name", "text", "orders", "options"),
    [
        ("v.soc", preflib("soc", "4: 2,1,3\n3: 3,1,2\n"), STRICT, {}),
        ("v.soi", preflib("soi", "4: 2\n3: 3,1\n"), PARTIAL, {"unranked": "below"}),
        ("v.soi", preflib("soi", "4: 2\n3: 3,1\n"), PARTIAL, {"unranked": "absent"}),
        ("v.toc", preflib("toc", "4: 2,{1,3}\n"), {("Bo, B", frozenset(["Ann", "Cy"])): 4},
         {"ties": "last"}),
        ("v.toi", preflib("toi", "4: 2,{1,3}\n3: 3,1\n"),
         {("Bo, B", frozenset(["Ann", "Cy"])): 4, ("Cy", "Ann"): 3},
         {"ties": "half", "unranked": "absent"}),
        ("v.soc", f"3\n{OLD_NAMES}7,7,2\n4,2,1,3\n3,3,1,2\n", STRICT, {}),
        ("v.soi", f"3\n{OLD_NAMES}7,7,2\n4,2\n3,3,1\n", PARTIAL, {"unranked": "below"}),
        ("v.toc", f"3\n{OLD_NAMES}4,4,1\n4,2,{{1,3}}\n",
         {("Bo, B", frozenset(["Ann", "Cy"])): 4}, {"ties": "last"}),
        ("v.toi", f"3\n{OLD_NAMES}7,7,2\n4,2,{{1,3}}\n3,3,1\n",
         {("Bo, B", frozenset(["Ann", "Cy"])): 4, ("Cy", "Ann"): 3},
         {"ties": "half", "unranked": "absent"}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::luce.errors.HalfWinsWarning")
def test_preflib_orders_new_and_old(
    write: Any, name: str, text: str, orders: dict[Any, int], options: dict[str, Any]
) -> None:
    counts = luce.read(write(name, text), **options)
    assert counts == luce.from_rankings(orders, categories=LABELS, **options)
    assert counts.categories == tuple(LABELS)


def test_preflib_graphs_need_a_meaning(write: Any) -> None:
    expected = luce.from_pairs([("Ann", "Bo, B", 2), ("Cy", "Ann", 1.5)], categories=LABELS)
    new = write("new.wmd", preflib("wmd", "1,2,2.0\n3,1,1.5\n", "# NUMBER EDGES: 2\n"))
    old = write("old.wmd", f"3,2\n{OLD_NAMES}0,1,2\n2,0,1.5\n")
    for path in (new, old):
        assert "kind='pairs'" in refusal(path)
        assert luce.read(path, "pairs") == expected


def test_chess_games_with_the_advantage_of_the_first(write: Any) -> None:
    games = {"item1": ["Ann", "Bo"], "item2": ["Bo", "Ann"], "outcome": ["Ann", "Ann"]}
    path = write("games.pgn", PGN)
    assert luce.read(path, home="first") == luce.from_pairs(games, home="first")
    assert luce.read(path).categories == ("Ann", "Bo")  # an unfinished game says nothing
    assert "pairs" in refusal(path, kind="rankings")


def test_plain_orders(write: Any) -> None:
    path = write("heats.txt", "\nann bo cy\n\n  bo cy \n")
    expected = luce.from_rankings([["ann", "bo", "cy"], ["bo", "cy"]], unranked="absent")
    assert luce.read(path, "rankings", unranked="absent") == expected
    path = write("races.txt", "ann > bo > cy\nbo > cy > ann\n")
    assert luce.read(path, "rankings") == luce.from_rankings(["ann>bo>cy", "bo>cy>ann"])


# Kinds

KINDS = {
    "pairs": ["winner,loser\na,b\n", "item1,item2,wins1,wins2\na,b,1,2\n",
              "model_a,model_b,winner\nx,y,model_b\n"],
    "rankings": ["race,driver,place\n1,a,1\n1,b,2\n", "ranking,count\na>b,2\n",
                 "Rank_1,Rank_2\na,b\n", "1st,2nd,count\na,b,3\n"],
    "choices": ["case,alt,choice\n1,a,1\n1,b,0\n", "chosen,offered\na,a|b\n",
                "choice,bus_avail,car_avail\nbus,1,1\n"],
    "transitions": ["from,to\na,b\n", "subject,time,state\n1,1,a\n1,2,b\n"],
    "teams": ["winners,losers\na+b,c\n", "side1,side2,outcome\na,b,1\n"],
    "groups": ["group,within\na|b,a|b|c\n"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(k, t) for k, texts in KINDS.items() for t in texts])
def test_columns_tell_the_kind(write: Any, kind: str, text: str) -> None:
    path = write("data.csv", text)
    assert reading.understand(path)[0] == kind
    assert luce.read(path) == luce.read(path, kind)


def test_a_kind_is_asked_for_where_columns_do_not_tell(write: Any) -> None:
    path = write("data.csv", "x,y,z\n5,1,2\n3,,4\n")
    assert "--kind" in refusal(path)
    assert luce.read(path, "table").n_outcomes == 15
    with pytest.raises(luce.errors.DataError, match="kind = 'nonsense'"):
        luce.read(path, "nonsense")
    with pytest.raises(luce.errors.DataError, match="colour is no option for table"):
        luce.read(path, "table", colour="red")


def test_columns_may_be_named(write: Any) -> None:
    path = write("data.csv", "champion,other,times\na,b,2\n")
    named = luce.read(path, "pairs", winner="champion", loser="other", count="times")
    assert named == luce.from_pairs([("a", "b", 2)])
    assert "no such column" in refusal(path, kind="pairs", winner="champ", loser="other")


# The command line


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_fit_says_what_it_understood_and_saves_the_run(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = write("duels.csv", table()), tmp_path / "run.nc"
    code, out, err = run(capsys, "fit", path, "--draws", 400, "--seed", 3, "--out", target)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "duels.csv: pairs: 7 comparisons among 3 categories"
    assert "core" in out
    assert re.search(r"^ann +0\.\d+", out, re.MULTILINE)
    assert lines[-2].startswith("4 chains of 400 draws, method ")
    assert lines[-1] == f"Saved: {target}"
    saved = luce.load(target)
    fresh = luce.Posterior(EXPECTED).sample(400, seed=3)
    assert saved.posterior["probabilities"].identical(fresh.posterior["probabilities"])
    assert luce.posterior_of(saved).counts == EXPECTED
    code, out, err = run(capsys, "fit", path, "--out", target)
    assert (code, out) == (1, "")  # before any work is done
    assert "exists" in err
    assert run(capsys, "fit", path, "--draws", 400, "--out", target, "--overwrite")[0] == 0


def test_inspect_only_says(write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("duels.csv", table())
    code, out, err = run(capsys, "inspect", path)
    assert (code, err) == (0, "")
    assert out.startswith("duels.csv: pairs: 7 comparisons among 3 categories\n\n3 categories, 7 ")
    assert os.listdir(tmp_path) == ["duels.csv"]
    moves = write("moves.csv", "from,to,count\na,b,2\nb,c,1\nc,a,1\na,c,1\n")
    code, out, _ = run(capsys, "inspect", moves, "--rows", "separate")
    assert code == 0
    assert "one posterior for each of 3 states" in out
    assert "from a: 2 categories, 3 outcomes" in out
    assert run(capsys, "fit", moves, "--rows", "separate", "--out", tmp_path / "x.nc")[0] == 1


def test_columns_are_named_on_the_command_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("data.csv", "champion,other,times\na,b,2\n")
    named = ["--kind", "pairs", "--column", "winner=champion", "--column", "loser=other",
             "--column", "count=times"]  # fmt: skip
    code, out, _ = run(capsys, "inspect", path, *named)
    assert (code, out.splitlines()[0]) == (0, "data.csv: pairs: 2 comparisons among 2 categories")
    for wrong in ("winner", "kind=pairs", "path=x", "skip_bad=1", "encoding=x", "nobody=x", "=x"):
        code, out, err = run(capsys, "inspect", path, "--kind", "pairs", "--column", wrong)
        assert (code, out) == (1, "")
        assert err.startswith(f"luce: --column {wrong}: ")


def test_wrong_usage_is_exit_code_2(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["fit"], ["fit", "x.csv", "--draws", "many"], ["inspect", "x", "--kind",
                      "poems"]):  # fmt: skip
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        assert "usage: luce" in capsys.readouterr().err


def test_what_is_wrong_is_told_by_file_and_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("duels.csv", "winner,loser,count\nann,bo,1\nbo,bo,1\nann,bo\nann,cy,-2\n")
    code, out, err = run(capsys, "fit", path)
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "duels.csv:3: 'bo' is compared with itself.",
        "duels.csv:4: 2 values stand here; the header has 3.",
        "duels.csv:5: count is -2; it cannot be negative.",
        "luce: 3 lines cannot be used; mend them, or leave them out with --skip-bad",
    ]
    code, out, err = run(capsys, "inspect", path, "--skip-bad")
    assert code == 0
    assert out.startswith("duels.csv: pairs: 1 comparison among 2 categories\n")
    assert [line.split(" ")[0] for line in err.splitlines()] == [
        "duels.csv:3:", "duels.csv:4:", "duels.csv:5:"
    ]  # fmt: skip
    assert all(" left out: " in line for line in err.splitlines())
    code, out, err = run(capsys, "fit", path.with_name("none.csv"))
    assert (code, err) == (1, f"luce: {path.with_name('none.csv')}: there is no such file.\n")


def test_what_is_wrong_with_a_whole_file_names_no_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("venues.csv", "name,ITA,USA\na,1,2\na,2,1\n")
    code, _, err = run(capsys, "inspect", path, "--kind", "rankings")
    assert code == 1
    assert err.startswith("venues.csv: in column 'ITA', 'a' appears twice")
    assert ":0:" not in err


def test_draws_that_cannot_be_trusted_are_exit_code_3(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"p{i},p{i + 1},1\np{i + 1},p{i},1\n" for i in range(20))
    path = write("chain.csv", "winner,loser,count\n" + rows)
    code, out, err = run(capsys, "fit", path, "--method", "metropolis", "--draws", 20, "--seed", 1)
    assert code == 3
    assert "4 chains of 20 draws" in out
    assert "do not trust these draws" in err


def test_an_interrupt_is_exit_code_130(
    write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("luce.cli.understand", interrupted)
    code, out, err = run(capsys, "inspect", write("duels.csv", table()))
    assert (code, out, err) == (130, "", "luce: interrupted\n")
    assert cli.main.__doc__ is not None
    assert "130" in cli.main.__doc__


def luce_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "luce", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_a_process_that_fits(write: Any, tmp_path: Path) -> None:
    path = write("duels.csv", table().replace("ann", "José"))
    target = tmp_path / "run.zarr"
    done = luce_process("fit", path, "--draws", 300, "--seed", 1, "--out", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("duels.csv: pairs: 7 comparisons among 3 categories\n")
    assert "José" in done.stdout
    assert luce.load(target).posterior.sizes["draw"] == 300


def test_a_process_that_refuses(write: Any) -> None:
    done = luce_process("inspect", write("duels.csv", "winner,loser\na,b\nc,c\n"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "duels.csv:3: 'c' is compared with itself.",
        "luce: 1 line cannot be used; mend it, or leave it out with --skip-bad",
    ]


# Bad input: text


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


@pytest.mark.parametrize("content", [b"", b"\n\r\n \t \n", b"\xef\xbb\xbf", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.soc", "d.pgn", "d.txt"])
def test_files_with_nothing_in_them(write: Any, name: str, content: bytes) -> None:
    assert refusal(write(name, content)) == f"{name}: the file is empty."
    assert "PAR1" in refusal(write("d.parquet", content))


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


def test_line_numbers_stay_right_after_lines_that_cannot_be_read(write: Any) -> None:
    path = write("d.csv", b"winner,loser\na,b\n\xff,b\n\xff,b\nc,c\n\xff,b\nd,d\n")
    assert places(path) == [3, 4, 5, 6, 7]


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


def test_null_bytes_and_binary_junk(write: Any) -> None:
    junk = np.random.default_rng(1).bytes(20_000)
    assert refusal(write("d.csv", junk))
    assert "null bytes" in refusal(write("d.csv", "winner,loser\n".encode("utf-16-le")))
    path = write("d.csv", "winner,loser\n" + "a,b\n" * 5000 + "a,\0b\n")
    assert problems(path) == [(5002, "a null character stands here; text is needed.")]


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


def test_packed_files_that_break_off(write: Any) -> None:
    packed = gzip.compress(table().encode() * 100)
    for content in (packed[:-1], packed[:-9], packed[: len(packed) // 2], packed[:5], b"", b"junk"):
        assert refusal(write("d.csv.gz", content))
    rubbed = bytearray(packed)
    rubbed[-6] ^= 1  # the sum of the content
    assert "cannot be read" in refusal(write("d.csv.gz", bytes(rubbed)))


def test_parquet_that_breaks_off(tmp_path: Path, write: Any) -> None:
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"]}).write_parquet(whole)
    content = whole.read_bytes()
    for cut in (4, 8, len(content) // 2, len(content) - 1):
        assert "cannot read it" in refusal(write("d.parquet", content[:cut]))
    assert "does not begin with PAR1" in refusal(write("d.parquet", table()))


def test_one_line_of_twenty_million_characters(write: Any) -> None:
    for name in ("d.csv", "d.jsonl", "d.txt", "d.pgn", "d.soc"):
        options = {"kind": "rankings"} if name == "d.txt" else {}
        start = {"d.pgn": '[White "', "d.soc": "3\n", "d.jsonl": "["}.get(name, "a,b,")
        path = write(name, start + "x" * 20_000_000)
        assert "is longer than 10,000,000 characters" in refusal(path, **options)


# Bad input: data


def test_items_twice_in_one_ranking(write: Any) -> None:
    orders = write("o.csv", "ranking\na>b>c\na>b>a\n")
    assert problems(orders) == [(3, "'a' appears twice in one ranking.")]
    long = write("l.csv", "race,driver,place\n1,a,1\n1,b,2\n2,a,1\n2,a,2\n")
    assert problems(long) == [
        (4, "in the group that begins here, 'a' appears twice in one ranking.")
    ]
    assert places(write("v.soi", preflib("soi", "4: 2\n3: 3,1,3\n")), unranked="below") == [7]
    lists = write("o.jsonl", '["a", "b"]\n["b", "b"]\n')
    assert problems(lists) == [(2, "'b' appears twice in one ranking.")]


def test_choices_that_cannot_be(write: Any) -> None:
    path = write("c.csv", "case,alt,choice\n1,a,1\n1,b,0\n2,a,1\n2,b,1\n3,a,0\n3,b,0\n")
    found = problems(path)
    assert [line for line, _ in found] == [4, 6]
    assert "2 ('a', 'b') is chosen" in found[0][1]
    assert "none is chosen" in found[1][1]
    picks = write("p.csv", "chosen,offered\na,a|b\nc,a|b\n")
    assert problems(picks) == [(3, "'c' was chosen but not on offer; that was 'a', 'b'.")]
    wide = write("w.csv", "choice,avail_a,avail_b\na,1,1\nb,1,0\na,1,maybe\n")
    assert places(wide) == [3, 4]


@pytest.mark.parametrize(
    ("count", "what"),
    [
        ("-2", "negative"),
        ("two", "a number is needed"),
        ("", "missing"),
        ("nan", "missing"),
        ("inf", "finite"),
        ("1e400", "finite"),
        ("-inf", "negative"),
        ("1_000", "a number is needed"),
        ("0x10", "a number is needed"),
    ],
)
def test_counts_that_are_none(write: Any, count: str, what: str) -> None:
    path = write("d.csv", f"winner,loser,count\na,b,1\nb,a,{count}\nb,a,2\n")
    ((line, sentence),) = problems(path)
    assert line == 3
    assert what in sentence
    assert skipping(path) == (luce.from_pairs([("a", "b", 1), ("b", "a", 2)]), [3])


def test_grouped_outcomes_are_whole_numbers(write: Any) -> None:
    path = write("d.csv", "group,count\na|b,2\na|c,1.5\n")
    ((line, sentence),) = problems(path)
    assert line == 3
    assert "whole numbers" in sentence


def test_numbers_in_json_that_are_none(write: Any) -> None:
    def line(count: str) -> str:
        return f'{{"winner": "a", "loser": "b", "count": {count}}}\n'

    path = write("d.jsonl", line("1") + line("NaN") + line("-Infinity") + line("1e999"))
    assert places(path) == [2, 3, 4]
    path = write("d.jsonl", line("1") + line("9" * 400) + line("9" * 5000) + line("true"))
    assert places(path) == [2, 3]
    assert luce.read(write("d.jsonl", line("9" * 300))).n_outcomes == pytest.approx(1e300)


def test_json_nested_as_deep_as_it_can_be(write: Any) -> None:
    for depth in (11, 400, 900, 100_000):
        path = write("d.jsonl", '["a", "b"]\n' + "[" * depth + "]" * depth + "\n")
        assert places(path) == [2]
        assert skipping(path)[0] == luce.from_rankings([["a", "b"]])
    broken = write("d.jsonl", '["a", "b"]\n["a"\n7\n"x"\n{"a": 1}\n')
    assert refusal(broken)


def test_a_header_may_claim_anything_and_takes_no_memory(write: Any) -> None:
    new = preflib("soc", "1: 1,2,3\n").replace("ALTERNATIVES: 3", f"ALTERNATIVES: {10**12}")
    claims = [
        write("new.soc", new),
        write("old.soc", f"{10**12}\n{OLD_NAMES}1,1,1\n1,1,2,3\n"),
        write("graph.wmd", f"{10**12},{10**12}\n{OLD_NAMES}0,1,1\n"),
        write("huge.soc", preflib("soc", "1: 1,2,3\n") + "9" * 30 + ": 1,2,3\n"),
    ]  # fmt: skip
    tracemalloc.start()
    try:
        for path in claims:
            assert refusal(path, kind="pairs" if path.suffix == ".wmd" else None)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


# Files larger than memory


def read_within(megabytes: float, path: Path, **options: Any) -> Any:
    tracemalloc.start()
    try:
        counts = luce.read(path, **options)
        assert tracemalloc.get_traced_memory()[1] / 1e6 < megabytes
    finally:
        tracemalloc.stop()
    return counts


@pytest.mark.slow
def test_many_rows_of_few_pairs_need_little_memory(write: Any) -> None:
    pairs = [(f"player {i}", f"player {j}") for i in range(6) for j in range(11) if i != j][:50]
    body = "".join(f"{a},{b}\n" for a, b in pairs)
    path = write("d.csv", "winner,loser\n" + body * 6000)
    expected = luce.from_pairs([(a, b, 6000) for a, b in pairs])
    assert read_within(20, path) == expected
    odd = write("odd.csv", "winner,loser\n" + body * 400 + "a,a\n")
    with pytest.warns(luce.errors.SkippedRowsWarning, match="line 20002"):
        assert read_within(5, odd, skip_bad=True).n_outcomes == 20_000


@pytest.mark.slow
def test_many_cases_of_few_shapes_need_little_memory(write: Any) -> None:
    cases = "".join(
        f"{i},car,{int(i % 3 == 0)}\n{i},bus,{int(i % 3 == 1)}\n{i},tram,{int(i % 3 == 2)}\n"
        for i in range(30_000)
    )
    counts = read_within(5, write("d.csv", "case,alt,choice\n" + cases))
    shares = {"car": 10_000, "bus": 10_000, "tram": 10_000}
    assert counts == luce.ConditionalCounts(["bus", "car", "tram"]).observe(shares)


def test_a_case_that_comes_back_later_is_one_case(write: Any) -> None:
    together = "case,alt,choice\n1,a,1\n1,b,0\n1,c,0\n2,a,0\n2,b,1\n"
    apart = "case,alt,choice\n1,a,1\n2,a,0\n1,b,0\n2,b,1\n1,c,0\n"
    assert luce.read(write("t.csv", together)) == luce.read(write("a.csv", apart))
    races = "race,driver,place\n1,a,2\n2,b,1\n1,b,1\n2,a,2\n2,a,3\n"
    assert problems(write("r.csv", races)) == [
        (3, "in the group that begins here, 'a' appears twice in one ranking.")
    ]


def test_a_reader_that_has_seen_enough_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(arguments: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("luce.cli.run_demo", closed)
    monkeypatch.setattr("sys.stdout", sys.stdout)  # put back afterwards
    assert main(["demo"]) == 141
    sys.stdout.close()  # the null device that stands in for it
    assert capsys.readouterr().err == ""
