"""Escaping of untrusted text for a terminal."""

from __future__ import annotations

LONGEST_CELL = 60


def printable(text: str) -> str:
    """Return the text without escape sequences, direction marks and other control characters."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def one_line(text: str, length: int = LONGEST_CELL) -> str:
    """Return printable text on one line of bounded length."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"
