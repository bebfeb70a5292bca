"""Processes of tests: Ctrl-C in the background, and what they say about compilation."""

import signal


def listen_to_ctrl_c() -> None:
    """Give SIGINT its usual meaning again in this process and in those that it starts.

    A process started with ``&`` or ``nohup`` ignores SIGINT and hands that on to its children.  A
    handler is not handed on: children then start with the default, and Python with its own handler.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def without_compilation(errors: str) -> str:
    """Leave out what the first process of all says while it compiles, or waits for another."""
    begins = ("luce: compiling", "luce: waiting for another process that compiles")
    return "".join(line for line in errors.splitlines(True) if not line.startswith(begins))
