"""Escaping of untrusted text for Markdown, HTML or a terminal."""

from __future__ import annotations

import html
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
