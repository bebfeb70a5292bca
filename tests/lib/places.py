"""Where the project's own files stand, and the data that some tests read if it is there."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "luce"
DOCS = ROOT / "docs"
BENCHMARKS = ROOT / "benchmarks"
SHARED_DATA = ROOT.parent / "shared" / "data"
