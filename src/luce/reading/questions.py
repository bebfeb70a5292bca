"""Questions about data that are asked all at once, not one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from luce.errors import BadRowsError, DataError, QuestionsError


class Questions:
    """Questions about data, gathered in a `with` block at whose end all of them are asked."""

    def __init__(self) -> None:
        self._asked: list[str] = []

    def __enter__(self) -> Questions:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        asked = list(dict.fromkeys(self._asked))
        if error is None and asked:
            raise DataError(asked[0]) if len(asked) == 1 else QuestionsError(asked)

    def __bool__(self) -> bool:
        return bool(self._asked)

    def ask(self, question: str) -> None:
        """Add a question."""
        self._asked.append(question)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Add what a call refuses, and go on; bad rows are not asked about."""
        try:
            yield
        except BadRowsError:
            raise
        except QuestionsError as error:
            self._asked += error.questions
        except DataError as error:
            self.ask(str(error))
