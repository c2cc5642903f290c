"""Pages are imported while the first one is read, so that nobody waits for them."""

from __future__ import annotations

import pkgutil
import threading
from functools import cache
from importlib import import_module

from judgepanel.ui import pages

_FIRST = ("scipy.special", f"{pages.__name__}.curve", f"{pages.__name__}.recommended")
"""What the next clicks need."""


@cache
def import_pages() -> threading.Thread:
    """Import all pages in a thread of this process, once; return the thread."""
    thread = threading.Thread(target=_import_all, name="import-pages", daemon=True)
    thread.start()
    return thread


def _import_all() -> None:
    every = pkgutil.iter_modules(pages.__path__, f"{pages.__name__}.")
    for name in (*_FIRST, *(page.name for page in every)):
        import_module(name)
