"""PrefLib files: what is read of them, and what is said about bad ones."""

import random
import tracemalloc
from typing import Any

import pytest
from lib.data_files import LABELS, OLD_NAMES, preflib, refusal
from lib.places import SHARED_DATA

import luce
from luce.errors import DataError, Problem
from luce.reading.preflib import Edge, Order, PrefLib, is_preflib, parse_preflib

NEW_SOC = """\
# FILE NAME: 00099-00000001.soc
# TITLE: Lunch: Monday, Tuesday
# DESCRIPTION:
# DATA TYPE: soc
# MODIFICATION TYPE: original
# RELATES TO:
# RELATED FILES:
# PUBLICATION DATE: 2024-01-01
# MODIFICATION DATE: 2024-01-01
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 7
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: Soup: hot, thin
# ALTERNATIVE NAME 2: "Salad"
# ALTERNATIVE NAME 3: Rice
4: 2,1,3
3: 3, 1 ,2
"""
NEW_SOI = NEW_SOC.replace("TYPE: soc", "TYPE: soi").replace("4: 2,1,3", "4: 2").replace(" ,2", "")
NEW_TOC = NEW_SOC.replace("TYPE: soc", "TYPE: toc").replace("2,1,3", "{2, 1},3")
NEW_TOI = NEW_TOC.replace("TYPE: toc", "TYPE: toi").replace("3, 1 ,2", "{3,1}")
NEW_WMD = """\
# FILE NAME: 00099-00000002.wmd
# DATA TYPE: wmd
# NUMBER ALTERNATIVES: 3
# NUMBER EDGES: 3
# ALTERNATIVE NAME 1: Pair 1
# ALTERNATIVE NAME 2: Pair 2
# ALTERNATIVE NAME 3: Altruist 3
1,2,1.0
2,3,0.0
3,1,2.5e0
"""
OLD_SOC = "3\n1,Soup: hot, thin \n2,Salad \n3,Rice \n7,7,2\n4,2,1,3\n3,3,1,2\n"
OLD_SOI = "3\n1,Soup\n2,Salad\n3,Rice\n7,7,2\n4,2\n3,3,1\n"
OLD_TOC = "3\n1,Soup\n2,Salad\n3,Rice\n7,7,2\n4,{2,1},3\n3,3,1,2\n"
OLD_TOI = "3\n1,Soup\n2,Salad\n3,Rice\n7,7,2\n4,{2,1},3\n3,{3,1}\n"
OLD_WMD = "3,3\n1,Pair 1 \n2,Pair 2 \n3,Altruist 3 \n0,1,1\n1,2,0\n2,0,2.5\n"

SOC = [(4, ((1,), (0,), (2,))), (3, ((2,), (0,), (1,)))]
SOI = [(4, ((1,),)), (3, ((2,), (0,)))]
TOC = [(4, ((1, 0), (2,))), (3, ((2,), (0,), (1,)))]
TOI = [(4, ((1, 0), (2,))), (3, ((2, 0),))]
SAMPLES = {
    "soc": (NEW_SOC, OLD_SOC, SOC),
    "soi": (NEW_SOI, OLD_SOI, SOI),
    "toc": (NEW_TOC, OLD_TOC, TOC),
    "toi": (NEW_TOI, OLD_TOI, TOI),
}


def parse(text: str, suffix: str = "soc") -> PrefLib:
    return parse_preflib(enumerate(text.splitlines(), 1), suffix)


def problems(text: str, suffix: str = "soc") -> list[Problem]:
    return parse(text, suffix).problems


@pytest.mark.parametrize("kind", SAMPLES)
def test_orders_of_every_type_in_both_formats(kind: str) -> None:
    new, old, expected = SAMPLES[kind]
    for text, suffix in ((new, "txt"), (old, kind), (old, f".{kind.upper()}")):
        assert is_preflib(text, suffix)
        read = parse(text, suffix)
        first = len(text.splitlines()) - 1
        lines = zip((first, first + 1), expected, strict=True)
        assert read.orders == [Order(line, count, classes) for line, (count, classes) in lines]
        assert (read.data_type, read.edges, read.problems) == (kind, [], [])
        assert len(read.names) == 3


def test_names_keep_their_commas_colons_and_quotes() -> None:
    assert parse(NEW_SOC).names == ["Soup: hot, thin", '"Salad"', "Rice"]
    assert parse(OLD_SOC).names == ["Soup: hot, thin", "Salad", "Rice"]


@pytest.mark.parametrize(("text", "suffix"), [(NEW_WMD, ""), (OLD_WMD, "wmd")])
def test_edges_count_from_1_today_and_from_0_before(text: str, suffix: str) -> None:
    assert is_preflib(text, suffix)
    read = parse(text, suffix)
    first = len(text.splitlines()) - 2
    edges = [(first, 0, 1, 1.0), (first + 1, 1, 2, 0.0), (first + 2, 2, 0, 2.5)]
    assert read.edges == [Edge(*edge) for edge in edges]
    assert read.names == ["Pair 1", "Pair 2", "Altruist 3"]
    assert (read.data_type, read.orders, read.problems) == ("wmd", [], [])


@pytest.mark.parametrize(
    ("path", "voters", "orders", "names"),
    [("netflix138/00004-00000138.soc", 588, 24, 4), ("sushi/00014-00000001.soc", 5000, 4926, 10)],
)
def test_published_files(path: str, voters: int, orders: int, names: int) -> None:
    if not (SHARED_DATA / path).exists():
        pytest.skip("no published data here")
    text = (SHARED_DATA / path).read_text(encoding="utf-8")
    assert is_preflib(text[:4096], "soc")
    read = parse(text)
    assert sum(order.count for order in read.orders) == voters
    assert (len(read.orders), len(read.names), read.problems) == (orders, names, [])


def test_not_preflib() -> None:
    assert not is_preflib("# a comment\na,b\n1,2\n", "csv")
    assert not is_preflib("3\n1,a\n", "csv")
    assert not is_preflib("winner,loser\n", "soc")
    assert not is_preflib("", "soc")


def test_header_keys_in_any_case_unknown_or_empty() -> None:
    text = """
    # number  alternatives :2
    # Data Type: SOC
    # culture: mallows
    # a remark
    # NUMBER VOTERS:
    # Alternative Name 2: b
    # alternative name 1: a

    5:2,1

    """
    read = parse(text, "")
    assert (read.data_type, read.names, read.problems) == ("soc", ["a", "b"], [])
    assert read.orders == [Order(10, 5, ((1,), (0,)))]


def test_the_suffix_speaks_where_the_header_does_not() -> None:
    bare = NEW_SOC.replace("DATA TYPE: soc", "DATA TYPE: ")
    assert parse(bare, ".toc").data_type == "toc"
    assert parse(NEW_SOC, "toi").data_type == "soc"
    with pytest.raises(DataError, match="of type 'txt' but luce reads soc, soi, toc, toi, wmd"):
        parse(bare, "txt")


def test_without_a_number_of_alternatives_the_names_tell() -> None:
    assert len(parse(NEW_SOC.replace("NUMBER ALTERNATIVES: 3", "NUMBER ALTERNATIVES:")).names) == 3


def test_an_order_may_be_listed_twice() -> None:
    text = NEW_SOC.replace("VOTERS: 7", "VOTERS: 11") + "4: 2,1,3\n"
    for unique in (2, 3):  # different orders, or lines
        read = parse(text.replace("ORDERS: 2", f"ORDERS: {unique}"))
        assert [order.count for order in read.orders] == [4, 3, 4]
        assert read.problems == []


def test_empty_classes_and_classes_of_one_are_no_ties() -> None:
    read = parse(NEW_SOI.replace("4: 2", "4: {2},{},{ }, 1"))
    assert read.orders[0].classes == ((1,), (0,))
    assert read.problems == []


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("0: 1,2,3", "the count, up to the first ':', is '0'; a whole number from 1 to"),
        ("-1: 1,2,3", "is '-1'; a whole number"),
        ("1.5: 1,2,3", "is '1.5'; a whole number"),
        ("1e3: 1,2,3", "is '1e3'; a whole number"),
        ("²: 1,2,3", "is '²'; a whole number"),
        ("1000000000000001: 1,2,3", "from 1 to 1,000,000,000,000,000"),
        (f"{'9' * 5000}: 1,2,3", "9...'; a whole number"),
        (": 1,2,3", "is ''; a whole number"),
        ("4", "no alternative is ranked"),
        ("1,2,3", "is '1,2,3'; a whole number"),
        ("4:", "no alternative is ranked"),
        ("4: {}", "no alternative is ranked"),
        ("4: 1,2,4", "'4' is no alternative; their numbers are 1 to 3"),
        ("4: 0,1,2", "'0' is no alternative"),
        (f"4: 1,2,{'3' * 5000}", "3...' is no alternative"),
        ("4: 1,2,x", "'x' is no alternative"),
        ("4: 1,2,-3", "'-3' is no alternative"),
        ("4: 1,2 3", "'2 3' is no alternative"),
        ("4: 1,,2,3", "'' is no alternative"),
        ("4: 1,2,3,", "'' is no alternative"),
        ("4: 1,2,3;", "'3;' is no alternative"),
        ("4: 1: 2,3", "'1: 2' is no alternative"),
        ("4: 1,2,3,1", "alternative 1 is ranked twice"),
        ("4: 1,2", "2 of 3 alternatives are ranked; type soc needs all"),
        ("4: {1,2},3", "alternatives are tied; files of type soc hold strict orders"),
        ("4: {1,2,3", "braces in ' {1,2,3' do not pair"),
        ("4: 1,2,3}", "do not pair"),
        ("4: {1,{2,3}}", "do not pair"),
        ("4: {1}2,3", "do not pair"),
    ],
)
def test_bad_orders_are_left_out_and_named(bad: str, what: str) -> None:
    read = parse(NEW_SOC.replace("4: 2,1,3", bad + "\n4: 2,1,3"))
    assert [problem.place for problem in read.problems] == [16]
    assert what in read.problems[0].what
    assert [order.line for order in read.orders] == [17, 18]


def test_bad_orders_by_type() -> None:
    assert problems(NEW_SOC + "# NUMBER VOTERS: 7") == [
        Problem(18, "a header line stands among the data; all of them must come first.")
    ]
    assert problems(NEW_TOC.replace(",3", "")) == [
        Problem(16, "2 of 3 alternatives are ranked; type toc needs all.")
    ]
    tied = "alternatives are tied; files of type soi hold strict orders."
    assert problems(NEW_SOI.replace("4: 2", "4: {2,3}")) == [Problem(16, tied)]
    assert problems(OLD_SOC.replace("4,2,1,3", "4,2,1,{3")) == [
        Problem(6, "the braces in '2,1,{3' do not pair; a tie is {a,b}.")
    ]
    assert problems(OLD_SOC.replace("4,2,1,3", "x,2,1,3"))[0].place == 6


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("1,2", "'1,2' is no edge; 'source,target,weight' is needed"),
        ("1,2,1,1", "is no edge"),
        ("1,4,1", "'4' is no alternative; their numbers are 1 to 3"),
        ("0,1,1", "'0' is no alternative"),
        ("a,1,1", "'a' is no alternative"),
        ("2,2,1", "an edge leads from alternative 2 to itself"),
        ("1,2,-1", "the weight is '-1'; a finite number from 0 on is needed"),
        ("1,2,nan", "the weight is 'nan'"),
        ("1,2,inf", "the weight is 'inf'"),
        ("1,2,1e999", "the weight is '1e999'"),
        ("1,2,1_0", "the weight is '1_0'"),
        ("1,2,", "the weight is ''"),
    ],
)
def test_bad_edges_are_left_out_and_named(bad: str, what: str) -> None:
    read = parse(NEW_WMD.replace("1,2,1.0", f"{bad}\n1,2,1.0"))
    assert [problem.place for problem in read.problems] == [8]
    assert what in read.problems[0].what
    assert [edge.line for edge in read.edges] == [9, 10, 11]


def test_old_edges_out_of_range() -> None:
    what = "'3' is no alternative; their numbers are 0 to 2."
    assert problems(OLD_WMD.replace("2,0,2.5", "3,0,2.5"), "wmd") == [Problem(7, what)]


@pytest.mark.parametrize(
    ("text", "suffix", "place", "what"),
    [
        (NEW_SOC.replace("VOTERS: 7", "VOTERS: 8"), "", 11, "8 voters are announced, but the file"),
        (NEW_SOC.replace("ORDERS: 2", "ORDERS: 1,0"), "", 12, "'1,0' unique orders are announced"),
        (NEW_SOC.replace("ORDERS: 2", "ORDERS: 9"), "", 12, "9 unique orders are announced, but"),
        (
            NEW_WMD.replace("EDGES: 3", "EDGES: 4"),
            "",
            4,
            "4 edges are announced, but the file has 3",
        ),
        (OLD_SOC.replace("7,7,2", "7,8,2"), "soc", 5, "8 voters are announced, but the file has 7"),
        (OLD_SOC.replace("7,7,2", "7,7,3"), "soc", 5, "3 unique orders are announced, but"),
        (OLD_WMD.replace("3,3\n", "3,2\n"), "wmd", 1, "2 edges are announced, but the file has 3"),
    ],
)
def test_totals_that_disagree(text: str, suffix: str, place: int, what: str) -> None:
    (problem,) = problems(text, suffix)
    assert problem.place == place
    assert what in problem.what


def test_both_totals_may_disagree() -> None:
    text = NEW_SOC.replace("VOTERS: 7", "VOTERS: 8").replace("ORDERS: 2", "ORDERS: 9")
    assert [problem.place for problem in problems(text)] == [11, 12]


@pytest.mark.parametrize(
    ("text", "suffix", "what"),
    [
        ("", "soc", "the file is empty"),
        (" \n\n", "soc", "the file is empty"),
        (NEW_SOC.replace("soc\n", "cat\n"), "", "type 'cat', groups of alternatives and no order,"),
        (OLD_SOC, "cat", "groups of alternatives and no order"),
        (NEW_SOC.replace("TYPE: soc", "TYPE: xyz"), "", "the data are of type 'xyz'"),
        (NEW_SOC.replace("ALTERNATIVES: 3", "ALTERNATIVES: 4"), "", "3 names are given for 4"),
        (NEW_SOC.replace("ALTERNATIVES: 3", "ALTERNATIVES: 2"), "", "3 names are given for 2"),
        (NEW_SOC.replace("ALTERNATIVES: 3", "ALTERNATIVES: 0"), "", "on line 10 is '0'; a whole"),
        (NEW_SOC.replace("ALTERNATIVES: 3", "ALTERNATIVES: x"), "", "on line 10 is 'x'; a whole"),
        (NEW_SOC.replace("S: 3", f"S: {10**12}"), "", "'# ALTERNATIVE NAME 4: name' is needed"),
        (NEW_SOC.replace("S: 3", f"S: {10**40}"), "", "a whole number from 1 to"),
        (NEW_SOC.replace("NAME 3:", "NAME 4:"), "", "'# ALTERNATIVE NAME 3: name' is needed"),
        (NEW_SOC.replace("NAME 3:", "NAME 2:"), "", "line 15 names alternative 2 a second time"),
        (NEW_SOC.replace(": Rice", ': "Salad"'), "", "line 15 gives '\"Salad\"', as line 14 does"),
        (NEW_SOC.replace(": Rice", ":"), "", "line 15 gives an empty name"),
        ("# DATA TYPE: soc\n1: 1\n", "", "0 names are given for 0 alternatives"),
        (f"{10**12}\n1,a\n2,b\n", "soc", "'the end' stands where '3,name' is needed"),
        (
            OLD_SOC.replace("3\n1,", "4\n1,"),
            "soc",
            "'7,7,2' stands where '4,name' is needed (line 5",
        ),
        (OLD_SOC.replace("3\n1,", "2\n1,"), "soc", "'3,Rice' follows the names of 2 alternatives"),
        (OLD_SOC.replace("3\n1,", "x\n1,"), "soc", "on line 1 is 'x'; a whole number"),
        (OLD_SOC.replace("3\n1,", "3,2\n1,"), "soc", "on line 1 is '3,2'; a whole number"),
        (OLD_SOC.replace("2,Salad", "4,Salad"), "soc", "'4,Salad' stands where '2,name' is needed"),
        (OLD_SOC.replace("Salad", "Rice"), "soc", "line 4 gives 'Rice', as line 3 does"),
        (OLD_SOC.replace("7,7,2", "7,7"), "soc", "'voters,sum of counts,unique orders' is needed"),
        ("1\n1,a\n", "soc", "'' follows the names of 1 alternative;"),
    ],
)
def test_headers_that_mean_nothing(text: str, suffix: str, what: str) -> None:
    with pytest.raises(DataError) as error:
        parse(text, suffix)
    assert what in str(error.value)


def test_long_lines_cost_no_more_than_their_length() -> None:
    n = 20_000
    names = "".join(f"# ALTERNATIVE NAME {k}: a{k}\n" for k in range(1, n + 1))
    order = ",".join(map(str, range(1, n - 1)))
    ways = [f"1: {order},{{{n - 1},{n}}}", "1: " + " " * n + "{", "1: " + "{" * n, "#" + " " * n]
    read = parse("# DATA TYPE: toc\n" + names + "\n".join(ways))
    assert len(read.orders) == 1
    assert [problem.place for problem in read.problems] == [n + 3, n + 4, n + 5]


@pytest.mark.parametrize("seed", range(4))
def test_mutations_raise_nothing_but_data_errors(seed: int) -> None:
    rng = random.Random(seed)
    texts = [text for *both, _ in SAMPLES.values() for text in both] + [NEW_WMD, OLD_WMD]
    kinds = ["soc", "soi", "toc", "toi", "wmd"]
    pieces = [",", ":", "{", "}", "#", "\n", " ", "0", "9" * 30, "-", ".", "e9", "²", "\x00", "cat"]
    read = refused = 0
    for _ in range(1000):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 4)):
            i = rng.randrange(len(text) + 1)
            gone = rng.choice([0, 0, 1, 1, 5, 40])
            text = text[:i] + rng.choice([*pieces, ""]) + text[i + gone :]
        kind = rng.choice(kinds)
        is_preflib(text, kind)
        try:
            out = parse(text, kind)
        except DataError:
            refused += 1
            continue
        read += 1
        n = len(out.names)
        for order in out.orders:
            ranked = [x for members in order.classes for x in members]
            assert order.count >= 1
            assert sorted(set(ranked)) == sorted(ranked)
            assert 0 <= min(ranked) <= max(ranked) < n
        assert all(edge.source != edge.target for edge in out.edges)
        assert all(0 <= x < n for edge in out.edges for x in edge[1:3])
        assert all(1 <= problem.place <= len(text.splitlines()) for problem in out.problems)
    assert min(read, refused) > 100


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
