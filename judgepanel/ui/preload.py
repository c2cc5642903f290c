"""The first pages are imported when the server starts, so that no visitor waits for them."""

from __future__ import annotations

import threading
from importlib import import_module

_FIRST = (
    "judgepanel.ui.frame",
    "judgepanel.ui.pages.start",
    "pandas.io.formats.style",
    "scipy.special",
    "judgepanel.ui.pages.curve",
    "judgepanel.ui.pages.recommended",
)


def import_first_pages() -> None:
    """Import what most visitors open first, in a thread of this process."""
    threading.Thread(target=_import_first, name="first-pages", daemon=True).start()


def _import_first() -> None:
    for name in _FIRST:
        import_module(name)
