"""Chains of sweeps given observed transitions, as an xarray DataTree."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import Attributes, FloatArray, Label, WordArray
from luce.counts.labels import Categories, hash_of_names, label_array, plural
from luce.errors import DataError
from luce.model.priors import Gamma
from luce.reading.frames import is_frame
from luce.reading.transitions import as_sequences, read_transitions
from luce.sampling.progress import ProgressBar, ctrl_c_noted
from luce.sampling.settings import Settings
from luce.sequences.hdp_problem import Problem, whole_counts
from luce.sequences.hdp_state import log_dirichlet
from luce.version import __version__

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.sequences.hdp import HDPTransitions

REMAINDER = "remainder"

_CHUNK_STEPS = 200_000  # entries of all rows between two looks at the clock


class _Data(NamedTuple):
    labels: Categories
    counts: FloatArray
    starts: FloatArray


@dataclass
class _Chain:
    """One chain: its generator, where it stands, where it writes, and how far it has come."""

    bits: WordArray
    log_base: FloatArray
    scales: FloatArray
    log_bases: FloatArray
    concentrations: FloatArray
    rows: FloatArray
    to_warm: int
    done: int = 0

    @property
    def to_do(self) -> int:
        """Sweeps that are left."""
        return self.to_warm + len(self.log_bases) - self.done

    def advance(self, problem: Problem, chunk: int) -> None:
        """Make up to `chunk` sweeps."""
        if self.to_warm:
            size = min(chunk, self.to_warm)
            problem.advance(self.bits, self.log_base, self.scales, size, False)
            self.to_warm -= size
            return
        size = min(chunk, len(self.log_bases) - self.done)
        new = problem.advance(self.bits, self.log_base, self.scales, size, len(self.rows) > 0)
        here = slice(self.done, self.done + size)
        self.log_bases[here], self.concentrations[here] = new.log_base, new.concentrations
        if len(self.rows):
            self.rows[here] = new.rows
        self.done += size


def fit(
    model: HDPTransitions,
    given: Any,
    settings: Settings,
    keep_rows: bool,
    starts: Mapping[Label, float] | None,
) -> DataTree:
    """Run all chains; see `HDPTransitions.fit`."""
    from luce.kernels.random import new_bits
    from luce.sampling.convergence import warn_if_not_converged

    began = time.perf_counter()
    data = _read(model, given, starts)
    problem = model.problem(data.counts, data.starts, data.labels)
    seeds, warmup = settings.seed_sequence(), settings.sweeps_to_discard
    n_rows, n_columns = problem.data.counts.shape
    size = (settings.chains, settings.draws)
    log_base, scales = np.empty((*size, n_columns)), np.empty((*size, 2))
    rows = np.empty((settings.chains, settings.draws if keep_rows else 0, n_rows, n_columns))
    chains = []
    for k, own in enumerate(seeds.spawn(settings.chains)):
        rng = np.random.default_rng(own.spawn(1)[0])
        start = model.initial_state(rng)
        first = start.log_base
        if model.is_nonparametric:  # a process has no atoms before there is data
            first = log_dirichlet(rng, np.ones(n_columns))
        at = np.log([start.concentration, start.base_concentration])
        chains.append(_Chain(new_bits(own), first, at, log_base[k], scales[k], rows[k], warmup))
    interrupted = _run(chains, problem, max(1, _CHUNK_STEPS // (n_rows * n_columns)), settings)
    done = min(c.done for c in chains)
    log_base, scales, rows = log_base[:, :done], scales[:, :done], rows[:, :done]
    drawn = [isinstance(x, Gamma) for x in (model.concentration, model.base_concentration)]
    warn_if_not_converged(np.concatenate([np.exp(log_base), scales[..., drawn]], axis=2))
    attributes: Attributes = {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "luce",
        "inference_library_version": __version__,
        "method": "hierarchical-gibbs",
        "independent_draws": 0,
        "seed": str(seeds.entropy),
        "warmup": warmup,
        "prior": repr(model),
        "data": f"{plural(float(data.counts.sum()), 'transition')} between "
        f"{plural(len(data.labels), 'state')}",
        "data_digest": _digest(data),
        "sampling_time": time.perf_counter() - began,
        "interrupted": int(interrupted),
    }
    if seeds.spawn_key:
        attributes["seed_spawn_key"] = list(seeds.spawn_key)
    return _as_datatree(model, data, problem, attributes, log_base, scales, rows)


def _as_datatree(
    model: HDPTransitions,
    data: _Data,
    problem: Problem,
    attributes: Attributes,
    log_base: FloatArray,
    scales: FloatArray,
    rows: FloatArray,
) -> DataTree:
    import xarray as xr

    sample = ("chain", "draw")
    columns = [*data.labels, REMAINDER] if model.is_nonparametric else list(data.labels)
    index = {"chain": np.arange(log_base.shape[0]), "draw": np.arange(log_base.shape[1])}
    places = {"state": label_array(columns), "source": label_array(data.labels)}
    posterior: dict[str, tuple[tuple[str, ...], FloatArray]] = {
        "base": ((*sample, "state"), np.exp(log_base)),
        "log_base": ((*sample, "state"), log_base),
    }
    if rows.shape[1]:
        posterior["rows"] = ((*sample, "source", "state"), rows)
    constants: dict[str, Any] = {"forbidden": (("source", "state"), problem.data.forbidden)}
    priors = {"concentration": model.concentration, "base_concentration": model.base_concentration}
    for k, (name, prior) in enumerate(priors.items()):
        if isinstance(prior, Gamma):
            posterior[name] = (sample, scales[..., k])
            constants[f"{name}_prior"] = ("parameter", [prior.shape, prior.rate])
        else:
            constants[name] = prior
    observed = {
        "transition_counts": (("source", "state"), problem.data.counts),
        "starts": ("state", problem.data.starts),
    }
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=attributes),
            "/posterior": xr.Dataset(posterior, {**index, **places}, attributes),
            "/observed_data": xr.Dataset(observed, places),
            "/constant_data": xr.Dataset(constants, places),
        }
    )


def _run(chains: list[_Chain], problem: Problem, chunk: int, settings: Settings) -> bool:
    """Advance all chains in threads, those of one thread in turns; did Ctrl-C end it?"""
    n_threads, stop = settings.n_threads(), Event()

    def take_turns(mine: list[_Chain]) -> None:
        while not stop.is_set() and any(c.to_do for c in mine):
            for chain in mine:
                if chain.to_do:
                    chain.advance(problem, chunk)

    total = sum(c.to_do for c in chains)
    pool = ThreadPoolExecutor(n_threads)
    with ctrl_c_noted() as ctrl_c, pool, ProgressBar(total, settings.progress) as bar:
        futures = [pool.submit(take_turns, chains[k::n_threads]) for k in range(n_threads)]
        try:
            while wait(futures, timeout=0.1).not_done:
                bar.update(total - sum(c.to_do for c in chains))
                if ctrl_c.seen:
                    stop.set()
        except KeyboardInterrupt:  # where it could not be noted
            stop.set()
            wait(futures)
    if ctrl_c.seen:  # it may have come with the last draw
        stop.set()
    for future in futures:
        future.result()  # an error in a thread is an error here
    if stop.is_set() and not all(c.done for c in chains):
        raise KeyboardInterrupt
    return stop.is_set()


def _read(model: HDPTransitions, given: Any, starts: Mapping[Label, float] | None) -> _Data:
    columns = dict.fromkeys(("source", "target", "count", "sequence", "time", "state"))
    known = None if model.states is None else model.states.labels
    sequences = None
    if not is_frame(given) and not (isinstance(given, np.ndarray) and given.ndim == 2):
        sequences = given = as_sequences(given)
    labels, counts = read_transitions(given, columns, known, False)
    if not model.self_loops:
        np.fill_diagonal(counts, 0.0)
    counts = whole_counts(counts, counts.shape, "transition counts")
    begun = np.zeros(len(labels))
    if starts is not None:
        at = labels.numbers(starts, "starts")
        begun[at] = whole_counts(list(starts.values()), (len(at),), "starts")
    elif model.is_nonparametric and sequences is not None:
        first = labels.index
        np.add.at(begun, [first[s[0]] for s in sequences if s], 1.0)
    if model.is_nonparametric and REMAINDER in labels.index:
        raise DataError(f"{REMAINDER!r} cannot be the label of a state: the rest is called so.")
    return _Data(labels, counts, begun)


def _digest(data: _Data) -> str:
    content = hash_of_names(data.labels.labels)
    for array in (data.counts, data.starts):
        content.update(np.ascontiguousarray(array).tobytes())
    return str(content.hexdigest())
