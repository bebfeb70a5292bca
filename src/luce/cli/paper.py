"""The paper's commands: `luce demo` draws from its posterior, `luce paper` repeats its figures."""

from __future__ import annotations

import argparse
import time
from typing import Any

from luce.answers.summaries import summary
from luce.cli.printing import size_of


def add_demo(commands: Any) -> None:
    """Add the command to the parser."""
    demo = commands.add_parser("demo", help="draw from the paper's posterior and print a summary")
    demo.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    demo.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Draw from the paper's posterior and print a summary."""
    from luce.paper.examples import paper_posterior

    posterior = paper_posterior(10)
    print("Johnson & Willsky's posterior with n = 10: five truncated terms of ten outcomes each.\n")
    print(posterior.counts.summary())
    print(f"\n{posterior.structure}\n")
    began = time.perf_counter()
    draws = posterior.sample(arguments.draws, seed=arguments.seed)
    seconds = time.perf_counter() - began
    print(
        f"{size_of(draws)} in {seconds:.2f} s, method {draws.attrs['method']}: "
        f"{draws.attrs['reason']}.\n"
    )
    print(summary(draws))
    return 0


def add_paper(commands: Any) -> None:
    """Add the command to the parser."""
    words = "run the paper's experiments and write a report with its figures"
    paper = commands.add_parser("paper", help=words)
    quick = "20 chains of 1,000 draws, not 50 of 5,000"
    paper.add_argument("--quick", action="store_true", help=quick)
    out = "folder to write (default %(default)s)"
    paper.add_argument("--out", default="luce-paper", metavar="DIR", help=out)
    paper.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    figure = (
        "only this one, again for more: densities, graphical-models, autocorrelation, mpsrf-10, "
        "mpsrf-20 or statistic-convergence"
    )
    paper.add_argument("--figure", action="append", default=[], metavar="NAME", help=figure)
    paper.set_defaults(run=run_paper)


def run_paper(arguments: argparse.Namespace) -> int:
    """Run the paper's experiments, write the page, and print the verdict on each claim."""
    from luce.paper import reproduce

    report = reproduce(
        arguments.out, quick=arguments.quick, seed=arguments.seed, only=arguments.figure
    )
    print(f"The report, after {report.seconds:.0f} seconds: {report.page.resolve()}\n")
    for listed in report.claims.values():
        for claim in listed:
            source = "our check: " if claim.ours else ""
            print(f"{claim.verdict:>14}  {source}{claim.statement}\n{'':16}{claim.measured}.")
            print(f"{'':16}It holds if {claim.criterion}.")
    return 0
