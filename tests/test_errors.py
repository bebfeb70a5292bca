"""Errors and warnings: the facts that they carry, and the place that they point at."""

import pickle
from typing import Any

import pytest

import luce
from luce.errors import (
    BadRowsError,
    ConvergenceWarning,
    EvidenceWarning,
    NoMaximumError,
    NotExactError,
    Problem,
    SkippedRowsWarning,
    listed,
    warn_user,
    warnings_gathered,
)


@pytest.mark.parametrize("kind", [BadRowsError, SkippedRowsWarning])
def test_problems_travel_between_processes(kind: Any) -> None:
    problem = Problem(3, "no number.")
    again = pickle.loads(pickle.dumps(kind([problem], "line", "votes.csv")))
    assert type(again) is kind
    assert (again.problems, again.unit, again.source) == ([problem], "line", "votes.csv")
    assert "votes.csv: " in str(again)
    assert "line 3: no number." in str(again)


def test_long_lists_of_problems_are_cut() -> None:
    problems = [Problem(k, "wrong.") for k in range(1, 26)]
    assert listed(problems, "row").splitlines()[-1] == "  ... and 5 more rows"
    assert listed(problems[:1], "row") == "row 1: wrong."
    assert listed([Problem(0, "no header.")], "row") == "no header."
    assert "Mend them, or leave them out" in str(BadRowsError(problems))


def test_errors_and_warnings_carry_what_was_found() -> None:
    with pytest.raises(NotExactError) as inexact:
        luce.Posterior(luce.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])).mean()
    assert inexact.value.cores == 1
    assert NoMaximumError("none", [("a", "b"), ("c",)]).groups == [["a", "b"], ["c"]]
    assert EvidenceWarning("in doubt", {"a": (1.0, 2.0, 3.0)}).estimates == {"a": (1.0, 2.0, 3.0)}
    assert EvidenceWarning("in doubt").estimates == {}
    doubt = ConvergenceWarning("not yet", 1.2, 30.0)
    assert (doubt.rhat, doubt.ess) == (1.2, 30.0)


def test_warnings_point_at_the_user_or_are_gathered() -> None:
    with warnings_gathered() as found:
        warn_user(EvidenceWarning("one"))
    assert [str(warning) for warning in found] == ["one"]
    with pytest.warns(EvidenceWarning, match="two") as caught:
        warn_user(EvidenceWarning("two"))
    assert caught[0].filename == __file__
    assert len(found) == 1
