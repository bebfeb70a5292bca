"""What `import luce` costs; which room may import which is held by import-linter in `make lint`."""

import subprocess
import sys
from pathlib import Path


def test_import_is_light() -> None:
    heavy = ["numba", "xarray", "arviz_stats", "arviz_base", "scipy.stats", "matplotlib", "rich"]
    code = f"import sys, luce; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""


def test_fitting_a_small_file_imports_no_package_that_it_does_not_need(tmp_path: Path) -> None:
    """Each of these takes a good part of a second, and some runs take less."""
    file = tmp_path / "games.csv"
    file.write_text("winner,loser\nann,bo\nbo,cy\ncy,ann\nann,cy\n")
    heavy = ["arviz_stats", "arviz_base", "scipy.stats", "dask", "matplotlib"]
    code = (
        "import sys; from luce.cli import main\n"
        f"main(['fit', {str(file)!r}, '--draws', '500', '--seed', '1'])\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
