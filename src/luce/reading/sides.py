"""Two sides meet and one of them wins: the common part of pairs and teams.

side A beats side B            p(A) / p(A and B together)
A has the home advantage       a parameter multiplies p(A); or, as an entity, the category "home"
                               stands on A's side
a tie                          a model with a parameter of its own (Davidson; Rao and Kupper); or,
                               as an entity, the category "tie" stands on neither side, and wins

With a parameter, meetings become contests (`luce.counts.contests`); otherwise outcomes in sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.confounding import untold_parameters
from luce.counts.contests import TIE_MODELS
from luce.counts.counts import ConditionalCounts
from luce.errors import ConfoundedHomeWarning, DataError, warn_user
from luce.reading.inspection import Inspection
from luce.reading.kind import Kind, Match, check_column, near
from luce.reading.rows import Column
from luce.reading.sources import Source
from luce.reading.tally import Lists, Tally
from luce.reading.ties import ask_for_meaning, check_ties
from luce.reading.values import as_number, is_missing, plain, stripped

TIE_MEANINGS = (*TIE_MODELS, "entity", "half", "drop")
HOME_EFFECTS = ("multiplicative", "entity")

# Results of one meeting.
UNKNOWN, FIRST, SECOND, TIE = range(4)

_WORDS = {
    FIRST: "modela left first item1 player1 w1 white home win h w side1 team1 true",
    SECOND: "modelb right b second item2 player2 w2 black away loss side2 team2 false",
    TIE: "tie draw d tiebothbad bothbad tied drawn equal x t",
}
_RESULT_OF_WORD = {word: result for result, words in _WORDS.items() for word in words.split()}
_SCORES = {"1-0": FIRST, "0-1": SECOND, "1/2-1/2": TIE, "½-½": TIE}


@dataclass(frozen=True)
class SideOptions:
    """Options of pairs and teams: the meaning of ties, the advantage, and the categories."""

    ties: str | None = None
    home: str | None = None
    home_effect: str = "multiplicative"
    tie_label: Label = None  # "tie" unless given
    home_label: Label = None  # "home" unless given
    categories: Labels | None = None

    def __post_init__(self) -> None:
        check_ties(self.ties, TIE_MEANINGS)
        self._check_home_effect()
        if self.tie_label is not None and self.ties != "entity":
            raise DataError(
                f"tie_label = {self.tie_label!r} names the category of ties, which only "
                f"ties='entity' makes; ties = {self.ties!r} was given. Leave tie_label out."
            )
        if self.home_label is not None and not self.has_home_category:
            how = f"home_effect = {self.home_effect!r}" if self.home else "no home=..."
            raise DataError(
                f"home_label = {self.home_label!r} names the category of the advantage, which only "
                f"home_effect='entity' makes; {how} was given. Leave home_label out."
            )
        if len(self.effects()) < (self.ties == "entity") + self.has_home_category:
            raise DataError(
                f"tie_label and home_label are both {self.tie_label or 'tie'!r}; give one another "
                "name."
            )

    def _check_home_effect(self) -> None:
        """Refuse an effect that is not known, is not used, or does not go with the ties."""
        offers = (
            "home_effect='multiplicative' multiplies the strength of the side at home by a "
            "parameter, the same for all; home_effect='entity' adds a category to its side"
        )
        if self.home_effect not in HOME_EFFECTS:
            given = str(self.home_effect).lower()
            own = (
                " cannot be done: an advantage of each team's own would be a parameter for each "
                "team. To see whether one differs, read its home matches apart, or give it two "
                "labels, one at home and one away; then without home=. Offered:"
                if any(word in given for word in ("team", "own", "side", "item", "player"))
                else f" is not known.{near(given, HOME_EFFECTS)}"
            )
            raise DataError(f"home_effect = {self.home_effect!r}{own} {offers}.")
        if self.home is None and self.home_effect != "multiplicative":
            raise DataError(
                f"home_effect = {self.home_effect!r} says how an advantage acts, but not who has "
                "it: give home='first', home='second' or a column, or leave home_effect out."
            )
        if self.ties == "entity" and self.has_home_factor:
            raise DataError(
                "ties='entity' makes the tie a competitor, and no model here joins that with an "
                "advantage that multiplies. Give ties='davidson' (or 'rao-kupper') with the "
                "advantage as it is, or home_effect='entity', which adds a category to the side "
                "at home."
            )

    @property
    def has_home_factor(self) -> bool:
        """Does a parameter multiply the strength of the side at home?"""
        return self.home is not None and self.home_effect == "multiplicative"

    @property
    def has_home_category(self) -> bool:
        """Does a category stand on the side at home?"""
        return self.home is not None and self.home_effect == "entity"

    @property
    def tie_model(self) -> str | None:
        """The model of ties with a parameter, if one was asked for."""
        return self.ties if self.ties in TIE_MODELS else None

    @property
    def makes_contests(self) -> bool:
        """Are there parameters beside the strengths?"""
        return self.has_home_factor or self.tie_model is not None

    @property
    def home_column(self) -> str | None:
        """The column that names who has the advantage, if one was given."""
        return None if self.home in ("first", "second") else self.home

    def effects(self) -> dict[Label, str]:
        """Labels of the categories for ties and for the advantage, where there are such."""
        ties = {self.tie_category: "tie"} if self.ties == "entity" else {}
        return ties | ({self.home_category: "home"} if self.has_home_category else {})

    @property
    def tie_category(self) -> Label:
        """Label of the category for ties."""
        return "tie" if self.tie_label is None else self.tie_label

    @property
    def home_category(self) -> Label:
        """Label of the category for the advantage."""
        return "home" if self.home_label is None else self.home_label


@dataclass(frozen=True)
class Meetings:
    """Meetings of two sides: wins of the first, wins of the second, ties, and who is at home.

    A side is a label or, where `teams` meet, a tuple of labels.  `weights` of the two sides are
    tuples of numbers, one for each label; None where all are 1.
    """

    first: Column
    second: Column
    wins1: FloatArray
    wins2: FloatArray
    ties: FloatArray
    home: IntArray  # 0 for nobody, FIRST or SECOND
    teams: bool
    weights: tuple[Column | None, Column | None] = (None, None)

    def take(self, rows: BoolArray) -> Meetings:
        """Select some meetings."""
        if rows.all():
            return self
        one, two = (None if own is None else own.take(rows) for own in self.weights)
        return Meetings(
            self.first.take(rows),
            self.second.take(rows),
            self.wins1[rows],
            self.wins2[rows],
            self.ties[rows],
            self.home[rows],
            self.teams,
            (one, two),
        )


def inspect_sides(kind: Kind, source: Source, found: Match, options: SideOptions) -> Inspection:
    """Take the rows of meetings out of a source, with the column that names who is at home."""
    column = options.home_column
    if column is not None:
        return kind.inspect(source, found, home=check_column(source.names, "home", str(column)))
    if options.home is not None and {"winner", "winners"} & set(found.roles):
        raise DataError(
            f"home = {options.home!r}, but {found.layout} do not say who was the first: give the "
            "column that names who was at home."
        )
    return kind.inspect(source, found)


def read_meetings(
    inspection: Inspection,
    sides: tuple[Column, Column],
    named: tuple[Column, Column],
    options: SideOptions,
    teams: bool,
    weights: tuple[Column | None, Column | None] = (None, None),
) -> Meetings:
    """Read results and advantages; `named` are the sides as outcomes and venues name them."""
    results = _read_results(inspection, *named)
    home = _read_home(inspection, options.home, *named)
    return Meetings(*sides, *results, home, teams, weights)


def _read_results(
    inspection: Inspection, first: Column, second: Column
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Read wins of the first side, wins of the second, and ties, from numbers or outcomes."""
    nothing = np.zeros(len(inspection))
    if "wins1" in inspection:
        wins1, wins2, ties = (
            inspection.counts(role) if role in inspection else nothing
            for role in ("wins1", "wins2", "tied")
        )
        return wins1, wins2, ties
    times = inspection.counts()
    if "outcome" not in inspection:
        return times, nothing, nothing
    outcome = inspection["outcome"]
    result = read_outcomes(outcome, first, second, inspection.roles)
    inspection.refuse(outcome.missing, lambda i: "the outcome is missing.")
    inspection.refuse(
        result == UNKNOWN,
        lambda i: (
            f"the outcome is {outcome[i]!r}; it must name the winner, {first[i]!r} or "
            f"{second[i]!r}, or be a tie."
        ),
    )
    wins1, wins2, ties = (np.where(result == code, times, 0.0) for code in (FIRST, SECOND, TIE))
    return wins1, wins2, ties


def _read_home(inspection: Inspection, home: str | None, first: Column, second: Column) -> IntArray:
    """Read who has the advantage: nobody, one side in all rows, or the side a column names."""
    if "home" not in inspection:
        return np.full(len(inspection), {None: 0, "first": FIRST, "second": SECOND}[home])
    results = {inspection.roles.get(role) for role in ("winner", "loser", "outcome")}
    if home in results:
        raise DataError(
            f"home = {home!r} is the column of results: whoever is at home would always win, or "
            "always lose. Give a column that names who was at home, whatever the result."
        )
    named = inspection.labels("home")
    side = _sides_named(named, first, second)
    inspection.refuse(
        (side == UNKNOWN) & ~named.missing,
        lambda i: (
            f"{home} is {named[i]!r}; it must name {first[i]!r} or {second[i]!r}, or be "
            "empty where nobody has the advantage."
        ),
    )
    return np.where(named.missing, 0, side)


def count_meetings(meetings: Meetings, options: SideOptions) -> tuple[ConditionalCounts, float]:
    """Count meetings; returns the counts and the number of meetings."""
    tally, number = _tallied(meetings, options)
    counts = tally.counts()
    # One meeting, as cross-validation reads them one by one, needs no word.
    if options.has_home_factor and number > 1 and (why := untold_parameters(counts).get("home")):
        warn_user(
            ConfoundedHomeWarning(
                f"home: {why}. Matches of the same sides on the other's ground, or on neutral "
                "ground, would tell; a known advantage can be given as a number, "
                "Posterior(counts, home=1.3) (on the command line: --home-prior 1.3)."
            )
        )
    return counts, number


def _tallied(meetings: Meetings, options: SideOptions) -> tuple[Tally, float]:
    """Add meetings to a tally; returns it and their number."""
    ask_for_meaning(float(meetings.ties.sum()), options.ties, TIE_MEANINGS)
    wins1, wins2, ties = meetings.wins1, meetings.wins2, meetings.ties
    if options.ties == "drop":
        ties = np.zeros(len(ties))
    number = float((wins1 + wins2 + ties).sum())
    if options.ties == "half":
        wins1, wins2, ties = wins1 + ties / 2, wins2 + ties / 2, np.zeros(len(ties))
    tally = _tally_over(meetings, options)
    if options.makes_contests:
        _add_contests(tally, meetings, np.stack([wins1, wins2, ties], axis=1), options)
        return tally, number
    if not meetings.teams and not options.effects():
        first, second = tally.numbers(meetings.first), tally.numbers(meetings.second)
        tally.add_pairs(first, second, wins1, wins2)
        return tally, number
    sides = [_members(tally, meetings, side, options) for side in (FIRST, SECOND)]
    for members, wins in zip(sides, (wins1, wins2), strict=True):
        _require_whole(wins[members.lengths > 1], options)
    everybody = sides[0].beside(sides[1])
    if options.ties == "entity":
        everywhere = np.ones(len(ties), np.bool_)
        everybody = everybody.beside(_added(tally, options.tie_category, everywhere))
        tally.add_outcomes(np.full(len(ties), tally.categories.index[options.tie_category]), ties)
    tally.add_sets(everybody, -(wins1 + wins2 + ties))
    rows = np.arange(len(everybody))
    for members, wins in zip(sides, (wins1, wins2), strict=True):
        tally.add_groups(members, wins)
        tally.remember(members, wins, lambda: everybody, rows)
    if options.ties == "entity":
        tied = np.full(len(ties), tally.categories.index[options.tie_category])
        tally.remember(Lists.singles(tied), ties, lambda: everybody, rows)
    return tally, number


def _add_contests(
    tally: Tally, meetings: Meetings, results: FloatArray, options: SideOptions
) -> None:
    """Add meetings as contests, whose model has parameters."""
    first, second = (_members(tally, meetings, side, options) for side in (FIRST, SECOND))
    at_home = meetings.home if options.has_home_factor else np.zeros(len(results), np.int64)
    home = options.has_home_factor
    tally.add_contests(first, second, at_home, results, options.tie_model, home)


def _tally_over(meetings: Meetings, options: SideOptions) -> Tally:
    """Start a tally over all competitors, then the categories for ties and the advantage."""
    values = [*meetings.first.present(), *meetings.second.present()]
    used = dict.fromkeys(chain.from_iterable(values) if meetings.teams else values)
    for label in options.effects():
        if label in used:
            raise DataError(
                f"{label!r} is a competitor already; give the additional category another name "
                "with tie_label or home_label."
            )
    return Tally.over(used, options.categories, options.effects())


def _members(tally: Tally, meetings: Meetings, side: int, options: SideOptions) -> Lists:
    """List the categories on one side, with that of the advantage where it has it."""
    column = meetings.first if side == FIRST else meetings.second
    members = tally.lists(column) if meetings.teams else Lists.singles(tally.numbers(column))
    weights = meetings.weights[0 if side == FIRST else 1]
    if weights is not None:
        members = members.weighed(weights)
    if not options.has_home_category:
        return members
    return members.beside(_added(tally, options.home_category, meetings.home == side))


def _added(tally: Tally, label: Label, where: BoolArray) -> Lists:
    """List one category in some rows, and nothing in the others."""
    return Lists.of([[], [tally.categories.index[label]]]).take(where.astype(np.int64))


def _require_whole(wins: FloatArray, options: SideOptions) -> None:
    """Refuse fractional wins of a side of several, since each is one grouped outcome."""
    if (wins % 1 != 0).any():
        instead = (
            "ties='davidson' can."
            if options.ties == "half"
            else "Give whole numbers, or ties='davidson', which counts fractions too."
        )
        raise DataError(
            "wins of teams, and of sides with a home advantage as an entity, are counted in whole "
            "numbers, each being an outcome of one of several; fractions and half wins cannot be "
            f"had. {instead}"
        )


def _sides_named(named: Column, first: Column, second: Column) -> IntArray:
    """Tell for each row which side it names: FIRST, SECOND or UNKNOWN."""
    result = np.full(len(named), UNKNOWN)
    result[_same(named, first)] = FIRST
    result[_same(named, second)] = SECOND
    return result


def read_outcomes(
    outcome: Column, first: Column, second: Column, roles: Mapping[str, str]
) -> IntArray:
    """Tell for each row who won: FIRST, SECOND, TIE or UNKNOWN.

    An outcome may be the label of the winner, the name of the winner's column, or one of the
    usual words and codes.  Labels go first: a competitor may be called "b".
    """
    named = _sides_named(outcome, first, second)
    words = _codes_beside(outcome, {*first.values, *second.values}, roles)[outcome.codes]
    labels = (named != UNKNOWN) | (words == TIE)
    if labels.all() and (named != UNKNOWN).any():
        return np.where(named == UNKNOWN, words, named)
    clash = (named != UNKNOWN) & (words != UNKNOWN) & (named != words)
    # Where words alone explain every row, a label that looks like a word is a coincidence.
    return np.where((words == UNKNOWN) | (clash & ~(words != UNKNOWN).all()), named, words)


def _same(outcome: Column, side: Column) -> BoolArray:
    """Flag the rows in which the outcome names the side."""
    place = {_comparable(value): k for k, value in enumerate(side.values)}
    codes = [place.get(_comparable(value), -1) for value in outcome.values]
    same: BoolArray = np.asarray(codes, np.int64)[outcome.codes] == side.codes
    return same


def _comparable(value: Any) -> Any:
    """Return a label as it is compared: in a file of text, numbers are numbers too."""
    if is_missing(value):
        return None
    number = as_number(value)
    return number if number is not None and number == number else stripped(value)


def _codes_beside(outcome: Column, competitors: set[Any], roles: Mapping[str, str]) -> IntArray:
    """Read outcomes as words, unless all winners are competitors: then no label is a word.

    So a competitor called "a" or "b" is found in a row in which it did not compete.
    """
    codes = _codes(outcome, roles)
    labels = {_comparable(value) for value in competitors} - {None}
    label = np.asarray([_comparable(v) in labels for v in outcome.values], bool)
    told = (codes != TIE) & ~np.asarray([is_missing(v) for v in outcome.values], bool)
    coded = {_comparable(v) for v in outcome.values} - {None} <= {0.0, 0.5, 1.0}
    if coded:  # 1 and 0 are results, unless every row names one of its two: `read_outcomes` sees
        return codes
    if told.any() and label[told].all():
        return np.where((codes == TIE) & ~label, TIE, UNKNOWN)
    return codes


def _codes(outcome: Column, roles: Mapping[str, str]) -> IntArray:
    """Read the distinct outcomes as numbers, scores, names of columns, letters or words."""
    columns = {plain(roles[r]): k for r, k in (("item1", FIRST), ("item2", SECOND)) if r in roles}
    numbers = [as_number(value) for value in outcome.values]
    # With a 2, the numbers 1 and 2 name the sides; with a -1, 0 is a tie; else 0 is a loss.
    scale = {1.0: FIRST, 0.0: SECOND, 0.5: TIE}
    if 2.0 in numbers:
        scale = {1.0: FIRST, 2.0: SECOND}
    elif -1.0 in numbers:
        scale = {1.0: FIRST, 0.0: TIE, -1.0: SECOND}
    words = {**_RESULT_OF_WORD, **_letters(outcome, roles), **columns}

    def code(value: Any, number: float | None) -> int:
        if number is not None and number == number:
            return scale.get(number, UNKNOWN)
        text = value.strip().lower() if isinstance(value, str) else ""
        return _SCORES[text] if text in _SCORES else words.get(plain(text), UNKNOWN)

    codes = [code(value, number) for value, number in zip(outcome.values, numbers, strict=True)]
    return np.asarray(codes, np.int64)


def _letters(outcome: Column, roles: Mapping[str, str]) -> dict[str, int]:
    """Tell the meaning of A, L and R: A of A and B, or away; left and right, or a loss."""
    words = {plain(value) for value in outcome.values if isinstance(value, str)}
    one, two = (plain(roles.get(role, "")) for role in ("item1", "item2"))
    guest, first = two.startswith("away") or "h" in words, one.endswith("a") or "b" in words
    left = one.startswith("left") or "r" in words
    return {
        "a": UNKNOWN if guest == first else SECOND if guest else FIRST,
        "l": FIRST if left else SECOND if "w" in words else UNKNOWN,
        "r": SECOND if two.startswith("right") or "l" in words else UNKNOWN,
    }
