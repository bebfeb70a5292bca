"""Single values: labels, lists of labels in one text, and texts that only look like lists."""

import pytest

from luce import from_choices, from_groups, from_rankings, from_teams, from_transitions
from luce.errors import BadRowsError, DataError


@pytest.mark.parametrize("text", ["['a', 'b']", "[7, 10]", '["a"]'])
def test_lists_that_became_text_are_found(text: str) -> None:
    for read, columns in [
        (from_rankings, {"order": [text]}),
        (from_choices, {"chosen": ["a"], "offered": [text]}),
        (from_teams, {"winners": [text], "losers": ["c"]}),
        (from_groups, {"group": [text]}),
    ]:
        with pytest.raises(BadRowsError, match=r"row 1: .* a list printed as text"):
            read(columns)
    bracketed = from_groups({"group": ["[x]|[y]", "[z]"]})
    assert bracketed.categories == ("[x]", "[y]", "[z]")


def test_separators_are_asked_for_where_there_are_two() -> None:
    teams = from_teams({"winners": ["Disney+,Netflix"], "losers": ["Hulu,Max"]})
    assert teams.categories == ("Disney+", "Hulu", "Max", "Netflix")
    with pytest.raises(DataError, match="separator"):
        from_groups({"group": ["a|b", "a,c"]})
    assert from_groups({"group": ["a|b", "a,c"]}, separator="|").categories == ("a", "a,c", "b")


def test_spaces_around_labels_do_not_count() -> None:
    assert from_rankings([["a ", "b"], ["a", "b"]]).categories == ("a", "b")
    assert from_teams([(["a "], ["b"]), (["a"], ["b"])]).categories == ("a", "b")
    assert from_transitions([["a ", "b", "a"]]).categories == ("a", "b")
