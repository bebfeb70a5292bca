"""Valid files to begin with: those of the docs, and one of each shape that readers know."""

import gzip
import io
import re
from pathlib import Path

import polars as pl

DOCS = Path(__file__).parents[3]

PREFLIB = "# DATA TYPE: {0}\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: Ann\n" \
    "# ALTERNATIVE NAME 2: Bo\n# ALTERNATIVE NAME 3: Cy\n"  # fmt: skip

TABLES: list[tuple[str | None, str]] = [
    ("pairs", "item1;item2;wins1;wins2;ties\na;b;2;1;1\nb;c;1.5;0;0\n"),
    ("pairs", ",a,b,c\na,,2,1\nb,1,,0\nc,3,1,\n"),
    ("rankings", "race,driver,place\n1,a,1\n1,b,2\n1,c,DNF\n2,b,1\n2,a,2\n"),
    ("rankings", "Rank_1,Rank_2,count\na,b,2\nb,,1\n"),
    ("choices", "chosen,offered,count\ntea,tea|milk,2\nmilk,tea|milk|wine,1\n"),
    ("choices", "case,alt,choice\n1,car,1\n1,bus,0\n2,car,0\n2,bus,1\n"),
    ("transitions", "from,to,count\na,b,3\nb,c,2\nc,a,1\n"),
    ("table", "row,a,b,c\nx,5,,2\ny,1,2,0\n"),
    ("teams", "winners,losers\na+b,c+d\nc,a\n"),
    ("pairs", "winner  loser count\n'ann b' bo 2\n bo\t cy 1\n"),
    ("pairs", '"winner" "loser"\n"1" "a" "b"\n"2" "b" "NA"\n'),
    ("table", "   a b c\nx  0 2 NA\ny  1 0 4\n"),
    ("groups", "group,count,within\na|b,2,a|b|c\nc,3,\n"),
]


def _from_docs() -> dict[str, list[str]]:
    """Text that the pages of the docs write to files, by suffix."""
    found: dict[str, list[str]] = {}
    pages = [DOCS / "README.md", *sorted((DOCS / "docs").rglob("*.md"))]
    written = re.compile(r'Path\("[^"]+\.(\w+)"\)\.write_text\(("(?:[^"\\]|\\.)*")\)')
    for page in pages:
        for suffix, literal in written.findall(page.read_text(encoding="utf-8")):
            text = literal[1:-1].encode().decode("unicode_escape")
            found.setdefault(suffix, []).append(text)
    return found


def _files() -> dict[str, list[tuple[str | None, bytes]]]:
    docs = _from_docs()
    assert docs["csv"], "the docs write no tables any more: mend the pattern"
    assert docs["soi"]
    tables = [(None, text) for text in docs["csv"]] + TABLES
    packed = io.BytesIO()
    pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"], "count": [1, 2]}).write_parquet(packed)
    pgn = '[White "de Vries, A"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 {x} e5 (1... c5) 1-0\n\n'
    json_lines: list[tuple[str | None, str]] = [
        (None, '{"winner": "a", "loser": "b"}\n{"winner": "b", "loser": "c", "x": {}}\n'),
        ("rankings", '["a", "b", ["c", "d"]]\n["b", "a", "c", "d"]\n'),
        ("choices", '{"chosen": 1, "offered": [1, 2]}\n'),
        ("teams", '{"winners": ["a", "b"], "losers": ["c"]}\n'),
    ]
    texts: dict[str, list[tuple[str | None, str]]] = {
        "csv": tables,
        "tsv": [(kind, text.replace(",", "\t")) for kind, text in TABLES],
        "json": json_lines,
        "orders": [("rankings", text) for text in ["Ann>Bo=Cy\n", *docs.get("txt", [])]],
        "pgn": [(None, pgn)],
        "soc": [(None, PREFLIB.format("soc") + "3: 1,2,3\n")],
        "soi": [(None, PREFLIB.format("soi") + "3: 1,2\n"), *((None, t) for t in docs["soi"])],
        "toc": [(None, PREFLIB.format("toc") + "3: {1,2},3\n")],
        "toi": [(None, PREFLIB.format("toi") + "3: {1,2}\n")],
        "wmd": [("pairs", PREFLIB.format("wmd") + "1,2,3.0\n")],
    }
    found = {name: [(k, t.encode()) for k, t in some] for name, some in texts.items()}
    found["packed"] = [(kind, gzip.compress(text, mtime=0)) for kind, text in found["csv"]]
    found["parquet"] = [(None, packed.getvalue())]
    return found


FILES = _files()
