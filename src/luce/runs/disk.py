"""The disk as a place that draws go to: block by block, with moments on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.runs.blocks import padded
from luce.runs.files import write_whole
from luce.runs.journal import Journal
from luce.runs.moments import Running
from luce.sampling.chains import Chain, Room

if TYPE_CHECKING:
    from luce.runs.stream import Stream


class ChainEnd(NamedTuple):
    """What is left of a chain whose draws are all on the disk."""

    number: int
    log_tuning: FloatArray
    running: Running
    digests: np.ndarray


class Disk:
    """A sink: block by block to the disk, moments on the way."""

    def __init__(self, stream: Stream, chains: list[Chain]) -> None:
        self._stream, self._chains = stream, chains
        self._arrays, self._block = stream.arrays, stream.block
        self._running = {c.number: Running.new(stream.task.n, stream.quantiles) for c in chains}
        self._journals = {
            c.number: Journal(stream.folder, c.number, self._arrays, self._block) for c in chains
        }
        self._rooms: dict[int, Room] = {}
        self._warmed = dict.fromkeys(self._journals, 0)

    def take_up(self) -> None:
        """Put chains where they were."""
        for chain in self._chains:
            self._journals[chain.number].take_up(chain, self._running[chain.number])

    def end_of(self, chain: Chain) -> ChainEnd:
        """What is left of a chain that is done."""
        log_tuning = np.array([tuning[2] for tuning in chain.tunings])
        running, own = self._running[chain.number], self._journals[chain.number]
        return ChainEnd(chain.number, log_tuning, running, own.digests)

    def room(self, chain: Chain, size: int) -> Room:
        """Give room in the block that is being filled."""
        if chain.number not in self._rooms:
            n, block = self._stream.task.n, self._block
            logs = np.empty((block, n)) if self._stream.logs else np.empty((0, 0))
            parts = len(self._stream.origin.method.parts)
            self._rooms[chain.number] = Room(np.empty((block, n)), logs, np.empty((block, parts)))
        start = chain.done % self._block
        rows = slice(start, start + size)
        room = self._rooms[chain.number]
        return Room(room.probabilities[rows], room.log_probabilities[rows], room.statistics[rows])

    def filled(self, chain: Chain, size: int) -> None:
        """Write the block once it is full, or the last one."""
        if chain.done % self._block and chain.to_draw:
            return
        number = (chain.done - 1) // self._block
        size = chain.done - number * self._block
        room, origin = self._rooms[chain.number], self._stream.origin
        running = self._running[chain.number]
        running.take(room.probabilities[:size], room.log_probabilities[:size])
        values = [room.probabilities[:size]]
        if self._stream.logs:
            values.append(room.log_probabilities[:size])
        if origin.kept is not None:
            values = [x[:, origin.kept] for x in values]
        if origin.hyperprior is not None:
            values.append(room.statistics[:size, 0])
        values += [origin.statistic(name, room.statistics[:size]) for name in origin.statistics]
        digests = []
        for array, block in zip(self._arrays, values, strict=True):
            file = array.file(self._stream.folder, chain.number, number)
            digests.append(write_whole(file, padded(block, self._block).data))
        own = self._journals[chain.number]
        own.add_block(digests)
        own.note(chain, running, always=not chain.to_draw)

    def warmed(self, chain: Chain) -> None:
        """Note a place every so often, as often as blocks are written later."""
        self._warmed[chain.number] += 1
        chunks = max(1, self._block // self._stream.task.chunk)
        if self._warmed[chain.number] % chunks == 0 or not chain.to_warm:
            self._journals[chain.number].note(chain, self._running[chain.number])
