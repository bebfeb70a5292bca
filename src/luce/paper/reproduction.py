"""Run the experiments and write their figures, numbers, and a page that judges the claims."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from luce.errors import MethodError
from luce.page.document import Badge, Code, Link, Page, Panel, Strong
from luce.paper import figures, tables
from luce.paper.claims import Claim, Verdict, tally
from luce.paper.experiments import Experiments
from luce.paper.samplers import FULL, PAPER_PROPOSAL, QUICK, WANTED_ACCEPTANCE, Scale
from luce.paper.sections import FIGURES, SECTIONS, count_steps
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import check_whole
from luce.version import __version__

_TITLE = "Truncated multinomials: the paper, reproduced"

_BADGES = {Verdict.HOLDS: "good", Verdict.IN_PART: "mixed", Verdict.FAILS: "bad"}


@dataclass(frozen=True)
class Reproduction:
    """The page that was written, the judged claims of each figure, and the seconds it took."""

    page: Path
    claims: dict[str, list[Claim]]
    seconds: float


def reproduce(
    out: str | Path = "luce-paper",
    *,
    quick: bool = False,
    seed: int = 1,
    only: str | Sequence[str] = (),
    progress: bool = True,
) -> Reproduction:
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
        One or more names from `FIGURES`; all of them unless given.
    progress
        Show a bar?

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = reproduce(folder, only="graphical-models", progress=False)
    >>> [str(claim.verdict) for claim in made.claims["graphical-models"]]
    ['holds']
    """
    check_whole("seed", seed, 0)
    wanted = [only] if isinstance(only, str) else list(only)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        raise MethodError(f"there is no figure {unknown[0]!r}; choose from {', '.join(FIGURES)}.")
    names = [name for name in FIGURES if not wanted or name in wanted]
    scale = QUICK if quick else FULL
    command = ["luce paper", *(["--quick"] if quick else []), f"--seed {seed}"]
    command += [f"--figure {name}" for name in names if wanted]
    with figures.drawing_style(), ProgressBar(count_steps(names, scale), progress) as bar:
        folder = _folder(out)
        found = Experiments(scale, seed, bar.step)
        return publish(found, names, folder, " ".join(command), bar.step)


def publish(
    found: Experiments, names: Sequence[str], folder: Path, command: str, say: Callable[[str], None]
) -> Reproduction:
    """Judge and draw figures, and write them with their numbers and one page to a folder.

    Parameters
    ----------
    found
        The experiments.
    names
        Figures, from `FIGURES`.
    folder
        An existing folder.
    command
        The command that the page names as its origin.
    say
        Called with a description of each drawing.
    """
    began = time.perf_counter()
    judged = {name: SECTIONS[name].judge(found) for name in names}
    page = Page(_TITLE, _lead(judged))
    for name in names:
        say(f"drawing {name}")
        _write_section(page, name, found, judged[name], folder)
    _write_rates(page, found, folder)
    seconds = time.perf_counter() - began
    _write_origin(page, found.scale, command, seconds)
    tables.write_csv(folder / "claims.csv", tables.claims_table(judged))
    return Reproduction(page.save(folder / "index.html"), judged, seconds)


def _write_origin(page: Page, scale: Scale, command: str, seconds: float) -> None:
    """Add the command, the sizes and the versions to the page."""
    page.section("How this was made")
    page.facts(
        {
            "Command": Code(command),
            "Chains": f"{scale.chains} of {scale.draws:,} draws, started at draws of the prior",
            "Took": f"{seconds:.0f} seconds on {os.cpu_count()} processors",
            "Versions": f"luce {__version__}, Python {platform.python_version()}",
            "Numbers": [Link("claims.csv", "claims.csv"), ", and a CSV file beside each figure"],
        }
    )


def _folder(out: str | Path) -> Path:
    """Make the folder, and check that it can be written before any work is done."""
    folder = Path(out)
    if not str(out):
        raise MethodError("the folder to write to has no name; give one, or '.' for this folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise MethodError(
            f"cannot write to the folder {str(folder)!r}: {error.strerror or error}. Give another."
        ) from None
    return folder


def _lead(judged: dict[str, list[Claim]]) -> str:
    """Return the first paragraph of the page: the paper, and the number of verdicts."""
    return (
        "The experiments of M. J. Johnson and A. S. Willsky, Dirichlet Posterior Sampling with "
        "Truncated Multinomial Likelihoods (arXiv:1208.6537), run again with luce: their figures, "
        "their claims, and the measurements made here. "
        + tally(claim for listed in judged.values() for claim in listed)
    )


def _write_section(
    page: Page, name: str, found: Experiments, judged: list[Claim], folder: Path
) -> None:
    """Add a section to the page, and its figures and numbers to the folder."""
    section = SECTIONS[name]
    page.section(section.title)
    panels = []
    for drawing in section.draw(found):
        stem = folder / f"{name}-{drawing.name}"
        drawing.figure.savefig(stem.with_suffix(".png"), dpi=160)
        drawing.figure.savefig(stem.with_suffix(".svg"), dpi=160, metadata={"Date": None})
        svg = stem.with_suffix(".svg").read_text(encoding="utf-8")
        panels.append(Panel(svg, drawing.description))
    page.figure(panels, section.caption)
    for claim in judged:
        badge = Badge(str(claim.verdict), _BADGES[claim.verdict])
        source = " Check of ours: " if claim.ours else " "
        page.text(badge, source, Strong(claim.statement))
        remark = f" {claim.remark}" if claim.remark else ""
        page.text(f"Measured: {claim.measured}. Holds if {claim.criterion}.{remark}")
    if section.tabulate is not None:
        tables.write_csv(folder / f"{name}.csv", section.tabulate(found))
        page.text("The numbers: ", Link(f"{name}.csv", f"{name}.csv"), ".")


def _write_rates(page: Page, found: Experiments, folder: Path) -> None:
    """Add a table of the samplers' speed, to the page and as a file."""
    if not found.comparisons:
        return
    page.section("Draws and effective draws a second")
    rows = [
        [
            str(comparison.n),
            run.label,
            f"{1e6 * run.seconds:.2f}",
            f"{run.effective:.4f}",
            f"{run.rate:,.0f}",
            "" if isnan(run.accepted) else f"{run.accepted:.3f}",
        ]
        for comparison in found.comparisons
        for run in comparison
    ]
    head = ["n", "sampler", "µs a draw", "effective share", "effective draws a second", "accepted"]
    page.table(head, rows, caption="One processor, one chain.", numeric=(0, 2, 3, 4, 5))
    page.text(
        f"Hidden counts is the paper's sampler and Metropolis its baseline, Dir(βπ) proposals with "
        f"β = {PAPER_PROPOSAL:.0f} or tuned to accept {WANTED_ACCEPTANCE}; they and waiting times "
        "run on the raw categories. Auto is luce's default. Independent "
        "draws are the floor: every fifth sweep of waiting times, timed as draws of a Dirichlet of "
        "the same length by NumPy. The effective share is the smallest effective sample size over "
        "the categories, over the number of draws, second halves only. Seconds are those of the "
        "processor: the difference between a long and a short call, divided by the difference of "
        "their draws."
    )
    tables.write_csv(folder / "rates.csv", tables.rates_table(found.comparisons))
    page.text("The numbers: ", Link("rates.csv", "rates.csv"), ".")
