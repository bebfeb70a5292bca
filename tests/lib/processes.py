"""Ctrl-C in tests, also where the shell that started them in the background has switched it off."""

import signal


def listen_to_ctrl_c() -> None:
    """Give SIGINT its usual meaning again in this process and in those that it starts.

    A process started with ``&`` or ``nohup`` ignores SIGINT and hands that on to its children.  A
    handler is not handed on: children then start with the default, and Python with its own handler.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
