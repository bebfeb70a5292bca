"""Public names: each means one object, loads on first access, and is mirrored for type checkers."""

import ast
import importlib
import importlib.util
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lib.places import SOURCE

import luce

# Modules that need an optional package, and that package.
OPTIONAL = {
    "luce.embed.blackjax": "blackjax",
    "luce.embed.numpyro": "numpyro",
    "luce.embed.pymc": "pymc",
    "luce.embed.waiting_times_jax": "jax",
}
MOST_MODULES = 12  # of luce, loaded by `import luce`

# Packages with public names, and those of them that load their names on first access.
PUBLIC = {
    ".".join(["luce", *path.parent.relative_to(SOURCE).parts]): path
    for path in sorted(SOURCE.rglob("__init__.py"))
    if "__all__" in path.read_text()
}
LAZY = {name: path for name, path in PUBLIC.items() if "lazy_names(" in path.read_text()}


def run_alone(program: str) -> object:
    """Run a program in a fresh interpreter, and read the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_import_luce_loads_few_modules() -> None:
    program = """
import json, sys, luce
print(json.dumps([name for name in sys.modules if name.split(".")[0] == "luce"]))
"""
    loaded = run_alone(program)
    assert isinstance(loaded, list)
    assert len(loaded) <= MOST_MODULES, loaded


def test_dir_shows_exactly_the_public_names() -> None:
    assert dir(luce) == sorted(luce.__all__)
    program = "import json, luce; luce.Posterior, luce.counts; print(json.dumps(dir(luce)))"
    assert run_alone(program) == sorted(luce.__all__)


def importable(module: str) -> bool:
    """Is the optional package that a module needs installed?"""
    needed = next((p for m, p in OPTIONAL.items() if module.startswith(m)), None)
    return needed is None or importlib.util.find_spec(needed) is not None


def all_modules() -> list[str]:
    """Names of all modules of luce but the one that starts the command line."""
    found = pkgutil.walk_packages([str(SOURCE)], "luce.")
    return [m.name for m in found if m.name != "luce.__main__" and importable(m.name)]


def test_every_name_is_the_same_object_whenever_it_is_accessed() -> None:
    # A function named like a module would turn into the module once that is imported.
    program = f"""
import importlib, json
names = {{}}
for package in {sorted(PUBLIC)}:
    home = importlib.import_module(package)
    for name in home.__all__:
        if f"{{package}}.{{name}}" not in {sorted(OPTIONAL)}:
            names[package, name] = getattr(home, name)
for module in {all_modules()}:
    importlib.import_module(module)
wrong = []
for (package, name), first in names.items():
    home = importlib.import_module(package)
    if getattr(home, name) is not first or getattr(home, name) is not first:
        wrong.append(f"{{package}}.{{name}}")
print(json.dumps(wrong))
"""
    assert run_alone(program) == []


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_name_is_a_module_only_where_it_is_a_room(package: str) -> None:
    home = importlib.import_module(package)
    for name in home.__all__:
        whole = f"{package}.{name}"
        if importable(whole):
            path = SOURCE.parent / whole.replace(".", "/")
            is_module = path.is_dir() or path.with_suffix(".py").exists()
            assert is_module == isinstance(getattr(home, name), ModuleType), whole


def table_of(path: Path) -> set[tuple[str, str]]:
    """Home and name of every entry of the lazy tables `_HOMES` and `_ROOMS` of a package."""
    package = ".".join(["luce", *path.parent.relative_to(SOURCE).parts])
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "_HOMES":
                homes = ast.literal_eval(node.value)
                found |= {(f"{package}.{home}", name) for name, home in homes.items()}
            elif node.targets[0].id == "_ROOMS":
                found |= {(package, room) for room in ast.literal_eval(node.value)}
    return found


def mirror_of(path: Path) -> set[tuple[str, str]]:
    """Home and name of every import under TYPE_CHECKING, each of which is `x as x`."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom)
                for alias in line.names:
                    assert alias.asname == alias.name, f"{alias.name} is not exported again"
                    found.add((line.module or "", alias.name))
    return found


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_see_the_lazy_names(package: str) -> None:
    table = table_of(LAZY[package])
    assert mirror_of(LAZY[package]) == table
    assert {name for _, name in table} == set(importlib.import_module(package).__all__)


def test_the_mirror_is_really_compared(tmp_path: Path) -> None:
    changed = tmp_path / "__init__.py"
    text = (SOURCE / "counts" / "__init__.py").read_text()
    line = "    from luce.counts.terms import Term as Term\n"
    assert line in text
    changed.write_text(text.replace(line, ""))
    assert mirror_of(LAZY["luce.counts"]) - mirror_of(changed) == {("luce.counts.terms", "Term")}


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'luce' has no attribute 'posteriors'"):
        _ = luce.posteriors  # type: ignore[attr-defined]


def test_a_function_named_like_its_module_turns_into_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "clashing_names"
    folder.mkdir()
    (folder / "report.py").write_text("def report() -> None: ...\n")
    (folder / "__init__.py").write_text(
        "from luce._lazy import lazy_names\n"
        "__getattr__, __dir__, __all__ = lazy_names(__name__, {'report': 'report'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("clashing_names")
    importlib.import_module("clashing_names.report")
    assert isinstance(package.report, ModuleType)
