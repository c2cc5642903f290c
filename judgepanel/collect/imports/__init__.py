"""What benchmarks and tools publish -> outputs of judges, one a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from judgepanel.collect.imports.judgebench import read_judgebench
from judgepanel.collect.imports.llmbar import read_llmbar
from judgepanel.collect.imports.rows import Found

KINDS: Mapping[str, Callable[[Path], Found]] = MappingProxyType(
    {"llmbar": read_llmbar, "judgebench": read_judgebench}
)
"""Readers by the name of what they read; each takes a folder or a file, see docs/transcripts.md."""

__all__ = ["KINDS", "Found"]
