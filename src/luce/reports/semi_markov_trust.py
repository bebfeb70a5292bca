"""Whether draws of segmentations can be trusted: checks that need no labels, and their words."""

from __future__ import annotations

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Badge, Cell, Number, Page
from luce.page.words import percent
from luce.reports.findings import SegmentFindings, in_words
from luce.reports.formatting import NOTHING, number_cell
from luce.reports.trust import Check, Trust, grade, table_of_checks
from luce.sampling.convergence import (
    ENOUGH_ESS,
    GOOD_RHAT,
    HEADLINES,
    LARGEST_RHAT,
    Kind,
)
from luce.sequences.agreement import CLEARLY_ABOVE, LARGEST_VARIATION
from luce.sequences.doubts import LARGEST_SHARE_AT_LONGEST, Figures, largest_rhat_of_pairs
from luce.sequences.semi_markov import BEGINNINGS

_ORDER: tuple[Kind, ...] = ("good", "mixed", "bad")
_MOST_CHAINS = 12  # chains whose variation of information is told pair by pair

FIGURES = ("log_likelihood", "states_used", "segments")  # that are told whether they vary or not


def judge_segments(found: SegmentFindings) -> Trust:
    """List the checks that the verdict on a run of a semi-Markov model follows from."""
    kind = max(found.verdict.kind, found.doubts.kind, key=_ORDER.index)
    checks = [
        _draws(found),
        *_scalars(found),
        *_variation(found),
        *_pairs(found),
        _limit(found),
        *_longest(found),
        _disagreement(found),
        _split_merge(found),
    ]
    if found.run.attrs.get("interrupted"):
        words = f"Ctrl-C ended the run after {plural(found.draws, 'draw')} of each chain"
        checks.append(Check("Interrupted", words, "what was drawn by then stays valid", "neutral"))
    return Trust(kind, checks)


def sentences(found: SegmentFindings) -> list[str]:
    """Say in words what is wrong with the draws, or why they are to be taken with care."""
    words = list(found.doubts.sentences)
    if not words:  # the verdict on all figures can still ask for care
        words = [str(found.verdict)] if found.verdict.kind != "good" else []
    return words


def write_trust(page: Page, found: SegmentFindings, trust: Trust) -> None:
    """Add the verdict, its reasons, the checks, and the figures of each quantity."""
    page.text(Badge(HEADLINES[trust.kind], trust.kind), " ", _why(found, trust))
    for sentence in sentences(found):
        page.text(sentence)
    table_of_checks(page, trust)
    _write_figures(page, found)
    _write_variation(page, found)


def _why(found: SegmentFindings, trust: Trust) -> str:
    began = {
        "random": "random segments",
        "one": "one state for all rows",
        "all": "all states in turn",
    }
    ways = [began[way] for way in BEGINNINGS[: found.chains]]
    how = f"The chains began differently, from {', from '.join(ways)}" if len(ways) > 1 else ""
    words = (
        f"{how or 'The chain began from random segments'}. States have no names that all draws "
        "share, so the draws are judged by figures that need none: the log-likelihood, numbers of "
        "states and segments, and which times are in one state."
    )
    if trust.kind == "good":
        return f"{words} By all of them the chains have met and moved."
    if trust.kind == "mixed":
        return f"{words} They leave some doubt."
    return f"{words} Until they are better, the numbers on this page may be wrong."


def _draws(found: SegmentFindings) -> Check:
    size = f"{plural(found.chains, 'chain')} of {plural(found.draws, 'draw')}"
    kept = found.kept.states.shape[1]
    words = f"{size}; states of {plural(kept, 'draw')} of each were kept"
    if found.chains == 1:
        return Check("Draws", words, "one chain has no other to agree with", "mixed")
    return Check("Draws", words, "several chains", "neutral")


def _scalars(found: SegmentFindings) -> list[Check]:
    """Check the worst R-hat and effective sample size of the quantities without labels."""
    figures = {k: x for k, x in found.doubts.scalars.items() if not np.isnan(x.rhat)}
    wanted_rhat = f"at most {GOOD_RHAT}; above {LARGEST_RHAT} chains have not met"
    wanted_ess = f"at least {ENOUGH_ESS:.0f}"
    if not figures:
        few = "cannot be computed from so few draws"
        nothing = few if found.doubts.scalars else "nothing varies"
        kind = "bad" if found.doubts.scalars else "neutral"
        return [Check("R-hat", nothing, wanted_rhat, kind)]
    worst = max(figures, key=lambda k: figures[k].rhat)
    least = min(figures, key=lambda k: figures[k].ess)
    rhat, ess = figures[worst].rhat, figures[least].ess
    shown = "∞" if np.isinf(rhat) else f"{rhat:.3f}"
    enough = "good" if ess >= ENOUGH_ESS else "bad"
    return [
        Check(
            "R-hat",
            f"{shown} ({in_words(worst)})",
            wanted_rhat,
            grade(rhat, GOOD_RHAT, LARGEST_RHAT),
        ),
        Check("Effective sample size", f"{ess:,.0f} ({in_words(least)})", wanted_ess, enough),
    ]


def _variation(found: SegmentFindings) -> list[Check]:
    """Check whether draws of different chains differ more than draws of one chain."""
    x = found.doubts
    if np.isnan(x.between):
        return []
    inside = "" if np.isnan(x.within) else f"; within a chain {x.within:.2f}"
    bad = x.disagree
    return [
        Check(
            "Variation of information between chains",
            f"{x.between:.2f} nats{inside}",
            f"at most {LARGEST_VARIATION:g}, or {CLEARLY_ABOVE:.3g} times that within a chain",
            "bad" if bad else "good",
        )
    ]


def _pairs(found: SegmentFindings) -> list[Check]:
    """Check whether two times are in one state equally often in all chains."""
    x = found.doubts
    if x.pairs == 0 or np.isnan(x.together.rhat):
        return []
    chains, draws = found.kept.states.shape[:2]
    bound = largest_rhat_of_pairs(chains, draws)
    shown = "∞" if np.isinf(x.together.rhat) else f"{x.together.rhat:.3f}"
    return [
        Check(
            "R-hat of “two times are in one state”",
            f"{shown}, the largest of {plural(x.pairs, 'pair')} that vary",
            f"at most {bound:.3f}",
            "good" if x.together.rhat <= bound else "bad",
        )
    ]


def _limit(found: SegmentFindings) -> Check:
    full, n = found.doubts.full, found.model.n_states
    words = f"all {n:,} are used in {_share(full)} of the draws" if full else f"never all {n:,}"
    return Check("States used", words, "never all", "bad" if full else "good")


def _longest(found: SegmentFindings) -> list[Check]:
    longest = int(found.run.attrs.get("longest", 0))
    if not longest:
        return []
    cut = found.doubts.at_longest
    return [
        Check(
            f"Segments of {longest:,} rows, the most that are looked for",
            f"{_share(cut)} of all",
            f"at most {percent(LARGEST_SHARE_AT_LONGEST)}",
            "bad" if cut > LARGEST_SHARE_AT_LONGEST else "good",
        )
    ]


def _disagreement(found: SegmentFindings) -> Check:
    x = found.disagreement
    low, high = found.interval(x)
    words = f"{_share(float(x.mean()))} of the time on average ({_share(low)} to {_share(high)})"
    wanted = "little: otherwise states of the point estimate stand for several things"
    return Check("Draws differ from the point estimate, after matching", words, wanted, "neutral")


def _split_merge(found: SegmentFindings) -> Check:
    what, wanted = "Moves that split or merge states", "any: even few help chains to meet"
    proposed = float(found.figure("split_merge_proposed").sum())
    if not proposed:
        return Check(what, "none were proposed", wanted, "neutral")
    accepted = float(found.figure("split_merge").sum())
    words = f"{accepted:,.0f} of {proposed:,.0f} accepted, {_share(accepted / proposed)}"
    return Check(what, words, wanted, "neutral")


def _write_figures(page: Page, found: SegmentFindings) -> None:
    names = list(dict.fromkeys([*FIGURES, *found.doubts.scalars]))
    rows: list[list[Cell]] = []
    for name in names:
        x, told = found.figure(name), found.doubts.scalars.get(name, Figures())
        form = ",.6g" if abs(x.mean()) >= 1000 else ".4g"
        low, high = (number_cell(end, form).text for end in found.interval(x.ravel()))
        rows.append(
            [
                in_words(name),
                number_cell(float(x.mean()), form),
                Number(f"{low} to {high}", found.interval(x.ravel())[0]),
                number_cell(told.rhat, ".3f"),
                number_cell(told.ess, ",.0f"),
            ]
        )
    page.table(
        ["Quantity", "Mean", f"{percent(found.ci_prob)} interval", "R-hat", "ESS"],
        rows,
        caption="Quantities without labels. The log-likelihood is that of the parameters, all "
        "segmentations summed up.",
        numeric=(1, 2, 3, 4),
    )


def _write_variation(page: Page, found: SegmentFindings) -> None:
    """Add the variation of information of each pair of chains."""
    table = np.asarray(found.doubts.by_chains, np.float64)
    if not 1 < len(table) <= _MOST_CHAINS:
        return
    rows: list[list[Cell]] = [
        [f"{i}", *(NOTHING if np.isnan(x) else f"{x:.2f}" for x in own)]
        for i, own in enumerate(table)
    ]
    page.table(
        ["Chain", *(f"{j}" for j in range(len(table)))],
        rows,
        caption="Variation of information of two draws in nats, mean by chains; 0 for equal "
        "segmentations, whatever their states are called.",
        numeric=range(1, len(table) + 1),
    )


def _share(share: float) -> str:
    """Write a share in per cent, with three digits."""
    return f"{100 * share:.3g} %"
