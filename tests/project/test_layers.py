"""What `import luce` costs; which room may import which is held by import-linter in `make lint`."""

import subprocess
import sys


def test_import_is_light() -> None:
    heavy = ["numba", "xarray", "arviz_stats", "arviz_base", "scipy.stats", "matplotlib", "rich"]
    code = f"import sys, luce; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""
