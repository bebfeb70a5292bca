"""Pictures of a report on a time series, each with a description that tells its numbers."""

from __future__ import annotations

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Page
from luce.page.words import percent, probability
from luce.plots import durations, moves, segmentation, similarity
from luce.plots.time_series import trace_figures
from luce.reports.findings import SegmentFindings, in_words
from luce.reports.formatting import listed, spoken
from luce.reports.pictures import panel_of
from luce.reports.semi_markov_trust import FIGURES
from luce.sequences.segmentations import similarity as similarity_of

_DESCRIBED = 10  # segments, states or sequences that a description tells of
_STATES = 20  # states in pictures of durations and transitions


def write_segmentation(page: Page, found: SegmentFindings) -> None:
    """Add the series over their states, with the probability of changes."""
    axes = segmentation(found.states)
    shown, all_of = axes.shape[0], found.series.n_sequences
    channels, of = axes.shape[1] - 1, found.series.n_channels
    parts = []
    if shown < all_of:
        parts.append(f"the first {shown:,} of {all_of:,} sequences")
    if channels < of:
        parts.append(
            f"{channels} of {of:,} channels, those that differ most between the states"
            if channels > 1
            else f"1 of {of:,} channels, the one that differs most between the states"
        )
    only = f" Shown: {listed(parts)}." if parts else ""
    caption = (
        "The ground has the colour of the state of the point estimate; beneath, the probability "
        f"that a segment begins at each row.{only}"
    )
    page.figure([panel_of(axes, _describe_segments(found), caption)])


def _describe_segments(found: SegmentFindings) -> str:
    x, several = found.segments, found.series.n_sequences > 1
    parts = []
    for k in range(min(len(x), _DESCRIBED)):
        where = f" of sequence {spoken(str(x['sequence'][k]))}" if several else ""
        rows = f"rows {x['start'][k]:,} to {x['end'][k] - 1:,}{where}"
        parts.append(f"{rows} in state {x['state'][k]}")
    left = len(x) - len(parts)
    more = f"; {plural(left, 'more segment follows', 'more segments follow')}" if left else ""
    likely = int((found.changes >= 0.5).sum())
    return (
        f"Series over the states of the point estimate: {', '.join(parts)}{more}. Beneath, the "
        f"probability of a change, which is at least 0.5 at {plural(likely, 'row')} and sums up to "
        f"{found.changes.sum():,.1f}."
    )


def write_durations_and_moves(page: Page, found: SegmentFindings) -> None:
    """Add the laws of durations, and the transition matrix."""
    states = found.states
    n = min(states.n, _STATES)
    cut = f", the {n} of {states.n:,} states that hold the most time" if n < states.n else ""
    laws = []
    for k in range(min(n, _DESCRIBED)):
        own = states.mean_durations[:, k]
        there = own[~np.isnan(own)]
        low, high = found.interval(own)
        mean = float(there.mean()) if len(there) else float("nan")
        laws.append(f"state {k} {mean:.3g} ({low:.3g} to {high:.3g})")
    left = n - len(laws)
    more = f"; {plural(left, 'more state follows', 'more states follow')}" if left else ""
    words = (
        "Laws of the durations with the lengths of segments as dots. Mean durations in rows, with "
        f"{percent(found.ci_prob)} intervals: {', '.join(laws)}{more}."
    )
    caption = (
        f"How long a state lasts{cut}: each law to its own scale; dots are segments of the point "
        "estimate, open ones may have gone on after the end of their sequence."
    )
    axes = durations(states, ci_prob=found.ci_prob, most=_STATES)
    page.figure([panel_of(axes, words, caption)])
    likely = []
    table, names = states.mean_transitions, states.destinations
    for k in range(min(n, _DESCRIBED)):
        to = int(table[k].argmax())
        likely.append(f"from state {k} to {names[to]} {probability(table[k, to])}")
    words = (
        "Mean probability to move from the row to the column, as shades; crosses are transitions "
        f"that cannot occur. The most probable: {', '.join(likely)}{more}."
    )
    caption = (
        f"What follows a state{cut}: probability to move from the row to the column; × cannot "
        "occur; others are all states without a column."
    )
    page.figure([panel_of(moves(states, most=_STATES), words, caption)])


def write_similarity(page: Page, found: SegmentFindings) -> None:
    """Add the probability that two times are in one state."""
    axes = similarity(found.states)
    table = similarity_of(found.kept)
    off = table.values[~np.eye(len(table), dtype=np.bool_)]
    sure = float(np.mean((off <= 0.05) | (off >= 0.95))) if len(off) else 1.0
    together = float(off.mean()) if len(off) else 1.0
    words = (
        f"Probability that two of {plural(len(table), 'row')}, evenly spaced, are in one state, as "
        f"shades. It is {together:.3f} on average over pairs, and at most 0.05 or at least 0.95 "
        f"for {100 * sure:.3g} % of them."
    )
    caption = (
        "Probability that two rows are in one state, which needs no names of states: dark blocks "
        "on the diagonal are segments, dark blocks elsewhere are later visits to a state; pale "
        "ones are in doubt."
    )
    page.figure([panel_of(axes, words, caption)])


def write_chains(page: Page, found: SegmentFindings) -> None:
    """Add log-likelihood, states used and segments of each chain, draw after draw."""
    if found.draws < 2:
        return
    figures = {in_words(name): found.figure(name) for name in FIGURES}
    parts = []
    for name, x in figures.items():
        means = x.mean(axis=1)
        parts.append(
            f"{name}: means of the chains from {means.min():,.6g} to {means.max():,.6g}, standard "
            f"deviation {x.std():.3g}"
        )
    words = (
        f"Draws of {plural(found.chains, 'chain')}, one after another, {found.draws:,} each. "
        f"{'; '.join(parts)}."
    )
    page.figure([panel_of(trace_figures(figures), words, "Draws, one after another.")])
