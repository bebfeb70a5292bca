"""Time series whose states are hidden: segments, durations, transitions, times in one state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray, IntArray, Label
from luce.answers.view import tail_of
from luce.counts.labels import some
from luce.errors import DataError
from luce.plots.canvas import (
    GREY,
    VERMILION,
    add_scale,
    drawing,
    drawing_rows,
    height_of,
    name_rows,
    require_matplotlib,
)
from luce.plots.chains import draw_chains
from luce.plots.heatmaps import shade_table
from luce.plots.label_text import names_of
from luce.plots.matrices import transition_heatmap
from luce.sequences.matched_states import MatchedStates
from luce.sequences.segmentations import KeptStates, change_probability
from luce.sequences.segmentations import similarity as similarity_of
from luce.sequences.series import Series

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from xarray import DataTree

# Panels of a series that are drawn unless channels and sequences are named: of one sequence, of all
# sequences; and sequences.
_MOST_CHANNELS, _MOST_PANELS, _MOST_SEQUENCES = 4, 12, 6

# Columns of pixels of a panel.  A longer series is reduced to its extremes within each of them.
_PIXELS = 1200
_MOST_POINTS = 4000  # points of a line that is drawn as lines; more make smaller files as an image
_MOST_BARS = 1500  # segments that are drawn as shapes
_LEAST_SHOWN = 0.005  # smallest probability of a change that is drawn

_BESIDE: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "fontsize": 8}
_INK = "#202020"  # lines and letters on coloured grounds, which are light

# Hues of Okabe and Ito, and the shares of white that they are mixed with in turn; states beyond
# these are hatched.
_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#56B4E9", "#D55E00", "#8C8C8C")
_WHITES = (0.55, 0.15)
_HATCHES = ("", "////", "....", "xxxx")

_MOST_NAMED = 24  # states in a legend
_MOST_STATES = 30  # of a picture of durations or transitions
_MOST_LENGTHS = 400  # lengths at which a duration law is evaluated


class Look(NamedTuple):
    """Colour and hatching of a state."""

    color: str
    hatch: str


def look_of(state: int) -> Look:
    """Choose colour and hatching of a state of the point estimate; all below 64 differ."""
    from matplotlib.colors import to_hex, to_rgb

    shade, hue = divmod(state, len(_HUES))
    hatch, shade = divmod(shade, len(_WHITES))
    white = _WHITES[shade]
    red, green, blue = (white + (1 - white) * part for part in to_rgb(_HUES[hue]))
    return Look(to_hex((red, green, blue)), _HATCHES[hatch % len(_HATCHES)])


def segmentation(
    run: DataTree | KeptStates | MatchedStates,
    *,
    sequences: Iterable[Label] | None = None,
    channels: Iterable[Label] | None = None,
    ax: Axes | Iterable[Axes] | None = None,
) -> npt.NDArray[Any]:
    """Draw series over the states of the point estimate, and the probability of a change beneath.

    The ground of a panel has the colour of the state, whose number stands in segments that have
    room for it.  Long series are drawn by their extremes within each pixel.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    sequences
        Labels of sequences; the first six unless given.
    channels
        Labels of channels; unless given, at most four of them, those that differ most between the
        states of the point estimate.
    ax
        Axes to draw into: for each sequence one for each channel, and one for the changes.

    Returns
    -------
    array of Axes
        Shape (sequence, channel + 1); the last of a sequence has the probabilities of changes.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0], 30) + rng.normal(size=90)
    >>> run = luce.SemiMarkov(4).fit(level, 1000, seed=1, progress=False)
    >>> luce.plots.segmentation(run).shape
    (1, 2)
    """
    require_matplotlib()
    from luce.plots.figure import Panels

    found = MatchedStates.of(run)
    series = found.series
    which = _numbers(sequences, series.names, "sequences", _MOST_SEQUENCES)
    shown = _channels(found, channels, len(which))
    chances = change_probability(found.kept).values
    panels = len(shown) + 1
    given = None if ax is None else list(np.ravel(np.asarray(ax, object)))
    tall = _series_height(len(which) * len(shown))
    shares = [*[tall] * len(shown), 0.42] * len(which)
    names = names_of(list(series.channels), shown.tolist(), 18)
    titles = names_of(list(series.names), which.tolist(), 60)
    height = sum(shares) + 0.3 * len(which) + 0.45
    with drawing_rows(given, len(which) * panels, 6.4, height, shares) as rows:
        axes = Panels.of(rows, (len(which), panels))
        for own, k, title in zip(axes, which, titles.texts, strict=True):
            part = series.rows_of(int(k))
            moments = series.moments[part]
            segments = _segments(found, part, moments)
            for each, channel, name in zip(own, shown, names.texts, strict=False):
                _colour(each, segments, moments)
                _draw_series(each, moments, series.values[part, channel], series.categories)
                if len(series.channels) > 1:
                    each.set_ylabel(name, **_BESIDE, **names.look)
                each.tick_params(labelbottom=False)
            _draw_changes(own[-1], moments, chances[part])
            for each in own:
                each.set_xlim(*_limits(moments))
            _number_segments(own[0], segments, moments)
            if len(series.names) > 1:
                own[0].set_title(f"sequence {title}", loc="left", pad=14, **titles.look)
        axes[-1, -1].set_xlabel(_clock(series.times, series.dates))
        if ax is None:
            axes[0, 0].figure.align_ylabels(rows)
        _name_states(axes[0, 0], found, which)
    return axes


def durations(
    run: DataTree | KeptStates | MatchedStates,
    *,
    ci_prob: float = 0.9,
    most: int = _MOST_STATES,
    ax: Axes | None = None,
) -> Axes:
    """Draw the law of the duration of each state of the point estimate, with lengths of segments.

    A line is the posterior mean of P(D = d), the band its pointwise interval, each state to its own
    scale; dots are the segments of the point estimate, open ones those that may have gone on after
    the end of their sequence.  The posterior of the mean duration stands beside.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    ci_prob
        Probability of the intervals, between 0 and 1.
    most
        Largest number of states; those that hold the most time are drawn.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0], 30) + rng.normal(size=90)
    >>> run = luce.SemiMarkov(4).fit(level, 1000, seed=1, progress=False)
    >>> [name.get_text() for name in luce.plots.durations(run).get_yticklabels()]
    ['state 0', 'state 1']
    """
    require_matplotlib()
    found, tail = MatchedStates.of(run), tail_of(ci_prob)
    rows = min(found.n, most)
    states, lengths, may_go_on = found.segments
    limit = _longest_shown(found, rows)
    at = np.unique(np.linspace(1, limit, _MOST_LENGTHS).astype(np.int64))
    height = max(1.2, 0.5 * rows) if rows <= 16 else height_of(2 * rows)
    with drawing(ax, 6.6, height + 0.75) as axes:
        axes.set_ylim(rows - 0.3, -0.85)
        beside = axes.get_yaxis_transform()
        for k in range(rows):
            _draw_law(axes, k, at, found.duration_probabilities(k, at), tail)
            for open_ended in (False, True):
                own = lengths[(states == k) & (may_go_on == open_ended)]
                face = "none" if open_ended else GREY
                dots: dict[str, Any] = {"color": GREY, "markersize": 3.5, "markerfacecolor": face}
                if len(own):
                    axes.plot(own, np.full(len(own), k + 0.15), "o", alpha=0.8, **dots)
            words = mean_in_words(found.mean_durations[:, k], tail)
            axes.text(1.02, k - 0.1, words, transform=beside, va="center", fontsize=9)
        axes.text(1.02, -0.62, "mean duration", transform=beside, va="center", fontsize=8)
        axes.set_xlim(0, limit * 1.02)
        axes.grid(False, axis="y")
        interval = f"{round(100 * ci_prob, 10):g} %"
        axes.set_xlabel(f"duration in rows: mean law, {interval} band, segments as dots")
        names = names_of(found.names, range(rows))
        name_rows(axes, range(rows), names, height if ax is None else None)
    return axes


def moves(
    run: DataTree | KeptStates | MatchedStates,
    *,
    most: int = _MOST_STATES,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability to move from each state of the point estimate to each other.

    Shades are posterior means over the draws that have the state of the row; the last column holds
    all states that the picture does not name.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    most
        Largest number of states; those that hold the most time are drawn.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0], 30) + rng.normal(size=90)
    >>> run = luce.SemiMarkov(4).fit(level, 1000, seed=1, progress=False)
    >>> luce.plots.moves(run).images[0].get_array().shape
    (2, 3)
    """
    require_matplotlib()
    found = MatchedStates.of(run)
    rows = min(found.n, most)
    mean = found.mean_transitions[:rows]
    table = np.c_[mean[:, :rows], mean[:, rows:].sum(axis=1)]
    forbidden = np.c_[found.forbidden[:rows, :rows], np.zeros(rows, np.bool_)]
    names = found.names[:rows]
    others = found.destinations[-1]
    return transition_heatmap(table, forbidden, sources=names, states=[*names, others], ax=ax)


def similarity(
    run: DataTree | KeptStates | MatchedStates,
    times: npt.ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability that two rows are in one state.

    Blocks on the diagonal are segments; blocks off it are later visits to a state.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    times
        Rows to compare, each with each, as numbers from 0 through all sequences, increasing; 200
        of them, evenly spaced, unless given.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0], 30) + rng.normal(size=90)
    >>> run = luce.SemiMarkov(4).fit(level, 1000, seed=1, progress=False)
    >>> luce.plots.similarity(run, [0, 45, 80]).images[0].get_array().data.round()
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    require_matplotlib()
    from matplotlib.colors import Normalize

    found = MatchedStates.of(run)
    table = similarity_of(found.kept, times)
    rows, borders = table["time"].values, found.kept.borders
    several = found.series.n_sequences > 1
    with drawing(ax, 5.3, 4.6 - 0.15 * (not several)) as axes:
        image = shade_table(axes, table.values, Normalize(0.0, 1.0))
        if ax is not None:
            axes.set_aspect("equal")
        if several:
            _name_sequences(axes, found, rows, borders)
        else:
            _name_times(axes, found.series, rows)
        axes.tick_params(labelsize=8, length=2)
        add_scale(axes, image, "P(one state)", percent=True)
    return axes


def trace_figures(
    figures: Mapping[str, FloatArray], *, ax: Axes | Iterable[Axes] | None = None
) -> npt.NDArray[Any]:
    """Draw figures of a run, each of shape (chain, draw), draw after draw.

    Parameters
    ----------
    figures
        Draws by name.
    ax
        Axes to draw into, one for each figure.
    """
    require_matplotlib()
    values = np.stack(list(figures.values()), axis=2)
    names = names_of(list(figures), range(len(figures)), 60)
    return draw_chains(values, np.arange(values.shape[1]), names, "draw", "", ax)


def _name_sequences(ax: Axes, found: MatchedStates, rows: IntArray, borders: IntArray) -> None:
    """Write names of sequences beside a table of rows, and draw lines between the sequences."""
    sequence = np.searchsorted(borders, rows, side="right") - 1
    cuts = np.flatnonzero(np.diff(sequence)) + 1
    edges = np.r_[0, cuts, len(rows)]
    at = ((edges[:-1] + edges[1:] - 1) / 2).tolist()
    names = names_of(list(found.series.names), sequence[edges[:-1]].tolist(), 14)
    letters = max(map(len, names.texts)) * len(at)
    ax.set_xticks(at, names.texts, rotation=90 if letters > 40 else 0, **names.look)
    ax.set_yticks(at, names.texts, **names.look)
    for line in (ax.axhline, ax.axvline):
        for cut in cuts.tolist():
            line(cut - 0.5, color=VERMILION, linewidth=0.8)
    ax.set_xlabel("sequence")
    ax.set_ylabel("sequence")


def _name_times(ax: Axes, series: Series, rows: IntArray) -> None:
    """Write times beside a table of rows: round ones where they are numbers."""
    moments = series.moments[rows]
    if series.dates:
        at = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 5)).astype(np.int64))
        texts = [str(moments[k].astype("datetime64[m]")).replace("T", "\n") for k in at]
        places = at.astype(np.float64)
    else:
        from matplotlib.ticker import MaxNLocator

        x = moments.astype(np.float64)
        ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(x.min(), x.max())
        ticks = ticks[(ticks >= x.min()) & (ticks <= x.max())]
        places = np.interp(ticks, np.sort(x), np.arange(len(x), dtype=np.float64))
        texts = [f"{tick:,.6g}" for tick in ticks]
    ax.set_xticks(places, texts)
    ax.set_yticks(places, texts)
    ax.set_xlabel(_clock(series.times, series.dates))
    ax.set_ylabel(_clock(series.times, series.dates))


# -- the choice of channels and sequences ----------------------------------------------------------


def _numbers(
    given: Iterable[Label] | None, labels: Sequence[Label], what: str, most: int
) -> IntArray:
    """Return the numbers of labels that were asked for, or the first."""
    if given is None:
        return np.arange(min(len(labels), most))
    asked = [given] if isinstance(given, str) else list(given)
    unknown = [label for label in asked if label not in labels]
    if unknown or not asked:
        what_is_wrong = f"{some(unknown)} among" if unknown else "nothing for"
        raise DataError(f"{what_is_wrong} {what} was given; the run has {some(labels)}.")
    return np.array([list(labels).index(label) for label in asked])


def _channels(found: MatchedStates, given: Iterable[Label] | None, sequences: int) -> IntArray:
    """Return the numbers of the channels that were asked for, or that tell states apart best."""
    labels = found.series.channels
    if given is not None:
        return _numbers(given, labels, "channels", len(labels))
    most = min(_MOST_CHANNELS, max(1, _MOST_PANELS // sequences))
    if len(labels) <= most:
        return np.arange(len(labels))
    order = np.argsort(-explained_shares(found), kind="stable")
    return np.sort(order[:most])


def explained_shares(found: MatchedStates) -> FloatArray:
    """Compute the share of each channel's variance that lies between states, shape (channel,)."""
    values, n = found.series.values, found.n
    shares = np.zeros(values.shape[1])
    for k, x in enumerate(values.T):
        there = ~np.isnan(x)
        own, label = x[there], found.estimate[there]
        if len(own) == 0 or np.ptp(own) == 0:
            continue
        times = np.maximum(np.bincount(label, minlength=n), 1)
        means = np.bincount(label, own, n) / times
        shares[k] = 1.0 - np.mean((own - means[label]) ** 2) / own.var()
    return shares


def _series_height(panels: int) -> float:
    """Return the inches of height of a panel of a series."""
    return 1.5 if panels == 1 else 1.1 if panels <= 4 else 0.75


# -- a series over its states ----------------------------------------------------------------------


class _Segments(NamedTuple):
    """Segments of one sequence: both ends on the axis of time, and states."""

    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    states: IntArray


def _segments(found: MatchedStates, part: slice, moments: npt.NDArray[Any]) -> _Segments:
    """List the segments of one sequence, each from half a row before it to half a row after."""
    states = found.estimate[part]
    starts = np.flatnonzero(np.diff(states, prepend=-1) != 0)
    x = _as_numbers(moments)
    middles = (x[1:] + x[:-1]) / 2
    low, high = _limits(moments)
    ends = np.r_[low, middles[starts[1:] - 1], high]
    return _Segments(ends[:-1], ends[1:], states[starts])


def _as_numbers(moments: npt.NDArray[Any]) -> FloatArray:
    """Convert times to numbers on an axis of matplotlib: dates to days."""
    if moments.dtype.kind != "M":
        return moments.astype(np.float64)
    from matplotlib import dates

    to_days: Callable[[Any], Any] = dates.date2num
    return np.asarray(to_days(moments), np.float64)


def _limits(moments: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the ends of the axis of time: half a step before the first row and after the last."""
    x = _as_numbers(moments)
    if len(x) == 1:
        return x[0] - 0.5, x[0] + 0.5
    return x[0] - (x[1] - x[0]) / 2, x[-1] + (x[-1] - x[-2]) / 2


def _colour(ax: Axes, segments: _Segments, moments: npt.NDArray[Any]) -> None:
    """Fill the ground of each segment with the colour of its state."""
    ax.grid(False)
    if moments.dtype.kind == "M":
        ax.xaxis_date()
    dense = len(segments.states) > _MOST_BARS
    for state in np.unique(segments.states).tolist():
        own = segments.states == state
        look = look_of(state)
        bars = list(zip(segments.left[own], (segments.right - segments.left)[own], strict=True))
        ax.broken_barh(
            bars,
            (0.0, 1.0),
            transform=ax.get_xaxis_transform(),
            facecolor=look.color,
            hatch=look.hatch or None,
            edgecolor="#ffffff" if look.hatch else "none",
            linewidth=0,
            antialiased=False,
            rasterized=dense,
            zorder=0.5,
            label=f"{state}",
        )


def _draw_series(
    ax: Axes, moments: npt.NDArray[Any], values: FloatArray, categories: Sequence[Label]
) -> None:
    """Draw one channel as a line, its gaps being missing values; categories as dots."""
    x, y = reduced(_as_numbers(moments), values)
    look: dict[str, Any] = {"color": _INK, "zorder": 2, "rasterized": len(x) > _MOST_POINTS / 2}
    if categories:
        ax.plot(x, y, "|", markersize=5, markeredgewidth=0.8, **look)
        names = names_of(list(categories), range(len(categories)), 14)
        ax.set_ylim(len(categories) - 0.4, -0.6)
        name_rows(ax, range(len(categories)), names, None)
        return
    ax.plot(x, y, linewidth=0.9 if len(x) < 600 else 0.5, **look)
    alone = ~np.isnan(y) & np.isnan(np.r_[np.nan, y[:-1]]) & np.isnan(np.r_[y[1:], np.nan])
    if alone.any():  # a line of one point is invisible
        ax.plot(x[alone], y[alone], ".", markersize=2.5, markeredgewidth=0, **look)
    ax.margins(y=0.12)
    ax.locator_params(axis="y", nbins=4)


def reduced(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Reduce a long line to its least and largest value within each column of pixels.

    A line of at most 4 points for each of 1,200 columns stays as it is.  Missing values are left
    out, except where all of a column are missing.
    """
    if len(x) <= 4 * _PIXELS:
        return x, y
    starts = np.linspace(0, len(x), _PIXELS + 1).astype(np.int64)[:-1]
    ends = np.stack([np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)], axis=1)
    return np.repeat(x[starts], 2), ends.ravel()


def _draw_changes(ax: Axes, moments: npt.NDArray[Any], chances: FloatArray) -> None:
    """Draw the probability of a change as upright lines, the largest within each pixel."""
    x = _as_numbers(moments)
    if moments.dtype.kind == "M":
        ax.xaxis_date()
    if len(x) > 4 * _PIXELS:
        starts = np.linspace(0, len(x), _PIXELS + 1).astype(np.int64)[:-1]
        x, chances = x[starts], np.maximum.reduceat(chances, starts)
    seen = chances >= _LEAST_SHOWN
    middles = np.r_[x[0], (x[1:] + x[:-1]) / 2]
    many = int(seen.sum()) > _MOST_BARS // 2
    ax.vlines(middles[seen], 0.0, chances[seen], VERMILION, linewidth=1.1, rasterized=many)
    ax.set_ylim(0.0, 1.05)
    ax.set_yticks([0.0, 1.0], ["0", "1"])
    ax.set_ylabel("P(change)", **_BESIDE)


def _number_segments(ax: Axes, segments: _Segments, moments: npt.NDArray[Any]) -> None:
    """Write the states above segments that are wide enough, the longest first."""
    low, high = _limits(moments)
    wide = (segments.right - segments.left) / (high - low)
    for k in np.flatnonzero(wide >= 0.014 + 0.01 * (segments.states > 9)).tolist():
        ax.text(
            (segments.left[k] + segments.right[k]) / 2,
            1.0,
            f"{segments.states[k]}",
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=7.5,
        )


def _name_states(ax: Axes, found: MatchedStates, which: IntArray) -> None:
    """Put a legend of the colours of the states that are seen above the axes."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import offset_copy

    whole: Any = ax.figure
    rows = np.concatenate([found.estimate[found.series.rows_of(int(k))] for k in which])
    seen = np.unique(rows)[:_MOST_NAMED].tolist()
    patches: list[Artist] = []
    for state in seen:
        look = look_of(state)
        patches.append(
            Patch(
                facecolor=look.color,
                hatch=look.hatch * 2 or None,
                edgecolor="#ffffff",
                linewidth=0,
                label=f"{state}",
            )
        )
    ax.legend(
        handles=patches,
        title="state",
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        bbox_transform=offset_copy(ax.transAxes, whole, 0, 14, units="points"),
        ncols=12,
        handlelength=1.0,
        handleheight=1.0,
        handletextpad=0.35,
        columnspacing=0.9,
        borderpad=0,
        alignment="right",
        title_fontsize=9,
    )


def _clock(times: FloatArray | None, dates: bool) -> str:
    return "row" if times is None else "date" if dates else "time"


# -- durations -------------------------------------------------------------------------------------


def _longest_shown(found: MatchedStates, rows: int) -> int:
    """Return the length at which the axis of durations ends."""
    states, lengths, _ = found.segments
    longest = int(lengths[states < rows].max())
    # The laws of few segments have long tails, which need not be seen.
    means = np.nanmean(found.mean_durations[:, :rows], axis=0)
    return int(max(1.1 * longest, min(1.5 * means.max(), 2.0 * longest), 5)) + 1


def _draw_law(ax: Axes, row: int, at: IntArray, draws: FloatArray, tail: float) -> None:
    """Draw mean and band of a law of durations above a row, to a scale of its own."""
    mean = draws.mean(axis=0)
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    scale = 0.68 / max(float(high.max()), 1e-300)
    look = look_of(row)
    step: Literal["mid"] | None = "mid" if len(at) <= 60 else None
    ax.fill_between(
        at,
        row - scale * low,
        row - scale * high,
        color=look.color,
        linewidth=0.4,
        alpha=0.9,
        step=step,
        zorder=1,
    )
    ax.plot(
        at,
        row - scale * mean,
        color=GREY,
        linewidth=1.1,
        zorder=2,
        drawstyle="steps-mid" if step else "default",
    )
    ax.axhline(row, color=GREY, linewidth=0.5, zorder=0.9)


def mean_in_words(draws: FloatArray, tail: float) -> str:
    """Write mean and interval of draws, nan being left out."""
    there = draws[~np.isnan(draws)]
    low, high = np.quantile(there, [tail, 1 - tail])
    return f"{there.mean():.3g} ({low:.3g} to {high:.3g})"
