"""Warnings in the words of the pages."""

from __future__ import annotations

from judgepanel.report.numbers import capital
from judgepanel.report.sentences import CALIBRATED


def in_words(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Warnings of the studies here, calibrators named as elsewhere on the page."""
    words = []
    for sentence in warnings:
        name, _, rest = sentence.partition(" ")
        words.append(f"{capital(CALIBRATED[name])} {rest}" if name in CALIBRATED else sentence)
    return tuple(words)
