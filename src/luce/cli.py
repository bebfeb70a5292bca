"""The command line: no statistics here, only words."""

import argparse
import io
import os
import sys
import time
from collections.abc import Sequence

from luce import report_command, resume_command
from luce.counts.labels import plural
from luce.errors import BadRowsError, LuceError
from luce.fit_command import add_commands, located
from luce.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0 done, 1 refused by luce, 2 wrong usage, 3 done but the draws are not to be trusted yet,
    130 ended by Ctrl-C, 141 when nobody reads on.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a terminal cannot show becomes a question mark, not an error after all the work.
        sys.stdout.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
    except BadRowsError as error:
        for problem in error.problems:
            print(located(error.source, problem), file=sys.stderr)
        them = "it" if len(error.problems) == 1 else "them"
        print(f"luce: {plural(len(error.problems), error.unit)} cannot be used; mend {them}, or "
              f"leave {them} out with --skip-bad", file=sys.stderr)  # fmt: skip
        return 1
    except LuceError as error:
        print(f"luce: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever was reading has seen enough, as in `luce fit x | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # or Python complains at the end
        return 141
    except KeyboardInterrupt as error:
        print(f"luce: interrupted{f'. {error}' if str(error) else ''}", file=sys.stderr)
        return 130
    except OSError as error:  # standard output on a full disk, a folder that was taken away
        print(f"luce: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 1
    return int(code or 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="luce", description="Draws of probabilities seen through subsets."
    )
    parser.add_argument("--version", action="version", version=f"luce {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    add_commands(commands)
    report_command.add_command(commands)
    resume_command.add_command(commands)
    demo = commands.add_parser("demo", help="draw from the paper's posterior and print a summary")
    demo.add_argument("--draws", type=int, default=1000, help="draws a chain (default %(default)s)")
    demo.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    demo.set_defaults(run=_demo)
    paper = commands.add_parser(
        "paper", help="run the paper's experiments and write a report with its figures"
    )
    paper.add_argument(
        "--quick", action="store_true", help="20 chains of 1,000 draws, not 50 of 5,000"
    )
    paper.add_argument(
        "--out", default="luce-paper", metavar="DIR", help="folder to write (default %(default)s)"
    )
    paper.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    paper.add_argument(
        "--figure", action="append", default=[], metavar="NAME",
        help="only this one, again for more: densities, graphical-models, autocorrelation, "
        "mpsrf-10, mpsrf-20 or statistic-convergence",
    )  # fmt: skip
    paper.set_defaults(run=_paper)
    return parser


def _demo(arguments: argparse.Namespace) -> None:
    from luce.answers.summaries import summary
    from luce.paper.examples import paper_posterior

    posterior = paper_posterior(10)
    print("Johnson & Willsky's posterior with n = 10: five truncated terms of ten outcomes each.\n")
    print(posterior.counts.summary())
    print(f"\n{posterior.structure}\n")
    began = time.perf_counter()
    draws = posterior.sample(arguments.draws, seed=arguments.seed)
    seconds = time.perf_counter() - began
    chains = draws.posterior.sizes["chain"]
    print(f"{chains} chains of {arguments.draws:,} draws in {seconds:.2f} s, "
          f"method {draws.attrs['method']}: {draws.attrs['reason']}.\n")  # fmt: skip
    print(summary(draws))


def _paper(arguments: argparse.Namespace) -> None:
    from luce.paper import reproduce

    report = reproduce(
        arguments.out, quick=arguments.quick, seed=arguments.seed, only=arguments.figure
    )
    print(f"The report, after {report.seconds:.0f} seconds: {report.page.resolve()}\n")
    for listed in report.claims.values():
        for claim in listed:
            source = "our check: " if claim.ours else ""
            print(f"{claim.verdict:>14}  {source}{claim.statement}\n{'':16}{claim.measured}.")
