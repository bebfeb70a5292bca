"""Kinds of data: told by the names of columns, asked for where these leave a doubt."""

import inspect
import subprocess
import sys
from typing import Any

import pytest
from lib.data_files import refusal

import luce
from luce.reading import files as reading
from luce.reading.kind import USUAL, Kind
from luce.reading.kinds import KINDS, kind_named

COLUMNS = {
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


@pytest.mark.parametrize(("kind", "text"), [(k, t) for k, texts in COLUMNS.items() for t in texts])
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


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_role_of_a_kind_is_a_parameter_with_usual_names(kind: Kind) -> None:
    public = getattr(luce, f"from_{kind.name}")
    parameters = list(inspect.signature(public).parameters)
    assert parameters[0] == "data"
    assert kind.options == parameters[1:]
    assert {*kind.roles, *kind.column_options} <= set(parameters)
    assert set(kind.roles) <= set(USUAL)
    assert all(layout.needed for layout in kind.layouts.values())
    assert set(kind.numbers) & set(kind.roles) or not kind.layouts


def test_a_kind_is_read_by_name_as_by_its_function() -> None:
    games = {"winner": ["a", "a"], "loser": ["b", "c"]}
    reading = kind_named("pairs").read(games)
    assert reading.counts == luce.from_pairs(games)
    assert str(reading) == "2 comparisons among 3 categories"
    with pytest.raises(luce.errors.DataError, match="colour is no option for pairs"):
        kind_named("pairs").read(games, colour="red")
    with pytest.raises(luce.errors.DataError, match="one of pairs, rankings, choices"):
        kind_named("poems")


def test_only_the_reader_that_is_needed_is_loaded() -> None:
    code = (
        "import sys, luce; luce.from_pairs([('a', 'b')]); print(*sorted(m for m in sys.modules if"
        " m.startswith('luce.reading.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("luce.reading.") for name in done.stdout.split()}
    assert {"pairs", "kinds"} <= loaded
    assert not {"rankings", "choices", "groups", "teams", "files"} & loaded
