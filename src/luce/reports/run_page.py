"""The page about one run: its sections in order, for choices, transitions and time series."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from luce._types import Labels
from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.document import Badge, Page
from luce.page.words import shortened
from luce.runs.saving import load

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.reports.findings import (
        AnyFindings,
        ChoiceFindings,
        SegmentFindings,
        SeparateRowsFindings,
        TransitionFindings,
    )
    from luce.reports.trust import Trust

__all__ = ["report", "write_report"]


def report(
    run: DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ci_prob: float = 0.9,
    among: Labels | None = None,
    pictures: bool = True,
    live_draws: int = 1000,
) -> Path:
    """Write one self-contained page about a run, to open in a browser or send to somebody.

    Parameters
    ----------
    run
        Draws that `Posterior.sample`, `HDPTransitions.fit`, `SeparateRows.sample`, `SemiMarkov.fit`
        or `luce.load` returned; or the name of a saved run.
    path
        The page, a name that ends in ``.html``.  A file of that name is replaced.
    title
        The page's heading.
    ci_prob
        The probability of all intervals, between 0 and 1.
    among
        The categories to rank and compare, as in `luce.summary`: unless given, all but the effects
        of the data, ties and advantages, which stand below.
    pictures
        Draw pictures?  Without them the page is written fast.
    live_draws
        Largest number of draws that the page carries, so that readers can compare any two and see
        shares of choice; with 0 the page has no such parts, and is smaller.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import luce
    >>> from tempfile import TemporaryDirectory
    >>> run = luce.Posterior(luce.ConditionalCounts("ab").observe({"b": 2})).sample(500, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     luce.report(run, f"{folder}/page.html").name
    'page.html'
    """
    page, _ = write_report(
        run,
        path,
        title=title,
        ci_prob=ci_prob,
        among=among,
        pictures=pictures,
        live_draws=live_draws,
    )
    return page


def write_report(
    run: DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ci_prob: float = 0.9,
    among: Labels | None = None,
    pictures: bool = True,
    live_draws: int = 1000,
    source: str | None = None,
) -> tuple[Path, Trust]:
    """Write the page as `report` does; return the page and the verdict on the draws.

    `source` is the name of the file that the run was loaded from, where it was.
    """
    target = check_page(path)
    live_draws = _whole_number(live_draws)
    if isinstance(run, str | os.PathLike):
        source = os.fspath(run)
        run = load(run)
    from luce.reports.findings import find  # here, so that it is loaded when a page is written

    page, trust = _page(find(run, ci_prob, among), source, title, pictures, live_draws)
    return page.save(target), trust


def check_page(path: str | os.PathLike[str]) -> Path:
    """Refuse a name that no page can have."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"{target} is no name for a page; give one that ends in .html.")
    return target


def _whole_number(live_draws: object) -> int:
    """Read the number of draws that a page may carry."""
    if isinstance(live_draws, bool) or not isinstance(live_draws, int) or live_draws < 0:
        raise DataError(f"live_draws = {live_draws!r}; a whole number from 0 on is needed.")
    return live_draws


def _page(
    found: AnyFindings,
    source: str | None,
    title: str | None,
    pictures: bool,
    live_draws: int,
) -> tuple[Page, Trust]:
    # Imported here, so that nothing of this is loaded before a page is written.
    from luce.reports.findings import SegmentFindings, SeparateRowsFindings, TransitionFindings
    from luce.reports.pictures import why_none, write_chain_pictures
    from luce.reports.provenance import write_provenance
    from luce.reports.trust import judge, write_trust

    obstacle = why_none() if pictures else "they were not asked for."
    name = f"{shortened(Path(source).stem, 60)}: " if source and title is None else ""
    if isinstance(found, SegmentFindings):
        return _page_of_segments(found, source, name, title, obstacle)
    trust = judge(found)
    if isinstance(found, SeparateRowsFindings):
        return _page_of_rows(found, trust, source, name, title, obstacle, live_draws > 0)
    if isinstance(found, TransitionFindings):
        page = _begin_transitions(found, trust, name, title, obstacle, live_draws > 0)
    else:
        page = _begin_choices(found, trust, name, title, obstacle, live_draws)
    page.section("Whether the draws can be trusted")
    write_trust(page, found, trust)
    if not obstacle:
        write_chain_pictures(page, found)
    if not isinstance(found, TransitionFindings):
        _write_predictive_check(page, found, drawn=not obstacle)
    page.section("Where it came from, and how to get it again")
    write_provenance(page, found, source, title)
    return page, trust


def _begin_choices(
    found: ChoiceFindings,
    trust: Trust,
    name: str,
    title: str | None,
    obstacle: str,
    live_draws: int,
) -> Page:
    """Write the answer, the data and the model of a run that `Posterior.sample` made."""
    from luce.reports import answer, data_and_model, live_parts, pictures

    if title is None:
        outcomes = plural(found.posterior.counts.n_outcomes, "outcome")
        title = f"{name}{plural(found.n, *found.nouns)}, {outcomes}"
    page = Page(title, [*answer.lead(found), Badge(trust.headline, trust.kind)])
    page.section("The answer")
    answer.write_table(page, found)
    answer.write_effects(page, found)
    answer.write_parameters(page, found)
    if obstacle:
        page.text(f"There are no pictures: {obstacle}")
    live = found.n > 1 and live_draws > 0
    if live:
        live_parts.write_strengths_place(page)
    if not obstacle:
        pictures.write_answer_pictures(page, found, live=live)
    if live:
        page.section("Your own questions")
        live_parts.write_questions(page, found, live_draws)
    page.section("What the data was")
    data_and_model.write_data(page, found)
    page.section("How it was modelled")
    data_and_model.write_model(page, found)
    return page


def _begin_transitions(
    found: TransitionFindings,
    trust: Trust,
    name: str,
    title: str | None,
    obstacle: str,
    live: bool,
) -> Page:
    """Write the answer, the data and the model of a run that `HDPTransitions.fit` made."""
    from luce.reports import live_parts, pictures, transitions
    from luce.reports.answer import write_parameters

    if title is None:
        title = f"{name}{transitions.title_of(found)}"
    page = Page(title, [*transitions.lead(found), Badge(trust.headline, trust.kind)])
    page.section("The answer")
    transitions.write_table(page, found)
    write_parameters(page, found)
    live = live and live_parts.write_moves(page, found)
    if obstacle:
        page.text(f"There are no pictures: {obstacle}")
    else:
        pictures.write_transition_pictures(page, found, live=live)
    transitions.write_rows(page, found)
    page.section("What the data was")
    transitions.write_data(page, found)
    page.section("How it was modelled")
    transitions.write_model(page, found)
    return page


def _page_of_rows(
    found: SeparateRowsFindings,
    trust: Trust,
    source: str | None,
    name: str,
    title: str | None,
    obstacle: str,
    live: bool,
) -> tuple[Page, Trust]:
    """Write all sections about a run that `SeparateRows.sample` made."""
    from luce.reports import live_parts, pictures, separate_rows, transitions
    from luce.reports.provenance import write_provenance
    from luce.reports.trust import write_trust

    heading = f"{name}{separate_rows.title_of(found)}" if title is None else title
    page = Page(heading, [*separate_rows.lead(found), Badge(trust.headline, trust.kind)])
    page.section("The answer")
    live = live and live_parts.write_moves(page, found)
    if obstacle:
        page.text(f"There are no pictures: {obstacle}")
    else:
        pictures.write_matrix(page, found, live=live)
    transitions.write_rows(page, found)
    page.section("What the data was")
    transitions.write_data(page, found)
    page.section("How it was modelled")
    separate_rows.write_model(page, found)
    page.section("Whether the draws can be trusted")
    write_trust(page, found, trust)
    page.section("Where it came from, and how to get it again")
    write_provenance(page, found, source, title)
    return page, trust


def _page_of_segments(
    found: SegmentFindings, source: str | None, name: str, title: str | None, obstacle: str
) -> tuple[Page, Trust]:
    """Write all sections about a run that `SemiMarkov.fit` made."""
    from luce.reports import semi_markov
    from luce.reports import semi_markov_pictures as pictures
    from luce.reports.provenance import write_provenance
    from luce.reports.semi_markov_trust import judge_segments, write_trust

    trust = judge_segments(found)
    heading = f"{name}{semi_markov.title_of(found)}" if title is None else title
    page = Page(heading, [*semi_markov.lead(found), Badge(trust.headline, trust.kind)])
    page.section("The answer")
    if obstacle:
        page.text(f"There are no pictures: {obstacle}")
    else:
        pictures.write_segmentation(page, found)
    semi_markov.write_states(page, found)
    semi_markov.write_parameters(page, found)
    page.section("Segments and changes")
    semi_markov.write_segments(page, found)
    page.section("How long states last, and what follows them")
    if not obstacle:
        pictures.write_durations_and_moves(page, found)
    semi_markov.write_transitions(page, found)
    if not obstacle:
        page.section("Which times are in one state")
        pictures.write_similarity(page, found)
    page.section("What the data was")
    semi_markov.write_data(page, found)
    page.section("How it was modelled")
    semi_markov.write_model(page, found)
    page.section(semi_markov.TRUST)
    write_trust(page, found, trust)
    if not obstacle:
        pictures.write_chains(page, found)
    page.section("Where it came from, and how to get it again")
    write_provenance(page, found, source, title)
    return page, trust


def _write_predictive_check(page: Page, found: ChoiceFindings, drawn: bool) -> None:
    from luce.reports.pictures import write_check_picture
    from luce.reports.predictive_check import replicate, write_check

    check = replicate(found)
    write_check(page, found, check)
    if drawn:
        write_check_picture(page, found, check)
