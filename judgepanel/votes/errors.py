"""The error that all bad input raises: one sentence that says where it is and what is allowed."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from judgepanel.votes.remedies import CHECK_PATH

SHOWN_LENGTH = 60


def quote_value(value: object, length: int = SHOWN_LENGTH) -> str:
    """Quote an untrusted value for a one-line message: no control characters, bounded length."""
    start = str(value)[: length + 1]
    text = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in start)
    if len(text) > length:
        text = text[: length - 1] + "…"
    return f"'{text}'"


def listed(names: Sequence[str], limit: int = 5, *, length: int = SHOWN_LENGTH) -> str:
    """Return the first few names, quoted, and how many more there are."""
    text = ", ".join(quote_value(name, length) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs again, None if all differ; linear time."""
    if len(set(names)) == len(names):
        return None
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)


class InputError(ValueError):
    """A user's input cannot be used.

    The message is one sentence on one line. ``file``, ``row`` (1-based line of the file, header
    included), ``column`` and ``value`` say where the problem is; ``allowed`` says what is accepted,
    and ``remedy`` what to do; every error about columns has a remedy. ``choices`` are what the user
    can choose from where something has to be named.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: object | None = None,
        allowed: str | None = None,
        remedy: str | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.problem = problem
        self.file = file
        self.row = row
        self.column = column
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        self.choices = choices
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = []
        if self.file is not None:
            where.append(quote_value(self.file)[1:-1])
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {quote_value(self.column)}")
        text = ", ".join(where)
        text = f"{text}: {self.problem}" if text else self.problem
        if self.value is not None:
            text += f" (found {quote_value(self.value)})"
        if self.allowed is not None:
            text += f"; allowed: {self.allowed}"
        if self.remedy is not None:
            text += f"; {self.remedy}"
        return " ".join(text.split()).rstrip(".") + "."

    def in_file(self, file: str) -> InputError:
        """Return the same error with the file's name filled in."""
        return type(self)(
            self.problem,
            file=file,
            row=self.row,
            column=self.column,
            value=self.value,
            allowed=self.allowed,
            remedy=self.remedy,
            choices=self.choices,
        )


def unopened(error: OSError, file: str) -> InputError:
    """Return the refusal of a file that the operating system does not open."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", file=file, remedy=CHECK_PATH)
    return InputError(
        f"cannot be read: {error.strerror}",
        file=file,
        remedy="make it readable, or choose a copy of it",
    )


class TooLarge(InputError):
    """An archive unpacks to more than is allowed; the whole upload is refused, not one file."""
