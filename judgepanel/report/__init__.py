"""Results in words: numbers, sentences, reproducing commands.

The package can be called: ``judgepanel.report(votes, path)`` is
:func:`judgepanel.api.reports.report`, by which the front door's name and that of the package
stand for one thing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package whose name the front door also has for a function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("judgepanel.api.reports").report(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
