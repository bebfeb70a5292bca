"""A reader with a bug behind four bytes that only who is guided by coverage finds."""


def read_text(data: bytes) -> None:
    """Fail on what begins with the four characters, one by one."""
    text = data.decode("latin-1")
    if len(text) < 4:
        return
    if text[0] == "#":  # noqa: SIM102
        if text[1] == "9":  # noqa: SIM102
            if text[2] == "\x7f":  # noqa: SIM102
                if text[3] == "~":
                    raise KeyError("the planted bug")
