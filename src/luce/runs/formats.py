"""The two formats of a saved run: a NetCDF file, and a Zarr folder."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce.errors import DataError, LuceError
from luce.runs.encoding import merged_attributes
from luce.runs.files import flush_file, flush_folder, flush_names
from luce.runs.seal import (
    Checksums,
    check_file,
    read_checked,
    read_checksums,
    seal_file,
    seal_folder,
)

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


# Name of the group of running moments and quantiles.
RUNNING = "running"

# Groups to which the end of a streamed run adds attributes: the root first.
REWRITTEN = ("", "posterior", "sample_stats")

# Groups of data and prior, which are small beside the draws.
_WITHOUT_DRAWS = ("observed_data/", "constant_data/")


class Format(NamedTuple):
    """Functions that write and seal a format, and check and read it."""

    name: str
    is_folder: bool
    write: Callable[[DataTree, Path], None]
    seal: Callable[[Path], None]
    read: Callable[[Path], DataTree]


def format_of(path: Path) -> Format:
    """Choose the format by the path's suffix."""
    if path.suffix not in FORMATS:
        raise DataError(
            f"{path} ends in {path.suffix!r}; a run is stored as '.nc' (NetCDF, one file) or "
            "'.zarr' (Zarr, a folder)."
        )
    return FORMATS[path.suffix]


def _write_netcdf(tree: DataTree, path: Path) -> None:
    # Draws are noise: compressing saves a tenth and costs several times the time.
    plain = {"_FillValue": None}
    encoding = {node.path: dict.fromkeys(node.variables, plain) for node in tree.subtree}
    # HDF5 can take the whole process down when a disk is full; writing bytes cannot.
    with _without_scheduler():
        content = tree.to_netcdf(None, engine=netcdf_engine(), encoding=encoding)
    path.write_bytes(content)


@contextmanager
def _without_scheduler() -> Iterator[None]:
    """Keep xarray from locking the file name on a Dask scheduler: bytes in memory have no name."""
    if "dask" not in sys.modules:
        yield
        return
    import dask

    with dask.config.set(scheduler="threads"):
        yield


def _read_netcdf(path: Path) -> DataTree:
    import xarray as xr

    engine = netcdf_engine()
    check_file(path)
    library = importlib.import_module("netCDF4" if engine == "netcdf4" else "h5netcdf")
    opened = library.Dataset(path) if engine == "netcdf4" else library.File(path, "r")
    with opened as file:
        for name, variable in _netcdf_variables(file):
            text = variable.dtype is str or np.dtype(variable.dtype).kind == "O"
            itemsize = 16 if text else np.dtype(variable.dtype).itemsize
            _check_size(name, variable.shape, itemsize, path.stat().st_size)
    with xr.open_datatree(path, engine=engine, decode_times=False) as tree:
        return _loaded(tree)


def _loaded(tree: DataTree) -> DataTree:
    """Read all variables of a tree into memory.

    xarray's own `DataTree.load` leaves out a variable that bears the name of a group.
    """
    for node in tree.subtree:
        node.to_dataset(inherit=False).load()
    return tree


def _netcdf_variables(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, variable in group.variables.items():
        yield f"{above}/{name}", variable
    for name, inner in group.groups.items():
        yield from _netcdf_variables(inner, f"{above}/{name}")


def netcdf_engine() -> Any:
    """Choose the installed library that reads and writes NetCDF, or name the missing package."""
    if is_installed("netCDF4"):
        return "netcdf4"
    if is_installed("h5netcdf") and is_installed("h5py"):
        return "h5netcdf"
    raise LuceError("NetCDF files need a package more: pip install 'luce[files]'")


def write_zarr(tree: DataTree, path: Path) -> None:
    """Write a tree as a new Zarr folder."""
    _need_zarr()
    from luce.runs.zarr_folder import ZarrFolder

    encoding = {
        node.path: {name: _zarr_encoding(v) for name, v in node.variables.items()}
        for node in tree.subtree
    }
    with _quietly():
        tree.to_zarr(
            ZarrFolder(path),
            mode="w-",
            encoding=encoding,
            consolidated=True,
            zarr_format=3,
            write_empty_chunks=True,
        )


def complete_zarr(path: Path, running: Dataset, attributes: Mapping[str, Any]) -> None:
    """Add running moments to a folder, and attributes to root, posterior and statistics.

    All of it is on the disk when the function returns.
    """
    import zarr

    from luce.runs.zarr_folder import ZarrFolder

    store = ZarrFolder(path)
    encoding = {str(name): _zarr_encoding(v) for name, v in running.variables.items()}
    with _quietly():
        running.to_zarr(
            store,
            group=RUNNING,
            mode="w",
            encoding=encoding,
            consolidated=False,
            zarr_format=3,
            write_empty_chunks=True,
        )
        root: Any = zarr.open_group(store, mode="r+", use_consolidated=False)
        for node in (root, *(root[group] for group in REWRITTEN if group)):
            node.update_attributes(merged_attributes(node.attrs.asdict(), attributes))
        zarr.consolidate_metadata(store)
    flush_folder(path / RUNNING)
    for group in REWRITTEN:
        flush_file(path / group / "zarr.json")
        flush_names(path / group)


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence zarr's warning about consolidated metadata.

    xarray warns where a folder has no consolidated metadata; zarr warns that they are not in its
    specification yet.  Readers that do not know them ignore them.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata")
        yield


def _zarr_encoding(variable: Any) -> dict[str, Any]:
    # One file for each chain, so that a chain can be read alone, and no file is padded.
    shape = [1 if dim == "chain" else max(size, 1) for dim, size in variable.sizes.items()]
    return {"chunks": tuple(shape), "compressors": ()}


def _read_zarr(path: Path) -> DataTree:
    with open_zarr(path, read_checksums(path)) as tree:
        return _loaded(tree)


def open_zarr(path: Path, checksums: Checksums, *, some: bool = False) -> DataTree:
    """Open a folder without reading its draws; each file is checked as it is read.

    Data and prior are checked at once.  Where only `some` draws are stored yet, `checksums` holds
    those of the files that the run was begun with.
    """
    import xarray as xr

    _need_zarr()
    from luce.runs.zarr_folder import ZarrFolder

    for name, checksum in checksums.items():
        if name.split("/")[-1] == "zarr.json":
            metadata = json.loads(read_checked(path, name, checksum))
            _check_names(path / name, metadata)
            if metadata["node_type"] == "array":
                _check_zarr_array((path / name).parent, metadata, some)
        elif name.startswith(_WITHOUT_DRAWS):
            read_checked(path, name, checksum)
    store: Any = ZarrFolder(path, read_only=True, checksums=checksums)
    # Only version 3: the older one lets a file name any codec, and one of them unpickles.
    with _quietly():
        return xr.open_datatree(
            store, engine="zarr", consolidated=False, zarr_format=3, decode_times=False
        )


def _check_names(file: Path, metadata: Any) -> None:
    for name in (metadata.get("consolidated_metadata") or {}).get("metadata", {}):
        if not all(part.isidentifier() for part in name.split("/")):
            raise DataError(f"{file} names {name!r}, which might lead out of the folder.")


def _check_zarr_array(folder: Path, metadata: Any, some: bool) -> None:
    codecs = [codec["name"] for codec in metadata["codecs"]]
    if codecs not in (["bytes"], ["vlen-utf8"]):
        raise DataError(f"{folder} is stored with the codecs {codecs}; luce.save uses none.")
    if some:
        return
    text = metadata["data_type"] == "string"
    itemsize = 4 if text else np.dtype(metadata["data_type"]).itemsize
    stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    _check_size(str(folder), metadata["shape"], itemsize, stored)
    if 0 not in metadata["shape"]:  # of an array without numbers no chunk is ever read
        _check_size(str(folder), metadata["chunk_grid"]["configuration"]["chunk_shape"], 1, stored)


def _need_zarr() -> None:
    if not is_installed("zarr"):
        raise LuceError("Zarr folders need a package more: pip install 'luce[files]'")


def is_installed(package: str) -> bool:
    """Can the package be imported?"""
    return importlib.util.find_spec(package) is not None


def _check_size(name: str, shape: Any, itemsize: int, stored: int) -> None:
    """Refuse an array that claims to be larger than its files, since none are compressed."""
    if prod(map(int, shape)) * itemsize > stored:
        raise DataError(f"{name} claims the shape {tuple(shape)}, more than is stored.")


FORMATS = {
    ".nc": Format("NetCDF", False, _write_netcdf, seal_file, _read_netcdf),
    ".zarr": Format("Zarr", True, write_zarr, seal_folder, _read_zarr),
}
