"""Exact and fast posterior draws of probabilities seen only through subsets."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce import answers as answers
    from luce import calibration as calibration
    from luce import counts as counts
    from luce import decide as decide
    from luce import embed as embed
    from luce import errors as errors
    from luce import estimates as estimates
    from luce import hypotheses as hypotheses
    from luce import plots as plots
    from luce import reading as reading
    from luce import runs as runs
    from luce import sequences as sequences
    from luce import simulate as simulate
    from luce import workflows as workflows
    from luce.answers.comparisons import beats as beats
    from luce.answers.fixtures import predict as predict
    from luce.answers.leave_one_out import loo as loo
    from luce.answers.overviews import overview as overview
    from luce.answers.prediction import log_predictive as log_predictive
    from luce.answers.ranks import probability_best as probability_best
    from luce.answers.ranks import rank_probabilities as rank_probabilities
    from luce.answers.ranks import tie_groups as tie_groups
    from luce.answers.scales import elo as elo
    from luce.answers.scales import log_odds as log_odds
    from luce.answers.scales import shares as shares
    from luce.answers.summaries import summary as summary
    from luce.cluster.sharded import sample_sharded as sample_sharded
    from luce.counts.comparability import comparable_groups as comparable_groups
    from luce.counts.counts import ConditionalCounts as ConditionalCounts
    from luce.decide.brackets import play_bracket as play_bracket
    from luce.decide.designs import next_comparison as next_comparison
    from luce.decide.group_comparison import compare_groups as compare_groups
    from luce.decide.leaderboards import leaderboard as leaderboard
    from luce.decide.seasons import play as play
    from luce.decide.updating import update as update
    from luce.embed.gibbs_step import GibbsStep as GibbsStep
    from luce.errors import ConvergenceWarning as ConvergenceWarning
    from luce.errors import LuceError as LuceError
    from luce.estimates.likelihood import maximum_likelihood as maximum_likelihood
    from luce.hypotheses.bayes_factors import bayes_factor as bayes_factor
    from luce.hypotheses.fit_tests import goodness_of_fit as goodness_of_fit
    from luce.hypotheses.hypothesis_tests import hypothesis as hypothesis
    from luce.model.priors import DirichletProcess as DirichletProcess
    from luce.model.priors import Gamma as Gamma
    from luce.posterior import Posterior as Posterior
    from luce.posterior import posterior_of as posterior_of
    from luce.reading.choices import from_choices as from_choices
    from luce.reading.files import read as read
    from luce.reading.groups import from_groups as from_groups
    from luce.reading.pairs import from_pairs as from_pairs
    from luce.reading.rankings import from_rankings as from_rankings
    from luce.reading.tables import from_table as from_table
    from luce.reading.teams import from_teams as from_teams
    from luce.reading.transitions import from_transitions as from_transitions
    from luce.reports.run_page import report as report
    from luce.runs.saving import load as load
    from luce.runs.saving import save as save
    from luce.sequences.hdp import HDPTransitions as HDPTransitions
    from luce.sequences.semi_markov import SemiMarkov as SemiMarkov
    from luce.version import __version__ as __version__
    from luce.workflows.distances import distance_to_posterior as distance_to_posterior
    from luce.workflows.fitting import fit as fit
    from luce.workflows.many_posteriors import sample_many as sample_many
    from luce.workflows.resuming import resume as resume
    from luce.workflows.unbiased_means import unbiased as unbiased

_HOMES = {
    "ConditionalCounts": "counts.counts",
    "ConvergenceWarning": "errors",
    "DirichletProcess": "model.priors",
    "Gamma": "model.priors",
    "GibbsStep": "embed.gibbs_step",
    "HDPTransitions": "sequences.hdp",
    "LuceError": "errors",
    "Posterior": "posterior",
    "SemiMarkov": "sequences.semi_markov",
    "__version__": "version",
    "bayes_factor": "hypotheses.bayes_factors",
    "beats": "answers.comparisons",
    "comparable_groups": "counts.comparability",
    "compare_groups": "decide.group_comparison",
    "distance_to_posterior": "workflows.distances",
    "elo": "answers.scales",
    "fit": "workflows.fitting",
    "from_choices": "reading.choices",
    "from_groups": "reading.groups",
    "from_pairs": "reading.pairs",
    "from_rankings": "reading.rankings",
    "from_table": "reading.tables",
    "from_teams": "reading.teams",
    "from_transitions": "reading.transitions",
    "goodness_of_fit": "hypotheses.fit_tests",
    "hypothesis": "hypotheses.hypothesis_tests",
    "leaderboard": "decide.leaderboards",
    "load": "runs.saving",
    "log_odds": "answers.scales",
    "log_predictive": "answers.prediction",
    "loo": "answers.leave_one_out",
    "maximum_likelihood": "estimates.likelihood",
    "next_comparison": "decide.designs",
    "overview": "answers.overviews",
    "play": "decide.seasons",
    "play_bracket": "decide.brackets",
    "posterior_of": "posterior",
    "predict": "answers.fixtures",
    "probability_best": "answers.ranks",
    "rank_probabilities": "answers.ranks",
    "read": "reading.files",
    "report": "reports.run_page",
    "resume": "workflows.resuming",
    "sample_many": "workflows.many_posteriors",
    "sample_sharded": "cluster.sharded",
    "save": "runs.saving",
    "shares": "answers.scales",
    "summary": "answers.summaries",
    "tie_groups": "answers.ranks",
    "unbiased": "workflows.unbiased_means",
    "update": "decide.updating",
}

_ROOMS = [
    "answers",
    "calibration",
    "counts",
    "decide",
    "embed",
    "errors",
    "estimates",
    "hypotheses",
    "plots",
    "reading",
    "runs",
    "sequences",
    "simulate",
    "workflows",
]

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES, _ROOMS)
