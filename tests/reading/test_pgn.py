"""Chess games: who played whom with which result, whatever stands between."""

import random
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from lib.data_files import refusal

import luce
from luce.errors import Problem
from luce.reading.pgn import RESULTS, Game, is_pgn, parse_pgn

CLUB = """\
[Event "Club night"]
[Site "Leiden NED"]
[Date "2021.10.05"]
[Round "1"]
[White "de Vries, Anna"]
[Black "Okafor, Ben"]
[Result "1-0"]
[WhiteElo "1850"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 $2 {natural, but
[White "somebody else"] was meant to look at f7 (see
[Result "0-1"] below; 1-0)} (3... g6 4. Qf3 {and [Black "x"]} 1/2-1/2) 4. Qxf7# 1-0

"""
RAPID = r"""
% made by hand [White "nobody"]
; another remark [White "nobody"]
[Event "Rapid"][White "Li \"Wei\" \\ L"] [ Black
  "Okafor, Ben" ]
[Result   "1/2-1/2"] 1.d4 d5 ; [Result "0-1"] 1-0 {
2.O-O-O O-O *
"""
OPEN = """\
[White "Ray"]
[Black "de Vries, Anna"]
[Result "*"]

1. c4 *
"""


def parse(text: str) -> list[Game | Problem]:
    return list(parse_pgn(enumerate(text.splitlines(), 1)))


def game(
    white: str = "Ann", black: str = "Bo", result: str = "1-0", moves: str = "1. e4 1-0"
) -> str:
    return f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n{moves}\n\n'


def test_games_as_they_come() -> None:
    rapid = RAPID.replace("O-O *", "O-O 1/2-1/2")
    assert parse(CLUB + rapid + OPEN) == [
        Game(1, "de Vries, Anna", "Okafor, Ben", "1-0"),
        Game(17, 'Li "Wei" \\ L', "Okafor, Ben", "1/2-1/2"),
        Game(21, "Ray", "de Vries, Anna", "*"),
    ]


def test_is_pgn() -> None:
    assert is_pgn(CLUB)
    assert is_pgn(RAPID)
    assert is_pgn('\n\n[White\n"Ann"]')
    assert not is_pgn('["White", "Black"]')
    assert not is_pgn("[section]\nkey = 1")
    assert not is_pgn("white,black,result")
    assert not is_pgn("")
    assert not is_pgn("%" * 10_000)


@pytest.mark.parametrize("result", RESULTS)
def test_every_result(result: str) -> None:
    assert parse(game(result=result, moves=f"1. e4 {result}")) == [Game(1, "Ann", "Bo", result)]


@pytest.mark.parametrize(
    "moves",
    [
        "",
        "1-0",
        "1. e4",
        "1. e4 e5 {all}1-0",
        "1. e4 (1. d4 (1. c4 0-1) 0-1) 1-0",
        "1. e4 {(} 1-0",
        "1. e4 ; {\n1-0",
        "1. e4 {; } 1-0",
        '{\n\n[White "x"]\n[Black "y"]\n[Result "0-1"]\n} 1-0',
        "1. e4 $1 e5 $139 !? 2. f4 ?! 1-0 {really 0-1}",
        "1. e4\n% 0-1\n1-0",
        "1. e4 (1. d4 1-0",
        "1. e4 e5) 1-0",
        "1. 0-0 0-0-0 2. e8=Q# 1-0",
        "1. e4 { [%clk 0:01:00] } e5 { [%clk 0:00:59] } 1-0",
        "1. e4 1-0 1-0",
    ],
)
def test_moves_do_not_confuse(moves: str) -> None:
    found = parse(game(moves=moves) + game("Cy", "Di"))
    assert [item[1:] for item in found] == [("Ann", "Bo", "1-0"), ("Cy", "Di", "1-0")]


def test_tags_in_any_layout() -> None:
    expected = [Game(1, "A", "B", "1-0"), Game(1, "C", "D", "0-1")]
    one = '[White "A"][Black "B"] [Result "1-0"] 1. e4 1-0'
    other = '[White "C"]\t[Black "D"][Result "0-1"]'
    assert parse(f"{one} {other}") == expected
    assert parse(f"  {one}\n{other}") == [expected[0], Game(2, "C", "D", "0-1")]
    assert parse('[\nWhite\n\n"A"\n]\n[Black "B"\n] [Result "1-0"]') == [Game(1, "A", "B", "1-0")]


def test_games_without_moves() -> None:
    tags = '[Event "x"]\n[White "{0}"]\n[Black "Bo"]\n[Result "1-0"]\n'
    found = parse(tags.replace("{0}", "A") + tags.replace("{0}", "C"))
    assert found == [Game(1, "A", "Bo", "1-0"), Game(5, "C", "Bo", "1-0")]


def test_empty_lines_between_tags() -> None:
    spread = game().replace("\n", "\n\n")
    assert parse(spread * 2) == [Game(1, "Ann", "Bo", "1-0"), Game(13, "Ann", "Bo", "1-0")]
    # The rest of one game and the whole of another must not become a game that nobody played.
    half = '[Event "x"]\n[Black "B"]\n[Result "1-0"]\n\n'
    lacking = Problem(1, "the game has no tag White; White, Black, Result are needed.")
    assert parse(half + game()) == [lacking, Game(5, "Ann", "Bo", "1-0")]
    assert parse(half + '[Event "x"]\n' + game()) == [lacking, Game(5, "Ann", "Bo", "1-0")]


def test_quotes_that_nobody_escaped() -> None:
    (found,) = parse(game(white='Robert "Bob" Lee'))
    assert found == Game(1, 'Robert "Bob" Lee', "Bo", "1-0")
    assert parse('[Site "C:\\"]\n' + game()) == [Game(1, "Ann", "Bo", "1-0")]


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ('[Black "B"]\n[Result "1-0"]', 1, "the game has no tag White; White, Black, Result are"),
        ('[White "A"]\n[Result "1-0"]', 1, "the game has no tag Black"),
        ('[White "A"]\n[Black "B"]\n\n1. e4', 1, "the game has no tag Result"),
        ("1. e4 e5", 1, "the game has no tag White"),
        (game(result="1/2"), 3, "the result is '1/2'; it can be 1-0, 0-1, 1/2-1/2, *."),
        (game(result=""), 3, "the result is ''"),
        (game(moves="1. e4\n0-1"), 6, "the moves end with 0-1, but the tag Result says 1-0."),
        (game(moves="1. e4 *"), 5, "the moves end with *, but"),
        (game(moves="1. e4 1-0\n0-1"), 6, "the moves end with 0-1 after 1-0; one result is needed"),
        (game(black="Ann"), 2, "'Ann' plays both sides; two players are needed."),
        (game(white="?"), 1, "White is '?'; the name of a player is needed."),
        (game(black=" "), 2, "Black is ''; the name of a player is needed."),
        ('[White "A]\n[Black "B"]\n[Result "1-0"]', 1, '\'[White "A]\' is no tag; [Name "value"]'),
        ('[White\n[Black "B"]\n[Result "1-0"]', 1, "'[White' is no tag"),
        ('[White "A"]\n[Black "B"]\n[Result "1-0"', 3, "'[Result \"1-0\"' is no tag"),
        (game(moves="1. e4 {never\n\nends"), 5, "a comment begins with { and never ends"),
        (
            game(moves="1. e4 {lost 1-0") + game(moves="1. d4 {good} 1-0"),
            5,
            "a comment goes on over the tags of the next game; } is needed before them.",
        ),
        (
            game(moves="1. e4 {lost 1-0") + game(moves="1. d4 {good,\nso} 1-0"),
            5,
            "a comment goes on over the tags of the next game",
        ),
    ],
)
def test_bad_games_are_named_by_line(text: str, place: int, what: str) -> None:
    good = "" if "never ends" in what else game("Cy", "Di")
    problem, *rest = parse(f"{text}\n\n{good}")
    assert isinstance(problem, Problem)
    assert problem.place == place
    assert what in problem.what
    assert [item[1:] for item in rest] == [("Cy", "Di", "1-0")] * bool(good)


def test_moves_after_a_result_are_another_game() -> None:
    found = parse(game() + "1. d4 d5 1-0\n\n" + game("Cy", "Di"))
    assert found[0] == Game(1, "Ann", "Bo", "1-0")
    assert found[1] == Problem(7, "the game has no tag White; White, Black, Result are needed.")
    assert found[2] == Game(9, "Cy", "Di", "1-0")


def test_nothing_to_read() -> None:
    assert parse("") == []
    assert parse("\n% remark\n; remark\n{remark}\n") == []


def test_memory_does_not_grow() -> None:
    def endless() -> Iterator[tuple[int, str]]:
        lines = (CLUB + "{\n" + "long comment\n" * 20 + "}\n").splitlines()
        number = count(1)
        for _ in range(1500):
            yield from ((next(number), line) for line in lines)

    # Memory that the reader's own lines took; other threads of the tests take memory meanwhile.
    own = tracemalloc.Filter(True, sys.modules[Game.__module__].__file__ or "")
    held, n = [], 0
    tracemalloc.start()
    try:
        for item in parse_pgn(endless()):
            n += isinstance(item, Game)
            if n in (500, 1000, 1500):
                taken = tracemalloc.take_snapshot().filter_traces([own]).traces
                held.append(sum(trace.size for trace in taken))
    finally:
        tracemalloc.stop()
    assert n == 1500
    assert max(held) < 200_000


def test_long_lines_cost_no_more_than_their_length() -> None:
    n = 20_000
    for line in (
        "{" * n,
        "[" * n,
        "(" * n,
        '[White "' + "\\" * n,
        '"] ' * n,
        " " * n + "[",
        "; " * n,
    ):
        assert len(parse(line)) <= 2
    assert len(parse(f'[White "A"][Black "B"][Result "1-0"] {"{x} e4 " * n} 1-0')) == 1
    assert len(parse('[White "A"][Black "B"][Result "1-0"] 1-0 ' * 2000)) == 2000


@pytest.mark.parametrize("seed", range(4))
def test_mutations_raise_nothing(seed: int) -> None:
    rng = random.Random(seed)
    pieces = [
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        '"',
        "\\",
        ";",
        "%",
        "\n",
        "1-0",
        "*",
        "[White ",
        "\x00",
    ]
    games = problems = 0
    for _ in range(1000):
        text = rng.choice([CLUB, RAPID, OPEN]) + rng.choice([CLUB, RAPID, OPEN])
        for _ in range(rng.randint(1, 4)):
            i = rng.randrange(len(text) + 1)
            gone = rng.choice([0, 0, 1, 1, 5, 40])
            text = text[:i] + rng.choice([*pieces, ""]) + text[i + gone :]
        is_pgn(text)
        last = len(text.splitlines())
        for item in parse(text):
            assert 1 <= item[0] <= last
            if isinstance(item, Game):
                games += 1
                assert item.result in RESULTS
                assert item.white != item.black
                assert "" not in item
            else:
                problems += 1
    assert min(games, problems) > 100


PGN = (
    '[White "Ann"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    '[White "Bo"]\n[Black "Ann"]\n[Result "0-1"]\n\n*\n\n'.replace("\n*\n", "\n1. d4 0-1\n")
    + '[White "Ann"]\n[Black "Cy"]\n[Result "*"]\n\n*\n'
)


def test_chess_games_with_the_advantage_of_the_first(write: Any) -> None:
    games = {"item1": ["Ann", "Bo"], "item2": ["Bo", "Ann"], "outcome": ["Ann", "Ann"]}
    path = write("games.pgn", PGN)
    assert luce.read(path, home="first") == luce.from_pairs(games, home="first")
    assert luce.read(path).categories == ("Ann", "Bo")  # an unfinished game says nothing
    assert "pairs" in refusal(path, kind="rankings")
