"""Goldens on the disk, the machine they were recorded on, and how new numbers are compared."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np
from goldens.case import FINGERPRINT, Array, Arrays, Kind

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")

# What compiled draws depend on, to the last bit.
DECISIVE = ("machine", "processor", "numpy", "numba")

# Draws of another machine differ by the rounding of its logarithms and the order of its sums.
DRAWS_ELSEWHERE = 1e-9

# Newton's method stops when a step no longer matters: 1e-8 is far above its error and far below
# that of any formula.  Evidence adds up thousands of draws, and its standard error is a variance of
# them: both lose some digits more.
RELATIVE = {Kind.ESTIMATE: 1e-8, Kind.EVIDENCE: 1e-6}
ABSOLUTE = {Kind.ESTIMATE: 1e-11, Kind.EVIDENCE: 1e-9}


def present_platform() -> dict[str, str]:
    """This machine and its libraries."""
    return {
        "machine": platform.machine(),
        "processor": _processor(),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def _processor() -> str:
    """The model name of the processor, as far as the system tells it."""
    source = Path("/proc/cpuinfo")
    text = source.read_text(encoding="utf-8") if source.exists() else ""
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else platform.processor()


def recorded_platform(folder: Path = HERE) -> dict[str, str]:
    """The machine that the goldens were recorded on."""
    found: dict[str, str] = json.loads((folder / "platform.json").read_text(encoding="utf-8"))
    return found


def is_recorded_platform() -> bool:
    """Must draws be the same here to the last bit?"""
    now, then = present_platform(), recorded_platform()
    return all(now[name] == then[name] for name in DECISIVE)


def save_goldens(folder: Path, goldens: Mapping[str, Mapping[str, Arrays]]) -> None:
    """Write the arrays of all cases, a file for each topic, and the machine."""
    for topic, cases in goldens.items():
        flat = {f"{case}: {x}": a for case, found in cases.items() for x, a in found.items()}
        np.savez_compressed(folder / f"{topic}.npz", allow_pickle=False, **flat)
    text = json.dumps(present_platform(), indent=2) + "\n"
    (folder / "platform.json").write_text(text, encoding="utf-8")


def load_goldens(topic: str, folder: Path = HERE) -> dict[str, Arrays]:
    """Read the arrays of a topic, by case."""
    goldens: dict[str, Arrays] = {}
    with np.load(folder / f"{topic}.npz", allow_pickle=False) as file:
        for key in file.files:
            case, name = key.rsplit(": ", 1)
            goldens.setdefault(case, {})[name] = file[key]
    return goldens


def check_same(found: Arrays, golden: Arrays, kind: Kind, every_bit: bool) -> None:
    """Raise an AssertionError where new numbers are not the stored ones.

    Parameters
    ----------
    found, golden
        New and stored arrays, by name.
    kind
        How near they must be.
    every_bit
        Must draws be the same to the last bit?
    """
    assert sorted(found) == sorted(golden), "other arrays than were stored"
    for name, stored in golden.items():
        new = np.asarray(found[name])
        assert new.shape == stored.shape, f"{name} has shape {new.shape}, not {stored.shape}"
        assert new.dtype == stored.dtype, f"{name} has dtype {new.dtype}, not {stored.dtype}"
        if kind is Kind.EXACT or stored.dtype.kind != "f" or (kind is Kind.DRAWS and every_bit):
            if name == FINGERPRINT and not every_bit:
                continue  # draws that differ in the last bit have another one
            assert new.tobytes() == stored.tobytes(), _first_difference(name, new, stored)
        else:
            relative = RELATIVE.get(kind, DRAWS_ELSEWHERE)
            np.testing.assert_allclose(new, stored, relative, ABSOLUTE.get(kind, 0.0), err_msg=name)


def _first_difference(name: str, new: Array, stored: Array) -> str:
    """Say where two arrays of one shape differ first."""
    places = np.argwhere(np.atleast_1d(new != stored))
    if len(places) == 0:
        return f"{name} differs in the sign of a zero, or in a nan"
    first = tuple(places[0].tolist())
    was, now = np.atleast_1d(stored)[first], np.atleast_1d(new)[first]
    return f"{name} differs in {len(places)} places, first at {first}: {was!r} is now {now!r}"
