"""Exact and fast posterior draws of probabilities seen only through subsets."""

from luce import diagnostics, plots, simulate
from luce.bayes_factors import bayes_factor
from luce.calibration_check import check_calibration
from luce.comparability import comparable_groups, prior_only
from luce.conditional_counts import ConditionalCounts
from luce.dirichlet_process import DirichletProcess
from luce.duels import beats, win_matrix
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
from luce.files.read import read
from luce.gamma_prior import Gamma
from luce.gibbs_step import GibbsStep
from luce.hdp import HDPTransitions
from luce.hypotheses import hypothesis
from luce.leave_one_out import log_likelihood, loo
from luce.likelihood import maximum_likelihood
from luce.logs import reduce_logs
from luce.many import sample_many
from luce.new_categories import draw_new_atoms, expected_new
from luce.posterior import Posterior
from luce.prediction import log_predictive, posterior_predictive
from luce.ranks import (
    expected_order,
    expected_ranks,
    probability_best,
    rank_probabilities,
    tie_groups,
)
from luce.readers import (
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)
from luce.readers.ties import HalfWinsWarning
from luce.reliability import calibration
from luce.report import report
from luce.resuming import resume
from luce.scales import elo, intervals, log_odds, shares
from luce.sensitivity import sensitivity
from luce.sharded import sample_sharded
from luce.storage import load, open_run, posterior_of, save
from luce.summaries import summary
from luce.transition_matrix import transition_matrix
from luce.version import __version__

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
