"""Simulation-based calibration of a design."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.calibration.check import check_calibration as check_calibration

_HOMES = {
    "check_calibration": "check",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
