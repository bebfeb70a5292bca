"""Answer, data and model of a report on a time series, as `SemiMarkov.fit` segments it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.labels import plural
from luce.model.priors import Gamma
from luce.page.document import Cell, Code, Folded, Inline, Link, Number, Page, Strong
from luce.page.words import percent, probability
from luce.reports.findings import SegmentFindings
from luce.reports.formatting import NOTHING, listed, names_of, number_cell, some_names
from luce.sequences.durations import Duration, Histogram, NegativeBinomial, Poisson
from luce.sequences.segmentations import LEAST_SHARE

MOST_SEGMENTS = 200  # rows of the table of segments
_MOST_ROWS = 500  # rows of the tables of states, of parameters and of transitions
_MOST_NUMBERS = 4  # numbers of states that are named with their probabilities
_MOST_NAMED = 12  # labels that a list names
_NEAR = 2  # rows to both sides of a border in which a change is looked for
_LIKELY = 0.5  # probability from which on a change is called probable

TRUST = "Whether the draws can be trusted"  # title of a section


def title_of(found: SegmentFindings) -> str:
    """Count rows, channels and sequences."""
    series = found.series
    channels = plural(series.n_channels, "channel")
    several = f" in {series.n_sequences:,} sequences" if series.n_sequences > 1 else ""
    return f"{plural(series.length, 'row')} of {channels}{several}, segmented"


def lead(found: SegmentFindings) -> list[Inline]:
    """Say how many states hold how much time with which probability, and count segments."""
    words: list[Inline] = [_numbers_in_words(found), _segments_in_words(found)]
    if found.doubts.problems or found.verdict.kind == "bad":
        address = f"#{TRUST.lower().replace(' ', '-')}"
        words += ["The numbers on this page may be wrong: see ", Link("why", address), ". "]
    return words


def _numbers_in_words(found: SegmentFindings) -> str:
    """Tell the posterior of the number of states that hold at least 1 % of the time."""
    numbers, share = found.numbers_of_states, percent(LEAST_SHARE)
    if len(numbers) == 1:
        n = numbers[0][0]
        hold = "state holds" if n == 1 else "states hold"
        return f"In all draws {n:,} {hold} at least {share} of the time. "
    parts = [f"{n:,} with probability {probability(p)}" for n, p in numbers[:_MOST_NUMBERS]]
    rest = sum(p for _, p in numbers[_MOST_NUMBERS:])
    if len(numbers) > _MOST_NUMBERS:
        parts.append(f"other numbers with {probability(rest)}")
    return f"The number of states that hold at least {share} of the time is {listed(parts)}. "


def _segments_in_words(found: SegmentFindings) -> str:
    """Count the segments of the point estimate and of the draws."""
    low, high = found.interval(found.figure("segments").ravel())
    many = plural(len(found.segments), "segment")
    counted = int(np.count_nonzero(found.table["counted"]))
    hold = "holds" if counted == 1 else "hold"
    only = f", {counted:,} of which {hold} at least {percent(LEAST_SHARE)} of the time"
    return (
        f"The point estimate has {many} of {plural(found.states.n, 'state')}"
        f"{only * (counted < found.states.n)}; "
        f"{percent(found.ci_prob)} of the draws have between {low:,.0f} and {high:,.0f} segments. "
    )


# -- states ----------------------------------------------------------------------------------------


def write_states(page: Page, found: SegmentFindings, most: int = _MOST_ROWS) -> None:
    """Add the table of the states of the point estimate, and the meaning of its columns."""
    x, n = found.table, min(found.states.n, most)
    interval = f"eti{round(100 * found.ci_prob, 10):g}"
    outer = f"{percent(found.ci_prob)} interval"

    def row(k: int) -> list[Cell]:
        shares = [float(x[f"share_{interval}_{end}"][k]) for end in ("lb", "ub")]
        lengths = [float(x[f"duration_{interval}_{end}"][k]) for end in ("lb", "ub")]
        return [
            number_cell(k, ".0f"),
            Number(_per_cent(x["share"][k]), float(x["share"][k])),
            Number(f"{_per_cent(shares[0])} to {_per_cent(shares[1])}", shares[0]),
            number_cell(x["visits"][k], ",.1f"),
            number_cell(x["duration"][k], ",.3g"),
            _interval_cell(lengths),
            Number(probability(x["probability"][k]), float(x["probability"][k])),
        ]

    left = found.states.n - n
    more = f" {plural(left, 'state that holds', 'states that hold')} less is left out." * bool(left)
    page.table(
        ["State", "Share of time", outer, "Visits", "Duration", f"Duration, {outer}", "Sure"],
        [row(k) for k in range(n)],
        caption=f"States of the point estimate, those that hold the most time first.{more}",
        numeric=range(7),
        sortable=True,
    )
    disagreement = found.disagreement
    low, high = found.interval(disagreement)
    page.facts(
        {
            "State": "its number in the point estimate. States of every draw are matched to these, "
            "so that as much time as possible coincides. Draws differ from the point estimate in "
            f"{_per_cent(float(disagreement.mean()))} of the time after that "
            f"({_per_cent(low)} to {_per_cent(high)} in {percent(found.ci_prob)} of the draws)",
            f"Share of time, {outer}": "part of all rows that are in the state, over the draws",
            "Visits": "mean number of segments of the state in a draw",
            "Duration": "mean number of rows of such a segment in a draw, as far as it was seen: "
            "mean over the draws, and interval",
            "Sure": "probability that rows of this state of the point estimate are in it",
        }
    )


@dataclass(frozen=True, eq=False)
class Quantities:
    """Draws of numbers that describe the observations within a state.

    Parameters
    ----------
    entry
        The word for what is described: a channel, a category.
    names
        Names of the entries.
    draws
        Arrays of shape (draw, state, entry) by the head of their column.
    observed
        The same of the data, shape (state, entry), by the head of its column.
    """

    entry: str
    names: list[str]
    draws: dict[str, FloatArray]
    observed: dict[str, FloatArray]


def quantities(found: SegmentFindings) -> Quantities:
    """Choose what describes the observations within a state."""
    states, series, name = found.states, found.series, found.model.emission.name
    channels = names_of(list(series.channels))

    def parameter(of: str) -> FloatArray:
        return states.emission_parameter(of)

    def deviations() -> FloatArray:
        return np.sqrt(np.diagonal(parameter("covariance"), axis1=2, axis2=3))

    match name:
        case "gaussian":
            draws = {"Mean": parameter("mean"), "Standard deviation": deviations()}
        case "diagonal-gaussian":
            draws = {
                "Mean": parameter("mean"),
                "Standard deviation": np.sqrt(parameter("variance")),
            }
        case "counts":
            draws = {"Rate": parameter("rate")}
        case "categories":
            labels = names_of(list(series.categories))
            return Quantities("Category", labels, {"Probability": parameter("probabilities")}, {})
        case _:  # autoregressive
            before = np.diagonal(parameter("coefficients"), axis1=2, axis2=3)
            draws = {"Coefficient of the row before": before, "Noise": deviations()}
            means = state_means(series.values, states.estimate, states.n)
            return Quantities("Channel", channels, draws, {"Mean of its rows": means})
    return Quantities("Channel", channels, draws, {})


def state_means(values: FloatArray, labels: IntArray, n: int) -> FloatArray:
    """Compute the mean of the values of each state, missing ones left out, (state, channel)."""
    found = np.full((n, values.shape[1]), np.nan)
    for k, x in enumerate(values.T):
        there = ~np.isnan(x)
        times = np.bincount(labels[there], minlength=n)
        sums = np.bincount(labels[there], x[there], n)
        np.divide(sums, times, out=found[:, k], where=times > 0)
    return found


def write_parameters(page: Page, found: SegmentFindings, most: int = _MOST_ROWS) -> None:
    """Add the table of the parameters of the observations within each state."""
    told = quantities(found)
    outer = percent(found.ci_prob)
    head = ["State", told.entry, *told.observed]
    for name in told.draws:
        head += [name, f"{outer} interval"]
    pairs = [(k, j) for k in range(found.states.n) for j in range(len(told.names))]

    def row(k: int, j: int) -> list[Cell]:
        cells: list[Cell] = [number_cell(k, ".0f"), Folded(told.names[j], 30)]
        cells += [number_cell(float(x[k, j]), ",.4g") for x in told.observed.values()]
        for draws in told.draws.values():
            own = draws[:, k, j]
            there = own[~np.isnan(own)]
            mean = float(there.mean()) if len(there) else float("nan")
            cells += [number_cell(mean, ",.4g"), _interval_cell(found.interval(own), ".4g")]
        return cells

    left = max(len(pairs) - most, 0)
    more = f" {plural(left, 'row is', 'rows are')} left out." if left else ""
    page.table(
        head,
        [row(k, j) for k, j in pairs[:most]],
        caption=f"Observations within each state: means over the draws that have it.{more}",
        numeric=[0, *range(2, len(head))],
        sortable=True,
    )


# -- segments and changes --------------------------------------------------------------------------


def write_segments(page: Page, found: SegmentFindings, most: int = MOST_SEGMENTS) -> None:
    """Add the table of segments, and how sure their borders are."""
    page.text(_changes_in_words(found))
    x, series = found.segments, found.series
    near = near_changes(found)
    several, timed = series.n_sequences > 1, has_clock(found)
    names = dict(zip(series.names, names_of(list(series.names)), strict=True))
    place = {label: int(first) for label, first in zip(series.names, series.borders, strict=False)}
    head = ["Start", "End", "Rows", "State", "Sure", f"P(change within {_NEAR} rows)"]
    head = [*["Sequence"] * several, *["From", "Until"] * timed, *head]

    def row(k: int) -> list[Cell]:
        start, end = int(x["start"][k]), int(x["end"][k])
        label = x["sequence"][k]
        label = label.item() if isinstance(label, np.generic) else label
        cells: list[Cell] = [Folded(names[label], 30)] if several else []
        if timed:
            first = place[label]
            cells += [_moment(series.moments[first + t]) for t in (start, end - 1)]
        return [
            *cells,
            number_cell(start, ",.0f"),
            number_cell(end, ",.0f"),
            number_cell(end - start, ",.0f"),
            number_cell(int(x["state"][k]), ".0f"),
            Number(probability(x["probability"][k]), float(x["probability"][k])),
            Number(NOTHING if np.isnan(near[k]) else probability(near[k]), float(near[k])),
        ]

    left = max(len(x) - most, 0)
    more = (
        f" The first {most:,} are shown; {plural(left, 'more is', 'more are')} in "
        "luce.sequences.segments(run)."
        if left
        else ""
    )
    page.table(
        head,
        [row(k) for k in range(min(len(x), most))],
        caption=f"Segments of the point estimate, in order.{more}",
        numeric=range(len(head) - 6 - 2 * (timed and not series.dates), len(head)),
        sortable=True,
    )
    meanings: dict[str, Cell] = {
        "Start, End": "first row of the segment, and the row after its last, counted from 0 in "
        "each sequence",
        "Sure": "probability that its rows are in its state, after matching: a mean over rows",
        f"P(change within {_NEAR} rows)": "probability that a segment begins at its first row, or "
        f"at most {plural(_NEAR, 'row')} before or after; none for the first of a sequence",
    }
    if timed:
        meanings["From, Until"] = "times of its first and last row"
    page.facts(meanings)


def has_clock(found: SegmentFindings) -> bool:
    """Were times given that are not just the numbers of the rows?"""
    series = found.series
    if series.times is None:
        return False
    rows = np.arange(series.length) - series.borders[series.sequence_of]
    return series.dates or not np.array_equal(series.times, rows)


def _moment(at: np.generic) -> Number:
    """Write a time: a date, or a number."""
    if at.dtype.kind == "M":
        return Number(str(at).removesuffix(".000000").removesuffix("T00:00:00"), float("nan"))
    return Number(f"{float(at):.10g}", float(at))


def _changes_in_words(found: SegmentFindings) -> str:
    """Count changes in the draws, and rows at which one is probable."""
    n = found.series.n_sequences
    changes = found.figure("segments") - n
    low, high = found.interval(changes.ravel())
    likely = found.changes >= _LIKELY
    outer = percent(found.ci_prob)
    return (
        f"A draw has {changes.mean():,.1f} changes of state on average ({outer} between "
        f"{low:,.0f} and {high:,.0f}). {plural(int(likely.sum()), 'row has', 'rows have')} a "
        f"probability of at least {_LIKELY:g} that a segment begins there; where a change is sure "
        "and its place is not, the probability is spread over several rows."
    )


def near_changes(found: SegmentFindings) -> FloatArray:
    """Compute the probability of a change near the first row of each segment, shape (segment,).

    It is nan for the first segment of a sequence.
    """
    kept = found.kept
    starts = np.flatnonzero(kept.firsts | (np.diff(kept.estimate, prepend=-1) != 0))
    sequence = np.searchsorted(kept.borders, starts, side="right") - 1
    low = np.maximum(starts - _NEAR, kept.borders[sequence] + 1)
    high = np.minimum(starts + _NEAR + 1, kept.borders[sequence + 1])
    near = np.zeros(len(starts))
    for own in kept.draws:
        changes = np.zeros(kept.length + 1, np.int64)
        changes[2:] = np.cumsum((own[1:] != own[:-1]) & ~kept.firsts[1:])
        near += changes[high] > changes[np.minimum(low, high)]
    near /= len(kept.draws)
    near[kept.firsts[starts]] = np.nan
    return near


# -- transitions -----------------------------------------------------------------------------------


def write_transitions(page: Page, found: SegmentFindings, most: int = _MOST_ROWS) -> None:
    """Add the table of transitions between states of the point estimate, the seen ones first."""
    states = found.states
    mean, draws, seen = states.mean_transitions, states.transitions, states.moves_seen
    pairs = np.argwhere(~states.forbidden[:, :-1])
    order = np.lexsort((-mean[tuple(pairs.T)], -seen[tuple(pairs.T)]))
    outer = percent(found.ci_prob)

    def row(i: int, j: int) -> list[Cell]:
        low, high = found.interval(draws[:, i, j])
        return [
            number_cell(i, ".0f"),
            number_cell(j, ".0f"),
            number_cell(seen[i, j], ",.0f"),
            Number(probability(mean[i, j]), float(mean[i, j])),
            Number(f"{probability(low)} to {probability(high)}", low),
        ]

    left = max(len(pairs) - most, 0)
    more = f" The {left:,} last are left out." if left else ""
    page.table(
        ["From", "To", "Moves", "Probability", f"{outer} interval"],
        [row(i, j) for i, j in pairs[order[:most]].tolist()],
        caption="Transitions between states of the point estimate, those that it has most often "
        f"first.{more}",
        numeric=range(5),
        sortable=True,
    )
    page.text(
        "Moves are counted in the point estimate. Probabilities are over the draws that have the "
        "first of both states; what is left of each goes to states that the point estimate has "
        "not."
    )


# -- data ------------------------------------------------------------------------------------------


def write_data(page: Page, found: SegmentFindings) -> None:
    """Add the size of the data, and what each channel holds."""
    series = found.series
    lengths = np.diff(series.borders)
    facts: dict[str, Cell] = {"Rows": f"{series.length:,}"}
    if series.n_sequences > 1:
        names = Folded(some_names(names_of(list(series.names)), _MOST_NAMED), 160)
        facts["Sequences"] = f"{series.n_sequences:,}"
        facts["Their names"] = names
        facts["Rows of a sequence"] = f"{lengths.min():,} to {lengths.max():,}"
    else:
        facts["Sequences"] = "1"
    facts["Channels"] = Folded(some_names(names_of(list(series.channels)), _MOST_NAMED), 160)
    facts["Missing values"] = _missing(found)
    if series.times is not None:
        order = np.argsort(series.times)
        first, last = (_moment(series.moments[k]).text for k in (order[0], order[-1]))
        facts["Times"] = f"from {first} to {last}"
    if len(found.may_end):
        candidates = int(found.may_end.sum()) - series.n_sequences
        facts["Candidates"] = (
            f"segments may begin at {plural(candidates, 'row')} besides first rows of sequences, "
            "which were given"
        )
    page.facts(facts)
    if series.categories:
        _write_categories(page, found)
    else:
        _write_channels(page, found)


def _missing(found: SegmentFindings) -> str:
    missing = found.series.missing
    if not missing.any():
        return "none"
    rows = missing.any(axis=1)
    whole = int(missing.all(axis=1).sum())
    return (
        f"{plural(int(missing.sum()), 'value')} of {missing.size:,} in "
        f"{plural(int(rows.sum()), 'row')}, {whole:,} of which "
        f"{'is' if whole == 1 else 'are'} missing as a whole"
    )


def _write_channels(page: Page, found: SegmentFindings) -> None:
    from luce.plots.time_series import explained_shares

    series, shares = found.series, explained_shares(found.states)
    rows: list[list[Cell]] = []
    for k, name in enumerate(names_of(list(series.channels))[:_MOST_ROWS]):
        x = series.values[:, k]
        there = x[~np.isnan(x)]
        rows.append(
            [
                Folded(name, 30),
                number_cell(len(x) - len(there), ",.0f"),
                number_cell(float(there.mean()), ",.4g"),
                number_cell(float(there.std()), ",.4g"),
                number_cell(float(there.min()), ",.4g"),
                number_cell(float(there.max()), ",.4g"),
                Number(_per_cent(shares[k]), float(shares[k])),
            ]
        )
    page.table(
        ["Channel", "Missing", "Mean", "Standard deviation", "Least", "Largest", "Between states"],
        rows,
        caption="Channels. Between states: share of the variance that the states of the point "
        "estimate account for.",
        numeric=range(1, 7),
        sortable=len(rows) > 1,
    )


def _write_categories(page: Page, found: SegmentFindings) -> None:
    series = found.series
    codes = series.values[~series.missing].astype(np.int64)
    times = np.bincount(codes, minlength=len(series.categories))
    rows: list[list[Cell]] = [
        [Folded(name, 30), number_cell(times[k], ",.0f")]
        for k, name in enumerate(names_of(list(series.categories))[:_MOST_ROWS])
    ]
    page.table(["Category", "Rows"], rows, caption="Categories", numeric=(1,), sortable=True)


# -- model -----------------------------------------------------------------------------------------


def write_model(page: Page, found: SegmentFindings) -> None:
    """Add the hidden semi-Markov model, its laws, priors and limits, and the method."""
    model = found.model
    page.text(
        "Each row of the series is in one of some states, which are not seen. A state lasts for a "
        "number of rows, its duration, and is then followed by another one. Durations, "
        "observations and the state that follows each have a law of the state’s own: a hidden "
        "semi-Markov model, with a hierarchical Dirichlet process over its transitions,"
    )
    page.preformatted(
        "β ~ Dir(γ/L, …, γ/L),     A_i ~ Dir(α β) given not i,     next state | i  ~  A_i,\n"
        "duration | i  ~  law of state i,     observation | i  ~  law of state i"
    )
    page.text(
        Strong("States. "),
        f"At most L = {model.n_states:,}; those that are not needed stay empty. β says how "
        "popular each is, A_i what follows state i.",
        f" {_forbidden(found)}" if _forbidden(found) else "",
    )
    page.text(Strong("Observations. "), f"{_emission(found)}.")
    page.text(Strong("Prior of the observations. "), _emission_prior(found))
    page.text(Strong("Durations. "), _duration(model.duration))
    page.text(Strong("Longest segment. "), _longest(found))
    page.text(Strong("Transitions. "), _concentrations(found))
    page.text(Strong("Beginning and end. "), _ends(found))
    page.text(Strong("Method. "), *_method(found))


def _method(found: SegmentFindings) -> list[Inline]:
    """Tell how states and parameters were drawn."""
    attributes = found.run.attrs
    words = f": {attributes.get('reason', NOTHING)}."
    if moves := int(attributes.get("split_merge", 0)):
        words += f" Each sweep proposes {plural(moves, 'move')} that split a state or merge two."
    if attributes.get("annealed"):
        words += (
            " During the warm-up, which is discarded, observations count little at first and "
            "fully at its end, so that chains find their states together."
        )
    return [Code(str(attributes.get("method", "not recorded"))), words]


def _forbidden(found: SegmentFindings) -> str:
    mask = found.model.transitions.forbidden
    more = int(np.count_nonzero(mask)) - int(np.count_nonzero(np.diagonal(mask)))
    return f"{plural(more, 'transition')} besides self-loops cannot occur." if more else ""


def _emission(found: SegmentFindings) -> str:
    """Describe the law of the observations within a state."""
    emission = found.model.emission
    match emission.name:
        case "gaussian":
            return "Normal, with a mean and a full covariance matrix for each state"
        case "diagonal-gaussian":
            return "Normal and independent of each other, with means and variances for each state"
        case "counts":
            return "Counts, Poisson and independent of each other, with rates for each state"
        case "categories":
            return "Categories, with probabilities for each state"
        case _:  # autoregressive
            rows = "the row before it" if emission.lags == 1 else f"the {emission.lags} rows before"
            first = "row" if emission.lags == 1 else f"{emission.lags} rows"
            return (
                f"Autoregressive: a row is a linear function of {rows}, plus normal noise, with "
                "coefficients and a covariance matrix for each state; nothing is assumed about the "
                f"first {first} of a sequence"
            )


def _emission_prior(found: SegmentFindings) -> str:
    emission = found.model.emission
    words = emission.prior_words()
    words = f"{words[0].upper()}{words[1:]}."
    if emission.from_data:
        names = listed([f"“{name}”" for name in emission.from_data])
        are = "was" if len(emission.from_data) == 1 else "were"
        words += (
            f" {names} {are} not given and {are} taken from this very series: the prior has seen "
            "the data, though only its location and scale."
        )
    return words


def _duration(law: Duration) -> str:
    """Describe the law of durations, and its prior."""
    match law:
        case Histogram():
            given = np.asarray(law.concentration)
            each = f"{float(given):g} for each" if given.ndim == 0 else "given for each length"
            return (
                "Any law on the lengths that are possible; its probabilities have a Dirichlet "
                f"distribution beforehand, with concentration {each}. The mean duration before any "
                f"data is {law.prior_mean:g} rows."
            )
        case Poisson():
            return (
                "One row plus a Poisson number of rows, with a rate for each state: segments of "
                "one state are about equally long. Before any data a state lasts "
                f"{law.mean:g} rows on average, and the standard deviation of a state’s rate is "
                f"{percent(round(law.shape**-0.5, 3))} of its mean."
            )
        case NegativeBinomial():
            kind = {
                "whole": f"a whole number from 1 to {law.most}, all equally probable beforehand",
                "real": "a positive number, with a gamma prior of shape 2 and mean 4",
            }
            r = f"{law.r}" if isinstance(law.r, int) else kind[law.r]
            form = (
                "Geometric: a state ends with any of its rows with the same probability, of its own"
                if law.name == "geometric"
                else "One row plus a negative binomial number of rows, with r and a probability to "
                f"stop for each state; r is {r}"
            )
            return (
                f"{form}. Before any data a state lasts {law.mean:g} rows on average; the prior’s "
                f"shape, {law.shape:g}, says how sure that is: the larger, the surer."
            )
    return f"{law}."


def _longest(found: SegmentFindings) -> str:
    longest = int(found.run.attrs.get("longest", 0))
    if not longest:
        return "None: segments may be as long as their sequence."
    chosen = "chosen by the prior of the durations" if found.model.longest is None else "as given"
    return (
        f"{plural(longest, 'row')}, {chosen}. Longer ones are not looked for: the model is "
        "conditioned on none having been seen."
    )


def _concentrations(found: SegmentFindings) -> str:
    """Say what both concentrations mean, and how they are known."""
    words = []
    for name, letter, meaning in (
        ("concentration", "α", "large: all states are followed alike; small: each in its own way"),
        ("base_concentration", "γ", "large: all states are equally popular; small: a few are"),
    ):
        prior = getattr(found.model.transitions, name)
        if isinstance(prior, Gamma):
            x = found.figure(name)
            low, high = found.interval(x.ravel())
            words.append(
                f"{letter} ({meaning}) is not known and was drawn too: its prior is a gamma "
                f"distribution of shape {prior.shape:g} and rate {prior.rate:g}, its posterior "
                f"mean {x.mean():.3g}, with {percent(found.ci_prob)} between {low:.3g} and "
                f"{high:.3g}."
            )
        else:
            words.append(f"{letter} ({meaning}) is fixed at {prior:g}.")
    return " ".join(words)


def _ends(found: SegmentFindings) -> str:
    start = {
        "own": "The first state of a sequence has a law of its own, Dir(1/L, …, 1/L) beforehand.",
        "base": "The first state of a sequence is drawn from β.",
        "uniform": "All states are equally probable as the first of a sequence.",
    }[found.model.start]
    end = {
        "censored": "The last segment of a sequence may go on after its last row.",
        "complete": "The last segment of a sequence ends with its last row.",
    }[found.model.end]
    return f"{start} A sequence begins with the first row of a segment. {end}"


# -- cells -----------------------------------------------------------------------------------------


def _per_cent(share: float) -> str:
    """Write a share in per cent with one decimal; 0 and 100 only where exact."""
    if 0 < share < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def _interval_cell(ends: list[float] | tuple[float, float], form: str = ",.3g") -> Number:
    low, high = ends
    if np.isnan(low):
        return Number(NOTHING, float("nan"))
    texts = [number_cell(end, form).text for end in (low, high)]
    return Number(f"{texts[0]} to {texts[1]}", low)
