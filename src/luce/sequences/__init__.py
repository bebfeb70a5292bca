"""Models of sequences: transitions, and time series whose states are hidden."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.sequences.durations import Geometric as Geometric
    from luce.sequences.durations import Histogram as Histogram
    from luce.sequences.durations import NegativeBinomial as NegativeBinomial
    from luce.sequences.durations import Poisson as Poisson
    from luce.sequences.emissions import Autoregressive as Autoregressive
    from luce.sequences.emissions import Categories as Categories
    from luce.sequences.emissions import Counts as Counts
    from luce.sequences.emissions import Custom as Custom
    from luce.sequences.emissions import DiagonalGaussian as DiagonalGaussian
    from luce.sequences.emissions import Gaussian as Gaussian
    from luce.sequences.hdp import HDPTransitions as HDPTransitions
    from luce.sequences.hdp_state import HDPState as HDPState
    from luce.sequences.hdp_state import ResampleInfo as ResampleInfo
    from luce.sequences.prediction import forecast as forecast
    from luce.sequences.prediction import log_predictive as log_predictive
    from luce.sequences.segmentations import change_probability as change_probability
    from luce.sequences.segmentations import segments as segments
    from luce.sequences.segmentations import similarity as similarity
    from luce.sequences.segmentations import summary as summary
    from luce.sequences.semi_markov import SemiMarkov as SemiMarkov
    from luce.sequences.semi_markov_state import SemiMarkovState as SemiMarkovState
    from luce.sequences.semi_markov_state import StepInfo as StepInfo
    from luce.sequences.separate_rows import SeparateRows as SeparateRows

_HOMES = {
    "Autoregressive": "emissions",
    "Categories": "emissions",
    "Counts": "emissions",
    "Custom": "emissions",
    "DiagonalGaussian": "emissions",
    "Gaussian": "emissions",
    "Geometric": "durations",
    "HDPState": "hdp_state",
    "HDPTransitions": "hdp",
    "Histogram": "durations",
    "NegativeBinomial": "durations",
    "Poisson": "durations",
    "ResampleInfo": "hdp_state",
    "SemiMarkov": "semi_markov",
    "SemiMarkovState": "semi_markov_state",
    "SeparateRows": "separate_rows",
    "StepInfo": "semi_markov_state",
    "change_probability": "segmentations",
    "forecast": "prediction",
    "log_predictive": "prediction",
    "segments": "segmentations",
    "similarity": "segmentations",
    "summary": "segmentations",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
