"""Hierarchical Dirichlet processes over transitions that are not all seen."""

from luce.hdp.model import HDPTransitions
from luce.hdp.state import HDPState, ResampleInfo

__all__ = ["HDPState", "HDPTransitions", "ResampleInfo"]
