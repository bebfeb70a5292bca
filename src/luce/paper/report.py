"""Run the experiments, write figures and numbers, and a page that sets claims beside them."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from luce.errors import MethodError
from luce.page import Badge, Code, Link, Page, Panel, Strong
from luce.paper import figures, numbers
from luce.paper.claims import Claim, Verdict
from luce.paper.experiments import FULL, PAPER_PROPOSAL, QUICK
from luce.paper.sections import N_STEPS, SECTIONS, Experiments
from luce.progress import ProgressBar, announce_compilation
from luce.settings import check_whole
from luce.version import __version__

FIGURES = tuple(SECTIONS)

_TITLE = "Truncated multinomials: the paper, reproduced"

_BADGES = {Verdict.HOLDS: "good", Verdict.IN_PART: "mixed", Verdict.FAILS: "bad"}


@dataclass(frozen=True)
class Report:
    """Where the page is, and what it says: the claims of each figure."""

    page: Path
    claims: dict[str, list[Claim]]
    seconds: float


def reproduce(
    out: str | Path = "luce-paper",
    *,
    quick: bool = False,
    seed: int = 1,
    only: Sequence[str] = (),
    progress: bool = True,
) -> Report:
    """Run the paper's experiments and write a report on them.

    Parameters
    ----------
    out
        Folder to write to; made if it does not exist.  Each panel of a figure becomes an SVG and
        a PNG file, the numbers behind a figure a CSV file, and all of it one page, index.html.
    quick
        20 chains of 1,000 draws instead of the paper's 50 of 5,000.
    seed
        The same seed gives the same draws; seconds are measured anew.
    only
        Names from `FIGURES`; all of them unless given.
    progress
        Show a bar?
    """
    began = time.perf_counter()
    check_whole("seed", seed, 0)
    unknown = [name for name in only if name not in SECTIONS]
    if unknown:
        raise MethodError(f"there is no figure {unknown[0]!r}; choose from {', '.join(FIGURES)}.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise MethodError(f"{str(folder)!r} is a file; a folder to write to is needed.")
    names = [name for name in FIGURES if not only or name in only]
    announce_compilation()
    scale = QUICK if quick else FULL
    with figures.drawing_style(), ProgressBar(N_STEPS, progress) as bar:
        folder.mkdir(parents=True, exist_ok=True)
        found = Experiments(scale, seed, bar.step)
        judged = {name: SECTIONS[name].judge(found) for name in names}
        page = Page(_TITLE, _lead(judged))
        for name in names:
            bar.step(f"drawing {name}")
            _write_section(page, name, found, judged[name], folder)
    _write_rates(page, found)
    seconds = time.perf_counter() - began
    command = ["luce paper", *(["--quick"] if quick else []), f"--seed {seed}"]
    command += [f"--figure {name}" for name in only]
    page.section("How this was made")
    page.facts(
        {
            "Command": Code(" ".join(command)),
            "Chains": f"{scale.chains} of {scale.draws:,} draws, started at draws of the prior",
            "Took": f"{seconds:.0f} seconds on {os.cpu_count()} processors",
            "Versions": f"luce {__version__}, Python {platform.python_version()}",
            "Numbers": [Link("claims.csv", "claims.csv"), ", and a CSV file beside each figure"],
        }
    )
    numbers.write_csv(folder / "claims.csv", numbers.claims_numbers(judged))
    return Report(page.save(folder / "index.html"), judged, seconds)


def _lead(judged: dict[str, list[Claim]]) -> str:
    said = Counter(claim.verdict for listed in judged.values() for claim in listed)
    return (
        "The experiments of M. J. Johnson and A. S. Willsky, Dirichlet Posterior Sampling with "
        "Truncated Multinomial Likelihoods (arXiv:1208.6537), run again with luce: their figures, "
        "what they claim, and what was measured here. "
        f"Of {said.total()} claims {said[Verdict.HOLDS]} hold, {said[Verdict.IN_PART]} in part, "
        f"and {said[Verdict.FAILS]} as printed do not."
    )


def _write_section(
    page: Page, name: str, found: Experiments, judged: list[Claim], folder: Path
) -> None:
    """Add a section to the page, and its figures and numbers to the folder."""
    section = SECTIONS[name]
    page.section(section.title)
    panels = []
    for panel in section.draw(found):
        stem = folder / f"{name}-{panel.name}"
        panel.drawing.savefig(stem.with_suffix(".png"), dpi=160)
        panel.drawing.set_layout_engine("none")  # everything has its place now
        panel.drawing.savefig(stem.with_suffix(".svg"), dpi=160, metadata={"Date": None})
        svg = stem.with_suffix(".svg").read_text(encoding="utf-8")
        panels.append(Panel(svg, panel.description))
    page.figure(panels, section.caption)
    for claim in judged:
        page.text(Badge(str(claim.verdict), _BADGES[claim.verdict]), " ", Strong(claim.statement))
        page.text("Measured: ", claim.measured, ".", *([" ", claim.remark] if claim.remark else []))
    if section.list_numbers is not None:
        numbers.write_csv(folder / f"{name}.csv", section.list_numbers(found))
        page.text("The numbers: ", Link(f"{name}.csv", f"{name}.csv"), ".")


def _write_rates(page: Page, found: Experiments) -> None:
    """Add a table of how fast the samplers are."""
    if not found.comparisons:
        return
    page.section("Draws and effective draws a second")
    rows = []
    for comparison in found.comparisons:
        for run in comparison:
            accepted = "" if run.accepted != run.accepted else f"{run.accepted:.3f}"
            rows.append(
                [
                    str(comparison.n),
                    run.label,
                    f"{1e6 * run.seconds:.2f}",
                    f"{run.effective:.4f}",
                    f"{run.effective / run.seconds:,.0f}",
                    accepted,
                ]
            )
    head = ["n", "sampler", "µs a draw", "effective share", "effective draws a second", "accepted"]
    page.table(head, rows, caption="One thread, one chain.", numeric=(0, 2, 3, 4, 5))
    page.text(
        f"Hidden counts is the paper's sampler and Metropolis its baseline, Dir(βπ) proposals with "
        f"β = {PAPER_PROPOSAL:.0f} or tuned to accept 0.24; they and waiting times run on the raw "
        "categories. Auto is what luce does unless told otherwise. Independent draws are the "
        "floor: every fifth draw of auto, timed as draws of a Dirichlet of the same length by "
        "NumPy. The effective share is the smallest effective sample size over the categories, "
        "over the number of draws, second halves only."
    )
