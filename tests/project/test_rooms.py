"""The picture of the rooms shows the imports that there are, and they go one way."""

import importlib.util
import re

from lib.places import DOCS

SPEC = importlib.util.spec_from_file_location("rooms", DOCS / "rooms.py")
assert SPEC is not None
assert SPEC.loader is not None
rooms = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rooms)


def test_the_picture_is_that_of_the_imports() -> None:
    """`python docs/rooms.py` draws it again."""
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.draw()


def test_every_folder_is_a_room() -> None:
    folders = {p.name for p in rooms.SOURCE.iterdir() if (p / "__init__.py").exists()}
    files = {p.stem for p in rooms.SOURCE.glob("*.py") if not p.stem.startswith("_")}
    assert folders | files == set(rooms.rooms())


def test_imports_go_down() -> None:
    order = {name: place for place, name in enumerate(rooms.rooms())}
    for name in order:
        assert all(order[other] < order[name] for other in rooms.imported_rooms(name)), name


def test_the_page_names_rooms_and_files_that_exist() -> None:
    page = (DOCS / "developers.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", page))
    places = [rooms.SOURCE, rooms.ROOT, rooms.ROOT / "src"]
    missing = {name for name in named if not any((place / name).exists() for place in places)}
    assert missing - {"site/"} == {"reading/notes.py"}  # a folder that is built, and an example
