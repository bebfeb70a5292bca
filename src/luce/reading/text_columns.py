"""Columns of text as codes of their distinct values, split and encoded by arrays.

The bytes of a value, eight to a word, are its key: values are compared and looked up as whole
columns of words, and only distinct values become Python objects.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from secrets import randbits
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.reading.rows import Column, count_distinct

_LONGEST_FIELD = 131_072  # bytes of a value that Python's csv module accepts
_WASTE = 4  # words of a block, in bytes, may be this many times as large as the block
_MOST_WAITING = 1 << 18  # rows that are counted at a time, at least
_NEW_LINE, _QUOTE, _UNDERSCORE = b'\n"_'
_SMALLEST_TABLE = 1 << 12  # slots
# Drawn for each process, so that nobody can write a file of texts that all want one slot.
_FIRST_MULTIPLIER = np.uint64(randbits(64) | 1)
_SECOND_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_NAN = np.uint64(int.from_bytes(b"nan", "little"))
_MASKS = np.asarray([(1 << 8 * k) - 1 for k in range(9)], np.uint64)  # keep the first k bytes


class Fields(NamedTuple):
    """One column of a block of lines: where each of its values begins, and its bytes."""

    block: npt.NDArray[np.uint8]
    starts: IntArray
    lengths: IntArray

    def words(self) -> list[WordArray] | None:
        """Read the values as words, one array for each eight bytes; shorter values end in zeros.

        Returns None where single values are so long that these arrays would hold mostly zeros.
        """
        number = -(-int(self.lengths.max(initial=1)) // 8)
        if 8 * number * len(self.starts) > _WASTE * len(self.block):
            return None
        last = len(self.block) - 8
        at = np.ndarray((last + 1,), "<u8", self.block, strides=(1,))  # the eight bytes from each
        words = []
        for k in range(number):
            there = at[self.starts if k == 0 else np.minimum(self.starts + 8 * k, last)]
            words.append(there & _MASKS[np.clip(self.lengths - 8 * k, 0, 8)])
        return words


def parse_numbers(words: list[WordArray], absent: WordArray) -> FloatArray | None:
    """Parse texts as numbers, given by their words; texts of the words `absent` become nan.

    Returns None where a text is no number, or one as Python alone writes it: 1_000.
    """
    missing = np.isin(words[0], absent)
    for word in words[1:]:
        missing &= word == 0
    first = np.where(missing, _NAN, words[0])
    texts = np.stack([first, *words[1:]], axis=1).astype("<u8").view(f"S{8 * len(words)}")
    if (texts.view(np.uint8) == _UNDERSCORE).any():
        return None
    try:
        return texts.ravel().astype(np.float64)
    except ValueError:
        return None


def words_of_short(texts: Iterable[str]) -> WordArray:
    """Return the words of texts; those of more than eight bytes have several, and are left out."""
    contents = [text.encode() for text in texts]
    short = [int.from_bytes(content, "little") for content in contents if len(content) <= 8]
    return np.asarray(short, np.uint64)


def split_block(text: str, delimiter: str, width: int, where: Sequence[int]) -> list[Fields] | None:
    """Split lines, each of which ends in a new line, into the columns numbered `where`.

    Returns None unless every line that is not empty has `width` values, each of them without
    quotation marks or within two of them: Python's csv module splits such lines in the same way.
    """
    content = text.encode()
    block = np.frombuffer(content + bytes(8), np.uint8)
    has_quotes = _QUOTE in content
    ends = _ends(block, ord(delimiter), has_quotes)
    starts = np.empty_like(ends)
    starts[:1], starts[1:] = 0, ends[:-1] + 1
    at_line_end = block[ends] == _NEW_LINE
    if text.startswith("\n") or "\n\n" in text:
        filled = ~at_line_end | (starts < ends)
        filled[1:] |= ~at_line_end[:-1]  # the last value of a line may be empty
        starts, ends, at_line_end = starts[filled], ends[filled], at_line_end[filled]
    number = np.count_nonzero(at_line_end)
    if len(ends) != number * width or not at_line_end[width - 1 :: width].all():
        return None
    lengths = ends - starts
    if lengths.max(initial=0) >= _LONGEST_FIELD:
        return None
    if has_quotes:
        quoted = (block[starts] == _QUOTE) & (block[ends - 1] == _QUOTE) & (lengths > 1)
        if 2 * np.count_nonzero(quoted) != content.count(_QUOTE):
            return None
        starts, lengths = starts + quoted, lengths - 2 * quoted
    return [Fields(block, starts[k::width], lengths[k::width]) for k in where]


def _ends(block: npt.NDArray[np.uint8], delimiter: int, has_quotes: bool) -> IntArray:
    """Find the delimiters and ends of lines outside of quotation marks."""
    separators = (block == _NEW_LINE) | (block == delimiter)
    if has_quotes:
        quotes = (block == _QUOTE).view(np.uint8)
        separators &= np.bitwise_xor.accumulate(quotes) == 0  # inside, their number is odd
    return np.flatnonzero(separators)


class TextRuns:
    """Codes of runs of equal texts, one after another, in a block of lines."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def of_texts(self, texts: Iterable[str]) -> IntArray:
        """Return the number of the run that each text belongs to."""
        runs = [(text, sum(1 for _ in run)) for text, run in groupby(texts)]
        self.texts = [text for text, _ in runs]
        return np.repeat(np.arange(len(runs)), [length for _, length in runs])

    def of_words(self, words: list[WordArray]) -> IntArray:
        """Return the number of the run that each text belongs to, given by its words."""
        begins = _begins(words)
        self.texts = _texts([word[begins] for word in words])
        return np.cumsum(begins) - 1


class TextCodes:
    """Codes of distinct texts, numbered in the order in which each first occurs.

    Beside a dictionary there is a table with open addressing, at most an eighth full: from the
    words of a text to the number of its entry, and on to its code.
    """

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self._n_entries = 0
        self._words: list[WordArray] = []
        self._codes: IntArray = np.empty(0, np.int64)
        self._resize(_SMALLEST_TABLE)

    def of_texts(self, texts: Iterable[str]) -> IntArray:
        """Return the code of each text."""
        code = self.code
        return np.asarray([code.setdefault(text, len(code)) for text in texts], np.int64)

    def of_words(self, words: list[WordArray]) -> IntArray:
        """Return the code of each text, given by its words."""
        entries = self._find(words)
        codes = self._codes[entries]
        new = np.flatnonzero(entries < 0)
        if len(new):
            added = [word[new] for word in words]
            begins = _begins(added)
            texts = self.of_texts(_texts([word[begins] for word in added]))
            codes[new] = of_new = texts[np.cumsum(begins) - 1]
            _, first = np.unique(of_new, return_index=True)
            self._enter([word[first] for word in added], of_new[first])
        return codes

    def _find(self, words: list[WordArray]) -> IntArray:
        """Find the entries of texts; -1 stands for those that have none."""
        slots = _slots(words, len(self._table))
        entries = self._table[slots]
        rest = np.flatnonzero(~self._are(words, entries))
        while len(rest):  # another text has this slot: look into the next one
            slots[rest] = (slots[rest] + 1) % len(self._table)
            entries[rest] = found = self._table[slots[rest]]
            rest = rest[~self._are([word[rest] for word in words], found)]
        return entries

    def _are(self, words: list[WordArray], entries: IntArray) -> BoolArray:
        """Flag the texts that are those of some entries; entry -1 fits every text."""
        same: BoolArray = np.ones(len(entries), np.bool_)
        for k in range(max(len(words), len(self._words))):
            given = words[k] if k < len(words) else np.uint64(0)
            same &= given == (self._words[k][entries] if k < len(self._words) else np.uint64(0))
        return same | (entries < 0)

    def _enter(self, words: list[WordArray], codes: IntArray) -> None:
        """Add entries of texts that have none."""
        first, n = self._n_entries, self._n_entries + len(codes)
        if 8 * n > len(self._table):
            self._resize(1 << (16 * n).bit_length())
        while len(self._words) < len(words):
            self._words.append(np.zeros(len(self._codes), np.uint64))
        for own, word in zip(self._words, words, strict=False):
            own[first:n] = word
        self._codes[first:n] = codes
        self._n_entries = n
        self._place(np.arange(first, n))

    def _resize(self, size: int) -> None:
        """Make a table of some size, and place all entries anew."""
        n = self._n_entries
        codes, words = self._codes, self._words
        self._table: IntArray = np.full(size, -1, np.int64)
        self._codes, self._words = np.zeros(size // 8, np.int64), []
        self._codes[:n] = codes[:n]
        for word in words:
            self._words.append(np.zeros(size // 8, np.uint64))
            self._words[-1][:n] = word[:n]
        self._place(np.arange(n))

    def _place(self, entries: IntArray) -> None:
        """Give entries their slots: of several that want a free one, one gets it."""
        slots = _slots([word[entries] for word in self._words], len(self._table))
        while len(entries):
            free = self._table[slots] < 0
            self._table[slots[free]] = entries[free]
            left = self._table[slots] != entries
            entries, slots = entries[left], (slots[left] + 1) % len(self._table)


def _begins(words: list[WordArray]) -> BoolArray:
    """Flag the first text, and those that differ from the one before."""
    begins = np.zeros(len(words[0]), np.bool_)
    begins[:1] = True
    for word in words:
        begins[1:] |= word[1:] != word[:-1]
    return begins


def _slots(words: list[WordArray], size: int) -> IntArray:
    """Hash texts to slots of a table, whose size is a power of two; words of zeros do not count."""
    total = np.zeros(len(words[0]) if words else 0, np.uint64)
    for word in reversed(words):
        total = (total ^ word) * _FIRST_MULTIPLIER
        total ^= total >> np.uint64(32)
    total *= _SECOND_MULTIPLIER
    return (total >> np.uint64(65 - size.bit_length())).astype(np.int64)


def _texts(words: list[WordArray]) -> list[str]:
    """Turn words into texts."""
    joined = np.stack(words, axis=1).astype("<u8")
    return [content.decode() for content in joined.view(f"S{8 * len(words)}").ravel().tolist()]


class CountedRows(NamedTuple):
    """Distinct rows of some columns, in the order in which each first occurs, and their repeats."""

    columns: list[Column]
    repeats: FloatArray

    @staticmethod
    def of(columns: list[Column], repeats: FloatArray | None = None) -> CountedRows:
        """Count the distinct rows among rows that occur `repeats` times each, once unless given."""
        codes = [column.codes for column in columns]
        first, repeats = count_distinct(codes, [len(c.values) for c in columns], repeats)
        return CountedRows([column.take(first) for column in columns], repeats)

    def map(self, function: Callable[[str], str]) -> CountedRows:
        """Replace texts, and count rows that have become equal as one."""
        replaced = [[function(text) for text in column.values] for column in self.columns]
        if all(new == c.values for new, c in zip(replaced, self.columns, strict=True)):
            return self
        texts = map(Column.of, replaced)
        columns = [
            Column(new.codes[old.codes], new.values)
            for new, old in zip(texts, self.columns, strict=True)
        ]
        return CountedRows.of(columns, self.repeats)


class RowCounter:
    """Counts distinct rows of texts; memory is proportional to their number.

    Parameters
    ----------
    width
        Number of columns.
    """

    def __init__(self, width: int) -> None:
        self.texts = [TextCodes() for _ in range(width)]
        self._counted = [np.empty(0, np.int32)] * width
        self._repeats = np.empty(0)
        self._waiting: list[list[npt.NDArray[np.int32]]] = []  # blocks that are not counted yet
        self._n_waiting = 0

    def add(self, codes: Sequence[IntArray]) -> None:
        """Add rows, given by the codes of their texts."""
        self._waiting.append([own.astype(np.int32) for own in codes])
        self._n_waiting += len(codes[0])
        if self._n_waiting > max(_MOST_WAITING, 4 * len(self._repeats)):
            self._count()

    def counted(self) -> CountedRows:
        """Return the distinct rows."""
        self._count()
        columns = [
            Column(codes.astype(np.int64), list(texts.code))
            for codes, texts in zip(self._counted, self.texts, strict=True)
        ]
        return CountedRows(columns, self._repeats)

    def _count(self) -> None:
        repeats = np.r_[self._repeats, np.ones(self._n_waiting)] if len(self._repeats) else None
        columns = list(map(np.concatenate, zip(self._counted, *self._waiting, strict=True)))
        sizes = [max(1, len(texts.code)) for texts in self.texts]
        first, self._repeats = count_distinct(columns, sizes, repeats)
        self._counted = [column[first] for column in columns]
        self._waiting, self._n_waiting = [], 0


class RowBlocks(Protocol):
    """A table of text that can count or measure many lines at a time.

    All functions return None where the lines must be looked at one by one.
    """

    def measure(
        self, numbers: list[int], labels: list[int], absent: frozenset[str]
    ) -> tuple[FloatArray, list[Column]] | None:
        """Read all rows: columns of numbers, nan for the `absent` texts, and columns of texts."""

    def count(self, where: list[int]) -> CountedRows | None:
        """Count the rows of some columns, given by number."""

    def count_groups(
        self, key: int, where: list[int], absent: frozenset[str]
    ) -> GroupCounter | None:
        """Count groups of neighbouring rows of one key, which is none of the `absent`."""


class CountedGroups(NamedTuple):
    """Distinct groups of rows, one after another, their lengths and how often each occurs."""

    columns: list[Column]
    lengths: IntArray
    repeats: FloatArray


class GroupCounter:
    """Counts distinct groups of neighbouring rows that have a key in common.

    Parameters
    ----------
    width
        Number of columns besides the key.
    """

    def __init__(self, width: int) -> None:
        self.texts = [TextCodes() for _ in range(width)]
        self._groups: Counter[bytes] = Counter()  # by the codes of their rows
        self._keys = array("q")  # hashes of all keys
        self._last: tuple[str, bytes] | None = None  # key and rows of a group that may go on

    def add(self, keys: Sequence[str], runs: IntArray, codes: Sequence[IntArray]) -> None:
        """Add rows: the key of each run, the number of the run of each row, and codes of texts."""
        content = np.stack(codes, axis=1).astype(np.int32).tobytes()
        names = list(keys)
        groups = _cut(content, 4 * len(codes) * np.searchsorted(runs, np.arange(len(names))))
        if self._last is not None:
            key, group = self._last
            if names and names[0] == key:
                groups[0] = group + groups[0]
            else:
                names, groups = [key, *names], [group, *groups]
        if names:
            self._last = names.pop(), groups.pop()
        self._keys.extend(map(hash, names))
        self._groups.update(groups)

    def counted(self, replace: Callable[[str], str] | None = None) -> CountedGroups | None:
        """Return the groups, with texts replaced; None where a key comes back later on."""
        if self._last is not None:
            self._keys.append(hash(self._last[0]))
            self._groups[self._last[1]] += 1
            self._last = None
        if len(np.unique(np.frombuffer(self._keys, np.int64))) < len(self._keys):
            return None
        groups, texts = self._groups, [list(own.code) for own in self.texts]
        if replace is not None:
            new = [Column.of([replace(text) for text in own]) for own in texts]
            if any(len(n.values) < len(own) for n, own in zip(new, texts, strict=True)):
                groups = _recoded(groups, [column.codes for column in new])
            texts = [column.values for column in new]
        rows = _rows_of(groups, len(texts))
        columns = [Column(rows[:, k].astype(np.int64), own) for k, own in enumerate(texts)]
        lengths = np.fromiter(map(len, groups), np.int64, len(groups)) // (4 * len(texts))
        return CountedGroups(
            columns, lengths, np.fromiter(groups.values(), np.float64, len(groups))
        )


def _rows_of(groups: Iterable[bytes], width: int) -> npt.NDArray[np.int32]:
    """Join groups of rows."""
    return np.frombuffer(b"".join(groups), np.int32).reshape(-1, width)


def _recoded(groups: Counter[bytes], codes: list[IntArray]) -> Counter[bytes]:
    """Replace the codes of each column by others, and count groups that have become equal."""
    rows = _rows_of(groups, len(codes))
    content = np.stack([new[rows[:, k]] for k, new in enumerate(codes)], axis=1).astype(np.int32)
    lengths = np.fromiter(map(len, groups), np.int64, len(groups))
    recoded: Counter[bytes] = Counter()
    parts = _cut(content.tobytes(), np.cumsum(lengths) - lengths)
    for group, times in zip(parts, groups.values(), strict=True):
        recoded[group] += times
    return recoded


def _cut(content: bytes, begins: IntArray) -> list[bytes]:
    """Cut bytes into parts."""
    return [content[a:b] for a, b in pairwise([*begins.tolist(), len(content)])]
