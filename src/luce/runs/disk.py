"""A disk as a sink: writes draws block by block, and updates running moments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce._types import IntArray, NumberArray
from luce.runs import moments
from luce.runs.blocks import block_file, padded, read_block, rows_of_block
from luce.runs.files import write_whole
from luce.runs.journal import NO_FILE, Journal
from luce.runs.moments import Running
from luce.sampling.chains import Chain, Rows, Snapshot
from luce.sampling.plan import Plan


class ChainEnd(NamedTuple):
    """Last snapshot, moments and digests of blocks of a chain whose draws are all on the disk."""

    number: int
    snapshot: Snapshot
    moments: dict[str, Running]
    digests: np.ndarray[Any, Any]


class Disk:
    """A sink that writes the blocks of some chains into a run's folder."""

    def __init__(self, folder: Path, plan: Plan, chains: Sequence[Chain]) -> None:
        self._folder, self._plan, self._chains = folder, plan, chains
        self._block = plan.block
        self._moments = {chain.number: moments.of_parameters(plan) for chain in chains}
        self._journals = {c.number: Journal(folder, c.number, plan) for c in chains}
        self._rooms: dict[int, dict[str, NumberArray]] = {}
        self._warmed = dict.fromkeys(self._journals, 0)

    def take_up(self) -> None:
        """Restore the chains and their moments from their journals."""
        for chain in self._chains:
            self._journals[chain.number].take_up(chain, self._moments[chain.number])

    @property
    def placed(self) -> int:
        """Draws of each chain on the disk, from which all chains can go on."""
        return min(own.placed for own in self._journals.values())

    def end_of(self, chain: Chain) -> ChainEnd:
        """Return the end of a chain that is finished."""
        number = chain.number
        digests = self._journals[number].digests
        return ChainEnd(number, chain.snapshot(), self._moments[number], digests)

    def rows(self, chain: Chain, size: int) -> Rows:
        """Return rows of the block that is being filled."""
        if chain.number not in self._rooms:
            self._rooms[chain.number] = {
                output.path: np.empty((self._block // output.every, *output.shape), output.dtype)
                for output in self._plan.outputs
            }
        start = chain.done % self._block
        room = self._rooms[chain.number]
        return {o.path: room[o.path][o.rows(start, start + size)] for o in self._plan.outputs}

    def filled(self, chain: Chain, size: int) -> None:
        """Write the block if it is full or the chain's last, then a snapshot to the journal."""
        if chain.done % self._block and not chain.finished:
            return
        number = (chain.done - 1) // self._block
        size = chain.done - number * self._block
        room, own = self._rooms[chain.number], self._journals[chain.number]
        moments.take(self._moments[chain.number], room, size)
        digests = []
        for output in self._plan.outputs:
            drawn = output.stored(room[output.path][output.rows(0, size)])
            file = block_file(self._folder, output, chain.number, number)
            content = padded(output, drawn, self._block).data
            digests.append(write_whole(file, content) if len(drawn) else NO_FILE)
        own.add_block(digests)
        own.note(chain, self._moments[chain.number], always=chain.finished)

    def warmed(self, chain: Chain) -> None:
        """Write a snapshot to the journal, about as often as blocks are written later."""
        self._warmed[chain.number] += 1
        chunks = max(1, self._block // self._plan.chunk)
        if self._warmed[chain.number] % chunks == 0:
            self._journals[chain.number].note(chain, self._moments[chain.number])


class StoredDraws:
    """Draws of a run whose blocks are all on the disk, to be read in parts."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return self._plan.settings.draws

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> NumberArray:
        """Read some entries of some stored draws of a chain, shape (draw, entry)."""
        output = self._plan.output(path)
        width = int(np.prod(output.stored_shape, dtype=np.int64))
        stored, block = self.draws // output.every, rows_of_block(output, self._plan.block)
        wanted = range(stored)[rows]
        if not wanted:
            return np.empty((0, width), output.dtype)[:, entries]
        found = []
        for k in range(wanted[0] // block, wanted[-1] // block + 1):
            size = min(block, stored - k * block)
            own = [i - k * block for i in (wanted[0], wanted[-1])]
            first = own[0] if own[0] >= 0 else own[0] % wanted.step
            values = read_block(self._folder, output, chain, k, size)
            flat = np.asarray(values).reshape(size, width)
            found.append(flat[first : own[1] + 1 : wanted.step][:, entries])
        return np.concatenate(found) if len(found) > 1 else found[0]
