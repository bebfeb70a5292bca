"""Make the pictures of documentation pages again, each by the code that its page shows.

    python docs/pictures.py docs/start.md docs/plots.md

The Python blocks of a page run in a temporary folder. Each SVG that they write and that the page
shows, by name, is copied to the place where the page looks for it.
"""

import re
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+\.svg)\)")


def make(page: Path) -> list[Path]:
    """Run the code of a page; return the pictures that it wrote."""
    text = page.read_text(encoding="utf-8")
    shown = [page.parent / target for target in PICTURE.findall(text)]
    with tempfile.TemporaryDirectory() as folder:
        with chdir(folder):
            exec("\n".join(BLOCK.findall(text)), {"__name__": "__main__"})
        made = [target for target in shown if (Path(folder) / target.name).exists()]
        for target in made:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(Path(folder) / target.name, target)
    return made


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(*make(Path(name).resolve()), sep="\n")
