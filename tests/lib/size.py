"""How much a test draws: little where kernels run as plain Python, much where they are compiled."""

import numba

# True where NUMBA_DISABLE_JIT is set, as `make coverage` does.
PLAIN_PYTHON = bool(numba.config.DISABLE_JIT)


def draws(compiled: int, plain: int) -> int:
    """Choose a number of draws by whether kernels are compiled."""
    return plain if PLAIN_PYTHON else compiled
