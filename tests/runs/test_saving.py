"""Runs come back from files as they were, or not at all.

Random runs are in test_round_trips, contents that cannot be right in test_contents.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.saved_runs import core_posterior, core_run, counts_over, run_over
from lib.streaming_runs import draw, same_numbers

import luce
from luce.runs import formats
from luce.runs.encoding import stored_form
from luce.runs.saving import check_target
from luce.runs.seal import seal_file, seal_folder

SUFFIXES = [".nc", ".zarr"]
LABELS: list[Any] = [
    3,
    ["a", "", "é 日"],
    [1.5, -0.0, 1e300],
    [("a", 1), (), (True, None, (2.0,))],
    [True, None, "x"],
    [1, "1", 2.5],
    [2**70, -(2**70), 1],
    [-1, 2**63, 3],
    ["a\0", "b\0c", "d"],
    ["\ud800", "x", "y"],
    [b"a", frozenset([1, (2,)]), float("inf")],
]


@pytest.fixture(scope="module")
def core() -> luce.Posterior:
    return core_posterior()


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return core_run()


# Odd labels are text by the time a format sees them, so Zarr, which is slower, gets to see few.
@pytest.mark.parametrize(
    ("labels", "suffix"),
    [*((x, ".nc") for x in LABELS), *((x, ".zarr") for x in LABELS[1:4:2])],
    ids=ascii,
)
def test_round_trip(labels: Any, suffix: str, tmp_path: Path) -> None:
    run = run_over(labels)
    path = tmp_path / f"run{suffix}"
    luce.save(run, path)
    assert os.listdir(tmp_path) == [path.name]
    loaded = luce.load(path)
    xr.testing.assert_identical(loaded, run)
    assert loaded.posterior["category"].dtype == run.posterior["category"].dtype
    path = path.rename(tmp_path / f"moved{suffix}")  # the file is closed
    counts = luce.posterior_of(loaded).counts
    given = counts_over(labels)
    assert counts == given
    assert counts.n_outcomes == given.n_outcomes
    assert list(map(repr, counts.categories)) == list(map(repr, given.categories))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cores_settings_and_summary(
    run: xr.DataTree, core: luce.Posterior, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"run{suffix}"
    luce.save(run, str(path))
    loaded = luce.load(str(path))
    xr.testing.assert_identical(loaded, run)
    assert loaded.attrs == run.attrs
    assert {k: type(v) for k, v in loaded.attrs.items()} == {
        k: type(v) for k, v in run.attrs.items()
    }
    assert str(luce.summary(loaded)) == str(luce.summary(run))
    again = luce.posterior_of(loaded)
    np.testing.assert_array_equal(again.concentration, core.concentration)
    redrawn = again.sample(400, chains=4, seed=1, progress=False)
    np.testing.assert_array_equal(
        redrawn.posterior["probabilities"], run.posterior["probabilities"]
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_sets_many_reasons_and_things_added(suffix: str, tmp_path: Path) -> None:
    run = luce.Posterior(luce.ConditionalCounts("ab")).sample(5, chains=1, seed=1, progress=False)
    reasons = [f"because of {k}" for k in range(8000)]  # more than HDF5 keeps in one piece
    run.attrs.update(core_reasons=reasons, note="", odd="\0", none=None, big=2**80, nan=np.inf)
    days = xr.Variable("draw", np.arange(5, dtype=np.int32), {"units": "days since 1"})
    run["posterior"] = run["posterior"].to_dataset().assign(days=days)
    run["prior"] = xr.Dataset({"flag": ("x", [True, False]), "name": ("x", ["u", "vw"])})
    luce.save(run, tmp_path / f"run{suffix}")
    loaded = luce.load(tmp_path / f"run{suffix}")
    xr.testing.assert_identical(loaded, run)
    assert loaded.attrs["core_reasons"] == reasons


@pytest.mark.slow
def test_opens_without_luce(run: xr.DataTree, tmp_path: Path) -> None:
    paths = [str(tmp_path / f"run{suffix}") for suffix in SUFFIXES]
    for path in paths:
        luce.save(run, path)
    code = f"""
import sys, warnings
warnings.simplefilter("error")
sys.modules["luce"] = None
import xarray, arviz_base, arviz_stats
for path in {paths}:
    tree = xarray.open_datatree(path)
    print(tree.posterior["probabilities"].sel(category="c").mean().item())
    print(tree.attrs["format"], tree.attrs["format_version"], tree.attrs["seed"])
    print(arviz_stats.summary(tree, kind="stats", round_to=6)["mean"].astype(float).sum().round(3))
    assert arviz_base.extract(tree).sizes["sample"] == 1600
"""
    command = [sys.executable, "-I", "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stderr == ""
    mean = run.posterior["probabilities"].sel(category="c").mean().item()
    assert answer.stdout.splitlines() == [str(mean), "luce run 3 1", "1.0"] * 2


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_labels_that_are_objects_are_refused_before_writing(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(luce.errors.DataError, match=r"complex.*cannot be stored"):
        luce.save(run_over([1j, 2, "a"]), tmp_path / f"run{suffix}")
    assert os.listdir(tmp_path) == []


def test_posterior_of_wants_a_run() -> None:
    with pytest.raises(luce.errors.DataError, match="ndarray was given"):
        luce.posterior_of(np.zeros(3))  # type: ignore[arg-type]


def test_paths_that_cannot_be_loaded(run: xr.DataTree, tmp_path: Path) -> None:
    def refused(name: str, words: str) -> None:
        with pytest.raises(luce.LuceError, match=words):
            luce.load(tmp_path / name)

    refused("none.nc", "does not exist")
    refused("none.zarr", "does not exist")
    refused("run.csv", r"'\.nc' \(NetCDF, one file\) or '\.zarr'")
    (tmp_path / "folder.nc").mkdir()
    refused("folder.nc", "should be a file, and is a folder")
    (tmp_path / "file.zarr").touch()
    refused("file.zarr", "should be a folder, and is a file")
    (tmp_path / "empty.zarr").mkdir()
    refused("empty.zarr", "no file zarr.json")
    (tmp_path / "text.nc").write_text("no NetCDF" * 100)
    refused("text.nc", "was not written by luce.save")
    seal_file(tmp_path / "text.nc")
    refused("text.nc", "cannot be read as NetCDF")
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc")
    refused("other.nc", "was not written by luce.save")
    seal_file(tmp_path / "other.nc")
    refused("other.nc", "'format' is None")
    xr.Dataset({"x": 1}).to_zarr(tmp_path / "other.zarr", zarr_format=3, consolidated=False)
    refused("other.zarr", "was not written by luce.save")


def test_absurd_sizes_codecs_and_links_are_refused(run: xr.DataTree, tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"

    def refused(words: str) -> None:
        with pytest.raises(luce.LuceError, match=words):
            luce.load(path)
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "whole.zarr", path)

    def edit(part: str, **entries: Any) -> None:
        file = path / part / "zarr.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | entries))
        seal_folder(path)

    luce.save(run, path)
    shutil.copytree(path, tmp_path / "whole.zarr")
    edit("posterior/probabilities", shape=[4, 400, 10**12])
    refused("more than is stored")
    edit("posterior/category", codecs=[{"name": "numcodecs.pickle"}])
    refused("luce.save uses none")
    (path / "zarr.json").write_text('{"zarr_format": 2, "attributes": {}}')
    refused("'format' is None")
    root = path / "zarr.json"
    root.write_text(root.read_text() + " ")
    refused(r"zarr\.json has been changed or damaged")
    (path / "checksums").unlink()
    refused("'checksums' cannot be read: No such file")
    chunk = path / "constant_data/concentration/c/0"
    chunk.rename(tmp_path / "elsewhere")
    chunk.symlink_to(tmp_path / "elsewhere")
    refused("is a link")
    (path / "constant_data/extra").touch()
    refused("the file does not belong there")
    (path / "constant_data/concentration/c/0").unlink()
    refused("the file is missing")
    engine = formats.netcdf_engine()
    huge = stored_form(run)
    much = ("much", np.zeros(10**6))
    huge["observed_data"] = huge["observed_data"].to_dataset().assign(much=much)
    huge.to_netcdf(  # a megabyte of zeros, compressed to nothing
        tmp_path / "run.nc", engine=engine, encoding={"/observed_data": {"much": {"zlib": True}}}
    )
    seal_file(tmp_path / "run.nc")
    with pytest.raises(luce.LuceError, match="more than is stored"):
        luce.load(tmp_path / "run.nc")


@pytest.mark.slow
def test_mutated_bytes_are_found(run: xr.DataTree, tmp_path: Path) -> None:
    """Load gives back the run itself, or a LuceError; it never crashes."""
    file = tmp_path / "run.nc"
    luce.save(run, file)
    whole = file.read_bytes()
    luce.save(run, tmp_path / "run.zarr")
    parts = [p for p in sorted((tmp_path / "run.zarr").rglob("*")) if p.is_file()]
    rng = random.Random(1)
    refused, rounds = 0, 40
    for _ in range(rounds):
        for path, part in ((file, file), (tmp_path / "run.zarr", rng.choice(parts))):
            before = part.read_bytes()
            part.write_bytes(mutated(before, rng))
            try:
                xr.testing.assert_identical(luce.load(path), run)
            except luce.LuceError:
                refused += 1
            part.write_bytes(before)
    assert (
        refused > 1.8 * rounds
    )  # not all: a byte may be replaced by itself, a space in JSON by another
    assert file.read_bytes() == whole
    xr.testing.assert_identical(luce.load(file), run)


def mutated(content: bytes, rng: random.Random) -> bytes:
    new = bytearray(content)
    kind = rng.randrange(4)
    if kind == 0:
        return content[: rng.randrange(len(content))]
    if kind == 1:
        at = rng.randrange(len(content))
        return content[:at] + rng.randbytes(rng.randrange(1, 9)) + content[at:]
    for _ in range(rng.choice([1, 1, 2, 30])):
        new[rng.randrange(len(new))] = rng.randrange(256)
    return bytes(new)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_existing_targets_are_kept_unless_asked(suffix: str, tmp_path: Path) -> None:
    first, second = run_over(3), run_over(4)
    path = tmp_path / f"run{suffix}"
    luce.save(first, path)
    with pytest.raises(luce.errors.DataError, match="overwrite=True"):
        luce.save(second, path)
    xr.testing.assert_identical(luce.load(path), first)
    luce.save(second, path, overwrite=True)
    xr.testing.assert_identical(luce.load(path), second)
    assert os.listdir(tmp_path) == [path.name]


def test_folders_of_others_are_never_replaced(tmp_path: Path) -> None:
    for name in ("mine.zarr", "mine.nc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").touch()
        with pytest.raises(luce.errors.DataError, match="remove it yourself"):
            luce.save(run_over(), tmp_path / name, overwrite=True)
        assert (tmp_path / name / "thesis.txt").exists()


@pytest.mark.parametrize(
    ("step", "suffix"), [("write", ".nc"), ("seal", ".nc"), ("read", ".nc"), ("write", ".zarr")]
)
def test_a_failed_write_keeps_the_old_file(
    step: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run{suffix}"
    luce.save(run_over(3), path)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    form = formats.FORMATS[suffix]._replace(**{step: fail})  # type: ignore[arg-type]
    monkeypatch.setitem(formats.FORMATS, suffix, form)
    with pytest.raises(luce.LuceError, match="No space left on device"):
        luce.save(run_over(4), path, overwrite=True)
    monkeypatch.undo()
    assert luce.load(path).posterior.sizes["category"] == 3
    assert os.listdir(tmp_path) == [path.name]


def test_a_replacement_that_fails_at_the_last_step_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.zarr"
    luce.save(run_over(3), path)

    replace = Path.replace

    def fail(self: Path, target: Path) -> Path:
        if target != path:
            return replace(self, target)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(luce.LuceError, match="Permission denied"):
        luce.save(run_over(4), path, overwrite=True)
    monkeypatch.undo()
    assert luce.load(path).posterior.sizes["category"] == 3
    assert os.listdir(tmp_path) == [path.name]


def test_a_missing_folder_and_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(luce.LuceError, match="could not be written: FileNotFoundError"):
        luce.save(run_over(), tmp_path / "none" / "run.nc")
    monkeypatch.setattr(formats, "is_installed", lambda package: False)
    for suffix in SUFFIXES:
        with pytest.raises(luce.LuceError, match=r"pip install 'luce\[files\]'"):
            luce.save(run_over(), tmp_path / f"run{suffix}")
    assert os.listdir(tmp_path) == []


CHILD = """
import resource, sys, luce
paths = sys.argv[1:]
runs = [luce.load(path) for path in paths]
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, hard))  # as if the disk were full
for path, run in zip(paths, runs):
    try:
        luce.save(run, path, overwrite=True)
    except luce.LuceError as error:
        print("LuceError", error, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
while True:
    luce.save(runs[0], paths[0], overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
def test_a_full_disk_and_a_killed_process_leave_the_old_file(
    run: xr.DataTree, tmp_path: Path
) -> None:
    paths = [tmp_path / f"run{suffix}" for suffix in SUFFIXES]
    for path in paths:
        luce.save(run, path)
    command = [sys.executable, "-c", CHILD, *map(str, paths)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for path in paths:
            assert child.stdout.readline().startswith(f"LuceError {path} could not be written")
            xr.testing.assert_identical(luce.load(path), run)
        while child.poll() is None and not list(tmp_path.glob(".run.nc.*/run.nc")):
            time.sleep(0.0005)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    xr.testing.assert_identical(luce.load(paths[0]), run)
    luce.save(run, paths[0], overwrite=True)  # what the killed one left is in nobody's way


# -- folders and formats ---------------------------------------------------------------------------


def test_a_folder_that_is_no_run_is_not_opened(tmp_path: Path) -> None:
    folder, run = tmp_path / "run.zarr", draw("exact")
    luce.save(run, folder)
    root, group = folder / "zarr.json", folder / "posterior" / "zarr.json"
    text, group_text = root.read_text(), group.read_text()

    def refused(words: str) -> None:
        with pytest.raises(luce.LuceError, match=words):
            luce.runs.open_run(folder)

    root.write_text("{")
    refused("is damaged")
    root.unlink()
    root.mkdir()
    refused("cannot be read: Is a directory")
    root.rmdir()
    metadata = json.loads(text)
    metadata["consolidated_metadata"]["metadata"]["../elsewhere"] = {}
    root.write_text(json.dumps(metadata))
    refused("changed or damaged")
    seal_folder(folder)
    refused("might lead out of the folder")
    root.write_text(text)
    group.write_text("{}")
    seal_folder(folder)
    refused("cannot be read as Zarr: KeyError")
    group.write_text(group_text)
    seal_folder(folder)
    (folder / "beside").symlink_to(tmp_path)
    refused("is a link")
    (folder / "beside").unlink()
    assert same_numbers(luce.runs.open_run(folder), run)


def test_a_target_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(luce.errors.DataError, match="there is no folder"):
        check_target(tmp_path / "none" / "run.nc")
    (tmp_path / "run.nc").touch()
    with pytest.raises(luce.errors.DataError, match="overwrite=True"):
        check_target(tmp_path / "run.nc")
    check_target(tmp_path / "run.nc", overwrite=True)


def test_a_sealed_file_is_no_shorter_than_its_seal(tmp_path: Path) -> None:
    (tmp_path / "run.nc").write_bytes(b"luce")
    with pytest.raises(
        luce.errors.DataError, match=r"was not written by luce\.save, or its end is missing"
    ):
        luce.load(tmp_path / "run.nc")


def test_a_format_that_does_not_give_a_run_back_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = formats.format_of(Path("run.nc"))
    other = stored_form(draw("exact", seed=6))
    monkeypatch.setitem(formats.FORMATS, ".nc", form._replace(read=lambda _: other))
    with pytest.raises(luce.errors.DataError, match="does not give back this run"):
        luce.save(draw("exact"), tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []


@pytest.mark.cluster
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_are_saved_while_a_client_is_open(
    suffix: str, threads_client: Any, tmp_path: Path
) -> None:
    """xarray would ask the scheduler for a lock on bytes in memory, which it does not know."""
    assert threads_client.status == "running"
    run = run_over()
    luce.save(run, tmp_path / f"run{suffix}")
    assert luce.load(tmp_path / f"run{suffix}").identical(run)


def test_a_file_cannot_be_opened_without_reading_it(tmp_path: Path) -> None:
    file = tmp_path / "run.nc"
    file.write_bytes(b"x")
    with pytest.raises(
        luce.errors.DataError, match=r"is a file; .* luce\.load reads the whole of it"
    ):
        luce.runs.open_run(file)
