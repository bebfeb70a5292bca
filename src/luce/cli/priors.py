"""The options that say which prior to take."""

from __future__ import annotations

import argparse

from luce.errors import DataError
from luce.model.priors import PARAMETER_PRIORS, Gamma, ParameterPrior


def add_priors(parser: argparse.ArgumentParser) -> None:
    """Add the options of the prior."""
    prior = "the prior's parameter, for all categories (default %(default)s)"
    parser.add_argument("--concentration", type=float, default=1.0, metavar="A", help=prior)
    for name, about in (("home", "the factor at home"), ("tie", "Davidson's nu, or theta - 1")):
        usual = PARAMETER_PRIORS[name]
        words = f"gamma prior of {about}, as {usual.shape:g},{usual.rate:g} (default); or its value"
        parser.add_argument(
            f"--{name}-prior", type=_parameter_prior, metavar="SHAPE,RATE", help=words
        )


def _parameter_prior(word: str) -> ParameterPrior:
    """Read shape and rate of a gamma prior, or the value of a parameter that is known."""
    try:
        numbers = [float(part) for part in word.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise argparse.ArgumentTypeError(
            f"{word!r}: SHAPE,RATE of a gamma distribution, as 2,2, or a number that is known"
        )
    try:
        return numbers[0] if len(numbers) == 1 else Gamma(*numbers)
    except DataError as error:
        raise argparse.ArgumentTypeError(f"{word}: {error}") from None
