"""How one text cell is kept safe in a spreadsheet and still read back as it was.

A leading apostrophe is the spreadsheets' own mark for "this is text". The writer puts one in front
of a text that would be run as a formula or be read as something else (a *guarded* text); the reader
takes one away from a guarded text that has one, and strips blanks from every other cell. Both look
at the text behind its apostrophes, so the pair is a bijection: ``unshield(shield(x)) == x``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# No two parts can share a run of digits: trying every way to divide one takes quadratic time.
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")


def is_number(text: str) -> bool:
    """Whether the text is a plain decimal number such as ``-0.5`` or ``1e-3``."""
    return NUMBER.fullmatch(text) is not None


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would try to run the text; plain numbers are not formulas."""
    return text[:1] in _FORMULA_STARTS and not is_number(text)


def csv_safe(text: str) -> str:
    """The text for a cell of an exported table: formulas get an apostrophe in front.

    One way only. Vote files use ``shield``, which ``unshield`` undoes.
    """
    return f"'{text}" if is_formula(text) else text


def not_reserved(_text: str) -> bool:
    """No text has another meaning in this place."""
    return False


def shield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """The text as a vote file holds it: one apostrophe more if it is guarded.

    ``reserved`` says which texts would be read as something else in this place, for example
    ``label`` as the name of a judge.
    """
    return f"'{text}" if _guarded(text, reserved) else text


def unshield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """What the cell of a vote file says: the inverse of ``shield``, blanks around it stripped."""
    if text.startswith("'") and _guarded(text, reserved):
        return text[1:]
    return text.strip()


def _guarded(text: str, reserved: Callable[[str], bool]) -> bool:
    core = text.lstrip("'")
    return is_formula(core) or core != core.strip() or reserved(core)
