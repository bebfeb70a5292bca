"""Wheel and source distribution: what is in them, where they install, and that they work there."""

import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from lib.environments import INSIDE, PYTHONS, ROOT, build, environment, interpreter, run

import luce

slow = pytest.mark.slow

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])

# Draws, a figure and a saved run; the figure needs the extra `plots`, the run `files`.
USE = """
import importlib.util, luce
counts = luce.from_pairs([("a", "b", 3), ("b", "c", 2), ("c", "a", 1)])
draws = luce.Posterior(counts).sample(500, seed=1, progress=False)
luce.plots.strengths(draws).figure.savefig("strengths.svg")
luce.save(draws, "run.nc")
print(luce.__version__, luce.load("run.nc").identical(draws), luce.__file__)
"""
# What an extra is for, in a line that fails without it.
NEEDS = {
    "all": "import luce.embed.blackjax, luce.embed.pymc, matplotlib, dask.distributed, polars",
    "blackjax": "import luce.embed.blackjax",
    "cluster": "import dask.distributed, zarr; from luce.workflows import reduce_logs",
    "files": "import h5netcdf, zarr, polars",
    "numpyro": "import luce.embed.numpyro",
    "plots": "import luce.plots; import matplotlib",
    "pymc": "import luce.embed.pymc",
}


class Built(NamedTuple):
    wheel: Path
    source: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(*build(tmp_path_factory.mktemp("build")))


def test_the_extra_all_covers_the_others() -> None:
    extras = dict(PROJECT["optional-dependencies"])
    (everything,) = extras.pop("all")
    package, covered = everything.removesuffix("]").split("[")
    assert package == PROJECT["name"]
    assert sorted(covered.split(",")) == sorted(extras) == sorted(set(NEEDS) - {"all"})


def files_of(folder: str) -> set[str]:
    """Files that belong to the project, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", folder], cwd=ROOT, text=True, capture_output=True, check=True
    )
    return set(listed.stdout.split())


@slow
def test_the_source_distribution_holds_everything(built: Built) -> None:
    with tarfile.open(built.source) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = {"src", "tests", "docs", "benchmarks", "examples", "mkdocs.yml", "Makefile", "LICENSE"}
    wanted |= {"README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "VISION.md"}
    ours = {name for folder in wanted for name in files_of(folder)}
    assert len(ours) > 300
    assert ours - held == set()
    assert {"tests/project/test_packaging.py", "docs/index.md", "docs/start/club_ranks.svg"} <= held


@slow
def test_the_wheel_holds_the_package_alone(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        held = set(archive.namelist())
    about = f"luce-{luce.__version__}.dist-info/"
    package = {name for name in held if not name.startswith(about)}
    assert package == {name.removeprefix("src/") for name in files_of("src")}
    assert "luce/py.typed" in package
    assert f"{about}licenses/LICENSE" in held


@slow
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_a_new_environment(version: str, built: Built, tmp_path: Path) -> None:
    python = environment(interpreter(version), tmp_path / "new", f"{built.wheel}[plots,files]")
    told, same, where = run(python, "-c", USE, folder=tmp_path).split()
    assert (told, same) == (luce.__version__, "True")
    assert Path(where).is_relative_to(tmp_path / "new")
    shown = run(tmp_path / "new" / INSIDE / "luce", "demo", folder=tmp_path)
    assert "r_hat" in shown
    run(python, "-m", "pip", "check", folder=tmp_path)


@slow
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("version", PYTHONS)
def test_every_extra_resolves(version: str, extra: str, built: Built, tmp_path: Path) -> None:
    python = environment(interpreter(version), tmp_path / "new")
    pip = [python, "-m", "pip", "install", "--dry-run", "--only-binary", ":all:"]
    shown = run(*pip, f"{built.wheel}[{extra}]", folder=tmp_path)
    would = shown.split("Would install")[1]
    for needed in PROJECT["optional-dependencies"][extra]:
        name = needed.split(">")[0].split("[")[0]
        assert f" {name}-" in would, f"{name} of {extra}"


@slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_brings_what_it_is_for(extra: str, built: Built, tmp_path: Path) -> None:
    python = environment(interpreter("3.11"), tmp_path / "new", str(built.wheel))
    bare = subprocess.run([python, "-c", NEEDS[extra]], cwd=tmp_path, capture_output=True)
    assert bare.returncode != 0, "works without the extra: the line does not try it"
    run(python, "-m", "pip", "install", "--quiet", f"{built.wheel}[{extra}]", folder=tmp_path)
    run(python, "-c", NEEDS[extra], folder=tmp_path)
    run(python, "-m", "pip", "check", folder=tmp_path)
