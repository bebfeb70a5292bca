"""A leaderboard: ranks, scores, games, ties and the evidence behind them, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray, Label, Labels
from luce.answers.diagnostics import verdict
from luce.answers.ranks import can_compare_pairs, not_told_from, order_of, rank_moments
from luce.answers.scales import intervals, odds_in_words, scaled
from luce.answers.summaries import Summary
from luce.answers.view import DrawsView, tail_of
from luce.counts.comparability import comparable_groups, prior_only
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural, printable, some
from luce.counts.short_labels import short_labels
from luce.decide.doubts import doubts
from luce.decide.first_place import best_in_words, leader_of
from luce.decide.thin_evidence import MEANING, Evidence, evidence_of, record_in_words
from luce.errors import DataError
from luce.page import small_pictures
from luce.page.plain_tables import (
    MOST_ROWS,
    PictureColumn,
    bare_html,
    line_width,
    text_lines,
    wrapped,
)
from luce.page.words import Name, count, escaped, percent, plain_text, probability
from luce.posterior import posterior_of
from luce.sampling.convergence import HEADLINES

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.answers.view import DrawsLike
    from luce.model.model import Model

_HEADS = {"elo": "Elo", "log-odds": "log odds", "probability": "probability"}
_FORMS = {"elo": ",.0f", "log-odds": ".2f"}

_LN10 = float(np.log(10))

_MOST_ROWS = 40
_WIDTH = 120  # characters of a line where there is no terminal
_LEAST_ROOM = 14  # characters for the names of those tied with
_GAP = 2  # characters between columns
_LISTED = 40  # characters, in HTML, of the names of those tied with
_PICTURES = 5  # number of the column, in HTML, that draws the interval of the score before it

# Columns that are left out of a narrow terminal, in this order.
_DISPENSABLE = ("tied with", "ties", "win rate", "share", "wins", "chosen", "P(best)")


class _Column(NamedTuple):
    """A printed column: its head, and a word for each row.

    `left` tells whether words stand to the left; `lists` has the names of each row where `words`
    may be shortened.
    """

    head: str
    words: list[str]
    left: bool = False
    lists: list[list[str]] | None = None

    @property
    def width(self) -> int:
        """Number of characters of its longest entry."""
        return max(map(len, [self.head, *self.words]))


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Who leads, how surely, and on what evidence; a row for each competitor, best first.

    Prints as text that fits the terminal; shows as a table in a notebook.

    Attributes
    ----------
    categories
        The labels, by expected rank.
    columns
        Maps a column's name to its values, shape (n_categories,): `rank`, the expected one, with
        its interval `rank_lb` and `rank_ub`; `score` with `score_lb` and `score_ub`; `games`,
        `wins`, `ties` and `win_rate`, or `offered`, `chosen` and `share`, where the data tells
        them; `p_best`; `tied_with`, tuples of labels; and `evidence`, a mark where it is thin.
    headline
        Who is the best, and what that rests on.
    notes
        Sentences on the columns, and on what was left out.
    noun
        One of the categories in a word.
    attrs
        Scale, probabilities, and method and seed of the draws.
    """

    categories: list[Label]
    columns: Mapping[str, npt.NDArray[Any]]
    headline: str
    notes: Sequence[str]
    noun: str
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.categories)

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self.columns[column]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self, most: int = _MOST_ROWS, width: int | None = None) -> str:
        """Lay the leaderboard out as text.

        Parameters
        ----------
        most
            Largest number of rows.
        width
            Characters of a line; those of the terminal unless given.  Columns that do not fit are
            left out, and named.
        """
        room = (line_width() or _WIDTH) if width is None else width
        columns, left_out = _fitted(self._printed(most), room)
        rows = list(zip(*([c.head, *c.words] for c in columns), strict=True))
        table = text_lines(rows, left=[j for j, c in enumerate(columns) if c.left])
        said = [line for note in self._below(most, left_out) for line in wrapped(note, room)]
        head = wrapped(printable(self.headline), room)
        return "\n".join([*head, "", *(line.rstrip() for line in table), "", *said])

    def to_html(self, most: int = MOST_ROWS) -> str:
        """Lay the leaderboard out as HTML, at most `most` rows; labels are escaped."""
        columns = [
            c if c.lists is None else c._replace(words=[_named(own, _LISTED) for own in c.lists])
            for c in self._printed(most)
        ]
        ends = (self.columns[name][:most].tolist() for name in ("score_lb", "score", "score_ub"))
        drawn = small_pictures.intervals(*ends)
        rows = list(zip(*([c.head, *c.words] for c in columns), strict=True))
        below = "\n".join(f"<p>{escaped(note)}</p>" for note in self._below(most, []))
        table = bare_html(rows, 1, [PictureColumn(_PICTURES, "interval", drawn)])
        return f"<p>{escaped(self.headline)}</p>\n{table}\n{below}"

    def to_pandas(self) -> Any:
        """Make a pandas data frame of all rows, the labels as index."""
        return Summary(self.categories, dict(self.columns)).to_pandas()

    def to_polars(self) -> Any:
        """Make a polars data frame of all rows, the labels in a column `category`."""
        return Summary(self.categories, dict(self.columns)).to_polars()

    def _below(self, most: int, left_out: Sequence[str]) -> list[str]:
        """List the sentences below the table."""
        more = len(self) - most
        said = [f"... and {more:,} more"] if more > 0 else []
        if left_out:
            said.append(f"Left out, for want of room: {', '.join(left_out)}.")
        return [*said, *(printable(note) for note in self.notes)]

    def _printed(self, most: int) -> list[_Column]:
        """Write the columns of the first rows."""
        c, rows = self.columns, range(min(most, len(self)))
        names = short_labels(self.categories)
        numbers = {label: i for i, label in enumerate(self.categories)}
        interval = percent(self.attrs["ci_prob"])
        score = [self._score(c["score"][i]) for i in rows]
        ends = [f"{self._score(c['score_lb'][i])} to {self._score(c['score_ub'][i])}" for i in rows]
        found = [
            _Column("place", [f"{i + 1}" for i in rows]),
            _Column(self.noun, [names[i] for i in rows], left=True),
            _Column(f"ranks, {interval}", [_span(c["rank_lb"][i], c["rank_ub"][i]) for i in rows]),
            _Column(_HEADS[self.attrs["scale"]], score),
            _Column(f"with {interval}", ends),
        ]
        for name in ("games", "wins", "ties", "offered", "chosen"):
            if name in c:
                found.append(_Column(name, [count(c[name][i]) for i in rows]))
        for name in ("win_rate", "share"):
            if name in c:
                words = ["" if np.isnan(c[name][i]) else probability(c[name][i]) for i in rows]
                found.append(_Column(name.replace("_", " "), words))
        found.append(_Column("P(best)", [probability(float(c["p_best"][i])) for i in rows]))
        if "evidence" in c and any(c["evidence"]):
            found.append(_Column("evidence", [c["evidence"][i] for i in rows], left=True))
        if "tied_with" in c:
            tied = [[names[numbers[label]] for label in c["tied_with"][i]] for i in rows]
            words = [", ".join(own) or "nobody" for own in tied]
            found.append(_Column("tied with", words, left=True, lists=tied))
        return found

    def _score(self, value: float) -> str:
        """Write a score."""
        scale = self.attrs["scale"]
        if scale == "probability":
            return probability(float(value))
        text = f"{value:{_FORMS[scale]}}"
        return text.lstrip("-") if not text.strip("-0.,") else text


def leaderboard(
    draws: DrawsLike,
    counts: ConditionalCounts | None = None,
    *,
    scale: str = "elo",
    reference: Label | None = None,
    at: float = 1500.0,
    ci_prob: float = 0.9,
    probability: float = 0.95,
    among: Labels | None = None,
) -> Leaderboard:
    """List competitors by expected rank, with scores, games, ties and the evidence behind them.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    counts
        The data, for games, wins and evidence.  Unless given, that of the run.
    scale
        Scale of the scores: "elo", "log-odds" or "probability".
    reference
        What Elo and log odds are relative to: a label, or None for the mean of those listed.
    at
        The reference's points of Elo.
    ci_prob
        Probability of the intervals of ranks and scores.
    probability
        Probability from which on two are told apart, each pair by itself, as in
        `luce.answers.not_told_from`.
    among
        List these only, ranked as if the others did not take part.  Unless given, all are listed
        but effects (a tie, a home advantage) and categories that the data says nothing about, which
        a note names.

    Returns
    -------
    Leaderboard
        A table that prints itself; `columns`, `to_pandas()` and `to_polars()` have the numbers.

    Examples
    --------
    >>> import luce
    >>> counts = luce.from_pairs([("Ann", "Bo", 60), ("Bo", "Ann", 20), ("Cy", "Bo", 2)])
    >>> board = luce.leaderboard(luce.Posterior(counts).sample(1000, seed=1, progress=False))
    >>> board.categories, board["games"], board["wins"]
    (['Cy', 'Ann', 'Bo'], array([ 2., 80., 82.]), array([ 2., 60., 20.]))
    >>> board["tied_with"][0], board["evidence"].tolist()
    (('Ann', 'Bo'), ['no loss', '', ''])
    """
    tail = tail_of(ci_prob)
    whole = DrawsView.of(draws)
    run = _run_in(draws)
    counts, model, obstacle = _data_of(run, counts)
    x, unlisted = _listed(whole, counts, among)
    x = x.take(order_of(x))
    labels = list(x.categories)
    ranks = rank_moments(x, tail)
    score = intervals(scaled(x, scale, reference, at), ci_prob)
    evidence = None if counts is None else evidence_of(x, counts, model)
    columns: dict[str, npt.NDArray[Any]] = {
        "rank": ranks.mean,
        "rank_lb": ranks.lower,
        "rank_ub": ranks.upper,
        "score": score["mean"].values,
        "score_lb": score["lower"].values,
        "score_ub": score["upper"].values,
        **_record_columns(evidence),
        "p_best": ranks.best,
    }
    if can_compare_pairs(x):
        tied = not_told_from(x, probability)
        columns["tied_with"] = _objects([tuple(tied[label]) for label in labels])
    if evidence is not None:
        columns["evidence"] = _objects(evidence.marks)
    noun = "competitor" if whole.effects or whole.events or "games" in columns else "category"
    attrs = {
        "scale": scale,
        "reference": reference,
        "at": at,
        "ci_prob": float(ci_prob),
        "probability": float(probability),
        "draws": x.n_draws,
        **_provenance(run),
    }
    notes = [
        _scale_note(whole, attrs),
        *_record_notes(counts, evidence, obstacle),
        *_standing_notes(columns, attrs),
        *_evidence_notes(columns, evidence),
        *_data_notes(labels, unlisted, counts),
        *_draws_notes(run, attrs),
    ]
    others = set(DrawsView.ranked(whole).categories) - set(labels)
    some_listed = others or "kept_categories" in ({} if run is None else run.attrs)
    place = "the best of those listed" if some_listed else "the best"
    headline = headline_of(labels, ranks.best, noun, evidence, place)
    return Leaderboard(labels, columns, headline, notes, noun, attrs)


def _run_in(draws: DrawsLike) -> DataTree | None:
    """Return the draws if they are a run."""
    import xarray as xr

    return draws if isinstance(draws, xr.DataTree) else None


def _data_of(
    run: DataTree | None, counts: ConditionalCounts | None
) -> tuple[ConditionalCounts | None, Model | None, str]:
    """Find the data, the model where its data is the same, and why there is none."""
    if counts is not None and not isinstance(counts, ConditionalCounts):
        raise DataError(f"counts must be ConditionalCounts; {type(counts).__name__} was given.")
    if run is None:
        return counts, None, "the draws alone were given; give their data as counts="
    try:
        model = posterior_of(run).model
    except DataError as error:
        return counts, None, str(error).rstrip(".")
    if counts is None or counts == model.counts:
        return model.counts, model, ""
    return counts, None, ""


def _listed(
    whole: DrawsView, counts: ConditionalCounts | None, among: Labels | None
) -> tuple[DrawsView, list[Label]]:
    """Choose the categories to list; name those without data that are left out."""
    x = DrawsView.ranked(whole, among)
    if counts is None:
        return x, []
    known = set(counts.categories)
    if not set(x.categories) <= known:
        raise DataError(
            f"counts has the categories {some(counts.categories)}, the draws have "
            f"{some(x.categories)}; give the counts that the draws were made from."
        )
    unknown = set(prior_only(counts)) if among is None else set()
    kept = [i for i, label in enumerate(x.categories) if label not in unknown]
    if not kept:
        return x, []
    left = [label for label in x.categories if label in unknown]
    return (x.take(np.array(kept)) if left else x), left


def _record_columns(evidence: Evidence | None) -> dict[str, npt.NDArray[Any]]:
    """Name the columns of what was played and won, where the data tells."""
    if evidence is None or isinstance(evidence.record, str):
        return {}
    record = evidence.record
    if not record.are_games:
        return {"offered": record.played, "chosen": record.won, "share": record.rate}
    if record.tied is None:
        return {"games": record.played, "wins": record.won, "win_rate": record.rate}
    wins = record.won - record.tied / 2
    return {
        "games": record.played, "wins": wins, "ties": record.tied, "win_rate": record.rate
    }  # fmt: skip


def headline_of(
    labels: list[Label],
    best: FloatArray,
    noun: str,
    evidence: Evidence | None,
    place: str = "the best",
) -> str:
    """Say who is the best, and what that rests on where it is little."""
    names = [printable(label) for label in labels]
    first = leader_of(best)
    only = f"There is only one {noun}" if place == "the best" else f"Only one {noun} is listed"
    words = (
        best_in_words(names, best, noun, place)
        if len(names) > 1
        else [f"{only}, ", Name(names[0]), ". "]
    )
    caution = evidence.caution(first, names[first]) if evidence else []
    return plain_text([*words, *caution]).strip()


def _scale_note(whole: DrawsView, attrs: Mapping[str, Any]) -> str:
    """Say what scores mean."""
    scale, reference = attrs["scale"], attrs["reference"]
    whom = "the mean of those listed" if reference is None else printable(reference)
    if scale == "elo":
        odds = odds_in_words(whole)
        return f"Elo: {whom} has {count(attrs['at'])} points; 400 more are {odds} of 10 to 1."
    if scale == "log-odds":
        return f"Log odds: against {whom}; {_LN10:.3f} more are {odds_in_words(whole)} of 10 to 1."
    return "Probability: among all categories of the data."


def _record_notes(
    counts: ConditionalCounts | None,
    evidence: Evidence | None,
    obstacle: str,
) -> list[str]:
    """Say how games and wins are counted, or why they are not."""
    if evidence is None or counts is None:
        return [f"Games, wins and evidence are left out: {obstacle}."]
    if isinstance(evidence.record, str):
        return [f"Games and wins are left out: {evidence.record}."]
    return record_in_words(evidence.record, counts)


def _standing_notes(columns: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[str]:
    """Say what P(best) and "tied with" mean."""
    best, said = columns["p_best"], ["Places go by expected rank."]
    if ((best == 0) | (best == 1)).any():
        draws = plural(attrs["draws"], "draw")
        said.append(f"P(best): 0 and 1 stand for none and all of the {draws}.")
    level = percent(attrs["probability"])
    if "tied_with" not in columns:
        return [*said, "Who is tied with whom is left out: there are too many pairs."]
    return [
        *said,
        f"Tied with: neither of the two is the better with {level} or more, pair by pair; two that "
        "are tied with a third may be told apart.",
    ]


def _evidence_notes(columns: Mapping[str, Any], evidence: Evidence | None) -> list[str]:
    """Explain the marks of thin evidence that occur, and say what was not looked at."""
    if evidence is None:
        return []
    said = [f"Evidence: {MEANING[mark]}." for mark in dict.fromkeys(columns["evidence"]) if mark]
    if evidence.width is None and len(columns["rank"]) > 1:
        said.append(
            "Evidence: widths were not compared with those of the prior, whose concentration is "
            "drawn or not known, or whose draws are stored as 0."
        )
    return said


def _data_notes(
    labels: list[Label], unlisted: list[Label], counts: ConditionalCounts | None
) -> list[str]:
    """Name those not listed, and say where the data does not link those listed."""
    if counts is None:
        return []
    said = []
    if unlisted:
        names = some(unlisted, quote=False)
        said.append(f"Not listed, since the data says nothing about them: {names}.")
    kept = set(labels)
    if set(counts.categories) - set(counts.effects) - kept - set(unlisted):
        said.append("What was played against, or chosen beside, those not listed counts, too.")
    parts = sum(1 for group in comparable_groups(counts) if kept & set(group))
    if parts > 1:
        said.append(
            f"The data links those listed in {parts:,} separate parts: between parts only the "
            "prior speaks."
        )
    return said


def _provenance(run: DataTree | None) -> dict[str, Any]:
    """Return method, seed and fingerprint of the data of a run."""
    known = {} if run is None else run.attrs
    return {name: known[name] for name in ("method", "seed", "data_digest") if name in known}


def _draws_notes(run: DataTree | None, attrs: Mapping[str, Any]) -> list[str]:
    """Say which draws were used, and whether they can be trusted."""
    draws = plural(attrs["draws"], "draw")
    if run is None:
        return [f"{draws[0].upper()}{draws[1:]}.", *doubts(None)]
    told = verdict(run)
    trust = "" if told.kind == "good" else f" {HEADLINES[told.kind]}."
    return [f"{draws}, method {attrs.get('method')}, seed {attrs.get('seed')}.{trust}"]


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Make an array of Python objects, tuples among them."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def _span(low: int, high: int) -> str:
    """Write an interval of ranks."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _fitted(columns: list[_Column], room: int) -> tuple[list[_Column], list[str]]:
    """Shorten lists of names, then leave out columns, until a line has room for all."""
    kept, left_out = list(columns), []
    for name in ("", *_DISPENSABLE):
        if any(c.head == name for c in kept):
            kept = [c for c in kept if c.head != name]
            left_out.append(name)
        if kept[-1].lists is not None:
            rest = room - sum(c.width + _GAP for c in kept[:-1])
            if rest >= min(kept[-1].width, _LEAST_ROOM):
                words = [_named(own, rest) for own in kept[-1].lists]
                kept[-1] = kept[-1]._replace(words=words)
        if sum(c.width + _GAP for c in kept) - _GAP <= room:
            break
    return kept, left_out


def _named(names: Sequence[str], room: int) -> str:
    """Name as many as there is room for, and count the others."""
    if not names:
        return "nobody"
    for k in range(len(names), 0, -1):
        more = f" and {plural(len(names) - k, 'other')}" if k < len(names) else ""
        text = f"{', '.join(names[:k])}{more}"
        if len(text) <= room:
            return text
    return plural(len(names), "other")
