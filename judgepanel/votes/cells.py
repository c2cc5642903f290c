"""Escaping of text cells so that spreadsheets do not run them and readers restore them exactly.

A leading apostrophe is how spreadsheets mark a cell as text. The writer adds one to a text that
would be run as a formula or read as something else (a *guarded* text); the reader removes one from
a guarded text that has one, and strips blanks from every other cell. Both look at the text behind
its apostrophes, so the pair is a bijection: ``unshield(shield(x)) == x``.

A list of names is one text too (:func:`join_names`): commas between them, quotes where needed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable

from judgepanel.votes.errors import InputError

# No two parts of the pattern match the same digits, which would make backtracking quadratic.
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What no text in a file of votes can hold: NUL and half a surrogate pair."""
_SEPARATORS = frozenset(',;|\t"\r\n')
_IN_LIST = frozenset(',"\r\n')
_FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")


def is_number(text: str) -> bool:
    """Whether the text is a plain decimal number such as ``-0.5`` or ``1e-3``."""
    return NUMBER.fullmatch(text) is not None


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would try to run the text; plain numbers are not formulas."""
    return text[:1] in _FORMULA_STARTS and not is_number(text)


def csv_safe(text: str) -> str:
    """Return the text for a cell of an exported table, formulas with a leading apostrophe.

    Not reversible. Vote files use ``shield``, which ``unshield`` undoes.
    """
    return f"'{text}" if is_formula(text) else text


def csv_quoted(text: str, special: frozenset[str] = _SEPARATORS) -> str:
    """Return the text as a CSV holds it, quoted if a reader could take a part as a separator."""
    return text if special.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


def not_reserved(_text: str) -> bool:
    """No text is reserved here."""
    return False


def shield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """Return the text as a vote file holds it, with one more apostrophe if it is guarded.

    ``reserved`` tells which texts would be read as something else here, for example ``label`` as
    the name of a judge.
    """
    return f"'{text}" if _guarded(text, reserved) else text


def unshield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """Return the text in a cell of a vote file: the inverse of ``shield``, with blanks stripped."""
    if text.startswith("'") and _guarded(text, reserved):
        return text[1:]
    return text.strip()


def _guarded(text: str, reserved: Callable[[str], bool]) -> bool:
    core = text.lstrip("'")
    return is_formula(core) or core != core.strip() or reserved(core)


def join_names(names: Iterable[str]) -> str:
    """Return the text from which :func:`split_names` reads these names."""
    return ",".join(csv_quoted(name, _IN_LIST) for name in names)


def split_names(text: str) -> list[str]:
    """Return the names in a text, without blanks around them.

    Raises
    ------
    InputError
        A line break outside quotes, or a name longer than any file may have.
    """
    try:
        return [name.strip() for row in csv.reader([text]) for name in row if name.strip()]
    except csv.Error:
        raise InputError(
            "these names cannot be read",
            value=text,
            allowed="names separated by commas, in double quotes where they contain a comma",
        ) from None
