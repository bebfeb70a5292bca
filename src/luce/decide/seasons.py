"""Play seasons: simulate fixtures to come, draw by draw, and tell who ends where.

For every draw of the strengths, and of home advantage and ties, the fixtures to come are given
results once or several times; results that stand are added.  So the probabilities hold both the
uncertainty about the strengths and the luck of the fixtures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from luce._types import FloatArray, IntArray, Label, SeedLike
from luce.answers.diagnostics import mcse
from luce.answers.fixtures import read_fixtures, read_side
from luce.answers.ranks import rank_probabilities
from luce.answers.results import Meetings, ResultModel
from luce.answers.scales import intervals
from luce.answers.view import DrawsView, tail_of
from luce.counts.labels import label_array, plural, some
from luce.decide.doubts import doubts, verdict_on
from luce.decide.records import Record, read_record
from luce.decide.schedules import Schedule, read_schedule, respelled
from luce.decide.standings import (
    HEAD_TO_HEAD,
    WINS,
    Criterion,
    Points,
    in_words,
    read_tiebreak,
    standings,
)
from luce.errors import DataError
from luce.page.words import count
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import Settings, check_whole
from luce.sequences.tables import Table

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike
    from luce.sampling.convergence import Verdict

IfPlayed = Literal["refuse", "skip", "again"]
_IF_PLAYED = ("refuse", "skip", "again")
_SAMPLE = ("chain", "draw")


def play(
    draws: DrawsLike,
    fixtures: Any,
    *,
    played: Any = None,
    home: str | Sequence[str | None] | None = None,
    points: Sequence[float] | Mapping[str, float] = (3, 1, 0),
    tiebreak: Any = "auto",
    if_played: IfPlayed = "refuse",
    item1: str | None = None,
    item2: str | None = None,
    replicates: int = 1,
    ci_prob: float = 0.9,
    seed: SeedLike = None,
    progress: bool = True,
) -> Season:
    """Play the rest of a season, once for each draw: who ends in which place?

    The model of a fixture is that of `luce.predict`.  Knock-out brackets are for
    `luce.play_bracket`.

    Parameters
    ----------
    draws
        As for `luce.predict`.
    fixtures
        The fixtures to come: pairs (first, second), as `luce.decide.round_robin` lists them, or a
        frame with a column for each of the two.  A frame may hold the whole season, with results
        as `luce.from_pairs` reads them: rows with a result stand, and rows without are played.
    played
        Results that stand, as `luce.from_pairs` reads them; or a table of points so far, a mapping
        from competitors to points, or a frame with columns of competitors, points and, perhaps,
        wins.
    home
        Who has the home advantage in the fixtures: "first", "second" or "neutral", a list with one
        of these for each, or a column that names who is at home, empty on neutral ground.  Asked
        for where the model has an advantage.
    points
        Points for a win, a tie and a loss, or a mapping from "win", "tie" and "loss".
    tiebreak
        What parts those level on points, one criterion after another: "wins", the number of wins;
        "head-to-head", the points won against the others that are level, reckoned once; a list of
        all competitors, best first.  Lots part who is still level: places are shared with equal
        weights, which is the mean over all lots.  "auto" is wins, then lots; with a table of points
        that does not tell wins it is lots.
    if_played
        A fixture that is also among the results of `played`: "refuse" it; "skip" it, since its
        result stands; or play it "again".
    item1, item2
        Columns of the two sides in frames of fixtures and of results, where their names are not
        usual ones.
    replicates
        Number of seasons for each draw: more make the luck of the fixtures a smaller part of the
        Monte Carlo error.
    ci_prob
        Probability of the intervals of points.
    seed
        Seed of the results; made up unless given.
    progress
        Show a bar if it takes longer than two seconds?

    Returns
    -------
    Season
        Prints as a table; `places`, `champion`, `top(k)`, `relegated(k)` and `points` are labelled
        arrays.

    Examples
    --------
    >>> import luce, numpy as np
    >>> strengths = np.random.default_rng(1).dirichlet([6, 3, 1], size=(4, 1000))
    >>> season = luce.play(strengths, luce.decide.round_robin([0, 1, 2], double=True), seed=1)
    >>> season.champion.sel(competitor=0).round(1).item()
    0.6
    """
    tail_of(ci_prob)
    check_whole("replicates", replicates, 1)
    if if_played not in _IF_PLAYED:
        raise DataError(f"if_played = {if_played!r}; one of {some(_IF_PLAYED)} is needed.")
    settings = Settings(seed=seed, progress=progress)
    x = DrawsView.of(draws)
    model = ResultModel.of(x)
    worth = Points.of(points)
    schedule = read_schedule(fixtures, home, item1, item2)
    record = _record_of(schedule, played, worth, {"item1": item1, "item2": item2})
    names = respelled([*schedule.competitors, *record.points], x.categories)
    schedule, record = schedule.renamed(names), record.renamed(names)
    _ask_for_home(model, schedule, home)
    schedule, skipped = _without_played(schedule, record, if_played)
    if not len(schedule) and not record.points:
        raise DataError("no fixtures were given; one is needed at least.")
    labels = _competitors(model, schedule, record)
    criteria = _criteria(tiebreak, record, labels)
    game = _Game(schedule, record, worth, criteria, tuple(labels))
    sequence = settings.seed_sequence()
    seasons = game.simulate(model, sequence, int(replicates), progress)
    trust = verdict_on(draws)
    return _season(game, model, seasons, skipped, float(ci_prob), sequence.entropy, trust)


# -- what is played --------------------------------------------------------------------------------


def _record_of(
    schedule: Schedule, played: Any, points: Points, columns: Mapping[str, str | None]
) -> Record:
    """Read the results that stand, which may come with the fixtures."""
    if schedule.results is None:
        return read_record(played, points, columns)
    if played is not None:
        raise DataError(
            "the frame of fixtures has rows with results, and played= was given as well. Leave "
            "played out, or take these rows out of the fixtures."
        )
    return read_record(schedule.results, points, columns)


def _ask_for_home(model: ResultModel, schedule: Schedule, home: Any) -> None:
    if model.home is not None and home is None and len(schedule):
        raise DataError(
            f"the model of these draws has {model.words}: say who is at home in the fixtures. "
            "home='first' or 'second', a column, or a list with one for each; home='neutral' plays "
            "all of them on neutral ground."
        )


def _without_played(
    schedule: Schedule, record: Record, if_played: IfPlayed
) -> tuple[Schedule, int]:
    """Leave out fixtures whose result stands, where that was asked for; or refuse them."""
    met = record.met()
    if not record.ordered:
        met += Counter({(b, a): times for (a, b), times in met.items()})
    both = [k for k, pair in enumerate(schedule.pairs) if met[pair]]
    # Rows without a result in a table of results are to come, whatever else the two have played.
    if not both or if_played == "again" or schedule.results is not None:
        return schedule, 0
    named = some([schedule.pairs[k] for k in both], 3)
    if if_played == "refuse":
        which = (
            "" if record.ordered else ", whoever was at home, which winner and loser do not tell"
        )
        raise DataError(
            f"{plural(len(both), 'fixture')} to come {'is' if len(both) == 1 else 'are'} among the "
            f"results that stand{which}: {named}. if_played='skip' leaves such fixtures out, "
            "if_played='again' plays them (--if-played)."
        )
    if not record.ordered and len({*schedule.pairs}) > len({frozenset(p) for p in schedule.pairs}):
        raise DataError(
            "which fixtures were played cannot be told: some meet at both grounds, and results by "
            "winner and loser do not say who was at home. Give results with two sides and a winner."
        )
    kept = []
    for k, pair in enumerate(schedule.pairs):
        if met[pair]:
            met[pair] -= 1
        else:
            kept.append(k)
    return schedule.take(kept), len(schedule) - len(kept)


def _competitors(model: ResultModel, schedule: Schedule, record: Record) -> list[Label]:
    """List those who take part, in the order of the draws where they are categories."""
    for label in record.points:
        read_side(model, label, "played")
    index = model.draws.categories.index
    every = list(dict.fromkeys([*schedule.competitors, *record.points]))
    for label in every:
        read_side(model, label, "fixtures")
    return sorted(every, key=lambda label: index.get(label, len(index)))


def _criteria(tiebreak: Any, record: Record, labels: Sequence[Label]) -> tuple[Criterion, ...]:
    if isinstance(tiebreak, str) and tiebreak == "auto":
        return () if record.wins is None else (WINS,)
    criteria = read_tiebreak(tiebreak, labels)
    named = [x for x in criteria if isinstance(x, str)]
    if HEAD_TO_HEAD in named and record.meetings is None:
        raise DataError(
            "tiebreak: 'head-to-head' needs the results so far; a table of points was given."
        )
    if WINS in named and record.wins is None:
        raise DataError(
            "tiebreak: 'wins' needs the wins so far; the table of points does not tell them. Give "
            "the results, or a frame with a column of wins."
        )
    return criteria


@dataclass(frozen=True, eq=False)
class _Game:
    """A season to be played: fixtures, results that stand, points, and tie-breaks."""

    schedule: Schedule
    record: Record
    points: Points
    criteria: tuple[Criterion, ...]
    labels: tuple[Label, ...]

    @property
    def number(self) -> dict[Label, int]:
        """The place of each competitor among the labels."""
        return {label: k for k, label in enumerate(self.labels)}

    def so_far(self, values: Mapping[Label, float] | None) -> FloatArray:
        """Put numbers of the record into the order of the labels."""
        return np.array([(values or {}).get(label, 0.0) for label in self.labels])

    def simulate(
        self, model: ResultModel, seed: np.random.SeedSequence, replicates: int, progress: bool
    ) -> Dataset:
        """Play all fixtures; returns points and ranks in each season."""
        import xarray as xr

        x, n, size = model.draws, len(self.labels), len(self.schedule)
        shape = (*x.values.shape[:2], replicates, n)
        points, above, level = np.empty(shape), np.empty(shape, np.int32), np.empty(shape, np.int32)
        meetings = self._meetings(model)
        rng = np.random.default_rng(seed)
        tallies = _Tallies.of(self.schedule, self.number)
        width = 8 * (size + n * n) * replicates
        done = 0
        with ProgressBar(x.n_draws, progress) as bar:
            for chain, rows in x.blocks(width):
                results = _draw_results(model, meetings, chain, rows, replicates, rng)
                number = rows.stop - rows.start
                found = self._tables(tallies, results.reshape(number * replicates, size))
                for out, values in zip((points, above, level), found, strict=True):
                    out[chain, rows] = values.reshape(number, replicates, n)
                done += number
                bar.update(done, "playing")
        dims = (*_SAMPLE, "replicate", "competitor")
        index = {"replicate": np.arange(replicates), "competitor": label_array(self.labels)}
        arrays = {"points": points, "above": above, "level": level}
        return xr.Dataset({k: x.labelled(v, dims, k, **index) for k, v in arrays.items()})

    def _meetings(self, model: ResultModel) -> Meetings | None:
        if not len(self.schedule):
            return None
        first, second = (list(side) for side in zip(*self.schedule.pairs, strict=True))
        return read_fixtures(model, first, second, list(self.schedule.at_home))[0]

    def _tables(
        self, tallies: _Tallies, results: IntArray
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Compute the tables of seasons from results of shape (season, fixture)."""
        worth = np.array([self.points.win, self.points.tie, self.points.loss])
        wins, ties, losses = (tallies.of_sides(results == k, results == 2 - k) for k in range(3))
        points = self.so_far(self.record.points) + (
            wins * worth[0] + ties * worth[1] + losses * worth[2]
        )
        wins = wins + self.so_far(self.record.wins)
        against = None
        if any(isinstance(x, str) and x == HEAD_TO_HEAD for x in self.criteria):
            n = len(self.labels)
            gained = tallies.of_pairs(worth[results], worth[2 - results]).reshape(-1, n, n)
            against = self.record.against(self.number, self.points) + gained
        return points, *standings(points, wins, against, self.criteria)


def _draw_results(
    model: ResultModel,
    meetings: Meetings | None,
    chain: int,
    rows: slice,
    replicates: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw results, shape (draw, replicate, fixture): 0 if the first wins, 1 for a tie, else 2."""
    if meetings is None:
        return np.empty((rows.stop - rows.start, replicates, 0), np.int64)
    chances = np.exp(model.log_probabilities(meetings, chain, rows))
    win, tie = chances[:, None, :, 0], chances[:, None, :, 2]
    luck = rng.random((len(chances), replicates, len(meetings)))
    # A loss takes what rounding leaves, so that a tie which cannot be never is.
    return (luck >= win).astype(np.int64) + (luck >= win + tie)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over columns of equal keys."""

    order: IntArray
    starts: IntArray
    cells: IntArray
    size: int

    @classmethod
    def of(cls, keys: IntArray, size: int) -> _Sums:
        """Prepare sums by keys below a size."""
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        return cls(order, starts, keys[order][starts], size)

    def __call__(self, first: Any, second: Any) -> FloatArray:
        """Add up the columns of two arrays side by side; a key without columns has 0."""
        values = np.concatenate([first, second], axis=1)
        out = np.zeros((len(values), self.size))
        if len(self.order):
            ordered = values[:, self.order].astype(np.float64)
            out[:, self.cells] = np.add.reduceat(ordered, self.starts, axis=1)
        return out


@dataclass(frozen=True, eq=False)
class _Tallies:
    """Sums over the fixtures of each competitor, and of each competitor against each other.

    They take numbers of the first and of the second sides, each of shape (season, fixture).
    """

    of_sides: _Sums
    of_pairs: _Sums

    @classmethod
    def of(cls, schedule: Schedule, number: Mapping[Label, int]) -> _Tallies:
        """Number the two sides of each fixture: first all first sides, then all second ones."""
        first, second = (
            np.array([number[pair[k]] for pair in schedule.pairs], np.int64) for k in (0, 1)
        )
        n = len(number)
        pairs = np.concatenate([first * n + second, second * n + first])
        return cls(_Sums.of(np.concatenate([first, second]), n), _Sums.of(pairs, n * n))


# -- the result ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Season:
    """Simulated ends of a season, the competitors in the order of their expected places.

    Attributes
    ----------
    places
        Probability of each competitor to end in each place, dimensions (competitor, place).  Every
        row and every column adds up to 1.
    points
        Expected points, dimension (competitor), with the coordinates `so_far`, `sd`, and `lower`
        and `upper`, a central interval of the points at the end.
    seasons
        Every simulated season, dimensions (chain, draw, replicate, competitor): `points`; `above`,
        the number of those above a competitor; and `level`, the number of those that share its
        rank, itself included, whom lots part.
    remaining
        The fixtures that were played: first side, second side, and who was at home.
    games
        Number of results that stand.
    notes
        Sentences about the model, the results that stand, the rules, and whatever is in doubt.
    seed
        Seed of the results.
    trust
        The verdict on the draws; None for draws that came as an array.
    """

    places: DataArray
    points: DataArray
    seasons: Dataset
    remaining: tuple[tuple[Label, Label, str | None], ...]
    games: float
    notes: tuple[str, ...]
    seed: Any
    trust: Verdict | None

    @property
    def champion(self) -> DataArray:
        """The probability of each competitor to end first; coordinate `mcse` as for `top`."""
        return self.top(1)

    def top(self, k: int) -> DataArray:
        """Compute the probability of each competitor to end in the first k places.

        The coordinate `mcse` is the Monte Carlo standard error, in which correlated draws count as
        fewer; it is nan where all seasons agree, and below 4 draws a chain.
        """
        _check_places(k, self.places.sizes["competitor"])
        return self._share(int(k), below=False).rename("top")

    def relegated(self, k: int) -> DataArray:
        """Compute the probability of each competitor to end in the last k places; see `top`."""
        n = self.places.sizes["competitor"]
        _check_places(k, n)
        return self._share(n - int(k), below=True).rename("relegated")

    @property
    def expected_points(self) -> DataArray:
        """The expected points, without the coordinates of `points`."""
        return self.points.drop_vars(["so_far", "sd", "lower", "upper"])

    @property
    def expected_places(self) -> DataArray:
        """The mean place of each competitor."""
        return (self.places * self.places["place"]).sum("place").rename("expected_place")

    def table(self, top: int | None = None, relegated: int | None = None) -> Table:
        """Make a table of expected places and points, P(champion), P(top k) and P(relegated).

        Parameters
        ----------
        top
            Add the probability to end in the first places, this many.
        relegated
            Add the probability to end in the last places, this many.
        """
        percent = round(100 * self.points.attrs["ci_prob"])
        columns = {
            "competitor": self.places["competitor"].values,
            "place": self.expected_places.values,
            "so_far": self.points["so_far"].values,
            "points": self.points.values,
            f"eti{percent}_lb": self.points["lower"].values,
            f"eti{percent}_ub": self.points["upper"].values,
        }
        shares = {"champion": self.champion}
        if top is not None:
            shares[f"top_{top}"] = self.top(top)
        if relegated is not None:
            shares["relegated"] = self.relegated(relegated)
        columns |= {name: share.values for name, share in shares.items()}
        return Table(columns, (), self._notes(list(shares.values())), "competitor", list(shares))

    def to_pandas(self) -> Any:
        """Make a pandas data frame of `table()`."""
        return self.table().to_pandas()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def _notes(self, shares: Sequence[DataArray]) -> list[str]:
        """Add to the notes what the shares of a table are worth."""
        size = self.seasons["points"].size // self.places.sizes["competitor"]
        notes = list(self.notes)
        largest = np.nan_to_num([share["mcse"].values for share in shares]).max()
        if largest > 0:
            notes.append(
                f"Monte Carlo standard errors of these probabilities: at most {largest:.2g}."
            )
        if self.remaining and np.isin([share.values for share in shares], (0.0, 1.0)).any():
            of = "the only season" if size == 1 else f"none and in all of the {size:,} seasons"
            notes.append(f"0 and 1: in {of}; no proof.")
        return notes

    def _share(self, k: int, below: bool) -> DataArray:
        """Compute the probability to be among the first k, or not to be; draw by draw."""
        above, level = self.seasons["above"], self.seasons["level"]
        within = ((k - above) / level).clip(0.0, 1.0).mean("replicate")
        within = (1 - within if below else within).transpose(*_SAMPLE, "competitor")
        error = mcse(within).values
        return within.mean(_SAMPLE).assign_coords(mcse=("competitor", error))


def _season(
    game: _Game,
    model: ResultModel,
    seasons: Dataset,
    skipped: int,
    ci_prob: float,
    seed: Any,
    trust: Verdict | None,
) -> Season:
    """Sum simulated seasons up, the competitors sorted by their expected places."""
    import xarray as xr

    n, chains = len(game.labels), seasons.sizes["chain"]
    # Those of equal rank share places in `rank_probabilities`, as lots do on average.
    places = rank_probabilities(n - seasons["above"].values.reshape(chains, -1, n)).values
    order = np.argsort(places @ np.arange(1, n + 1), kind="stable")
    seasons = seasons.isel(competitor=order)
    index = {"competitor": seasons["competitor"]}
    values = seasons["points"].values.reshape(chains, -1, n)
    told = intervals(xr.DataArray(values, index, (*_SAMPLE, "competitor")), ci_prob)
    coords = {name: told[name] for name in ("sd", "lower", "upper")}
    now = ("competitor", game.so_far(game.record.points)[order])
    points = told["mean"].rename("points").assign_coords({**coords, "so_far": now})
    homes = zip(game.schedule.pairs, game.schedule.at_home, strict=True)
    labelled = {**index, "place": np.arange(1, n + 1)}
    return Season(
        places=xr.DataArray(places[order], labelled, ("competitor", "place"), "place_probability"),
        points=points.assign_attrs(ci_prob=ci_prob),
        seasons=seasons,
        remaining=tuple((first, second, home) for (first, second), home in homes),
        games=game.record.games,
        notes=tuple(_notes(game, model, seasons, skipped, seed, trust)),
        seed=seed,
        trust=trust,
    )


def _notes(
    game: _Game,
    model: ResultModel,
    seasons: Dataset,
    skipped: int,
    seed: Any,
    trust: Verdict | None,
) -> list[str]:
    """Say what was played, by which model and rules, what was not used and what is in doubt."""
    schedule, record = game.schedule, game.record
    size = len(schedule)
    each, draws = seasons.sizes["replicate"], seasons.sizes["chain"] * seasons.sizes["draw"]
    notes = [
        f"{plural(each * draws, 'season')}, {each:,} for each of {plural(draws, 'draw')}, seed "
        f"{seed}; {plural(size, 'fixture')} played in each, {record.words}."
    ]
    if skipped:
        stand = "1 fixture is" if skipped == 1 else f"{skipped:,} fixtures are"
        notes.append(f"{stand} not played, since the result stands.")
    again = {frozenset(pair) for pair in record.met()}
    returns = sum(frozenset(pair) in again for pair in schedule.pairs)
    if returns:
        notes.append(f"{plural(returns, 'fixture')} to come of two who have met before.")
    homes = Counter(schedule.at_home)
    grounds = [
        f"{homes[key]:,} with the {key} side at home"
        if key
        else f"{homes[key]:,} on neutral ground"
        for key in ("first", "second", None)
        if homes[key]
    ]
    ground = f" (fixtures: {', '.join(grounds)})" if model.home is not None and size else ""
    notes.append(f"Results: {model.words}{ground}.")
    if model.ties is None and record.ties and size:
        notes.append(
            f"The model has no ties, so that no fixture to come ends in one; of the results, "
            f"{count(record.ties)} did."
        )
    rules = in_words(game.criteria)
    notes.append(
        f"Points: {game.points}. Level on points: {rules}; lots are averaged, not drawn. Margins "
        "such as goal differences are not modelled."
    )
    done = [x for x in game.labels if x not in schedule.competitors]
    if done and size:
        notes.append(f"No fixture to come: {some(done, quote=False)}.")
    own = {m for x in game.labels for m in (x if isinstance(x, tuple) else (x,))}
    own |= set(game.labels) | set(model.draws.effects)
    absent = [x for x in model.draws.categories if x not in own]
    if absent:
        notes.append(f"Not in this season: {some(absent, quote=False)}.")
    if schedule.unused:
        notes.append(f"Columns of the fixtures that were not used: {some(schedule.unused)}.")
    if record.unused:
        notes.append(f"Columns of the results that were not used: {some(record.unused)}.")
    return notes + doubts(trust)


def _check_places(k: int, n: int) -> None:
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= n:
        raise DataError(f"k = {k!r} was given; a whole number of places from 1 to {n} is needed.")
