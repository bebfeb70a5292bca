"""What luce says when something is wrong: what was given, what is allowed, what to do."""


class LuceError(ValueError):
    """Base of every error luce raises on purpose."""


class DataError(LuceError):
    """Counts, labels, sets, priors or probabilities that cannot be right."""


class NotExactError(LuceError):
    """A closed form was asked for where none exists; `cores` says how many stand in the way."""

    def __init__(self, message: str, cores: int = 0) -> None:
        super().__init__(message)
        self.cores = cores


class MethodError(LuceError):
    """A sampling method or option that does not exist or does not fit the problem."""


class ConvergenceWarning(UserWarning):
    """The draws should not be trusted yet; `rhat` and `ess` hold the worst values found."""

    def __init__(self, message: str, rhat: float = float("nan"), ess: float = float("nan")) -> None:
        super().__init__(message)
        self.rhat = rhat
        self.ess = ess
