"""Draws on a disk: the same as in memory, whatever happens to files on the way."""

import errno
import fcntl
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.streaming_runs import BrokenOff, league, nested, same_numbers
from luce.runs.stored_form import original_form, stored_form

import luce
from luce import DirichletProcess, Gamma, LuceError, Posterior
from luce.errors import DataError, DiskFullError
from luce.kernels.running_moments import add_moments, add_quantiles
from luce.runs import blocks as layout
from luce.runs import disk, formats, journal
from luce.runs import files as durable
from luce.runs.blocks import StreamedArray, check_arrays, padded, read_block
from luce.runs.moments import Running, read_quantiles, summarised
from luce.runs.seal import check_folder
from luce.runs.stream import Stream, new_stream
from luce.sampling.chains import Chain
from luce.sampling.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

DRAWS = 23  # no multiple of any block


@pytest.fixture(scope="module", autouse=True)
def tiny_blocks() -> Iterator[None]:
    """Have several blocks of few draws in a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("luce.sampling.chains._CHUNK_STEPS", 60)
        patch.setattr(layout, "_MOST_CHUNKS", 3)
        yield


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, tiny_blocks: None) -> Path:
    folder = tmp_path_factory.mktemp("begun") / "run.zarr"
    broken_off(folder)
    return folder


@pytest.fixture
def unfinished(begun: Path, tmp_path: Path) -> Path:
    """A run by waiting times that was broken off in the middle."""
    return Path(shutil.copytree(begun, tmp_path / "run.zarr"))


CASES: dict[str, tuple[Posterior, dict[str, Any]]] = {
    "exact": (Posterior(nested(), 1.5), {"quantiles": [0.5]}),
    "waiting-times": (Posterior(league()), {"method": "waiting-times"}),
    "metropolis": (Posterior(league(), 2.0), {"method": "metropolis", "reduce": False}),
    "keep": (
        Posterior(league(), 0.03),
        {"keep": ["Ed", "Bo"], "method": "waiting-times", "thin": 2, "quantiles": [0.9, 0.1]},
    ),
    "concentration": (Posterior(league(), Gamma(2, 1)), {}),
    "start": (
        Posterior(league()),
        {"initial": [0.1, 0.2, 0.3, 0.1, 0.1, 0.2], "method": "waiting-times"},
    ),
    "process": (
        Posterior(
            luce.ConditionalCounts(["x", "y", "remainder"]).observe({"x": 3, "y": 1}),
            DirichletProcess(2.0),
        ),
        {},
    ),
}


def draw(name: str, **more: Any) -> xr.DataTree:
    posterior, options = CASES[name]
    settings = {"chains": 2, "seed": 5, "progress": False, "warmup": 8, **options, **more}
    if settings.get("to") is None:
        settings.pop("quantiles", None)
    return posterior.sample(DRAWS, **settings)


def stream_of(folder: Path, **more: Any) -> Stream:
    """A run by waiting times that is not begun yet."""
    posterior = CASES["waiting-times"][0]
    given: dict[str, Any] = {"warmup": 8, "seed": 5, "method": "waiting-times", "progress": False}
    settings = Settings(DRAWS, 2, **{**given, **more})
    return new_stream(folder, posterior, posterior._shapes, settings, None)


def stop_before(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    """Let a run stop before its k-th file is written, as a kill would."""
    written, left = durable.write_whole, [k]

    def write(path: Path, content: Any) -> bytes:
        left[0] -= 1
        if left[0] < 0:
            raise BrokenOff
        return written(path, content)

    for module in (disk, journal):
        monkeypatch.setattr(module, "write_whole", write)


def broken_off(folder: Path, k: int = 14, name: str = "waiting-times") -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_before(patch, k)
        with pytest.raises(BrokenOff):
            draw(name, to=folder, threads=1)


# -- the same draws --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exact", "metropolis", "keep", "concentration"])
def test_draws_on_a_disk_are_those_in_memory(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    memory, streamed = draw(name), draw(name, to=folder)
    assert same_numbers(streamed, memory)
    assert os.listdir(tmp_path) == ["run.zarr"]
    assert not (folder / "journal").exists()
    assert luce.posterior_of(streamed).counts == CASES[name][0].counts
    every = memory if name != "keep" else draw(name, keep=None)
    all_of_them, running = every.posterior["probabilities"].values, streamed["running"]
    np.testing.assert_allclose(running["mean"].values, all_of_them.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        running["sd"].values, all_of_them.std(axis=1, ddof=1), rtol=1e-8, atol=1e-15
    )
    if name == "keep":
        assert same_numbers(luce.load(folder), memory)
        assert same_numbers(luce.resume(folder), memory)  # nothing to do


def test_quantiles_of_few_draws_are_the_samples_own(tmp_path: Path) -> None:
    posterior = Posterior(nested())
    options: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}
    run = posterior.sample(5, to=tmp_path / "run.zarr", quantiles=[0.7, 0.2], **options)
    values = posterior.sample(5, **options).posterior["probabilities"].values
    expected = np.quantile(values, [0.2, 0.7], axis=1).swapaxes(0, 1)
    np.testing.assert_allclose(run["running"]["quantiles"].values, expected, rtol=1e-12)
    assert run["running"]["quantile"].values.tolist() == [0.2, 0.7]


def test_one_draw_has_no_spread() -> None:
    running = Running.new(2, None)
    running.take(np.array([[0.3, 0.7]]), np.empty((0, 0)))
    found = summarised([running], None, False)
    assert found["mean"][1].tolist() == [[0.3, 0.7]]
    assert found["sd"][1].tolist() == [[0.0, 0.0]]
    assert "quantiles" not in found


# -- running moments and quantiles -----------------------------------------------------------------


def test_moments_taken_in_piece_by_piece() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=(40, 3))
    mean, spread = np.zeros(3), np.zeros(3)
    add_moments(values[:7], 0, mean, spread)
    add_moments(values[7:], 7, mean, spread)
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(spread / 39, values.var(axis=0, ddof=1), rtol=1e-12)


@pytest.mark.parametrize(("order", "off"), [("random", 0.03), ("upwards", 0.1), ("downwards", 0.1)])
def test_followed_quantiles_lie_where_they_should(order: str, off: float) -> None:
    """Sorted draws are the worst there is for markers that only ever move a step."""
    values = np.random.default_rng(2).normal(size=(400, 2))
    if order != "random":
        values = np.sort(values, axis=0)[:: -1 if order == "downwards" else 1]
    wanted = np.array([0.1, 0.5, 0.8])
    running = followed(values, wanted)
    found = summarised([running], wanted, False)["quantiles"][1][0]
    below = (values[:, None, :] < found).mean(axis=0)
    assert np.abs(below - wanted[:, None]).max() < off
    assert (np.diff(running.heights, axis=1) >= 0).all()
    assert (running.places[:, -1] == 399).all()
    assert (running.heights[:, 0] == values.min(axis=0)).all()
    assert (running.heights[:, -1] == values.max(axis=0)).all()
    assert running.nbytes == sum(np.asarray(a).nbytes for a in running.arrays().values())


def test_followed_quantiles_of_equal_draws_stay_between_them() -> None:
    """Parabolas between equal draws give way to straight lines."""
    values = np.random.default_rng(2).choice([0.0, 1.0], (400, 1), p=[0.4, 0.6])
    wanted = np.array([0.1, 0.8])
    ((low,), (high,)) = summarised([followed(values, wanted)], wanted, False)["quantiles"][1][0]
    assert 0.0 <= low < 0.05
    assert 0.95 < high <= 1.0


def followed(values: np.ndarray, wanted: np.ndarray) -> Running:
    running = Running.new(values.shape[1], wanted)
    for block in np.split(np.ascontiguousarray(values), 4):
        running.take(block, np.empty((0, 0)))
    return running


def test_markers_begin_as_the_sorted_draws() -> None:
    draws = np.array([[3.0], [1.0], [2.0]])
    heights, places = np.zeros((1, 5)), np.zeros((1, 5), np.int32)
    add_quantiles(draws, 0, np.linspace(0, 1, 5), heights, places)
    assert heights[0, :3].tolist() == [1.0, 2.0, 3.0]
    assert places[0, :3].tolist() == [0, 1, 2]


def test_quantiles_by_logarithms_are_of_probabilities() -> None:
    logs = np.log(np.random.default_rng(3).beta(1, 3, size=(300, 1)))
    running = Running.new(1, np.array([0.5]))
    running.take(np.exp(logs), logs)
    (((found,),),) = summarised([running], np.array([0.5]), True)["quantiles"][1]
    assert abs(np.mean(np.exp(logs) < found) - 0.5) < 0.05


@pytest.mark.parametrize("wrong", [[0.0], [1.2], [], [[0.5]], ["a"], 0.5])
def test_quantiles_are_fractions(wrong: Any) -> None:
    with pytest.raises(DataError, match="numbers between 0 and 1 are needed"):
        read_quantiles(wrong)


# -- broken off ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "k"), [("keep", 10), ("start", 5), ("exact", 4)])
def test_wherever_it_stops_it_goes_on_bit_for_bit(name: str, k: int, tmp_path: Path) -> None:
    folder = tmp_path / "run.zarr"
    broken_off(folder, k, name)
    for opened in (luce.load, luce.runs.open_run):
        with pytest.raises(DataError, match="is not complete"):
            opened(folder)
    with pytest.raises(DataError, match="goes on with it"):
        draw(name, to=folder)
    assert same_numbers(luce.resume(folder, progress=False), draw(name))


def test_what_cannot_be_right_is_made_again(unfinished: Path) -> None:
    """A block of one chain is changed; places of the other are torn, or of another run."""
    (victim, *_) = sorted((unfinished / "posterior" / "probabilities" / "c" / "0").rglob("0/0"))
    content = bytearray(victim.read_bytes())
    content[11] ^= 1
    victim.write_bytes(content)
    places = unfinished / "journal" / "1"
    good = max(places.glob("*.npz"))
    with np.load(good) as packed:
        arrays = dict(packed)
    done = int(arrays["done"])
    assert done > 0

    def place(number: int, **changes: Any) -> None:
        np.savez(places / f"{done + number:012d}-{0:012d}.npz", **{**arrays, **changes})

    place(1, states=arrays["states"][1:])
    place(2, done=np.int64(DRAWS))
    place(3, to_draw=np.int64(-1), done=np.int64(DRAWS + 1))
    place(4, digests=arrays["digests"][:, :, :5])
    place(5, digests=arrays["digests"].astype(np.int64))
    place(6, more=np.zeros(3))
    place(7, digests=arrays["digests"][:-1])
    np.savez_compressed(places / f"{done + 8:012d}-{0:012d}.npz", **arrays, more=np.zeros(10**4))
    (places / f"{done + 9:012d}-{0:012d}.npz").write_bytes(good.read_bytes()[:100])
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_large_places_are_written_seldom_and_two_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_SMALL", 0)
    broken_off(tmp_path / "seldom.zarr", 9)
    assert not list((tmp_path / "seldom.zarr" / "journal").rglob("*.npz"))
    monkeypatch.setattr(journal, "_SECONDS", 0.0)
    broken_off(tmp_path / "often.zarr", 20)
    kept = list((tmp_path / "often.zarr" / "journal" / "0").glob("*.npz"))
    assert len(kept) == 2
    assert same_numbers(luce.resume(tmp_path / "often.zarr", progress=False), draw("waiting-times"))


def test_ctrl_c_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run.zarr"
    written, files = durable.write_whole, [0]
    main = threading.main_thread().ident
    assert main is not None

    def write(path: Path, content: Any) -> bytes:
        files[0] += 1
        if files[0] == 8:
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.3)  # or the run might be done before the signal is heard
        return written(path, content)

    monkeypatch.setattr(disk, "write_whole", write)
    with pytest.raises(KeyboardInterrupt, match=r"`luce resume .*run\.zarr` goes on from there"):
        draw("waiting-times", to=folder)
    with pytest.raises(DataError, match="is not complete"):
        luce.runs.open_run(folder)


def test_whoever_watches_may_stop_a_chain(tmp_path: Path) -> None:
    stream = stream_of(tmp_path / "run.zarr")
    stream.begin()
    seen: list[int] = []

    def watch(chains: list[Chain]) -> bool:
        seen.append(chains[0].number)
        return True

    with pytest.raises(KeyboardInterrupt):
        stream.draw([1], watch)
    assert set(seen) == {1}
    assert not (stream.folder / "journal" / "0").exists()


# -- faults of the disk ----------------------------------------------------------------------------

needs_a_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_a_full_disk
def test_a_full_disk_is_told_of_and_loses_nothing(tmp_path: Path) -> None:
    stream = stream_of(tmp_path / "run.zarr")
    stream.begin()
    part = stream.arrays[0].file(stream.folder, 0, 1).with_name(".0.part")
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"the disk is full: 0 needs 0\.0 MB") as full:
        stream.run()
    assert f"`luce resume {stream.folder}` goes on from there." in str(full.value)
    assert same_numbers(luce.resume(stream.folder, progress=False), draw("waiting-times"))


def test_a_run_that_cannot_be_begun_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LuceError, match="cannot be written: No such file"):
        stream_of(tmp_path / "none" / "run.zarr").begin()
    stream = stream_of(tmp_path / "run.zarr")
    for number, kind in ((errno.ENOSPC, DiskFullError), (errno.EACCES, LuceError)):

        def fail(*_: Any, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("luce.runs.stream.write_zarr", fail)
        with pytest.raises(kind, match=f"cannot be written: {os.strerror(number)}"):
            stream.begin()
        assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    stream.folder.mkdir()
    with pytest.raises(DataError, match="exists; give another name"):
        stream.begin()
    assert os.listdir(tmp_path) == ["run.zarr"]


def test_a_run_that_fails_at_its_very_end_has_all_its_draws(tmp_path: Path) -> None:
    def failing(number: int) -> Callable[..., None]:
        def fail(*_: Any) -> None:
            raise OSError(number, os.strerror(number))

        return fail

    folder = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("luce.runs.stream.seal_folder", failing(errno.ENOSPC))
        with pytest.raises(DiskFullError, match="could not be brought to its end: No space"):
            draw("exact", to=folder)
        patch.setattr("luce.runs.stream.seal_folder", failing(errno.EACCES))
        with pytest.raises(LuceError, match="to its end: Permission denied") as error:
            luce.resume(folder, progress=False)
        assert not isinstance(error.value, DiskFullError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "write_whole", failing(errno.ENOSPC))  # no draw is left to be made
        assert same_numbers(luce.resume(folder, progress=False), draw("exact"))


def test_files_are_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    digest = durable.write_whole(file, b"content")
    assert durable.digest_of(file) == digest
    assert durable.digest_of(tmp_path / "none") is None
    assert os.listdir(file.parent) == ["file"]
    with pytest.raises(LuceError, match=r"could not be written: (Not a directory|File exists)"):
        durable.write_whole(file / "beneath", b"x")
    assert file.read_bytes() == b"content"
    assert "0.0 MB are free" in str(durable.full(tmp_path / "none" / "file", 10**6))
    assert durable.is_full(OSError(errno.EDQUOT, ""))


def test_two_processes_do_not_write_one_run(unfinished: Path) -> None:
    folder = unfinished
    with (folder / "journal" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LuceError, match="another process"):
            luce.resume(folder)
    shutil.rmtree(folder / "journal")
    (folder / "journal").touch()
    with pytest.raises(LuceError, match=r"run\.zarr cannot be written"), journal.locked(folder):
        pytest.fail("it was locked")


# -- settings and arrays that are not the run's ----------------------------------------------------


def test_settings_that_cannot_be_read_are_refused(unfinished: Path) -> None:
    file, root = unfinished / "journal" / "run.json", unfinished / "zarr.json"
    text = file.read_text()
    settings = json.loads(text)
    without_seed = {k: v for k, v in settings.items() if k != "seed"}
    for wrong, words in (
        ("{", "is damaged"),
        ("[]", "is damaged: no object"),
        (json.dumps({**settings, "kept": [99]}), "is damaged .IndexError"),
        (json.dumps(without_seed), "is damaged .KeyError"),
        (json.dumps({**settings, "block": 7}), "was begun in blocks of 7 draws"),
        (
            json.dumps({**settings, "chains": 3}),
            r"has the shape \[2, 23, 6\], and the run's settings \[3, 23, 6\]",
        ),
    ):
        file.write_text(wrong)
        with pytest.raises(DataError, match=words):
            luce.resume(unfinished, progress=False)
    file.unlink()
    with pytest.raises(DataError, match="is not a run that was broken off"):
        luce.resume(unfinished, progress=False)
    file.write_text(text)
    metadata = json.loads(root.read_text())
    metadata["attributes"]["inference_library_version"] = "0.0.1"
    root.write_text(json.dumps(metadata))
    with pytest.raises(DataError, match=r"was begun with luce 0\.0\.1"):
        luce.resume(unfinished, progress=False)


def test_arrays_that_are_missing_are_told_of(tmp_path: Path) -> None:
    array = StreamedArray("posterior/concentration", ("chain", "draw"), None)
    with pytest.raises(DataError, match="is missing or damaged"):
        check_arrays(tmp_path, [array], 2, 10)
    with pytest.raises(LuceError, match="cannot be read"):
        read_block(tmp_path, array, 0, 0, 4)
    file = array.file(tmp_path, 0, 0)
    durable.write_whole(file, padded(np.arange(3.0), 4).data)
    np.testing.assert_array_equal(read_block(tmp_path, array, 0, 0, 4), [0.0, 1.0, 2.0, np.nan])


def test_places_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in '\.zarr'"):
        draw("exact", to=tmp_path / "run.nc")
    with pytest.raises(DataError, match="there is no folder"):
        draw("exact", to=tmp_path / "nowhere" / "run.zarr")
    (tmp_path / "there.zarr").mkdir()
    with pytest.raises(DataError, match="exists"):
        draw("exact", to=tmp_path / "there.zarr")
    with pytest.raises(DataError, match="does not exist"):
        luce.resume(tmp_path / "nothing.zarr")
    with pytest.raises(DataError, match=r"no file zarr\.json"):
        luce.resume(tmp_path / "there.zarr")
    with pytest.raises(LuceError, match="goes to a disk"):
        Posterior(nested()).sample(5, quantiles=[0.5], progress=False)


# -- stored runs -----------------------------------------------------------------------------------


def test_a_folder_that_is_no_run_is_not_opened(tmp_path: Path) -> None:
    folder, run = tmp_path / "run.zarr", draw("exact")
    luce.save(run, folder)
    root, group = folder / "zarr.json", folder / "posterior" / "zarr.json"
    text, group_text = root.read_text(), group.read_text()

    def refused(words: str) -> None:
        with pytest.raises(LuceError, match=words):
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
    refused("might lead out of the folder")
    root.write_text(text)
    group.write_text("{}")
    refused("cannot be read as Zarr: KeyError")
    group.write_text(group_text)
    (folder / "beside").symlink_to(tmp_path)
    refused("is a link")
    (folder / "beside").unlink()
    assert same_numbers(luce.runs.open_run(folder), run)
    with pytest.raises(DataError, match="there is no folder"):
        luce.storage.check_target(tmp_path / "none" / "run.nc")
    with pytest.raises(DataError, match="overwrite=True"):
        luce.storage.check_target(folder)


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, path = draw("exact"), tmp_path / "run.zarr"
    luce.save(first, path)
    replace = Path.replace

    def fail_at_last(self: Path, target: Path) -> Path:
        if target == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_last)
    with pytest.raises(LuceError, match="Permission denied"):
        luce.save(draw("exact", seed=6), path, overwrite=True)
    monkeypatch.undo()
    assert same_numbers(luce.load(path), first)
    assert os.listdir(tmp_path) == ["run.zarr"]


def test_what_a_run_says_of_its_prior_must_make_sense() -> None:
    def refused(name: str, words: str, **attributes: Any) -> None:
        run = draw(name)
        run.attrs.update(attributes)
        with pytest.raises(DataError, match=words):
            luce.posterior_of(run)

    refused("concentration", "a shape and a rate are needed", concentration_prior=[1.0])
    refused("process", "process_remainder is 3", process_remainder=3)
    refused("exact", "given in 4 pieces", data_pieces=4)
    assert luce.posterior_of(draw("process")).process == DirichletProcess(2.0)
    assert luce.posterior_of(draw("concentration")).hyperprior == Gamma(2, 1)


def test_a_sealed_file_is_no_shorter_than_its_seal(tmp_path: Path) -> None:
    (tmp_path / "run.nc").write_bytes(b"luce")
    with pytest.raises(DataError, match=r"was not written by luce\.save, or its end is missing"):
        luce.load(tmp_path / "run.nc")
    with pytest.raises(DataError, match="is not a Zarr folder"):
        check_folder(tmp_path)


def test_names_and_values_that_no_file_keeps(tmp_path: Path) -> None:
    def refused(words: str, **variables: Any) -> None:
        run = draw("exact")
        run["more"] = xr.Dataset(variables)
        with pytest.raises(DataError, match=words):
            luce.save(run, tmp_path / "run.nc")

    refused("a variable or dimension is called 'a b'", **{"a b": 1})
    refused("holds complex128", x=("u", np.array([1j])))
    run = draw("exact")
    run.attrs["two words"] = 1
    with pytest.raises(DataError, match="an attribute is called 'two words'"):
        luce.save(run, tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []
    for attributes, words in (
        ({"json_attributes": '["x"]', "x": 3}, "should be typed JSON, and is 3"),
        ({"format_version": 0}, "a number from 1 on is needed"),
    ):
        stored = stored_form(draw("exact"))
        stored.attrs.update(attributes)
        with pytest.raises(DataError, match=words):
            original_form(stored, "a run")
    stored = stored_form(draw("exact"))
    stored["more"] = xr.Dataset({"x": ("u", np.array([1, "a"], object))})
    with pytest.raises(DataError, match="something else than text or numbers"):
        original_form(stored, "a run")


def test_a_format_that_does_not_give_a_run_back_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = formats.format_of(Path("run.nc"))
    other = stored_form(draw("exact", seed=6))
    monkeypatch.setitem(formats._FORMATS, ".nc", form._replace(read=lambda _: other))
    with pytest.raises(DataError, match="does not give back this run"):
        luce.save(draw("exact"), tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []


def test_contents_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    run = draw("exact")
    other = run.posterior.to_dataset().assign_coords(category=list("abcdx"))
    changed = run.copy()
    changed["posterior"] = other
    with pytest.raises(DataError, match="do not have the same categories"):
        luce.save(changed, tmp_path / "run.nc")
    changed = run.copy()
    changed["posterior"] = run.posterior.to_dataset().drop_vars("category")
    with pytest.raises(DataError, match="has no coordinate 'category'"):
        luce.save(changed, tmp_path / "run.nc")
    changed = run.copy()
    changed["posterior"] = run.posterior.to_dataset().assign(
        log_probabilities=run.posterior["probabilities"]
    )
    with pytest.raises(DataError, match="not at most 0"):
        luce.save(changed, tmp_path / "run.nc")
    changed = run.copy()
    changed["observed_data"].attrs["n_outcomes"] = -1.0
    with pytest.raises(DataError, match=r"n_outcomes is -1\.0"):
        luce.save(changed, tmp_path / "run.nc")
