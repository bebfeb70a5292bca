"""Imports go one way: each module may use only what lies in the layers above its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "luce"

# Modules of one layer do not import each other, but for those of one package.
LAYERS = [
    ["_types", "errors", "version"],
    ["labels", "simplex", "page_words", "gamma_orders", "rank_uniformity"],
    ["set_family", "page_tables", "gamma_prior"],
    ["kernels", "page"],
    ["canonical", "step_input"],
    ["entries", "attainable", "step_sets"],
    ["conditional_counts"],
    ["readers", "simulate"],
    ["files"],
    ["dirichlet_process", "concentrations"],
    ["density", "structure"],
    ["module_shapes"],
    ["data_and_prior", "exact", "envelope", "laplace", "convergence", "chains", "windows"],
    ["progress", "settings", "ordinates", "core_maximum"],
    ["methods", "mode", "gibbs_step"],
    ["sampling", "uncertainty"],
    ["drawing", "likelihood"],
    ["evidence", "likelihood_ratio"],
    ["draws", "diagnostics", "labelled_draws", "comparability"],
    [
        "ranks",
        "duels",
        "scales",
        "prediction",
        "reliability",
        "transition_matrix",
        "new_categories",
    ],
    ["summaries", "leave_one_out", "run_files"],
    ["streaming"],
    ["cluster"],
    ["drawable", "hdp", "calibration_design"],
    ["posterior", "calibration_runs"],
    ["sensitivity", "bayes_factors", "sharded", "many", "logs"],
    ["hypothesis_test"],
    ["hypotheses"],
    ["storage"],
    ["resuming"],
    ["examples", "plots"],
    ["report", "calibration_check"],
    ["paper", "fit_command", "report_command", "resume_command", "adapters"],
    ["__init__"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def imported(code: str) -> set[str]:
    """Modules of luce that the code imports, at the top or inside functions."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            # `from luce import x` and `from luce.kernels import x` name modules, if x is one.
            for alias in node.names:
                longer = f"{node.module}.{alias.name}"
                is_module = longer.removeprefix("luce.") in FILES
                names.add(longer if is_module else str(node.module))
    ours = {n for n in names if n == "luce" or n.startswith("luce.")}
    return {"__init__" if n == "luce" else n.removeprefix("luce.") for n in ours}


def top(module: str) -> str:
    return module.split(".")[0]


def reached_from(module: str) -> set[str]:
    """Everything of luce that a module imports, directly or not."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        name = name if name in FILES else f"{name}.__init__"
        new = imported(FILES[name].read_text()) - seen
        seen |= new
        todo += new
    return seen


def test_every_module_has_a_layer() -> None:
    assert {top(name) for name in FILES} == set(RANK)


@pytest.mark.parametrize("module", FILES)
def test_imports_go_one_way(module: str) -> None:
    used = imported(FILES[module].read_text())
    if top(module) == "kernels":
        wrong = {name for name in used if name != "_types" and top(name) != "kernels"}
    else:
        others = {name for name in used if top(name) != top(module)}
        wrong = {name for name in others if RANK[top(name)] >= RANK[top(module)]}
    assert wrong == set()


def test_the_judge_and_the_samplers_do_not_know_each_other() -> None:
    assert "density" not in reached_from("sampling") | reached_from("methods")
    assert not any("density" in reached_from(m) for m in FILES if top(m) == "kernels")
    judge = reached_from("density")
    # Attainability of exponents uses a max-flow kernel; no sampler is a kernel of that kind.
    assert {m for m in judge if top(m) == "kernels"} <= {"kernels.max_flow", "kernels.jit"}
    assert judge & {"methods", "sampling", "draws", "exact", "module_shapes"} == set()


def test_only_kernels_know_numba() -> None:
    knowing = {
        name
        for name, path in FILES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] == "numba"
    }
    assert knowing
    assert {top(name) for name in knowing} == {"kernels"}


def test_the_reader_of_imports_sees_them_all() -> None:
    code = """
import numpy, luce.errors
from luce import density, ConditionalCounts
from luce.kernels.jit import compiled
def f():
    from luce.kernels import problem, KERNELS
"""
    expected = {"errors", "density", "__init__", "kernels.jit", "kernels.problem", "kernels"}
    assert imported(code) == expected


def test_import_is_light() -> None:
    heavy = ["numba", "xarray", "arviz_stats", "arviz_base", "scipy.stats", "matplotlib", "rich"]
    code = f"import sys, luce; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""
