"""Exact and fast posterior draws of probabilities seen only through subsets."""

from luce import plots, simulate
from luce.answers import diagnostics
from luce.answers.comparisons import beats, win_matrix
from luce.answers.leave_one_out import log_likelihood, loo
from luce.answers.new_categories import draw_new_atoms, expected_new
from luce.answers.prediction import log_predictive, posterior_predictive
from luce.answers.ranks import (
    expected_order,
    expected_ranks,
    probability_best,
    rank_probabilities,
    tie_groups,
)
from luce.answers.reliability import calibration
from luce.answers.scales import elo, intervals, log_odds, shares
from luce.answers.summaries import summary
from luce.answers.transition_matrix import transition_matrix
from luce.calibration.check import check_calibration
from luce.cluster.sharded import sample_sharded
from luce.counts.comparability import comparable_groups, prior_only
from luce.counts.counts import ConditionalCounts
from luce.embed.gibbs_step import GibbsStep
from luce.errors import (
    BadRowsError,
    ConvergenceWarning,
    DataError,
    DiskFullError,
    EvidenceWarning,
    LuceError,
    MethodError,
    NoMaximumError,
    NotExactError,
    SkippedRowsWarning,
)
from luce.estimates.likelihood import maximum_likelihood
from luce.hypotheses.bayes_factors import bayes_factor
from luce.hypotheses.questions import hypothesis
from luce.model.dirichlet_process import DirichletProcess
from luce.model.gamma_prior import Gamma
from luce.posterior import Posterior
from luce.reading import (
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)
from luce.reading.files import read
from luce.reading.ties import HalfWinsWarning
from luce.reports.whole import report
from luce.runs.resuming import resume
from luce.runs.saving import load, open_run, posterior_of, save
from luce.sequences import HDPTransitions
from luce.version import __version__
from luce.workflows.logs import reduce_logs
from luce.workflows.many import sample_many
from luce.workflows.sensitivity import sensitivity

__all__ = [
    "BadRowsError",
    "ConditionalCounts",
    "ConvergenceWarning",
    "DataError",
    "DirichletProcess",
    "DiskFullError",
    "EvidenceWarning",
    "Gamma",
    "GibbsStep",
    "HDPTransitions",
    "HalfWinsWarning",
    "LuceError",
    "MethodError",
    "NoMaximumError",
    "NotExactError",
    "Posterior",
    "SkippedRowsWarning",
    "__version__",
    "bayes_factor",
    "beats",
    "calibration",
    "check_calibration",
    "comparable_groups",
    "diagnostics",
    "draw_new_atoms",
    "elo",
    "expected_new",
    "expected_order",
    "expected_ranks",
    "from_choices",
    "from_groups",
    "from_pairs",
    "from_rankings",
    "from_table",
    "from_teams",
    "from_transitions",
    "hypothesis",
    "intervals",
    "load",
    "log_likelihood",
    "log_odds",
    "log_predictive",
    "loo",
    "maximum_likelihood",
    "open_run",
    "plots",
    "posterior_of",
    "posterior_predictive",
    "prior_only",
    "probability_best",
    "rank_probabilities",
    "read",
    "reduce_logs",
    "report",
    "resume",
    "sample_many",
    "sample_sharded",
    "save",
    "sensitivity",
    "shares",
    "simulate",
    "summary",
    "tie_groups",
    "transition_matrix",
    "win_matrix",
]
