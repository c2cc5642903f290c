"""Escaping of untrusted text for Markdown, HTML or a terminal.

Numbers for people: three significant figures, intervals in brackets.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&=@/^\"'])")
LONGEST = 20_000
"""Maximum number of characters of a paragraph."""
LONGEST_CELL = 60


def plain(text: str, length: int = 80) -> str:
    """Return one line without control or direction characters, of bounded length."""
    start = text[: length + LONGEST]
    flat = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in start)
    flat = " ".join(flat.split())
    whole = len(flat) <= length and len(start) == len(text)
    return flat if whole else flat[: length - 1] + "…"


def markdown(text: str, length: int = 400) -> str:
    """Return text that Markdown shows unchanged: all marks escaped, no emoji codes, no links."""
    return _MARKDOWN.sub(lambda result: f"&#{ord(result[1])};", plain(text, length))


def in_html(text: str, length: int = 400) -> str:
    """Return text for an HTML body or attribute."""
    return html.escape(plain(text, length), quote=True)


def csv_name(text: str, ending: str) -> str:
    """Return a file name for a download: letters, digits, dot, dash and underscore only."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "analysis"
    return f"{stem[:60]}-{ending}"


def printable(text: str) -> str:
    """Return the text without escape sequences, direction marks and other control characters."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def one_line(text: str, length: int = LONGEST_CELL) -> str:
    """Return text on one line, as short as a cell of a table."""
    return plain(text, length)


def distinct(labels: Iterable[str]) -> list[str]:
    """Return the labels with numbers added where one is there already."""
    taken: dict[str, None] = {}
    for place, label in enumerate(labels, start=1):
        unique, number = label, place
        while unique in taken:
            unique, number = f"{label} ({number})", number + 1
        taken[unique] = None
    return list(taken)


TINY = 1e-6
_MOST = 4


def sig(value: float, digits: int = 3) -> str:
    """Plain decimals with ``digits`` significant figures; thousands separated.

    All digits before the decimal point are shown. Numbers below ``TINY``, which would be mostly
    zeros, have an exponent.
    """
    if not math.isfinite(value):
        return "n/a"
    if value == 0:
        return "0"
    if abs(value) < TINY:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{decimals(value, digits)}f}"


def signed(value: float, digits: int = 2) -> str:
    """Return :func:`sig` with an explicit sign."""
    text = sig(value, digits)
    return text if text.startswith("-") or text in ("0", "n/a") else f"+{text}"


def fixed(value: float, places: int, *, sign: bool = False) -> str:
    """Return a fixed number of decimals, n/a for NaN; what rounds to 0 has no sign."""
    if not math.isfinite(value):
        return "n/a"
    form = "+z" if sign and round(float(value), places) else "z"
    return f"{value:{form},.{places}f}"


def interval(lo: float, hi: float, digits: int = 2, *, sign: bool = False, most: int = 6) -> str:
    """``[lo, hi]`` with decimals for ``digits`` figures of its larger end, at most ``most``."""
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return "[n/a]"
    places = min(decimals(max(abs(lo), abs(hi)), digits), most)
    return f"[{fixed(lo, places, sign=sign)}, {fixed(hi, places, sign=sign)}]"


def with_interval(
    value: float, lo: float, hi: float, digits: int = 2, *, sign: bool = False
) -> str:
    """``0.54 [0.27, 0.81]``: a difference with the decimals of its interval, at most 4."""
    if not (math.isfinite(value) and math.isfinite(lo) and math.isfinite(hi)):
        return f"{signed(value, digits) if sign else sig(value, digits)} [n/a]"
    places = min(decimals(max(abs(lo), abs(hi)), digits), _MOST)
    return f"{fixed(value, places, sign=sign)} {interval(lo, hi, digits, sign=sign, most=_MOST)}"


def compared(value: float, lo: float, hi: float) -> str:
    """A signed difference with its interval; ``the same`` if everything rounds to 0."""
    if math.isfinite(value) and lo <= hi and not any(round(x, _MOST) for x in (value, lo, hi)):
        return "the same"
    return with_interval(value, lo, hi, sign=True)


def level(value: float, lo: float, hi: float) -> str:
    """``0.331 [0.215, 0.448]``: a score and its interval with three decimals."""
    return f"{fixed(value, 3)} {interval(lo, hi, 3, most=3)}"


def share_level(value: float, lo: float, hi: float, *, digits: int = 3) -> str:
    """``89.1 % [85.6, 92.3]``: a share and its interval in per cent; n/a for NaN."""
    if not math.isfinite(value):
        return "n/a"
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return f"{percent(value, digits)} [n/a]"
    places = max(0, digits - 2)
    shown = (fixed(100 * end, places) for end in (value, lo, hi))
    return "{} % [{}, {}]".format(*shown)


def decimals(value: float, digits: int) -> int:
    """Return the decimals that show ``digits`` significant figures of a value after rounding."""
    if value == 0 or not math.isfinite(value):
        return digits
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return max(0, digits - 1 - exponent)


def p_value(p: float) -> str:
    """``p < .001``, ``p = .042`` or ``p > .999``."""
    if not math.isfinite(p):
        return "p n/a"
    if p < 0.001:
        return "p < .001"
    return "p > .999" if p > 0.999 else "p = " + f"{p:.3f}".lstrip("0")


def p_cell(p: float) -> str:
    """Return a p-value as a cell of a table: ``< .001``, ``.042``, blank for NaN."""
    return p_value(p).removeprefix("p ").removeprefix("= ") if math.isfinite(p) else ""


def percent(share: float, digits: int = 2) -> str:
    """Return a share in per cent with ``digits`` significant figures."""
    return f"{sig(100.0 * share, digits)} %" if math.isfinite(share) else "n/a"


def all_judges(n: int) -> str:
    """``all 65 judges``, or ``the one judge``."""
    return f"all {counted(n, 'judge')}" if n > 1 else "the one judge"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """``1 judge``, ``2,985 items``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(names: list[str], link: str = "and") -> str:
    """``a, b and c``."""
    return f" {link} ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def capital(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[0].upper() + text[1:]


def first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence."""
    return re.split(r"(?<=[.!?])\s+(?=[^a-z\s])", text, maxsplit=1)[0]


def minute(moment: str) -> str:
    """Return a moment (ISO 8601, UTC) as ``2026-01-03 09:15``."""
    return moment[:16].replace("T", " ")
