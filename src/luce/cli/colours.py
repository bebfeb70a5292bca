"""Colours of verdicts: on a terminal only, and never the only sign of what a word says."""

from __future__ import annotations

import os
import sys
from typing import TextIO

_CODES = {"good": "32", "mixed": "33", "bad": "31"}  # green, amber, red


def coloured(text: object, kind: str) -> str:
    """Colour words for standard output by the kind of a verdict, where colours are wanted."""
    code = _CODES.get(kind)
    if code is None or not wants_colours(sys.stdout):
        return str(text)
    return f"\x1b[{code}m{text}\x1b[0m"


def wants_colours(stream: TextIO) -> bool:
    """Tell whether a stream takes colours: NO_COLOR forbids them, FORCE_COLOR asks for them."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
