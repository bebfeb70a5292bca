"""Random sequences of public calls: how many, how long, and with which seed."""

from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from lib.bounds import SEED
from lib.random_data import TIMES


def run_sequences(
    machine: type[Any], examples: int, steps: int = 15, salt: int = 0, shrink: bool = True
) -> None:
    """Run random sequences of calls, the same ones for one LUCE_TEST_SEED.

    `shrink` looks for the shortest sequence that fails; controls need none.
    """
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    how = settings(
        max_examples=examples * TIMES,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(1000 * SEED + salt)(machine), settings=how)
