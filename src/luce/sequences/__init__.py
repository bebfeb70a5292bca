"""Models of sequences: hierarchical Dirichlet processes over transitions."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.sequences.hdp import HDPTransitions as HDPTransitions
    from luce.sequences.hdp_state import HDPState as HDPState
    from luce.sequences.hdp_state import ResampleInfo as ResampleInfo

_HOMES = {
    "HDPState": "hdp_state",
    "HDPTransitions": "hdp",
    "ResampleInfo": "hdp_state",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
