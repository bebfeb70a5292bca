"""Does luce's generator of random bits pass the batteries of TestU01?

    python benchmarks/generator.py SmallCrush
    python benchmarks/generator.py Crush --way neighbours --out crush.json

Needs TestU01 1.2.3 (L'Ecuyer and Simard 2007) as shared libraries: Debian's `libtestu01-0`, or a
build of its sources.  `--library` names the folder of `libtestu01.so.0` where the system does not
find it.  TestU01 calls the compiled `next_word` of luce itself and sees 32 of its 64 bits at a
time, in one of these ways:

    upper, lower            one generator: the upper or the lower half of each word
    upper-reversed, ...     the same with the order of the bits reversed, since most tests look at
                            the leading bits
    neighbours              one word each, in turn, of 1,024 generators: the first chain of the
                            seeds 0 to 1,023
    chains                  one word each, in turn, of the first 1,024 chains of the seed 0
    control                 one word each, in turn, of 1,024 generators whose states are the
                            numbers 1 to 1,024, without a seed sequence: must be rejected

SmallCrush takes seconds, Crush an hour, BigCrush half a day, for each way.  The results stand in
docs/reproducibility.md.
"""

import argparse
import ctypes
import json
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types

import luce
from luce.kernels.random import new_bits, next_word

WAYS = ("upper", "lower", "upper-reversed", "lower-reversed", "neighbours", "chains", "control")
STREAMS = 1024

# TestU01 calls a p-value suspect outside of [SUSPECT, 1 - SUSPECT], and clearly wrong outside of
# [WRONG, 1 - WRONG].
SUSPECT, WRONG = 1e-3, 1e-10


@numba.njit
def reversed_bits(word: Any) -> Any:
    """Reverse the order of 32 bits."""
    out = np.uint64(0)
    for _ in range(32):
        out = (out << np.uint64(1)) | (word & np.uint64(1))
        word >>= np.uint64(1)
    return out


# `how`: lower half?, reversed?, number of streams.  `state`: the stream whose turn it is, then the
# states of all streams.
@numba.cfunc(types.uint64(types.voidptr, types.voidptr))
def bits_of(how: Any, state: Any) -> Any:
    """Return the next 32 bits, in the lower half of a word."""
    lower, backwards, streams = numba.carray(how, 3, np.int64)
    all_of = numba.carray(state, 1 + 4 * streams, np.uint64)
    turn = np.int64(all_of[0])
    word = next_word(all_of[1 + 4 * turn : 5 + 4 * turn])
    all_of[0] = np.uint64((turn + 1) % streams)
    half = word & np.uint64(0xFFFFFFFF) if lower else word >> np.uint64(32)
    return reversed_bits(half) if backwards else half


@numba.cfunc(types.double(types.voidptr, types.voidptr))
def unit_of(how: Any, state: Any) -> Any:
    """Return the next 32 bits as a number in [0, 1)."""
    return bits_of(how, state) * 2.0**-32


@numba.cfunc(types.void(types.voidptr))
def nothing(state: Any) -> None:
    """Print no state."""


class Generator(ctypes.Structure):
    """TestU01's `unif01_Gen`."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("param", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("get_unit", ctypes.c_void_p),
        ("get_bits", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
    )


def states_of(way: str) -> np.ndarray:
    """Seed the generators of one way."""
    if way == "neighbours":
        seeds = [np.random.SeedSequence(k).spawn(1)[0] for k in range(STREAMS)]
    elif way == "chains":
        seeds = np.random.SeedSequence(0).spawn(STREAMS)
    elif way == "control":
        numbers = np.arange(1, STREAMS + 1, dtype=np.uint64)
        return np.repeat(numbers[:, None], 4, axis=1)
    else:
        seeds = [np.random.SeedSequence(0)]
    return np.array([new_bits(seed) for seed in seeds], np.uint64)


def load(folder: str | None) -> ctypes.CDLL:
    """Load TestU01 and the two libraries it rests on."""
    names = ("libtestu01mylib.so.0", "libtestu01probdist.so.0", "libtestu01.so.0")
    for name in names:
        found = ctypes.CDLL(str(Path(folder) / name) if folder else name, ctypes.RTLD_GLOBAL)
    return found


def run(library: ctypes.CDLL, battery: str, way: str) -> dict[str, Any]:
    """Run one battery on one way of taking bits."""
    states = states_of(way)
    state = np.r_[np.uint64(0), states.ravel()]
    how = np.array(["lower" in way, "reversed" in way, len(states)], np.int64)
    generator = Generator(
        state.ctypes.data, how.ctypes.data, way.encode(),
        unit_of.address, bits_of.address, nothing.address,
    )  # fmt: skip
    ctypes.c_int.in_dll(library, "swrite_Basic").value = 0
    began = time.process_time()
    getattr(library, f"bbattery_{battery}")(ctypes.byref(generator))
    number = ctypes.c_int.in_dll(library, "bbattery_NTests").value
    values = (ctypes.c_double * 200).in_dll(library, "bbattery_pVal")
    names = (ctypes.c_char_p * 200).in_dll(library, "bbattery_TestNames")
    found = [((names[k] or b"").decode().strip(), values[k]) for k in range(number)]
    found = [(name, p) for name, p in found if 0.0 <= p <= 1.0]  # -1 where a test did not run
    return {
        "battery": battery,
        "way": way,
        "luce": luce.__version__,
        "cpu_minutes": round((time.process_time() - began) / 60, 1),
        "statistics": len(found),
        "suspect": [(n, p) for n, p in found if not SUSPECT <= p <= 1 - SUSPECT],
        "wrong": sum(not WRONG <= p <= 1 - WRONG for _, p in found),
        "p": [float(f"{p:.3g}") for _, p in found],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="TestU01's batteries on luce's generator.")
    parser.add_argument("battery", choices=("SmallCrush", "Crush", "BigCrush"))
    parser.add_argument("--way", choices=WAYS, action="append", help="all unless given")
    parser.add_argument("--library", help="the folder of libtestu01.so.0")
    parser.add_argument("--out", help="a JSON file for the p-values")
    given = parser.parse_args()
    library = load(given.library)
    done = []
    for way in given.way or WAYS:
        done.append(run(library, given.battery, way))
        print(json.dumps(done[-1]), flush=True)
        if given.out:
            Path(given.out).write_text(json.dumps(done, indent=1) + "\n")


if __name__ == "__main__":
    main()
