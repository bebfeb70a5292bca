"""Compiled code draws what plain Python draws, and leaves numba's own settings alone."""

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest


def test_numbas_own_setting_is_left_alone() -> None:
    code = (
        "import numba; before = numba.config.CACHE_DIR; import luce.kernels; "
        "assert numba.config.CACHE_DIR == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


SAME = """
import luce
import numpy as np
counts = luce.ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
counts = counts.observe({"b": 2, "c": 1}, within="bc").observe({"a": 2, "c": 1}, within="ac")
counts = counts.observe_group("ac", 2)
for method in ("waiting-times", "hidden-counts", "metropolis"):
    how = dict(chains=2, warmup=20, seed=1, progress=False, method=method)
    print(luce.Posterior(counts).sample(30, **how).posterior["probabilities"].values.tolist())
print(np.asarray(luce.Posterior(counts).mode("log-odds")).tolist())
"""


@pytest.mark.compiled
def test_python_and_compiled_code_draw_the_same() -> None:
    """Compare draws up to rounding: coverage and debuggers see the code that is run."""
    printed = []
    with contextlib.redirect_stdout(io.StringIO()) as here, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(SAME, {})
    settings = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", SAME]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    for lines in (here.getvalue(), done.stdout):
        printed.append([json.loads(line) for line in lines.splitlines()])
    assert [len(drawn) for drawn in printed[0]] == [2, 2, 2, 3]
    for compiled, interpreted in zip(*printed, strict=True):
        np.testing.assert_allclose(interpreted, compiled, rtol=1e-9)
