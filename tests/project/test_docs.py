"""Every example in the documentation runs and prints what the page says."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import luce

# Pages and docstrings draw as users do, which takes too long as plain Python.
pytestmark = pytest.mark.compiled

ROOT = Path(__file__).parents[2]
PAGES = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if p.exists()]
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(luce.__path__, "luce.")
    if m.name != "luce.__main__"  # importing it runs the command
)

FENCE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    line: int
    code: str
    output: str | None


def examples(page: str) -> list[Example]:
    """Blocks of Python, each with the block of text right after it, if there is one."""
    blocks = list(FENCE.finditer(page))
    found = []
    for k, block in enumerate(blocks):
        if block[1] != "python":
            continue
        follower = blocks[k + 1] if k + 1 < len(blocks) else None
        follows = (
            follower is not None
            and follower[1] == "text"
            and not page[block.end() : follower.start()].strip()
        )
        line = page.count("\n", 0, block.start(2)) + 1
        found.append(Example(line, block[2], follower[2] if follows and follower else None))
    return found


def run_page(path: Path, page: str) -> int:
    """Run the examples of one page in one namespace; how many there were."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = examples(page)
    for example in found:
        # Blank lines in front make tracebacks name the line of the page.
        code = compile("\n" * (example.line - 1) + example.code, str(path), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if example.output is not None:
            assert printed.getvalue() == example.output, f"{path.name}, line {example.line}"
    return len(found)


def needs_a_host(name: str) -> bool:
    """Adapters are imported only where the package they adapt to is installed."""
    return name.startswith("luce.embed.")


@pytest.mark.parametrize("name", ["luce", *MODULES])
def test_doctests(name: str) -> None:
    if needs_a_host(name):
        pytest.importorskip(name, exc_type=ModuleNotFoundError)
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_there_are_doctests() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    ours = [importlib.import_module(name) for name in MODULES if not needs_a_host(name)]
    found = [t for module in ours for t in finder.find(module) if t.examples]
    assert {"ConditionalCounts", "Posterior"} <= {t.name.split(".")[-1] for t in found}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a page may write files
    for name in ("COLUMNS", "FORCE_COLOR"):  # tables would be narrower, verdicts in colour
        monkeypatch.delenv(name, raising=False)
    page = path.read_text(encoding="utf-8")
    n_python = len(re.findall(r"^```python\b", page, re.MULTILINE))
    assert run_page(path, page) == n_python


def test_a_wrong_page_is_found_out() -> None:
    good = "```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n```python\nprint(x + 1)\n```\nso\n"
    later = good + "```text\nnot output, since words come between\n```\n"
    assert run_page(Path("page.md"), later) == 2
    with pytest.raises(AssertionError, match=r"page\.md, line 2"):
        run_page(Path("page.md"), good.replace("\n2\n", "\n3\n"))
    with pytest.raises(NameError):
        run_page(Path("page.md"), good.replace("x = 2", "y = 2"))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    inside = [t for t in targets if "://" not in t]
    assert [t for t in inside if not (path.parent / t).exists()] == []


SHOWN = re.compile(r'^```py title="(\S+)"\n(.*?)^```[ \t]*$', re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_scripts_are_shown_as_they_are(path: Path) -> None:
    """The tests of the adapters run them; where their packages are missing, this is all."""
    page = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    shown = dict(SHOWN.findall(page))
    assert shown[f"examples/{path.name}"] == path.read_text(encoding="utf-8")
