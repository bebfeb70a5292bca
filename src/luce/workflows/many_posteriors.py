"""Posteriors of many groups, one for each, drawn in threads here or in blocks on workers."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import Concentration, Label, SeedLike
from luce.cluster.connect import ClusterLike, connected, workers_of
from luce.counts.labels import canonical_name, plural, some
from luce.errors import (
    ConvergenceWarning,
    DataError,
    IgnoredColumnsWarning,
    LuceError,
    warn_user,
    warnings_gathered,
)
from luce.posterior import Posterior
from luce.reading.kinds import KINDS
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import Settings, check_whole, processors

if TYPE_CHECKING:
    from distributed import Client

_Job = tuple[Label, Any]  # the group's name, and its posterior or its rows
_Found = tuple[Any, list[Warning]]  # the group's answer, and the warnings given on the way

# Blocks of groups for each worker: enough to balance the load, few enough to cost little.
_BLOCKS_A_WORKER = 8


def sample_many(
    data: Any,
    draws: int = 1000,
    *,
    by: str | Sequence[str] | None = None,
    kind: str | None = None,
    concentration: Concentration = 1.0,
    chains: int = 4,
    seed: SeedLike = None,
    answer: Callable[[Any], Any] | None = None,
    threads: int | None = None,
    cluster: ClusterLike = None,
    progress: bool = True,
    **options: Any,
) -> dict[Label, Any]:
    """Draw from the posteriors of many groups.

    The draws of a group depend on the seed, its name and its data alone.  Ctrl-C ends the work once
    the groups that are being drawn are done; no run is cut short.

    Parameters
    ----------
    data
        A frame (pandas, polars, pyarrow ...) whose column or columns `by` name the group of each
        row; or a mapping from names to posteriors.
    draws, chains, seed
        As in `Posterior.sample`.
    by
        Name of that column, or names of several columns: groups are then named by tuples.
    kind
        Kind of the rows: "pairs", "rankings", "choices", "transitions", "table", "teams" or
        "groups".
    concentration
        The prior's parameter, one number for all.  Parameters of contests, `home` and `tie`, have
        their usual priors; give posteriors for others.
    answer
        Function of a run (a DataTree), such as `luce.answers.expected_order`, whose value is sent
        back instead of the run, which may be large.  The runs themselves unless given.
    threads
        Groups drawn at the same time in this process; as many as there are processors unless
        given.
    cluster
        Draw blocks of groups on the workers of a Dask scheduler instead, as in
        `luce.sample_sharded`; "local" starts processes of this machine.
    progress
        Show a bar for anything longer than two seconds?
    options
        Options of the reader and of `Posterior.sample`: column names, ties, method and so on.

    Returns
    -------
    dict
        The answers, or runs, by the groups' names, in the order in which these first appear.

    Examples
    --------
    >>> import luce
    >>> games = {"league": list("AABBB"), "winner": list("xyuvu"), "loser": list("yzvuw")}
    >>> order = luce.answers.expected_order
    >>> luce.sample_many(games, 1000, by="league", kind="pairs", seed=1, answer=order)
    {'A': ['x', 'y', 'z'], 'B': ['u', 'v', 'w']}
    """
    if isinstance(draws, str):
        raise DataError(f"draws = {draws!r}; the column of the groups is named by keyword: by=...")
    reading, sampling = _split_options(kind, options)
    settings = Settings(draws=draws, chains=chains, seed=seed)
    if threads is not None:
        check_whole("threads", threads, 1)
    work = _Work(
        kind=kind,
        concentration=concentration,
        draws=draws,
        chains=chains,
        seed=settings.seed_sequence(),
        answer=answer,
        reading=reading,
        sampling=sampling,
    )
    jobs = _jobs(data, by, kind)
    with connected(cluster) as client, ProgressBar(len(jobs), progress) as bar:
        found: dict[Label, _Found] = {}
        parts = _here(work, jobs, threads) if client is None else _there(client, work, jobs)
        for answers in parts:
            found.update(answers)
            bar.update(len(found), "posteriors")
    _warn({name: found[name][1] for name, _ in jobs})
    return {name: found[name][0] for name, _ in jobs}


def _warn(said: dict[Label, list[Warning]]) -> None:
    """Repeat the groups' warnings; those of convergence and of columns as one for all groups."""
    ignored: dict[str, str] = {}
    doubtful: dict[Label, ConvergenceWarning] = {}
    for name, warnings in said.items():
        for warning in warnings:
            if isinstance(warning, ConvergenceWarning):
                doubtful.setdefault(name, warning)
            elif isinstance(warning, IgnoredColumnsWarning):
                ignored |= warning.columns
            else:
                warn_user(warning)
    if ignored:
        warn_user(IgnoredColumnsWarning(ignored))
    if doubtful:
        worst = min(doubtful, key=lambda name: np.nan_to_num(doubtful[name].ess, nan=-1.0))
        each = doubtful[worst]
        message = (
            f"{len(doubtful):,} of {plural(len(said), 'group')} ({some(doubtful)}) cannot be "
            f"trusted yet. Group {worst!r}: {each}"
        )
        warn_user(ConvergenceWarning(message, each.rhat, each.ess))


@dataclass(frozen=True, eq=False)
class _Work:
    """The task of each group, sent to the workers: read, draw, answer."""

    kind: str | None
    concentration: Concentration
    draws: int
    chains: int
    seed: np.random.SeedSequence
    answer: Callable[[Any], Any] | None
    reading: dict[str, Any]
    sampling: dict[str, Any]

    def __call__(self, jobs: list[_Job]) -> dict[Label, _Found]:
        """Draw the posteriors of a block of groups; return warnings for the caller to show."""
        found: dict[Label, _Found] = {}
        for name, given in jobs:
            with warnings_gathered() as said:
                found[name] = self._one(name, given), said
        return found

    def _one(self, name: Label, given: Any) -> Any:
        """Draw one group's posterior and return its answer; errors name the group."""
        try:
            posterior = given if isinstance(given, Posterior) else self._posterior_of(given)
            run = posterior.sample(
                self.draws,
                chains=self.chains,
                seed=self._seed_of(name),
                threads=1,
                progress=False,
                **self.sampling,
            )
            return run if self.answer is None else self.answer(run)
        except LuceError as error:
            raise DataError(f"group {name!r}: {error}") from error

    def _posterior_of(self, rows: Any) -> Posterior:
        counts = KINDS[str(self.kind)].read(rows, **self.reading).counts
        if isinstance(counts, dict):
            raise DataError("rows='separate' makes several posteriors of a group itself.")
        return Posterior(counts, self.concentration)

    def _seed_of(self, name: Label) -> np.random.SeedSequence:
        """Return the group's own seed, from the common one and a digest of its name."""
        digest = hashlib.sha256(canonical_name(name).encode()).digest()
        words = tuple(np.frombuffer(digest[:16], np.uint32).tolist())
        return np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *words))


def _split_options(
    kind: str | None, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those of the reader and those of `sample`; refuse all others."""
    ours = set(inspect.signature(Posterior.sample).parameters) - {"to", "cluster", "threads"}
    sampling = {name: value for name, value in options.items() if name in ours}
    reading = {name: value for name, value in options.items() if name not in ours}
    if kind is not None and kind not in KINDS:
        raise DataError(f"kind = {kind!r}; choose one of {', '.join(KINDS)}.")
    known = set() if kind is None else set(KINDS[kind].options)
    unknown = [name for name in reading if name not in known]
    if unknown:
        raise DataError(f"{some(unknown)} is an option neither of the reader nor of sample().")
    return reading, sampling


def _jobs(data: Any, by: str | Sequence[str] | None, kind: str | None) -> list[_Job]:
    """List the groups with their posteriors or rows."""
    if isinstance(data, Mapping) and data and all(isinstance(v, Posterior) for v in data.values()):
        if by is not None or kind is not None:
            raise DataError("posteriors are given by name, so by= and kind= have no meaning here.")
        return list(data.items())
    if by is None or kind is None:
        raise DataError(
            "a frame needs by=, the column that names the groups, and kind=, what its rows are; or "
            "give a mapping from names to posteriors."
        )
    columns = [by] if isinstance(by, str) else list(by)
    parts = _of_columns(data, columns) if isinstance(data, Mapping) else _of_frame(data, columns)
    return [(key[0] if isinstance(by, str) else key, rows) for key, rows in parts.items()]


def _of_columns(data: Mapping[str, Any], columns: list[str]) -> dict[tuple[Any, ...], Any]:
    """Split a mapping of columns into groups, in the order in which they first appear."""
    _check_columns(list(data), columns)
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(zip(*(data[column] for column in columns), strict=True)):
        places.setdefault(key, []).append(place)
    rest = {name: list(values) for name, values in data.items() if name not in columns}
    return {
        key: {name: [values[place] for place in own] for name, values in rest.items()}
        for key, own in places.items()
    }


def _of_frame(data: Any, columns: list[str]) -> dict[tuple[Any, ...], Any]:
    """Split a frame into groups, in the order in which they first appear."""
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=False)
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    _check_columns(frame.columns, columns)
    names = frame.select(columns).unique(maintain_order=True)
    found = {key: group.drop(columns).to_native() for key, group in frame.group_by(columns)}
    return {key: found[key] for key in names.iter_rows()}


def _check_columns(there: list[str], wanted: list[str]) -> None:
    """Refuse a column of groups that the data lack."""
    missing = [column for column in wanted if column not in there]
    if missing:
        raise DataError(f"there is no column {missing[0]!r}; the columns are {some(there)}.")


def _here(work: _Work, jobs: list[_Job], threads: int | None) -> Iterator[dict[Label, _Found]]:
    """Draw groups in threads of this process, and yield each when it is done.

    After Ctrl-C, or an error, no further group is begun.  Of several errors that of the first group
    is raised: groups are begun in their order.
    """
    pool = ThreadPoolExecutor(processors() if threads is None else threads)
    try:
        futures = [pool.submit(work, [job]) for job in jobs]
        for future in as_completed(futures):
            if future.exception() is not None:
                pool.shutdown(cancel_futures=True)
                future = next(one for one in futures if not one.cancelled() and one.exception())
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _there(client: Client, work: _Work, jobs: list[_Job]) -> Iterator[dict[Label, _Found]]:
    """Draw blocks of groups on the workers, and yield each when it is done."""
    from distributed import as_completed as completed_on_workers

    size = max(1, -(-len(jobs) // (_BLOCKS_A_WORKER * len(workers_of(client)))))
    blocks = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    futures = [client.submit(work, block, pure=False) for block in blocks]
    try:
        for future in completed_on_workers(futures):
            yield future.result()
    finally:
        client.cancel(futures)
