"""Answer questions from draws: ranks, shares, predictions, diagnostics, summaries."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.answers import diagnostics as diagnostics
    from luce.answers.comparisons import beats as beats
    from luce.answers.comparisons import win_matrix as win_matrix
    from luce.answers.effects import effect_probabilities as effect_probabilities
    from luce.answers.fixtures import predict as predict
    from luce.answers.held_out import reliability as reliability
    from luce.answers.held_out import scores as scores
    from luce.answers.leave_one_out import attach_log_likelihood as attach_log_likelihood
    from luce.answers.leave_one_out import log_likelihood as log_likelihood
    from luce.answers.leave_one_out import loo as loo
    from luce.answers.matrix_differences import TransitionDifferences as TransitionDifferences
    from luce.answers.matrix_differences import transition_differences as transition_differences
    from luce.answers.new_categories import draw_new_atoms as draw_new_atoms
    from luce.answers.new_categories import expected_new as expected_new
    from luce.answers.prediction import (
        attach_posterior_predictive as attach_posterior_predictive,
    )
    from luce.answers.prediction import log_predictive as log_predictive
    from luce.answers.prediction import posterior_predictive as posterior_predictive
    from luce.answers.ranks import expected_order as expected_order
    from luce.answers.ranks import expected_ranks as expected_ranks
    from luce.answers.ranks import not_told_from as not_told_from
    from luce.answers.ranks import probability_best as probability_best
    from luce.answers.ranks import probability_larger as probability_larger
    from luce.answers.ranks import rank_probabilities as rank_probabilities
    from luce.answers.ranks import tie_groups as tie_groups
    from luce.answers.scales import elo as elo
    from luce.answers.scales import intervals as intervals
    from luce.answers.scales import log_odds as log_odds
    from luce.answers.scales import shares as shares
    from luce.answers.simultaneous import simultaneous_intervals as simultaneous_intervals
    from luce.answers.summaries import summary as summary
    from luce.answers.transition_tables import TransitionSummary as TransitionSummary
    from luce.answers.transition_tables import transition_summary as transition_summary
    from luce.answers.transitions import transition_matrix as transition_matrix
    from luce.answers.view import DrawsView as DrawsView

_HOMES = {
    "DrawsView": "view",
    "TransitionDifferences": "matrix_differences",
    "TransitionSummary": "transition_tables",
    "attach_log_likelihood": "leave_one_out",
    "attach_posterior_predictive": "prediction",
    "beats": "comparisons",
    "draw_new_atoms": "new_categories",
    "effect_probabilities": "effects",
    "elo": "scales",
    "expected_new": "new_categories",
    "expected_order": "ranks",
    "expected_ranks": "ranks",
    "intervals": "scales",
    "log_likelihood": "leave_one_out",
    "log_odds": "scales",
    "log_predictive": "prediction",
    "loo": "leave_one_out",
    "not_told_from": "ranks",
    "posterior_predictive": "prediction",
    "predict": "fixtures",
    "probability_best": "ranks",
    "probability_larger": "ranks",
    "rank_probabilities": "ranks",
    "reliability": "held_out",
    "scores": "held_out",
    "shares": "scales",
    "simultaneous_intervals": "simultaneous",
    "summary": "summaries",
    "tie_groups": "ranks",
    "transition_differences": "matrix_differences",
    "transition_matrix": "transitions",
    "transition_summary": "transition_tables",
    "win_matrix": "comparisons",
}

_ROOMS = ["diagnostics"]

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES, _ROOMS)
