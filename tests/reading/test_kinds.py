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


def test_roles_and_options_tell_the_kind(write: Any) -> None:
    path = write("data.csv", "Champion,Victim\na,b\nb,c\n")
    assert "fit no kind" in refusal(path)
    named = luce.read(path, winner="Champion", loser="Victim")
    assert named == luce.from_pairs([("a", "b"), ("b", "c")])
    assert reading.understand(path, source="Champion", target="Victim")[0] == "transitions"
    states = write("states.csv", "who,what\n1,a\n1,b\n")
    assert reading.understand(states, sequence="who", state="what")[0] == "transitions"
    table = write("table.csv", "x,y\n1,2\n2,1\n")
    assert reading.understand(table, best="smallest")[0] == "rankings"
    told = refusal(path, winner="Champion", chosen="Victim")
    assert "winner is for pairs; chosen is for choices" in told


def test_all_questions_are_asked_at_once(write: Any) -> None:
    path = write("data.csv", "Winer,Lser,weight\na,b,2\nb,c,1\n")
    told = refusal(path, winner="Winner", loser="Loser", count="wight", colour="red")
    assert told.splitlines() == [
        "data.csv: 4 things are to be told or mended",
        "  winner = 'Winner': there is no such column; the columns are 'Winer', 'Lser', 'weight'. "
        "Did you mean 'Winer'?",
        "  loser = 'Loser': there is no such column; the columns are 'Winer', 'Lser', 'weight'. "
        "Did you mean 'Lser'?",
        "  count = 'wight': there is no such column; the columns are 'Winer', 'Lser', 'weight'. "
        "Did you mean 'weight'?",
        "  colour is no option of any reader.",
    ]
    assert refusal(path, winner="Winer").endswith("Did you mean loser='Lser'?")
    assert refusal(path, kind="pairs", winer="Winer").endswith("Did you mean 'winner'?")
    two = refusal(write("r.csv", "ranking\na>b=c\nb>a\n"))
    assert "ranking with a tie" in two
    assert "some rankings leave items out" in two


def test_sets_have_no_order_and_no_weights() -> None:
    refused = [
        (luce.from_pairs, [{"a", "b"}], "as a pair; a set has no order"),
        (luce.from_pairs, [frozenset("ab")], "as a pair; a set has no order"),
        (luce.from_pairs, {("a", "b")}, "as pairs; a set has no order"),
        (luce.from_transitions, {"a", "b"}, "as a sequence of states; a set has no order"),
        (luce.from_transitions, [{"a", "b"}], "as a sequence of states; a set has no order"),
        (luce.from_rankings, [{"a", "b"}], "as a ranking; a set has no order"),
        (luce.from_choices, [("a", {"a": 1, "b": 0.5})], "gives its members weights"),
    ]
    for read, data, words in refused:
        with pytest.raises(luce.errors.DataError, match=words):
            read(data)
    equal = luce.from_teams([({"a": 1, "b": 1.0}, ["c"])])
    assert equal == luce.from_teams([(["a", "b"], ["c"])])
    assert luce.from_rankings([["a", {"b", "c"}]], ties="last").n_outcomes == 1
    assert luce.from_transitions([frozenset("a"), frozenset("b")]).n_categories == 2
