"""Hierarchical Dirichlet processes over transitions that are not all seen."""

from luce.sequences.hdp import HDPTransitions
from luce.sequences.hdp_state import HDPState, ResampleInfo

__all__ = ["HDPState", "HDPTransitions", "ResampleInfo"]
