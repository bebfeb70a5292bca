"""Choices: codes, cases of several rows, and availability."""

from typing import Any

import pytest
from lib.data_files import places, problems, read_within

import luce
from luce import ConditionalCounts, from_choices, from_rankings


def test_codes_of_choices_are_numbers() -> None:
    shelf = {f"avail_{k}": [1, 1] for k in (1, 2, 10, 20)}
    counts = from_choices({"choice": [1.0, 2.0], **shelf})
    assert dict(zip(counts.categories, counts.category_counts, strict=True)) == {
        "1": 1, "2": 1, "10": 0, "20": 0,
    }  # fmt: skip
    with pytest.raises(luce.errors.BadRowsError, match="-1 was chosen but not on offer"):
        from_choices({"choice": [-1, 2], "avail_1": [1, 1], "avail_2": [1, 1]})
    text = from_choices({"chosen": [1, 2], "offered": ["1|2", "2|3"]})
    assert text == ConditionalCounts("123").observe({"1": 1}, within="12").observe(
        {"2": 1}, within="23"
    )


def test_long_layouts_have_counts_and_availability() -> None:
    ab = ConditionalCounts("ab").observe({"a": 10, "b": 1})
    base = {"id": [1, 1, 2, 2], "item": list("abab")}
    assert from_rankings({**base, "rank": [1, 2, 2, 1], "freq": [10, 10, 1, 1]}) == ab
    chosen = {"id": [1, 1, 2, 2], "alt": list("abab"), "choice": [1, 0, 0, 1]}
    assert from_choices({**chosen, "count": [10, 10, 1, 1]}) == ab
    with pytest.raises(luce.errors.BadRowsError, match="differs between the rows"):
        from_choices({**chosen, "count": [10, 9, 1, 1]})
    three = {"id": [1, 1, 1], "alt": list("abc"), "choice": [1, 0, 0]}
    assert from_choices({**three, "avail": [1, 1, 0]}).categories == ("a", "b")
    with pytest.raises(luce.errors.BadRowsError, match="not available"):
        from_choices({**three, "available": [0, 1, 1]})


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


def test_a_case_that_comes_back_later_is_one_case(write: Any) -> None:
    together = "case,alt,choice\n1,a,1\n1,b,0\n1,c,0\n2,a,0\n2,b,1\n"
    apart = "case,alt,choice\n1,a,1\n2,a,0\n1,b,0\n2,b,1\n1,c,0\n"
    assert luce.read(write("t.csv", together)) == luce.read(write("a.csv", apart))
    races = "race,driver,place\n1,a,2\n2,b,1\n1,b,1\n2,a,2\n2,a,3\n"
    assert problems(write("r.csv", races)) == [
        (3, "in the group that begins here, 'a' appears twice in one ranking.")
    ]


@pytest.mark.slow
def test_many_cases_of_few_shapes_need_little_memory(write: Any) -> None:
    cases = "".join(
        f"{i},car,{int(i % 3 == 0)}\n{i},bus,{int(i % 3 == 1)}\n{i},tram,{int(i % 3 == 2)}\n"
        for i in range(30_000)
    )
    counts = read_within(5, write("d.csv", "case,alt,choice\n" + cases))
    shares = {"car": 10_000, "bus": 10_000, "tram": 10_000}
    assert counts == luce.ConditionalCounts(["bus", "car", "tram"]).observe(shares)


def test_a_missing_choice_beside_losers_is_refused() -> None:
    """`pandas.NA` has no truth value, so it must not be looked for among the losers."""
    pandas = pytest.importorskip("pandas")
    rows = [{"chosen": pandas.NA, "losers": ["a", "c"]}, {"chosen": "b", "losers": ["a"]}]
    with pytest.raises(luce.errors.BadRowsError, match="the chosen one is missing"):
        luce.from_choices(rows)


CODES = {1: "train", 2: "sm", 0: "car"}
CODED: dict[str, dict[str, Any]] = {
    "wide": {"choice": [2, 0], "train_av": [1, 1], "sm_av": [1, 0], "car_av": [1, 1]},
    "picks": {"chosen": [2, 0], "offered": ["0|1|2", "0|1"]},
    "losers": {"chosen": [2, 0], "losers": ["1|0", "1"]},
    "long": {"case": [1, 1, 1, 2, 2], "alt": [1, 2, 0, 1, 0], "choice": [0, 1, 0, 0, 1]},
    "long by label": {"case": [1, 1, 1, 2, 2], "alt": [1, 2, 5, 1, 5], "choice": [2, 2, 2, 5, 5]},
}


@pytest.mark.parametrize("layout", CODED)
@pytest.mark.parametrize("written", [int, str, float])
def test_coded_choices(layout: str, written: type) -> None:
    """A code is found as a number or as its text; what is no code stays as it is."""
    columns = {
        name: [x if isinstance(x, str) or name in ("case", "train_av") else written(x) for x in xs]
        for name, xs in CODED[layout].items()
    }
    codes = {**CODES, 5: "car"} if layout == "long by label" else CODES
    modes = ["train", "sm", "car"]
    expected = ConditionalCounts(modes).observe({"sm": 1}).observe({"car": 1}, without=["sm"])
    assert from_choices(columns, codes=codes, categories=modes) == expected
    texts = {str(code): label for code, label in codes.items()}
    assert from_choices(columns, codes=texts, categories=modes) == expected


def test_a_code_that_is_not_explained_names_the_option() -> None:
    """Where all are codes, one question is asked, and no label is put beside a code."""
    with pytest.raises(luce.errors.DataError, match=r"--codes \d=\.\.\.,\d=\.\.\.") as question:
        luce.from_choices(CODED["wide"], skip_bad=True)
    assert not isinstance(question.value, luce.errors.BadRowsError)
    mixed = [("train", ["train", "car"]), ("2", ["train", "car"])]
    with pytest.raises(luce.errors.BadRowsError, match=r"If 2 is a code, .*\(--codes 2=\.\.\.\)"):
        luce.from_choices(mixed)
    with pytest.raises(luce.errors.BadRowsError, match="'3' was chosen but not on offer") as caught:
        luce.from_choices([("3", ["1", "2"])])
    assert "code" not in str(caught.value)
    with pytest.raises(luce.errors.DataError, match="a mapping from codes to labels is needed"):
        luce.from_choices(CODED["wide"], codes=["train"])  # type: ignore[arg-type]
