"""An account of every column: what it was read as, or why it was ignored and what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from luce.counts.labels import some
from luce.errors import IgnoredColumnsWarning, warn_user
from luce.reading.column_contents import holds_numbers, holds_times
from luce.reading.rows import Column
from luce.reading.sources import Source
from luce.reading.values import is_unnamed, plain, words_of

LEFT_OUT = "left out, as asked"
IGNORED = "ignored"

# Words in the names of columns that are often part of data and no part of a likelihood here.
_NAMES = {
    "judge": "judge judges rater annotator assessor evaluator reviewer respondent participant "
    "voter user worker labeler labeller expert panelist subject person",
    "time": "time date datetime day month year week season hour timestamp tstamp",
    "tie": "tie ties tied draw draws drawn isdraw istie",
    "weight": "weight weights wt wgt multiplicity repetitions reps replicates",
    "margin": "score scores points goals margin",
    "number": "id ids no nr key index idx row number code",
    "total": "total totals sum overall",
    "covariate": "price cost fare age income distance",
}
_PLAYERS = "if it lists weights of players in teams, name it with weights1= or weights2="
_NOT_NUMBERS = ("paid", "bid", "grid", "valid")  # words that end in "id"


def account_for_columns(source: Source, used: Mapping[str, str]) -> None:
    """Note what each column of a source was read as, and warn of ignored ones that may matter."""
    ignored = [name for name in source.names if name not in used]
    held = source.head(ignored) if ignored else {}
    advice = {name: words for name in ignored if (words := _advice(name, held[name]))}
    for name in source.names:
        source.uses[name] = used.get(name) or f"{IGNORED}: {advice.get(name) or _why(name)}"
    source.uses.update(dict.fromkeys(source.ignored, LEFT_OUT))
    if advice:
        warn_user(IgnoredColumnsWarning(advice, source.name))


def _why(name: str) -> str:
    """Say why a column is ignored that needs no advice."""
    return "it names or numbers rows" if _numbers_rows(name) else "text that plays no part here"


def _advice(name: str, column: Column) -> str:
    """Say what an ignored column may be good for; nothing of a text or a number of the row."""
    if _is_called(name, "judge"):
        return "all are pooled, whoever judged or chose"
    if _is_called(name, "time") or holds_times(column):
        return "probabilities do not change over time: all times are pooled"
    if _is_called(name, "tie"):
        return "if it tells of ties, name it with tied= or outcome="
    if "neutral" in words_of(name):
        return (
            "if it tells of neutral grounds, home= takes a column that names who was at home and "
            "is empty there"
        )
    if not holds_numbers(column):
        return _PLAYERS if _is_of_a_side(name, "weight") else ""
    if _numbers_rows(name):
        return ""
    if _is_called(name, "weight"):
        return f"if it is how often a row happened, say count={name!r}, --column count={name}"
    if _is_called(name, "margin"):
        return "who won is counted, and not by how much"
    return "numbers; probabilities depend on no covariates"


def scores_in_words(names: Iterable[str]) -> str:
    """Say that columns of goals or points tell no results, where there are some."""
    scores = [name for name in names if _is_of_a_side(name, "margin")]
    if not scores:
        return ""
    return (
        f" Who won is read, and not by how much: beside {some(scores)} a column is wanted that "
        "names the winner or a tie, as H, D and A do."
    )


def strangers(names: Iterable[str]) -> list[str]:
    """List columns of a wide table that are hardly one of its categories, by their names."""
    return [name for name in names if any(_is_called(name, what) for what in _NAMES)]


def _is_called(name: str, what: str) -> bool:
    return bool({*words_of(name), plain(name)} & set(_NAMES[what].split()))


def _is_of_a_side(name: str, what: str) -> bool:
    """Tell whether a column is called like this, or with the number of a side: goals1."""
    return _is_called(name, what) or _is_called(plain(name).rstrip("12"), what)


def _numbers_rows(name: str) -> bool:
    """Tell whether a column is called as those are that number rows or persons: game_id."""
    spelled = plain(name)
    last = (words_of(name) or [""])[-1]
    ends = spelled.endswith("id") and spelled not in _NOT_NUMBERS
    return is_unnamed(name) or not spelled or ends or last in _NAMES["number"].split()
