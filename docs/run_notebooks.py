"""Execute the notebooks of the documentation again, and store what they show.

    python docs/run_notebooks.py                 # all of docs/notebooks
    python docs/run_notebooks.py league shop

Outputs are stored in the notebooks, and the last picture of each beside it, for docs/gallery.md.
Whatever depends on the machine, on the hour or on the versions is left out.
"""

import re
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent / "notebooks"
SECONDS = 600  # that a cell may take, compiling included
NOTE = re.compile(r"luce: compiling [^\n]*\n+")  # what is said once on every machine
DRAWING = re.compile(r"<svg .*?</svg>", re.DOTALL)


def executed(path: Path) -> Any:
    """Run a notebook from its first cell to its last, in a kernel of its own."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3")
    client.execute()
    return normalised(notebook)


def normalised(notebook: Any) -> Any:
    """Leave out of a notebook what another run on another machine would change."""
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": python, "language_info": {"name": "python"}}
    count = 0
    for k, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{k}", {}
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = [output for output in map(_kept, cell.outputs) if output is not None]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    return notebook


def _kept(output: Any) -> Any:
    """Keep an output unless it is a progress bar or a note of compiling."""
    if output.output_type == "stream" and output.name == "stderr":
        output.text = NOTE.sub("", output.text)
        return output if output.text.strip() else None
    is_bar = "<progress" in output.get("data", {}).get("text/html", "")
    return None if is_bar else output


def texts(notebook: Any) -> list[str]:
    """List the outputs of a notebook as text, and each picture as a word."""
    found = []
    for k, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            kinds = (f"[{kind}]" for kind in sorted(data) if kind.startswith("image/"))
            words = [DRAWING.sub("[drawing]", data.get(kind, "")) for kind in _TEXTS]
            found.append("\n".join([f"{k}: {output.output_type}", *kinds, *words]))
    return found


_TEXTS = ("text/plain", "text/html")


def last_picture(notebook: Any) -> bytes:
    """Return the last picture of a notebook."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [o.data["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    return b64decode(pictures[-1])


def store(path: Path) -> None:
    """Execute a notebook and write it back, with its last picture beside it."""
    notebook = executed(path)
    nbformat.write(notebook, path)
    path.with_suffix(".png").write_bytes(last_picture(notebook))


if __name__ == "__main__":
    for path in [NOTEBOOKS / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(
        NOTEBOOKS.glob("*.ipynb")
    ):
        print(path)
        store(path)
