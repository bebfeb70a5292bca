"""Draw the rooms of the house from the real imports, into docs/developers/rooms.svg.

    python docs/rooms.py

Each row is a room, from the floor up.  A dot says that the room of the row imports the room of
the column; since imports go one way, all dots lie below the diagonal.  The numbered line is the way
that a CSV file takes to a report.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "luce"
PICTURE = ROOT / "docs" / "developers" / "rooms.svg"

# The rooms that data passes through, in order, on its way from a CSV file to a report.
WAY = ["cli", "reading", "counts", "model", "sampling", "runs", "answers", "reports"]

ROW, LEFT, WORDS, DOT = 26, 160, 590, 17
INK, PALE, LINE = "#1f2933", "#9aa5b1", "#c2410c"


def rooms() -> list[str]:
    """List the rooms from the floor up, as the contract of import-linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    names = [
        name.removeprefix("luce.") for layer in reversed(layers) for name in layer.split(" | ")
    ]
    return [name for name in names if not name.startswith("_")]


def files_of(room: str) -> list[Path]:
    """List the modules of a room."""
    folder = SOURCE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [SOURCE / f"{room}.py"]


def imported_rooms(room: str) -> set[str]:
    """Find the rooms that the modules of a room import, inside functions too."""
    found = set()
    for file in files_of(room):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "luce":
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module.split(".")[1]} if node.module.startswith("luce.") else set()
    return found & set(rooms()) - {room}


def purpose(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    folder = SOURCE / room
    file = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{room}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0].rstrip(".").replace("`", "")


def draw() -> str:
    """Draw the picture as SVG text."""
    names = rooms()
    width, height = LEFT + WORDS + DOT * len(names) + 20, ROW * len(names) + 110
    y = {name: height - 30 - ROW * place for place, name in enumerate(names)}
    x = {name: LEFT + WORDS + DOT * place + DOT // 2 for place, name in enumerate(names)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Rooms of luce and the imports between them</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name in names:
        parts += _row(name, x, y, width)
    parts += _way(y)
    return "\n".join([*parts, "</svg>", ""])


def _row(name: str, x: dict[str, int], y: dict[str, int], width: int) -> list[str]:
    at = y[name]
    found = [
        f'<line x1="40" x2="{width - 10}" y1="{at + 8}" y2="{at + 8}" stroke="#eef1f4"/>',
        f'<text x="56" y="{at}" fill="{INK}" font-weight="600">{escape(name)}</text>',
        f'<text x="{LEFT + 5}" y="{at}" fill="{INK}">{escape(purpose(name))}</text>',
        f'<rect x="{x[name] - 4}" y="{at - 9}" width="8" height="8" fill="{PALE}"/>',
        f'<text transform="translate({x[name] + 4},{y_top(y)}) rotate(-60)" fill="{INK}" '
        f'font-size="11">{escape(name)}</text>',
    ]
    for other in sorted(imported_rooms(name)):
        found.append(f'<circle cx="{x[other]}" cy="{at - 5}" r="4" fill="{INK}"/>')
    return found


def y_top(y: dict[str, int]) -> int:
    """Return the height at which the columns' names begin."""
    return min(y.values()) - 20


def _way(y: dict[str, int]) -> list[str]:
    points = " ".join(f"{12 + 5 * (k % 3)},{y[name] - 5}" for k, name in enumerate(WAY))
    found = [
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="2" opacity="0.6"/>'
    ]
    for k, name in enumerate(WAY):
        at = 12 + 5 * (k % 3), y[name] - 5
        found.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="9" fill="{LINE}"/>')
        found.append(
            f'<text x="{at[0]}" y="{at[1] + 4}" fill="#ffffff" font-size="11" '
            f'text-anchor="middle">{k + 1}</text>'
        )
    return found


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
    print(PICTURE)
