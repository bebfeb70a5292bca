"""Effects of a model of two sides, ties and an advantage, as probabilities that people know.

Both are categories of the data, with probabilities t and h of their own, but no competitors.  They
are told for two competitors of median strength m, in each draw:

    tie      t / (2 m + t)            the two tie, nobody having an advantage
    home     (m + h) / (2 m + h)      the one with the advantage wins, ties left out

In contests both are parameters beside the probabilities, ν or θ of ties and the factor h of the
side at home, and are told for two equals: they tie with probability ν / (2 + ν) by Davidson's
model, and (θ - 1) / (θ + 1) by that of Rao and Kupper.  An advantage that is a category of contests
is told for two of median strength, as above, ties left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, Label
from luce.answers.results import ResultModel
from luce.answers.scales import intervals
from luce.answers.view import DrawsView
from luce.counts.contests import log_outcomes
from luce.counts.labels import label_array
from luce.errors import DataError
from luce.page.words import percent, probability

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.view import DrawsLike

_WORDS = {
    "tie": "two competitors of median strength tie",
    "home": "of two competitors of median strength the one with the advantage wins",
}
_BESIDE = {"tie": ", nobody having an advantage,", "home": ", ties left out,"}


def effect_probabilities(draws: DrawsLike) -> DataArray:
    """Compute what ties and advantages mean between two competitors of median strength.

    Parameters
    ----------
    draws
        A run of `Posterior.sample` whose data has contests, or marks effects
        (`ConditionalCounts.effects`).  The median is that of the competitors whose draws were kept;
        in contests it does not matter, and the effects are called "home" and "tie".

    Returns
    -------
    DataArray
        Dimensions (chain, draw, effect): for a tie the probability that the two tie, nobody having
        an advantage; for an advantage the probability that the one who has it wins, ties left out.
        It is nan in draws whose probabilities are too small to be stored.

    Examples
    --------
    >>> import luce
    >>> games = {"item1": ["a", "b"], "item2": ["b", "a"], "outcome": ["a", "tie"]}
    >>> run = luce.Posterior(luce.from_pairs(games, ties="entity")).sample(2000, seed=1)
    >>> round(float(luce.answers.effect_probabilities(run).mean()), 1)
    0.4
    """
    x = DrawsView.of(draws)
    return _of_categories(x) if x.events is None else _of_contests(x)


def _of_categories(x: DrawsView) -> DataArray:
    """Compute what effects that are categories mean between two of median strength."""
    ratios = _ratios_to_median(x)
    if not ratios:
        raise DataError(
            "these draws are not of contests, and no category of them is marked as an effect; "
            "counts.with_effects marks them."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return _labelled(
            x,
            {  # the sides that are not counted, of the two and the effect
                label: 1 - (1 if x.effects[label] == "home" else 2) / (2 + np.exp(own))
                for label, own in ratios.items()
            },
        )


def _ratios_to_median(x: DrawsView) -> dict[Label, FloatArray]:
    """Compute the log of each effect's probability over the competitors' median, draw by draw."""
    numbers = {label: i for i, label in enumerate(x.categories) if label in x.effects}
    competitors = np.array([i for i in range(x.n_categories) if i not in numbers.values()])
    if not len(competitors):
        raise DataError("the draws hold effects only, and no competitors to tell them for.")
    ratios = {label: np.empty(x.values.shape[:2]) for label in numbers}
    if not ratios:
        return ratios
    for chain, rows in x.blocks(x.n_categories):
        logs = x.logs(chain, rows)
        median = _log_median(logs[:, competitors])
        for label, i in numbers.items():
            with np.errstate(over="ignore", invalid="ignore"):
                ratios[label][chain, rows] = logs[:, i] - median
    return ratios


def _labelled(x: DrawsView, values: dict[Label, FloatArray]) -> DataArray:
    """Name draws of effects by their labels."""
    stacked, labels = np.stack(list(values.values()), axis=-1), label_array(values)
    return x.labelled(stacked, ("chain", "draw", "effect"), "effect_probabilities", effect=labels)


def sentences(draws: DrawsView, ci_prob: float) -> dict[Label, str]:
    """Say each effect that is a category in a sentence, by its label."""
    found = effect_probabilities(draws)
    labels = [*enumerate(found["effect"].to_numpy().tolist())]
    ties_too = draws.events is not None and draws.events.ties is not None
    both = ties_too or len({draws.effects[label] for _, label in labels}) > 1
    return {
        label: _sentence(draws.effects[label], found[:, :, k], ci_prob, both)
        for k, label in labels
        if label in draws.effects
    }


def parameter_sentences(draws: DrawsView, ci_prob: float) -> dict[str, str]:
    """Say what the drawn parameters of contests mean, each in a sentence, by its name."""
    drawn = () if draws.parameters is None else draws.parameters.categories
    if draws.events is None or draws.events.kind != "contests":
        return {}
    said = {}
    if "home" in drawn:
        factor = draws.parameter("home")
        assert factor is not None
        at = intervals(draws.labelled(factor, ("chain", "draw"), "home"), ci_prob)
        mean, low, high = (f"{float(at[name]):.3g}" for name in ("mean", "lower", "upper"))
        said["home"] = (
            f"playing at home multiplies a side's strength by {mean} "
            f"({percent(ci_prob)} interval {low} to {high}); the probability that there is an "
            f"advantage, a factor above 1, is {probability(float((factor > 1).mean()))}"
        )
    if "tie" in drawn:
        where = " on neutral ground" if draws.events.home else ""
        values = _of_contests(draws).sel(effect="tie")
        said["tie"] = f"two equals{where} tie {_with_probability(values, ci_prob)}"
    return said


def _of_contests(x: DrawsView) -> DataArray:
    """Compute, draw by draw, how often two equals tie, and the one at home wins otherwise."""
    model = ResultModel.of(x)
    level = np.zeros(x.values.shape[:2])
    tie, home = x.parameter("tie"), x.parameter("home")
    nu = np.ones(1) if tie is None else tie
    gains: dict[Label, FloatArray] = {} if home is None else {"home": np.log(home)}
    if model.home == "entity":
        ratios = _ratios_to_median(x)
        gains = {label: np.logaddexp(0, own) for label, own in ratios.items()}
    values: dict[Label, FloatArray] = {}
    for label, gain in gains.items():
        logs = log_outcomes(gain, level, model.ties, nu)
        values[label] = np.exp(logs[..., 0] - np.logaddexp(logs[..., 0], logs[..., 1]))
    if tie is not None:
        values["tie"] = np.exp(log_outcomes(level, level, model.ties, nu)[..., 2])
    if not values:
        raise DataError(f"the draws have {model.words}: there is nothing to tell.")
    return _labelled(x, values)


def _log_median(logs: FloatArray) -> FloatArray:
    """Compute the log of the median of each row's exponentials; nan where that is stored as 0."""
    n = logs.shape[1]
    middle = np.partition(logs, [(n - 1) // 2, n // 2], axis=1)
    low, high = middle[:, (n - 1) // 2], middle[:, n // 2]
    with np.errstate(invalid="ignore"):
        return np.asarray(high + np.log((1 + np.exp(low - high)) / 2))


def _sentence(kind: str, values: DataArray, ci_prob: float, both: bool) -> str:
    words = f"{_WORDS[kind]}{_BESIDE[kind] if both else ''}"
    if np.isnan(values).any():
        return (
            f"how often {words} cannot be computed: some probabilities are too small to be stored. "
            "Draw again with log_probabilities=True"
        )
    return f"{words} {_with_probability(values, ci_prob)}"


def _with_probability(values: DataArray, ci_prob: float) -> str:
    at = intervals(values, ci_prob)
    mean, low, high = (probability(float(at[name])) for name in ("mean", "lower", "upper"))
    return f"with probability {mean} ({percent(ci_prob)} interval {low} to {high})"
