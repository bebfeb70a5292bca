"""Decide with a posterior: take in new data, choose what to compare next, play, compare groups."""

from luce._lazy import lazy_names

_HOMES: dict[str, str] = {}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
