"""Chess games in portable game notation: who played white, who black, and the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from luce.errors import DataError, Problem
from luce.reading.sources import Source
from luce.reading.text import LineSource, Row, TextFile
from luce.reading.values import quoted

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_NEEDED = ("White", "Black", "Result")
_KEPT = ("Event", *_NEEDED)  # tags in their usual order

_NAME = r"\[\s*([\w+#=:-]++)\s*"
_VALUE = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*'
_TAG = re.compile(rf"{_NAME}{_VALUE}\]\s*")
_LOOSE_TAG = re.compile(rf'{_NAME}"(.*)"\s*\]\s*')  # quotes within the value were not escaped
_HALF_TAG = re.compile(rf"\[\s*|{_NAME}(?:{_VALUE})?")
_TAG_START = re.compile(rf'{_NAME}"')
_ESCAPED = re.compile(r'\\(["\\])')
# Everything of interest between tags: comments, variations, the start of a tag, a result.
_EVENT = re.compile(r"\{[^}]*+\}?|;.*|[()\[]|(?<![\w/-])(?:1-0|0-1|1/2-1/2|\*)(?![\w/-])", re.ASCII)


class Game(NamedTuple):
    """One game; `line` is that of its first tag, `result` is one of RESULTS."""

    line: int
    white: str
    black: str
    result: str


def is_pgn(head: str) -> bool:
    """Tell from its beginning whether a file holds chess games."""
    head = head.lstrip()
    while head.startswith((";", "%")):
        head = head.partition("\n")[2].lstrip()
    return _TAG_START.match(head) is not None


def parse_pgn(lines: Iterable[tuple[int, str]]) -> Iterator[Game | Problem]:
    """Read games one by one; only the one being read is held in memory.

    Parameters
    ----------
    lines
        Number and text of each line, without line ends.

    Yields
    ------
    Game or Problem
        Each game, also without a result ("*"), or the reason why it cannot be used.
    """
    reader = _Reader()
    for number, text in lines:
        if reader.comment or reader.half:
            reader.read(number, text)
        elif not text or text.isspace():
            reader.gap = True
        elif text[0] == "%":
            continue
        elif (
            "{" in text
            or "[" in text
            or "1-0" in text
            or "0-1" in text
            or "1/2" in text
            or "*" in text
            or "(" in text
            or ")" in text
            or ";" in text
        ):
            reader.read(number, text)
        else:  # only moves, as on most lines
            reader.meet_moves(number)
        if reader.done:
            yield from reader.done
            reader.done.clear()
    reader.end()
    yield from reader.done


def pgn_source(text: TextFile, kind: str | None) -> tuple[Source, str, dict[str, Any]]:
    """Open a file of games: rows of those with a result, their kind, and their columns."""
    if kind not in (None, "pairs"):
        raise DataError(f"kind = {kind!r}, but games in PGN are pairs.")

    def rows() -> Iterator[Row]:
        for game in parse_pgn(text.lines()):
            if isinstance(game, Problem):
                text.problems.add(game)
            elif game.result != "*":
                yield game.line, (game.white, game.black, game.result)

    source = LineSource(text.path.name, ["White", "Black", "Result"], rows, text.problems)
    return source, "pairs", {"item1": "White", "item2": "Black", "outcome": "Result"}


class _Reader:
    """The state of parsing: the game being read, and the place within it."""

    def __init__(self) -> None:
        self.done: list[Game | Problem] = []
        self.comment = 0  # first line of the open brace comment; 0 if none is open
        self.half: tuple[int, str] | None = None  # a tag that continues on the next line
        self._in_comment: set[str] = set()
        self._begin_game()

    def _begin_game(self) -> None:
        self.line = 0  # 0: no game yet
        self.gap = False  # an empty line came after the last tag
        self.tags: dict[str, tuple[int, str]] = {}
        self.moved = False
        self.depth = 0  # of variations
        self.token: tuple[int, str] | None = None  # the result among the moves
        self.complaint: Problem | None = None

    def read(self, number: int, text: str) -> None:
        """Read a line with tags, comments, variations or results."""
        at = 0
        if self.comment:
            at = self._leave_comment(text)
        elif self.half:
            number, text = self._join_half(self.half, number, text)
        while at < len(text):
            if text[at].isspace():
                at += 1
            elif text[at] == "[":
                at = self._read_tag(number, text, at)
            else:
                at = self._read_moves(number, text, at)

    def meet_moves(self, number: int) -> None:
        """Note that moves occur; after a result, they belong to the next game."""
        if self.token:
            self._finish()
        self.line = self.line or number
        self.moved = True

    def end(self) -> None:
        """Finish the last game."""
        if self.comment:
            self._complain(self.comment, "a comment begins with { and never ends; } is needed.")
        if self.half:
            self._complain_of_tag(*self.half)
        self._finish()

    def _leave_comment(self, text: str) -> int:
        end = text.find("}")
        tag = _TAG_START.match(text)
        if tag and tag[1] in _NEEDED:
            self._in_comment.add(tag[1])
        # Comments do not nest: one with the tags of a game and another { has lost its }.
        opened = text.find("{")
        if len(self._in_comment) == len(_NEEDED) and (0 <= opened < end or opened > end == -1):
            what = "a comment goes on over the tags of the next game; } is needed before them."
            self._complain(self.comment, what)
        if end < 0:
            return len(text)
        self.comment = 0
        return end + 1

    def _join_half(self, half: tuple[int, str], number: int, text: str) -> tuple[int, str]:
        self.half = None
        if text.lstrip().startswith("["):
            self._complain_of_tag(*half)
            return number, text
        return half[0], f"{half[1]} {text.strip()}"

    def _read_tag(self, number: int, text: str, at: int) -> int:
        tag = _TAG.match(text, at) or _LOOSE_TAG.fullmatch(text, at)
        if self.moved or (tag and self._begins_another(tag[1])):
            self._finish()
        self.line = self.line or number
        self.gap = False
        if tag is None:
            rest = text[at:].strip()
            if _HALF_TAG.fullmatch(rest):
                self.half = (number, rest)
            else:
                self._complain_of_tag(number, rest)
            return len(text)
        if tag[1] in _KEPT:
            value = _ESCAPED.sub(r"\1", tag[2]) if "\\" in tag[2] else tag[2]
            self.tags[tag[1]] = (number, value.strip())
        return tag.end()

    def _begins_another(self, name: str) -> bool:
        # Games need not have moves. Tags may come in any order, but not after an empty line.
        if name in self.tags or not self.gap or name not in _KEPT:
            return name in self.tags
        return any(later in self.tags for later in _KEPT[_KEPT.index(name) :])

    def _read_moves(self, number: int, text: str, at: int) -> int:
        for event in _EVENT.finditer(text, at):
            start, end = event.span()
            # Until a result comes, moves need to be noted only once.
            if (not self.moved or self.token) and text[at:start].strip():
                self.meet_moves(number)
            at, first = end, text[start]
            if first == "{":
                if text[end - 1] != "}":
                    self.comment = number
                    self._in_comment.clear()
            elif first == "[":
                return start
            elif first == "(":
                self.depth += 1
            elif first == ")":
                self.depth = max(0, self.depth - 1)
            elif first != ";" and self.depth == 0:
                self._meet_result(number, event[0])
        if text[at:].strip():
            self.meet_moves(number)
        return len(text)

    def _meet_result(self, number: int, token: str) -> None:
        self.line = self.line or number
        self.moved = True
        if self.token and self.token[1] != token:
            what = f"the moves end with {token} after {self.token[1]}; one result is needed."
            self._complain(number, what)
        self.token = self.token or (number, token)

    def _complain(self, number: int, what: str) -> None:
        self.line = self.line or number
        self.complaint = self.complaint or Problem(number, what)

    def _complain_of_tag(self, number: int, text: str) -> None:
        self._complain(number, f'{quoted(text)} is no tag; [Name "value"] is one.')

    def _finish(self) -> None:
        if self.line:
            self.done.append(self.complaint or self._judge())
        self._begin_game()

    def _judge(self) -> Game | Problem:
        lacking = next((name for name in _NEEDED if name not in self.tags), None)
        if lacking:
            what = f"the game has no tag {lacking}; {', '.join(_NEEDED)} are needed."
            return Problem(self.line, what)
        for name in ("White", "Black"):
            line, player = self.tags[name]
            if player in ("", "?"):
                return Problem(line, f"{name} is {player!r}; the name of a player is needed.")
        white, (line, black) = self.tags["White"][1], self.tags["Black"]
        if white == black:
            return Problem(line, f"{quoted(white)} plays both sides; two players are needed.")
        line, result = self.tags["Result"]
        if result not in RESULTS:
            what = f"the result is {quoted(result)}; it can be {', '.join(RESULTS)}."
            return Problem(line, what)
        if self.token and self.token[1] != result:
            line, token = self.token
            return Problem(line, f"the moves end with {token}, but the tag Result says {result}.")
        return Game(self.line, white, black, result)
