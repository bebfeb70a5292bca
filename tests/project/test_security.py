"""Files of strangers: nothing in them is run, none is followed out of its folder, none is believed.

HTML is escaped in test_page and test_report, in a real browser; links, codecs and sizes of saved
runs are in test_storage.
"""

import ast
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.planned import plan_of

import luce
from luce.runs.journal import read_place, write_plan
from luce.runs.seal import seal_file, seal_folder, sealed

SOURCE = Path(luce.__file__).parent
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load",
                   "yaml.unsafe_load", "subprocess.getoutput", "pd.read_pickle", "execfile",
                   "tarfile.open", "shutil.unpack_archive"}  # fmt: skip


def dangers(code: str) -> list[str]:
    """What in this code could run what a file says."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            if str(node.module).split(".")[0] in FORBIDDEN_MODULES:
                found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS or name.endswith((".extractall", ".read_pickle")):
                found.append(name)
            for key in node.keywords:
                constant = isinstance(key.value, ast.Constant) and key.value.value is False
                if key.arg in ("shell", "allow_pickle") and not constant:
                    found.append(f"{name}({key.arg}=...)")
            if name in ("np.load", "numpy.load") and "allow_pickle" not in {
                key.arg for key in node.keywords
            }:
                found.append(f"{name} without allow_pickle=False")
    return found


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_nothing_runs_what_a_file_says(file: Path) -> None:
    assert dangers(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from pickle import loads", "eval('1')", "exec(text)", "os.system('ls')",
     "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)", "np.load(f)",
     "np.load(f, allow_pickle=True)", "yaml.load(f)", "archive.extractall(path)",
     "def f():\n    import dill", "__import__(name)"],
)  # fmt: skip
def test_control_each_danger_is_seen(code: str) -> None:
    assert dangers(code)


# -- out of the folder -----------------------------------------------------------------------------


COUNTS = luce.ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    run = luce.Posterior(COUNTS).sample(6, chains=1, seed=1, progress=False)
    luce.save(run, folder / "run.zarr")
    luce.save(run, folder / "run.nc")
    return folder


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved / "run.zarr", tmp_path / "run.zarr")
    return tmp_path / "run.zarr"


def begun(run: Path) -> None:
    """Make a saved run look as if it had been broken off."""
    root = run / "zarr.json"
    metadata = json.loads(root.read_text())
    metadata["attributes"]["complete"] = 0
    root.write_text(json.dumps(metadata))
    plan = plan_of(luce.Posterior(COUNTS), draws=6, chains=1, seed=1)
    write_plan(run, {**plan.to_json(), "block": plan.block})
    (run / "journal" / "lock").touch()


@pytest.mark.parametrize("link", ["lock", "journal", "block", "array", "group"])
def test_links_lead_nowhere(link: str, run: Path, tmp_path: Path) -> None:
    """A folder with links in it is not read, and above all not written to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("keep")
    begun(run)
    place, target = {
        "lock": (run / "journal" / "lock", outside / "precious"),
        "journal": (run / "journal", outside),
        "block": (run / "posterior/probabilities/c", outside),
        "array": (run / "posterior/probabilities/zarr.json", outside / "precious"),
        "group": (run / "running", outside),
    }[link]
    if link == "journal":
        shutil.copytree(place, outside, dirs_exist_ok=True)
    before = sorted((p.name, p.read_bytes()) for p in outside.iterdir())
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    for read in (luce.resume, luce.runs.open_run, luce.load):
        with pytest.raises(luce.LuceError):
            read(run)
    with pytest.raises(luce.LuceError, match="is a link"):
        luce.resume(run)
    assert sorted((p.name, p.read_bytes()) for p in outside.iterdir()) == before


def test_control_without_the_links_it_would_go_on(run: Path) -> None:
    """So it was the links that were refused: the rest of the folder is right."""
    begun(run)
    assert luce.resume(run, progress=False).posterior.sizes["draw"] == 6


@pytest.mark.parametrize("name", ["../outside", "/tmp/luce-outside", "..", "a/../../b"])
def test_names_that_lead_out_are_not_followed(name: str, run: Path, tmp_path: Path) -> None:
    file = run / "posterior" / "zarr.json"
    metadata = json.loads(file.read_text())
    array = json.loads((run / "posterior/draw/zarr.json").read_text())
    metadata["consolidated_metadata"] = {
        "kind": "inline", "must_understand": False, "metadata": {name: array},
    }  # fmt: skip
    file.write_text(json.dumps(metadata))
    seal_folder(run)
    for read in (luce.load, luce.runs.open_run):
        with pytest.raises(luce.LuceError, match="might lead out of the folder"):
            read(run)
    assert os.listdir(tmp_path) == ["run.zarr"]


def test_labels_are_no_paths(tmp_path: Path) -> None:
    """Text in a file is never taken for a name of a file."""
    folder = tmp_path / "here"
    folder.mkdir()
    labels = ["../../evil", "/etc/passwd", "a\0b", "C:\\x"]
    run = luce.Posterior(luce.ConditionalCounts(labels)).sample(6, seed=1, progress=False)
    for name in ("run.nc", "run.zarr"):
        luce.save(run, folder / name)
        assert luce.load(folder / name).posterior["category"].values.tolist() == labels
    assert sorted(os.listdir(tmp_path)) == ["here"]
    assert sorted(os.listdir(folder)) == ["run.nc", "run.zarr"]


# -- more than is there ----------------------------------------------------------------------------


def test_a_place_that_unpacks_to_much_more_is_no_place(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("states.npy", bytes(50_000_000))
    (tmp_path / "0").write_bytes(sealed(content.getvalue()))
    assert read_place(tmp_path / "0", "") is None


def test_a_wide_table_takes_time_in_proportion(tmp_path: Path) -> None:
    """Not the square of its width: that would be minutes here."""
    names = ",".join(f"x{k}" for k in range(4_000))
    (tmp_path / "wide.csv").write_text(names + "\n" + ",".join(["1"] * 4_000) + "\n")
    began = time.process_time()
    with pytest.raises(luce.errors.DataError, match="fit no kind of data"):
        luce.read(tmp_path / "wide.csv")
    (tmp_path / "wide.csv").write_text(names + ",x3\n")
    with pytest.raises(luce.errors.DataError, match="the column 'x3' appears twice"):
        luce.read(tmp_path / "wide.csv")
    assert time.process_time() - began < 15


def _csv_of_a_million_columns(folder: Path) -> Path:
    path = folder / "wide.csv"
    path.write_text(",".join(map(str, range(1_000_000))) + "\n" + "1," * 999_999 + "1\n")
    return path


def _line_of_100_megabytes(folder: Path) -> Path:
    path = folder / "long.csv"
    path.write_text("winner,loser\n" + "x" * 100_000_000)
    return path


def _bomb(folder: Path) -> Path:
    path = folder / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as packed:
        packed.write(b"winner,loser\n")
        for _ in range(200):
            packed.write(b"x" * 10_000_000)  # 2 GB in one line
    return path


def _nested(folder: Path) -> Path:
    path = folder / "deep.jsonl"
    path.write_text("[" * 5_000_000 + "]" * 4_999_000)
    return path


def _huge_zarr(folder: Path, saved: Path) -> Path:
    path = folder / "huge.zarr"
    shutil.copytree(saved / "run.zarr", path)
    file = path / "posterior/probabilities/zarr.json"
    metadata = json.loads(file.read_text())
    metadata["shape"] = [10**6, 10**6, 3]
    metadata["chunk_grid"]["configuration"]["chunk_shape"] = [10**6, 10**6, 3]
    file.write_text(json.dumps(metadata))
    seal_folder(path)
    return path


def _huge_netcdf(folder: Path) -> Path:
    import h5netcdf

    path = folder / "huge.nc"
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"x": 10**11}
        file.create_variable("y", ("x",), "f8", chunks=(10**6,))
    seal_file(path)
    return path


HOSTILE: dict[str, tuple[Callable[..., Path], str]] = {
    "a million columns": (_csv_of_a_million_columns, "read"),
    "a line of 100 MB": (_line_of_100_megabytes, "read"),
    "two gigabytes packed": (_bomb, "read"),
    "five million brackets": (_nested, "read"),
    "a huge Zarr": (_huge_zarr, "load"),
    "a huge NetCDF": (_huge_netcdf, "load"),
}
LIMIT = 1_500_000_000  # bytes of address space beyond what luce itself takes

CHILD = f"""
import resource, sys, time
import luce, numpy, xarray, zarr, h5netcdf, polars
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {LIMIT}, used + {LIMIT}))
for call, path in zip(sys.argv[1::2], sys.argv[2::2]):
    began = time.perf_counter()
    try:
        getattr(luce, call)(path)
    except luce.LuceError as error:
        print(f"{{time.perf_counter() - began:.1f}} refused: {{str(error)[:300]!r}}", flush=True)
    else:
        print("read", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs limits of Linux")
def test_hostile_files_are_refused_in_bounded_time_and_memory(tmp_path: Path, saved: Path) -> None:
    arguments: list[str] = []
    for make, call in HOSTILE.values():
        path = make(tmp_path, saved) if make is _huge_zarr else make(tmp_path)
        arguments += [call, str(path)]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(HOSTILE), done.stdout + done.stderr
    for name, line in zip(HOSTILE, lines, strict=True):
        seconds, said, _ = line.split(" ", 2)
        assert said == "refused:", (name, line)
        assert float(seconds) < 60, (name, line)


@pytest.mark.slow
def test_memory_that_a_child_may_not_have_is_seen() -> None:
    """The control: under the same limit, memory beyond it is an error."""
    code = CHILD.split("for call")[0] + f"numpy.zeros({LIMIT} + 10**8, 'u1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "MemoryError" in done.stderr
